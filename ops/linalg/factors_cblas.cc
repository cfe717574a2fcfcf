// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>

#include "ops/elemwise/apply.h"
#include "ops/linalg/blas.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/outputs.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// Columns that LAPACK's blocked routines work on at once, for their scratch memory.
constexpr int64_t kPanel = 64;

double cube(int64_t n) { return double(n) * double(n) * double(n); }

// The lower triangle of a matrix with its diagonal, zeros above. `to` may be `from`.
template <class T>
void copy_lower(const T* from, T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i, from += n, to += n) {
    if (to != from) std::copy_n(from, i + 1, to);
    std::fill(to + i + 1, to + n, T{0});
  }
}

// The transpose of the upper triangle, zeros above the diagonal. `to` may be `from`.
template <class T>
void copy_upper_transposed(const T* from, T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    to[i * n + i] = from[i * n + i];
    for (int64_t k = 0; k < i; ++k) {
      to[i * n + k] = from[k * n + i];
      to[k * n + i] = T{0};
    }
  }
}

// --- Cholesky ---------------------------------------------------------------------------------------------------

// Row by row; faster than LAPACK's calls for small matrices. False if a pivot is not positive.
template <class T>
bool cholesky_small(T* a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T* row = a + i * n;
    for (int64_t j = 0; j < i; ++j) {
      const T* other = a + j * n;
      T sum = row[j];
      for (int64_t k = 0; k < j; ++k) sum -= row[k] * other[k];
      row[j] = sum / other[j];
    }
    T pivot = row[i];
    for (int64_t k = 0; k < i; ++k) pivot -= row[k] * row[k];
    if (!(pivot > 0)) return false;
    row[i] = std::sqrt(pivot);
  }
  return true;
}

template <class T>
bool cholesky_lapack(T* a, int64_t n, int64_t ld) {
  const blasint order = blas_size(n), lda = leading(ld);
  blasint info = 0;
  Blas<T>::potrf("U", &order, a, &lda, &info, 1);
  bool positive = info == 0;
  for (int64_t i = 0; i < n; ++i) positive &= a[i * (ld + 1)] > 0;  // OpenBLAS lets NaN pass
  return positive;
}

// One large matrix by panels of columns: the rows below a panel, and then what is right of it, in parallel blocks.
template <class T>
bool cholesky_large(T* a, int64_t n, const KernelArgs& args) {
  constexpr int64_t kWide = 256, kRows = 128;
  const auto blocks_below = [&](int64_t end) { return (n - end + kRows - 1) / kRows; };
  for (int64_t first = 0; first < n; first += kWide) {
    const int64_t width = std::min(kWide, n - first);
    const int64_t end = first + width;
    engine::set_omp_threads(1);
    if (!cholesky_lapack(a + first * n + first, width, n)) return false;
    each_matrix(args, blocks_below(end), double(kRows) * double(width) * double(width), [&](int64_t block) {
      const int64_t top = end + block * kRows;
      Blas<T>::trsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit,
                    blas_size(std::min(kRows, n - top)), blas_size(width), T{1}, a + first * n + first,
                    leading(n), a + top * n + first, leading(n));
    });
    each_matrix(args, blocks_below(end), double(kRows) * double(n - end) * double(width), [&](int64_t block) {
      const int64_t top = end + block * kRows;
      const int64_t rows = std::min(kRows, n - top);
      Blas<T>::gemm(CblasRowMajor, CblasNoTrans, CblasTrans, blas_size(rows), blas_size(top + rows - end),
                    blas_size(width), T{-1}, a + top * n + first, leading(n), a + end * n + first, leading(n),
                    T{1}, a + top * n + end, leading(n));
    });
  }
  copy_lower(a, a, n);  // the products wrote above the diagonal, too
  return true;
}

constexpr int64_t kSmallCholesky = 24;
constexpr int64_t kLargeCholesky = 512;

// --- LU ---------------------------------------------------------------------------------------------------------

// LAPACK sees the transpose: the factors are those of A^T. False if it is singular.
template <class T>
bool factor_lu(T* a, blasint* pivots, int64_t n) {
  const blasint order = blas_size(n), lda = leading(n);
  blasint info = 0;
  Blas<T>::getrf(&order, &order, a, &lda, pivots, &info);
  return info == 0;
}

