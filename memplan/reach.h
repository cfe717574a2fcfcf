// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memplan/plan.h"

namespace loomix::memplan {

// Answers "is step a done before step b starts, whatever the threads do?". One bit a pair of steps up to kMaxSteps
// steps (32 MB, freed with the plan); beyond that only the push order is known and nothing counts as ordered.
class Reach {
 public:
  static constexpr int kMaxSteps = 16384;

  explicit Reach(std::span<const Value> values);
  int steps() const { return steps_; }
  bool before(int32_t a, int32_t b) const {
    return a < b && exact_ && (bits_[static_cast<size_t>(b) * words_ + a / 64] >> (a % 64) & 1);
  }

 private:
  int steps_ = 0;
  bool exact_ = true;
  size_t words_ = 0;
  std::vector<uint64_t> bits_;  // row b: the steps that come before b
};

}  // namespace loomix::memplan
