// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/device.h"
#include "base/dtype.h"
#include "base/ref_counted.h"
#include "base/shape.h"
#include "engine/engine.h"
#include "ndarray/tensor_view.h"

namespace loomix {

enum class StorageType : int8_t { undefined = -1, dense = 0, row_sparse = 1, csr = 2 };
enum class MemoryKind : uint8_t { host, pinned, device, managed, cuda_managed };

// Memory of one array and the Var that orders its use; views share it. Sparse storage also owns its index arrays, whose
// sizes are known only when the task that writes them is done.
class Storage;

// A lazy n-dimensional array: shape, type, a place in a Storage. Copying one copies the handle. Elements are always
// row-major and contiguous. Operations are pushed to the engine; reading waits.
class NDArray {
 public:
  NDArray() = default;
  // Memory comes from the device's pool, uninitialised.
  NDArray(engine::Engine& engine, const Shape& shape, DType dtype, Device device);
  static NDArray sparse(engine::Engine& engine, StorageType stype, const Shape& shape, DType dtype, Device device);

  bool is_none() const { return !storage_; }
  const Shape& shape() const;    // waits if the shape depends on data that is not computed yet
  DType dtype() const { return dtype_; }
  StorageType stype() const;
  Device device() const;
  int64_t size() const { return shape().size(); }
  engine::Var& var() const;
  engine::Engine& engine() const;
  // For tasks that hold the array in their tags (or after wait_to_read).
  TensorView view() const;

  // Views over the same memory.
  NDArray reshape(const Shape& shape) const;             // same number of elements
  NDArray slice(int64_t begin, int64_t end) const;       // along the first axis
  NDArray at(int64_t index) const;                       // drops the first axis

  void wait_to_read() const;     // throws the error of the task that should have written it
  void wait_to_write() const;    // for readers too
  void copy_to_host(void* data, int64_t bytes) const;    // waits
  void copy_from_host(const void* data, int64_t bytes);  // complete when it returns

  // The gradient tape's entry of this handle; opaque here.
  const Ref<RefCounted>& tape() const { return tape_; }
  void set_tape(Ref<RefCounted> entry) { tape_ = std::move(entry); }

 private:
  Ref<Storage> storage_;
  Shape shape_;
  DType dtype_ = DType::float32;
  int64_t offset_ = 0;   // in bytes
  Ref<RefCounted> tape_;
};

}  // namespace loomix
