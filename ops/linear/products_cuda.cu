// SPDX-License-Identifier: Apache-2.0
#include "base/settings.h"
#include "ops/cuda/blas.h"
#include "ops/cuda/channel_sums.h"
#include "ops/cuda/elementwise.h"
#include "ops/families_cuda.h"
#include "ops/linear/product_list.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// `beta`: what becomes of what is in the output.
void multiply(const Product& product, double beta, const KernelArgs& args) {
  const MatMul& s = product.shape;
  const TensorView& out = args.out[0];
  Gemm gemm = dense_gemm(out.dtype, s.m, s.n, s.k, s.transpose_a, s.transpose_b, product.batch);
  gemm.beta = beta;
  gemm.tf32 = settings().cuda_dot_tf32;
  cuda::gemm(gemm, args.in[product.a].data, args.in[product.b].data, out.data, stream_of(args));
}

template <class P, ProductOf<P> product_of>
void product_cuda(const P& p, const KernelArgs& args) {
  multiply(product_of(p, args.in, args.out), args.req[0] == Req::add ? 1 : 0, args);
}

// A row for each row of the output.
template <class T>
struct RowSource {
  Divider columns;
  const T* from;
  T* to;
  __device__ void operator()(int64_t i) const { to[i] = from[i - columns.quotient(i) * columns.divisor()]; }
};

// The product is added to the bias, so that halves are rounded once.
void fully_connected_cuda(const FullyConnectedParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  if (!p.no_bias) {
    dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
      launch_each(stream_of(args), out.size(),
                  RowSource<T>{Divider(p.num_hidden), static_cast<const T*>(args.in[2].data),
                               static_cast<T*>(out.data)});
    });
  }
  multiply(fully_connected_product(p, args.in, args.out), p.no_bias ? 0 : 1, args);
}

ChannelAxes bias_axes(const FullyConnectedParams& p, const TensorView& grad) {
  return {.outer = grad.size() / p.num_hidden, .channels = p.num_hidden};
}
size_t bias_scratch(const FullyConnectedParams& p, const KernelSpec& spec) {
  return channel_sums_scratch(bias_axes(p, spec.in[0]), spec.in[0].dtype);
}
// grad -> gradient of the bias.
void fully_connected_bias_cuda(const FullyConnectedParams& p, const KernelArgs& args) {
  channel_sums(bias_axes(p, args.in[0]), args.in[0], args.out[0], args.req[0] == Req::add,
               args.scratch.data(), stream_of(args));
}

struct Registrar {
  KernelList& list;
  template <class P, ProductOf<P> product_of, uint32_t, bool>
  void operator()(const char* op) const {
    list.kernel<product_cuda<P, product_of>>(op, "product_cublas", DeviceType::gpu);
  }
};

}  // namespace

void kernels_products_cuda(KernelList& list) {
  list.kernel<fully_connected_cuda>("FullyConnected", "fully_connected_cublas", DeviceType::gpu);
  list.kernel<fully_connected_bias_cuda, bias_scratch>("_backward_FullyConnected_bias",
                                                       "fully_connected_bias_cuda", DeviceType::gpu);
  each_product(Registrar{list});
  each_gradient_product(Registrar{list});
}

}  // namespace loomix::ops
