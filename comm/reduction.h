// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "comm/process_group.h"

namespace loomix::comm {

template <class T>
T reduced(T a, T b, Reduction reduction) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return T(reduced(static_cast<float>(a), static_cast<float>(b), reduction));
  } else {
    switch (reduction) {
      case Reduction::sum: return static_cast<T>(a + b);
      case Reduction::product: return static_cast<T>(a * b);
      case Reduction::minimum: return std::min(a, b);
      case Reduction::maximum: return std::max(a, b);
    }
    return a;
  }
}

// to[i] = a[i] (reduction) b[i]; `to` may be one of them.
template <class T>
void reduce(T* to, const T* a, const T* b, size_t count, Reduction reduction) {
  if (reduction == Reduction::sum) {
    for (size_t i = 0; i < count; ++i) to[i] = reduced(a[i], b[i], Reduction::sum);
  } else {
    for (size_t i = 0; i < count; ++i) to[i] = reduced(a[i], b[i], reduction);
  }
}

}  // namespace loomix::comm
