// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/numbers_cuda.h"
#include "ops/elemwise/unary.h"
#include "ops/families_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

template <class F>
__global__ void unary_integers(int64_t count, IntegerArray x, MutableIntegerArray y) {
  for (const int64_t i : own_items(count)) put_integer<F>(y, i, x[i]);
}

template <class F>
struct LongApplied : Applied<F> {
  static constexpr bool kIsLong = true;
};
template <class F, class G>
void unary_cuda(const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const TensorView& y = args.out[0];
  if (!is_floating(y.dtype)) {
    return launch(unary_integers<F>, grid_for(y.size()), stream_of(args), y.size(),
                  IntegerArray{x.data, x.dtype}, MutableIntegerArray{y.data, y.dtype});
  }
  dispatch_floating(y.dtype, "unary", [&]<class T>(Type<T>) {
    map(stream_of(args), y.size(), G{}, y.mutable_as<T>(), x.as<T>());
  });
}

template <class F, class Gradient>
void add(KernelList& list, const UnaryOp<F, Gradient>& op) {
  constexpr bool is_long = std::is_same_v<F, fn::Gamma> || std::is_same_v<F, fn::Gammaln> ||
                           std::is_same_v<F, fn::Erfinv> || std::is_same_v<F, fn::Digamma> ||
                           std::is_same_v<F, fn::Trigamma> || std::is_same_v<F, fn::Tan> ||
                           std::is_same_v<F, fn::Sin> || std::is_same_v<F, fn::Cos>;
  list.kernel<unary_cuda<F, std::conditional_t<is_long, LongApplied<F>, Applied<F>>>>(op.name, "unary_cuda",
                                                                                      DeviceType::gpu);
}

}  // namespace

void kernels_unary_cuda(KernelList& list) {
  std::apply([&](const auto&... op) { (add(list, op), ...); }, kUnaryOps);
  list.kernel<unary_cuda<fn::Round, Applied<fn::Round>>>("_contrib_round_ste", "unary_cuda", DeviceType::gpu);
  list.kernel<unary_cuda<fn::Sign, Applied<fn::Sign>>>("_contrib_sign_ste", "unary_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops
