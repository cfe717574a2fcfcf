// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "ops/op.h"

namespace loomix::c {

// An operator by its name, or an error that says why there is none.
const ops::OpDef& operator_at(std::string_view name);

}  // namespace loomix::c
