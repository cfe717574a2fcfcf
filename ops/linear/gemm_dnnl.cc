// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/linear/gemm_blocks.h"
#include "ops/primitive_dnnl.h"

namespace loomix::ops {
namespace {

void block_dnnl(const MatMul& s, const Leading& ld, const float* a, const float* b, float* c) {
  const dnnl_status_t status = dnnl_sgemm(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', s.m, s.n, s.k,
                                          1.0f, a, ld.a, b, ld.b, s.add ? 1.0f : 0.0f, c, ld.c);
  LOOMIX_CHECK(status == dnnl_success, Error,
               "[matmul] oneDNN returned status {} for a product of {} x {} and {} x {}.",
               static_cast<int>(status), s.m, s.k, s.k, s.n);
}

}  // namespace

void matmul_dnnl(const MatMul& s, DType dtype, const void* a, const void* b, void* c,
                 engine::RunContext& context) {
  LOOMIX_CHECK(dtype == DType::float32, TypeError, "[matmul] oneDNN's product is for float32, not {}.",
               name_of(dtype));
  gemm_by_blocks(s, static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(c),
                 context, onednn::has(dnnl::cpu_isa::avx512_core) ? CutBy::cores : CutBy::shape, block_dnnl);
}

}  // namespace loomix::ops
