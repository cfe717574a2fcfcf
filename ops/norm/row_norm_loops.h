// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loomix::ops {

// Gradients of LayerNorm in float32 whose rows are dense, compiled once per instruction set.
struct RowNormLoops {
  // The data's gradient of a row. `inverse` is 1 / its standard deviation.
  void (*to_data)(int64_t size, const float* grad, const float* x, const float* gamma, float mean,
                  float inverse, float* out);
  // Adds what `rows` rows, `step` elements apart, give to the gradients of `count` parameters.
  void (*to_parameters)(int64_t rows, int64_t step, int64_t count, const float* grad, const float* x,
                        const float* means, const float* deviations, double* gammas, double* betas);
};

}  // namespace loomix::ops
