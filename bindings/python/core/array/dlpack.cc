// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/array/dlpack.h"

#include <memory>
#include <utility>

#include "base/error.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/kept.h"
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

// Holds a tensor that was taken over, so that its deleter, which may be Python's own code, runs with the GIL.
constexpr const char* kHolder = "loomix dltensor";
void end_held(PyObject* holder) { end(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(holder, kHolder))); }

// The same tensor with a deleter that any thread may call.
struct Taken {
  Taken(const DLManagedTensor& original, PyObject* owner) : holder(keep(owner)) {
    tensor.dl_tensor = original.dl_tensor;
    tensor.manager_ctx = this;
    tensor.deleter = [](DLManagedTensor* self) {
      std::unique_ptr<Taken>(static_cast<Taken*>(self->manager_ctx)).reset();
    };
  }
  DLManagedTensor tensor = {};
  Kept holder;
};

}  // namespace

PyObject* dlpack_capsule(NDArray array) {
  DLManagedTensor* const tensor = loomix::to_dlpack(array);
  PyObject* const capsule = PyCapsule_New(tensor, kName, delete_capsule);
  if (capsule == nullptr) end(tensor);
  return checked(capsule);
}

NDArray from_dlpack(PyObject* capsule) {
  LOOMIX_CHECK(
      PyCapsule_IsValid(capsule, kName), TypeError,
      "[from_dlpack] expected an unused DLPack capsule called 'dltensor', or an object with __dlpack__.");
  auto* const original = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName));
  const Owned holder(checked(PyCapsule_New(original, kHolder, nullptr)));
  auto taken = std::make_unique<Taken>(*original, holder.get());
  NDArray array = loomix::from_dlpack(engine(), &taken->tensor);
  // Only now is it ours; until here a failure leaves it with the capsule that was given.
  static_cast<void>(taken.release());
  checked(PyCapsule_SetDestructor(holder.get(), end_held));
  checked(PyCapsule_SetName(capsule, "used_dltensor"));
  return array;
}

}  // namespace loomix::python
