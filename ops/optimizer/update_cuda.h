// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "ops/cuda/arrays.h"
#include "ops/cuda/stream.h"
#include "ops/optimizer/step_factor.h"
#include "ops/optimizer/update_rules.h"

// Update rules on devices: one launch for many weights, whose arrays stand in a table that is a parameter of the kernel.
// Arrays of all types but float64 are computed in float, by one kernel a rule.
namespace loomix::cuda {

// A floating array that is read and written as numbers of type A: double, or float for the smaller types.
template <class A>
struct NumberArray {
  void* data = nullptr;
  DType dtype = DType::unknown;

  NumberArray() = default;
  NumberArray(const TensorView& view) : data(view.data), dtype(view.dtype) {}
  __device__ A get(int64_t i) const {
    if constexpr (std::is_same_v<A, float>) {
      if (dtype == DType::float32) return static_cast<const float*>(data)[i];
    }
    return static_cast<A>(any()[i]);
  }
  __device__ void set(int64_t i, A value) const {
    if constexpr (std::is_same_v<A, float>) {
      if (dtype == DType::float32) {
        static_cast<float*>(data)[i] = value;
        return;
      }
    }
    switch (dtype) {
      case DType::float64: static_cast<double*>(data)[i] = static_cast<double>(value); break;
      case DType::float16:
        static_cast<float16*>(data)[i] = half_of<float16>(static_cast<float>(value));
        break;
      case DType::bfloat16:
        static_cast<bfloat16*>(data)[i] = half_of<bfloat16>(static_cast<float>(value));
        break;
      default: static_cast<float*>(data)[i] = static_cast<float>(value); break;
    }
  }

 private:
  __device__ AnyArray any() const {
    AnyArray array;
    array.data = data;
    array.dtype = dtype;
    return array;
  }
};

// Scalars that lie on the device: rates and decays of weights, a scale of gradients, and a factor of that. A scale that is not
// finite, or zero, skips the step.
struct UpdateScalars {
  AnyArray rates, decays, scale;
  const float* factor = ops::StepFactor::current();
  UpdateScalars() : rates(TensorView()), decays(TensorView()), scale(TensorView()) {}
};

// One weight. With `weight32` the weight is kept there, and changes with the output.
template <class Rule, class A>
struct UpdateItem {
  Rule rule;
  NumberArray<A> weight, grad, out;
  NumberArray<A> states[Rule::kStates > 0 ? Rule::kStates : 1];
  float* weight32;
  int64_t count;
  int place;  // of the weight among all, for rates
};

template <class Rule, class A, int kItems>
struct UpdateTable {
  UpdateItem<Rule, A> item[kItems];
  int first_block[kItems + 1];
  int items;
};

inline constexpr int kUpdateThreads = 256;
inline constexpr int64_t kUpdatesABlock = 4 * kUpdateThreads;

template <class Rule, class A>
__device__ void update_element(const UpdateItem<Rule, A>& item, const Rule& rule, int64_t i,
                               int64_t of_grad) {
  A s[3] = {};
#pragma unroll
  for (int k = 0; k < Rule::kStates; ++k) s[k] = item.states[k].get(i);
  const A w = item.weight32 != nullptr ? static_cast<A>(item.weight32[i]) : item.weight.get(i);
  const A next = rule(w, item.grad.get(of_grad), s);
#pragma unroll
  for (int k = 0; k < Rule::kStates; ++k) item.states[k].set(i, s[k]);
  if (item.weight32 != nullptr) item.weight32[i] = static_cast<float>(next);
  item.out.set(i, next);
}

template <class Rule, class A, int kItems>
__global__ void update_weights(UpdateTable<Rule, A, kItems> table, UpdateScalars scalars) {
  const int block = static_cast<int>(blockIdx.x);
  int number = 0;
  while (number + 1 < table.items && table.first_block[number + 1] <= block) ++number;
  const UpdateItem<Rule, A>& item = table.item[number];
  Rule rule = item.rule;
  bool skips = false;
  if constexpr (requires { rule.lr, rule.wd; }) {
    if (scalars.rates.data != nullptr) rule.lr = static_cast<A>(scalars.rates[item.place]);
    if (scalars.decays.data != nullptr) rule.wd = static_cast<A>(scalars.decays[item.place]);
  }
  if constexpr (requires { rule.rescale.scale; }) {
    if (scalars.scale.data != nullptr) {
      const float scale = static_cast<float>(scalars.scale[0]);
      rule.rescale.scale = static_cast<A>(scale);
      skips = scale == 0 || !(scale - scale == 0);
    }
  }
  if (scalars.factor != nullptr) {
    const float factor = *scalars.factor;
    if constexpr (requires { rule.rescale.scale; }) rule.rescale.scale *= static_cast<A>(factor);
    skips = skips || factor == 0 || !(factor - factor == 0);
  }
  const int blocks = table.first_block[number + 1] - table.first_block[number];
  const int64_t step = static_cast<int64_t>(blocks) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(block - table.first_block[number]) * blockDim.x + threadIdx.x;
       i < item.count; i += step) {
    if (skips) item.out.set(i, item.weight.get(i));
    else update_element(item, rule, i, i);
  }
}

// Collects weights, and puts them onto the stream as often as the table is full.
template <class Rule, class A, int kItems>
class Updater {
 public:
  Updater(const UpdateScalars& scalars, cudaStream_t stream) : scalars_(scalars), stream_(stream) {}
  Updater(const Updater&) = delete;
  Updater& operator=(const Updater&) = delete;

  void add(const Rule& rule, const TensorView& weight, const TensorView& grad,
           std::span<const TensorView> states, const TensorView* weight32, const TensorView& out, int place) {
    if (out.size() == 0) return;
    if (count_ == kItems) flush();
    UpdateItem<Rule, A>& item = table().item[count_];
    item = UpdateItem<Rule, A>{
        rule, weight, grad, out, {}, weight32 ? weight32->mutable_as<float>() : nullptr, out.size(), place};
    for (size_t k = 0; k < states.size(); ++k) item.states[k] = states[k];
    constexpr int64_t kMostBlocks = 1 << 16;
    const int64_t blocks = std::clamp<int64_t>(ceil_divide(out.size(), kUpdatesABlock), 1, kMostBlocks);
    table().first_block[count_ + 1] = table().first_block[count_] + static_cast<int>(blocks);
    ++count_;
  }
  void flush() {
    if (count_ == 0) return;
    table().items = count_;
    const Grid grid{static_cast<unsigned>(table().first_block[count_]), kUpdateThreads};
    launch(update_weights<Rule, A, kItems>, grid, stream_, table(), scalars_);
    count_ = 0;
  }

 private:
  using Table = UpdateTable<Rule, A, kItems>;
  Table& table() { return *reinterpret_cast<Table*>(memory_); }  // rules have no default

  alignas(Table) std::byte memory_[sizeof(Table)] = {};
  int count_ = 0;
  UpdateScalars scalars_;
  cudaStream_t stream_;
};

// Kernels take 4 KB of parameters.
template <class Rule, class A>
inline constexpr int kUpdateItems = static_cast<int>(3840 / (sizeof(UpdateItem<Rule, A>) + sizeof(int)));

}  // namespace loomix::cuda
