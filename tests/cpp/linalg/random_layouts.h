// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "linalg/layout.h"

namespace loomix::linalg {

// Layouts of every kind, for properties that all of them have.
class RandomLayouts {
 public:
  explicit RandomLayouts(uint32_t seed) : random_(seed) {}
  int number(int first, int last) { return std::uniform_int_distribution<int>(first, last)(random_); }

  Layout next(int64_t rows, int64_t columns, int ranks) {
    const auto divisor = [&] {
      int p = number(1, ranks);
      while (ranks % p != 0) --p;
      return p;
    };
    const int p = divisor();
    switch (number(0, 7)) {
      case 0: return Layout::by_rows(rows, columns, ranks);
      case 1: return Layout::by_columns(rows, columns, ranks);
      case 2: return Layout::on_grid(rows, columns, p, ranks / p);
      case 3: return Layout::cyclic(rows, columns, number(1, 7), number(1, 7), p, ranks / p);
      case 4: return Layout::replicated(rows, columns, ranks);
      case 5: return Layout::on_rank(rows, columns, number(0, ranks - 1));
      case 6: {
        const Mesh mesh({{"a", p}, {"b", ranks / p}});
        return Layout::on_mesh(mesh, rows, columns, number(0, 1) != 0 ? "a" : "",
                               number(0, 1) != 0 ? "b" : "");
      }
      default: return ragged(rows, columns, ranks);
    }
  }
  std::vector<int64_t> cuts(int64_t count) {
    std::vector<int64_t> result{0, count};
    for (int i = number(0, 4); i > 0; --i) result.push_back(number(0, static_cast<int>(count)));
    std::sort(result.begin(), result.end());
    return result;
  }
  // Anything: empty blocks, blocks of some ranks alone, several copies.
  Layout ragged(int64_t rows, int64_t columns, int ranks) {
    const auto row_cuts = cuts(rows), column_cuts = cuts(columns);
    const int copies = number(1, std::min(ranks, 3));
    std::vector<int> all(static_cast<size_t>(ranks)), owners;
    for (int i = 0; i < ranks; ++i) all[static_cast<size_t>(i)] = i;
    for (size_t b = 0; b < (row_cuts.size() - 1) * (column_cuts.size() - 1); ++b) {
      std::shuffle(all.begin(), all.end(), random_);
      owners.insert(owners.end(), all.begin(), all.begin() + copies);
    }
    return Layout::of_blocks(row_cuts, column_cuts, owners, copies);
  }

 private:
  std::mt19937 random_;
};

}  // namespace loomix::linalg
