// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ndarray/tensor_view.h"
#include "ops/kernel.h"
#include "ops/sparse/row_set.h"

namespace loomix::ops {

// The numbers in `data`, each brought inside [0, limit).
std::vector<int64_t> clipped_ids(const TensorView& data, int64_t limit);

// Which rows of a weight were looked up, and by which elements of the data: those of the rows' number i are
// order[starts[i]] to order[starts[i + 1] - 1], ascending.
struct LookUps {
  LookUps(const std::vector<int64_t>& ids, int64_t limit);
  RowSet rows;
  std::vector<int64_t> starts, order;
};

// Whether the gradient of a weight can be made of the rows that were looked up.
Support gives_rows(const KernelSpec& spec);

}  // namespace loomix::ops
