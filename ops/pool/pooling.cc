// SPDX-License-Identifier: Apache-2.0
#include "ops/pool/pooling.h"

#include <algorithm>

#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

int64_t windows(const PoolingParams& p, int64_t size, int64_t kernel, int64_t stride, int64_t pad) {
  if (p.pooling_convention == PoolConvention::same) return (size + stride - 1) / stride;
  const int64_t room = size + 2 * pad - kernel;
  return 1 + (p.pooling_convention == PoolConvention::full ? (room + stride - 1) / stride : room / stride);
}

void check(const PoolingParams& p, const ShapeInfer& s, const Shape& data) {
  const int spatial = data.ndim() - 2;
  LOOMIX_CHECK(spatial >= 1 && spatial <= 3, ShapeError, "[{}] the data has shape {}; expected 3 to 5 axes.",
               s.who(), data.to_string());
  LOOMIX_CHECK(!p.layout || spatial_axes(*p.layout) == spatial, ShapeError,
               "[{}] the data has shape {}, but layout asks for {} axes.", s.who(), data.to_string(),
               spatial_axes(*p.layout) + 2);
  if (p.global_pool) return;
  LOOMIX_CHECK(p.kernel.ndim() == spatial, ShapeError,
               "[{}] kernel is {}; expected {} numbers for data of shape {}.", s.who(), tuple_text(p.kernel),
               spatial, data.to_string());
  for (const Shape* list : {&p.stride, &p.pad}) {
    // MXNet ignores what is beyond the data's axes, and scripts give a pad of three numbers for any of them.
    LOOMIX_CHECK(list->ndim() == 0 || list->ndim() >= spatial, ShapeError,
                 "[{}] stride and pad are {} and {}; expected {} numbers or none.", s.who(),
                 tuple_text(p.stride), tuple_text(p.pad), spatial);
  }
  for (int i = 0; i < spatial; ++i) {
    LOOMIX_CHECK(p.kernel[i] > 0 && value_or(p.stride, i, 1) > 0 && value_or(p.pad, i, 0) >= 0, ValueError,
                 "[{}] kernel {}, stride {}, pad {}: kernel and stride must be positive, pad not negative.",
                 s.who(), tuple_text(p.kernel), tuple_text(p.stride), tuple_text(p.pad));
    LOOMIX_CHECK(p.pooling_convention != PoolConvention::same || value_or(p.pad, i, 0) == 0, ValueError,
                 "[{}] pad is {}; the pooling convention 'same' pads by itself.", s.who(), tuple_text(p.pad));
    LOOMIX_CHECK(value_or(p.pad, i, 0) < p.kernel[i], ValueError,
                 "[{}] pad {} must be smaller than kernel {}.", s.who(), tuple_text(p.pad),
                 tuple_text(p.kernel));
  }
}

}  // namespace

Shape pooled(const PoolingParams& p, const ShapeInfer& s, const Shape& data) {
  check(p, s, data);
  Shape out = data;
  const int first = channels_last(p.layout) ? 1 : 2;
  for (int i = 0; i < data.ndim() - 2; ++i) {
    int64_t& size = out[first + i];
    if (p.global_pool) {
      size = 1;
    } else if (size >= 0) {
      const int64_t pad = value_or(p.pad, i, 0);
      LOOMIX_CHECK(p.pooling_convention == PoolConvention::same || p.kernel[i] <= size + 2 * pad, ShapeError,
                   "[{}] kernel {} with pad {} is larger than the data of shape {}.", s.who(),
                   tuple_text(p.kernel), tuple_text(p.pad), data.to_string());
      size = windows(p, size, p.kernel[i], value_or(p.stride, i, 1), pad);
    }
  }
  return out;
}

