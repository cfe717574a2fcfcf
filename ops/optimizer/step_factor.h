// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace loomix::ops {

// While one lives, update rules that this thread puts on a device multiply gradients by a number that lies there, and change
// nothing if it is 0 or not finite. So a loss scale can follow gradients that nobody on the host looks at.
class StepFactor {
 public:
  explicit StepFactor(const float* factor) noexcept : outer_(std::exchange(own(), factor)) {}
  ~StepFactor() { own() = outer_; }
  StepFactor(const StepFactor&) = delete;
  StepFactor& operator=(const StepFactor&) = delete;

  static const float* current() noexcept { return own(); }  // null: 1

 private:
  static const float*& own() noexcept;

  const float* const outer_;
};

}  // namespace loomix::ops
