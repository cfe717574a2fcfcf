// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/leaky_relu.h"

#include "base/error.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Params = LeakyReluParams;

bool is_prelu(const Params& p) { return slopes_of(p.act_type) == Slopes::gamma; }
bool is_random(const Params& p) { return slopes_of(p.act_type) == Slopes::random; }
bool has_slopes(const Params& p) { return is_prelu(p) || is_random(p); }

// Gamma holds one slope, or one a channel, which is the default when its shape is to be found.
void infer_gamma(ShapeInfer& s, const Shape& data, const Shape& gamma, int position) {
  if (!data.ndim_known()) return;
  const int64_t channels = data.ndim() > 1 ? data[1] : 1;
  if (gamma.is_known() && gamma.ndim() == 1 && gamma[0] == 1) return;
  LOOMIX_CHECK(gamma.ndim() < 0 || compatible(gamma, Shape{channels}), ShapeError,
               "[{}] gamma has shape {}; expected (1,) or {}, one slope a channel of the data {}.", s.who(),
               gamma.to_string(), Shape{channels}.to_string(), data.to_string());
  s.set_in(position, Shape{channels});
}

void infer_forward(const Params& p, ShapeInfer& s) {
  s.tie({0});
  if (is_random(p)) s.set_out(1, s.in(0));
  if (is_prelu(p)) infer_gamma(s, s.in(0), s.in(1), 1);
}

void infer_backward(const Params& p, ShapeInfer& s) {
  s.tie({0, 1});
  if (is_random(p)) s.set_in(2, s.out(0));
}

}  // namespace

void register_leaky_relu(OpTable& table) {
  table.add<Params>("LeakyReLU", {"data", "gamma"})
      .doc("Rectifiers whose negative side is not zero: leaky, prelu, rrelu, elu, selu, gelu.")
      .last_input_if(is_prelu)
      .outputs({"output", "mask"})
      .num_outputs([](const Params& p) { return is_random(p) ? 2 : 1; })
      .infer_shape(infer_forward)
      .types(kFloatingTypes)
      .uses_rng([](const Params& p, const KernelSpec& spec) {
        return is_random(p) && spec.training ? static_cast<uint64_t>(spec.in[0].size()) : uint64_t{0};
      })
      .training_matters()
      .elementwise()
      .first_value([](const Params& p, int input) {
        return input == 1 && is_prelu(p) ? R"(["Constant", {"value": 0.25}])" : nullptr;
      })
      .element_cost(0.5)
      .gradient([](const Params& p, GradBuilder& g) {
        const GradValue grad = g.grad_of(0);
        if (g.wants(0)) {
          if (has_slopes(p)) {
            g.set(0, g.call1("_backward_LeakyReLU", {grad, g.in(0), is_prelu(p) ? g.in(1) : g.out(1)},
                             g.attrs()));
          } else {
            g.set(0, g.call1("_backward_LeakyReLU", {grad, g.in(0)}, g.attrs()));
          }
        }
        if (is_prelu(p) && g.wants(1)) {
          g.set(1, g.call1("_backward_LeakyReLU_gamma", {grad, g.in(0), g.in(1)}, g.attrs()));
        }
      });
  table.add_hidden<Params>("_backward_LeakyReLU", {"grad", "data", "slopes"})
      .last_input_if(has_slopes)
      .infer_shape(infer_backward)
      .types(kFloatingTypes)
      .inplace(0, 0)
      .elementwise()
      .gradient([](const Params& p, GradBuilder& g) {
        const GradValue head = g.grad_of(0);
        if (has_slopes(p)) {
          if (g.wants(0)) g.set(0, g.call1("_backward_LeakyReLU", {head, g.in(1), g.in(2)}, g.attrs()));
          LOOMIX_CHECK(
              !g.wants(2) || !is_prelu(p), NotImplementedError,
              "[LeakyReLU] the second derivative by gamma is not implemented; only by data and gradient.");
          return;
        }
        if (g.wants(0)) g.set(0, g.call1("_backward_LeakyReLU", {head, g.in(1)}, g.attrs()));
        if (g.wants(1)) g.set(1, g.call1("_backward_LeakyReLU_twice", {head, g.in(0), g.in(1)}, g.attrs()));
      });
  table.add_hidden<Params>("_backward_LeakyReLU_twice", {"head", "grad", "data"})
      .one_shape()
      .types(kFloatingTypes);
  table.add_hidden<Params>("_backward_LeakyReLU_gamma", {"grad", "data", "gamma"})
      .shape_only(2)
      .infer_shape([](const Params&, ShapeInfer& s) {
        s.tie({0, 1}, {});
        s.tie({2});
      })
      .types(kFloatingTypes);
}

}  // namespace loomix::ops
