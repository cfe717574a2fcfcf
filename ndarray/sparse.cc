// SPDX-License-Identifier: Apache-2.0
#include "ndarray/sparse.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/device/device_runtime.h"
#include "ndarray/copy.h"

namespace loomix {

namespace {

// A sparse task sees whole arrays: handles are captured by value, through one allocation.
template <class Fn>
void push_sparse(const char* (*name)(const void*), std::initializer_list<NDArray> reads,
                 const NDArray& writes, Fn fn) {
  ArrayTags tags;
  for (const NDArray& array : reads) tags.read(array);
  tags.write(writes);
  engine::TaskInfo info;
  info.device = writes.device().is_host() ? writes.device() : Device::cpu();
  info.cost_ns = 20'000;
  info.describe.name = name;
  writes.engine().push(std::move(info), tags.tags(), [fn = std::move(fn)](engine::RunContext&) { fn(); });
}

bool on_hosts(const NDArray& a, const NDArray& b) { return a.device().is_host() && b.device().is_host(); }
NDArray on_host(const NDArray& array) {
  return array.device().is_host() ? array : copy_to(array, Device::cpu());
}

const char* name_convert(const void*) { return "cast_storage"; }
const char* name_retain(const void*) { return "sparse_retain"; }
const char* name_row_sparse(const void*) { return "row_sparse_array"; }
const char* name_csr(const void*) { return "csr_matrix"; }

int64_t row_items(const Shape& shape) { return shape.size_between(1, shape.ndim()); }

bool any_set(const void* data, DType dtype, int64_t count) {
  return dispatch_all(dtype, "cast_storage", [&]<class T>(Type<T>) {
    const T* const items = static_cast<const T*>(data);
    return std::any_of(items, items + count, [](T item) { return item != T(0); });
  });
}

std::byte* bytes_at(const Storage& storage, int64_t offset) {
  return static_cast<std::byte*>(storage.data()) + offset;
}

// With the shape of the array, where NDArray::view() has that of the stored part.
TensorView whole_view(const NDArray& array) {
  return {bytes_at(array.storage(), array.offset()), array.dtype(), array.shape()};
}

void dense_to_row_sparse(const TensorView& source, Storage& to, DType dtype) {
  const Shape& shape = source.shape;
  const int64_t items = row_items(shape);
  const int64_t item_size = size_of(source.dtype);
  const auto* const data = static_cast<const std::byte*>(source.data);
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < shape[0]; ++row) {
    if (any_set(data + row * items * item_size, source.dtype, items)) rows.push_back(row);
  }
  to.resize_sparse(static_cast<int64_t>(rows.size()), items * size_of(dtype), 0);
  std::copy(rows.begin(), rows.end(), to.indices());
  for (size_t k = 0; k < rows.size(); ++k) {
    convert_elements(data + rows[k] * items * item_size, source.dtype,
                     bytes_at(to, static_cast<int64_t>(k) * items * size_of(dtype)), dtype, items);
  }
}

void dense_to_csr(const TensorView& source, Storage& to, DType dtype) {
  const Shape& shape = source.shape;
  dispatch_all(source.dtype, "cast_storage", [&]<class T>(Type<T>) {
    const T* const items = static_cast<const T*>(source.data);
    const int64_t count = std::count_if(items, items + shape.size(), [](T item) { return item != T(0); });
    to.resize_sparse(count, size_of(dtype), shape[0] + 1);
    std::vector<T> values;
    values.reserve(static_cast<size_t>(count));
    for (int64_t row = 0; row < shape[0]; ++row) {
      to.indptr()[row] = static_cast<int64_t>(values.size());
      for (int64_t column = 0; column < shape[1]; ++column) {
        const T item = items[row * shape[1] + column];
        if (item == T(0)) continue;
        to.indices()[values.size()] = column;
        values.push_back(item);
      }
    }
    to.indptr()[shape[0]] = count;
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<uint8_t> plain(values.begin(), values.end());
      convert_elements(plain.data(), DType::uint8, to.data(), dtype, count);
    } else {
      convert_elements(values.data(), source.dtype, to.data(), dtype, count);
    }
  });
}

void sparse_to_dense(const TensorView& source, const Storage& from, std::byte* out, DType dtype) {
  const Shape& shape = source.shape;
  const int64_t out_size = size_of(dtype);
  const int64_t in_size = size_of(source.dtype);
  std::memset(out, 0, static_cast<size_t>(shape.size() * out_size));
  if (from.stype() == StorageType::row_sparse) {
    const int64_t items = row_items(shape);
    for (int64_t k = 0; k < from.count(); ++k) {
      convert_elements(bytes_at(from, k * items * in_size), source.dtype,
                       out + from.indices()[k] * items * out_size, dtype, items);
    }
    return;
  }
  for (int64_t row = 0; row < shape[0]; ++row) {
    for (int64_t k = from.indptr()[row]; k < from.indptr()[row + 1]; ++k) {
      convert_elements(bytes_at(from, k * in_size), source.dtype,
                       out + (row * shape[1] + from.indices()[k]) * out_size, dtype, 1);
    }
  }
}

void same_kind(const TensorView& source, const Storage& from, Storage& to, DType dtype) {
  if (&from == &to) return;
  const bool csr = from.stype() == StorageType::csr;
  const int64_t items = csr ? 1 : row_items(source.shape);
  const int64_t row_starts = csr ? source.shape[0] + 1 : 0;
  to.resize_sparse(from.count(), items * size_of(dtype), row_starts);
  std::copy_n(from.indices(), from.count(), to.indices());
  std::copy_n(from.indptr(), row_starts, to.indptr());
  convert_elements(from.data(), source.dtype, to.data(), dtype, from.count() * items);
}

std::vector<int64_t> as_int64(const TensorView& array) {
  std::vector<int64_t> items(static_cast<size_t>(array.size()));
  convert_elements(array.data, array.dtype, items.data(), DType::int64, array.size());
  return items;
}

void check_range(const std::vector<int64_t>& ids, int64_t limit, const char* who) {
  for (size_t i = 0; i < ids.size(); ++i) {
    LOOMIX_CHECK(0 <= ids[i] && ids[i] < limit, IndexError,
                 "[{}] index {} at position {} is out of range; expected 0 to {}.", who, ids[i], i,
                 limit - 1);
  }
}

void check_increase(std::span<const int64_t> ids, const char* who) {
  for (size_t i = 1; i < ids.size(); ++i) {
    LOOMIX_CHECK(ids[i - 1] < ids[i], ValueError,
                 "[{}] index {} at position {} follows {}; they must increase.", who, ids[i], i, ids[i - 1]);
  }
}

// Between devices; conversions are the host's.
void copy_by_host(const NDArray& source, const NDArray& destination) {
  if (source.stype() == destination.stype() && source.dtype() == destination.dtype()) {
    if (source.storage_ref() == destination.storage_ref()) return;
    return push_sparse(name_convert, {source}, destination, [source, destination] {
      move_sparse(source.storage(), destination.storage(), source.shape(), source.dtype());
    });
  }
  const NDArray from = on_host(source);
  if (destination.device().is_host()) return copy_sparse(from, destination);
  const NDArray to = destination.is_dense()
                         ? NDArray(source.engine(), source.shape(), destination.dtype(), Device::cpu())
                         : NDArray::sparse(source.engine(), destination.stype(), source.shape(),
                                           destination.dtype(), Device::cpu());
  copy_sparse(from, to);
  copy(to, destination);
}

int64_t starts_of(const Storage& storage, const Shape& shape) {
  return storage.stype() == StorageType::csr ? shape[0] + 1 : 0;
}

}  // namespace

DeviceIndex device_index(const Storage& storage, const Shape& shape) {
  const int64_t words = storage.count() + starts_of(storage, shape);
  auto* const first = reinterpret_cast<int64_t*>(static_cast<std::byte*>(storage.data()) + storage.bytes());
  return {first - words, first - starts_of(storage, shape)};
}

void publish_index(const Storage& storage, const Shape& shape) {
  engine::DeviceRuntime& device = storage.engine().device(storage.device());
  const DeviceIndex index = device_index(storage, shape);
  const auto put = [&](int64_t* to, const int64_t* from, int64_t count) {
    if (count > 0) device.copy_now(to, from, static_cast<size_t>(count) * sizeof(int64_t));
  };
  put(index.indices, storage.indices(), storage.count());
  put(index.starts, storage.indptr(), starts_of(storage, shape));
}

