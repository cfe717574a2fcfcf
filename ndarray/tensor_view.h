// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/device.h"
#include "base/dtype.h"
#include "base/shape.h"

namespace loomix {

// What a kernel sees of an array: row-major and contiguous memory that somebody else owns. `data` is null for an
// argument that is absent (an optional input, a saved value that nobody needs, an output with Req::null).
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::unknown;
  Shape shape;

  template <class T>
  const T* as() const {
    LOOMIX_INTERNAL_CHECK(dtype == dtype_of<T>());
    return static_cast<const T*>(data);
  }
  template <class T>
  T* mutable_as() const {
    LOOMIX_INTERNAL_CHECK(dtype == dtype_of<T>());
    return static_cast<T*>(data);
  }
  int64_t size() const { return shape.size(); }
  int64_t bytes() const { return size() * size_of(dtype); }
  explicit operator bool() const { return data != nullptr; }
};

}  // namespace loomix
