// SPDX-License-Identifier: Apache-2.0
#include "ops/families_cuda.h"
#include "ops/kernel_module.h"

// All kernels for CUDA devices. Of two for one operator the one that is listed first is asked first.
namespace {

void add(loomix::ops::KernelList& list) {
  using namespace loomix::ops;
  kernels_unary_cuda(list);
  kernels_binary_cuda(list);
  kernels_scalar_cuda(list);
  kernels_convert_cuda(list);
}

}  // namespace

// Looked up by load_kernel_module().
extern "C" [[gnu::visibility("default")]] const loomix::ops::KernelModule loomix_kernel_module{
    loomix::ops::kKernelInterface,
    loomix::ops::kKernelInterfaceSize,
    "cuda",
    LOOMIX_VERSION,
    loomix::DeviceType::gpu,
    add};
