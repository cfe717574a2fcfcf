// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "ndarray/storage.h"
#include "ops/table.h"

// Operators that exist for sparse arrays, and kernels of other families' operators for them. A kernel here sets
// `Kernel::sparse`, and its `support` says which storage types it takes and gives; README.md of ops/ has the rules.
namespace loomix::ops {

struct CastStorageParams {
  StorageType stype = StorageType::dense;
  static void fields(FieldList<CastStorageParams>& f) {
    f("stype", &CastStorageParams::stype, "Storage type of the output.")
        .required("default")
        .options({{"csr", StorageType::csr},
                  {"default", StorageType::dense},
                  {"row_sparse", StorageType::row_sparse}});
  }
};

// Elements of one row of an array.
inline int64_t row_size(const Shape& shape) { return shape.size_between(1, shape.ndim()); }

// Whole numbers of any type.
std::vector<int64_t> integers_of(const TensorView& view);

// The numbers of the stored rows, or the columns of stored values.
inline std::span<const int64_t> stored_ids(const Storage& storage) {
  return {storage.indices(), static_cast<size_t>(storage.count())};
}

// The stored part of a row_sparse array.
template <class T>
struct RowsView {
  std::span<const int64_t> ids;  // sorted
  T* data;                       // ids.size() rows of `size` elements
  int64_t size;
  T* row(int64_t place) const { return data + place * size; }
};

template <class T>
RowsView<T> rows_of(const Storage& storage, const Shape& shape) {
  return {stored_ids(storage), static_cast<T*>(storage.data()), row_size(shape)};
}

// What is stored, as if it were a dense array.
TensorView stored_values(const Storage& storage, const TensorView& whole);

// A csr matrix.
template <class T>
struct CsrView {
  const int64_t* starts;  // rows + 1
  const int64_t* columns;
  const T* values;
  int64_t rows, width;
  int64_t count() const { return starts[rows]; }
};

template <class T>
CsrView<T> csr_of(const Storage& storage, const Shape& shape) {
  return {storage.indptr(), storage.indices(), static_cast<const T*>(storage.data()), shape[0], shape[1]};
}

// A csr matrix in the making.
template <class T>
struct CsrRows {
  std::vector<int64_t> starts{0}, columns;
  std::vector<T> values;

  void add(int64_t column, T value) {
    columns.push_back(column);
    values.push_back(value);
  }
  void end_row() { starts.push_back(static_cast<int64_t>(columns.size())); }
  void store(Storage& to) const {
    to.resize_sparse(static_cast<int64_t>(columns.size()), sizeof(T), static_cast<int64_t>(starts.size()));
    std::copy(starts.begin(), starts.end(), to.indptr());
    std::copy(columns.begin(), columns.end(), to.indices());
    std::copy(values.begin(), values.end(), static_cast<T*>(to.data()));
  }
};

// Input i, output i.
inline Storage& input_storage(const KernelArgs& args, size_t i) { return *args.storages[i]; }
inline Storage& output_storage(const KernelArgs& args, size_t i) {
  return *args.storages[args.in.size() + i];
}

// `to` stores the same places as `from`, its values undefined.
void copy_places(const Storage& from, Storage& to, const Shape& shape, DType dtype);
// `to` stores nothing.
void store_nothing(Storage& to, const Shape& shape, DType dtype);

// The host's kernels of functions of one array that leave the places as they are.
void kernels_of_stored_values(KernelList& list);

// What add_sparse does for all of them: there are hundreds.
void add_sparse_kernel(KernelList& table, std::string_view op, const char* name, DeviceType device,
                       KernelFn run, SupportFn support);

// Adds a kernel for sparse arrays, as KernelList::kernel does for dense ones. Where it is an operator's first one, the executor
// offers sparse outputs also for inputs that are all dense.
template <auto Run, auto Accepts>
void add_sparse(KernelList& table, std::string_view op, const char* name,
                DeviceType device = DeviceType::cpu) {
  using P = typename registration::KernelParams<decltype(Run)>::type;
  constexpr KernelFn run = [](const AttrsBase& attrs, const KernelArgs& args) {
    registration::call_typed<P, Run>(attrs, args);
  };
  constexpr SupportFn support = [](const AttrsBase& attrs, const KernelSpec& spec) {
    return registration::call_typed<P, Accepts>(attrs, spec);
  };
  add_sparse_kernel(table, op, name, device, run, support);
}

}  // namespace loomix::ops
