// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/row_norm.h"

#include "base/error.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// Shapes of gamma (and beta) and of the statistics.
struct Parts {
  int64_t parameters;
  Shape statistics;
};
Parts parts(const LayerNormParams& p, const char* who, const Shape& data) {
  const int axis = normalize_axis(p.axis, data.ndim(), who);
  Shape statistics = data;
  statistics[axis] = 1;
  return {data[axis], statistics};
}
void check_axes(const char* who, const Shape& data) {
  LOOMIX_CHECK(data.ndim() >= 3, ShapeError, "[{}] the data has shape {}; expected 3 axes or more.", who,
               data.to_string());
}
Parts parts(const InstanceNormParams&, const char* who, const Shape& data) {
  check_axes(who, data);
  return {data[1], Shape{data[0], data[1]}};
}
Parts parts(const GroupNormParams& p, const char* who, const Shape& data) {
  check_axes(who, data);
  LOOMIX_CHECK(data[1] < 0 || data[1] % p.num_groups == 0, ShapeError,
               "[{}] the data has shape {}; its {} channels are no multiple of num_groups {}.", who,
               data.to_string(), data[1], p.num_groups);
  return {p.num_groups, Shape{data[0], p.num_groups}};
}

template <class P>
void infer_forward(const P& p, ShapeInfer& s) {
  s.tie({0});
  if (!s.in(0).ndim_known()) return;
  const Parts shapes = parts(p, s.who(), s.in(0));
  for (int i = 1; i < 3; ++i) {
    s.set_in(i, Shape{shapes.parameters});
    s.set_out(i, shapes.statistics);
  }
}

template <class P>
void infer_backward(const P& p, ShapeInfer& s) {  // grad, data, gamma, mean, deviation
  s.tie({0, 1}, {});
  s.set_out(0, s.in(1));
  if (!s.in(1).ndim_known()) return;
  const Parts shapes = parts(p, s.who(), s.in(1));
  s.set_in(2, Shape{shapes.parameters});
  for (int i = 1; i < 3; ++i) {
    s.set_out(i, Shape{shapes.parameters});
    s.set_in(i + 2, shapes.statistics);
  }
}

template <class P>
void add(OpTable& table, const std::string& name, const char* doc) {
  const std::string backward = "_backward_" + name;
  table.add<P>(name, {"data", "gamma", "beta"})
      .doc(doc)
      .outputs({"output", "mean", "std"})
      .num_visible_outputs([](const P& p) { return p.output_mean_var ? 3 : 1; })
      .infer_shape(infer_forward<P>)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .element_cost(0.5)
      .gradient_op(backward, {head(0), input(0), input(1), output(1), output(2)}, {0, 1, 2});
  table.add_hidden<P>(backward, {"grad", "data", "gamma", "mean", "std"})
      .outputs({"data", "gamma", "beta"})
      .infer_shape(infer_backward<P>)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .inplace(1, 0)
      .element_cost(0.8);
}

}  // namespace

NormRows norm_rows(const LayerNormParams& p, const Shape& data) {
  const int axis = normalize_axis(p.axis, data.ndim(), "LayerNorm");
  const int64_t step = data.size_between(axis + 1, data.ndim());
  return {data.size_between(0, axis) * step, data[axis], step, data[axis], false};
}
NormRows norm_rows(const InstanceNormParams&, const Shape& data) {
  return {data[0] * data[1], data.size_between(2, data.ndim()), 1, data[1], true};
}
NormRows norm_rows(const GroupNormParams& p, const Shape& data) {
  return {data[0] * p.num_groups, data.size_between(1, data.ndim()) / p.num_groups, 1, p.num_groups, true};
}

void register_row_norm(OpTable& table) {
  add<LayerNormParams>(table, "LayerNorm", "Normalises along one axis, then scales by gamma and adds beta.");
  add<InstanceNormParams>(table, "InstanceNorm",
                          "Normalises each channel of each item, then scales by gamma and adds beta.");
  add<GroupNormParams>(table, "GroupNorm",
                       "Normalises each group of channels of each item; one gamma and one beta a group.");
}

}  // namespace loomix::ops
