// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "symbol/executor/op_call.h"

namespace loomix {

// Whether the operator may give sparse outputs for dense inputs, so that storage types are asked for on every call: its first
// kernel is one for sparse arrays.
inline bool makes_sparse(const ops::OpDef& op) {
  return op.has_sparse_kernels() && op.kernels.front().sparse && !op.kernels.front().updates;
}

// Chooses a kernel that takes the storage types of the inputs. `stypes` are those of inputs, then outputs; an output that is
// undefined is stored as the first kernel gives it that accepts one of: the storage type of the first sparse input,
// row_sparse, csr (dense for outputs that are no matrices), dense. Where an output is given, that is tried before all
// others. Writes the outputs' storage types back; where no kernel accepts any, the choice is empty.
ops::KernelChoice choose_by_storage(Runtime& runtime, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                                    ops::KernelSpec spec, std::span<StorageType> stypes, Device device);

// What `LOOMIX_EXPLAIN=dispatch` says when there is no such kernel, and the inputs are made dense.
void explain_fallback(const Runtime& runtime, const ops::OpDef& op, std::span<const StorageType> in);

}  // namespace loomix
