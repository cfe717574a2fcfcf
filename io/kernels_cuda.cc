// SPDX-License-Identifier: Apache-2.0
#include "io/kernels_cuda.h"

#include "ops/kernel_module.h"

namespace {

void add(loomix::ops::KernelList& list) {
  loomix::io::kernels_image_ops_cuda(list);
  loomix::io::kernels_resize_cuda(list);
}

}  // namespace

// All kernels of this folder for CUDA devices. Looked up by add_cuda_kernels().
extern "C" [[gnu::visibility("default")]] const loomix::ops::KernelModule loomix_image_kernel_module{
    loomix::ops::kKernelInterface,
    loomix::ops::kKernelInterfaceSize,
    "cuda",
    LOOMIX_VERSION,
    loomix::DeviceType::gpu,
    add};
