// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "linalg/job.h"
#include "linalg/transfer.h"

// A remap as tasks: pack and send to each rank, receive and unpack from each, copy what stays. Messages to and from different ranks
// are independent of each other, and of all else that does not touch these blocks.
namespace loomix::linalg {

inline constexpr uint8_t kCopyCores = 8;  // that copies of large blocks may use

// The own blocks of a matrix.
struct OwnBlocks {
  const Layout& layout;
  std::span<const NDArray> arrays;
  DType dtype;
};
void push_remap(const Operation& operation, const std::shared_ptr<const Transfer>& plan,
                const OwnBlocks& from, const OwnBlocks& to);

}  // namespace loomix::linalg
