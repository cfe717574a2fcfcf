// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/dot_kernels.h"

namespace loomix::ops {

void dot_cpu(const DotParams& p, const KernelArgs& args) {
  dot_product<matmul_reference, dot_sizes>(p, args);
}
void dot_cblas(const DotParams& p, const KernelArgs& args) { dot_product<matmul_cblas, dot_sizes>(p, args); }
void dot_lhs_cpu(const DotParams& p, const KernelArgs& args) {
  dot_to_lhs<matmul_reference, dot_sizes>(p, args);
}
void dot_lhs_cblas(const DotParams& p, const KernelArgs& args) {
  dot_to_lhs<matmul_cblas, dot_sizes>(p, args);
}
void dot_rhs_cpu(const DotParams& p, const KernelArgs& args) {
  dot_to_rhs<matmul_reference, dot_sizes>(p, args);
}
void dot_rhs_cblas(const DotParams& p, const KernelArgs& args) {
  dot_to_rhs<matmul_cblas, dot_sizes>(p, args);
}

void batch_dot_cpu(const DotParams& p, const KernelArgs& args) {
  dot_product<matmul_reference, batch_dot_sizes>(p, args);
}
void batch_dot_cblas(const DotParams& p, const KernelArgs& args) {
  dot_product<matmul_cblas, batch_dot_sizes>(p, args);
}
void batch_dot_lhs_cpu(const DotParams& p, const KernelArgs& args) {
  dot_to_lhs<matmul_reference, batch_dot_sizes>(p, args);
}
void batch_dot_lhs_cblas(const DotParams& p, const KernelArgs& args) {
  dot_to_lhs<matmul_cblas, batch_dot_sizes>(p, args);
}
void batch_dot_rhs_cpu(const DotParams& p, const KernelArgs& args) {
  dot_to_rhs<matmul_reference, batch_dot_sizes>(p, args);
}
void batch_dot_rhs_cblas(const DotParams& p, const KernelArgs& args) {
  dot_to_rhs<matmul_cblas, batch_dot_sizes>(p, args);
}

}  // namespace loomix::ops