// The inverse from the factors; `work` holds n * kPanel elements.
template <class T>
void invert_lu(T* lu, const blasint* pivots, T* work, int64_t n) {
  const blasint order = blas_size(n), lda = leading(n), length = leading(n * kPanel);
  blasint info = 0;
  Blas<T>::getri(&order, lu, &lda, pivots, work, &length, &info);
}

// Memory of the inverse of one matrix of order n: pivots, then work.
size_t pivot_bytes(int64_t n) { return aligned(static_cast<size_t>(n) * sizeof(blasint)); }
size_t inverse_bytes(int64_t n, DType dtype) {
  return pivot_bytes(n) + aligned(static_cast<size_t>(n * kPanel * size_of(dtype)));
}

// sign and log|det| from the factors.
template <class T>
struct LogDeterminant {
  T sign = 1;
  T log = 0;
  LogDeterminant(const T* lu, const int32_t* pivots, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const T factor = lu[i * n + i];
      log += std::log(std::abs(factor));
      if (pivots[i] != i + 1) sign = -sign;
      sign = factor < 0 ? -sign : factor == 0 ? T{0} : sign;
    }
  }
};

template <class T>
T determinant(const T* lu, const int32_t* pivots, int64_t n) {
  T product = 1;
  for (int64_t i = 0; i < n; ++i) product *= pivots[i] == i + 1 ? lu[i * n + i] : -lu[i * n + i];
  return product;
}

// Factors every matrix of `in`, then calls put(item, lu, pivots).
template <class T, class Put>
void factor_all(const KernelArgs& args, T* lu, int32_t* pivots, Put&& put) {
  const Matrices a(args.in[0].shape);
  static_assert(sizeof(blasint) == sizeof(int32_t));
  std::copy_n(args.in[0].as<T>(), a.count * a.size(), lu);
  each_matrix(args, a.count, cube(a.rows), [&](int64_t item) {
    T* matrix = lu + item * a.size();
    int32_t* order = pivots + item * a.rows;
    if (a.rows > 0) factor_lu(matrix, order, a.rows);
    put(item, matrix, order, a.rows);
  });
}

// --- eigenvectors and LQ ----------------------------------------------------------------------------------------

struct EigenScratch {
  int64_t reals, integers;
  explicit EigenScratch(int64_t n) : reals(1 + 6 * n + 2 * n * n), integers(3 + 5 * n) {}
  size_t real_bytes(DType dtype) const { return aligned(static_cast<size_t>(reals * size_of(dtype))); }
  size_t bytes(DType dtype) const {
    return real_bytes(dtype) + aligned(static_cast<size_t>(integers) * sizeof(blasint));
  }
};

// An eigenvector's sign is free: its largest element is positive, the first of several.
template <class T>
void fix_sign(T* vector, int64_t n) {
  const T* largest = std::max_element(vector, vector + n, [](T x, T y) { return std::abs(x) < std::abs(y); });
  if (*largest >= 0) return;
  for (int64_t i = 0; i < n; ++i) vector[i] = -vector[i];
}

size_t lq_bytes(int64_t rows, DType dtype) {  // tau and work
  return aligned(static_cast<size_t>(rows * (1 + kPanel) * size_of(dtype)));
}

// U = L^T, in place.
template <class T>
void transpose_lower(T* matrix, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < i; ++k) matrix[k * n + i] = std::exchange(matrix[i * n + k], T{0});
  }
}

void linalg_potrf_cblas(const PotrfParams& p, const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const int64_t n = a.rows;
  FirstFailure failure;
  dispatch_real(args.out[0].dtype, "linalg_potrf", [&]<class T>(Type<T>) {
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    const auto copy_half = p.lower ? copy_lower<T> : copy_upper_transposed<T>;
    if (n > kLargeCholesky) {
      for (int64_t item = 0; item < a.count; ++item) {
        copy_half(in + item * a.size(), out + item * a.size(), n);
        if (!cholesky_large(out + item * a.size(), n, args)) failure.note(item);
        if (!p.lower) transpose_lower(out + item * a.size(), n);
      }
      return;
    }
    each_matrix(args, a.count, cube(n) / 3 + 50, [&](int64_t item) {
      T* matrix = out + item * a.size();
      copy_half(in + item * a.size(), matrix, n);
      if (!(n <= kSmallCholesky ? cholesky_small(matrix, n) : cholesky_lapack(matrix, n, n)))
        failure.note(item);
      if (!p.lower) transpose_lower(matrix, n);
    });
  });
  failure.check("_linalg_potrf", "not positive definite", a.count);
}

