// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reduce.h"

#include "ops/elemwise/schema.h"
#include "ops/grad_expr.h"
#include "ops/shape_rule.h"
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
  E back(const char* op, E value) const { return {builder, builder.call1(op, {value, x}, builder.attrs())}; }
};

template <class P>
void reduce_shape(const P& p, ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (!in.ndim_known()) return;
  const Shape out = reduced_shape(in, axes_of(p, in, s.who()), p.keepdims);
  for (int i = 0; i < s.num_out(); ++i) s.set_out(i, out);
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

// Of the variance, what flows through the mean adds up to zero.
void moments_gradient(const MomentsParams& p, GradBuilder& g) {
  const TextPairs axes = reduce_attrs(p.axes, p.keepdims);
  const E x{g, g.in(0)};
  const auto back = [&](const char* name, GradValue value) { return E{g, g.call1(name, {value, x}, axes)}; };
  const E distance = x - back("_backward_sum", g.out(0));
  g.set(0, back("_backward_mean", g.grad_of(0)) + back("_backward_mean", g.grad_of(1)) * distance * 2);
}

void norm_type(const NormParams& p, TypeInfer& t) {
  if (p.out_dtype) return t.set_out(0, *p.out_dtype);
  t.unify_all();
}

void norm_gradient(const NormParams& p, GradBuilder& g) {
  const E x{g, g.in(0)};
  const TextPairs axes = reduce_attrs(p.axis, p.keepdims);
  const auto to_input = [&](E value) {
    const E typed = p.out_dtype ? value.call("_cast_like", x) : value;
    return E{g, g.call1("_backward_sum", {typed, x}, axes)};
  };
  const E grad{g, g.grad_of(0)};
  if (p.ord == 1) return g.set(0, to_input(grad) * x.call("sign"));
  const E norm{g, g.out(0)};
  g.set(0, to_input(grad / (norm + norm.call("_equal_scalar", 0))) * x);  // zero where the norm is
}

// Of max and min, which an array without elements does not have.
void extremum_shape(const ReduceParams& p, ShapeInfer& s) {
  LOOMIX_CHECK(!s.in(0).is_known() || s.in(0).size() > 0, ShapeError, "[{}] data of shape {} has no element.",
               s.who(), s.in(0).to_string());
  reduce_shape(p, s);
}

// The first of the data's type, float32 and float64 that holds all indices into an axis.
DType index_type(DType data, int64_t size) {
  const auto exact = [](DType dtype) -> double {
    switch (dtype) {
      case DType::int8: return 0x1p7;
      case DType::uint8:
      case DType::bfloat16: return 0x1p8;
      case DType::float16: return 0x1p11;
      case DType::float32: return 0x1p24;
      case DType::int32: return 0x1p31;
      default: return 0x1p53;
    }
  };
  for (const DType dtype : {data, DType::float32}) {
    if (static_cast<double>(size) <= exact(dtype)) return dtype;
  }
  return DType::float64;
}

void index_typed(std::optional<int> axis, TypeInfer& t) {
  const std::span<const Shape> shapes = input_shapes();
  if (shapes.empty() || !shapes[0].is_known() || t.in(0) == DType::unknown) return t.unify_all();
  const Shape& data = shapes[0];
  const int64_t size = !axis         ? data.size()
                       : data.ndim() ? data[normalize_axis(*axis, data.ndim(), t.who())]
                                     : 1;
  t.set_out(0, index_type(t.in(0), size));
}

template <class F, Finish finish, class Gradient>
void add_reduction(OpTable& table, const ReduceOp<F, finish, Gradient>& op) {
  if constexpr (!std::is_same_v<Gradient, NoGradient>) {
    auto builder = table.add<ReduceParams>(op.name, {"data"});
    const std::string_view name = op.name;
    builder.infer_shape(name == "max" || name == "min" ? extremum_shape : reduce_shape<ReduceParams>)
        .gradient_by([gradient = op.gradient](const AttrsBase&, GradBuilder& g) {
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
        if (g.wants(0)) g.set(0, g.call1("sum", {head * x * 2}, g.attrs()));
        if (g.wants(1)) g.set(1, g.call1("_backward_square_sum", {grad, head}, g.attrs()));
      });
  table.add<NormParams>("norm", {"data"})
      .doc("Norm over axes.")
      .aliases({"_sparse_norm"})
      .infer_shape(reduce_shape<NormParams>)
      .infer_type(norm_type)
      .gradient(norm_gradient);
  table.add<MomentsParams>("moments", {"data"})
      .doc("Mean and variance over axes.")
      .outputs({"output0", "output1"})
      .infer_shape(reduce_shape<MomentsParams>)
      .gradient(moments_gradient);
  const std::pair<const char*, const char*> searches[] = {
      {"argmax",
       "Index of the first maximum along an axis, in data's type, or float32 or float64 where "
       "that is too short for the axis."},
      {"argmin",
       "Index of the first minimum along an axis, in data's type, or float32 or float64 where that is too "
       "short for the axis."}};
  for (const auto& [name, doc] : searches) {
    table.add<ArgParams>(name, {"data"})
        .doc(doc)
        .infer_shape(reduce_shape<ArgParams>)
        .infer_type([](const ArgParams& p, TypeInfer& t) { index_typed(p.axis, t); })
        .zero_gradient();
  }
  table.add<NoParams>("argmax_channel", {"data"})
      .doc(
          "Index of the first maximum along axis 1, in data's type, or float32 or float64 where that is too "
          "short for the "
          "axis.")
      .infer_shape([](const NoParams&, ShapeInfer& s) { reduce_shape(ArgParams{.axis = 1}, s); })
      .infer_type([](const NoParams&, TypeInfer& t) { index_typed(1, t); })
      .zero_gradient();
}

}  // namespace loomix::ops
