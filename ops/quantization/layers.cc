// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/conv/convolution.h"
#include "ops/linear/bilinear.h"
#include "ops/linear/fully_connected.h"
#include "ops/pool/pooling.h"
#include "ops/quantization/quantization.h"
#include "ops/quantization/rules.h"
#include "ops/rnn/rnn.h"

// MXNet's layers of 8 bits. The range of each array comes as two more inputs or outputs.
namespace loomix::ops {
namespace {

// data, weight, bias, then ranges of those that are there.
template <class P>
bool is_there(const P& p, int input) {
  return !p.no_bias || (input != 2 && input != 7 && input != 8);
}

template <class P, auto relate>
OpBuilder<P> add_product(OpTable& table, const char* name) {
  return table
      .add<P>(name, {"data", "weight", "bias", "min_data", "max_data", "min_weight", "max_weight", "min_bias",
                     "max_bias"})
      .outputs({"output", "min_output", "max_output"})
      .inputs_if(is_there<P>)
      .infer_shape([](const P& p, ShapeInfer& s) {
        BilinearShapes shapes(s, 0, 1, -1);
        relate(p, shapes);
        if (!p.no_bias) s.set_in(2, bias_shape(p));
        const int first = p.no_bias ? 2 : 3;
        for (int i : {first, first + 1}) s.set_in(i, Shape{1});
        const int64_t rows = bias_shape(p)[0];
        for (int i = first + 2; i < s.num_in(); i += 2) row_range_shape(s, i, rows);
        range_shapes(s, s.num_in(), 1);
      })
      .infer_type([](const P& p, TypeInfer& t) {
        t.default_in(0, DType::uint8);
        t.set_in(1, DType::int8);
        if (!p.no_bias) t.set_in(2, DType::int8);
        range_types(t, p.no_bias ? 2 : 3, 1);
        t.set_out(0, DType::int32);
      })
      .input_types(0, kByteTypes)
      .zero_gradient();
}

template <class P>
OpBuilder<P> add_mover(OpTable& table, const char* name) {
  return table.add<P>(name, {"data", "min_data", "max_data"})
      .outputs({"output", "min_output", "max_output"})
      .infer_type([](const P&, TypeInfer& t) {
        t.default_in(0, DType::int8);
        t.tie({0});
        range_types(t, 1, 1);
      })
      .input_types(0, kByteTypes)
      .zero_gradient();
}

void flat_shape(const NoParams&, ShapeInfer& s) {
  range_shapes(s, 1, 1);
  const Shape& data = s.in(0);
  if (!data.ndim_known() || data.ndim() == 0) return;
  int64_t row = 1;
  for (int i = 1; i < data.ndim(); ++i) row = row < 0 || data[i] < 0 ? kUnknownDim : row * data[i];
  s.set_out(0, Shape{data[0], row});
}

void concat_shape(const QuantizedConcatParams& p, ShapeInfer& s) {
  range_shapes(s, p.num_args, 1);
  Shape out;
  for (int i = 0; i < p.num_args; ++i) {
    const Shape& part = s.in(i);
    if (!part.ndim_known()) return;
    const int axis = normalize_axis(p.dim, part.ndim(), s.who());
    if (i == 0) {
      out = part;
      continue;
    }
    LOOMIX_CHECK(part.ndim() == out.ndim(), ShapeError,
                 "[{}] arrays have shapes {} and {}; expected equally many axes.", s.who(),
                 s.in(0).to_string(), part.to_string());
    for (int k = 0; k < out.ndim(); ++k) {
      LOOMIX_CHECK(k == axis || part[k] == out[k] || part[k] < 0 || out[k] < 0, ShapeError,
                   "[{}] arrays have shapes {} and {}; only axis {} may differ.", s.who(),
                   s.in(0).to_string(), part.to_string(), axis);
    }
    out[axis] = out[axis] < 0 || part[axis] < 0 ? kUnknownDim : out[axis] + part[axis];
  }
  s.set_out(0, out);
}

void register_rest(OpTable& table) {
  const auto pair = [](auto op) {
    return op.outputs({"output", "min_output", "max_output"})
        .whole_kind(WholeRole::alone(kNoPackedForm))
        .zero_gradient();
  };
  pair(table.add<QuantizedAddParams>("_contrib_quantized_elemwise_add",
                                     {"lhs", "rhs", "lhs_min", "lhs_max", "rhs_min", "rhs_max"}))
      .doc(
          "Adds arrays of 8 bits: int32 whose range is the sum of theirs, or 8 bits in the calibrated range.")
      .infer_shape([](const QuantizedAddParams&, ShapeInfer& s) {
        s.tie({0, 1});
        range_shapes(s, 2, 1);
      })
      .infer_type([](const QuantizedAddParams& p, TypeInfer& t) {
        for (int i : {0, 1}) t.default_in(i, DType::int8);
        range_types(t, 2, 1);
        const bool both = t.in(0) == DType::uint8 && t.in(1) == DType::uint8;
        t.set_out(0, !p.is_calibrated() ? DType::int32 : both ? DType::uint8 : DType::int8);
      })
      .whole_role([](const QuantizedAddParams& p) {
        return WholeRole{WholeKind::add, 2, "elemwise_add", p.range()};
      })
      .input_types(0, kByteTypes)
      .input_types(1, kByteTypes);
  pair(table.add<QuantizedMulParams>("_contrib_quantized_elemwise_mul",
                                     {"lhs", "rhs", "lhs_min", "lhs_max", "rhs_min", "rhs_max"}))
      .doc("Multiplies arrays of int8: int32, or int8 in the calibrated range, or float32.")
      .num_outputs([](const QuantizedMulParams& p) { return p.enable_float_output ? 1 : 3; })
      .infer_shape([](const QuantizedMulParams&, ShapeInfer& s) {
        s.tie({0, 1});
        range_shapes(s, 2, 1);
      })
      .infer_type([](const QuantizedMulParams& p, TypeInfer& t) {
        for (int i : {0, 1}) t.set_in(i, DType::int8);
        range_types(t, 2, 1);
        t.set_out(0, p.enable_float_output ? DType::float32 : p.is_calibrated() ? DType::int8 : DType::int32);
      });
  pair(table.add<QuantizedConcatParams>("_contrib_quantized_concat"))
      .doc(
          "Joins arrays of 8 bits, each brought to the range of all. After the arrays come their ranges in "
          "turn.")
      .variadic("data", "num_args", &QuantizedConcatParams::num_args)
      .num_inputs([](const QuantizedConcatParams& p) { return 3 * p.num_args; })
      .infer_shape(concat_shape)
      .infer_type([](const QuantizedConcatParams& p, TypeInfer& t) {
        bool is_signed = false;
        for (int i = 0; i < p.num_args; ++i) {
          t.default_in(i, DType::int8);
          LOOMIX_CHECK(kByteTypes.contains(t.in(i)), TypeError,
                       "[{}] array {} is {}; expected int8 or uint8.", t.who(), i, name_of(t.in(i)));
          is_signed = is_signed || t.in(i) == DType::int8;
        }
        range_types(t, p.num_args, 1);
        t.set_out(0, is_signed ? DType::int8 : DType::uint8);
      })
      .whole_role([](const QuantizedConcatParams& p) {
        return WholeRole{WholeKind::concat, p.num_args, "Concat"};
      });
  pair(table.add<QuantizedEmbeddingParams>("_contrib_quantized_embedding",
                                           {"data", "weight", "min_weight", "max_weight"}))
      .doc("Rows of an int8 weight by their numbers, moved into the range of rows that there are.")
      .infer_shape([](const QuantizedEmbeddingParams& p, ShapeInfer& s) {
        s.set_in(1, Shape{p.input_dim, p.output_dim});
        range_shapes(s, 2, 1);
        if (!s.in(0).ndim_known()) return;
        Shape out = s.in(0);
        out.push_back(p.output_dim);
        s.set_out(0, out);
      })
      .infer_type([](const QuantizedEmbeddingParams&, TypeInfer& t) {
        t.default_in(0);
        t.set_in(1, DType::int8);
        range_types(t, 2, 1);
        t.set_out(0, DType::int8);
      })
      .input_types(0, kNumericTypes);
  pair(table.add<BatchNormParams>("_contrib_quantized_batch_norm", {"data", "gamma", "beta"})
           .state("moving_mean")
           .state("moving_var")
           .inputs({"min_data", "max_data"}))
      .doc(
          "Normalises channels of 8 bits by the moving statistics; the range of the output must be "
          "calibrated.")
      .infer_shape([](const BatchNormParams& p, ShapeInfer& s) {
        s.tie({0});
        range_shapes(s, 5, 1);
        if (!s.in(0).ndim_known()) return;
        const int axis = normalize_axis(p.axis, s.in(0).ndim(), s.who());
        for (int i = 1; i < 5; ++i) s.set_in(i, Shape{s.in(0)[axis]});
      })
      .infer_type([](const BatchNormParams& p, TypeInfer& t) {
        LOOMIX_CHECK(p.min_calib_range && p.max_calib_range, ValueError,
                     "[{}] min_calib_range and max_calib_range are not given; expected a calibrated range.",
                     t.who());
        t.default_in(0, DType::int8);
        range_types(t, 1, 1);
        t.set_out(0, DType::int8);
      })
      .input_types(0, kByteTypes);
}

void conv_shapes(const ConvolutionParams& p, BilinearShapes& s) {
  LOOMIX_CHECK(!p.algorithm, NotImplementedError,
               "[{}] algorithm is given, of which there is only one for 8 bits; expected none.", s.who());
  convolution_shapes(p, s);
}

void rnn_shape(const RnnParams& p, ShapeInfer& s) {
  LOOMIX_CHECK(
      p.mode == RnnMode::lstm && !p.projection_size && !p.use_sequence_length && !p.lstm_state_clip_min,
      NotImplementedError,
      "[{}] mode, projection_size, use_sequence_length or lstm_state_clip_min ask for more than an LSTM "
      "without these, which is all that there is of 8 bits.",
      s.who());
  range_shapes(s, 4, 3);
  const Shape& data = s.in(0);
  if (!data.ndim_known()) return;
  s.expect(0, data.ndim() == 3, "three axes: steps, sequences, numbers");
  if (data[0] < 0 || data[1] < 0 || data[2] < 0) return;
  const RnnShape r(p, data);
  s.set_in(1, Shape{r.parameters()});
  const Shape state{r.layers * r.directions, r.batch, r.hidden};
  s.set_in(2, state);
  s.set_in(3, state);
  s.set_out(0, Shape{r.steps, r.batch, r.output_columns()});
  for (int i = 1; i < s.num_out(); ++i) s.set_out(i, state);
}

constexpr const char* kChannelsLast = "its layout has the channels last";

WholeRole convolution_role(const ConvolutionParams& p) {
  if (p.kernel.ndim() != 2) return WholeRole::alone("only convolutions of 2 axes have a packed form");
  if (channels_last(p.layout)) return WholeRole::alone(kChannelsLast);
  return {WholeKind::product, p.no_bias ? 2 : 3, "Convolution"};
}

}  // namespace

void register_quantized_layers(OpTable& table) {
  add_product<ConvolutionParams, conv_shapes>(table, "_contrib_quantized_conv")
      .whole_role(convolution_role)
      .doc(
          "Convolution of 8 bits, summed exactly in int32. The bias is brought to the sums' step. Weight and "
          "bias have one range, or one a filter, whose sums are brought to the largest step of all.");
  add_product<FullyConnectedParams, fully_connected_shapes>(table, "_contrib_quantized_fully_connected")
      .whole_role([](const FullyConnectedParams& p) {
        return WholeRole{WholeKind::product, p.no_bias ? 2 : 3, "FullyConnected"};
      })
      .doc(
          "FullyConnected of 8 bits, summed exactly in int32. The bias is brought to the sums' step. Weight "
          "and bias have one range, or one an output, whose sums are brought to the largest step of all.");
  add_mover<PoolingParams>(table, "_contrib_quantized_pooling")
      .whole_role([](const PoolingParams& p) {
        return channels_last(p.layout) ? WholeRole::alone(kChannelsLast)
                                       : WholeRole{WholeKind::pooling, 1, "Pooling"};
      })
      .doc("Pooling of 8 bits, by maximum or average; the range stays.")
      .infer_shape([](const PoolingParams& p, ShapeInfer& s) {
        LOOMIX_CHECK(p.pool_type == PoolType::max || p.pool_type == PoolType::avg, ValueError,
                     "[{}] pool_type sum or lp leaves the range; expected max or avg.", s.who());
        range_shapes(s, 1, 1);
        if (s.in(0).ndim_known()) s.set_out(0, pooled(p, s, s.in(0)));
      });
  add_mover<QuantizedActParams>(table, "_contrib_quantized_act")
      .whole_kind({WholeKind::relu, 1, "relu"})
      .doc("max(x, 0) of 8 bits; the range stays.")
      .infer_shape([](const QuantizedActParams& p, ShapeInfer& s) {
        LOOMIX_CHECK(p.act_type == "relu", ValueError,
                     "[{}] act_type is {}; only relu keeps whole numbers whole.", s.who(), p.act_type);
        s.tie({0});
        range_shapes(s, 1, 1);
      });
  add_mover<NoParams>(table, "_contrib_quantized_flatten")
      .doc("Joins all axes but the first; the range stays.")
      .infer_shape(flat_shape)
      .whole_kind({WholeKind::flatten, 1, "Flatten"})
      .identity(0, 0);
  register_rest(table);
  table
      .add<RnnParams>("_contrib_quantized_rnn",
                      {"data", "parameters", "state", "state_cell", "data_scale", "data_shift"})
      .doc(
          "An LSTM whose input comes as uint8, x * data_scale + data_shift. Its weights are rounded to int8, "
          "with one scale a "
          "row; states and gates are float32.")
      .outputs({"output", "state_output", "statecell_output"})
      .num_outputs([](const RnnParams& p) { return p.state_outputs ? 3 : 1; })
      .infer_shape(rnn_shape)
      .infer_type([](const RnnParams&, TypeInfer& t) {
        t.set_in(0, DType::uint8);
        range_types(t, 1, 0);
      })
      .whole_kind(WholeRole::alone(kNoPackedForm))
      .zero_gradient();
}

}  // namespace loomix::ops
