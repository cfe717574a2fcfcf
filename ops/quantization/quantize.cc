// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/quantization/quantization.h"
#include "ops/quantization/rules.h"

// From real numbers to whole ones and back.
namespace loomix::ops {
namespace {

void same_shape(ShapeInfer& s) {
  s.tie({0});
  range_shapes(s, 1, 1);
}

// The rows may have a range each.
void same_rows(ShapeInfer& s) {
  s.tie({0});
  const Shape& data = s.in(0);
  if (!data.ndim_known()) return;
  row_range_shape(s, 1, data.ndim() > 0 ? data[0] : 1);
  for (int i = 1; i < s.num_out(); ++i) s.set_out(i, s.in(1));
}

// What is stated of a range: int8 is symmetric.
WholeRole rounding(WholeKind kind, const QuantizeV2Params& p) {
  std::optional<Range> range = p.range();
  if (!range) return WholeRole::alone("its range is found in each run");
  const float reach = range->reach();
  if (p.type() == DType::int8) range = {-reach, reach};
  else if (kind == WholeKind::requantize) range = {0, reach};
  return {.kind = kind, .range = range};
}

}  // namespace

void range_shapes(ShapeInfer& s, int in, int out) {
  for (int i = in; i < s.num_in(); ++i) s.set_in(i, Shape{1});
  for (int i = out; i < s.num_out(); ++i) s.set_out(i, Shape{1});
}

void row_range_shape(ShapeInfer& s, int low, int64_t rows) {
  bool is_each = false;
  for (int i : {low, low + 1}) {
    const Shape& given = s.in(i);
    is_each = is_each || (given.is_known() && given != Shape{1} && given == Shape{rows});
  }
  for (int i : {low, low + 1}) s.set_in(i, Shape{is_each ? rows : 1});
}

void range_types(TypeInfer& t, int in, int out) {
  for (int i = in; i < t.num_in(); ++i) t.set_in(i, DType::float32);
  for (int i = out; i < t.num_out(); ++i) t.set_out(i, DType::float32);
}

void register_quantize(OpTable& table) {
  table.add<QuantizeParams>("_contrib_quantize", {"data", "min_range", "max_range"})
      .doc(
          "Turns real numbers of a given range into whole ones. The rows (of the first axis) may have a "
          "range "
          "each.")
      .outputs({"output", "min_output", "max_output"})
      .infer_shape([](const QuantizeParams&, ShapeInfer& s) { same_rows(s); })
      .infer_type([](const QuantizeParams& p, TypeInfer& t) {
        range_types(t, 0, 1);
        t.set_out(0, p.out_type);
      })
      .whole_kind(WholeRole::alone(kNoPackedForm))
      .zero_gradient();
  table.add<QuantizeV2Params>("_contrib_quantize_v2", {"data"})
      .doc(
          "Turns real numbers into whole ones. The range is calibrated, or found in the data. Whole numbers "
          "stay as they are.")
      .outputs({"output", "min_output", "max_output"})
      .infer_shape([](const QuantizeV2Params&, ShapeInfer& s) { same_shape(s); })
      .infer_type([](const QuantizeV2Params& p, TypeInfer& t) {
        t.default_in(0);
        const bool is_whole = kByteTypes.contains(t.in(0));
        t.set_out(0, is_whole ? t.in(0) : p.type());
        range_types(t, 1, 1);
      })
      .input_types(0, {DType::float32, DType::int8, DType::uint8})
      .whole_role([](const QuantizeV2Params& p) { return rounding(WholeKind::quantize, p); })
      .zero_gradient();
  table.add<QuantizeAsymParams>("_contrib_quantize_asym", {"data"})
      .doc("Turns real numbers x into uint8: x * scale + shift, so that the range fills all 256 numbers.")
      .outputs({"output", "scale", "shift"})
      .infer_shape([](const QuantizeAsymParams&, ShapeInfer& s) { same_shape(s); })
      .infer_type([](const QuantizeAsymParams&, TypeInfer& t) {
        range_types(t, 0, 1);
        t.set_out(0, DType::uint8);
      })
      .zero_gradient();
  table.add<DequantizeParams>("_contrib_dequantize", {"data", "min_range", "max_range"})
      .doc(
          "Turns whole numbers into the real ones that they stand for. The rows (of the first axis) may have "
          "a "
          "range each.")
      .infer_shape([](const DequantizeParams&, ShapeInfer& s) { same_rows(s); })
      .infer_type([](const DequantizeParams&, TypeInfer& t) {
        t.default_in(0, DType::int8);
        range_types(t, 1, 0);
      })
      .input_types(0, {DType::int8, DType::uint8, DType::int32})
      .whole_kind({WholeKind::dequantize})
      .zero_gradient();
  table.add<QuantizeV2Params>("_contrib_requantize", {"data", "min_range", "max_range"})
      .doc("Turns int32 into 8 bits. The new range is calibrated, or found in the data.")
      .outputs({"output", "min_output", "max_output"})
      .infer_shape([](const QuantizeV2Params&, ShapeInfer& s) { same_shape(s); })
      .infer_type([](const QuantizeV2Params& p, TypeInfer& t) {
        t.set_in(0, DType::int32);
        range_types(t, 1, 1);
        t.set_out(0, p.type());
      })
      .whole_role([](const QuantizeV2Params& p) { return rounding(WholeKind::requantize, p); })
      .zero_gradient();
  table.add<EntropyParams>("_contrib_calibrate_entropy", {"hist", "hist_edges"})
      .doc(
          "The threshold at which a histogram loses least (by divergence) when values beyond are cut off and "
          "the rest "
          "is told apart by so many steps. The histogram has an odd number of bins, with 0 in the middle "
          "one.")
      .outputs({"threshold", "divergence"})
      .infer_shape([](const EntropyParams&, ShapeInfer& s) {
        s.expect(0, s.in(0).ndim() == 1, "one axis");
        if (s.in(0).ndim() == 1 && s.in(0)[0] >= 0) s.set_in(1, Shape{s.in(0)[0] + 1});
        for (int i : {0, 1}) s.set_out(i, Shape{1});
      })
      .infer_type([](const EntropyParams&, TypeInfer& t) {
        for (int i : {0, 1}) t.default_in(i);
        range_types(t, 2, 0);
      })
      .input_types(0, kNumericTypes)
      .input_types(1, kNumericTypes)
      .zero_gradient();
}

}  // namespace loomix::ops
