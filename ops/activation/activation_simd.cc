// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/activation_kernels.h"
#include "ops/simd_math.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

template <class Fn>
void map(const float* x, float* y, int64_t count, Fn fn) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = fn(x[i]);
}

template <class Fn>
void map(const float* a, const float* b, float* out, int64_t count, Fn fn) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = fn(a[i], b[i]);
}

void forward(ActType type, const float* x, float* y, int64_t count) {
  switch (type) {
    case ActType::relu: return map(x, y, count, [](float v) { return v < 0 ? 0.0f : v; });
    case ActType::sigmoid: return map(x, y, count, [](float v) { return 1.0f / (1.0f + expf(-v)); });
    case ActType::tanh: return map(x, y, count, [](float v) { return tanhf(v); });
    case ActType::softrelu:
      return map(x, y, count, [](float v) { return (v > 0 ? v : 0.0f) + log1pf(expf(-__builtin_fabsf(v))); });
    case ActType::softsign: return map(x, y, count, [](float v) { return v / (1.0f + __builtin_fabsf(v)); });
  }
}

void backward(ActType type, const float* grad, const float* y, float* out, int64_t count) {
  switch (type) {
    case ActType::relu: return map(grad, y, out, count, [](float g, float v) { return v > 0 ? g : 0.0f; });
    case ActType::sigmoid:
      return map(grad, y, out, count, [](float g, float v) { return g * v * (1.0f - v); });
    case ActType::tanh: return map(grad, y, out, count, [](float g, float v) { return g * (1.0f - v * v); });
    case ActType::softrelu: return map(grad, y, out, count, [](float g, float v) { return -g * expm1f(-v); });
    case ActType::softsign:
      return map(grad, y, out, count, [](float g, float v) {
        const float rest = 1.0f - __builtin_fabsf(v);
        return g * rest * rest;
      });
  }
}

constexpr float kSqrtHalf = 0.70710678118654752f;
constexpr float kInvSqrtTwoPi = 0.39894228040143268f;

void leaky_forward(LeakyType type, float slope, const float* x, float* y, int64_t count) {
  switch (type) {
    case LeakyType::gelu:
      return map(x, y, count, [](float v) { return 0.5f * v * (1.0f + erff(v * kSqrtHalf)); });
    case LeakyType::elu:
      return map(x, y, count, [=](float v) {
        const float negative = slope * expm1f(v < 0 ? v : 0.0f);
        return v > 0 ? v : negative;
      });
    case LeakyType::selu:
      return map(x, y, count, [](float v) {
        const float negative = kSeluAlpha * expm1f(v < 0 ? v : 0.0f);
        return kSeluScale * (v > 0 ? v : negative);
      });
    default: return map(x, y, count, [=](float v) { return v > 0 ? v : slope * v; });
  }
}

void leaky_backward(LeakyType type, float slope, const float* grad, const float* x, float* out,
                    int64_t count) {
  switch (type) {
    case LeakyType::gelu:
      return map(grad, x, out, count, [](float g, float v) {
        const float density = kInvSqrtTwoPi * expf(-0.5f * v * v);
        return g * (0.5f * (1.0f + erff(v * kSqrtHalf)) + v * density);
      });
    case LeakyType::elu:
      return map(grad, x, out, count, [=](float g, float v) {
        const float negative = slope * expf(v < 0 ? v : 0.0f);
        return g * (v > 0 ? 1.0f : negative);
      });
    case LeakyType::selu:
      return map(grad, x, out, count, [](float g, float v) {
        const float negative = kSeluAlpha * (kSeluScale * expm1f(v < 0 ? v : 0.0f) + 1.0f);
        return g * kSeluScale * (v > 0 ? 1.0f : negative);
      });
    default: return map(grad, x, out, count, [=](float g, float v) { return v > 0 ? g : slope * g; });
  }
}

}  // namespace

const ActivationKernels activation_kernels = {forward, backward, leaky_forward, leaky_backward};

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
