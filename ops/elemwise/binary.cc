// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/elemwise.h"
#include "ops/grad_expr.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using E = GradExpr;
// The derivative by one operand times g, from the operands a and b and the output y, all of the output's shape.
using BinaryGrad = GradExpr (*)(GradExpr g, GradExpr a, GradExpr b, GradExpr y);
constexpr BinaryGrad kZero = nullptr;

struct BinaryOp {
  const char* name;                  // without elemwise_, broadcast_ or the underscore
  std::vector<std::string> aliases;  // of the form with equal shapes
  std::vector<std::string> broadcast_aliases;
  double element_ns;
  BinaryGrad by_left;  // kZero for both: zero everywhere
  BinaryGrad by_right;
  const char* doc;
};

E pass(E g, E, E, E) { return g; }

const BinaryOp kArithmetic[] = {
    {"add",
     {"_Plus", "_add", "_plus", "_sparse_elemwise_add"},
     {"_sparse_broadcast_add", "_sparse_broadcast_plus", "broadcast_plus"},
     0,
     pass,
     pass,
     "Sum of two arrays."},
    {"sub",
     {"_Minus", "_minus", "_sparse_elemwise_sub", "_sub"},
     {"_sparse_broadcast_minus", "_sparse_broadcast_sub", "broadcast_minus"},
     0,
     pass,
     [](E g, E, E, E) { return -g; },
     "Difference of two arrays."},
    {"mul",
     {"_Mul", "_mul", "_sparse_elemwise_mul"},
     {"_sparse_broadcast_mul"},
     0,
     [](E g, E, E b, E) { return g.call("broadcast_mul", b); },
     [](E g, E a, E, E) { return g.call("broadcast_mul", a); },
     "Product of two arrays."},
    {"div",
     {"_Div", "_div", "_sparse_elemwise_div"},
     {"_sparse_broadcast_div"},
     0,
     [](E g, E, E b, E) { return g.call("broadcast_div", b); },
     [](E g, E, E b, E y) { return -(g * y).call("broadcast_div", b); },
     "Quotient of two arrays."},
    {"mod",
     {"_Mod"},
     {},
     4,
     pass,
     [](E g, E a, E b, E) { return -(g * a.call("broadcast_div", b).call("floor")); },
     "Remainder of a division; it has the divisor's sign."},
    {"power",
     {"_Power"},
     {},
     1,
     [](E g, E a, E b, E) { return (g * a.call("broadcast_power", b + -1.0)).call("broadcast_mul", b); },
     [](E g, E a, E, E y) { return (g * y).call("broadcast_mul", a.call("log")); },
     "The first array to the power of the second."},
    {"maximum",
     {"_Maximum"},
     {},
     0,
     [](E g, E a, E b, E) { return g * a.call("broadcast_greater_equal", b); },
     [](E g, E a, E b, E) { return g * a.call("broadcast_lesser", b); },
     "The larger of two arrays' elements."},
    {"minimum",
     {"_Minimum"},
     {},
     0,
     [](E g, E a, E b, E) { return g * a.call("broadcast_lesser_equal", b); },
     [](E g, E a, E b, E) { return g * a.call("broadcast_greater", b); },
     "The smaller of two arrays' elements."},
    {"hypot",
     {"_Hypot"},
     {},
     0.5,
     [](E g, E a, E, E y) { return (g / y).call("broadcast_mul", a); },
     [](E g, E, E b, E y) { return (g / y).call("broadcast_mul", b); },
     "Square root of the sum of squares."},
};

const BinaryOp kLogic[] = {
    {"equal", {"_Equal"}, {}, 0, kZero, kZero, "1 where the arrays are equal, else 0."},
    {"not_equal", {"_Not_Equal"}, {}, 0, kZero, kZero, "1 where the arrays differ, else 0."},
    {"greater", {"_Greater"}, {}, 0, kZero, kZero, "1 where the first array is greater, else 0."},
    {"greater_equal",
     {"_Greater_Equal"},
     {},
     0,
     kZero,
     kZero,
     "1 where the first array is greater or equal, else 0."},
    {"lesser", {"_Lesser"}, {}, 0, kZero, kZero, "1 where the first array is smaller, else 0."},
    {"lesser_equal",
     {"_Lesser_Equal"},
     {},
     0,
     kZero,
     kZero,
     "1 where the first array is smaller or equal, else 0."},
    {"logical_and", {"_Logical_And"}, {}, 0, kZero, kZero, "1 where both arrays are not zero, else 0."},
    {"logical_or", {"_Logical_Or"}, {}, 0, kZero, kZero, "1 where one of the arrays is not zero, else 0."},
    {"logical_xor",
     {"_Logical_Xor"},
     {},
     0,
     kZero,
     kZero,
     "1 where exactly one of the arrays is not zero, else 0."},
};

