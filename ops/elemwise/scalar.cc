// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/elemwise/elemwise.h"
#include "ops/grad_expr.h"
#include "ops/rules.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using E = GradExpr;
using ScalarGrad = GradExpr (*)(GradExpr g, GradExpr x, GradExpr y, double scalar);
constexpr ScalarGrad kZero = nullptr;

struct ScalarOp {
  const char* name;
  const char* alias;
  double element_ns;
  ScalarGrad gradient;
  const char* doc;
};

E pass(E g, E, E, double) { return g; }

const ScalarOp kScalarOps[] = {
    {"_plus_scalar", "_PlusScalar", 0, pass, "data + scalar."},
    {"_minus_scalar", "_MinusScalar", 0, pass, "data - scalar."},
    {"_rminus_scalar", "_RMinusScalar", 0, [](E g, E, E, double) { return -g; }, "scalar - data."},
    {"_mul_scalar", "_MulScalar", 0, [](E g, E, E, double s) { return g * s; }, "data * scalar."},
    {"_div_scalar", "_DivScalar", 0, [](E g, E, E, double s) { return g.call("_div_scalar", s); },
     "data / scalar."},
    {"_rdiv_scalar", "_RDivScalar", 0, [](E g, E x, E y, double) { return -(g * (y / x)); },
     "scalar / data."},
    {"_mod_scalar", "_ModScalar", 4, pass, "Remainder of data / scalar; it has the sign of scalar."},
    {"_rmod_scalar", "_RModScalar", 4, [](E g, E x, E, double s) { return -(g * (s / x).call("floor")); },
     "Remainder of scalar / data; it has the sign of data."},
    {"_power_scalar", "_PowerScalar", 1,
     [](E g, E x, E, double s) { return g * x.call("_power_scalar", s - 1) * s; },
     "data to the power of scalar."},
    {"_rpower_scalar", "_RPowerScalar", 1, [](E g, E, E y, double s) { return g * y * std::log(s); },
     "scalar to the power of data."},
    {"_maximum_scalar", "_MaximumScalar", 0,
     [](E g, E x, E, double s) { return g * x.call("_greater_equal_scalar", s); }, "max(data, scalar)."},
    {"_minimum_scalar", "_MinimumScalar", 0,
     [](E g, E x, E, double s) { return g * x.call("_lesser_equal_scalar", s); }, "min(data, scalar)."},
    {"_hypot_scalar", "_HypotScalar", 0.5, [](E g, E x, E y, double) { return g * (x / y); },
     "Square root of data^2 + scalar^2."},
    {"_equal_scalar", "_EqualScalar", 0, kZero, "1 where data equals scalar, else 0."},
    {"_not_equal_scalar", "_NotEqualScalar", 0, kZero, "1 where data differs from scalar, else 0."},
    {"_greater_scalar", "_GreaterScalar", 0, kZero, "1 where data > scalar, else 0."},
    {"_greater_equal_scalar", "_GreaterEqualScalar", 0, kZero, "1 where data >= scalar, else 0."},
    {"_lesser_scalar", "_LesserScalar", 0, kZero, "1 where data < scalar, else 0."},
    {"_lesser_equal_scalar", "_LesserEqualScalar", 0, kZero, "1 where data <= scalar, else 0."},
    {"_logical_and_scalar", "_LogicalAndScalar", 0, kZero, "1 where data and scalar are not zero, else 0."},
    {"_logical_or_scalar", "_LogicalOrScalar", 0, kZero, "1 where data or scalar is not zero, else 0."},
    {"_logical_xor_scalar", "_LogicalXorScalar", 0, kZero,
     "1 where exactly one of data and scalar is not zero, else 0."},
};

template <class P>
OpBuilder<P> describe(OpTable& table, const char* name, const char* doc) {
  auto builder = table.add<P>(name);
  builder.doc(doc)
      .input("data")
      .output("output")
      .infer_shape(same_shape<P>)
      .infer_type(same_type<P>)
      .inplace(0, 0);
  return builder;
}

}  // namespace

void register_scalar(OpTable& table) {
  for (const ScalarOp& op : kScalarOps) {
    auto builder = describe<ScalarParams>(table, op.name, op.doc);
    builder.aliases({op.alias}).element_cost(op.element_ns);
    if (op.gradient == kZero) {
      builder.zero_gradient();
    } else {
      builder.gradient_by([gradient = op.gradient](const AttrsBase& attrs, GradBuilder& g) {
        const double scalar = attrs.as<ScalarParams>().scalar;
        g.set(0, gradient({g, g.grad_of(0)}, {g, g.in(0)}, {g, g.out(0)}, scalar));
      });
    }
  }
  describe<SmoothL1Params>(table, "smooth_l1",
                           "0.5 (scalar x)^2 where |x| <= 1 / scalar^2, else |x| - 0.5 / scalar^2.")
      .gradient([](const SmoothL1Params& p, GradBuilder& g) {
        const E x{g, g.in(0)};
        g.set(0, E{g, g.grad_of(0)} * x.call("_smooth_l1_slope", p.scalar));
      });
  describe<SmoothL1Params>(table, "_smooth_l1_slope", "").hidden().zero_gradient();
  describe<ClipParams>(table, "clip", "Limits the elements to [a_min, a_max].")
      .aliases({"_sparse_clip"})
      .gradient([](const ClipParams& p, GradBuilder& g) {
        const E x{g, g.in(0)};
        const E inside = x.call("_greater_equal_scalar", p.a_min) * x.call("_lesser_equal_scalar", p.a_max);
        g.set(0, E{g, g.grad_of(0)} * inside);
      });
  describe<HardSigmoidParams>(table, "hard_sigmoid", "min(max(alpha x + beta, 0), 1).")
      .gradient([](const HardSigmoidParams& p, GradBuilder& g) {
        const E y{g, g.out(0)};
        const E inside = y.call("_greater_scalar", 0) * y.call("_lesser_scalar", 1);
        g.set(0, E{g, g.grad_of(0)} * inside * p.alpha);
      });
}

}  // namespace loomix::ops
