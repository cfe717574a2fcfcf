// SPDX-License-Identifier: Apache-2.0
#include "ops/isa.h"
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

void forward_columns(bool log, float scale, int64_t count, int64_t size, int64_t stride, const float* x,
                     float* y) {
  float tops[kSoftmaxColumns], sums[kSoftmaxColumns];
  for (int64_t c = 0; c < count; ++c) {
    tops[c] = -__builtin_inff();
    sums[c] = 0;
  }
  for (int64_t i = 0; i < size * stride; i += stride) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c) tops[c] = x[i + c] * scale > tops[c] ? x[i + c] * scale : tops[c];
  }
  for (int64_t i = 0; i < size * stride; i += stride) {
    if (log) {
#pragma omp simd
      for (int64_t c = 0; c < count; ++c) sums[c] += expf(x[i + c] * scale - tops[c]);
    } else {
#pragma omp simd
      for (int64_t c = 0; c < count; ++c) {
        y[i + c] = expf(x[i + c] * scale - tops[c]);
        sums[c] += y[i + c];
      }
    }
  }
#pragma omp simd
  for (int64_t c = 0; c < count; ++c) sums[c] = log ? tops[c] + logf(sums[c]) : 1.0f / sums[c];
  for (int64_t i = 0; i < size * stride; i += stride) {
    if (log) {
#pragma omp simd
      for (int64_t c = 0; c < count; ++c) y[i + c] = x[i + c] * scale - sums[c];
    } else {
#pragma omp simd
      for (int64_t c = 0; c < count; ++c) y[i + c] *= sums[c];
    }
  }
}

void backward_columns(bool log, float scale, int64_t count, int64_t size, int64_t stride, const float* grad,
                      const float* y, float* out) {
  float sums[kSoftmaxColumns];
  for (int64_t c = 0; c < count; ++c) sums[c] = 0;
  for (int64_t i = 0; i < size * stride; i += stride) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c) sums[c] += log ? grad[i + c] : grad[i + c] * y[i + c];
  }
  for (int64_t i = 0; i < size * stride; i += stride) {
    if (log) {
#pragma omp simd
      for (int64_t c = 0; c < count; ++c) out[i + c] = scale * (grad[i + c] - expf(y[i + c]) * sums[c]);
    } else {
#pragma omp simd
      for (int64_t c = 0; c < count; ++c) out[i + c] = scale * y[i + c] * (grad[i + c] - sums[c]);
    }
  }
}

}  // namespace

template <>
const SoftmaxKernels& compiled_loops() {
  static constexpr SoftmaxKernels kernels = {forward, backward, forward_columns, backward_columns};
  return kernels;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
