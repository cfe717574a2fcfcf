// SPDX-License-Identifier: Apache-2.0
// Products of 8 bits in the single file, by the instructions that this program is compiled for, beside plain loops. Prints how many
// sums it compared; returns 1 where one differs.
#include "tools/amalgamate/standin/older_library.h"

#include "ops/quantization/whole_tiles_simd.cc"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

using namespace loomix;
using namespace loomix::ops;

namespace {

const WholeTiles& tiles = best_loops<WholeTiles>();
std::mt19937 generator(7);
long compared = 0, failed = 0;

void compare(double got, double want, double tolerance, const char* what) {
  ++compared;
  if (std::abs(got - want) <= tolerance) return;
  if (++failed < 10) std::printf("%s: %g, expected %g\n", what, got, want);
}

int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator); }

// Of `spread` 0 all numbers are the largest, which is where sums of pairs would not fit.
std::vector<int> numbers(size_t count, int low, int high, bool spread) {
  std::vector<int> made(count);
  for (int& x : made) x = spread ? number(low, high) : number(0, 1) ? low : high;
  return made;
}

void check_tile(int64_t vectors, int64_t quads, bool one_pixel, bool spread) {
  const int64_t filters = vectors * tiles.lanes, depth = 4 * quads, pixels = one_pixel ? 1 : tiles.pixels;
  const auto data = numbers(static_cast<size_t>(pixels * depth), tiles.is_signed ? -128 : 0,
                            tiles.is_signed ? 127 : 255, spread);
  const auto weight = numbers(static_cast<size_t>(filters * depth), -127, 127, spread);
  std::vector<uint8_t> panel(data.begin(), data.end());
  std::vector<int8_t> block(weight.size());
  for (int64_t q = 0, at = 0; q < quads; ++q)
    for (int64_t v = 0; v < vectors; ++v, at += tiles.lanes * 4) {
      int8_t some[64];
      for (int64_t f = 0; f < tiles.lanes; ++f)
        for (int64_t k = 0; k < 4; ++k)
          some[f * 4 + k] =
              static_cast<int8_t>(weight[static_cast<size_t>((v * tiles.lanes + f) * depth + q * 4 + k)]);
      tiles.arrange(some, block.data() + at);
    }
  std::vector<int32_t> sums(static_cast<size_t>(pixels * filters));
  tiles.tile(one_pixel, vectors, quads, panel.data(), depth, block.data(), sums.data());
  for (int64_t p = 0; p < pixels; ++p)
    for (int64_t f = 0; f < filters; ++f) {
      long want = 0;
      for (int64_t k = 0; k < depth; ++k)
        want += long{data[static_cast<size_t>(p * depth + k)]} * weight[static_cast<size_t>(f * depth + k)];
      compare(sums[static_cast<size_t>(p * filters + f)], static_cast<double>(want), 0, "a tile");
    }
}

void check_channels(bool is_signed, int64_t count) {
  constexpr int64_t kTaps = 9;
  const auto data = numbers(static_cast<size_t>(kTaps * count), is_signed ? -127 : 0, is_signed ? 127 : 255,
                            count % 2 == 0);
  const auto weight = numbers(data.size(), -127, 127, count % 2 == 0);
  std::vector<uint8_t> bytes(data.begin(), data.end());
  std::vector<int8_t> of_weight(weight.begin(), weight.end());
  const uint8_t* places[kTaps];
  for (int64_t k = 0; k < kTaps; ++k) places[k] = k == 4 ? nullptr : bytes.data() + k * count;
  std::vector<int32_t> sums(static_cast<size_t>(count));
  tiles.channels(is_signed, count, kTaps, places, of_weight.data(), count, sums.data());
  for (int64_t c = 0; c < count; ++c) {
    long want = 0;
    for (int64_t k = 0; k < kTaps; ++k)
      if (k != 4)
        want += long{data[static_cast<size_t>(k * count + c)]} * weight[static_cast<size_t>(k * count + c)];
    compare(sums[static_cast<size_t>(c)], static_cast<double>(want), 0, "channels");
  }
}

void check_close(DType type, bool relu, bool with_added, bool added_is_signed) {
  constexpr int64_t kCount = kMostClosed - 3;
  int32_t sums[kCount], even[kCount];
  float bias[kCount], scale[kCount];
  uint8_t added[kCount], bytes[kCount];
  for (int64_t i = 0; i < kCount; ++i) {
    sums[i] = number(-40000, 40000);
    even[i] = number(-500, 500);
    bias[i] = static_cast<float>(number(-900, 900));
    scale[i] = static_cast<float>(number(1, 90)) / 10007;
    added[i] = static_cast<uint8_t>(number(0, 255));
  }
  WholeClosing c{even, bias, scale, with_added ? added : nullptr, added_is_signed, relu, 0.37f, type};
  float reals[kCount];
  void* const out = type == DType::float32 ? static_cast<void*>(reals) : bytes;
  tiles.close(sums, kCount, c, out);
  for (int64_t i = 0; i < kCount; ++i) {
    double want = (static_cast<double>(sums[i] + even[i]) + bias[i]) * scale[i];
    if (with_added) want += 0.37 * (added_is_signed ? int{static_cast<int8_t>(added[i])} : int{added[i]});
    if (relu) want = std::max(want, 0.0);
    if (type == DType::float32) {
      compare(reals[i], want, 1e-3, "a closing");
      continue;
    }
    want = type == DType::int8 ? std::clamp(want, -127.0, 127.0) : std::clamp(want, 0.0, 255.0);
    // Half a step, and what float32 makes of it.
    compare(type == DType::int8 ? static_cast<int8_t>(bytes[i]) : bytes[i], want, 0.5 + 1e-3, "a closing");
  }
}

}  // namespace

int main() {
  for (int64_t vectors = 1; vectors <= tiles.filters / tiles.lanes; ++vectors)
    for (const int64_t quads : {1, 2, 7, 144})
      for (const int form : {0, 1, 2, 3}) check_tile(vectors, quads, form % 2 == 0, form < 2);
  for (const int64_t count : {1, 3, 8, 37, 64})
    for (const bool is_signed : {false, true}) check_channels(is_signed, count);
  for (const DType type : {DType::int8, DType::uint8, DType::float32})
    for (const int form : {0, 1, 2, 3, 4, 5}) check_close(type, form % 2 == 0, form > 1, form > 3);
  for (const uint8_t flip : {0, 128}) {
    uint8_t from[70], to[70];
    for (uint8_t& x : from) x = static_cast<uint8_t>(number(0, 255));
    tiles.turn(from, 70, flip, to);
    for (int i = 0; i < 70; ++i) compare(to[i], from[i] ^ flip, 0, "turned bytes");
  }
  std::printf("%ld numbers compared, %ld differ; vectors of %d\n", compared, failed,
              static_cast<int>(tiles.lanes));
  return failed == 0 ? 0 : 1;
}
