// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

namespace loomix::ops {

// By how much a value changes with the place where it is read.
template <class A>
struct Slope {
  A x, y;
};

// The four elements of a plane around a place between them, and their shares. Those outside of the plane are zeros.
template <class A>
struct Corners {  // a plane is what [i] gives element i of
  int64_t at[4] = {};
  A share[4] = {};
  A right = 0, down = 0;  // of the place, from its upper left corner
  bool inside[4] = {};

  template <class Plane>
  constexpr A value(const Plane& plane) const {
    A sum = 0;
    for (int i = 0; i < 4; ++i) {
      if (inside[i]) sum += share[i] * static_cast<A>(plane[at[i]]);
    }
    return sum;
  }
  constexpr void add(A amount, A* sums) const {
    for (int i = 0; i < 4; ++i) {
      if (inside[i]) sums[at[i]] += share[i] * amount;
    }
  }
  template <class Plane>
  constexpr Slope<A> slope(const Plane& plane) const {
    A value[4] = {};
    for (int i = 0; i < 4; ++i) value[i] = inside[i] ? static_cast<A>(plane[at[i]]) : A{0};
    return {(value[1] - value[0]) * (1 - down) + (value[3] - value[2]) * down,
            (value[2] - value[0]) * (1 - right) + (value[3] - value[1]) * right};
  }
};

// The whole number below, of what int64 holds.
template <class A>
constexpr A whole_below(A x) {
  const auto cut = static_cast<A>(static_cast<int64_t>(x));
  return cut > x ? cut - 1 : cut;
}

// Around (x, y), which may be no number.
template <class A>
constexpr Corners<A> corners(A x, A y, int64_t height, int64_t width) {
  Corners<A> c;
  const bool near = x > -1 && x < static_cast<A>(width) && y > -1 && y < static_cast<A>(height);
  if (!near) return c;
  const A left = whole_below(x), top = whole_below(y);
  c.right = x - left;
  c.down = y - top;
  for (int i = 0; i < 4; ++i) {
    const int64_t column = static_cast<int64_t>(left) + i % 2, row = static_cast<int64_t>(top) + i / 2;
    c.inside[i] = column >= 0 && column < width && row >= 0 && row < height;
    if (!c.inside[i]) continue;
    c.at[i] = row * width + column;
    c.share[i] = (i % 2 ? c.right : 1 - c.right) * (i / 2 ? c.down : 1 - c.down);
  }
  return c;
}

// The same, but beside the last row and column are they again, and before the first ones there is nothing.
template <class A>
constexpr Corners<A> edge_corners(A x, A y, int64_t height, int64_t width) {
  Corners<A> c;
  const bool near = x >= 0 && x < static_cast<A>(width) && y >= 0 && y < static_cast<A>(height);
  if (!near) return c;
  const auto left = static_cast<int64_t>(x), top = static_cast<int64_t>(y);
  c.right = left == width - 1 ? A{0} : x - static_cast<A>(left);
  c.down = top == height - 1 ? A{0} : y - static_cast<A>(top);
  for (int i = 0; i < 4; ++i) {
    const int64_t column = left == width - 1 ? left : left + i % 2,
                  row = top == height - 1 ? top : top + i / 2;
    c.inside[i] = true;
    c.at[i] = row * width + column;
    c.share[i] = (i % 2 ? c.right : 1 - c.right) * (i / 2 ? c.down : 1 - c.down);
  }
  return c;
}

}  // namespace loomix::ops
