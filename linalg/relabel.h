// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "linalg/layout.h"

namespace loomix::linalg {

// A layout whose ranks have changed places, so that as much as can be is where it was.
struct Relabelling {
  Layout layout;
  int64_t elements_spared = 0;  // that do not travel now, of all ranks together
};

// For a remap to a layout of which it matters how blocks are cut and which ones lie together, and not on which of `ranks` ranks. The best
// there is, and the layout itself where no other one is better. (Kabić, Pintarelli, Kozhevnikov, VandeVondele, "COSTA: Communication-Optimal
// Shuffle and Transpose Algorithm with Process Relabeling", 2021.) Every rank finds the same; the cost grows with the blocks and ranks^3.
Relabelling relabel(const Layout& from, const Layout& to, int ranks, bool transpose);

// Which column each row takes, so that the sum of what it takes is the largest. `worth` has `size` rows.
std::vector<int> best_assignment(const std::vector<int64_t>& worth, int size);

}  // namespace loomix::linalg
