// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reduce_cuda.h"

#include "ops/reduce/reduction_cuda.h"

namespace loomix::cuda {

using ops::AxisSet;
using ops::Finish;

namespace {

// Sums of distances from one element of the output, and of their squares: one pass gives mean and variance.
struct Shifted {
  double sum, squares, origin;
};
template <class Input>
struct Moments {
  using Acc = Shifted;
  Input x;
  Places<1> kept;
  __device__ Acc init() const { return {0, 0, 0}; }
  __device__ double origin_of(int64_t output) const {
    int64_t at[1];
    kept.of(output, at);
    const double origin = static_cast<double>(x[at[0]]);
    return origin - origin == 0 ? origin : 0;
  }
  __device__ Acc add(Acc acc, int64_t at, int64_t output) const {
    const double origin = origin_of(output);
    const double distance = static_cast<double>(x[at]) - origin;
    return {acc.sum + distance, acc.squares + distance * distance, origin};
  }
  __device__ Acc merge(Acc a, Acc b) const {
    return {a.sum + b.sum, a.squares + b.squares, a.origin != 0 ? a.origin : b.origin};
  }
};
template <class Input>
struct PackMoments : Moments<Input> {
  static constexpr int kPack = Input::kPack;
  bool aligned;
  __device__ Shifted add_pack(Shifted acc, int64_t at, int64_t output) const {
    std::remove_cvref_t<decltype(this->x[0])> items[kPack];
    this->x.read(at, aligned, items);
    acc.origin = this->origin_of(output);
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const double distance = static_cast<double>(items[k]) - acc.origin;
      acc.sum += distance;
      acc.squares += distance * distance;
    }
    return acc;
  }
};

struct PutMoments {
  MutableAnyArray mean, variance;  // of which one may have no data
  double elements;

  __device__ void operator()(int64_t output, Shifted acc) const {
    const double distance = acc.sum / elements;
    const double square = acc.squares / elements - distance * distance;
    if (mean.data != nullptr) mean.set_result(output, acc.origin + distance);
    if (variance.data != nullptr) variance.set_result(output, square < 0 ? 0 : square);
  }
};

}  // namespace

bool can_reduce(const Shape& x, const AxisSet& axes) { return FoldPlan(x, axes).fits(); }

size_t reduce_scratch(const Shape& x, const AxisSet& axes) {
  return FoldPlan(x, axes).scratch_bytes(sizeof(double));
}

void reduce_array(ops::Reduction op, Finish finish, const TensorView& x, const AxisSet& axes,
                  const TensorView& y, std::span<std::byte> scratch, cudaStream_t stream) {
  if (y.size() == 0) return;
  const FoldPlan plan(x.shape, axes);
  const auto one = [&]<class F, Finish own, class Gradient>(const ops::ReduceOp<F, own, Gradient>&) {
    if constexpr (!std::is_same_v<F, ops::fn::SquareDistanceSum>) {  // moments_array() has its own way
      if (ops::reduction_code<F> != op) return false;
      run_reduction<F>(plan, finish, x, y, scratch, stream);
      return true;
    } else {
      return false;
    }
  };
  std::apply([&](const auto&... each) { static_cast<void>((one(each) || ...)); }, ops::kReductions);
}

size_t moments_scratch(const Shape& x, const AxisSet& axes) {
  return FoldPlan(x, axes).scratch_bytes(sizeof(Shifted));
}

void moments_array(const TensorView& x, const AxisSet& axes, const TensorView& mean,
                   const TensorView& variance, std::span<std::byte> scratch, cudaStream_t stream) {
  const FoldPlan plan(x.shape, axes);
  const PutMoments put{MutableAnyArray(mean), MutableAnyArray(variance), static_cast<double>(plan.items())};
  with_array(x, [&]<class Input, class A>(const Input& input, Type<A>) {
    const Moments<Input> fold{input, plan.geometry().kept};
    if constexpr (requires { Input::kPack; })
      run_fold(plan, PackMoments<Input>{fold, is_aligned_to_packs(x.data)}, put, scratch, stream);
    else run_fold(plan, fold, put, scratch, stream);
  });
}

}  // namespace loomix::cuda
