// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/shape.h"
#include "ops/broadcast.h"
#include "ops/cuda/divider.h"

namespace loomix::cuda {

// Places of operands for the elements of an output, row-major: axes of size 1 are left out, and neighbours along which every operand
// does the same are one.
inline constexpr int kMaxAxes = 8;  // that are left: parameters of a kernel are copied at each launch

template <int kOperands>
struct Places {
  int ndim = 0;
  Divider size[kMaxAxes];
  int64_t stride[kOperands][kMaxAxes];

  // The offset of operand `o` for element `i` of the output.
  __device__ void of(int64_t i, int64_t (&offset)[kOperands]) const {
#pragma unroll
    for (int o = 0; o < kOperands; ++o) offset[o] = 0;
    for (int axis = ndim - 1; axis > 0; --axis) {
      const int64_t rest = size[axis].quotient(i);
      const int64_t index = i - rest * size[axis].divisor();
      i = rest;
#pragma unroll
      for (int o = 0; o < kOperands; ++o) offset[o] += index * stride[o][axis];
    }
#pragma unroll
    for (int o = 0; o < kOperands; ++o) offset[o] += i * stride[o][0];
  }
};

template <int kOperands>
Places<kOperands> places_of(const ops::BroadcastPlan& plan) {
  LOOMIX_CHECK(plan.ndim <= kMaxAxes, NotImplementedError,
               "[cuda] these shapes broadcast along {} groups of axes; at most {} are possible on GPUs.",
               plan.ndim, kMaxAxes);
  Places<kOperands> places;
  places.ndim = plan.ndim;
  for (int axis = 0; axis < plan.ndim; ++axis) {
    places.size[axis] = Divider(plan.size[axis]);
    for (int o = 0; o < kOperands; ++o) places.stride[o][axis] = plan.stride[o][axis];
  }
  return places;
}

}  // namespace loomix::cuda
