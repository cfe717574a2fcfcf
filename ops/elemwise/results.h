// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/dtype.h"

namespace loomix::ops {

// y = x, results of a function of integers: where `to` is an integer, the nearest that it holds, and 0 for NaN. convert_row
// wraps what int8 and uint8 do not hold.
void convert_results(const double* x, DType to, void* y, int64_t count);

}  // namespace loomix::ops
