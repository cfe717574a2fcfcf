// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/binary.h"
#include "ops/elemwise/numbers_cuda.h"
#include "ops/families_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

template <class F>
__global__ void binary_integers(int64_t count, Places<2> places, IntegerArray a, IntegerArray b,
                                MutableIntegerArray y) {
  for (const int64_t i : own_items(count)) {
    int64_t at[2];
    places.of(i, at);
    put_integer<F>(y, i, a[at[0]], b[at[1]]);
  }
}

template <class F>
void binary_cuda(const KernelArgs& args) {
  const TensorView& a = args.in[0];
  const TensorView& b = args.in[1];
  const TensorView& y = args.out[0];
  if (y.size() == 0) return;
  if (!is_floating(y.dtype)) {
    return launch(binary_integers<F>, grid_for(y.size()), stream_of(args), y.size(),
                  places_of<2>(plan_broadcast(y.shape, {&a.shape, &b.shape})), IntegerArray{a.data, a.dtype},
                  IntegerArray{b.data, b.dtype}, MutableIntegerArray{y.data, y.dtype});
  }
  dispatch_floating(y.dtype, "binary", [&]<class T>(Type<T>) {
    map_broadcast(stream_of(args), y.shape, Applied<F>{}, y.mutable_as<T>(), a.as<T>(), a.shape, b.as<T>(),
                  b.shape);
  });
}

template <class F, class Left, class Right>
void add(KernelList& list, const BinaryOp<F, Left, Right>& op) {
  list.kernel<binary_cuda<F>>(op.same, "binary_cuda", DeviceType::gpu);
  if (*op.broadcast != 0) list.kernel<binary_cuda<F>>(op.broadcast, "binary_cuda", DeviceType::gpu);
}

}  // namespace

void kernels_binary_cuda(KernelList& list) {
  std::apply([&](const auto&... op) { (add(list, op), ...); }, kBinaryOps);
  list.kernel<binary_cuda<fn::Div>>("_scatter_elemwise_div", "binary_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops
