// SPDX-License-Identifier: Apache-2.0
#include "ops/isa.h"
#include "ops/norm/row_norm_loops.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int64_t kLanes = 8;
constexpr int kAbreast = 4;        // rows whose sums are float32 before they go to the parameters'
constexpr int64_t kManyRows = 32;  // from so many on three roundings more do not show
typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));
typedef float LooseFloats __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

// Sums of 16 lanes, the same for all instruction sets.
struct LaneSums {
  Floats lanes[2] = {};
  float total(float rest) const {
    for (const Floats& half : lanes)
      for (int64_t i = 0; i < kLanes; ++i) rest += half[i];
    return rest;
  }
};

void to_data(int64_t size, const float* grad, const float* x, const float* gamma, float mean, float inverse,
             float* out) {
  LaneSums heads, slopes;
  int64_t i = 0;
  for (; i + 2 * kLanes <= size; i += 2 * kLanes) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const int64_t k = i + half * kLanes;
      const LooseFloats *const g = reinterpret_cast<const LooseFloats*>(grad + k),
                               *const w = reinterpret_cast<const LooseFloats*>(gamma + k),
                               *const from = reinterpret_cast<const LooseFloats*>(x + k);
      const Floats head = *g * *w, normal = (*from - mean) * inverse;
      heads.lanes[half] += head;
      slopes.lanes[half] += head * normal;
    }
  }
  float head_rest = 0, slope_rest = 0;
  for (; i < size; ++i) {
    const float head = grad[i] * gamma[i];
    head_rest += head;
    slope_rest += head * ((x[i] - mean) * inverse);
  }
  const auto count = static_cast<float>(size);
  const float constant = heads.total(head_rest) / count, slope = slopes.total(slope_rest) / count;
#pragma omp simd
  for (int64_t k = 0; k < size; ++k)
    out[k] = inverse * (grad[k] * gamma[k] - constant - (x[k] - mean) * inverse * slope);
}

template <int abreast>
void add_rows(int64_t step, int64_t count, const float* grad, const float* x, const float* means,
              const float* deviations, double* gammas, double* betas) {
  float mean[abreast], inverse[abreast];
  for (int r = 0; r < abreast; ++r) {
    mean[r] = means[r];
    inverse[r] = 1 / deviations[r];
  }
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    float to_gamma = 0, to_beta = 0;
#pragma GCC unroll 4
    for (int r = 0; r < abreast; ++r) {
      const float head = grad[r * step + i];
      to_gamma += head * (x[r * step + i] - mean[r]) * inverse[r];
      to_beta += head;
    }
    gammas[i] += static_cast<double>(to_gamma);
    betas[i] += static_cast<double>(to_beta);
  }
}

void to_parameters(int64_t rows, int64_t step, int64_t count, const float* grad, const float* x,
                   const float* means, const float* deviations, double* gammas, double* betas) {
  int64_t row = 0;
  for (; rows >= kManyRows && row + kAbreast <= rows; row += kAbreast)
    add_rows<kAbreast>(step, count, grad + row * step, x + row * step, means + row, deviations + row, gammas,
                       betas);
  for (; row < rows; ++row)
    add_rows<1>(step, count, grad + row * step, x + row * step, means + row, deviations + row, gammas, betas);
}

}  // namespace

template <>
const RowNormLoops& compiled_loops() {
  static constexpr RowNormLoops made = {to_data, to_parameters};
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
