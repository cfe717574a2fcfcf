// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kvstore/store_task.h"
#include "ndarray/ndarray.h"
#include "ops/compression/codes.h"

// The work of a store on one machine, each one task. All arrays are on hosts and have one shape and type.
namespace loomix::kvstore {

// Pushes `each destination = the sum of the sources`, added in the order given: every source is read once, and nothing
// is kept in between. Dense arrays. A destination may be a source, but no other part of one. Halves are added in float
// and rounded once; so a sum of some that others are still to be added to is a float32 array, which halves may follow or go into.
void combine(const Request& request, std::span<const NDArray> sources, std::span<const NDArray> destinations);

// The same with float32 sources that pass through a code, each with its residual (none arrays for halves).
void combine_compressed(const Request& request, const ops::Code& code, std::span<const NDArray> sources,
                        std::span<const NDArray> residuals, std::span<const NDArray> destinations);

// Pushes `destination = the sum of the sources` for row_sparse arrays: it gets the rows that any source has.
void combine_rows(const Request& request, std::span<const NDArray> sources, const NDArray& destination);

// Pushes `out = the rows of source whose ids are in row_ids`; ids may repeat, in any order; rows that the source does
// not store are zero. An id out of range is an error, stored in `out`.
void pull_rows(const Request& request, const NDArray& source, const NDArray& row_ids, const NDArray& out);

}  // namespace loomix::kvstore
