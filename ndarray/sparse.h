// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ndarray/ndarray.h"

// Sparse storage: row_sparse holds some rows (sorted row ids), csr some values of a matrix. All of it runs on hosts.
namespace loomix {

// Pushes `destination = source` where at least one is sparse; types and storage types are converted.
void copy_sparse(const NDArray& source, const NDArray& destination);
// The work of it, for a task that holds both; views have the shape of the whole array. From csr to row_sparse and back is
// two steps.
void convert_storage(const TensorView& source, const Storage& from, const TensorView& destination,
                     Storage& to);
// The source in another storage type; itself if it has that type already.
NDArray cast_storage(const NDArray& source, StorageType stype);
// The rows of a row_sparse array whose ids are in `ids` (any integer or floating type, any order).
NDArray retain(const NDArray& source, const NDArray& ids);
void retain_rows(const TensorView& source, const Storage& from, const TensorView& ids,
                 Storage& to);  // the work of it
// Zero empties the array; another value is an error, since every row would be stored.
void fill_sparse(const NDArray& destination, double value);

// Arrays from their parts, which are copied when the task runs. Ids, columns and row starts are checked by the task:
// sorted, in range; the error is stored in the array.
NDArray make_row_sparse(const NDArray& values, const NDArray& ids, const Shape& shape);
NDArray make_csr(const NDArray& values, const NDArray& columns, const NDArray& row_starts,
                 const Shape& shape);

}  // namespace loomix
