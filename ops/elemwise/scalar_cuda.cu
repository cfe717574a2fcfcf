// SPDX-License-Identifier: Apache-2.0
#include "ops/elemwise/elemwise.h"
#include "ops/elemwise/loops.h"
#include "ops/elemwise/numbers_cuda.h"
#include "ops/elemwise/scalar.h"
#include "ops/families_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// The functor with one operand given.
template <class F, Spread side, class C>
struct WithNumber {
  C number;
  __device__ auto operator()(C x) const {
    if constexpr (side == Spread::left) return F::f(Math{}, number, x);
    else return F::f(Math{}, x, number);
  }
};

template <class F, Spread side>
__global__ void scalar_integers(int64_t count, IntegerArray x, int64_t number, MutableIntegerArray y) {
  for (const int64_t i : own_items(count)) {
    if constexpr (side == Spread::left) put_integer<F>(y, i, number, x[i]);
    else put_integer<F>(y, i, x[i], number);
  }
}

// Truth values and a number with a fraction.
template <class F, Spread side>
__global__ void scalar_of_truths(int64_t count, IntegerArray x, double number, double* y) {
  for (const int64_t i : own_items(count))
    y[i] = WithNumber<F, side, double>{number}(static_cast<double>(x[i]));
}

template <class P, class F, Spread side>
void scalar_cuda(const P& p, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const TensorView& y = args.out[0];
  const Number number(p.scalar, y.dtype);  // rounded as an element is
  if (!is_floating(y.dtype)) {
    return launch(scalar_integers<F, side>, grid_for(y.size()), stream_of(args), y.size(),
                  IntegerArray{x.data, x.dtype}, IntegerArray{number.bytes, y.dtype}[0],
                  MutableIntegerArray{y.data, y.dtype});
  }
  if (!is_floating(x.dtype)) {
    return launch(scalar_of_truths<F, side>, grid_for(y.size()), stream_of(args), y.size(),
                  IntegerArray{x.data, x.dtype}, p.scalar, y.mutable_as<double>());
  }
  dispatch_floating(y.dtype, "scalar", [&]<class T>(Type<T>) {
    T rounded;
    __builtin_memcpy(&rounded, number.bytes, sizeof(T));
    map(stream_of(args), y.size(), WithNumber<F, side, Computed<T>>{load(rounded)}, y.mutable_as<T>(),
        x.as<T>());
  });
}

template <class F, Spread side, class P, class Gradient>
void add(KernelList& list, const ScalarOp<F, side, P, Gradient>& op) {
  list.kernel<scalar_cuda<P, F, side>>(op.name, "scalar_cuda", DeviceType::gpu);
}

}  // namespace

void kernels_scalar_cuda(KernelList& list) {
  std::apply([&](const auto&... op) { (add(list, op), ...); }, kScalarOps);
  constexpr auto right = Spread::right;
  list.kernel<scalar_cuda<ScalarParams, fn::Add, right>>("_scatter_plus_scalar", "scalar_cuda",
                                                         DeviceType::gpu);
  list.kernel<scalar_cuda<ScalarParams, fn::Sub, right>>("_scatter_minus_scalar", "scalar_cuda",
                                                         DeviceType::gpu);
}

}  // namespace loomix::ops
