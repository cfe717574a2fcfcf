// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ops/kernel.h"
#include "ops/linear/dot.h"

// Which storage types a product of a csr matrix, or its transpose, and an array takes and gives.
namespace loomix::ops {

inline Support multiplies(const KernelSpec& spec, size_t m, size_t x, bool transpose, bool transpose_x) {
  const StorageType out = spec.out_stype(0);
  if (spec.in_stype(m) != StorageType::csr) return Support::no("the matrix is not csr");
  if (spec.in_stype(x) == StorageType::csr) return Support::no("both factors are csr");
  if (transpose_x) return Support::no("the second factor is transposed");
  if (out != StorageType::dense && (out != StorageType::row_sparse || !transpose))
    return Support::no("only the product of a transposed csr matrix is row_sparse, and none is csr");
  if (out == StorageType::row_sparse && spec.req[0] == Req::add)
    return Support::no("it cannot add to a row_sparse output");
  return Support::yes();
}

// What forward_stype asks for, if it asks.
inline bool is_asked_for(const DotParams& p, StorageType stype) {
  return !p.forward_stype || *p.forward_stype == stype;
}

inline Support csr_dots(const DotParams& p, const KernelSpec& spec) {
  if (!is_asked_for(p, spec.out_stype(0))) return Support::no("forward_stype asks for another storage type");
  return multiplies(spec, 0, 1, p.transpose_a, p.transpose_b);
}

inline Support csr_dots_back(const DotParams& p, const KernelSpec& spec) {
  return multiplies(spec, 1, 0, !p.transpose_a, p.transpose_b);
}

// The index of a csr result of a dense matrix times a csr one, or its transpose: each row has the columns in which the second factor
// stores anything. These are given back.
std::vector<int64_t> index_product(Storage& to, const TensorView& out, const Storage& matrix, bool transpose);

// Products of a dense matrix with a csr one.
inline Support dots_csr(const DotParams& p, const KernelSpec& spec) {
  const StorageType out = spec.out_stype(0);
  if (spec.in_stype(0) != StorageType::dense || spec.in_stype(1) != StorageType::csr || p.transpose_a ||
      spec.in[0].shape.ndim() != 2)
    return Support::no("it takes a dense matrix, not transposed, and a csr one");
  if (!is_asked_for(p, out)) return Support::no("forward_stype asks for another storage type");
  if (out == StorageType::row_sparse) return Support::no("its output is csr or dense");
  if (out == StorageType::csr && spec.req[0] == Req::add) return Support::no("it cannot add to a csr output");
  return Support::yes();
}

inline Support dots_csr_back(const DotParams& p, const KernelSpec& spec) {
  if (spec.in_stype(0) != StorageType::dense || spec.in_stype(1) != StorageType::csr ||
      spec.out_stype(0) != StorageType::dense || p.transpose_a || spec.in[0].shape.ndim() != 2)
    return Support::no("it takes a dense gradient and a csr matrix, and gives a dense one");
  return Support::yes();
}

}  // namespace loomix::ops
