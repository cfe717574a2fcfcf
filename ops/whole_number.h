// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace loomix::ops {

// An element as an index or a length: towards zero. Of what int64 may not hold it is 2^62, or -2^62, and so out of any
// range; NaN counts as the latter.
template <class T>
constexpr int64_t whole_number(T element) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(element);
  } else {
    constexpr double kMost = 0x1p62;
    const auto number = static_cast<double>(element);
    return static_cast<int64_t>(number > kMost ? kMost : number > -kMost ? number : -kMost);
  }
}

}  // namespace loomix::ops
