// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ndarray/ndarray.h"

namespace loomix {

// Any of the types that files have.
void convert_elements(const void* from, DType from_type, void* to, DType to_type, int64_t count);

}  // namespace loomix
