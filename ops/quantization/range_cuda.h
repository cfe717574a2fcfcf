// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/cuda/report.h"
#include "ops/quantization/quantization.h"

// Ranges of whole numbers where they lie on the device. What follows from them is worked out by one thread in front of the pass over
// the array, and left in scratch memory.
namespace loomix::cuda {

struct RangeInput {
  const float* low;
  const float* high;
  // Reports what the host refuses, and goes on with an empty range.
  __device__ ops::Range get(int64_t* fault) const {
    const float a = *low, b = *high;
    if (a - a == 0 && b - b == 0 && a <= b) return {a, b};
    report(fault);
    return {};
  }
};
inline RangeInput range_input(const ops::KernelArgs& args, size_t low) {
  return {args.in[low].as<float>(), args.in[low + 1].as<float>()};
}

struct RangeOutput {
  float* low;
  float* high;
  __device__ void put(ops::Range range) const {
    if (low != nullptr) *low = range.low;
    if (high != nullptr) *high = range.high;
  }
};
inline RangeOutput range_output(const ops::KernelArgs& args) {
  return {args.wanted<float>(1), args.wanted<float>(2)};
}

// Throws what the host throws for the ranges whose lower ends are these inputs.
inline void explain_ranges(const ops::KernelArgs& args, std::initializer_list<size_t> ranges,
                           const char* who) {
  for (const size_t low : ranges) {
    const HostCopy first(args.in[low]), last(args.in[low + 1]);
    ops::checked_range(*first.view().as<float>(), *last.view().as<float>(), who);
  }
}

// Whether the inputs from `first` on, which are ranges, are of whole arrays.
inline ops::Support one_range_each(const ops::KernelSpec& spec, size_t first) {
  for (size_t i = first; i < spec.in.size(); ++i) {
    if (spec.in[i].size() != 1) return ops::Support::no("rows have a range each");
  }
  return ops::Support::yes();
}

template <class Fn>
__global__ void once_kernel(Fn fn) {
  fn();
}
// fn() by one thread.
template <class Fn>
void launch_once(cudaStream_t stream, Fn fn) {
  launch(once_kernel<Fn>, Grid{}, stream, fn);
}

// Scratch memory for what that thread works out.
inline constexpr size_t kRangeScratch = 64;
inline size_t range_scratch(const ops::KernelSpec&) { return kRangeScratch; }
template <class T>
T* scratch_as(const ops::KernelArgs& args) {
  static_assert(sizeof(T) <= kRangeScratch);
  return reinterpret_cast<T*>(args.scratch.data());
}

__device__ inline int32_t whole_sum(double value) {
  return static_cast<int32_t>(::rint(min(max(value, -2147483647.0), 2147483647.0)));
}

}  // namespace loomix::cuda
