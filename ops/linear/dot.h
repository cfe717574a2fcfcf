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

  static void fields(FieldList<DotParams>& f) {
    f("transpose_a", &DotParams::transpose_a,
      "Contracts the first argument's first axis instead of its last.");
    f("transpose_b", &DotParams::transpose_b,
      "Contracts the second argument's last axis instead of its first.");
    f("forward_stype", &DotParams::forward_stype, "Storage type of the output.")
        .options({{"default", StorageType::dense},
                  {"row_sparse", StorageType::row_sparse},
                  {"csr", StorageType::csr}});
  }
};

}  // namespace loomix::ops
