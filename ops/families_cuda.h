// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/table.h"

// The registrars of kernels for CUDA devices, one a file; kernels_cuda.cc calls them.
namespace loomix::ops {

void kernels_unary_cuda(KernelList& list);
void kernels_binary_cuda(KernelList& list);
void kernels_scalar_cuda(KernelList& list);
void kernels_convert_cuda(KernelList& list);

}  // namespace loomix::ops
