// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/image_ops/image_rules.h"
#include "ops/cuda/arrays.h"

namespace loomix::cuda {

// A result as an element: fractions are rounded, as to_value().
struct ImageNumbers {
  MutableAnyArray out;
  double low = 0, high = 0;  // of integers

  explicit ImageNumbers(const TensorView& view) : out(view) {
    if (is_floating(view.dtype)) return;
    dispatch_numeric(view.dtype, "image", [&]<class T>(Type<T>) {
      if constexpr (std::is_integral_v<T>) {
        low = static_cast<double>(std::numeric_limits<T>::min());
        high = static_cast<double>(std::numeric_limits<T>::max());
      }
    });
  }
  __device__ void set(int64_t i, float value) const {
    if (low == high) return out.set(i, value);
    const double whole = std::rint(static_cast<double>(value));
    out.set(i, whole < low ? low : whole > high ? high : whole);
  }
  // Fractions are cut off.
  __device__ void set_cut(int64_t i, float value) const { set(i, low == high ? value : std::trunc(value)); }
};

}  // namespace loomix::cuda
