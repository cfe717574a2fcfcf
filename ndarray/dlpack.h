// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ndarray/ndarray.h"

struct DLManagedTensor;
struct DLManagedTensorVersioned;

// Exchange of arrays with other frameworks without copies, in DLPack's old and versioned form.
namespace loomix {

// Waits for the array; its memory lives until the deleter is called. Dense arrays in host memory. The caller owns the
// result: it is handed on or ended by its deleter. Neither side orders its work with the other's.
DLManagedTensor* to_dlpack(const NDArray& array);
DLManagedTensorVersioned* to_dlpack_versioned(const NDArray& array);

// Takes the tensor over: its deleter is called when the array's last user is done, or never if this throws. Contiguous
// tensors share memory; others are copied. Read-only memory is copied, too, since arrays can be written.
NDArray from_dlpack(engine::Engine& engine, DLManagedTensor* tensor);
NDArray from_dlpack(engine::Engine& engine, DLManagedTensorVersioned* tensor);

}  // namespace loomix
