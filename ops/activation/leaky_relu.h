// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

enum class LeakyType { leaky, prelu, rrelu, elu, selu, gelu };

inline constexpr float kSeluAlpha = 1.6732632423543772f;
inline constexpr float kSeluScale = 1.0507009873554805f;

struct LeakyReluParams {
  LeakyType act_type = LeakyType::leaky;
  float slope = 0.25f;
  float lower_bound = 0.125f;
  float upper_bound = 0.334f;

  static void fields(FieldList<LeakyReluParams>& f) {
    f("act_type", &LeakyReluParams::act_type, "The function to apply.")
        .options({{"elu", LeakyType::elu},
                  {"gelu", LeakyType::gelu},
                  {"leaky", LeakyType::leaky},
                  {"prelu", LeakyType::prelu},
                  {"rrelu", LeakyType::rrelu},
                  {"selu", LeakyType::selu}});
    f("slope", &LeakyReluParams::slope, "Slope for negative values (leaky), or their scale (elu).");
    f("lower_bound", &LeakyReluParams::lower_bound, "Least random slope (rrelu).");
    f("upper_bound", &LeakyReluParams::upper_bound, "Largest random slope (rrelu).");
  }
};

// data, gamma (prelu: one slope, or one a channel) -> output; rrelu has the slopes as second output.
void leaky_relu_cpu(const LeakyReluParams&, const KernelArgs&);
// grad, data, slopes (prelu: gamma, rrelu: the second output) -> gradient of the data.
void leaky_relu_backward_cpu(const LeakyReluParams&, const KernelArgs&);
// grad, data, gamma (shape only) -> gradient of gamma.
void leaky_relu_gamma_cpu(const LeakyReluParams&, const KernelArgs&);
// head, grad, data -> head grad f''(data).
void leaky_relu_backward_twice_cpu(const LeakyReluParams&, const KernelArgs&);

// leaky, elu, selu and gelu in float32.
void leaky_relu_simd(const LeakyReluParams&, const KernelArgs&);
void leaky_relu_backward_simd(const LeakyReluParams&, const KernelArgs&);
Support leaky_relu_simd_support(const LeakyReluParams&, const KernelSpec&);

}  // namespace loomix::ops
