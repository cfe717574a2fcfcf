// SPDX-License-Identifier: Apache-2.0
#include <cblas.h>

#include <algorithm>
#include <memory>

#include "engine/parallel_for.h"
#include "ops/linear/gemm_blocks.h"

namespace loomix::ops {
namespace {

void block_cblas(const MatMul& s, const Leading& ld, const float* a, const float* b, float* c) {
  const auto size = [](int64_t n) { return static_cast<blasint>(n); };
  const float beta = s.add ? 1.0f : 0.0f;
  if (s.m == 1) {
    // y = op(B)^T a: B is (n, k) if it is to be transposed, else (k, n).
    cblas_sgemv(CblasRowMajor, s.transpose_b ? CblasNoTrans : CblasTrans, size(s.transpose_b ? s.n : s.k),
                size(s.transpose_b ? s.k : s.n), 1.0f, b, size(ld.b), a, s.transpose_a ? size(ld.a) : 1, beta,
                c, 1);
    return;
  }
  cblas_sgemm(CblasRowMajor, s.transpose_a ? CblasTrans : CblasNoTrans,
              s.transpose_b ? CblasTrans : CblasNoTrans, size(s.m), size(s.n), size(s.k), 1.0f, a, size(ld.a),
              b, size(ld.b), beta, c, size(ld.c));
}

void block_cblas(const MatMul& s, const Leading& ld, const double* a, const double* b, double* c) {
  const auto size = [](int64_t n) { return static_cast<blasint>(n); };
  cblas_dgemm(CblasRowMajor, s.transpose_a ? CblasTrans : CblasNoTrans,
              s.transpose_b ? CblasTrans : CblasNoTrans, size(s.m), size(s.n), size(s.k), 1.0, a, size(ld.a),
              b, size(ld.b), s.add ? 1.0 : 0.0, c, size(ld.c));
}

template <class T>
void gemm(const MatMul& s, const T* a, const T* b, T* c, engine::RunContext& context) {
  gemm_by_blocks(s, a, b, c, context, [](const auto&... block) { block_cblas(block...); });
}

template <class T>
void gemm_by_float(const MatMul& s, const T* a, const T* b, T* c, engine::RunContext& context) {
  const int64_t a_size = s.m * s.k;
  const int64_t b_size = s.k * s.n;
  const int64_t c_size = s.m * s.n;
  const auto buffer = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(a_size + b_size + c_size));
  float* left = buffer.get();
  float* right = left + a_size;
  float* result = right + b_size;
  const auto convert = [&](const auto* from, auto* to, int64_t count) {
    engine::parallel_for(context, count, 16384, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = static_cast<std::remove_reference_t<decltype(to[i])>>(static_cast<float>(from[i]));
      }
    });
  };
  convert(a, left, a_size);
  convert(b, right, b_size);
  if (s.add) convert(c, result, c_size);
  gemm(s, left, right, result, context);
  convert(result, c, c_size);
}

}  // namespace

void matmul_cblas(const MatMul& s, DType dtype, const void* a, const void* b, void* c,
                  engine::RunContext& context) {
  if (s.m == 0 || s.n == 0) return;
  if (s.k == 0) {
    if (!s.add) std::fill_n(static_cast<char*>(c), s.m * s.n * size_of(dtype), char{0});
    return;
  }
  dispatch_floating(dtype, "matmul", [&]<class T>(Type<T>) {
    const T* left = static_cast<const T*>(a);
    const T* right = static_cast<const T*>(b);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      gemm(s, left, right, static_cast<T*>(c), context);
    } else {
      gemm_by_float(s, left, right, static_cast<T*>(c), context);
    }
  });
}

}  // namespace loomix::ops