namespace {

void check_exponent(const PoolingParams& p, ShapeInfer& s) {
  LOOMIX_CHECK(p.p_value && *p.p_value >= 1, ValueError, "[{}] pool_type lp needs p_value, at least 1.",
               s.who());
}

void infer(const PoolingParams& p, ShapeInfer& s) {
  if (s.in(0).ndim_known()) s.set_out(0, pooled(p, s, s.in(0)));
  if (p.pool_type == PoolType::lp) check_exponent(p, s);
}

DType places_type(const PoolingParams& p) { return has_wide_places(p) ? DType::int32 : DType::uint8; }

// One a window; channels come first, whatever the layout.
Shape places_shape(const PoolingParams& p, const Shape& data) {
  const PoolGeometry g(p, data);
  return {g.batch, g.channels, g.out[0], g.out[1], g.out[2]};
}

TensorView infer_places(const PoolingParams& p, const KernelSpec& spec) {
  if (p.pool_type != PoolType::max) return {nullptr, DType::uint8, Shape{1}};
  return {nullptr, places_type(p), places_shape(p, spec.in[0].shape)};
}

// grad, something of the output's size for each window, data
void infer_max_backward(const PoolingParams& p, ShapeInfer& s) {
  s.set_in(2, s.out(0));
  s.set_out(0, s.in(2));
  if (!s.in(2).ndim_known()) return;
  s.set_in(0, pooled(p, s, s.in(2)));
  if (s.in(2).is_known()) s.set_in(1, places_shape(p, s.in(2)));
}

// grad, data, and for lp the output
void infer_backward(const PoolingParams& p, ShapeInfer& s) {
  s.set_in(1, s.out(0));
  s.set_out(0, s.in(1));
  if (!s.in(1).ndim_known()) return;
  const Shape out = pooled(p, s, s.in(1));
  s.set_in(0, out);
  if (s.num_in() > 2) {
    check_exponent(p, s);
    s.set_in(2, out);
  }
}

// What is kept for the gradient: the places of maxima, nothing for means and sums, data and output for norms.
void gradient(const PoolingParams& p, GradBuilder& g, const std::string& backward) {
  std::vector<GradValue> inputs = {g.grad_of(0)};
  const bool is_max = p.pool_type == PoolType::max, is_norm = p.pool_type == PoolType::lp;
  if (is_max) inputs.push_back(g.saved(0));
  inputs.push_back(g.in(0));
  if (is_norm) inputs.push_back(g.out(0));
  g.set(0, g.call(backward + (is_max ? "_max" : is_norm ? "_norm" : "_mean"), inputs, g.attrs())[0]);
}

template <class P>
OpBuilder<P> add_backward(OpTable& table, const std::string& name,
                          std::initializer_list<std::string_view> inputs) {
  auto op = table.add_hidden<P>(name, inputs);
  op.types(kFloatingTypes).element_cost(2);
  op.infer_shape([](const P& p, ShapeInfer& s) { infer_backward(full(p), s); });
  return op;
}

template <class P>
void add(OpTable& table, const std::string& name, const char* doc) {
  const std::string backward = "_backward_" + name;
  table.add<P>(name, {"data"})
      .doc(doc)
      .saved({"places"}, [](const P& p, const KernelSpec& spec, int) { return infer_places(full(p), spec); })
      .infer_shape([](const P& p, ShapeInfer& s) { infer(full(p), s); })
      .types(kFloatingTypes)
      .element_cost(2)
      .gradient_by(
          [backward](const AttrsBase& attrs, GradBuilder& g) { gradient(full(attrs.as<P>()), g, backward); });
  add_backward<P>(table, backward + "_max", {"grad", "places", "data"})
      .shape_only(2)
      .scatters()
      .infer_shape([](const P& p, ShapeInfer& s) { infer_max_backward(full(p), s); })
      .infer_type([](const P& p, TypeInfer& t) {
        t.tie({0, 2}, {0});
        t.set_in(1, places_type(full(p)));
      })
      .input_types(1, {DType::uint8, DType::int32});
  add_backward<P>(table, backward + "_mean", {"grad", "data"}).shape_only(1);
}

}  // namespace

PoolGeometry::PoolGeometry(const PoolingParams& p, const Shape& data)
    : channels_last(ops::channels_last(p.layout)) {
  const int spatial = data.ndim() - 2;
  const int first = channels_last ? 1 : 2;
  batch = data[0];
  channels = data[channels_last ? data.ndim() - 1 : 1];
  for (int i = 0; i < 3; ++i) {
    const int axis = i - (3 - spatial);
    if (axis < 0) {
      in[i] = out[i] = kernel[i] = stride[i] = 1;
      pad[i] = 0;
      continue;
    }
    in[i] = data[first + axis];
    kernel[i] = p.global_pool ? in[i] : p.kernel[axis];
    stride[i] = p.global_pool ? 1 : value_or(p.stride, axis, 1);
    pad[i] = p.global_pool ? 0 : value_or(p.pad, axis, 0);
    out[i] = p.global_pool ? 1 : windows(p, in[i], kernel[i], stride[i], pad[i]);
    if (!p.global_pool && p.pooling_convention == PoolConvention::same) {
      pad[i] = std::max<int64_t>(0, (out[i] - 1) * stride[i] + kernel[i] - in[i]) / 2;
    }
  }
}

bool has_wide_places(const PoolingParams& p) {
  return p.global_pool || p.kernel.size() > kNoPlace<BytePlace>;
}

void register_pool(OpTable& table) {
  add<PoolingParams>(table, "Pooling",
                     "The maximum, average, sum or p-norm of each window that moves over the data.");
  add_backward<PoolingParams>(table, "_backward_Pooling_norm", {"grad", "data", "output"});
  add<PoolingV1Params>(table, "Pooling_v1", "Pooling with fewer attributes, for old files.");
}

}  // namespace loomix::ops
