// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/scalar_attrs.h"

#include "ops/elemwise/elemwise.h"

namespace loomix::ops {

bool is_scalar_schema(const ParamSchema& schema) noexcept { return &schema == &param_schema<ScalarParams>(); }

Ref<const AttrsBase> scalar_attrs(double scalar) {
  ScalarParams params;
  params.scalar = scalar;
  return make_attrs(params);
}

}  // namespace loomix::ops
