// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

struct DotParams {
  bool transpose_a = false;
  bool transpose_b = false;
  std::optional<StorageType> forward_stype;

  template <class P>
  static void list_transposes(FieldList<P>& f) {
    f("transpose_a", &P::transpose_a, "Contracts the first argument's first axis instead of its last.");
    f("transpose_b", &P::transpose_b, "Contracts the second argument's last axis instead of its first.");
  }
  static void fields(FieldList<DotParams>& f) {
    list_transposes(f);
    f("forward_stype", &DotParams::forward_stype, "Storage type of the output.")
        .options({{"default", StorageType::dense},
                  {"row_sparse", StorageType::row_sparse},
                  {"csr", StorageType::csr}});
  }
};

// The output of batch_dot; unknown while something is missing.
Shape batch_dot_shape(const DotParams& p, const char* who, const Shape& lhs, const Shape& rhs);

}  // namespace loomix::ops
