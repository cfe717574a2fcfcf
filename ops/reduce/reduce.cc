// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reduce.h"

#include "ops/grad_expr.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using E = GradExpr;

// Repeats a reduced value along the axes that were reduced; for reductions with ReduceParams.
E spread(E value, GradBuilder& g) {
  const GradValue inputs[] = {value, g.in(0)};
  return {g, g.call("_backward_sum", inputs, g.attrs())[0]};
}

struct ReduceOp {
  const char* name;
  std::vector<std::string> aliases;
  void (*gradient)(const ReduceParams&, GradBuilder&);
  const char* doc;
};

void product_gradient(const ReduceParams&, GradBuilder& g) {
  const E x{g, g.in(0)};
  g.set(0, spread(E{g, g.grad_of(0)} * E{g, g.out(0)}, g) / x);
}

void nan_product_gradient(const ReduceParams&, GradBuilder& g) {
  const E x{g, g.in(0)};
  const E grad = spread(E{g, g.grad_of(0)} * E{g, g.out(0)}, g) / x;
  g.set(0, g.call1("where", {x.call("_not_nan"), grad, x.call("zeros_like")}));
}

// Every element that equals the extremum gets the whole gradient.
void extremum_gradient(const ReduceParams&, GradBuilder& g) {
  const E chosen = E{g, g.in(0)}.call("_equal", spread({g, g.out(0)}, g));
  g.set(0, spread({g, g.grad_of(0)}, g) * chosen);
}

const ReduceOp kReduceOps[] = {
    {"sum",
     {"_sparse_sum", "sum_axis"},
     [](const ReduceParams&, GradBuilder& g) {
       g.set(0, spread({g, g.grad_of(0)}, g));
     },
     "Sum over axes."},
    {"mean",
     {"_sparse_mean"},
     [](const ReduceParams&, GradBuilder& g) {
       const GradValue inputs[] = {g.grad_of(0), g.in(0)};
       g.set(0, g.call("_backward_mean", inputs, g.attrs())[0]);
     },
     "Mean over axes."},
    {"_square_sum",
     {},
     [](const ReduceParams&, GradBuilder& g) {
       g.set(0, spread({g, g.grad_of(0)}, g) * E{g, g.in(0)} * 2);
     },
     "Sum of squares over axes."},
    {"prod", {}, product_gradient, "Product over axes."},
    {"nansum",
     {},
     [](const ReduceParams&, GradBuilder& g) {
       g.set(0, spread({g, g.grad_of(0)}, g) * E{g, g.in(0)}.call("_not_nan"));
     },
     "Sum over axes; NaN counts as 0."},
    {"nanprod", {}, nan_product_gradient, "Product over axes; NaN counts as 1."},
    {"max", {"max_axis"}, extremum_gradient, "Maximum over axes."},
    {"min", {"min_axis"}, extremum_gradient, "Minimum over axes."},
};

void reduce_shape(const ReduceParams& p, ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (!in.ndim_known()) return;
  s.set_out(0, reduced_shape(in, reduced_axes(p.axis, p.exclude, in.ndim(), s.who()), p.keepdims));
}

void norm_shape(const NormParams& p, ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (!in.ndim_known()) return;
  s.set_out(0, reduced_shape(in, reduced_axes(p.axis, false, in.ndim(), s.who()), p.keepdims));
}

// Attributes of a reduction, as text; axes may be negative.
TextPairs reduce_attrs(const std::optional<Shape>& axes, bool keepdims) {
  std::string text = "None";
  if (axes) {
    text = "(";
    for (const int64_t axis : *axes) text += fmt::format("{},", axis);
    text += ')';
  }
  return {{"axis", text}, {"keepdims", keepdims ? "True" : "False"}};
}

void moments_shape(const MomentsParams& p, ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (!in.ndim_known()) return;
  const Shape reduced = reduced_shape(in, reduced_axes(p.axes, false, in.ndim(), s.who()), p.keepdims);
  for (int i = 0; i < 2; ++i) s.set_out(i, reduced);
}

// Of the variance, what flows through the mean adds up to zero.
void moments_gradient(const MomentsParams& p, GradBuilder& g) {
  const TextPairs axes = reduce_attrs(p.axes, p.keepdims);
  const E x{g, g.in(0)};
  const auto back = [&](const char* name, GradValue value) {
    const GradValue inputs[] = {value, x};
    return E{g, g.call(name, inputs, axes)[0]};
  };
  const E distance = x - back("_backward_sum", g.out(0));
  g.set(0, back("_backward_mean", g.grad_of(0)) + back("_backward_mean", g.grad_of(1)) * distance * 2);
}

