// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "loomix/cpp/base.h"

namespace loomix::cpp {
inline namespace names {

// The learning rate after so many updates.
class LRScheduler {
 public:
  explicit LRScheduler(float base_lr = 0.01f) : base_lr_(base_lr) {}
  virtual ~LRScheduler() = default;
  void SetLR(float lr) { base_lr_ = lr; }
  virtual float GetLR(unsigned num_update) = 0;

 protected:
  float base_lr_;
};

// Multiplies the rate by `factor` after each `step` updates, until it is `stop_factor_lr`.
class FactorScheduler : public LRScheduler {
 public:
  explicit FactorScheduler(int step, float factor = 1, float stop_factor_lr = 1e-8f)
      : step_(step), factor_(factor), stop_factor_lr_(stop_factor_lr) {
    if (step < 1) throw Error("[FactorScheduler] step is " + std::to_string(step) + "; expected 1 or more.");
  }
  float GetLR(unsigned num_update) override {
    while (num_update > count_ + static_cast<unsigned>(step_)) {
      count_ += static_cast<unsigned>(step_);
      base_lr_ = std::max(base_lr_ * factor_, stop_factor_lr_);
    }
    return base_lr_;
  }

 private:
  const int step_;
  const float factor_, stop_factor_lr_;
  unsigned count_ = 0;
};

}  // namespace names
}  // namespace loomix::cpp
