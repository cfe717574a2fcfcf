// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "ops/primitive_dnnl.h"

namespace loomix::ops::onednn {

// Copies a weight between the user's layout and a kernel's, in equal slices along the axis that is the outermost in the
// latter, so that cores can share the work and each slice is one piece of the kernel's memory.
class SlicedReorder {
 public:
  enum class To { inner, plain };
  SlicedReorder(const Desc& plain, const Desc& inner, To to);

  int64_t count() const { return count_; }
  // Where slice i lies in the kernel's memory, and how long it is, in bytes.
  std::pair<int64_t, int64_t> inner_range(int64_t i) const { return {i * inner_step_, inner_step_}; }
  size_t scratch_bytes() const { return scratch_bytes_; }  // of each run
  // oneDNN's objects for what one thread works on.
  struct Bindings {
    explicit Bindings(const SlicedReorder& of)
        : plain(of.plain_), inner(of.inner_), scratchpad(of.scratchpad_) {}
    Pointer plain, inner, scratchpad;
  };
  // `plain` and `inner` are the whole weights.
  void run(int64_t i, Bindings& bound, void* plain, void* inner, void* scratch) const;

 private:
  To to_;
  int64_t count_ = 1, plain_step_ = 0, inner_step_ = 0;  // bytes
  Desc plain_, inner_, scratchpad_;                      // of one slice
  size_t scratch_bytes_ = 0;
  dnnl::reorder reorder_;
};

}  // namespace loomix::ops::onednn
