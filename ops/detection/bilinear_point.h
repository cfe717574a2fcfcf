// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loomix::ops {

// A place between elements of a plane, as ROIAlign reads it: up to one element outside it is moved onto the plane's edge,
// beyond there is nothing.
template <class A>
struct Point {
  bool inside;
  int64_t at[4];  // set where it is inside
  A share[4];

  Point() = default;
  constexpr Point(A x, A y, int64_t height, int64_t width)
      : inside(x >= -1 && x <= static_cast<A>(width) && y >= -1 && y <= static_cast<A>(height)),
        at{},
        share{} {
    if (!inside) return;
    const Axis across(x, width), down(y, height);
    for (int i = 0; i < 4; ++i) {
      at[i] = (i / 2 ? down.second : down.first) * width + (i % 2 ? across.second : across.first);
      share[i] = (i / 2 ? down.rest : 1 - down.rest) * (i % 2 ? across.rest : 1 - across.rest);
    }
  }

  template <class Plane>  // [i] gives element i
  constexpr A value(const Plane& plane) const {
    return share[0] * static_cast<A>(plane[at[0]]) + share[1] * static_cast<A>(plane[at[1]]) +
           share[2] * static_cast<A>(plane[at[2]]) + share[3] * static_cast<A>(plane[at[3]]);
  }
  constexpr void add(A amount, A* sums) const {
    for (int i = 0; inside && i < 4; ++i) sums[at[i]] += share[i] * amount;
  }

 private:
  struct Axis {
    int64_t first = 0, second = 0;
    A rest = 0;
    constexpr Axis(A place, int64_t size) {
      if (!(place > 0)) place = 0;
      first = static_cast<int64_t>(place);
      if (first >= size - 1) {
        first = second = size - 1;
        rest = 0;
      } else {
        second = first + 1;
        rest = place - static_cast<A>(first);
      }
    }
  };
};

}  // namespace loomix::ops
