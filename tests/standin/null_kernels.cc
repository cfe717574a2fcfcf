// SPDX-License-Identifier: Apache-2.0
// A library of kernels for the null device, as a maker of hardware would build one. LOOMIX_OTHER_INTERFACE: as if it had been
// compiled with other headers.
#include "ops/elemwise/elemwise.h"
#include "ops/kernel_module.h"

namespace {

using namespace loomix;
using namespace loomix::ops;

void plus_scalar_null(const ScalarParams& p, const KernelArgs& args) {
  const float* in = args.in[0].as<float>();
  float* out = args.out[0].mutable_as<float>();
  for (int64_t i = 0; i < args.in[0].size(); ++i) out[i] = in[i] + static_cast<float>(p.scalar);
}

void add(KernelList& list) {
  list.kernel<plus_scalar_null>("_plus_scalar", "plus_scalar_null", DeviceType::null);
}

#ifdef LOOMIX_OTHER_INTERFACE
constexpr uint32_t kInterface = kKernelInterface + 1;
#else
constexpr uint32_t kInterface = kKernelInterface;
#endif

}  // namespace

extern "C" {
extern const KernelModule loomix_kernel_module;
const KernelModule loomix_kernel_module = {kInterface, kKernelInterfaceSize, "null_kernels",
                                           "0.3",      DeviceType::null,     add};
}
