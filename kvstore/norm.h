// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kvstore/store_task.h"
#include "ndarray/ndarray.h"

namespace loomix::kvstore {

// Pushes `the sum of the squares of all elements`, a float64 array of one. Squares of float32 and shorter types are exact, and
// they are added in an order that depends on their number alone. Of a row_sparse array these are the elements that it stores.
NDArray sum_of_squares(const Request& request, const NDArray& array);

}  // namespace loomix::kvstore
