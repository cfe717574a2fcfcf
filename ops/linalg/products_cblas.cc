// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/apply.h"
#include "ops/linalg/blas.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/row_axis.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kBlock = 128;  // rows or columns of a result that are one piece of work

int64_t blocks_of(int64_t length) { return std::max<int64_t>(1, (length + kBlock - 1) / kBlock); }

// out = alpha op(A) op(B) + beta out, in blocks of rows whose size depends on nothing but the shape.
template <class T>
void multiply(const Gemm2Params& p, double beta, const TensorView& left, const TensorView& right,
              const TensorView& out, const KernelArgs& args) {
  const RowAxis a(left.shape, p.axis), b(right.shape, p.axis), c(out.shape, p.axis);
  const int64_t k = p.transpose_a ? a.rows : a.columns;
  const int64_t blocks = blocks_of(c.rows);
  const double flops = 2.0 * double(std::min(c.rows, kBlock)) * double(c.columns) * double(k);
  each_matrix(args, c.count() * blocks, flops, [&](int64_t piece) {
    const int64_t item = piece / blocks;
    const int64_t top = piece % blocks * kBlock;
    const int64_t rows = std::min(c.rows - top, kBlock);
    Blas<T>::gemm(CblasRowMajor, transposed(p.transpose_a), transposed(p.transpose_b), blas_size(rows),
                  blas_size(c.columns), blas_size(k), static_cast<T>(p.alpha),
                  left.as<T>() + a.offset(item) + top * (p.transpose_a ? 1 : a.leading()),
                  leading(a.leading()), right.as<T>() + b.offset(item), leading(b.leading()),
                  static_cast<T>(beta), out.mutable_as<T>() + c.offset(item) + top * c.leading(),
                  leading(c.leading()));
  });
}

// trmm or trsm: the other matrix is worked on in place, in blocks of what A does not mix.
template <auto Float, auto Double>
void triangular(const char* who, const TriangularParams& p, const KernelArgs& args) {
  apply_convert(args.in[1], args.out[0], args);
  dispatch_real(args.out[0].dtype, who, [&]<class T>(Type<T>) {
    const Matrices b(args.out[0].shape);
    const int64_t n = p.rightside ? b.columns : b.rows;
    const int64_t free = p.rightside ? b.rows : b.columns;
    const int64_t blocks = blocks_of(free);
    const double flops = double(n) * double(n) * double(std::min(free, kBlock));
    each_matrix(args, b.count * blocks, flops, [&](int64_t piece) {
      const int64_t item = piece / blocks;
      const int64_t first = piece % blocks * kBlock;
      const int64_t length = std::min(free - first, kBlock);
      constexpr auto call = [] {
        if constexpr (std::is_same_v<T, float>) return Float;
        else return Double;
      }();
      call(CblasRowMajor, p.rightside ? CblasRight : CblasLeft, p.lower ? CblasLower : CblasUpper,
           transposed(p.transpose), CblasNonUnit, blas_size(p.rightside ? length : n),
           blas_size(p.rightside ? n : length), static_cast<T>(p.alpha), args.in[0].as<T>() + item * n * n,
           leading(n), args.out[0].mutable_as<T>() + item * b.size() + first * (p.rightside ? n : 1),
           leading(b.columns));
    });
  });
}

// op(A) X = alpha B for few rows, which takes less time than BLAS's preparations; `x` holds B.
template <class T>
void solve_few_rows(const TriangularParams& p, const T* a, T* x, int64_t n, int64_t columns) {
  const bool downwards = p.lower != p.transpose;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = downwards ? step : n - 1 - step;
    T* const row = x + i * columns;
    const T diagonal = a[i * n + i], alpha = static_cast<T>(p.alpha);
    const auto each_column = [columns](auto&& fn) {
      constexpr int64_t kVector = 8;  // a length that the compiler knows, for columns are few
      int64_t c = 0;
      for (; c + kVector <= columns; c += kVector) {
#pragma omp simd
        for (int64_t k = c; k < c + kVector; ++k) fn(k);
      }
      for (; c < columns; ++c) fn(c);
    };
    if (alpha != 1) each_column([&](int64_t c) { row[c] *= alpha; });
    for (int64_t j = downwards ? 0 : i + 1; j < (downwards ? i : n); ++j) {
      const T factor = a[p.transpose ? j * n + i : i * n + j];
      const T* const other = x + j * columns;
      each_column([&](int64_t c) { row[c] -= factor * other[c]; });
    }
    each_column([&](int64_t c) { row[c] /= diagonal; });
  }
}

