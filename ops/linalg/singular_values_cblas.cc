// SPDX-License-Identifier: Apache-2.0
#include "ops/linalg/blas.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/outputs.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// Memory of one decomposition of a matrix (rows, columns), a copy of it included.
struct SvdScratch {
  int64_t rank, copy, work, integers;
  explicit SvdScratch(const Matrices& a)
      : rank(std::min(a.rows, a.columns)),
        copy(a.size()),
        work(4 * rank * rank + 7 * rank + 64 * (a.rows + a.columns) + 1),
        integers(8 * rank + 1) {}
  size_t bytes(DType dtype) const {
    return aligned(static_cast<size_t>((copy + work) * size_of(dtype))) +
           aligned(static_cast<size_t>(integers) * sizeof(blasint));
  }
};

// A row-major matrix is its transpose to LAPACK, A^T = V^T diag(s) U^T: its left vectors are V's rows in memory. False if
// it did not converge.
template <class T>
bool decompose(const Matrices& a, const SvdScratch& need, const T* from, void* memory, T* u, T* s, T* v) {
  T* const copy = static_cast<T*>(memory);
  T* const work = copy + need.copy;
  auto* const integers = reinterpret_cast<blasint*>(
      static_cast<std::byte*>(memory) + aligned(static_cast<size_t>(need.copy + need.work) * sizeof(T)));
  std::copy_n(from, a.size(), copy);
  const blasint rows = blas_size(a.columns), columns = blas_size(a.rows);
  const blasint rank = blas_size(need.rank), length = blas_size(need.work);
  blasint info = 0;
  Blas<T>::gesdd("S", &rows, &columns, copy, &rows, s, v, &rows, u, &rank, work, &length, integers, &info, 1);
  return info == 0;
}

constexpr const char* kNotFinite = "one whose singular values did not converge; is it finite?";

double svd_flops(const Matrices& a, int64_t rank) { return 20 * double(a.size()) * double(rank); }

size_t linalg_svd_scratch(const KernelSpec& spec) {
  const size_t each = SvdScratch(Matrices(spec.in[0].shape)).bytes(spec.in[0].dtype);
  return room_bytes(spec, 0) + room_bytes(spec, 1) + room_bytes(spec, 2) +
         each * static_cast<size_t>(slots_for(spec.cores));
}

void linalg_svd_cblas(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const SvdScratch need(a);
  if (a.count * a.size() == 0) return;
  FirstFailure failure;
  dispatch_real(args.in[0].dtype, "linalg_svd", [&]<class T>(Type<T>) {
    Outputs outputs(args);
    T* const u = outputs.take<T>(0);
    T* const s = outputs.take<T>(1);
    T* const v = outputs.take<T>(2);
    ScratchSlots slots(outputs.rest(), need.bytes(dtype_of<T>()), slots_for(args.context->cores));
    each_matrix(args, a.count, svd_flops(a, need.rank), [&](int64_t item) {
      const ScratchSlots::Use memory(slots);
      if (!decompose(a, need, args.in[0].as<T>() + item * a.size(), memory.as<std::byte>(),
                     u + item * a.rows * need.rank, s + item * need.rank, v + item * need.rank * a.columns)) {
        failure.note(item);
      }
    });
  });
  failure.check("_linalg_svd", kNotFinite, a.count);
}

// U, s and V of one matrix, after what `decompose` needs.
size_t factor_bytes(const Matrices& a, int64_t rank, DType dtype) {
  return aligned(static_cast<size_t>((a.rows + a.columns + 1) * rank * size_of(dtype)));
}

size_t linalg_pinv_scratch(const KernelSpec& spec) {
  const Matrices a(spec.in[0].shape);
  const SvdScratch need(a);
  return (need.bytes(spec.in[0].dtype) + factor_bytes(a, need.rank, spec.in[0].dtype)) *
         static_cast<size_t>(slots_for(spec.cores));
}

