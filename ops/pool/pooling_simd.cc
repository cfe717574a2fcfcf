// SPDX-License-Identifier: Apache-2.0
#include "ops/pool/pooling_kernels.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

// NaN wins, as it would in a chain of comparisons that ask for "not smaller".
inline float larger(float a, float b) { return b > a || b != b ? b : a; }

void max2(int64_t out_height, int64_t out_width, int64_t width, const float* data, float* out) {
  for (int64_t h = 0; h < out_height; ++h, data += 2 * width, out += out_width) {
    const float* top = data;
    const float* bottom = data + width;
#pragma omp simd
    for (int64_t w = 0; w < out_width; ++w) {
      out[w] = larger(larger(top[2 * w], top[2 * w + 1]), larger(bottom[2 * w], bottom[2 * w + 1]));
    }
  }
}

void max2_backward(int64_t out_height, int64_t out_width, int64_t width, const float* grad, const float* data,
                   float* out) {
  for (int64_t h = 0; h < out_height; ++h, data += 2 * width, out += 2 * width, grad += out_width) {
    const float* top = data;
    const float* bottom = data + width;
    float* top_out = out;
    float* bottom_out = out + width;
#pragma omp simd
    for (int64_t w = 0; w < out_width; ++w) {
      const float a = top[2 * w], b = top[2 * w + 1], c = bottom[2 * w], d = bottom[2 * w + 1];
      const float g = grad[w];
      const float upper = larger(a, b);
      const float lower = larger(c, d);
      const bool below = lower > upper;
      const bool right_above = b > a;
      const bool right_below = d > c;
      top_out[2 * w] = below || right_above ? 0.0f : g;
      top_out[2 * w + 1] = below || !right_above ? 0.0f : g;
      bottom_out[2 * w] = !below || right_below ? 0.0f : g;
      bottom_out[2 * w + 1] = !below || !right_below ? 0.0f : g;
    }
  }
}

}  // namespace

const PoolKernels pool_kernels = {max2, max2_backward};

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
