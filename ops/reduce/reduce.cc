// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reduce.h"

#include "ops/elemwise/schema.h"
#include "ops/grad_expr.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using E = GradExpr;

// What the gradients of reductions are written in; see reductions.h.
struct ReduceTerms {
  GradBuilder& builder;
  E g, x, y;  // gradient of the output, input, output

  explicit ReduceTerms(GradBuilder& b) : builder(b), g{b, b.grad_of(0)}, x{b, b.in(0)}, y{b, b.out(0)} {}
  // Repeats a reduced value along the axes that were reduced; the second divides it by how many elements they have.
  E spread(E value) const { return back("_backward_sum", value); }
  E spread_mean(E value) const { return back("_backward_mean", value); }
  // The same, times 2 and the input.
  E spread_squares(E value) const { return back("_backward_square_sum", value); }
  // The value, or zero where the input is NaN.
  E only_numbers(E value) const {
    return {builder, builder.call1("where", {x.call("_not_nan"), value, x.call("zeros_like")})};
  }

 private:
  E back(const char* op, E value) const {
    const GradValue inputs[] = {value, x};
    return {builder, builder.call(op, inputs, builder.attrs())[0]};
  }
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

template <class P>
OpBuilder<P> add_op(OpTable& table, const char* name, const char* doc) {
  auto builder = table.add<P>(name, {"data"}).doc(doc);
  builder.output("output");
  return builder;
}

template <class F, Finish finish, class Gradient>
void add_reduction(OpTable& table, const ReduceOp<F, finish, Gradient>& op) {
  if constexpr (!std::is_same_v<Gradient, NoGradient>) {
    auto builder = table.add<ReduceParams>(op.name, {"data"});
    builder.infer_shape(reduce_shape).gradient_by([gradient = op.gradient](const AttrsBase&, GradBuilder& g) {
      g.set(0, gradient(ReduceTerms(g)));
    });
    describe(builder, op.doc, op.aliases.names);
  }
}

}  // namespace

void register_reductions(OpTable& table) {
  std::apply([&](const auto&... op) { (add_reduction(table, op), ...); }, kReductions);
  // (gradient of the reduced value, the input): the gradient, repeated, and for the mean divided by how many were reduced.
  for (const std::string reduction : {"sum", "mean"}) {
    table.add_hidden<ReduceParams>("_backward_" + reduction, {"grad", "data"})
        .shape_of(1)
        .shape_only(1)
        .gradient_op(reduction, {head(0)});
  }
  table.add_hidden<ReduceParams>("_backward_square_sum", {"grad", "data"})
      .shape_of(1)
      .gradient([](const ReduceParams&, GradBuilder& g) {
        const E head{g, g.grad_of(0)}, grad{g, g.in(0)}, x{g, g.in(1)};
        const GradValue product[] = {head * x * 2};
        if (g.wants(0)) g.set(0, g.call("sum", product, g.attrs())[0]);
        const GradValue inputs[] = {grad, head};
        if (g.wants(1)) g.set(1, g.call("_backward_square_sum", inputs, g.attrs())[0]);
      });
  add_op<NormParams>(table, "norm", "Norm over axes.")
      .aliases({"_sparse_norm"})
      .infer_shape(norm_shape)
      .infer_type(norm_type)
      .gradient(norm_gradient);
  table.add<MomentsParams>("moments", {"data"})
      .doc("Mean and variance over axes.")
      .outputs({"output0", "output1"})
      .infer_shape(moments_shape)
      .gradient(moments_gradient);
  const std::pair<const char*, const char*> searches[] = {
      {"argmax", "Index of the first maximum along an axis, in data's type."},
      {"argmin", "Index of the first minimum along an axis, in data's type."}};
  for (const auto& [name, doc] : searches) {
    add_op<ArgParams>(table, name, doc).infer_shape(arg_shape).zero_gradient();
  }
  add_op<NoParams>(table, "argmax_channel", "Index of the first maximum along axis 1, in data's type.")
      .infer_shape([](const NoParams&, ShapeInfer& s) { arg_shape({.axis = 1, .keepdims = false}, s); })
      .zero_gradient();
}

}  // namespace loomix::ops
