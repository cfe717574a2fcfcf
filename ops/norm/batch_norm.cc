// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/batch_norm.h"

#include "base/error.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// Half types keep their statistics and parameters in float32.
DType parameter_type(DType data) {
  return data == DType::float16 || data == DType::bfloat16 ? DType::float32 : data;
}

// The number of channels if it is known, from the data or from any of the parameters [first, last).
int64_t channels_of(const BatchNormParams& p, ShapeInfer& s, const Shape& data, int first, int last) {
  if (data.ndim_known()) {
    LOOMIX_CHECK(data.ndim() >= 1, ShapeError, "[{}] the data is a scalar; expected at least one axis.",
                 s.who());
    const int64_t size = data[normalize_axis(p.axis, data.ndim(), s.who())];
    if (size >= 0) return size;
  }
  for (int i = first; i < last; ++i) {
    if (s.in(i).ndim() == 1 && s.in(i)[0] >= 0) return s.in(i)[0];
  }
  return kUnknownDim;
}

void infer_forward(const BatchNormParams& p, ShapeInfer& s) {
  s.tie({0});
  const Shape channels{channels_of(p, s, s.in(0), 1, 5)};
  if (!s.in(0).ndim_known() && channels[0] < 0) return;  // as in MXNet: () is "not known yet"
  for (int i = 1; i < 5; ++i) s.set_in(i, channels);
  for (int i = 1; i < 3; ++i) s.set_out(i, channels);
}

void infer_backward(const BatchNormParams& p, ShapeInfer& s) {
  s.tie({0, 1}, {});
  s.set_out(0, s.in(1));
  const Shape channels{channels_of(p, s, s.in(1), 2, 7)};
  for (int i = 2; i < 7; ++i) s.set_in(i, channels);
  for (int i = 1; i < 3; ++i) s.set_out(i, channels);
}

template <class P>
constexpr bool kRelu = std::is_same_v<P, BatchNormReluParams>;

template <class P>
void forward_type(const P&, TypeInfer& t) {
  t.tie({0});
  const DType parameters = parameter_type(t.in(0));
  for (int i = 1; i < 5; ++i) t.set_in(i, parameters);
  for (int i = 1; i < 3; ++i) t.set_out(i, parameters);
  if (kRelu<P>) t.set_out(3, DType::uint8);
}

template <class P>
void backward_type(const P&, TypeInfer& t) {
  t.tie({0, 1}, {});
  t.set_out(0, t.in(1));
  const DType parameters = parameter_type(t.in(1));
  for (int i = 2; i < 7; ++i) t.set_in(i, parameters);
  for (int i = 1; i < 3; ++i) t.set_out(i, parameters);
}

// A gamma that is fixed is set to 1, so it is a state then; the gradient does not need its value.
template <class P>
void add_backward(OpTable& table, const std::string& name, bool fixed_gamma) {
  auto builder = table.add_hidden<P>(name, {"grad", "data", "mean", "var"});
  if (fixed_gamma) builder.state("gamma");
  else builder.input("gamma");
  builder.state("moving_mean")
      .state("moving_var")
      .outputs({"data", "gamma", "beta"})
      .infer_shape([](const P& p, ShapeInfer& s) { infer_backward(full_params(p), s); })
      .infer_type(backward_type<P>)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .inplace(1, 0)
      .training_matters()
      .element_cost(0.6);
}

template <class P>
void add(OpTable& table, const char* name, const std::string& stem, const char* doc) {
  const std::string again = "_" + stem + "_again", backward = "_backward_" + stem;
  const std::string backward_free = backward + "_free_gamma";
  auto op = table.add<P>(name, {"data", "gamma", "beta"}).doc(doc);
  op.state("moving_mean")
      .state("moving_var")
      .outputs({"output", "mean", "var"})
      .num_visible_outputs([](const P& p) { return p.output_mean_var ? 3 : 1; })
      .infer_shape([](const P& p, ShapeInfer& s) {
        infer_forward(full_params(p), s);
        if (kRelu<P>) s.set_out(3, s.in(0));
      })
      .infer_type(forward_type<P>)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .training_matters()
      .first_value([](const P&, int input) {
        return input == 3 ? R"(["zero", {}])" : input == 4 ? R"(["one", {}])" : nullptr;
      })
      .element_cost(0.3)
      .gradient_by([backward, backward_free](const AttrsBase& attrs, GradBuilder& g) {
        const GradValue head = kRelu<P> ? g.call1("_backward_relu", {g.grad_of(0), g.out(0)}) : g.grad_of(0);
        const GradValue inputs[] = {head, g.in(0), g.out(1), g.out(2), g.in(1), g.in(3), g.in(4)};
        const auto grads = g.call(attrs.as<P>().fix_gamma ? backward : backward_free, inputs, g.attrs());
        for (int i = 0; i < 3; ++i) {
          if (g.wants(i)) g.set(i, grads[static_cast<size_t>(i)]);
        }
      });
  if (!kRelu<P>) {
    op.channel_norm([](const P& params) -> std::optional<ChannelNorm> {
      const BatchNormParams p = full_params(params);
      if (p.output_mean_var) return {};
      return ChannelNorm{p.eps, p.fix_gamma, p.axis};
    });
  }
  // As in MXNet, there is an output that says where the result is positive.
  if (kRelu<P>) op.output("mask").output_types(3, {DType::uint8});
  op.again(again, {input(0), input(1), input(2), output(1), output(2)});
  table.add_hidden<P>(again, {"data", "gamma", "beta", "mean", "var"})
      .infer_shape([](const P& p, ShapeInfer& s) {
        s.tie({0});
        const Shape channels{channels_of(full_params(p), s, s.in(0), 1, 5)};
        for (int i = 1; i < 5; ++i) s.set_in(i, channels);
      })
      .infer_type([](const P&, TypeInfer& t) {
        t.tie({0});
        for (int i = 1; i < 5; ++i) t.set_in(i, parameter_type(t.in(0)));
      })
      .types(kFloatingTypes)
      .inplace(0, 0)
      .element_cost(0.05);
  add_backward<P>(table, backward, true);
  add_backward<P>(table, backward_free, false);
}

}  // namespace

void register_batch_norm(OpTable& table) {
  add<BatchNormParams>(table, "BatchNorm", "BatchNorm",
                       "Normalises each channel over the batch, then scales by gamma and adds beta.");
  add<BatchNormV1Params>(table, "BatchNorm_v1", "BatchNorm_v1", "BatchNorm over axis 1, for old files.");
  add<SyncBatchNormParams>(table, "_contrib_SyncBatchNorm", "SyncBatchNorm",
                           "BatchNorm over axis 1 whose batch may lie on several devices; here, on one.");
  add<BatchNormReluParams>(table, "_contrib_BatchNormWithReLU", "BatchNormWithReLU",
                           "BatchNorm, then max(x, 0).");
}

}  // namespace loomix::ops
