// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ndarray/ndarray.h"

// Sparse storage: row_sparse holds some rows (sorted row ids), csr some values of a matrix. On a device the values lie in its
// memory; the index is on the host, which says how much there is, and a copy of it behind the values, for kernels. What is here
// runs on hosts: a device's arrays are brought there.
namespace loomix {

// The copy of the index that a device has.
struct DeviceIndex {
  int64_t* indices;
  int64_t* starts;  // csr
};
DeviceIndex device_index(const Storage& storage, const Shape& shape);
// Brings it in line with the host's, after `resize_sparse`. At once: nobody else uses the memory yet.
void publish_index(const Storage& storage, const Shape& shape);
// to = from, of one storage type, on any devices, at once: for tasks of hosts that hold both.
void move_sparse(const Storage& from, Storage& to, const Shape& shape, DType dtype);

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