void linalg_potri_cblas(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const int64_t n = a.rows;
  FirstFailure failure;
  dispatch_real(args.out[0].dtype, "linalg_potri", [&]<class T>(Type<T>) {
    each_matrix(args, a.count, cube(n), [&](int64_t item) {
      T* matrix = args.out[0].mutable_as<T>() + item * a.size();
      copy_lower(args.in[0].as<T>() + item * a.size(), matrix, n);
      const blasint order = blas_size(n), lda = leading(n);
      blasint info = 0;
      Blas<T>::potri("U", &order, matrix, &lda, &info, 1);
      if (info != 0) failure.note(item);
      mirror_lower(matrix, n);
    });
  });
  failure.check("_linalg_potri", "singular: its diagonal holds a zero, so it is no Cholesky factor", a.count);
}

size_t linalg_gelqf_scratch(const KernelSpec& spec) {
  return room_bytes(spec, 0) + lq_bytes(Matrices(spec.in[0].shape).rows, spec.in[0].dtype) *
                                   static_cast<size_t>(slots_for(spec.cores));
}

// A row-major matrix is its transpose to LAPACK, whose QR factors are Q^T and L^T.
void linalg_gelqf_cblas(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const int64_t m = a.rows, n = a.columns;
  if (a.count * m == 0) return;
  dispatch_real(args.in[0].dtype, "linalg_gelqf", [&]<class T>(Type<T>) {
    Outputs outputs(args);
    T* const all_q = outputs.take<T>(0);
    T* const all_l = args.wanted<T>(1);
    ScratchSlots slots(outputs.rest(), lq_bytes(m, dtype_of<T>()), slots_for(args.context->cores));
    std::copy_n(args.in[0].as<T>(), a.count * a.size(), all_q);
    each_matrix(args, a.count, 4 * double(m) * double(m) * double(n), [&](int64_t item) {
      const ScratchSlots::Use memory(slots);
      T* tau = memory.as<T>();
      T* work = tau + m;
      T* q = all_q + item * a.size();
      const blasint rows = blas_size(n), columns = blas_size(m), length = blas_size(m * kPanel);
      blasint info = 0;
      Blas<T>::geqrf(&rows, &columns, q, &rows, tau, work, &length, &info);
      for (int64_t i = 0; all_l && i < m; ++i) {
        T* l = all_l + (item * m + i) * m;
        std::copy_n(q + i * n, i + 1, l);
        std::fill(l + i + 1, l + m, T{0});
      }
      Blas<T>::orgqr(&rows, &columns, &columns, q, &rows, tau, work, &length, &info);
    });
  });
}

size_t linalg_syevd_scratch(const KernelSpec& spec) {
  return room_bytes(spec, 0) + room_bytes(spec, 1) +
         EigenScratch(Matrices(spec.in[0].shape).rows).bytes(spec.in[0].dtype) *
             static_cast<size_t>(slots_for(spec.cores));
}

void linalg_syevd_cblas(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const int64_t n = a.rows;
  if (a.count * n == 0) return;
  FirstFailure failure;
  dispatch_real(args.in[0].dtype, "linalg_syevd", [&]<class T>(Type<T>) {
    const EigenScratch need(n);
    Outputs outputs(args);
    T* const all_vectors = outputs.take<T>(0);
    T* const all_values = outputs.take<T>(1);
    ScratchSlots slots(outputs.rest(), need.bytes(dtype_of<T>()), slots_for(args.context->cores));
    std::copy_n(args.in[0].as<T>(), a.count * a.size(), all_vectors);
    each_matrix(args, a.count, 9 * cube(n), [&](int64_t item) {
      const ScratchSlots::Use memory(slots);
      T* reals = memory.as<T>();
      auto* integers =
          reinterpret_cast<blasint*>(reinterpret_cast<std::byte*>(reals) + need.real_bytes(dtype_of<T>()));
      T* vectors = all_vectors + item * a.size();
      T* values = all_values + item * n;
      const blasint order = blas_size(n), length = blas_size(need.reals), count = blas_size(need.integers);
      blasint info = 0;
      Blas<T>::syevd("V", "U", &order, vectors, &order, values, reals, &length, integers, &count, &info, 1,
                     1);
      if (info != 0) failure.note(item);
      for (int64_t i = 0; i < n; ++i) fix_sign(vectors + i * n, n);
    });
  });
  failure.check("_linalg_syevd", "one whose eigenvalues did not converge; is it finite?", a.count);
}

