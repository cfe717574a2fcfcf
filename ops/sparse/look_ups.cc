// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse/look_ups.h"

#include <algorithm>

#include "ops/sparse/sparse.h"

namespace loomix::ops {

std::vector<int64_t> clipped_ids(const TensorView& data, int64_t limit) {
  std::vector<int64_t> ids = integers_of(data);
  for (int64_t& id : ids) id = std::clamp<int64_t>(id, 0, limit - 1);
  return ids;
}

LookUps::LookUps(const std::vector<int64_t>& ids, int64_t limit)
    : rows(ids, limit), starts(static_cast<size_t>(rows.count()) + 1), order(ids.size()) {
  std::vector<int64_t> places;
  places.reserve(ids.size());
  for (const int64_t id : ids) ++starts[static_cast<size_t>(places.emplace_back(rows.place(id))) + 1];
  for (size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
  std::vector<int64_t> next(starts.begin(), starts.end() - 1);
  for (size_t i = 0; i < ids.size(); ++i)
    order[static_cast<size_t>(next[static_cast<size_t>(places[i])]++)] = static_cast<int64_t>(i);
}

Support gives_rows(const KernelSpec& spec) {
  if (spec.in_stype(0) != StorageType::dense || spec.in_stype(1) != StorageType::dense)
    return Support::no("it takes a dense gradient and dense data");
  if (spec.out_stype(0) != StorageType::row_sparse) return Support::no("its output is row_sparse");
  if (spec.req[0] == Req::add) return Support::no("it cannot add to a row_sparse output");
  return Support::yes();
}

}  // namespace loomix::ops
