// SPDX-License-Identifier: Apache-2.0
#include "ops/families.h"
#include "ops/linalg/linalg.h"
#include "ops/table.h"

namespace loomix::ops {

void kernels_linalg_cpu(OpTable& table) {
  constexpr DeviceType cpu = DeviceType::cpu;
  table.kernel<GemmParams, linalg_gemm_cblas>("_linalg_gemm", "linalg_gemm_cblas", cpu);
  table.kernel<Gemm2Params, linalg_gemm2_cblas>("_linalg_gemm2", "linalg_gemm2_cblas", cpu);
  table.kernel<TriangularParams, linalg_trmm_cblas>("_linalg_trmm", "linalg_trmm_cblas", cpu);
  table.kernel<TriangularParams, linalg_trsm_cblas>("_linalg_trsm", "linalg_trsm_cblas", cpu);
  table.kernel<SyrkParams, linalg_syrk_cblas>("_linalg_syrk", "linalg_syrk_cblas", cpu);
  table.kernel<NoParams, linalg_potrf_cblas>("_linalg_potrf", "linalg_potrf_cblas", cpu);
  table.kernel<NoParams, linalg_potri_cblas>("_linalg_potri", "linalg_potri_cblas", cpu);
  table.kernel<NoParams, linalg_gelqf_cblas, nullptr, linalg_gelqf_scratch>("_linalg_gelqf",
                                                                            "linalg_gelqf_cblas", cpu);
  table.kernel<NoParams, linalg_syevd_cblas, nullptr, linalg_syevd_scratch>("_linalg_syevd",
                                                                            "linalg_syevd_cblas", cpu);
  table.kernel<NoParams, linalg_inverse_cblas, nullptr, linalg_inverse_scratch>("_linalg_inverse",
                                                                                "linalg_inverse_cblas", cpu);
  table.kernel<NoParams, linalg_det_cblas, nullptr, linalg_det_scratch>("_linalg_det", "linalg_det_cblas",
                                                                        cpu);
  table.kernel<NoParams, linalg_slogdet_cblas, nullptr, linalg_slogdet_scratch>("_linalg_slogdet",
                                                                                "linalg_slogdet_cblas", cpu);
  table.kernel<NoParams, linalg_inverse_of_lu_cblas, nullptr, linalg_inverse_scratch>(
      "_linalg_inverse_of_lu", "linalg_inverse_of_lu_cblas", cpu);
  table.kernel<NoParams, linalg_sumlogdiag_cpu>("_linalg_sumlogdiag", "linalg_sumlogdiag_cpu", cpu);
  table.kernel<DiagonalParams, linalg_extractdiag_cpu>("_linalg_extractdiag", "linalg_extractdiag_cpu", cpu);
  table.kernel<DiagonalParams, linalg_makediag_cpu>("_linalg_makediag", "linalg_makediag_cpu", cpu);
  table.kernel<TriangleParams, linalg_extracttrian_cpu>("_linalg_extracttrian", "linalg_extracttrian_cpu",
                                                        cpu);
  table.kernel<TriangleParams, linalg_maketrian_cpu>("_linalg_maketrian", "linalg_maketrian_cpu", cpu);
  table.kernel<TrianglePartParams, linalg_triangle_part_cpu>("_linalg_triangle_part",
                                                             "linalg_triangle_part_cpu", cpu);
  table.kernel<NoParams, linalg_scale_cpu>("_linalg_scale", "linalg_scale_cpu", cpu);
  table.kernel<NoParams, linalg_inner_cpu>("_linalg_inner", "linalg_inner_cpu", cpu);
  table.kernel<NoParams, linalg_gap_quotient_cpu>("_linalg_gap_quotient", "linalg_gap_quotient_cpu", cpu);
}

}  // namespace loomix::ops
