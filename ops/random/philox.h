// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "ops/kernel.h"

// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC 2011): a bijection of a
// 128-bit counter under a 64-bit key. The key is the stream's seed. Two ways to count, which never meet:
//   words     word n is element n % 4 of the block with counter {n / 4, 0}: for one or two draws an element;
//   streams   element n has its own blocks {n, 1}, {n, 2}, ...: for samplers that reject.
namespace loomix::ops {

struct PhiloxBlock {
  uint32_t word[4];
};

constexpr PhiloxBlock philox(uint64_t seed, uint64_t low, uint64_t high) {
  uint32_t c0 = static_cast<uint32_t>(low), c1 = static_cast<uint32_t>(low >> 32);
  uint32_t c2 = static_cast<uint32_t>(high), c3 = static_cast<uint32_t>(high >> 32);
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * c0;
    const uint64_t product1 = uint64_t{0xCD9E8D57u} * c2;
    const uint32_t next0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ k0;
    const uint32_t next2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(product1);
    c3 = static_cast<uint32_t>(product0);
    c0 = next0;
    c2 = next2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// In [0, 1), with 24 and 53 random bits.
constexpr float unit_float(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
constexpr double unit_double(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

// Calls put(i, word) for words [begin, end) of the stream that starts at random.offset.
template <class Put>
void philox_words(const RandomStream& random, int64_t begin, int64_t end, Put&& put) {
  uint64_t n = random.offset + static_cast<uint64_t>(begin);
  for (int64_t i = begin; i < end;) {
    const PhiloxBlock block = philox(random.seed, n / 4, 0);
    for (uint64_t lane = n % 4; lane < 4 && i < end; ++lane, ++n, ++i) put(i, block.word[lane]);
  }
}

// The blocks of one element, drawn one number at a time. `Math` is as for elementwise functors, so that device code draws the same.
template <class Math>
class PhiloxDraws {
 public:
  constexpr PhiloxDraws(const RandomStream& random, int64_t element)
      : seed_(random.seed), element_(random.offset + static_cast<uint64_t>(element)) {}

  constexpr uint32_t next() {
    if (used_ == 4) {
      block_ = philox(seed_, element_, ++draw_);
      used_ = 0;
    }
    return block_.word[used_++];
  }
  constexpr uint64_t next64() {
    const uint64_t high = next();
    return high << 32 | next();
  }
  constexpr double uniform() {
    const uint32_t high = next();
    return unit_double(high, next());
  }
  // In (0, 1]: safe to take the logarithm of.
  constexpr double uniform_positive() { return 1.0 - uniform(); }
  constexpr double normal() {
    const double radius = Math::sqrt(-2.0 * Math::log(uniform_positive()));
    return radius * Math::cos(6.283185307179586 * uniform());
  }
  static constexpr Math math() { return {}; }

 private:
  uint64_t seed_;
  uint64_t element_;
  uint64_t draw_ = 0;
  PhiloxBlock block_{};
  int used_ = 4;
};

// The mathematics of the host in double, for samplers.
struct SamplerMath {
  static double exp(double x) { return std::exp(x); }
  static double log(double x) { return std::log(x); }
  static double sqrt(double x) { return std::sqrt(x); }
  static double cos(double x) { return std::cos(x); }
  static double pow(double x, double y) { return std::pow(x, y); }
  static double floor(double x) { return std::floor(x); }
  static double abs(double x) { return std::fabs(x); }
  static double lgamma(double x) {
    int sign = 0;
    return lgamma_r(x, &sign);
  }
};
using PhiloxStream = PhiloxDraws<SamplerMath>;

}  // namespace loomix::ops
