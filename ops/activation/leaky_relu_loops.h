// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loomix::ops {

// The loops of one function over contiguous elements. `slopes` is one number, or one an element.
struct LeakyLoops {
  void (*forward)(const void* x, const void* slopes, void* y, int64_t count);
  void (*backward)(const void* grad, const void* x, const void* slopes, void* out, int64_t count);
  void (*backward_twice)(const void* head, const void* grad, const void* x, const void* slopes, void* out,
                         int64_t count);
};

// The loops of one instruction set, by LeakyType.
struct LeakyTable {
  const LeakyLoops *f32, *f32_slopes, *f64, *f64_slopes;  // with one slope for all, with one an element
};

}  // namespace loomix::ops
