// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ndarray/tensor_view.h"
#include "ops/whole_number.h"

namespace loomix::ops {

// Class numbers, stored in any numeric type.
class Labels {
 public:
  explicit Labels(const TensorView& view) : data_(view.data) {
    read_ = dispatch_numeric(view.dtype, "label", []<class T>(Type<T>) -> Read {
      return [](const void* data, int64_t i) { return whole_number(static_cast<const T*>(data)[i]); };
    });
  }
  int64_t operator[](int64_t i) const { return read_(data_, i); }

 private:
  using Read = int64_t (*)(const void*, int64_t);
  const void* data_;
  Read read_;
};

}  // namespace loomix::ops