void linalg_pinv_cblas(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  const SvdScratch need(a);
  if (a.count * a.size() == 0) return;
  FirstFailure failure;
  dispatch_real(args.in[0].dtype, "linalg_pinv", [&]<class T>(Type<T>) {
    const size_t first = need.bytes(dtype_of<T>());
    ScratchSlots slots(args.scratch, first + factor_bytes(a, need.rank, dtype_of<T>()),
                       slots_for(args.context->cores));
    each_matrix(args, a.count, svd_flops(a, need.rank), [&](int64_t item) {
      const ScratchSlots::Use memory(slots);
      T* const u = reinterpret_cast<T*>(memory.as<std::byte>() + first);
      T* const s = u + a.rows * need.rank;
      T* const v = s + need.rank;
      if (!decompose(a, need, args.in[0].as<T>() + item * a.size(), memory.as<std::byte>(), u, s, v)) {
        failure.note(item);
        return;
      }
      const T least = args.in[1].as<T>()[item] * s[0];
      for (int64_t i = 0; i < need.rank; ++i) {
        const T factor = s[i] > least ? 1 / s[i] : T{0};
        for (int64_t k = 0; k < a.columns; ++k) v[i * a.columns + k] *= factor;
      }
      Blas<T>::gemm(CblasRowMajor, CblasTrans, CblasTrans, blas_size(a.columns), blas_size(a.rows),
                    blas_size(need.rank), T{1}, v, leading(a.columns), u, leading(need.rank), T{0},
                    args.out[0].mutable_as<T>() + item * a.size(), leading(a.rows));
    });
  });
  failure.check("_linalg_pinv", kNotFinite, a.count);
}

// G - G V^T V. Rows of a square V span everything, and rounding would be all that is left.
void linalg_outside_of_rows_cblas(const KernelArgs& args) {
  const Matrices a(args.in[0].shape);
  dispatch_real(args.out[0].dtype, "linalg_outside_of_rows", [&]<class T>(Type<T>) {
    T* const out = args.out[0].mutable_as<T>();
    if (a.rows == a.columns) {
      std::fill_n(out, a.count * a.size(), T{0});
      return;
    }
    std::copy_n(args.in[0].as<T>(), a.count * a.size(), out);
    const int64_t square = a.rows * a.rows;
    ScratchSlots slots(args.scratch, aligned(static_cast<size_t>(square) * sizeof(T)),
                       slots_for(args.context->cores));
    const blasint rows = blas_size(a.rows), columns = blas_size(a.columns);
    each_matrix(args, a.count, 4 * double(square) * double(a.columns), [&](int64_t item) {
      const ScratchSlots::Use memory(slots);
      T* const product = memory.as<T>();
      const T* const v = args.in[1].as<T>() + item * a.size();
      T* const rest = out + item * a.size();
      Blas<T>::gemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, rows, columns, T{1}, rest,
                    leading(a.columns), v, leading(a.columns), T{0}, product, leading(a.rows));
      Blas<T>::gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, rows, T{-1}, product,
                    leading(a.rows), v, leading(a.columns), T{1}, rest, leading(a.columns));
    });
  });
}

size_t linalg_outside_of_rows_scratch(const KernelSpec& spec) {
  const Matrices a(spec.in[0].shape);
  return aligned(static_cast<size_t>(a.rows * a.rows * size_of(spec.in[0].dtype))) *
         static_cast<size_t>(slots_for(spec.cores));
}

}  // namespace

void kernels_linalg_singular_values(OpTable& table) {
  table.kernel<linalg_svd_cblas, linalg_svd_scratch>("_linalg_svd", "linalg_svd_cblas");
  table.kernel<linalg_pinv_cblas, linalg_pinv_scratch>("_linalg_pinv", "linalg_pinv_cblas");
  table.kernel<linalg_outside_of_rows_cblas, linalg_outside_of_rows_scratch>("_linalg_outside_of_rows",
                                                                             "linalg_outside_of_rows_cblas");
}

}  // namespace loomix::ops
