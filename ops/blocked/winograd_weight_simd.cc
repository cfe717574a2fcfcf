// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>

#include "ops/blocked/winograd_weight.h"
#include "ops/isa.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int64_t kBlock = WinogradForm::kBlock, kValues = 9;
typedef float Filters __attribute__((vector_size(64)));  // a value of each filter of a block

// The filters are polynomials, which G evaluates at these points, and as the last row at infinity. The factors are those of
// Lagrange's interpolation: 1 / product of the distances to the other points. The signs of rows are free, as long as the
// transform of the data has the same ones; these are oneDNN's.
template <int kTile>
struct Points;
template <>
struct Points<4> {
  static constexpr float kAt[] = {0, 1, -1}, kFactor[] = {1, 0.5f, 0.5f};
};
template <>
struct Points<6> {
  static constexpr double kP = 0.625, kQ = 1.5;
  static constexpr float kAt[] = {0, kP, -kP, kQ, -kQ};
  static constexpr double kZero = 1 / (kP * kP * kQ * kQ), kNear = 1 / (2 * kP * kP * (kP * kP - kQ * kQ)),
                          kFar = 1 / (2 * kQ * kQ * (kQ * kQ - kP * kP));
  static constexpr float kFactor[] = {kZero, kNear, kNear, kFar, kFar};
};

// Row `row` of G times three values.
template <int kTile>
void evaluate(int row, const Filters& a, const Filters& b, const Filters& c, Filters& to) {
  if (row == kTile - 1) to = c;
  else to = (a + (b + c * Points<kTile>::kAt[row]) * Points<kTile>::kAt[row]) * Points<kTile>::kFactor[row];
}

// Three values from their rows of G: those at 0, at the two points after it, which differ in their signs, and at infinity.
template <int kTile>
void interpolate(const Filters& zero, const Filters& plus, const Filters& minus, const Filters& last,
                 Filters& a, Filters& b, Filters& c) {
  using P = Points<kTile>;
  a = zero * (1 / P::kFactor[0]);
  b = (plus - minus) * (1 / (2 * P::kAt[1] * P::kFactor[1]));
  c = last;
}

// Where a part begins in the weight and in the tiles.
struct Place {
  int64_t plain, tiles;
  Place(const WinogradForm& form, int64_t part) {
    const int64_t blocks = form.channels / kBlock, to = part / blocks, from = part % blocks;
    plain = (to * form.filter_step + from * form.channel_step) * kBlock;
    tiles = to / form.inner_blocks * form.outer + to % form.inner_blocks * form.inner +
            from / form.blocks_of_channels * form.far + from % form.blocks_of_channels * form.near;
  }
};

// Calls change(an element of g, that of the weight) for all of a part.
template <class Weight, class Change>
void each_place(const WinogradForm& form, Weight* weight, float (&g)[kBlock * kValues][kBlock],
                Change change) {
  for (int64_t filter = 0; filter < kBlock; ++filter) {
    for (int64_t channel = 0; channel < kBlock; ++channel) {
      Weight* const from = weight + filter * form.filter_step + channel * form.channel_step;
      for (int64_t i = 0; i < kValues; ++i)
        change(g[channel * kValues + i][filter], from[form.turned ? kValues - 1 - i : i]);
    }
  }
}

template <int kTile>
void transform(const WinogradForm& form, int64_t part, const float* weight, float* out) {
  const Place begin(form, part);
  alignas(64) float g[kBlock * kValues][kBlock];  // by channel and place, then by filter
  each_place(form, weight + begin.plain, g, [](float& to, const float& from) { to = from; });
  for (int64_t channel = 0; channel < kBlock; ++channel) {
    Filters at[3][3], half[kTile][3], value;
    std::memcpy(at, g[channel * kValues], sizeof at);
    for (int row = 0; row < kTile; ++row) {
      for (int x = 0; x < 3; ++x) evaluate<kTile>(row, at[0][x], at[1][x], at[2][x], half[row][x]);
    }
    float* place = out + begin.tiles + channel * form.channel;
    for (int row = 0; row < kTile; ++row) {
      for (int column = 0; column < kTile; ++column, place += form.value) {
        evaluate<kTile>(column, half[row][0], half[row][1], half[row][2], value);
        std::memcpy(place, &value, sizeof value);
      }
    }
  }
}

template <int kTile>
void restore(const WinogradForm& form, int64_t part, const float* tiles, float* weight) {
  const Place begin(form, part);
  constexpr int kRead[] = {0, 1, 2, kTile - 1};
  alignas(64) float g[kBlock * kValues][kBlock];
  for (int64_t channel = 0; channel < kBlock; ++channel) {
    const float* const from = tiles + begin.tiles + channel * form.channel;
    Filters at[3][3], half[4][3], value[4];
    for (int row = 0; row < 4; ++row) {
      for (int i = 0; i < 4; ++i)
        std::memcpy(&value[i], from + (kRead[row] * kTile + kRead[i]) * form.value, sizeof value[i]);
      interpolate<kTile>(value[0], value[1], value[2], value[3], half[row][0], half[row][1], half[row][2]);
    }
    for (int x = 0; x < 3; ++x)
      interpolate<kTile>(half[0][x], half[1][x], half[2][x], half[3][x], at[0][x], at[1][x], at[2][x]);
    std::memcpy(g[channel * kValues], at, sizeof at);
  }
  each_place(form, weight + begin.plain, g, [](float& from, float& to) { to = from; });
}

constexpr WinogradLoops kLoops = {
    [](const WinogradForm& form, int64_t part, const float* weight, float* out) {
      (form.tile == 4 ? transform<4> : transform<6>)(form, part, weight, out);
    },
    [](const WinogradForm& form, int64_t part, const float* tiles, float* weight) {
      (form.tile == 4 ? restore<4> : restore<6>)(form, part, tiles, weight);
    }};

}  // namespace

template <>
const WinogradLoops& compiled_loops<WinogradLoops>() {
  return kLoops;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
