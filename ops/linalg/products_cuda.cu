// SPDX-License-Identifier: Apache-2.0
#include "base/settings.h"
#include "ops/cuda/blas.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/matrices_cuda.h"
#include "ops/linalg/row_axis.h"
#include "ops/scratch_slots.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// out = alpha op(A) op(B) + beta out.
void multiply(const Gemm2Params& p, double beta, const TensorView& left, const TensorView& right,
              const KernelArgs& args) {
  const TensorView& out = args.out[0];
  const RowAxis a(left.shape, p.axis), b(right.shape, p.axis), c(out.shape, p.axis);
  Gemm gemm;
  gemm.dtype = out.dtype;
  gemm.m = c.rows;
  gemm.n = c.columns;
  gemm.k = p.transpose_a ? a.rows : a.columns;
  gemm.transpose_a = p.transpose_a;
  gemm.transpose_b = p.transpose_b;
  gemm.row_a = a.leading();
  gemm.row_b = b.leading();
  gemm.row_c = c.leading();
  gemm.alpha = p.alpha;
  gemm.beta = beta;
  gemm.tf32 = settings().cuda_dot_tf32;
  // Matrices are equally far apart where nothing lies outside of the rows, or nothing between them.
  const bool is_one_batch = c.inner == 1 || c.outer == 1;
  const auto step = [&](const RowAxis& x) { return x.inner == 1 ? x.rows * x.columns : x.columns; };
  gemm.batch = is_one_batch ? c.count() : c.inner;
  gemm.step_a = step(a);
  gemm.step_b = step(b);
  gemm.step_c = step(c);
  const int64_t bytes = size_of(out.dtype);
  const auto at = [&](const TensorView& view, const RowAxis& x, int64_t i) {
    return static_cast<char*>(view.data) + i * x.rows * x.leading() * bytes;
  };
  for (int64_t i = 0; i < (is_one_batch ? 1 : c.outer); ++i)
    cuda::gemm(gemm, at(left, a, i), at(right, b, i), at(out, c, i), stream_of(args));
}

void linalg_gemm_cuda(const GemmParams& p, const KernelArgs& args) {
  convert_array(args.in[2], args.out[0], stream_of(args));
  multiply(p, p.beta, args.in[0], args.in[1], args);
}

void linalg_gemm2_cuda(const Gemm2Params& p, const KernelArgs& args) {
  multiply(p, args.req[0] == Req::add ? 1 : 0, args.in[0], args.in[1], args);
}

template <class T>
struct KeepTriangle {
  Divider rows, columns;
  bool lower;
  const T* from;
  T* to;
  __device__ void operator()(int64_t i) const {
    const int64_t row = columns.quotient(i), column = i - row * columns.divisor();
    const int64_t place = row - rows.quotient(row) * rows.divisor();
    to[i] = (lower ? column <= place : column >= place) ? from[i] : T{0};
  }
};

size_t linalg_trmm_scratch(const KernelSpec& spec) {
  return aligned(static_cast<size_t>(spec.in[0].bytes())) + static_cast<size_t>(spec.in[1].bytes());
}

// A product with the triangle, zeros on its other side. The output may be B, so B is copied.
void linalg_trmm_cuda(const TriangularParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  const Matrices b(out.shape);
  const int64_t n = p.rightside ? b.columns : b.rows;
  const TensorView other{args.scratch.data() + aligned(static_cast<size_t>(args.in[0].bytes())), out.dtype,
                         out.shape};
  convert_array(args.in[1], other, stream_of(args));
  dispatch_real(out.dtype, "linalg_trmm", [&]<class T>(Type<T>) {
    launch_each(stream_of(args), args.in[0].size(),
                KeepTriangle<T>{Divider(n), Divider(n), p.lower, args.in[0].as<T>(),
                                reinterpret_cast<T*>(args.scratch.data())});
  });
  Gemm gemm = p.rightside ? dense_gemm(out.dtype, b.rows, n, n, false, p.transpose, b.count)
                          : dense_gemm(out.dtype, n, b.columns, n, p.transpose, false, b.count);
  gemm.alpha = p.alpha;
  gemm.tf32 = settings().cuda_dot_tf32;
  const void* const triangle = args.scratch.data();
  cuda::gemm(gemm, p.rightside ? other.data : triangle, p.rightside ? triangle : other.data, out.data,
             stream_of(args));
}

void linalg_trsm_cuda(const TriangularParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  const Matrices b(out.shape);
  convert_array(args.in[1], out, stream_of(args));
  solve({.dtype = out.dtype,
         .rows = b.rows,
         .columns = b.columns,
         .batch = b.count,
         .rightside = p.rightside,
         .lower = p.lower,
         .transpose = p.transpose,
         .alpha = p.alpha},
        args.in[0].data, out.data, stream_of(args));
}

void linalg_syrk_cuda(const SyrkParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  const Matrices a(args.in[0].shape);
  const int64_t n = p.transpose ? a.columns : a.rows;
  Gemm gemm =
      dense_gemm(out.dtype, n, n, p.transpose ? a.rows : a.columns, p.transpose, !p.transpose, a.count);
  gemm.alpha = p.alpha;
  gemm.tf32 = settings().cuda_dot_tf32;
  cuda::gemm(gemm, args.in[0].data, args.in[0].data, out.data, stream_of(args));
  cuda::mirror_lower(out, stream_of(args));
}

}  // namespace

void kernels_linalg_products_cuda(KernelList& list) {
  list.kernel<linalg_gemm_cuda>("_linalg_gemm", "linalg_gemm_cublas", DeviceType::gpu);
  list.kernel<linalg_gemm2_cuda>("_linalg_gemm2", "linalg_gemm2_cublas", DeviceType::gpu);
  list.kernel<linalg_trmm_cuda, linalg_trmm_scratch>("_linalg_trmm", "linalg_trmm_cublas", DeviceType::gpu);
  list.kernel<linalg_trsm_cuda>("_linalg_trsm", "linalg_trsm_cublas", DeviceType::gpu);
  list.kernel<linalg_syrk_cuda>("_linalg_syrk", "linalg_syrk_cublas", DeviceType::gpu);
}

}  // namespace loomix::ops
