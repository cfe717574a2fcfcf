// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/table.h"

// The registrars of this folder's kernels for CUDA devices, one a file; kernels_cuda.cc calls them.
namespace loomix::io {

void kernels_image_ops_cuda(ops::KernelList& list);
void kernels_resize_cuda(ops::KernelList& list);

}  // namespace loomix::io
