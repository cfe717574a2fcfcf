// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cblas.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/linalg/matrices.h"

// BLAS and LAPACK in both types. LAPACK's routines are called as OpenBLAS exports them: LAPACKE would load four more
// libraries for a layer that only transposes. Matrices of LAPACK are column-major, so a row-major one is read as its
// transpose, and its lower triangle as an upper one.
extern "C" {
// Fortran passes the lengths of texts after the other arguments.
void spotrf_(const char*, const blasint*, float*, const blasint*, blasint*, size_t);
void dpotrf_(const char*, const blasint*, double*, const blasint*, blasint*, size_t);
void spotri_(const char*, const blasint*, float*, const blasint*, blasint*, size_t);
void dpotri_(const char*, const blasint*, double*, const blasint*, blasint*, size_t);
void sgeqrf_(const blasint*, const blasint*, float*, const blasint*, float*, float*, const blasint*,
             blasint*);
void dgeqrf_(const blasint*, const blasint*, double*, const blasint*, double*, double*, const blasint*,
             blasint*);
void sorgqr_(const blasint*, const blasint*, const blasint*, float*, const blasint*, const float*, float*,
             const blasint*, blasint*);
void dorgqr_(const blasint*, const blasint*, const blasint*, double*, const blasint*, const double*, double*,
             const blasint*, blasint*);
void ssyevd_(const char*, const char*, const blasint*, float*, const blasint*, float*, float*, const blasint*,
             blasint*, const blasint*, blasint*, size_t, size_t);
void dsyevd_(const char*, const char*, const blasint*, double*, const blasint*, double*, double*,
             const blasint*, blasint*, const blasint*, blasint*, size_t, size_t);
void sgetrf_(const blasint*, const blasint*, float*, const blasint*, blasint*, blasint*);
void dgetrf_(const blasint*, const blasint*, double*, const blasint*, blasint*, blasint*);
void sgetri_(const blasint*, float*, const blasint*, const blasint*, float*, const blasint*, blasint*);
void dgetri_(const blasint*, double*, const blasint*, const blasint*, double*, const blasint*, blasint*);
void sgesdd_(const char*, const blasint*, const blasint*, float*, const blasint*, float*, float*,
             const blasint*, float*, const blasint*, float*, const blasint*, blasint*, blasint*, size_t);
void dgesdd_(const char*, const blasint*, const blasint*, double*, const blasint*, double*, double*,
             const blasint*, double*, const blasint*, double*, const blasint*, blasint*, blasint*, size_t);
}

namespace loomix::ops {

template <class T>
struct Blas;

template <>
struct Blas<float> {
  static constexpr auto gemm = cblas_sgemm;
  static constexpr auto gemv = cblas_sgemv;
  static constexpr auto trmm = cblas_strmm;
  static constexpr auto trsm = cblas_strsm;
  static constexpr auto potrf = spotrf_;
  static constexpr auto potri = spotri_;
  static constexpr auto geqrf = sgeqrf_;
  static constexpr auto orgqr = sorgqr_;
  static constexpr auto syevd = ssyevd_;
  static constexpr auto getrf = sgetrf_;
  static constexpr auto getri = sgetri_;
  static constexpr auto gesdd = sgesdd_;
};

template <>
struct Blas<double> {
  static constexpr auto gemm = cblas_dgemm;
  static constexpr auto gemv = cblas_dgemv;
  static constexpr auto trmm = cblas_dtrmm;
  static constexpr auto trsm = cblas_dtrsm;
  static constexpr auto potrf = dpotrf_;
  static constexpr auto potri = dpotri_;
  static constexpr auto geqrf = dgeqrf_;
  static constexpr auto orgqr = dorgqr_;
  static constexpr auto syevd = dsyevd_;
  static constexpr auto getrf = dgetrf_;
  static constexpr auto getri = dgetri_;
  static constexpr auto gesdd = dgesdd_;
};

inline blasint blas_size(int64_t n) { return static_cast<blasint>(n); }
// A distance between rows, which BLAS wants positive even where there is nothing.
inline blasint leading(int64_t n) { return static_cast<blasint>(std::max<int64_t>(n, 1)); }
inline CBLAS_TRANSPOSE transposed(bool on) { return on ? CblasTrans : CblasNoTrans; }

}  // namespace loomix::ops