void move_sparse(const Storage& from, Storage& to, const Shape& shape, DType dtype) {
  const int64_t items = from.stype() == StorageType::csr ? 1 : row_items(shape);
  const int64_t starts = starts_of(from, shape);
  to.resize_sparse(from.count(), items * size_of(dtype), starts);
  std::copy_n(from.indices(), from.count(), to.indices());
  std::copy_n(from.indptr(), starts, to.indptr());
  const auto bytes = static_cast<size_t>(from.count() * items * size_of(dtype));
  const Device device = to.device().is_host() ? from.device() : to.device();
  if (bytes > 0) from.engine().device(device).copy_now(to.data(), from.data(), bytes);
  if (!to.device().is_host()) publish_index(to, shape);
}

void copy_sparse(const NDArray& source, const NDArray& destination) {
  LOOMIX_CHECK(source.shape() == destination.shape(), ShapeError,
               "[copy] an array of shape {} cannot be copied into one of shape {}; the shapes must be equal.",
               source.shape().to_string(), destination.shape().to_string());
  if (!on_hosts(source, destination)) return copy_by_host(source, destination);
  if (!source.is_dense() && !destination.is_dense() && source.stype() != destination.stype()) {
    return copy_sparse(cast_storage(source, StorageType::dense), destination);
  }
  push_sparse(name_convert, {source}, destination, [source, destination] {
    convert_storage(whole_view(source), source.storage(), whole_view(destination), destination.storage());
  });
}

void convert_storage(const TensorView& source, const Storage& from, const TensorView& destination,
                     Storage& to) {
  const DType dtype = destination.dtype;
  if (to.stype() == StorageType::dense) {
    sparse_to_dense(source, from, static_cast<std::byte*>(destination.data), dtype);
  } else if (from.stype() == to.stype()) {
    same_kind(source, from, to, dtype);
  } else if (from.stype() != StorageType::dense) {
    detail::throw_error<InternalError>("[cast_storage] from {} to {} goes by way of a dense array.",
                                       name_of(from.stype()), name_of(to.stype()));
  } else if (to.stype() == StorageType::csr) {
    dense_to_csr(source, to, dtype);
  } else {
    dense_to_row_sparse(source, to, dtype);
  }
}

NDArray cast_storage(const NDArray& source, StorageType stype) {
  LOOMIX_CHECK(!source.is_none(), ValueError, "[cast_storage] the array is empty (none).");
  LOOMIX_CHECK(stype != StorageType::undefined, ValueError,
               "[cast_storage] the storage type is undefined; expected default, row_sparse or csr.");
  if (source.stype() == stype) return source;
  const NDArray result =
      stype == StorageType::dense
          ? NDArray(source.engine(), source.shape(), source.dtype(), source.device())
          : NDArray::sparse(source.engine(), stype, source.shape(), source.dtype(), source.device());
  copy_sparse(source, result);
  return result;
}

NDArray retain(const NDArray& source, const NDArray& ids) {
  LOOMIX_CHECK(source.stype() == StorageType::row_sparse, TypeError,
               "[sparse_retain] the array's storage is {}; expected row_sparse.", name_of(source.stype()));
  LOOMIX_CHECK(ids.is_dense() && ids.shape().ndim() == 1, ShapeError,
               "[sparse_retain] the row ids must be a dense array with one axis.");
  if (!on_hosts(source, ids)) return copy_to(retain(on_host(source), on_host(ids)), source.device());
  const NDArray result = NDArray::sparse(source.engine(), StorageType::row_sparse, source.shape(),
                                         source.dtype(), source.device());
  push_sparse(name_retain, {source, ids}, result, [source, ids, result] {
    retain_rows(whole_view(source), source.storage(), ids.view(), result.storage());
  });
  return result;
}

void retain_rows(const TensorView& source, const Storage& from, const TensorView& ids, Storage& to) {
  std::vector<int64_t> wanted = as_int64(ids);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  std::vector<int64_t> kept;  // places in `from`
  const int64_t* const end = from.indices() + from.count();
  const int64_t* at = from.indices();
  for (const int64_t id : wanted) {
    at = std::lower_bound(at, end, id);
    if (at == end) break;
    if (*at == id) kept.push_back(at - from.indices());
  }
  const int64_t row_bytes = row_items(source.shape) * size_of(source.dtype);
  to.resize_sparse(static_cast<int64_t>(kept.size()), row_bytes, 0);
  for (size_t k = 0; k < kept.size(); ++k) {
    to.indices()[k] = from.indices()[kept[k]];
    std::memcpy(bytes_at(to, static_cast<int64_t>(k) * row_bytes), bytes_at(from, kept[k] * row_bytes),
                static_cast<size_t>(row_bytes));
  }
}

