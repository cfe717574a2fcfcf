// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "base/device.h"
#include "base/dtype.h"
#include "base/inline_vector.h"
#include "base/ref_counted.h"
#include "base/shape.h"
#include "engine/engine.h"
#include "ndarray/storage.h"
#include "ndarray/tensor_view.h"

namespace loomix {

// A lazy n-dimensional array: shape, type, a place in a Storage. Copying one copies the handle. Elements are always
// row-major and contiguous. Operations are pushed to the engine; reading waits.
class NDArray {
 public:
  NDArray() = default;
  // Memory comes from the device's pool, uninitialised.
  NDArray(engine::Engine& engine, const Shape& shape, DType dtype, Device device);
  // A place in existing storage, `offset` in bytes.
  NDArray(Ref<Storage> storage, const Shape& shape, DType dtype, int64_t offset = 0);
  // No rows or values are stored until something is written.
  static NDArray sparse(engine::Engine& engine, StorageType stype, const Shape& shape, DType dtype,
                        Device device);
  // Its shape is set by the task that writes it (Storage::set_shape).
  static NDArray deferred(engine::Engine& engine, DType dtype, Device device);
  // Elements in host memory that somebody else owns; `release` is called, on any thread, when the last user is done.
  static NDArray from_external(engine::Engine& engine, void* data, const Shape& shape, DType dtype,
                               std::function<void()> release);

  bool is_none() const noexcept { return !storage_; }
  const Shape& shape() const {  // waits if the shape depends on data that is not computed yet
    if (!shape_.ndim_known()) [[unlikely]]
      resolve_shape();
    return shape_;
  }
  bool shape_is_known() const noexcept { return shape_.ndim_known(); }
  DType dtype() const noexcept { return dtype_; }
  StorageType stype() const noexcept { return storage_ ? storage_->stype() : StorageType::undefined; }
  bool is_dense() const noexcept { return storage_ && storage_->stype() == StorageType::dense; }
  Device device() const noexcept { return storage_->device(); }
  int64_t size() const { return shape().size(); }
  int64_t bytes() const { return size() * size_of(dtype_); }
  int64_t offset() const noexcept { return offset_; }
  engine::Var& var() const noexcept { return storage_->var(); }
  engine::Engine& engine() const noexcept { return storage_->engine(); }
  Storage& storage() const noexcept { return *storage_; }
  const Ref<Storage>& storage_ref() const noexcept { return storage_; }
  // For tasks that hold the array in their tags (or after wait_to_read). Of a sparse array: the stored values.
  TensorView view() const;
  // Writing the array overwrites its storage whole. Otherwise writers must name the Var as read, too.
  bool covers_storage() const;
  bool overlaps(const NDArray& other) const;

  // Views over the same memory.
  NDArray reshape(const Shape& shape) const;        // same number of elements; ShapeError
  NDArray slice(int64_t begin, int64_t end) const;  // along the first axis; IndexError
  NDArray at(int64_t index) const;                  // drops the first axis

  void wait_to_read() const;   // throws the error of the task that should have written it
  void wait_to_write() const;  // for readers too
  void copy_to_host(void* data, int64_t bytes) const;  // waits; dense
  // Complete when it returns; dense. If a signal interrupts it the array still gets the data, but nobody reads the
  // caller's memory any more.
  void copy_from_host(const void* data, int64_t bytes);

  // Sparse: waits, then copies of the parts as dense arrays.
  int64_t stored_count() const;  // stored rows, or values
  NDArray stored_values() const;
  NDArray stored_indices() const;  // int64
  NDArray stored_indptr() const;   // csr; int64

  // The gradient tape's entry of this handle: a node, opaque here, and which of its outputs this is.
  const Ref<RefCounted>& tape() const noexcept { return tape_; }
  int32_t tape_index() const noexcept { return tape_index_; }
  void set_tape(Ref<RefCounted> node, int32_t index = 0) noexcept {
    tape_ = std::move(node);
    tape_index_ = index;
  }
  Ref<RefCounted> take_tape() noexcept { return std::exchange(tape_, {}); }
  // The same place, unknown to the tape.
  NDArray detach() const { return NDArray(storage_, shape_, dtype_, offset_, Unchecked{}); }

 private:
  struct Unchecked {};
  NDArray(const Ref<Storage>& storage, const Shape& shape, DType dtype, int64_t offset, Unchecked)
      : storage_(storage), shape_(shape), dtype_(dtype), offset_(offset) {}
  void resolve_shape() const;

  Ref<Storage> storage_;
  mutable Shape shape_;  // unknown until a deferred shape was asked for
  DType dtype_ = DType::float32;
  int32_t tape_index_ = 0;
  int64_t offset_ = 0;  // in bytes
  Ref<RefCounted> tape_;
};

// The tags of one task over arrays: one or two entries a Var. Partial writes are named as read, too, so that they do not
// heal a poisoned array.
class ArrayTags {
 public:
  void read(const NDArray& array) { add(&array.var(), true, false); }
  void write(const NDArray& array) { add(&array.var(), !array.covers_storage(), true); }
  void update(const NDArray& array) { add(&array.var(), true, true); }
  void use(engine::Var& var) { tags_.push_back({&var, engine::Access::use}); }
  std::span<const engine::Tag> tags() const noexcept { return tags_; }

 private:
  void add(engine::Var* var, bool reads, bool writes);
  void need(engine::Var* var, engine::Access access);
  InlineVector<engine::Tag, 8> tags_;
};

}  // namespace loomix
