// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/settings.h"
#include "ops/cuda/blas.h"
#include "ops/cuda/channel_sums.h"
#include "ops/cuda/closed_product.h"
#include "ops/cuda/elementwise.h"
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

// The bias is a part of the product where the library has one with it; else the product is added to the bias. Either way halves are
// rounded once.
class FullyConnectedCuda final : public KernelState {
 public:
  FullyConnectedCuda(const FullyConnectedParams& p, const KernelSpec& spec) {
    if (p.no_bias) return;
    closed_ = plan_closed_product(gemm_of(fully_connected_product(p, spec.in, spec.out), spec.out[0].dtype),
                                  {.bias = true});
  }

  void run(const FullyConnectedParams& p, const KernelArgs& args) const {
    const TensorView& out = args.out[0];
    if (closed_ && closed_->run(args.in[0].data, args.in[1].data, args.in[2].data, out.data, stream_of(args)))
      return;
    if (!p.no_bias) write_bias(p, args.in[2], out, stream_of(args));
    multiply(fully_connected_product(p, args.in, args.out), p.no_bias ? 0 : 1, args);
  }

 private:
  static void write_bias(const FullyConnectedParams& p, const TensorView& bias, const TensorView& out,
                         cudaStream_t stream) {
    dispatch_bits(out.dtype, [&]<class T>(Type<T>) {
      launch_each(
          stream, out.size(),
          RowSource<T>{Divider(p.num_hidden), static_cast<const T*>(bias.data), static_cast<T*>(out.data)});
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
  list.prepared_kernel<FullyConnectedParams, FullyConnectedCuda>("FullyConnected", "fully_connected_cublas",
                                                                 DeviceType::gpu);
  list.kernel<fully_connected_bias_cuda, bias_scratch>("_backward_FullyConnected_bias",
                                                       "fully_connected_bias_cuda", DeviceType::gpu);
  each_product(Registrar{list});
  each_gradient_product(Registrar{list});
}

}  // namespace loomix::ops