// Gradients in one pass over memory: (g, kept value).
struct BackwardOp {
  const char* name;
  BinaryGrad by_left;
  BinaryGrad by_right;
};
const BackwardOp kBackward[] = {
    {"_backward_relu", [](E h, E, E y, E) { return h.call("_backward_relu", y); }, kZero},
    {"_backward_sigmoid", [](E h, E, E y, E) { return h.call("_backward_sigmoid", y); },
     [](E h, E g, E y, E) { return h * g * (1.0 - y * 2.0); }},
    {"_backward_tanh", [](E h, E, E y, E) { return h.call("_backward_tanh", y); },
     [](E h, E g, E y, E) { return h * g * y * -2.0; }},
    {"_backward_softsign", [](E h, E, E x, E) { return h.call("_backward_softsign", x); },
     [](E h, E g, E x, E) {
       const E scale = x.call("abs") + 1.0;
       return h * g * x.call("sign") / (scale * scale * scale) * -2.0;
     }},
    {"_backward_abs", [](E h, E, E x, E) { return h.call("_backward_abs", x); }, kZero},
    {"_backward_square", [](E h, E, E x, E) { return h.call("_backward_square", x); },
     [](E h, E g, E, E) { return h.call("_backward_square", g); }},
};

void broadcast_shape(const NoParams&, ShapeInfer& s) {
  const Shape& a = s.in(0);
  const Shape& b = s.in(1);
  if (!a.ndim_known() || !b.ndim_known()) return;
  const int ndim = std::max(a.ndim(), b.ndim());
  Shape out = Shape::filled(ndim, kUnknownDim);
  for (int i = 1; i <= ndim; ++i) {
    const int64_t left = i <= a.ndim() ? a[a.ndim() - i] : 1;
    const int64_t right = i <= b.ndim() ? b[b.ndim() - i] : 1;
    LOOMIX_CHECK(
        left == right || left == 1 || right == 1 || left < 0 || right < 0, ShapeError,
        "[{}] the shapes {} and {} do not broadcast; each axis, counted from the last, must be equal or 1.",
        s.who(), a.to_string(), b.to_string());
    int64_t size = left == 1 ? right : left;
    if (left < 0 && right != 1) size = right;
    if (size < 0 || (left < 0 && right == 1)) size = kUnknownDim;
    out[ndim - i] = size;
  }
  s.set_out(0, out);
}

OpBuilder<NoParams> describe(OpTable& table, std::string name, const char* doc, double element_ns) {
  auto builder = table.add<NoParams>(std::move(name));
  builder.doc(doc)
      .inputs({"lhs", "rhs"})
      .output("output")
      .infer_type(same_type<NoParams>)
      .inplace(0, 0)
      .inplace(1, 0);
  builder.element_cost(element_ns);
  return builder;
}

void add_gradient(OpBuilder<NoParams>& builder, BinaryGrad left, BinaryGrad right, bool broadcasts) {
  if (left == kZero && right == kZero) {
    builder.zero_gradient();
    return;
  }
  builder.gradient_by([rules = std::array{left, right}, broadcasts](const AttrsBase&, GradBuilder& g) {
    for (int i = 0; i < 2; ++i) {
      if (rules[i] == kZero || !g.wants(i)) continue;
      const E grad = rules[i]({g, g.grad_of(0)}, {g, g.in(0)}, {g, g.in(1)}, {g, g.out(0)});
      g.set(i, broadcasts ? grad.call("_broadcast_reduce_to_like", {g, g.in(i)}) : grad);
    }
  });
}

void add_pair(OpTable& table, const BinaryOp& op, const char* prefix) {
  auto same = describe(table, prefix + std::string(op.name), op.doc, op.element_ns);
  same.aliases(op.aliases).infer_shape(same_shape<NoParams>);
  add_gradient(same, op.by_left, op.by_right, false);
  auto broadcasts = describe(table, std::string("broadcast_") + op.name, op.doc, op.element_ns);
  broadcasts.aliases(op.broadcast_aliases).infer_shape(broadcast_shape);
  add_gradient(broadcasts, op.by_left, op.by_right, true);
}

}  // namespace

void register_binary(OpTable& table) {
  for (const BinaryOp& op : kArithmetic) {
    const std::string name = op.name;
    const bool basic = name == "add" || name == "sub" || name == "mul" || name == "div";
    add_pair(table, op, basic ? "elemwise_" : "_");
  }
  for (const BinaryOp& op : kLogic) add_pair(table, op, "_");
  for (const BackwardOp& op : kBackward) {
    auto builder = describe(table, op.name, "", 0);
    builder.hidden().infer_shape(same_shape<NoParams>);
    add_gradient(builder, op.by_left, op.by_right, false);
  }
  auto grad_add = describe(table, "_grad_add", "Sum of two gradients.", 0);
  grad_add.infer_shape(same_shape<NoParams>);
  add_gradient(grad_add, pass, pass, false);

  table.add<AddNParams>("add_n")
      .aliases({"ElementWiseSum", "_sparse_ElementWiseSum", "_sparse_add_n"})
      .doc("Sum of all inputs.")
      .variadic("args", "num_args", &AddNParams::num_args)
      .output("output")
      .infer_shape(same_shape<AddNParams>)
      .infer_type(same_type<AddNParams>)
      .inplace(0, 0)
      .gradient([](const AddNParams& p, GradBuilder& g) {
        for (int i = 0; i < p.num_args; ++i) g.set(i, g.grad_of(0));
      });
}

}  // namespace loomix::ops