void fill_sparse(const NDArray& destination, double value) {
  LOOMIX_CHECK(value == 0, ValueError, "[fill] a {} array can only be filled with zero; the value is {}.",
               name_of(destination.stype()), value);
  copy_sparse(NDArray::sparse(destination.engine(), destination.stype(), destination.shape(),
                              destination.dtype(), destination.device()),
              destination);
}

NDArray make_row_sparse(const NDArray& values, const NDArray& ids, const Shape& shape) {
  LOOMIX_CHECK(values.is_dense() && ids.is_dense() && ids.shape().ndim() == 1 && shape.ndim() >= 1 &&
                   values.shape().ndim() == shape.ndim() && values.shape()[0] == ids.shape()[0] &&
                   std::equal(shape.begin() + 1, shape.end(), values.shape().begin() + 1),
               ShapeError,
               "[row_sparse_array] values of shape {} with ids of shape {} do not fit the shape {}.",
               values.shape().to_string(), ids.shape().to_string(), shape.to_string());
  if (!on_hosts(values, ids))
    return copy_to(make_row_sparse(on_host(values), on_host(ids), shape), values.device());
  const NDArray result =
      NDArray::sparse(values.engine(), StorageType::row_sparse, shape, values.dtype(), values.device());
  push_sparse(name_row_sparse, {values, ids}, result, [values, ids, result] {
    const std::vector<int64_t> rows = as_int64(ids.view());
    check_range(rows, result.shape()[0], "row_sparse_array");
    check_increase(rows, "row_sparse_array");
    Storage& to = result.storage();
    to.resize_sparse(static_cast<int64_t>(rows.size()), row_items(result.shape()) * size_of(values.dtype()),
                     0);
    std::copy(rows.begin(), rows.end(), to.indices());
    if (values.size() > 0) std::memcpy(to.data(), values.view().data, static_cast<size_t>(values.bytes()));
  });
  return result;
}

NDArray make_csr(const NDArray& values, const NDArray& columns, const NDArray& row_starts,
                 const Shape& shape) {
  LOOMIX_CHECK(values.is_dense() && columns.is_dense() && row_starts.is_dense() && shape.ndim() == 2 &&
                   values.shape().ndim() == 1 && columns.shape() == values.shape() &&
                   row_starts.shape() == Shape{shape[0] + 1},
               ShapeError,
               "[csr_matrix] values of shape {}, columns of shape {} and row starts of shape {} do not fit "
               "the shape {}.",
               values.shape().to_string(), columns.shape().to_string(), row_starts.shape().to_string(),
               shape.to_string());
  if (!on_hosts(values, columns) || !row_starts.device().is_host())
    return copy_to(make_csr(on_host(values), on_host(columns), on_host(row_starts), shape), values.device());
  const NDArray result =
      NDArray::sparse(values.engine(), StorageType::csr, shape, values.dtype(), values.device());
  push_sparse(name_csr, {values, columns, row_starts}, result, [values, columns, row_starts, result] {
    const std::vector<int64_t> starts = as_int64(row_starts.view());
    const std::vector<int64_t> ids = as_int64(columns.view());
    LOOMIX_CHECK(
        starts.front() == 0 && starts.back() == values.size() && std::is_sorted(starts.begin(), starts.end()),
        ValueError, "[csr_matrix] the row starts must increase from 0 to the number of values, {}.",
        values.size());
    check_range(ids, result.shape()[1], "csr_matrix");
    Storage& to = result.storage();
    to.resize_sparse(values.size(), size_of(values.dtype()), result.shape()[0] + 1);
    std::copy(ids.begin(), ids.end(), to.indices());
    std::copy(starts.begin(), starts.end(), to.indptr());
    if (values.size() > 0) std::memcpy(to.data(), values.view().data, static_cast<size_t>(values.bytes()));
  });
  return result;
}

}  // namespace loomix