void linalg_gemm_cblas(const GemmParams& p, const KernelArgs& args) {
  apply_convert(args.in[2], args.out[0], args);
  dispatch_real(args.out[0].dtype, "linalg_gemm",
                [&]<class T>(Type<T>) { multiply<T>(p, p.beta, args.in[0], args.in[1], args.out[0], args); });
}

void linalg_gemm2_cblas(const Gemm2Params& p, const KernelArgs& args) {
  dispatch_real(args.out[0].dtype, "linalg_gemm2", [&]<class T>(Type<T>) {
    multiply<T>(p, args.req[0] == Req::add ? 1 : 0, args.in[0], args.in[1], args.out[0], args);
  });
}

void linalg_trmm_cblas(const TriangularParams& p, const KernelArgs& args) {
  triangular<cblas_strmm, cblas_dtrmm>("linalg_trmm", p, args);
}

void linalg_trsm_cblas(const TriangularParams& p, const KernelArgs& args) {
  constexpr int64_t kFewRows = 16, kFewColumns = 64;
  const Matrices b(args.out[0].shape);
  if (!p.rightside && b.rows <= kFewRows && b.columns <= kFewColumns) {
    apply_convert(args.in[1], args.out[0], args);
    return dispatch_real(args.out[0].dtype, "linalg_trsm", [&]<class T>(Type<T>) {
      each_matrix(args, b.count, double(b.rows * b.size()), [&](int64_t item) {
        solve_few_rows(p, args.in[0].as<T>() + item * b.rows * b.rows,
                       args.out[0].mutable_as<T>() + item * b.size(), b.rows, b.columns);
      });
    });
  }
  triangular<cblas_strsm, cblas_dtrsm>("linalg_trsm", p, args);
}

void linalg_syrk_cblas(const SyrkParams& p, const KernelArgs& args) {
  dispatch_real(args.out[0].dtype, "linalg_syrk", [&]<class T>(Type<T>) {
    const Matrices a(args.in[0].shape);
    const int64_t n = p.transpose ? a.columns : a.rows;
    const int64_t k = p.transpose ? a.rows : a.columns;
    const int64_t blocks = blocks_of(n);
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    // A block of rows ends at its last diagonal element.
    each_matrix(args, a.count * blocks, 2.0 * double(std::min(n, kBlock)) * double(n) * double(k),
                [&](int64_t piece) {
                  const int64_t item = piece / blocks;
                  const int64_t top = piece % blocks * kBlock;
                  const int64_t rows = std::min(n - top, kBlock);
                  const T* matrix = in + item * a.size();
                  Blas<T>::gemm(CblasRowMajor, transposed(p.transpose), transposed(!p.transpose),
                                blas_size(rows), blas_size(top + rows), blas_size(k), static_cast<T>(p.alpha),
                                matrix + top * (p.transpose ? 1 : k), leading(a.columns), matrix,
                                leading(a.columns), T{0}, out + item * n * n + top * n, leading(n));
                });
    each_matrix(args, a.count, double(n) * double(n),
                [&](int64_t item) { mirror_lower(out + item * n * n, n); });
  });
}

}  // namespace

void kernels_linalg_products(OpTable& table) {
  table.kernel<linalg_gemm_cblas>("_linalg_gemm", "linalg_gemm_cblas");
  table.kernel<linalg_gemm2_cblas>("_linalg_gemm2", "linalg_gemm2_cblas");
  table.kernel<linalg_trmm_cblas>("_linalg_trmm", "linalg_trmm_cblas");
  table.kernel<linalg_trsm_cblas>("_linalg_trsm", "linalg_trsm_cblas");
  table.kernel<linalg_syrk_cblas>("_linalg_syrk", "linalg_syrk_cblas");
}

}  // namespace loomix::ops
