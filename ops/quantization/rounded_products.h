// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "ops/attention/attention_parts.h"
#include "ops/linear/product_list.h"
#include "ops/quantization/low_bit.h"

// Products of two arrays that are both rounded to 8 bits in each run: batch_dot, and the products of attention.
namespace loomix::ops {

// A batch of matrices whose rows are summed over, and so have a scale each.
struct SummedRows {
  const float* data;
  int64_t rows, columns, row_step, column_step, item_step;

  SummedRows(const float* from, int64_t count, int64_t width, bool transposed)
      : data(from),
        rows(count),
        columns(width),
        row_step(transposed ? 1 : width),
        column_step(transposed ? count : 1),
        item_step(count * width) {}
  explicit SummedRows(const AttentionPart<float>& part)
      : data(part.data),
        rows(part.length),
        columns(part.width),
        row_step(part.ld),
        column_step(1),
        item_step(part.item_step) {}
  SummedRows transposed() const {
    SummedRows made = *this;
    std::swap(made.rows, made.columns);
    std::swap(made.row_step, made.column_step);
    return made;
  }
};

// out[item * out_item + m * out_row + n] = scale * row m of the left times row n of the right, for each item.
struct RoundedProducts {
  int64_t items;
  SummedRows left, right;
  float* out;
  int64_t out_row, out_item;
  float scale = 1;
};

// What an operator multiplies, from KernelArgs or KernelSpec.
inline RoundedProducts batch_dot_products(const LowBitDotParams& p, Views in, const TensorView& out) {
  const DotSizes s = batch_dot_sizes(p, in[0].shape, in[1].shape);
  return {s.batch,
          SummedRows(in[0].as<float>(), s.m, s.k, p.transpose_a),
          SummedRows(in[1].as<float>(), s.n, s.k, !p.transpose_b),
          out.mutable_as<float>(),
          s.n,
          s.m * s.n};
}

inline SummedRows summed_rows(const TensorView& view, int heads, int parts, int part) {
  return SummedRows(AttentionPart<float>(view, heads, parts, part));
}

// Queries times keys.
[[gnu::noinline]] inline RoundedProducts score_products(const AttentionParams& p, Views in,
                                                        const TensorView& out, bool self) {
  const SummedRows q = summed_rows(in[0], p.heads, self ? 3 : 1, 0),
                   k = summed_rows(in[self ? 0 : 1], p.heads, self ? 3 : 2, self ? 1 : 0);
  return {out.shape[0],
          q,
          k,
          out.mutable_as<float>(),
          k.rows,
          q.rows * k.rows,
          static_cast<float>(1 / std::sqrt(double(q.columns)))};
}

// Attention weights times values.
[[gnu::noinline]] inline RoundedProducts mean_products(const AttentionParams& p, Views in,
                                                       const TensorView& out, bool self) {
  const SummedRows v = summed_rows(in[0], p.heads, self ? 3 : 2, self ? 2 : 1),
                   to = summed_rows(out, p.heads, 1, 0);
  const Shape& weights = in[1].shape;
  return {weights[0],     SummedRows(in[1].as<float>(), weights[1], weights[2], false),
          v.transposed(), out.mutable_as<float>(),
          to.row_step,    to.item_step};
}

template <auto products, bool self>
RoundedProducts attention_products(const AttentionParams& p, Views in, const TensorView& out) {
  return products(p, in, out, self);
}

// add.operator()<params, products>(name) for each operator.
template <class Add>
void list_rounded_products(Add&& add) {
  using A = AttentionParams;
  add.template operator()<LowBitDotParams, batch_dot_products>("_contrib_low_bit_batch_dot");
  add.template operator()<A, attention_products<score_products, true>>(
      "_contrib_low_bit_interleaved_matmul_selfatt_qk");
  add.template operator()<A, attention_products<score_products, false>>(
      "_contrib_low_bit_interleaved_matmul_encdec_qk");
  add.template operator()<A, attention_products<mean_products, true>>(
      "_contrib_low_bit_interleaved_matmul_selfatt_valatt");
  add.template operator()<A, attention_products<mean_products, false>>(
      "_contrib_low_bit_interleaved_matmul_encdec_valatt");
}

}  // namespace loomix::ops
