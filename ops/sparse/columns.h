// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ops/sparse/sparse.h"

namespace loomix::ops {

// The stored values by column instead of by row. Columns are numbered by their places in a set.
template <class T>
struct Columns {
  std::vector<int64_t> starts;
  std::vector<int64_t> rows;
  std::vector<T> values;

  template <class PlaceOf>
  Columns(const CsrView<T>& matrix, int64_t count, PlaceOf&& place_of)
      : starts(static_cast<size_t>(count) + 1),
        rows(static_cast<size_t>(matrix.count())),
        values(static_cast<size_t>(matrix.count())) {
    std::vector<int64_t> places(rows.size());
    for (size_t k = 0; k < places.size(); ++k) {
      places[k] = place_of(matrix.columns[k]);
      ++starts[static_cast<size_t>(places[k]) + 1];
    }
    for (size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    std::vector<int64_t> next(starts.begin(), starts.end() - 1);
    for (int64_t row = 0; row < matrix.rows; ++row) {
      for (int64_t k = matrix.starts[row]; k < matrix.starts[row + 1]; ++k) {
        const auto to = static_cast<size_t>(next[static_cast<size_t>(places[static_cast<size_t>(k)])]++);
        rows[to] = row;
        values[to] = matrix.values[k];
      }
    }
  }
};

}  // namespace loomix::ops
