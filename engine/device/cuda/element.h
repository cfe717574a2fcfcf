// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/dtype.h"

#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

// Elements as device code sees them: memory holds a T, arithmetic is done in Computed<T>.
namespace loomix::cuda {

// Halves are computed in float, truth values as the bytes 0 and 1.
template <class T>
using Computed = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float,
                                    std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;

__host__ __device__ inline float to_float(float16 x) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(x.bits));
#else
  return float16::to_float(x.bits);
#endif
}
__host__ __device__ inline float to_float(bfloat16 x) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
#else
  return static_cast<float>(x);
#endif
}

template <class T>
__host__ __device__ inline T half_of(float value) {
  T x;
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<T, float16>) {
    x.bits = __half_as_ushort(__float2half_rn(value));
  } else {
    const unsigned word = __float_as_uint(value);
    x.bits = (word & 0x7fffffffu) > 0x7f800000u
                 ? static_cast<uint16_t>((word >> 16) | 0x40u)
                 : static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
#else
  x.bits = T::from_float(value);
#endif
  return x;
}

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

// The element as a number to compute with.
template <class T>
__host__ __device__ inline Computed<T> load(T x) {
  if constexpr (kIsHalf<T>) return to_float(x);
  else if constexpr (std::is_same_v<T, bool>) return x ? 1 : 0;
  else return x;
}

// A result of arithmetic in Computed<T>, or wider, as an element: halves are rounded to nearest even.
template <class T, class C>
__host__ __device__ inline T store(C value) {
  if constexpr (kIsHalf<T>) return half_of<T>(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, bool>) return value != 0;
  else return static_cast<T>(value);
}

// A number of any type as one of another, by the rules of the CPU's `convert_row`: floating numbers that no integer of the type
// holds are cut from the nearest int32 or int64, NaN is 0.
template <class To, class From>
__host__ __device__ inline To convert(From given) {
  const Computed<From> value = load(given);
  if constexpr (std::is_same_v<To, From>) {
    return given;
  } else if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool> &&
                       std::is_floating_point_v<Computed<From>>) {
    using Wide = std::conditional_t<sizeof(To) < 8, int32_t, int64_t>;
    constexpr auto kLimit = -static_cast<Computed<From>>(std::numeric_limits<Wide>::min());
    if (!(value < kLimit)) return value != value ? To(0) : static_cast<To>(std::numeric_limits<Wide>::max());
    if (value < -kLimit) return static_cast<To>(std::numeric_limits<Wide>::min());
    return static_cast<To>(static_cast<Wide>(value));
  } else {
    return store<To>(value);
  }
}

// An array of integers or truth values whose type is known when the kernel runs: such kernels are compiled once for all of
// them. Arithmetic in int64, cut to the type, is that in the type.
struct IntegerArray {
  const void* data;
  DType dtype;

  __host__ __device__ int64_t operator[](int64_t i) const {
    switch (dtype) {
      case DType::int64: return static_cast<const int64_t*>(data)[i];
      case DType::int32: return static_cast<const int32_t*>(data)[i];
      case DType::int8: return static_cast<const int8_t*>(data)[i];
      default: return static_cast<const uint8_t*>(data)[i];
    }
  }
};
struct MutableIntegerArray {
  void* data;
  DType dtype;

  __host__ __device__ void set(int64_t i, int64_t value) const {
    switch (dtype) {
      case DType::int64: static_cast<int64_t*>(data)[i] = value; break;
      case DType::int32: static_cast<int32_t*>(data)[i] = static_cast<int32_t>(value); break;
      case DType::int8: static_cast<int8_t*>(data)[i] = static_cast<int8_t>(value); break;
      case DType::boolean: static_cast<uint8_t*>(data)[i] = value != 0; break;
      default: static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(value); break;
    }
  }
  // A result that was computed in double: the nearest number of small types, else as convert().
  __host__ __device__ void set(int64_t i, double value) const {
    switch (dtype) {
      case DType::int64: static_cast<int64_t*>(data)[i] = convert<int64_t>(value); break;
      case DType::int32: static_cast<int32_t*>(data)[i] = convert<int32_t>(value); break;
      case DType::int8:
        static_cast<int8_t*>(data)[i] = convert<int8_t>(value < -128 ? -128.0 : value > 127 ? 127.0 : value);
        break;
      case DType::boolean: static_cast<uint8_t*>(data)[i] = value != 0; break;
      default:
        static_cast<uint8_t*>(data)[i] = convert<uint8_t>(value < 0 ? 0.0 : value > 255 ? 255.0 : value);
        break;
    }
  }
};

}  // namespace loomix::cuda
