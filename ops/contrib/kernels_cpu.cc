// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/contrib.h"
#include "ops/families.h"
#include "ops/table.h"

namespace loomix::ops {

void kernels_contrib_cpu(OpTable& table) {
  constexpr DeviceType cpu = DeviceType::cpu;
  table.kernel<QuadraticParams, quadratic_cpu>("_contrib_quadratic", "quadratic_cpu", cpu);
  table.kernel<NoParams, div_sqrt_dim_cpu>("_contrib_div_sqrt_dim", "div_sqrt_dim_cpu", cpu);
  table.kernel<NoParams, round_ste_cpu>("_contrib_round_ste", "round_ste_cpu", cpu);
  table.kernel<NoParams, sign_ste_cpu>("_contrib_sign_ste", "sign_ste_cpu", cpu);
  table.kernel<ScalarParams, scatter_plus_scalar_cpu>("_scatter_plus_scalar", "scatter_plus_scalar_cpu", cpu);
  table.kernel<ScalarParams, scatter_minus_scalar_cpu>("_scatter_minus_scalar", "scatter_minus_scalar_cpu",
                                                       cpu);
  table.kernel<NoParams, scatter_elemwise_div_cpu>("_scatter_elemwise_div", "scatter_elemwise_div_cpu", cpu);
  table.kernel<ScalarParams, gradientmultiplier_cpu>("_contrib_gradientmultiplier", "gradientmultiplier_cpu",
                                                     cpu);
  table.kernel<AllcloseParams, allclose_cpu>("_contrib_allclose", "allclose_cpu", cpu);
  table.kernel<SparsityParams, sparsity_cpu>("IdentityAttachKLSparseReg", "sparsity_cpu", cpu);
  table.kernel<SparsityParams, backward_sparsity_cpu>("_backward_IdentityAttachKLSparseReg",
                                                      "backward_sparsity_cpu", cpu);
  table.kernel<IndexArrayParams, index_array_cpu>("_contrib_index_array", "index_array_cpu", cpu);
  table.kernel<NoParams, index_copy_cpu>("_contrib_index_copy", "index_copy_cpu", cpu);
  table.kernel<NoParams, fill_element_cpu>("fill_element_0index", "fill_element_cpu", cpu);
  table.kernel<AddNParams, khatri_rao_cpu>("khatri_rao", "khatri_rao_cpu", cpu);
  table.kernel<CountSketchParams, count_sketch_cpu>("_contrib_count_sketch", "count_sketch_cpu", cpu);
  table.kernel<CountSketchParams, backward_count_sketch_cpu>("_backward_count_sketch",
                                                             "backward_count_sketch_cpu", cpu);
  table.kernel<FftParams, fft_cpu, nullptr, fft_scratch>("_contrib_fft", "fft_cpu", cpu);
  table.kernel<FftParams, ifft_cpu, nullptr, fft_scratch>("_contrib_ifft", "ifft_cpu", cpu);
  table.kernel<NoParams, hawkes_cpu, nullptr, hawkes_scratch>("_contrib_hawkesll", "hawkes_cpu", cpu);
  table.kernel<NoParams, backward_hawkes_cpu, nullptr, backward_hawkes_scratch>("_backward_hawkesll",
                                                                                "backward_hawkes_cpu", cpu);
  kernels_contrib_stored(table);
}

}  // namespace loomix::ops