size_t linalg_inverse_scratch(const KernelSpec& spec) {
  return inverse_bytes(Matrices(spec.in[0].shape).rows, spec.in[0].dtype) *
         static_cast<size_t>(slots_for(spec.cores));
}

void linalg_inverse_cblas(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const int64_t n = a.rows;
  FirstFailure failure;
  dispatch_real(args.out[0].dtype, "linalg_inverse", [&]<class T>(Type<T>) {
    ScratchSlots slots(args.scratch, inverse_bytes(n, dtype_of<T>()), slots_for(args.context->cores));
    each_matrix(args, a.count, 2 * cube(n), [&](int64_t item) {
      const ScratchSlots::Use memory(slots);
      blasint* pivots = memory.as<blasint>();
      T* work = reinterpret_cast<T*>(memory.as<std::byte>() + pivot_bytes(n));
      T* matrix = args.out[0].mutable_as<T>() + item * a.size();
      const T* from = args.in[0].as<T>() + item * a.size();
      if (matrix != from) std::copy_n(from, a.size(), matrix);
      if (factor_lu(matrix, pivots, n)) invert_lu(matrix, pivots, work, n);
      else failure.note(item);
    });
  });
  failure.check("_linalg_inverse", "singular", a.count);
}

size_t solve_bytes(int64_t n, DType dtype) {  // pivots and factors
  return pivot_bytes(n) + aligned(static_cast<size_t>(n * n * size_of(dtype)));
}

size_t linalg_solve_scratch(const KernelSpec& spec) {
  return solve_bytes(Matrices(spec.in[0].shape).rows, spec.in[0].dtype) *
         static_cast<size_t>(slots_for(spec.cores));
}

// Exchanges the rows of x as LAPACK did those of the matrix that it factored, or back.
template <class T>
void exchange_rows(T* x, const blasint* pivots, int64_t n, int64_t columns, bool back) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = back ? n - 1 - step : step;
    if (pivots[i] != i + 1)
      std::swap_ranges(x + i * columns, x + (i + 1) * columns, x + (pivots[i] - 1) * columns);
  }
}

// What LAPACK factors is A^T = P L U; read by rows, its memory holds U^T below and on the diagonal, and L^T above it.
template <class T>
void solve_lu(const T* lu, const blasint* pivots, T* x, int64_t n, int64_t columns, bool transpose) {
  const auto solve = [&](CBLAS_UPLO triangle, CBLAS_DIAG diagonal) {
    Blas<T>::trsm(CblasRowMajor, CblasLeft, triangle, transposed(transpose), diagonal, blas_size(n),
                  blas_size(columns), T{1}, lu, leading(n), x, leading(columns));
  };
  if (transpose) {
    exchange_rows(x, pivots, n, columns, false);
    solve(CblasUpper, CblasUnit);
    solve(CblasLower, CblasNonUnit);
  } else {
    solve(CblasLower, CblasNonUnit);
    solve(CblasUpper, CblasUnit);
    exchange_rows(x, pivots, n, columns, true);
  }
}

void linalg_solve_cblas(const SolveParams& p, const KernelArgs& args) {
  const Matrices a(args.in[0].shape), b(args.out[0].shape);
  const int64_t n = a.rows;
  apply_convert(args.in[1], args.out[0], args);
  if (a.count * n == 0) return;
  FirstFailure failure;
  dispatch_real(args.out[0].dtype, "linalg_solve", [&]<class T>(Type<T>) {
    ScratchSlots slots(args.scratch, solve_bytes(n, dtype_of<T>()), slots_for(args.context->cores));
    each_matrix(args, a.count, cube(n) + 2 * double(n) * double(b.size()), [&](int64_t item) {
      const ScratchSlots::Use memory(slots);
      blasint* pivots = memory.as<blasint>();
      T* lu = reinterpret_cast<T*>(memory.as<std::byte>() + pivot_bytes(n));
      std::copy_n(args.in[0].as<T>() + item * a.size(), a.size(), lu);
      if (factor_lu(lu, pivots, n)) {
        solve_lu(lu, pivots, args.out[0].mutable_as<T>() + item * b.size(), n, b.columns, p.transpose);
      } else {
        failure.note(item);
      }
    });
  });
  failure.check("_linalg_solve", "singular", a.count);
}

