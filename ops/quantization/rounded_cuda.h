// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/warps.h"
#include "ops/quantization/rounded_products.h"
#include "ops/rnn/rnn_pieces.h"

// Products of rows that are whole numbers of 8 bits on both sides; sums are exact.
namespace loomix::cuda {

// Rows that are rounded as the host does it, a warp a row.
struct RoundRow {
  Divider rows;  // of an item
  ops::SummedRows from;
  int8_t* whole;
  float* scales;
  __device__ void operator()(int64_t i) const {
    constexpr uint32_t kInfinity = 0x7f800000;
    constexpr float kLeastNormal = 1.17549435e-38f;
    const int64_t item = rows.quotient(i), row = i - item * rows.divisor();
    const float* const data = from.data + item * from.item_step + row * from.row_step;
    uint32_t most = 0;  // of the magnitudes' bits, where NaN is more than infinite
    for (int64_t k = threadIdx.x; k < from.columns; k += kWarp) {
      uint32_t bits = 0;
      __builtin_memcpy(&bits, data + k * from.column_step, sizeof bits);
      most = max(most, bits & 0x7fffffffu);
    }
    most = merge_warp(most, Greater{});
    float reach = 0;
    __builtin_memcpy(&reach, &most, sizeof reach);
    const float scale = reach / 127.0f;
    const bool is_plain = most < kInfinity && scale >= kLeastNormal;
    const float factor = is_plain ? 1.0f / scale : 0;
    for (int64_t k = threadIdx.x; k < from.columns; k += kWarp)
      whole[i * from.columns + k] =
          is_plain ? static_cast<int8_t>(::rintf(data[k * from.column_step] * factor)) : int8_t{0};
    if (threadIdx.x == 0)
      scales[i] = is_plain ? scale : most >= kInfinity ? std::numeric_limits<float>::quiet_NaN() : 0;
  }
  struct Greater {
    __device__ uint32_t operator()(uint32_t a, uint32_t b) const { return max(a, b); }
  };
};
// The rows of all items, in scratch memory.
struct Rounded {
  int8_t* whole;
  float* scales;
  Rounded(ops::ScratchPieces& pieces, int64_t rows, int64_t columns)
      : whole(pieces.take<int8_t>(rows * columns)), scales(pieces.take<float>(rows)) {}
  void round(const ops::SummedRows& from, int64_t items, cudaStream_t stream) const {
    launch_warps(stream, items * from.rows, RoundRow{Divider(from.rows), from, whole, scales});
  }
};

struct RoundedTimes {
  Divider per_item, right_rows;
  int64_t left_rows, columns;
  const int8_t *left, *right;
  const float *left_scales, *right_scales, *bias;
  float* out;
  int64_t out_row, out_item;
  float scale;
  bool adds = false;  // to what is there
  __device__ void operator()(int64_t i) const {
    const int64_t item = per_item.quotient(i), within = i - item * per_item.divisor();
    const int64_t m = right_rows.quotient(within), n = within - m * right_rows.divisor();
    const int64_t a = item * left_rows + m, b = item * right_rows.divisor() + n;
    int64_t sum = 0;
    for (int64_t k = threadIdx.x; k < columns; k += kWarp)
      sum += int32_t{left[a * columns + k]} * int32_t{right[b * columns + k]};
    sum = merge_warp(sum, Plus{});
    if (threadIdx.x != 0) return;
    float* const to = out + item * out_item + m * out_row + n;
    const float before = adds ? *to : bias != nullptr ? bias[n] : 0;
    *to = static_cast<float>(sum) * right_scales[b] * (left_scales[a] * scale) + before;
  }
};

}  // namespace loomix::cuda
