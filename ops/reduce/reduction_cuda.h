// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/cuda/arrays.h"
#include "ops/cuda/fold.h"
#include "ops/cuda/math.h"
#include "ops/reduce/reductions.h"

// The kernels of one reduction for all types. Several files share the instantiations, which take long to compile.
namespace loomix::cuda {

template <class F, class A, class Input>
struct Reducing {
  using Acc = A;
  Input x;
  __device__ A init() const { return F::init(Math{}, A{0}); }
  __device__ A add(A acc, int64_t at, int64_t) const { return F::fold(Math{}, acc, static_cast<A>(x[at])); }
  __device__ A merge(A a, A b) const { return F::merge(Math{}, a, b); }
};

template <class F, class A, class Input>
struct PackReducing : Reducing<F, A, Input> {
  static constexpr int kPack = Input::kPack;
  bool aligned;
  __device__ A add_pack(A acc, int64_t at, int64_t) const {
    std::remove_cvref_t<decltype(this->x[0])> items[kPack];
    this->x.read(at, aligned, items);
#pragma unroll
    for (int k = 0; k < kPack; ++k) acc = F::fold(Math{}, acc, static_cast<A>(items[k]));
    return acc;
  }
};

struct PutFinished {
  MutableAnyArray y;
  ops::Finish finish;
  int64_t elements;

  template <class A>
  __device__ void operator()(int64_t output, A acc) const {
    if (finish == ops::Finish::none) return y.set(output, acc);
    const double value = static_cast<double>(acc);
    y.set_result(output, finish == ops::Finish::mean ? value / static_cast<double>(elements) : ::sqrt(value));
  }
};

// fn(array, Type<accumulator>) with x as one of four kinds of arrays.
template <class Fn>
void with_array(const TensorView& x, Fn&& fn) {
  switch (x.dtype) {
    case DType::float32: return fn(FloatArray<float>{x.as<float>()}, Type<double>{});
    case DType::float64: return fn(FloatArray<double>{x.as<double>()}, Type<double>{});
    case DType::float16:
    case DType::bfloat16:
      return fn(HalfArray{static_cast<const uint16_t*>(x.data), x.dtype == DType::bfloat16}, Type<float>{});
    default: return fn(IntegerArray{x.data, x.dtype}, Type<int64_t>{});
  }
}

template <class F>
void run_reduction(const FoldPlan& plan, ops::Finish finish, const TensorView& x, const TensorView& y,
                   std::span<std::byte> scratch, cudaStream_t stream) {
  const PutFinished put{MutableAnyArray(y), finish, plan.items()};
  with_array(x, [&]<class Input, class A>(const Input& input, Type<A>) {
    const Reducing<F, A, Input> fold{input};
    if constexpr (requires { Input::kPack; })
      run_fold(plan, PackReducing<F, A, Input>{fold, is_aligned_to_packs(x.data)}, put, scratch, stream);
    else run_fold(plan, fold, put, scratch, stream);
  });
}

extern template void run_reduction<ops::fn::Sum>(const FoldPlan&, ops::Finish, const TensorView&,
                                                 const TensorView&, std::span<std::byte>, cudaStream_t);
extern template void run_reduction<ops::fn::SquareSum>(const FoldPlan&, ops::Finish, const TensorView&,
                                                       const TensorView&, std::span<std::byte>, cudaStream_t);
extern template void run_reduction<ops::fn::AbsSum>(const FoldPlan&, ops::Finish, const TensorView&,
                                                    const TensorView&, std::span<std::byte>, cudaStream_t);
extern template void run_reduction<ops::fn::NanSum>(const FoldPlan&, ops::Finish, const TensorView&,
                                                    const TensorView&, std::span<std::byte>, cudaStream_t);
extern template void run_reduction<ops::fn::Prod>(const FoldPlan&, ops::Finish, const TensorView&,
                                                  const TensorView&, std::span<std::byte>, cudaStream_t);
extern template void run_reduction<ops::fn::NanProd>(const FoldPlan&, ops::Finish, const TensorView&,
                                                     const TensorView&, std::span<std::byte>, cudaStream_t);
extern template void run_reduction<ops::fn::Max>(const FoldPlan&, ops::Finish, const TensorView&,
                                                 const TensorView&, std::span<std::byte>, cudaStream_t);
extern template void run_reduction<ops::fn::Min>(const FoldPlan&, ops::Finish, const TensorView&,
                                                 const TensorView&, std::span<std::byte>, cudaStream_t);

}  // namespace loomix::cuda
