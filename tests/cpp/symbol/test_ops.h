// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/table.h"

// A few operators with schemas like MXNet's, without kernels: enough to compose, infer, differentiate, save and load.
namespace loomix::test {

struct DenseParams {
  int num_hidden = 0;
  bool no_bias = false;
  bool flatten = true;
  static void fields(FieldList<DenseParams>& f) {
    f("num_hidden", &DenseParams::num_hidden, "Rows of the weight.").required("4");
    f("no_bias", &DenseParams::no_bias, "Leaves out the bias.");
    f("flatten", &DenseParams::flatten, "");
  }
};

struct NormParams {
  double eps = 1e-3;
  double momentum = 0.9;
  bool fix_gamma = true;
  bool use_global_stats = false;
  static void fields(FieldList<NormParams>& f) {
    f("eps", &NormParams::eps, "");
    f("momentum", &NormParams::momentum, "");
    f("fix_gamma", &NormParams::fix_gamma, "");
    f("use_global_stats", &NormParams::use_global_stats, "");
  }
};

struct SplitParams {
  int num_outputs = 1;
  int axis = 1;
  bool squeeze_axis = false;
  static void fields(FieldList<SplitParams>& f) {
    f("num_outputs", &SplitParams::num_outputs, "").required("2");
    f("axis", &SplitParams::axis, "");
    f("squeeze_axis", &SplitParams::squeeze_axis, "");
  }
};

struct AddNParams {
  int num_args = 0;
  static void fields(FieldList<AddNParams>& f) { f("num_args", &AddNParams::num_args, "").required("2"); }
};

struct ArgmaxParams {
  std::optional<int> axis;
  static void fields(FieldList<ArgmaxParams>& f) { f("axis", &ArgmaxParams::axis, ""); }
};

inline void add_test_ops(ops::OpTable& table) {
  using ops::GradBuilder, ops::NoParams, ops::ShapeInfer, ops::TypeInfer;
  table.add<DenseParams>("FullyConnected")
      .inputs({"data", "weight", "bias"})
      .last_input_if([](const DenseParams& p) { return !p.no_bias; })
      .output("output")
      .infer_shape([](const DenseParams& p, ShapeInfer& s) {
        if (s.in(0).ndim() == 2) {
          s.set_in(1, {p.num_hidden, s.in(0)[1]});
          s.set_out(0, {s.in(0)[0], p.num_hidden});
        }
        s.set_in(1, {p.num_hidden, kUnknownDim});
        s.set_out(0, {kUnknownDim, p.num_hidden});
        s.set_in(0, {s.out(0)[0], s.in(1)[1]});
        if (!p.no_bias) s.set_in(2, {p.num_hidden});
      })
      .gradient([](const DenseParams&, GradBuilder& g) {
        const auto grad = g.grad_of(0);
        if (g.wants(0)) g.set(0, g.call1("elemwise_mul", {grad, g.in(1)}));
        if (g.wants(1)) g.set(1, g.call1("elemwise_mul", {grad, g.in(0)}));
      });
  table.add<NormParams>("BatchNorm")
      .inputs({"data", "gamma", "beta"})
      .state("moving_mean")
      .state("moving_var")
      .output("output")
      .output("mean")
      .output("var")
      .num_visible_outputs([](const NormParams&) { return 1; })
      .first_value([](const NormParams&, int input) {
        return input == 3 ? R"(["zero", {}])" : input == 4 ? R"(["one", {}])" : nullptr;
      })
      .infer_shape([](const NormParams&, ShapeInfer& s) {
        if (s.in(0).ndim() < 2) return;
        for (int i = 1; i < 5; ++i) s.set_in(i, {s.in(0)[1]});
        s.set_out(0, s.in(0));
        s.set_out(1, {s.in(0)[1]});
        s.set_out(2, {s.in(0)[1]});
      });
  table.add<SplitParams>("SliceChannel")
      .input("data")
      .output("output")
      .num_outputs([](const SplitParams& p) { return p.num_outputs; })
      .infer_shape([](const SplitParams& p, ShapeInfer& s) {
        if (!s.in(0).ndim_known()) return;
        Shape part = s.in(0);
        if (part[p.axis] >= 0) part[p.axis] /= p.num_outputs;
        for (int i = 0; i < p.num_outputs; ++i) s.set_out(i, part);
      });
  table.add<AddNParams>("add_n")
      .variadic("args", "num_args", &AddNParams::num_args)
      .output("output")
      .one_shape();
  table.add<ArgmaxParams>("argmax")
      .input("data")
      .output("output")
      .infer_shape([](const ArgmaxParams&, ShapeInfer& s) { s.set_out(0, {1}); })
      .zero_gradient();
  for (const char* name : {"elemwise_add", "elemwise_mul"}) {
    const bool add = std::string_view(name) == "elemwise_add";
    auto builder = table.add<NoParams>(name);
    builder.inputs({"lhs", "rhs"}).output("output").one_shape();
    if (add) {
      builder.gradient([](const NoParams&, GradBuilder& g) {
        g.set(0, g.grad_of(0));
        g.set(1, g.grad_of(0));
      });
    } else {
      builder.gradient([](const NoParams&, GradBuilder& g) {
        if (g.wants(0)) g.set(0, g.call1("elemwise_mul", {g.grad_of(0), g.in(1)}));
        if (g.wants(1)) g.set(1, g.call1("elemwise_mul", {g.grad_of(0), g.in(0)}));
      });
    }
  }
  for (const char* name : {"zeros_like", "_copy", "amp_cast", "tanh"}) {
    auto builder = table.add<NoParams>(name);
    builder.input("data").output("output").one_shape();
    if (std::string_view(name) == "tanh") {
      builder.gradient_op("elemwise_mul", {ops::head(0), ops::output(0)});
    }
  }
}

inline const ops::OpTable& test_table() {
  static const ops::OpTable* const table = [] {
    auto* made = new ops::OpTable;
    add_test_ops(*made);
    return made;
  }();
  return *table;
}

}  // namespace loomix::test
