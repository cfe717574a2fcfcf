// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/device/cuda/element.h"
#include "ops/activation/leaky_relu_functors.h"
#include "ops/cuda/divider.h"
#include "ops/cuda/math.h"
#include "ops/cuda/pack.h"
#include "ops/elemwise/binary_functors.h"
#include "ops/elemwise/integers_cuda.h"
#include "ops/elemwise/unary_functors.h"

// What the source of a fused pass is made of: expression_cuda.cc writes such sources, and the compiler for the device reads this
// file when a program runs. So it includes nothing but what compiler_nvrtc.cc has.
namespace loomix::cuda {

inline constexpr int kFusedAxes = 6;  // before the rows, that gathered inputs may have
inline constexpr int kFusedPlaces = 16;
inline constexpr int kFusedNumbers = 64;

struct FusedArguments {
  int64_t count = 0;
  const void* in[kFusedPlaces] = {};
  void* out[kFusedPlaces] = {};  // null: nobody wants it
  bool aligned = false;          // all whole arrays, to their packs
  Divider row;                   // elements of a row
  int ndim = 1;                  // axes before the rows
  Divider size[kFusedAxes];
  int64_t step[kFusedPlaces][kFusedAxes] = {};  // of gathered inputs
  double number[kFusedNumbers] = {};            // of steps, rounded to their types
};

// ---- places ---------------------------------------------------------------------------------------------------------

struct RowPlace {
  int64_t row, column;
};
__device__ inline RowPlace row_place(const FusedArguments& a, int64_t i) {
  const int64_t row = a.row.quotient(i);
  return {row, i - row * a.row.divisor()};
}

// Where the row's part of a gathered input begins.
__device__ inline int64_t gathered(const FusedArguments& a, int input, int64_t row) {
  int64_t offset = 0;
  for (int axis = a.ndim - 1; axis > 0; --axis) {
    const int64_t rest = a.size[axis].quotient(row);
    offset += (row - rest * a.size[axis].divisor()) * a.step[input][axis];
    row = rest;
  }
  return offset + row * a.step[input][0];
}

template <class T>
__device__ Computed<T> item(const FusedArguments& a, int input, int64_t at) {
  return load(static_cast<const T*>(a.in[input])[at]);
}

// Of a pack that goes beyond the end the last element stands for the rest.
template <class T, int kItems>
__device__ Pack<T, kItems> read_items(const FusedArguments& a, int input, int64_t first, bool whole) {
  const T* const from = static_cast<const T*>(a.in[input]);
  if (whole) return *reinterpret_cast<const Pack<T, kItems>*>(from + first);
  Pack<T, kItems> pack;
#pragma unroll
  for (int k = 0; k < kItems; ++k) pack.item[k] = from[first + k < a.count ? first + k : a.count - 1];
  return pack;
}

template <class T, int kItems>
__device__ void write_items(const FusedArguments& a, int output, int64_t first, bool whole,
                            const Pack<T, kItems>& pack) {
  T* const to = static_cast<T*>(a.out[output]);
  if (to == nullptr) return;
  if (whole) {
    *reinterpret_cast<Pack<T, kItems>*>(to + first) = pack;
    return;
  }
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (first + k < a.count) to[first + k] = pack.item[k];
  }
}

// ---- steps: T is the type of the result -----------------------------------------------------------------------------

template <class T>
__device__ Computed<T> number(const FusedArguments& a, int i) {
  if constexpr (std::is_floating_point_v<Computed<T>>) return static_cast<Computed<T>>(a.number[i]);
  else return load(convert<T>(a.number[i]));
}

template <class F, class T, class... X>
__device__ Computed<T> apply(X... x) {
  using C = Computed<T>;
  if constexpr (std::is_floating_point_v<C>) {
    return F::f(Math{}, static_cast<C>(x)...);
  } else {
    T result;
    put_integer<F>(MutableIntegerArray{&result, dtype_of<T>()}, 0, static_cast<int64_t>(x)...);
    return load(result);
  }
}

template <class F, class T>
__device__ Computed<T> slope_times(Computed<T> g, Computed<T> x, Computed<T> slope) {
  return g * F::derivative(Math{}, x, slope);
}

template <class T>
__device__ Computed<T> clipped(Computed<T> x, Computed<T> low, Computed<T> high) {
  return apply<ops::fn::Minimum, T>(apply<ops::fn::Maximum, T>(x, low), high);
}

template <class T>
__device__ Computed<T> hard_sigmoid(Computed<T> x, Computed<T> slope, Computed<T> shift) {
  return clipped<T>(x * slope + shift, Computed<T>(0), Computed<T>(1));
}

// Rounded to T, also where that is a half type.
template <class T, class X>
__device__ Computed<T> cast(X x) {
  return load(convert<T>(x));
}

}  // namespace loomix::cuda
