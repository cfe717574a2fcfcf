// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/dtype.h"
#include "base/inline_vector.h"
#include "ndarray/storage.h"
#include "ndarray/tensor_view.h"

namespace loomix {

// An array whose elements are there; copies share them.
class NDArray {
 public:
  NDArray() = default;
  NDArray(engine::Engine& engine, const Shape& shape, DType dtype, Device = {})
      : storage_(make_ref<Storage>(engine, shape.size() * size_of(dtype))), shape_(shape), dtype_(dtype) {}
  NDArray(Ref<Storage> storage, const Shape& shape, DType dtype)
      : storage_(std::move(storage)), shape_(shape), dtype_(dtype) {}

  bool is_none() const { return !storage_; }
  bool is_dense() const { return storage_->stype() == StorageType::dense; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  int64_t size() const { return shape_.size(); }
  int64_t bytes() const { return size() * size_of(dtype_); }
  Storage& storage() const { return *storage_; }
  TensorView view() const { return {storage_->data(), dtype_, shape_}; }
  // Leaves shape and type; others that share the elements keep them.
  void let_go() { storage_ = make_ref<Storage>(); }

 private:
  Ref<Storage> storage_;
  Shape shape_;
  DType dtype_ = DType::float32;
};

// The type that elements of `dtype` are kept in: float32 for all floating ones.
inline DType kept_type(DType dtype) { return is_floating(dtype) ? DType::float32 : dtype; }
// A dense copy in that type.
NDArray kept_form(engine::Engine& engine, const NDArray& array);

}  // namespace loomix
