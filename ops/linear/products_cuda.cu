// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/settings.h"
#include "ops/cuda/blas.h"
#include "ops/cuda/channel_sums.h"
#include "ops/cuda/closed_product.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/rectify.h"
#include "ops/families_cuda.h"
#include "ops/linear/product_list.h"

namespace loomix::ops {
namespace {

using namespace cuda;

Gemm gemm_of(const Product& product, DType dtype) {
  const MatMul& s = product.shape;
  Gemm gemm = dense_gemm(dtype, s.m, s.n, s.k, s.transpose_a, s.transpose_b, product.batch);
  gemm.tf32 = settings().cuda_dot_tf32;
  return gemm;
}

// `beta`: what becomes of what is in the output.
void multiply(const Product& product, double beta, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  Gemm gemm = gemm_of(product, out.dtype);
  gemm.beta = beta;
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

// Bias and max(x, 0) are a part of the product where the library has one with them; else the product is added to the bias. Either way
// halves are rounded once.
template <bool relu>
class FullyConnectedCuda final : public KernelState {
 public:
  FullyConnectedCuda(const FullyConnectedParams& p, const KernelSpec& spec) {
    if (p.no_bias && !relu) return;
    closed_ = plan_closed_product(gemm_of(fully_connected_product(p, spec.in, spec.out), spec.out[0].dtype),
                                  {.bias = !p.no_bias, .relu = relu});
  }

  void run(const FullyConnectedParams& p, const KernelArgs& args) const {
    const TensorView& out = args.out[0];
    const cudaStream_t stream = stream_of(args);
    const void* const bias = p.no_bias ? nullptr : args.in[2].data;
    if (closed_ && closed_->run(args.in[0].data, args.in[1].data, bias, out.data, stream)) return;
    if (bias) write_bias(p, bias, out, stream);
    multiply(fully_connected_product(p, args.in, args.out), bias ? 1 : 0, args);
    if constexpr (relu) {
      dispatch_floating(out.dtype, "FullyConnected", [&]<class T>(Type<T>) {
        launch_each(stream, out.size(), RectifyInPlace<T>{out.mutable_as<T>()});
      });
    }
  }

 private:
  static void write_bias(const FullyConnectedParams& p, const void* bias, const TensorView& out,
                         cudaStream_t stream) {
    dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
      launch_each(
          stream, out.size(),
          RowSource<T>{Divider(p.num_hidden), static_cast<const T*>(bias), static_cast<T*>(out.data)});
    });
  }

  std::unique_ptr<ClosedProduct> closed_;
};

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
  using FC = FullyConnectedParams;
  list.prepared_kernel<FC, FullyConnectedCuda<false>>("FullyConnected", "fully_connected_cublas",
                                                      DeviceType::gpu);
  list.prepared_kernel<FC, FullyConnectedCuda<true>>("_relu_FullyConnected", "relu_fully_connected_cublas",
                                                     DeviceType::gpu);
  list.kernel<fully_connected_bias_cuda, bias_scratch>("_backward_FullyConnected_bias",
                                                       "fully_connected_bias_cuda", DeviceType::gpu);
  each_product(Registrar{list});
  each_gradient_product(Registrar{list});
}

}  // namespace loomix::ops
