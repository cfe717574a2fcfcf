// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/low_bit.h"

#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

void check_form(const LowBitForm& form, const char* who) {
  LOOMIX_CHECK(form.bits == 4 || form.bits == 8, ValueError, "[{}] bits is {}; expected 4 or 8.", who,
               form.bits);
  const int64_t size = form.group_size;
  LOOMIX_CHECK(size == 0 || (size >= 32 && (size & (size - 1)) == 0), ValueError,
               "[{}] group_size is {}; expected 0 or a power of two from 32 on.", who, size);
}

// The weight and its scales, from the length of a row.
void set_weight(const LowBitForm& form, ShapeInfer& s, int64_t rows, int64_t columns) {
  s.set_in(1, Shape{rows, columns < 0 ? kUnknownDim : form.row_bytes(columns)});
  s.set_in(2, Shape{rows, columns < 0 ? kUnknownDim : form.groups(columns)});
}

void fully_connected_shape(const LowBitFullyConnectedParams& p, ShapeInfer& s) {
  check_form(p, s.who());
  LOOMIX_CHECK(!p.dynamic || (p.bits == 8 && p.group_size == 0), ValueError,
               "[{}] dynamic goes with bits 8 and group_size 0; they are {} and {}.", s.who(), p.bits,
               p.group_size);
  const Shape& data = s.in(0);
  if (!p.no_bias) s.set_in(3, Shape{p.num_hidden});
  if (!data.ndim_known()) return;
  LOOMIX_CHECK(data.ndim() >= 1, ShapeError, "[{}] the data is a scalar; expected at least one axis.",
               s.who());
  Shape out;
  int64_t columns = 1;
  const int first = p.flatten ? 1 : data.ndim() - 1;
  for (int axis = 0; axis < first; ++axis) out.push_back(data[axis]);
  for (int axis = first; axis < data.ndim(); ++axis)
    columns = data[axis] < 0 || columns < 0 ? kUnknownDim : columns * data[axis];
  out.push_back(p.num_hidden);
  s.set_out(0, out);
  set_weight(p, s, p.num_hidden, columns);
}

void embedding_shape(const LowBitEmbeddingParams& p, ShapeInfer& s) {
  check_form(p, s.who());
  set_weight(p, s, p.input_dim, p.output_dim);
  if (!s.in(0).ndim_known()) return;
  Shape out = s.in(0);
  out.push_back(p.output_dim);
  s.set_out(0, out);
}

template <class P>
void types(const P& p, TypeInfer& t) {
  if constexpr (std::is_same_v<P, LowBitEmbeddingParams>) t.default_in(0);
  else t.set_in(0, DType::float32);
  t.set_in(1, p.dtype());
  for (int i = 2; i < t.num_in(); ++i) t.set_in(i, DType::float32);
  t.set_out(0, DType::float32);
}

void rnn_shape(const LowBitRnnParams& p, ShapeInfer& s) {
  const Shape& data = s.in(0);
  if (!data.ndim_known()) return;
  s.expect(0, data.ndim() == 3, "3 axes: steps, batch, inputs");
  const int64_t directions = p.bidirectional ? 2 : 1;
  if (data[2] >= 0) {
    constexpr double kMostWeights = 0x1p60;
    const auto wide = static_cast<double>(std::max<int64_t>(data[2], directions * p.state_size)) +
                      2.0 * (p.state_size + 1.0);
    LOOMIX_CHECK(4.0 * p.state_size * p.num_layers * static_cast<double>(directions) * wide < kMostWeights,
                 ShapeError,
                 "[{}] {} layers of {} units for {} inputs have more weights than an array can hold.",
                 s.who(), p.num_layers, p.state_size, data[2]);
    const RnnShape sizes(p, Shape{0, 0, data[2]});
    s.set_in(1, Shape{sizes.bias(0, 0)});
    for (int i : {2, 3}) s.set_in(i, Shape{sizes.parameters() - sizes.bias(0, 0)});
  }
  const Shape state{p.num_layers * directions, data[1], p.state_size};
  for (int i = 4; i < s.num_in(); ++i) s.set_in(i, state);
  s.set_out(0, Shape{data[0], data[1], directions * p.state_size});
  for (int i = 1; i < s.num_out(); ++i) s.set_out(i, state);
}

// Reading the weight, or multiplying by it.
double cost(const LowBitFullyConnectedParams& p, const KernelSpec& spec) {
  const auto weights = static_cast<double>(spec.in[1].bytes());
  const double rows = static_cast<double>(spec.out[0].size()) / p.num_hidden;
  return 500 + weights * (0.06 + 0.02 * rows);
}

}  // namespace

void register_low_bit(OpTable& table) {
  table
      .add<LowBitFullyConnectedParams>("_contrib_low_bit_fully_connected",
                                       {"data", "weight", "scale", "bias"})
      .doc(
          "FullyConnected with a weight of 8 or 4 bits. The weight is int8, or uint8 with two numbers a "
          "byte, "
          "the first one in the low half, each + 8. A group of neighbours of a row stands for its numbers "
          "times a scale.")
      .last_input_if([](const LowBitFullyConnectedParams& p) { return !p.no_bias; })
      .infer_shape(fully_connected_shape)
      .infer_type(types<LowBitFullyConnectedParams>)
      .cost(cost);
  table
      .add<LowBitRnnParams>("_contrib_low_bit_rnn",
                            {"data", "weight", "scale", "bias", "state", "state_cell"})
      .doc(
          "RNN in prediction with weights of 8 bits: the matrices of RNN's parameters as int8, a scale for "
          "each of "
          "their rows, and its biases. Data and states are rounded to 8 bits in each run, a row at a time.")
      .last_input_if([](const LowBitRnnParams& p) { return p.mode == RnnMode::lstm; })
      .outputs({"output", "state", "state_cell"})
      .num_outputs([](const LowBitRnnParams& p) {
        return !p.state_outputs ? 1 : p.mode == RnnMode::lstm ? 3 : 2;
      })
      .infer_shape(rnn_shape)
      .infer_type([](const LowBitRnnParams&, TypeInfer& t) {
        for (int i = 0; i < t.num_in(); ++i) t.set_in(i, i == 1 ? DType::int8 : DType::float32);
        for (int i = 0; i < t.num_out(); ++i) t.set_out(i, DType::float32);
      });
  table.add<LowBitDotParams>("_contrib_low_bit_batch_dot", {"lhs", "rhs"})
      .doc(
          "batch_dot whose rows on the left and columns on the right are rounded to 8 bits in each run, each "
          "with "
          "a scale of its own.")
      .infer_shape([](const LowBitDotParams& p, ShapeInfer& s) {
        s.set_out(0, batch_dot_shape(p, s.who(), s.in(0), s.in(1)));
      })
      .types({DType::float32})
      .element_cost(5);
  table.add<LowBitEmbeddingParams>("_contrib_low_bit_embedding", {"data", "weight", "scale"})
      .doc(
          "Embedding with a weight of 8 or 4 bits, which lies as that of `low_bit_fully_connected` does. "
          "Indices "
          "outside of the weight become its first or last row.")
      .infer_shape(embedding_shape)
      .infer_type(types<LowBitEmbeddingParams>)
      .input_types(0, kNumericTypes)
      .class_numbers([](const LowBitEmbeddingParams& p, std::span<const TensorView>) {
        return ClassNumbers{.input = 0, .classes = p.input_dim};
      });
}

}  // namespace loomix::ops
