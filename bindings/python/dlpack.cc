// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/dlpack.h"

#include <cstring>
#include <memory>
#include <vector>

#include "base/error.h"
#include "bindings/python/errors.h"
#include "bindings/python/runtime.h"

namespace loomix::python {
namespace {

// The structures of DLPack's stable C interface, version 0.
struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};

constexpr int32_t kDLCPU = 1;
constexpr uint8_t kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6;
constexpr const char* kName = "dltensor";

DLDataType to_dl(DType dtype) {
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

DType from_dl(DLDataType type) {
  for (DType dtype : {DType::float32, DType::float64, DType::float16, DType::uint8, DType::int32, DType::int8,
                      DType::int64, DType::boolean, DType::bfloat16}) {
    const DLDataType known = to_dl(dtype);
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) return dtype;
  }
  detail::throw_error<TypeError>("[from_dlpack] type code {} with {} bits and {} lanes is not supported.",
                                 type.code, type.bits, type.lanes);
}

// The manager behind a capsule of ours.
struct Holder {
  DLManagedTensor tensor;
  NDArray array;
  std::vector<int64_t> shape;
};

void delete_holder(DLManagedTensor* tensor) { delete static_cast<Holder*>(tensor->manager_ctx); }

void delete_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kName)) return;  // somebody took the tensor over
  auto* tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName));
  if (tensor->deleter) tensor->deleter(tensor);
}

bool is_contiguous(const DLTensor& tensor) {
  if (!tensor.strides) return true;
  int64_t stride = 1;
  for (int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != stride) return false;
    stride *= tensor.shape[axis];
  }
  return true;
}

void copy_strided(const std::byte* source, std::byte*& target, const DLTensor& tensor, int32_t axis,
                  int64_t item) {
  if (axis == tensor.ndim) {
    std::memcpy(target, source, static_cast<size_t>(item));
    target += item;
    return;
  }
  for (int64_t i = 0; i < tensor.shape[axis]; ++i) {
    copy_strided(source + i * tensor.strides[axis] * item, target, tensor, axis + 1, item);
  }
}

}  // namespace

PyObject* to_dlpack(NDArray array) {
  array.wait_to_read();
  auto holder = std::make_unique<Holder>();
  const Shape& shape = array.shape();
  holder->shape.assign(shape.begin(), shape.end());
  DLTensor& tensor = holder->tensor.dl_tensor;
  tensor.data = array.view().data;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = shape.ndim();
  tensor.dtype = to_dl(array.dtype());
  tensor.shape = holder->shape.data();
  tensor.strides = nullptr;
  tensor.byte_offset = 0;
  holder->array = std::move(array);
  holder->tensor.manager_ctx = holder.get();
  holder->tensor.deleter = delete_holder;
  PyObject* capsule = checked(PyCapsule_New(&holder->tensor, kName, delete_capsule));
  holder.release();
  return capsule;
}

NDArray from_dlpack(PyObject* capsule) {
  LOOMIX_CHECK(
      PyCapsule_IsValid(capsule, kName), TypeError,
      "[from_dlpack] expected an unused DLPack capsule called 'dltensor', or an object with __dlpack__.");
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName));
  const DLTensor& tensor = managed->dl_tensor;
  LOOMIX_CHECK(tensor.device.device_type == kDLCPU, DeviceError,
               "[from_dlpack] the tensor is on DLPack device type {}; expected host memory (1).",
               tensor.device.device_type);
  LOOMIX_CHECK(tensor.ndim >= 0 && tensor.ndim <= Shape::kMaxDims, ValueError,
               "[from_dlpack] the tensor has {} axes; expected at most {}.", tensor.ndim,
               static_cast<int>(Shape::kMaxDims));
  const DType dtype = from_dl(tensor.dtype);
  const Shape shape(std::span<const int64_t>(tensor.shape, static_cast<size_t>(tensor.ndim)));
  auto* data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  if (is_contiguous(tensor)) {
    checked(PyCapsule_SetName(capsule, "used_dltensor"));
    return NDArray::from_external(engine(), data, shape, dtype, [managed] {
      if (managed->deleter) managed->deleter(managed);
    });
  }
  std::vector<std::byte> packed(static_cast<size_t>(shape.size() * size_of(dtype)));
  std::byte* target = packed.data();
  copy_strided(data, target, tensor, 0, size_of(dtype));
  NDArray array(engine(), shape, dtype, Device::cpu());
  array.copy_from_host(packed.data(), static_cast<int64_t>(packed.size()));
  return array;  // the capsule keeps its tensor, and deletes it
}

}  // namespace loomix::python
