// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/linear/fully_connected.h"
#include "ops/quantization/packed.h"
#include "ops/table.h"

// What convolutions and fully connected layers in packed form are, whichever kernels run them.
namespace loomix::ops {
namespace {

using Params = PackedProductParams;

void check_image(const Params& p, const ShapeInfer& s) {
  check_window(p, s.who());
  LOOMIX_CHECK(p.image.is_known() && p.image.ndim() == 4 && p.kernel.ndim() == 2, ShapeError,
               "[{}] image is {} and kernel {}; expected 4 and 2 numbers.", s.who(), tuple_text(p.image),
               tuple_text(p.kernel));
}

Shape out_shape(const Params& p) {
  if (p.dense) return {p.image[0], p.num_filter};
  const ConvGeometry g(p, p.image);
  return {g.batch, g.out[1], g.out[2], p.num_filter};
}

void infer(const Params& p, ShapeInfer& s) {
  check_image(p, s);
  if (!p.is_flat()) s.set_in(0, packed_shape(p.image));
  else if (s.in(0).is_known())
    s.expect(0, s.in(0).size() == p.image.size(), "as many numbers as the attribute image says");
  s.set_in(1, {p.weight_size});
  for (int i : {2, 3}) s.set_in(i, {p.num_filter});
  s.set_out(0, out_shape(p));
  if (p.added_type) s.set_in(4, out_shape(p));
}

void infer_type(const Params& p, TypeInfer& t) {
  t.set_in(0, p.data_type);
  t.set_in(1, DType::int8);
  for (int i : {2, 3}) t.set_in(i, DType::float32);
  if (p.added_type) t.set_in(4, *p.added_type);
  t.set_out(0, p.out_type);
}

double cost(const Params& p, const KernelSpec& spec) {
  constexpr double kNsPerByte = 0.04;
  const ConvGeometry g(p, p.image);
  const double flops_per_ns = g.channels == 1 ? 40 : g.channels < 16 ? 150 : 400;
  const double flops = 2.0 * static_cast<double>(g.batch * g.groups * g.filters * g.out_size() * g.depth());
  const auto bytes = static_cast<double>(spec.in[0].bytes() + spec.in[1].bytes() + spec.out[0].bytes());
  return 1000 + std::max(flops / flops_per_ns, bytes * kNsPerByte);
}

}  // namespace

PackedProductParams packed_params(const AttrsBase& attrs, const Shape& data, DType data_type,
                                  const PackedClosing& closing) {
  Params made;
  made.image = data;
  if (&attrs.schema() == &param_schema<FullyConnectedParams>()) {
    const auto& p = attrs.as<FullyConnectedParams>();
    made.dense = true;
    made.num_filter = p.num_hidden;
    if (data.ndim() != 4) made.image = {data[0], data.size() / data[0], 1, 1};
    made.kernel = {made.image[2], made.image[3]};
  } else {
    static_cast<ConvolutionParams&>(made) = attrs.as<ConvolutionParams>();
  }
  made.no_bias = false;
  made.data_type = data_type;
  made.out_type = closing.out_type;
  made.relu = closing.relu;
  made.added_type = closing.added_type;
  made.added_scale = closing.added_scale;
  return made;
}

PackedForm packed_form(PackedProductParams p) {
  const int64_t filters = p.num_filter;
  const char* const op = p.dense ? kPackedDense : kPackedConvolution;
  const Ref<const AttrsBase> attrs = make_attrs(std::move(p));
  return {op, kPackedWeight, attrs, attrs, filters};
}

void add_packed_products(OpTable& table) {
  table.add_hidden<Params>(kPackedWeight, {"weight"})
      .infer_shape([](const Params& p, ShapeInfer& s) {
        check_image(p, s);
        s.set_out(0, {p.weight_size});
      })
      .types({DType::int8});
  for (const char* name : {kPackedConvolution, kPackedDense}) {
    table.add_hidden<Params>(name, {"data", "weight", "scale", "bias", "added"})
        .inputs_if([](const Params& p, int input) { return input < 4 || p.added_type.has_value(); })
        .infer_shape(infer)
        .infer_type(infer_type)
        .inplace(4, 0)
        .cost(cost);
  }
}

}  // namespace loomix::ops