size_t linalg_det_scratch(const KernelSpec& spec) { return room_bytes(spec, 1) + room_bytes(spec, 2); }
size_t linalg_slogdet_scratch(const KernelSpec& spec) { return room_bytes(spec, 2) + room_bytes(spec, 3); }

void linalg_det_cblas(const KernelArgs& args) {
  dispatch_real(args.in[0].dtype, "linalg_det", [&]<class T>(Type<T>) {
    Outputs outputs(args);
    T* factors = outputs.take<T>(1);
    int32_t* order = outputs.take<int32_t>(2);
    T* det = args.wanted<T>(0);
    factor_all<T>(args, factors, order, [&](int64_t item, const T* lu, const int32_t* pivots, int64_t n) {
      if (det) det[item] = determinant(lu, pivots, n);
    });
  });
}

void linalg_slogdet_cblas(const KernelArgs& args) {
  dispatch_real(args.in[0].dtype, "linalg_slogdet", [&]<class T>(Type<T>) {
    Outputs outputs(args);
    T* factors = outputs.take<T>(2);
    int32_t* order = outputs.take<int32_t>(3);
    T* sign = args.wanted<T>(0);
    T* log = args.wanted<T>(1);
    factor_all<T>(args, factors, order, [&](int64_t item, const T* lu, const int32_t* pivots, int64_t n) {
      const LogDeterminant<T> result(lu, pivots, n);
      if (sign) sign[item] = result.sign;
      if (log) log[item] = result.log;
    });
  });
}

// Zeros for a singular matrix.
void linalg_inverse_of_lu_cblas(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const int64_t n = a.rows;
  FirstFailure failure;
  dispatch_real(args.out[0].dtype, "linalg_inverse_of_lu", [&]<class T>(Type<T>) {
    ScratchSlots slots(args.scratch, inverse_bytes(n, dtype_of<T>()), slots_for(args.context->cores));
    each_matrix(args, a.count, 2 * cube(n), [&](int64_t item) {
      const ScratchSlots::Use memory(slots);
      T* matrix = args.out[0].mutable_as<T>() + item * a.size();
      const T* lu = args.in[1].as<T>() + item * a.size();
      const int32_t* pivots = args.in[2].as<int32_t>() + item * n;
      bool singular = false;
      for (int64_t i = 0; i < n; ++i) {
        singular |= lu[i * n + i] == 0;
        if (pivots[i] < 1 || pivots[i] > n) failure.note(item), singular = true;
      }
      if (singular) {
        std::fill_n(matrix, a.size(), T{0});
        return;
      }
      std::copy_n(lu, a.size(), matrix);
      invert_lu(matrix, pivots, reinterpret_cast<T*>(memory.as<std::byte>() + pivot_bytes(n)), n);
    });
  });
  failure.check("_linalg_inverse_of_lu", "not factored: a pivot is no row", a.count);
}

}  // namespace

void kernels_linalg_factors(OpTable& table) {
  table.kernel<linalg_potrf_cblas>("_linalg_potrf", "linalg_potrf_cblas");
  table.kernel<linalg_potri_cblas>("_linalg_potri", "linalg_potri_cblas");
  table.kernel<linalg_gelqf_cblas, linalg_gelqf_scratch>("_linalg_gelqf", "linalg_gelqf_cblas");
  table.kernel<linalg_syevd_cblas, linalg_syevd_scratch>("_linalg_syevd", "linalg_syevd_cblas");
  table.kernel<linalg_inverse_cblas, linalg_inverse_scratch>("_linalg_inverse", "linalg_inverse_cblas");
  table.kernel<linalg_solve_cblas, linalg_solve_scratch>("_linalg_solve", "linalg_solve_cblas");
  table.kernel<linalg_det_cblas, linalg_det_scratch>("_linalg_det", "linalg_det_cblas");
  table.kernel<linalg_slogdet_cblas, linalg_slogdet_scratch>("_linalg_slogdet", "linalg_slogdet_cblas");
  table.kernel<linalg_inverse_of_lu_cblas, linalg_inverse_scratch>("_linalg_inverse_of_lu",
                                                                   "linalg_inverse_of_lu_cblas");
}

}  // namespace loomix::ops
