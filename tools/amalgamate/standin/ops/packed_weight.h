// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "ops/kernel.h"

namespace loomix::ops {

inline constexpr const char* kConvPacked =
    "convolution_packed";  // the kernel that does what ConvClosing says

// What a kernel does to its output while it has it at hand: adds the last input, takes max(x, 0).
struct ConvClosing {
  bool add = false;
  bool relu = false;
  const float* other = nullptr;  // of a run: what is added, of one image and group,
  const float* start = nullptr;  // and where these begin in the output
};

// A kernel's state that can keep a weight which never changes in a form of its own.
class PackedWeight : public KernelState {
 public:
  using Packed = std::shared_ptr<const std::vector<float>>;
  virtual Packed packed_form(const TensorView& weight) const = 0;
  virtual void use(Packed packed) = 0;  // from now on, instead of the weight; before any run
  virtual void close(const ConvClosing& closing) = 0;
};

}  // namespace loomix::ops
