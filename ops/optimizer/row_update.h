// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/kernel.h"

// Which operators update only the rows that a row_sparse gradient has.
namespace loomix::ops {

enum : size_t { kWeight = 0, kGrad = 1 };

// Whether the operator updates rows for a weight and states that are all dense, or all row_sparse. It is as in MXNet.
using RowRule = bool (*)(const AttrsBase& attrs, bool sparse_weight);

template <RowRule rule>
Support updates_rows(const AttrsBase& attrs, const KernelSpec& spec) {
  if (spec.in_stype(kGrad) != StorageType::row_sparse) return Support::no("the gradient is not row_sparse");
  const StorageType weight = spec.in_stype(kWeight);
  if (weight == StorageType::csr) return Support::no("the weight is csr");
  for (size_t i = kGrad + 1; i < spec.in.size(); ++i) {
    if (spec.in_stype(i) != weight) return Support::no("weight and states differ in storage type");
  }
  if (spec.req[0] == Req::add) return Support::no("it cannot add to its output");
  if (!rule(attrs, weight == StorageType::row_sparse)) return Support::no("all rows are to be updated");
  return Support::yes();
}

template <class P>
bool if_lazy(const AttrsBase& attrs, bool) {
  return attrs.as<P>().lazy_update;
}
inline bool if_sparse(const AttrsBase&, bool sparse_weight) { return sparse_weight; }
inline bool always(const AttrsBase&, bool) { return true; }

}  // namespace loomix::ops
