// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "ops/random/philox.h"

namespace loomix::ops {

// Whole numbers in a table with open addressing that is at most half full.
class Seen {
 public:
  constexpr Seen(int64_t* memory, int64_t capacity) : slots_(memory), mask_(capacity - 1) {
    for (int64_t i = 0; i < capacity; ++i) slots_[i] = kFree;
  }
  static constexpr int64_t capacity(int64_t numbers) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * numbers + 1)));
  }
  constexpr bool add(int64_t number) {  // false if it is there
    for (int64_t at = (number * 0x9E3779B1) & mask_;; at = (at + 1) & mask_) {
      if (slots_[at] == number) return false;
      if (slots_[at] != kFree) continue;
      slots_[at] = number;
      return true;
    }
  }

 private:
  static constexpr int64_t kFree = -1;
  int64_t* slots_;
  int64_t mask_;
};

// Classes of one row, none of them twice, by the stream of element `row`; returns how many draws it took. `out` may be null, `memory` has
// room for Seen::capacity(length) numbers.
template <class Math>
constexpr int64_t draw_unique_zipfian(const RandomStream& random, int64_t row, int64_t classes,
                                      double log_range, int64_t length, int64_t* memory, int64_t* out) {
  PhiloxDraws<Math> stream(random, row);
  Seen seen(memory, Seen::capacity(length));
  int64_t tries = 0;
  for (int64_t i = 0; i < length; ++tries) {
    const auto drawn = static_cast<int64_t>(Math::exp(stream.uniform() * log_range)) - 1;
    const int64_t number = std::clamp<int64_t>(drawn, 0, classes - 1);
    if (!seen.add(number)) continue;
    if (out != nullptr) out[i] = number;
    ++i;
  }
  return tries;
}

}  // namespace loomix::ops
