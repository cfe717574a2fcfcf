// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/reduce/histogram.h"

// Bins of histograms, for hosts and devices. `Type` says how items of T are computed with: Type::Number, load, store.
namespace loomix::ops {

// Bins of equal width. The edges are those that the output holds, rounded to its type, so that counts and edges agree; they
// are exact where range and width are whole numbers.
template <class T, class Type>
struct EvenBins {
  using Number = typename Type::Number;
  double low, high;
  int64_t count;

  explicit EvenBins(const HistogramParams& p) : low((*p.range)[0]), high((*p.range)[1]), count(*p.bin_cnt) {}
  constexpr T stored_edge(int64_t i) const {
    const auto bins = static_cast<double>(count), at = static_cast<double>(i);
    const double exact = (high * at + (bins - at) * low) / bins;
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      return static_cast<T>(
          std::clamp(exact, static_cast<double>(Limits::lowest()), static_cast<double>(Limits::max())));
    } else {
      return Type::store(static_cast<Number>(exact));
    }
  }
  constexpr Number edge(int64_t i) const { return Type::load(stored_edge(i)); }
  constexpr int64_t bin_of(Number item) const {
    const double place = (static_cast<double>(item) - low) / (high - low) * static_cast<double>(count);
    int64_t bin = static_cast<int64_t>(std::clamp(place, 0.0, static_cast<double>(count - 1)));
    while (bin > 0 && item < edge(bin)) --bin;
    while (bin + 1 < count && item >= edge(bin + 1)) ++bin;
    return bin;
  }
};

template <class T, class Type>
struct GivenBins {
  using Number = typename Type::Number;
  const T* edges;
  int64_t count;

  constexpr T stored_edge(int64_t i) const { return edges[i]; }
  constexpr Number edge(int64_t i) const { return Type::load(edges[i]); }
  // By halves: the last bin whose lower edge is not above the item, which is not below the first one.
  constexpr int64_t bin_of(Number item) const {
    int64_t low = 0, high = count;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      if (item < edge(middle)) high = middle;
      else low = middle;
    }
    return low;
  }
};

}  // namespace loomix::ops
