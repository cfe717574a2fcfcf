// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ops/op.h"

namespace loomix::ops {

struct CumsumParams {
  std::optional<int> axis;
  std::optional<DType> dtype;
  static void fields(FieldList<CumsumParams>& f) {
    f("axis", &CumsumParams::axis, "Axis to sum along; the flattened array without it.");
    f("dtype", &CumsumParams::dtype, "Type of the output and of the sums; that of `a` without it.")
        .dtypes({DType::float16, DType::float32, DType::float64, DType::int32, DType::int64, DType::int8});
  }
};
void cumsum_cpu(const CumsumParams& p, const KernelArgs& args);
// From the other end; the second input gives shape and type.
void backward_cumsum_cpu(const CumsumParams& p, const KernelArgs& args);

}  // namespace loomix::ops
