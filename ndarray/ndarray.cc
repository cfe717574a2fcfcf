// SPDX-License-Identifier: Apache-2.0
#include "ndarray/ndarray.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/device/device_runtime.h"
#include "ndarray/copy.h"
#include "ndarray/sparse.h"

namespace loomix {

namespace {

int64_t checked_bytes(const Shape& shape, DType dtype, const char* who) {
  int64_t bytes = size_of(dtype);
  for (int64_t dim : shape) {
    LOOMIX_CHECK(dim >= 0, ShapeError, "[{}] the shape {} is not complete; every size must be known.", who,
                 shape.to_string());
    LOOMIX_CHECK(!__builtin_mul_overflow(bytes, dim, &bytes), MemoryError,
                 "[{}] an array of shape {} has more bytes than memory can be addressed.", who,
                 shape.to_string());
  }
  return bytes;
}

const char* name_part(const void*) { return "copy of a sparse array's part"; }

// Copies one of a sparse array's parts in a task that holds the array, as another thread may push a write at any time,
// which may change the sizes.
NDArray copy_part(const NDArray& array, DType dtype, TensorView (*part_of)(const NDArray&)) {
  if (!array.device().is_host())
    return copy_to(copy_part(copy_to(array, Device::cpu()), dtype, part_of), array.device());
  const NDArray copied = NDArray::deferred(array.engine(), dtype, array.device());
  ArrayTags tags;
  tags.read(array);
  tags.write(copied);
  engine::TaskInfo info;
  info.device = array.device();
  info.describe.name = name_part;
  array.engine().push(std::move(info), tags.tags(), [array, copied, part_of](engine::RunContext&) {
    const TensorView part = part_of(array);
    Storage& storage = copied.storage();
    storage.set_shape(part.shape, part.bytes());
    if (part.bytes() > 0) std::memcpy(storage.data(), part.data, static_cast<size_t>(part.bytes()));
  });
  copied.wait_to_read();
  return copied;
}

void check_sparse(const NDArray& array, const char* who) {
  LOOMIX_CHECK(!array.is_none() && !array.is_dense(), TypeError,
               "[{}] the array's storage is {}; expected a sparse one.", who, name_of(array.stype()));
}

void check_dense(const NDArray& array, const char* who) {
  LOOMIX_CHECK(array.is_dense(), TypeError, "[{}] the array's storage is {}; expected a dense one.", who,
               name_of(array.stype()));
}

}  // namespace

NDArray::NDArray(engine::Engine& engine, const Shape& shape, DType dtype, Device device)
    : storage_(make_ref<Storage>(engine, checked_bytes(shape, dtype, "NDArray"), device)),
      shape_(shape),
      dtype_(dtype) {
  storage_->describe(shape, dtype);
}

NDArray::NDArray(Ref<Storage> storage, const Shape& shape, DType dtype, int64_t offset)
    : storage_(std::move(storage)), shape_(shape), dtype_(dtype), offset_(offset) {
  LOOMIX_INTERNAL_CHECK(offset >= 0);
  LOOMIX_INTERNAL_CHECK(!storage_ || storage_->stype() != StorageType::dense || storage_->is_deferred() ||
                        offset + shape.size() * size_of(dtype) <= storage_->bytes());
}

NDArray NDArray::sparse(engine::Engine& engine, StorageType stype, const Shape& shape, DType dtype,
                        Device device) {
  checked_bytes(shape, dtype, "NDArray");
  LOOMIX_CHECK(stype != StorageType::csr || shape.ndim() == 2, ShapeError,
               "[NDArray] a csr array needs two axes; the shape is {}.", shape.to_string());
  LOOMIX_CHECK(shape.ndim() >= 1, ShapeError, "[NDArray] a row_sparse array needs an axis; the shape is ().");
  LOOMIX_CHECK(engine.device(device).traits().sparse_arrays, NotImplementedError,
               "[NDArray] sparse storage on {}; expected a host or a GPU.", device.to_string());
  auto storage = make_ref<Storage>(engine, stype, device);
  const int64_t row_starts = stype == StorageType::csr ? shape[0] + 1 : 0;
  storage->resize_sparse(0, size_of(dtype), row_starts);
  std::fill_n(storage->indptr(), row_starts, 0);
  if (!device.is_host()) publish_index(*storage, shape);
  return NDArray(std::move(storage), shape, dtype);
}

NDArray NDArray::deferred(engine::Engine& engine, DType dtype, Device device) {
  return NDArray(make_ref<Storage>(engine, StorageType::dense, device), Shape::unknown(), dtype);
}

NDArray NDArray::from_external(engine::Engine& engine, void* data, const Shape& shape, DType dtype,
                               std::function<void()> release) {
  const int64_t bytes = checked_bytes(shape, dtype, "from_external");
  LOOMIX_CHECK(data != nullptr || bytes == 0, ValueError, "[from_external] no memory was given for {} bytes.",
               bytes);
  return NDArray(make_ref<Storage>(engine, data, bytes, Device::cpu(), std::move(release)), shape, dtype);
}

void NDArray::resolve_shape() const {
  LOOMIX_CHECK(storage_, ValueError, "[NDArray] the array is empty (none) and has no shape.");
  engine().wait(var());
  const Shape* shape = storage_->deferred_shape();
  LOOMIX_CHECK(shape, StateError,
               "[NDArray] the array's shape depends on data, and no task has written it yet.");
  shape_ = *shape;
}

TensorView NDArray::view() const {
  TensorView view{static_cast<std::byte*>(storage_->data()) + offset_, dtype_, shape_};
  if (!shape_.ndim_known() && storage_->deferred_shape()) view.shape = *storage_->deferred_shape();
  if (stype() == StorageType::row_sparse) view.shape[0] = storage_->count();
  if (stype() == StorageType::csr) view.shape = Shape{storage_->count()};
  return view;
}

bool NDArray::covers_storage() const {
  if (storage_->stype() != StorageType::dense || !shape_.ndim_known()) return true;
  return offset_ == 0 && shape_.size() * size_of(dtype_) == storage_->bytes();
}

bool NDArray::overlaps(const NDArray& other) const {
  if (storage_ != other.storage_) return false;
  if (!shape_is_known() || !other.shape_is_known()) return true;
  return offset_ < other.offset_ + other.bytes() && other.offset_ < offset_ + bytes();
}

NDArray NDArray::reshape(const Shape& shape) const {
  check_dense(*this, "reshape");
  LOOMIX_CHECK(
      shape.is_known() && shape.size() == size(), ShapeError,
      "[reshape] an array of shape {} cannot take the shape {}; the number of elements must stay {}.",
      this->shape().to_string(), shape.to_string(), size());
  return NDArray(storage_, shape, dtype_, offset_);
}

NDArray NDArray::slice(int64_t begin, int64_t end) const {
  check_dense(*this, "slice");
  Shape sliced = shape();
  LOOMIX_CHECK(sliced.ndim() > 0, IndexError, "[slice] an array without axes cannot be sliced.");
  LOOMIX_CHECK(0 <= begin && begin <= end && end <= sliced[0], IndexError,
               "[slice] the range [{}, {}) is outside of the first axis of an array of shape {}.", begin, end,
               sliced.to_string());
  const int64_t row_bytes = sliced.size_between(1, sliced.ndim()) * size_of(dtype_);
  sliced[0] = end - begin;
  return NDArray(storage_, sliced, dtype_, offset_ + begin * row_bytes);
}

NDArray NDArray::at(int64_t index) const {
  check_dense(*this, "at");
  const Shape& whole = shape();
  LOOMIX_CHECK(whole.ndim() > 0 && 0 <= index && index < whole[0], IndexError,
               "[at] the index {} is outside of the first axis of an array of shape {}.", index,
               whole.to_string());
  const Shape rest(whole.dims().subspan(1));
  return NDArray(storage_, rest, dtype_, offset_ + index * rest.size() * size_of(dtype_));
}

void NDArray::wait_to_read() const { engine().wait(var()); }
void NDArray::wait_to_write() const { engine().wait_to_write(var()); }

void NDArray::copy_to_host(void* data, int64_t bytes) const {
  check_dense(*this, "copy_to_host");
  LOOMIX_CHECK(bytes == this->bytes(), ShapeError, "[copy_to_host] {} bytes were offered for an array of {}.",
               bytes, this->bytes());
  if (!device().is_host()) {
    NDArray host(engine(), shape(), dtype_, Device::cpu());
    copy(*this, host);
    return host.copy_to_host(data, bytes);
  }
  wait_to_read();
  if (bytes > 0) std::memcpy(data, view().data, static_cast<size_t>(bytes));
}

int64_t NDArray::stored_count() const {
  check_sparse(*this, "stored_count");
  wait_to_read();
  return storage_->count();
}

NDArray NDArray::stored_values() const {
  check_sparse(*this, "stored_values");
  return copy_part(*this, dtype_, [](const NDArray& array) { return array.view(); });
}

NDArray NDArray::stored_indices() const {
  check_sparse(*this, "stored_indices");
  return copy_part(*this, DType::int64, [](const NDArray& array) {
    const Storage& storage = array.storage();
    return TensorView{storage.indices(), DType::int64, Shape{storage.count()}};
  });
}

NDArray NDArray::stored_indptr() const {
  LOOMIX_CHECK(stype() == StorageType::csr, TypeError,
               "[stored_indptr] the array's storage is {}; expected csr.", name_of(stype()));
  return copy_part(*this, DType::int64, [](const NDArray& array) {
    return TensorView{array.storage().indptr(), DType::int64, Shape{array.shape()[0] + 1}};
  });
}

void ArrayTags::need(engine::Var* var, engine::Access access) {
  const bool known = std::any_of(tags_.begin(), tags_.end(), [&](const engine::Tag& tag) {
    return tag.var == var && tag.access == access;
  });
  if (!known) tags_.push_back({var, access});
}

void ArrayTags::add(engine::Var* var, bool reads, bool writes) {
  if (reads) need(var, engine::Access::read);
  if (writes) need(var, engine::Access::write);
}

}  // namespace loomix
