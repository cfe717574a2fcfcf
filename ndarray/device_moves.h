// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/device.h"
#include "base/dtype.h"
#include "base/shape.h"

namespace loomix {

// Elements of a box from one array of a device to another on it: destination[index . to_stride] = source[index . from_stride] for each
// index below `size`, converted. Pointers are those of index 0; strides count elements.
struct DeviceMove {
  int ndim = 0;
  int64_t size[Shape::kMaxDims];
  const void* from = nullptr;
  DType from_type = DType::unknown;
  int64_t from_stride[Shape::kMaxDims];
  void* to = nullptr;
  DType to_type = DType::unknown;
  int64_t to_stride[Shape::kMaxDims];
};

// What the CUDA module exports as `loomix_cuda_moves`. Both put work on a stream and return.
struct DeviceMoves {
  void (*move)(const DeviceMove& move, void* stream);
  // `count` elements of `bytes` bytes each (1, 2, 4 or 8), the low ones of `word`.
  void (*fill)(void* to, uint64_t word, int bytes, int64_t count, void* stream);
};

// Throws NotImplementedError for devices but GPUs.
const DeviceMoves& device_moves(Device device);

}  // namespace loomix
