// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/random/philox.h"

namespace loomix::io {

// The random numbers of one image: they follow from seed, pass and place in the pass only.
class SampleRandom {
 public:
  SampleRandom(uint64_t seed, uint64_t pass, uint64_t place)
      : stream_({seed ^ pass * 0x9E3779B97F4A7C15u, 0}, static_cast<int64_t>(place)) {}

  uint32_t word() { return stream_.next(); }
  double uniform(double low, double high) { return low + (high - low) * stream_.uniform(); }
  // low and high are both possible.
  int integer(int low, int high) {
    if (high <= low) return low;
    return low + static_cast<int>(uint64_t{stream_.next()} * (uint64_t(high) - uint64_t(low) + 1) >> 32);
  }
  bool flip() { return stream_.next() & 1; }
  double normal(double deviation) { return deviation * stream_.normal(); }

 private:
  ops::PhiloxStream stream_;
};

}  // namespace loomix::io
