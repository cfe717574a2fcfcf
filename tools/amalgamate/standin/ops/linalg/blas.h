// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/linalg/matrices.h"

// What the operators call of BLAS and LAPACK, with their names and arguments, for float32 and row-major BLAS.
namespace loomix::ops {

// What is compiled for vectors: C = alpha op(A) op(B) + beta C, and y = alpha op(A) x + beta y, row-major.
struct BlasLoops {
  void (*gemm)(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
               const float* b, int64_t ldb, float beta, float* c, int64_t ldc);
  void (*gemv)(bool transposed, int64_t rows, int64_t columns, float alpha, const float* a, int64_t lda,
               const float* x, float beta, float* y);
};

using blasint = int32_t;
enum CBLAS_ORDER { CblasRowMajor };
enum CBLAS_TRANSPOSE { CblasNoTrans, CblasTrans };
enum CBLAS_UPLO { CblasUpper, CblasLower };
enum CBLAS_DIAG { CblasNonUnit, CblasUnit };
enum CBLAS_SIDE { CblasLeft, CblasRight };

void cblas_sgemm(CBLAS_ORDER, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k,
                 float alpha, const float* a, blasint lda, const float* b, blasint ldb, float beta, float* c,
                 blasint ldc);
void cblas_sgemv(CBLAS_ORDER, CBLAS_TRANSPOSE ta, blasint rows, blasint columns, float alpha, const float* a,
                 blasint lda, const float* x, blasint, float beta, float* y, blasint);
void cblas_strmm(CBLAS_ORDER, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE ta, CBLAS_DIAG, blasint m,
                 blasint n, float alpha, const float* a, blasint lda, float* b, blasint ldb);
void cblas_strsm(CBLAS_ORDER, CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE ta, CBLAS_DIAG, blasint m,
                 blasint n, float alpha, const float* a, blasint lda, float* b, blasint ldb);

void spotrf_(const char*, const blasint* n, float* a, const blasint* lda, blasint* info, size_t);
void spotri_(const char*, const blasint* n, float* a, const blasint* lda, blasint* info, size_t);
void sgeqrf_(const blasint* m, const blasint* n, float* a, const blasint* lda, float* tau, float*,
             const blasint*, blasint* info);
void sorgqr_(const blasint* m, const blasint* n, const blasint* k, float* a, const blasint* lda,
             const float* tau, float*, const blasint*, blasint* info);
void ssyevd_(const char*, const char*, const blasint* n, float* a, const blasint* lda, float* w, float*,
             const blasint*, blasint*, const blasint*, blasint* info, size_t, size_t);
void sgetrf_(const blasint* m, const blasint* n, float* a, const blasint* lda, blasint* pivots,
             blasint* info);
void sgetri_(const blasint* n, float* a, const blasint* lda, const blasint* pivots, float*, const blasint*,
             blasint* info);

// Named by templates that choose by type; float64 is never chosen.
inline constexpr auto cblas_dtrmm = cblas_strmm;
inline constexpr auto cblas_dtrsm = cblas_strsm;

template <class T>
struct Blas {
  static constexpr auto gemm = cblas_sgemm;
  static constexpr auto gemv = cblas_sgemv;
  static constexpr auto trsm = cblas_strsm;
  static constexpr auto potrf = spotrf_;
  static constexpr auto potri = spotri_;
  static constexpr auto geqrf = sgeqrf_;
  static constexpr auto orgqr = sorgqr_;
  static constexpr auto syevd = ssyevd_;
  static constexpr auto getrf = sgetrf_;
  static constexpr auto getri = sgetri_;
};

inline blasint blas_size(int64_t n) { return static_cast<blasint>(n); }
inline blasint leading(int64_t n) { return static_cast<blasint>(std::max<int64_t>(n, 1)); }
inline CBLAS_TRANSPOSE transposed(bool on) { return on ? CblasTrans : CblasNoTrans; }

}  // namespace loomix::ops
