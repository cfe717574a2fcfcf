// SPDX-License-Identifier: Apache-2.0
#include "ops/simd_math.h"
#include "ops/softmax/softmax_kernels.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

void forward(bool log, float scale, int64_t count, int64_t size, const float* x, float* y) {
  for (int64_t row = 0; row < count; ++row, x += size, y += size) {
    float top = -__builtin_inff();
#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < size; ++i) top = x[i] * scale > top ? x[i] * scale : top;
    float sum = 0;
    if (log) {
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < size; ++i) sum += expf(x[i] * scale - top);
      const float shift = top + logf(sum);
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) y[i] = x[i] * scale - shift;
    } else {
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < size; ++i) {
        y[i] = expf(x[i] * scale - top);
        sum += y[i];
      }
      const float factor = 1.0f / sum;
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) y[i] *= factor;
    }
  }
}

void backward(bool log, float scale, int64_t count, int64_t size, const float* grad, const float* y,
              float* out) {
  for (int64_t row = 0; row < count; ++row, grad += size, y += size, out += size) {
    float sum = 0;
    if (log) {
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < size; ++i) sum += grad[i];
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) out[i] = scale * (grad[i] - expf(y[i]) * sum);
    } else {
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < size; ++i) sum += grad[i] * y[i];
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) out[i] = scale * y[i] * (grad[i] - sum);
    }
  }
}

}  // namespace

const SoftmaxKernels softmax_kernels = {forward, backward};

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
