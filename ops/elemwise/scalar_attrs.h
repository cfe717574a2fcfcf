// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/params.h"

namespace loomix::ops {

// Whether the schema is that of the operators on an array and a number, {"scalar": ...}.
bool is_scalar_schema(const ParamSchema& schema) noexcept;
// Their attributes, from the number itself: for callers whose number may change with each call.
Ref<const AttrsBase> scalar_attrs(double scalar);

}  // namespace loomix::ops
