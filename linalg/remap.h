// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "linalg/job.h"
#include "linalg/transfer.h"
#include "linalg/wire.h"

// A remap as tasks: pack and send to each rank, receive and unpack from each, copy what stays. What goes between two ranks is cut into
// messages of Job::message_bytes, for which there are Job::buffers each way, whatever the matrix. Independent of all that does
// not touch these blocks.
//
// Where the group takes parts, as ranks of one machine do with MPI, each pair of ranks has one message instead, whose parts go from the
// blocks into memory of the group's, and from there into the blocks. There are no buffers then.
//
// Why no deadlock: all ranks take message i of the rank that is s places away in the order of (i, s). A message waits for buffers of
// earlier ones at either end, never for later ones.
namespace loomix::linalg {

inline constexpr uint8_t kCopyCores = 8;  // that copies of large blocks may use

// What is asked of a remap, besides the layout.
struct RemapOptions {
  std::optional<DType> dtype = {};
  bool transpose = false;
  std::optional<ops::Code> wire = {};  // for what travels only
  bool relabel = false;                // ranks of the layout may change places, where that spares bytes
};

// The own blocks of a matrix.
struct OwnBlocks {
  const Layout& layout;
  std::span<const NDArray> arrays;
  DType dtype;
};
// How many numbers its messages take, of whatever layouts.
int remap_messages(const Job& job, const Layout& from, const Wire& wire);
void push_remap(const Operation& operation, const std::shared_ptr<const Transfer>& plan,
                const OwnBlocks& from, const OwnBlocks& to, const Wire& wire);

}  // namespace loomix::linalg
