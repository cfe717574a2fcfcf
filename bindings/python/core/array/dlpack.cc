// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/array/dlpack.h"

#include <utility>

#include "base/error.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/process/runtime.h"
#include "ndarray/dlpack.h"
#include "ndarray/third_party/dlpack/dlpack.h"

namespace loomix::python {
namespace {

constexpr const char* kName = "dltensor";

void end(DLManagedTensor* tensor) {
  if (tensor->deleter) tensor->deleter(tensor);
}

void delete_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kName)) return;  // somebody took the tensor over
  end(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName)));
}

}  // namespace

PyObject* to_dlpack(NDArray array) {
  DLManagedTensor* const tensor = loomix::to_dlpack(array);
  PyObject* const capsule = PyCapsule_New(tensor, kName, delete_capsule);
  if (capsule == nullptr) end(tensor);
  return checked(capsule);
}

NDArray from_dlpack(PyObject* capsule) {
  LOOMIX_CHECK(
      PyCapsule_IsValid(capsule, kName), TypeError,
      "[from_dlpack] expected an unused DLPack capsule called 'dltensor', or an object with __dlpack__.");
  NDArray array =
      loomix::from_dlpack(engine(), static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName)));
  checked(PyCapsule_SetName(capsule, "used_dltensor"));
  return array;
}

}  // namespace loomix::python
