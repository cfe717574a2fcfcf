// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memplan/plan.h"

namespace loomix::memplan {

// Answers "is step a done before step b starts, whatever the threads do?" for steps that are at most span() apart. A path
// from a to b passes only steps between them, so each step needs to know of no more than the span before it: one bit a
// step, 32 MB in all, freed with the plan. Up to 16,384 steps the span is all of them.
class Reach {
 public:
  explicit Reach(std::span<const Value> values);
  int32_t steps() const { return steps_; }
  // Of steps that are farther apart nothing is known.
  int32_t span() const { return (words_ - 1) * 64; }
  bool before(int32_t a, int32_t b) const {
    return a < b && knows(a, b) && (word(b, a / 64) >> (a % 64) & 1);
  }
  // For each step: the last step, of those for which before() knows, that does not wait for it; itself if there is none.
  std::vector<int32_t> last_beside() const;
  bool knows(int32_t a, int32_t b) const { return b / 64 - a / 64 < words_; }

 private:
  uint64_t word(int32_t b, int32_t i) const { return bits_[static_cast<size_t>(b) * words_ + i % words_]; }

  int32_t steps_ = 0;
  int32_t words_ = 1;
  std::vector<uint64_t> bits_;  // row b: the steps that come before b, word i at i % words_
};

}  // namespace loomix::memplan
