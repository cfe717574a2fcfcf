// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/elementwise.h"
#include "ops/cuda/fill.h"
#include "ops/elemwise/elemwise.h"
#include "ops/elemwise/loops.h"
#include "ops/families_cuda.h"

// Copies, casts and fills.
namespace loomix::ops {
namespace {

using namespace cuda;

void convert_cuda(const KernelArgs& args) { convert_array(args.in[0], args.out[0], stream_of(args)); }

void amp_multicast_cuda(const AmpMulticastParams&, const KernelArgs& args) {
  for (size_t i = 0; i < args.out.size(); ++i) {
    if (args.req[i] != Req::null) convert_array(args.in[i], args.out[i], stream_of(args));
  }
}

template <int value>
void fill_cuda(const KernelArgs& args) {
  fill(args.out[0], value, stream_of(args));
}

}  // namespace

}  // namespace loomix::ops

namespace loomix::cuda {

using ops::Number;

namespace {

template <class To, class From>
__global__ void convert_items(int64_t count, const From* x, To* y) {
  for (const int64_t i : own_items(count)) y[i] = convert<To>(x[i]);
}

template <class T>
struct Same {
  T item;
  __device__ T operator()() const { return item; }
};

}  // namespace

void convert_array(const TensorView& x, const TensorView& y, cudaStream_t stream) {
  if (y.size() == 0) return;
  if (x.dtype == y.dtype) {
    if (x.data != y.data) {
      check(cudaMemcpyAsync(y.data, x.data, static_cast<size_t>(y.bytes()), cudaMemcpyDeviceToDevice, stream),
            "a copy");
    }
    return;
  }
  dispatch_all(x.dtype, "Cast", [&]<class From>(Type<From>) {
    dispatch_all(y.dtype, "Cast", [&]<class To>(Type<To>) {
      launch(convert_items<To, From>, grid_for(y.size()), stream, y.size(), x.as<From>(), y.mutable_as<To>());
    });
  });
}

void fill(const TensorView& y, double value, cudaStream_t stream) {
  if (y.size() == 0) return;
  const Number number(value, y.dtype);
  uint64_t word = 0;
  __builtin_memcpy(&word, number.bytes, static_cast<size_t>(size_of(y.dtype)));
  if (word == 0) {
    return check(cudaMemsetAsync(y.data, 0, static_cast<size_t>(y.bytes()), stream), "a fill");
  }
  dispatch_bits(y.dtype, [&]<class T>(Type<T>) {
    map(stream, y.size(), Same<T>{static_cast<T>(word)}, static_cast<T*>(y.data));
  });
}

}  // namespace loomix::cuda

namespace loomix::ops {

void kernels_convert_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  for (const char* op : {"Cast", "amp_cast", "_cast_like"}) list.kernel<convert_cuda>(op, "cast_cuda", gpu);
  for (const char* op : {"_copy", "BlockGrad", "make_loss", "MakeLoss", "_identity_with_attr_like_rhs",
                         "Reshape", "_np_reshape", "_npx_reshape", "Flatten", "reshape_like", "expand_dims",
                         "squeeze", "_contrib_gradientmultiplier", "IdentityAttachKLSparseReg"})
    list.kernel<convert_cuda>(op, "copy_cuda", gpu);
  list.kernel<amp_multicast_cuda>("amp_multicast", "amp_multicast_cuda", gpu);
  list.kernel<fill_cuda<0>>("zeros_like", "fill_cuda", gpu);
  list.kernel<fill_cuda<1>>("ones_like", "fill_cuda", gpu);
}

}  // namespace loomix::ops
