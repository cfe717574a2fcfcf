// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/packed.h"

#include "base/error.h"
#include "ops/linear/fully_connected.h"
#include "ops/quantization/rules.h"
#include "ops/table.h"

namespace loomix::ops {

Shape packed_shape(const Shape& plain) {
  return plain.ndim() == 4 ? Shape{plain[0], plain[2], plain[3], plain[1]} : plain;
}
Shape plain_shape(const Shape& packed) {
  return packed.ndim() == 4 ? Shape{packed[0], packed[3], packed[1], packed[2]} : packed;
}

namespace {

void check_scales(const PackedJoinParams& p, const ShapeInfer& s) {
  LOOMIX_CHECK(static_cast<int>(p.scales.size()) == p.num_args, ValueError,
               "[{}] scales has {} numbers for {} arrays; expected one each.", s.who(), p.scales.size(),
               p.num_args);
}

void joined_shape(const PackedJoinParams& p, ShapeInfer& s) {
  check_scales(p, s);
  Shape out = s.in(0);
  if (!out.is_known()) return;
  const int axis = normalize_axis(p.dim, out.ndim(), s.who());
  for (int i = 1; i < p.num_args; ++i) {
    if (!s.in(i).is_known()) return;
    s.expect(i, s.in(i).ndim() == out.ndim(), "as many axes as the first array");
    out[axis] += s.in(i)[axis];
  }
  s.set_out(0, out);
}

OpBuilder<PackedJoinParams> add_join(OpTable& table, const char* name) {
  using P = PackedJoinParams;
  return table.add_hidden<P>(name)
      .variadic("data", "num_args", &P::num_args)
      .infer_type([](const P& p, TypeInfer& t) {
        for (int i = 0; i < p.num_args; ++i) t.default_in(i, DType::uint8);
        t.set_out(0, p.out_type);
      })
      .input_types(0, kByteTypes);
}

void scale_shape(const PackedScaleParams& p, ShapeInfer& s) {
  row_range_shape(s, 0, p.filters);
  if (!p.no_bias) {
    s.set_in(2, Shape{p.filters});
    row_range_shape(s, 3, p.filters);
  }
  for (int i : {0, 1}) s.set_out(i, Shape{p.filters});
}

}  // namespace

void register_packed(OpTable& table) {
  table
      .add_hidden<PackedScaleParams>("_packed_scale",
                                     {"min_weight", "max_weight", "bias", "min_bias", "max_bias"})
      .inputs_if([](const PackedScaleParams& p, int input) { return input < 2 || !p.no_bias; })
      .outputs({"scale", "bias"})
      .infer_shape(scale_shape)
      .infer_type([](const PackedScaleParams&, TypeInfer& t) {
        for (int i = 0; i < t.num_in(); ++i) t.set_in(i, i == 2 ? DType::int8 : DType::float32);
        range_types(t, t.num_in(), 0);
      })
      .input_types(2, {DType::int8});
  table.add_hidden<PackedQuantizeParams>("_packed_quantize", {"data"})
      .infer_shape([](const PackedQuantizeParams&, ShapeInfer& s) {
        if (s.in(0).is_known()) s.set_out(0, packed_shape(s.in(0)));
      })
      .infer_type([](const PackedQuantizeParams& p, TypeInfer& t) {
        t.set_in(0, DType::float32);
        t.set_out(0, p.out_type);
      });
  table.add_hidden<PackedDequantizeParams>("_packed_dequantize", {"data"})
      .infer_shape([](const PackedDequantizeParams&, ShapeInfer& s) {
        if (s.in(0).is_known()) s.set_out(0, plain_shape(s.in(0)));
      })
      .infer_type([](const PackedDequantizeParams&, TypeInfer& t) {
        t.default_in(0, DType::uint8);
        t.set_out(0, DType::float32);
      })
      .input_types(0, kByteTypes);
  table.add_hidden<PackedPoolingParams>("_packed_pooling", {"data"})
      .infer_shape([](const PackedPoolingParams& p, ShapeInfer& s) {
        LOOMIX_CHECK(channels_last(p.layout), ValueError,
                     "[{}] layout has the channels first; expected NHWC.", s.who());
        if (s.in(0).is_known()) s.set_out(0, pooled(p, s, s.in(0)));
      })
      .types(kByteTypes)
      .element_cost(1);
  add_join(table, "_packed_concat").infer_shape(joined_shape);
  add_join(table, "_packed_add").infer_shape([](const PackedJoinParams& p, ShapeInfer& s) {
    check_scales(p, s);
    s.unify_all();
  });
}

}  // namespace loomix::ops
