// SPDX-License-Identifier: Apache-2.0
#include "ops/blocked/winograd_conv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "ops/isa.h"

// The loops for AVX2, compiled for the processor at hand, beside sums over the plain arrays.
namespace loomix::ops {
namespace {

constexpr int64_t kBlock = WinogradConv::kBlock;

BlockedConvParams params(int64_t batch, int64_t channels, int64_t filters, int64_t height, int64_t width,
                         int pad, ConvPass pass) {
  BlockedConvParams p;
  p.kernel = {3, 3};
  p.pad = {pad, pad};
  p.num_filter = static_cast<int>(filters);
  p.image = {batch, channels, height, width};
  p.winograd = true;
  p.pass = pass;
  return p;
}

std::vector<float> numbers(int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> made(static_cast<size_t>(count));
  for (float& x : made) x = normal(engine);
  return made;
}

// Of an image in blocks.
size_t place(int64_t image, int64_t channel, int64_t y, int64_t x, int64_t channels, const int64_t* size) {
  return static_cast<size_t>((((image * channels + channel) / kBlock * size[0] + y) * size[1] + x) * kBlock +
                             channel % kBlock);
}

void expect_sums(const WinogradConv& c, const std::vector<float>& weight, int64_t at_once, bool closed) {
  const auto data = numbers(c.batch * c.channels * c.in[0] * c.in[1], 1);
  const int64_t size = c.batch * c.filters * c.out[0] * c.out[1];
  const auto bias = numbers(c.filters, 3), added = numbers(size, 4);
  const WinogradForm form = c.weight_form();
  std::vector<float> tiles(static_cast<size_t>(WinogradConv::kValues * c.channels * c.filters));
  for (int64_t part = 0; part < form.parts(); ++part)
    best_loops<WinogradLoops>().transform(form, part, weight.data(), tiles.data());
  std::vector<float> out(static_cast<size_t>(size), std::nanf("")),
      scratch(static_cast<size_t>(c.scratch(at_once)));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const WinogradConvArrays arrays{data.data(),
                                  tiles.data(),
                                  closed ? bias.data() : nullptr,
                                  closed ? added.data() : nullptr,
                                  out.data(),
                                  closed ? 0 : -kInfinity,
                                  kInfinity};
  for (int64_t tile = 0; tile < c.tiles(); tile += at_once)
    best_loops<WinogradConvLoops>().run(c, arrays, tile, std::min(tile + at_once, c.tiles()), 0, c.filters,
                                        at_once, scratch.data());
  double worst = 0, largest = 0;
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t f = 0; f < c.filters; ++f) {
      for (int64_t y = 0; y < c.out[0]; ++y) {
        for (int64_t x = 0; x < c.out[1]; ++x) {
          const size_t at = place(n, f, y, x, c.filters, c.out);
          double sum = closed ? static_cast<double>(bias[static_cast<size_t>(f)]) + added[at] : 0;
          for (int64_t i = 0; i < 9; ++i) {
            const int64_t row = y + i / 3 - c.pad[0], column = x + i % 3 - c.pad[1];
            if (row < 0 || column < 0 || row >= c.in[0] || column >= c.in[1]) continue;
            for (int64_t k = 0; k < c.channels; ++k) {
              const size_t tap = static_cast<size_t>(c.turned ? (k * c.filters + f) * 9 + 8 - i
                                                              : (f * c.channels + k) * 9 + i);
              sum += static_cast<double>(data[place(n, k, row, column, c.channels, c.in)]) * weight[tap];
            }
          }
          if (closed) sum = std::max(sum, 0.0);
          worst = std::max(worst, std::abs(sum - out[at]));
          largest = std::max(largest, std::abs(sum));
        }
      }
    }
  }
  EXPECT_LE(worst, 1e-5 * largest);
  if (c.turned) return;
  std::vector<float> back(weight.size());
  for (int64_t part = 0; part < form.parts(); ++part)
    best_loops<WinogradLoops>().restore(form, part, tiles.data(), back.data());
  for (size_t i = 0; i < back.size(); ++i) ASSERT_NEAR(back[i], weight[i], 1e-5);
}

TEST(WinogradConv, IsTheSumOverTheWindow) {
  const auto weight = numbers(32 * 48 * 9, 2);
  for (const int pad : {0, 1}) {
    for (const ConvPass pass : {ConvPass::forward, ConvPass::data}) {
      const WinogradConv c(params(2, 32, 48, 9, 14, pad, pass));
      EXPECT_EQ(c.turned, pass == ConvPass::data);
      expect_sums(c, weight, 12, false);
      expect_sums(c, weight, 24, pass == ConvPass::forward);
    }
  }
}

TEST(WinogradConv, GradientOfTheWeight) {
  for (const int pad : {0, 1}) {
    const WinogradConv c(params(3, 16, 32, 9, 14, pad, ConvPass::weight));
    const auto data = numbers(c.batch * c.channels * c.in[0] * c.in[1], 1);
    const auto grad = numbers(c.batch * c.filters * c.out[0] * c.out[1], 2);
    const int64_t at_once = 10, values = WinogradConv::kValues;
    std::vector<float> data_tiles(static_cast<size_t>(values * at_once * c.row())),
        grad_tiles(static_cast<size_t>(values * at_once * c.filters)),
        sums(static_cast<size_t>(values * c.channels * c.filters)),
        got(static_cast<size_t>(c.channels * c.filters * 9));
    const auto& loops = best_loops<WinogradGradientLoops>();
    for (int64_t first = 0; first < c.tiles(); first += at_once) {
      const int64_t tiles = std::min(at_once, c.tiles() - first);
      for (int64_t i = 0; i < tiles; ++i)
        loops.transform(c, data.data(), grad.data(), first + i, i, at_once, data_tiles.data(),
                        grad_tiles.data());
      for (int64_t i = 0; i < values * 2; ++i)
        loops.add_up(c, i / 2, i % 2, tiles, at_once, data_tiles.data(), grad_tiles.data(), sums.data(),
                     first > 0);
    }
    for (int64_t panel = 0; panel < 2; ++panel) loops.finish(c, panel, sums.data(), got.data());
    for (int64_t f = 0; f < c.filters; ++f) {
      for (int64_t k = 0; k < c.channels; ++k) {
        for (int64_t i = 0; i < 9; ++i) {
          double sum = 0;
          for (int64_t n = 0; n < c.batch; ++n) {
            for (int64_t y = 0; y < c.out[0]; ++y) {
              for (int64_t x = 0; x < c.out[1]; ++x) {
                const int64_t row = y + i / 3 - pad, column = x + i % 3 - pad;
                if (row < 0 || column < 0 || row >= c.in[0] || column >= c.in[1]) continue;
                sum += static_cast<double>(data[place(n, k, row, column, c.channels, c.in)]) *
                       grad[place(n, f, y, x, c.filters, c.out)];
              }
            }
          }
          ASSERT_NEAR(got[static_cast<size_t>((f * c.channels + k) * 9 + i)], sum, 5e-4);  // of 20
        }
      }
    }
  }
}

TEST(WinogradConv, ManyChannelsAndFilters) {
  expect_sums(WinogradConv(params(1, 304, 80, 6, 5, 1, ConvPass::forward)), numbers(304 * 80 * 9, 2), 12,
              true);
}

}  // namespace
}  // namespace loomix::ops
