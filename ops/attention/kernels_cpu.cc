// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention.h"
#include "ops/families.h"
#include "ops/table.h"

namespace loomix::ops {

void kernels_attention_cpu(OpTable& table) {
  using P = AttentionParams;
  constexpr DeviceType cpu = DeviceType::cpu;
  table.kernel<P, selfatt_qk_cblas>("_contrib_interleaved_matmul_selfatt_qk", "selfatt_qk_cblas", cpu);
  table.kernel<P, selfatt_valatt_cblas>("_contrib_interleaved_matmul_selfatt_valatt", "selfatt_valatt_cblas",
                                        cpu);
  table.kernel<P, encdec_qk_cblas>("_contrib_interleaved_matmul_encdec_qk", "encdec_qk_cblas", cpu);
  table.kernel<P, encdec_valatt_cblas>("_contrib_interleaved_matmul_encdec_valatt", "encdec_valatt_cblas",
                                       cpu);
  table.kernel<P, backward_selfatt_qk_cblas>("_backward_interleaved_matmul_selfatt_qk",
                                             "backward_selfatt_qk_cblas", cpu);
  table.kernel<P, backward_selfatt_valatt_cblas>("_backward_interleaved_matmul_selfatt_valatt",
                                                 "backward_selfatt_valatt_cblas", cpu);
  table.kernel<P, backward_encdec_qk_cblas>("_backward_interleaved_matmul_encdec_qk",
                                            "backward_encdec_qk_cblas", cpu);
  table.kernel<P, backward_encdec_valatt_cblas>("_backward_interleaved_matmul_encdec_valatt",
                                                "backward_encdec_valatt_cblas", cpu);
}

}  // namespace loomix::ops
