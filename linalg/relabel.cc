// SPDX-License-Identifier: Apache-2.0
#include "linalg/relabel.h"

#include <limits>

#include "linalg/transfer.h"

namespace loomix::linalg {

// The Hungarian method with potentials: one row after the other is added along the cheapest path of exchanges (Kuhn 1955, Munkres 1957).
std::vector<int> best_assignment(const std::vector<int64_t>& worth, int size) {
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
  const auto n = static_cast<size_t>(size);
  // Row and column 0 stand for none.
  std::vector<int64_t> row_price(n + 1), column_price(n + 1);
  std::vector<size_t> row_of(n + 1), came_from(n + 1);
  for (size_t row = 1; row <= n; ++row) {
    std::vector<int64_t> least(n + 1, kFar);
    std::vector<bool> seen(n + 1);
    size_t column = 0;
    row_of[0] = row;
    do {
      seen[column] = true;
      const size_t at = row_of[column];
      size_t next = 0;
      int64_t step = kFar;
      for (size_t j = 1; j <= n; ++j) {
        if (seen[j]) continue;
        const int64_t cost = -worth[(at - 1) * n + j - 1] - row_price[at] - column_price[j];
        if (cost < least[j]) {
          least[j] = cost;
          came_from[j] = column;
        }
        if (least[j] < step) {
          step = least[j];
          next = j;
        }
      }
      for (size_t j = 0; j <= n; ++j) {
        if (seen[j]) {
          row_price[row_of[j]] += step;
          column_price[j] -= step;
        } else if (least[j] != kFar) {
          least[j] -= step;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    for (; column != 0; column = came_from[column]) row_of[column] = row_of[came_from[column]];
  }
  std::vector<int> taken(n);
  for (size_t j = 1; j <= n; ++j) taken[row_of[j] - 1] = static_cast<int>(j - 1);
  return taken;
}

Relabelling relabel(const Layout& from, const Layout& to, int ranks, bool transpose) {
  const auto n = static_cast<size_t>(ranks);
  const std::vector<int64_t> here = elements_in_common(from, to, ranks, transpose);  // by label, then by rank
  const std::vector<int> rank_of = best_assignment(here, ranks);
  int64_t spared = 0;
  for (size_t label = 0; label < n; ++label)
    spared += here[label * n + static_cast<size_t>(rank_of[label])] - here[label * n + label];
  if (spared == 0) return {to, 0};
  return {to.relabelled(rank_of), spared};
}

}  // namespace loomix::linalg