void norm_type(const NormParams& p, TypeInfer& t) {
  if (p.out_dtype) {
    t.set_out(0, *p.out_dtype);
    return;
  }
  t.unify_all();
}

void norm_gradient(const NormParams& p, GradBuilder& g) {
  const E x{g, g.in(0)};
  const TextPairs axes = reduce_attrs(p.axis, p.keepdims);
  const auto to_input = [&](E value) {
    const E typed = p.out_dtype ? value.call("_cast_like", x) : value;
    const GradValue inputs[] = {typed, x};
    return E{g, g.call("_backward_sum", inputs, axes)[0]};
  };
  const E grad{g, g.grad_of(0)};
  if (p.ord == 1) {
    g.set(0, to_input(grad) * x.call("sign"));
    return;
  }
  const E norm{g, g.out(0)};
  g.set(0, to_input(grad / (norm + norm.call("_equal_scalar", 0))) * x);  // zero where the norm is
}

void arg_shape(const ArgParams& p, ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (!in.ndim_known()) return;
  const std::optional<Shape> axis = p.axis ? std::optional(Shape{*p.axis}) : std::nullopt;
  s.set_out(0, reduced_shape(in, reduced_axes(axis, false, in.ndim(), s.who()), p.keepdims));
}

// The gradient of repeating is reducing.
void reduce_back(const char* reduction, GradBuilder& g) {
  const GradValue grad = g.grad_of(0);
  g.set(0, g.call(reduction, std::span(&grad, 1), g.attrs())[0]);
}

template <class P>
OpBuilder<P> describe(OpTable& table, const char* name, const char* doc) {
  auto builder = table.add<P>(name);
  builder.doc(doc).input("data").output("output");
  return builder;
}

// (gradient of the reduced value, the input): the gradient, repeated, and for the mean divided by how many were reduced.
void register_backward(OpTable& table, const char* name,
                       void (*gradient)(const ReduceParams&, GradBuilder&)) {
  table.add<ReduceParams>(name)
      .hidden()
      .inputs({"grad", "data"})
      .output("output")
      .infer_shape(shape_of_second<ReduceParams>)
      .infer_type(same_type<ReduceParams>)
      .shape_only(1)
      .gradient(gradient);
}

}  // namespace

void register_reductions(OpTable& table) {
  for (const ReduceOp& op : kReduceOps) {
    describe<ReduceParams>(table, op.name, op.doc)
        .aliases(op.aliases)
        .infer_shape(reduce_shape)
        .infer_type(same_type<ReduceParams>)
        .gradient(op.gradient);
  }
  register_backward(table, "_backward_sum",
                    [](const ReduceParams&, GradBuilder& g) { reduce_back("sum", g); });
  register_backward(table, "_backward_mean",
                    [](const ReduceParams&, GradBuilder& g) { reduce_back("mean", g); });
  describe<NormParams>(table, "norm", "Norm over axes.")
      .aliases({"_sparse_norm"})
      .infer_shape(norm_shape)
      .infer_type(norm_type)
      .gradient(norm_gradient);
  table.add<MomentsParams>("moments")
      .doc("Mean and variance over axes.")
      .input("data")
      .output("output0")
      .output("output1")
      .infer_shape(moments_shape)
      .infer_type(same_type<MomentsParams>)
      .gradient(moments_gradient);
  const std::pair<const char*, const char*> searches[] = {
      {"argmax", "Index of the first maximum along an axis, in data's type."},
      {"argmin", "Index of the first minimum along an axis, in data's type."}};
  for (const auto& [name, doc] : searches) {
    describe<ArgParams>(table, name, doc)
        .infer_shape(arg_shape)
        .infer_type(same_type<ArgParams>)
        .zero_gradient();
  }
  describe<NoParams>(table, "argmax_channel",
                     "Index of the first maximum along the last axis, in data's type.")
      .infer_shape([](const NoParams&, ShapeInfer& s) { arg_shape({.axis = -1, .keepdims = false}, s); })
      .infer_type(same_type<NoParams>)
      .zero_gradient();
}

}  // namespace loomix::ops
