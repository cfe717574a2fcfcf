// SPDX-License-Identifier: Apache-2.0
#include "ndarray/dlpack.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "ndarray/copy.h"
#include "ndarray/third_party/dlpack/dlpack.h"

namespace loomix {

namespace {

DLDataType type_to_dlpack(DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * size_of(dtype));
  switch (dtype) {
    case DType::uint8: return {kDLUInt, bits, 1};
    case DType::int8:
    case DType::int32:
    case DType::int64: return {kDLInt, bits, 1};
    case DType::boolean: return {kDLBool, bits, 1};
    case DType::bfloat16: return {kDLBfloat, bits, 1};
    default: return {kDLFloat, bits, 1};
  }
}

DType type_from_dlpack(DLDataType type) {
  for (DType dtype : {DType::float32, DType::float64, DType::float16, DType::uint8, DType::int32, DType::int8,
                      DType::int64, DType::boolean, DType::bfloat16}) {
    const DLDataType known = type_to_dlpack(dtype);
    if (known.code == type.code && known.bits == type.bits && known.lanes == type.lanes) return dtype;
  }
  detail::throw_error<TypeError>("[from_dlpack] type code {}, {} bits, {} lanes has no match here.",
                                 type.code, type.bits, type.lanes);
}

template <class Managed>
struct Exported {
  Managed tensor = {};
  NDArray array;
  Shape shape;
  Exposure exposure;
  explicit Exported(const NDArray& of) : array(of.detach()), shape(of.shape()), exposure(of.storage_ref()) {}
};

template <class Managed>
Managed* export_array(const NDArray& array) {
  LOOMIX_CHECK(array.is_dense(), TypeError, "[to_dlpack] the array's storage is {}; expected a dense one.",
               name_of(array.stype()));
  LOOMIX_CHECK(array.device().is_host(), NotImplementedError,
               "[to_dlpack] from {}; only host memory is exported.", array.device().to_string());
  array.wait_to_read();
  auto exported = std::make_unique<Exported<Managed>>(array);
  DLTensor& tensor = exported->tensor.dl_tensor;
  tensor.data = array.view().data;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = exported->shape.ndim();
  tensor.dtype = type_to_dlpack(array.dtype());
  tensor.shape = exported->shape.data();
  exported->tensor.manager_ctx = exported.get();
  exported->tensor.deleter = [](Managed* managed) {
    std::unique_ptr<Exported<Managed>>(static_cast<Exported<Managed>*>(managed->manager_ctx)).reset();
  };
  return &exported.release()->tensor;
}

bool is_contiguous(const DLTensor& tensor) {
  if (!tensor.strides) return true;
  int64_t step = 1;
  for (int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != step) return false;
    step *= tensor.shape[axis];
  }
  return true;
}

// The elements of a tensor with strides, in row-major order.
void gather(const std::byte* source, std::byte*& target, const DLTensor& tensor, int32_t axis, int64_t item) {
  if (axis == tensor.ndim) {
    std::memcpy(target, source, static_cast<size_t>(item));
    target += item;
    return;
  }
  for (int64_t i = 0; i < tensor.shape[axis]; ++i) {
    gather(source + i * tensor.strides[axis] * item, target, tensor, axis + 1, item);
  }
}

template <class Managed>
NDArray import_tensor(engine::Engine& engine, Managed* managed, bool read_only) {
  const DLTensor& tensor = managed->dl_tensor;
  LOOMIX_CHECK(tensor.device.device_type == kDLCPU || tensor.device.device_type == kDLCUDAHost, DeviceError,
               "[from_dlpack] the tensor is on DLPack's device type {}; expected host memory (1 or 3).",
               static_cast<int>(tensor.device.device_type));
  LOOMIX_CHECK(tensor.ndim >= 0 && tensor.ndim <= Shape::kMaxDims, ValueError,
               "[from_dlpack] the tensor has {} axes; at most {} are allowed.", tensor.ndim,
               static_cast<int>(Shape::kMaxDims));
  const DType dtype = type_from_dlpack(tensor.dtype);
  const Shape shape(std::span<const int64_t>(tensor.shape, static_cast<size_t>(tensor.ndim)));
  LOOMIX_CHECK(shape.is_known(), ShapeError, "[from_dlpack] the tensor's shape {} has a negative size.",
               shape.to_string());
  auto* const data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  const bool aligned = reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(size_of(dtype)) == 0;
  const auto release = [managed] {
    if (managed->deleter) managed->deleter(managed);
  };
  if (is_contiguous(tensor) && aligned && !read_only && shape.size() > 0) {
    return NDArray::from_external(engine, data, shape, dtype, release);
  }
  NDArray copied(engine, shape, dtype, Device::cpu());
  auto* target = static_cast<std::byte*>(copied.view().data);
  if (shape.size() > 0 && is_contiguous(tensor)) {
    std::memcpy(target, data, static_cast<size_t>(copied.bytes()));
  } else if (shape.size() > 0) {
    gather(data, target, tensor, 0, size_of(dtype));
  }
  release();
  return copied;
}

}  // namespace

DLManagedTensor* to_dlpack(const NDArray& array) { return export_array<DLManagedTensor>(array); }

DLManagedTensorVersioned* to_dlpack_versioned(const NDArray& array) {
  DLManagedTensorVersioned* const managed = export_array<DLManagedTensorVersioned>(array);
  managed->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  return managed;
}

NDArray from_dlpack(engine::Engine& engine, DLManagedTensor* tensor) {
  return import_tensor(engine, tensor, false);
}

NDArray from_dlpack(engine::Engine& engine, DLManagedTensorVersioned* tensor) {
  LOOMIX_CHECK(tensor->version.major == DLPACK_MAJOR_VERSION, ValueError,
               "[from_dlpack] the tensor follows DLPack {}.{}; expected major version {}.",
               tensor->version.major, tensor->version.minor, DLPACK_MAJOR_VERSION);
  return import_tensor(engine, tensor, (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0);
}

}  // namespace loomix
