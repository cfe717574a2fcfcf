// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/device/cuda/element.h"
#include "ndarray/tensor_view.h"

// Arrays whose type is known when the kernel runs, for kernels that are compiled once for several types. All are read by [i].
namespace loomix::cuda {

// Those with a kPack also read as many neighbours, from places that are multiples of kPack: by one access of 16 bytes where `aligned`.
template <class T>
struct FloatArray {
  static constexpr int kPack = 16 / sizeof(T);
  const T* data;
  __device__ T operator[](int64_t i) const { return data[i]; }
  __device__ void read(int64_t at, bool aligned, T (&to)[kPack]) const {
    if (aligned) {
      const uint4 words = *reinterpret_cast<const uint4*>(data + at);
      __builtin_memcpy(to, &words, sizeof(words));
      return;
    }
#pragma unroll
    for (int k = 0; k < kPack; ++k) to[k] = data[at + k];
  }
};

// float16 or bfloat16, as float.
struct HalfArray {
  static constexpr int kPack = 8;
  const uint16_t* data;
  bool is_bfloat16;
  __device__ float operator[](int64_t i) const { return number(data[i]); }
  __device__ void read(int64_t at, bool aligned, float (&to)[kPack]) const {
    uint16_t bits[kPack];
    if (aligned) {
      const uint4 words = *reinterpret_cast<const uint4*>(data + at);
      __builtin_memcpy(bits, &words, sizeof(words));
    } else {
#pragma unroll
      for (int k = 0; k < kPack; ++k) bits[k] = data[at + k];
    }
#pragma unroll
    for (int k = 0; k < kPack; ++k) to[k] = number(bits[k]);
  }

 private:
  __device__ float number(uint16_t bits) const {
    if (is_bfloat16) {
      bfloat16 x;
      x.bits = bits;
      return to_float(x);
    }
    float16 x;
    x.bits = bits;
    return to_float(x);
  }
};

inline bool is_aligned_to_packs(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }

// Any type, as double: for labels, lengths, parameters and other small arrays.
struct AnyArray {
  const void* data;
  DType dtype;

  AnyArray() = default;
  explicit AnyArray(const TensorView& view) : data(view.data), dtype(view.dtype) {}
  __device__ double operator[](int64_t i) const {
    switch (dtype) {
      case DType::float32: return static_cast<const float*>(data)[i];
      case DType::float64: return static_cast<const double*>(data)[i];
      case DType::float16:
      case DType::bfloat16: return HalfArray{static_cast<const uint16_t*>(data), dtype == DType::bfloat16}[i];
      default: return static_cast<double>(IntegerArray{data, dtype}[i]);
    }
  }
  // Towards zero, as whole_number() of the CPU's kernels.
  __device__ int64_t whole(int64_t i) const {
    if (dtype == DType::int64) return static_cast<const int64_t*>(data)[i];
    constexpr double kMost = 0x1p62;
    const double number = (*this)[i];
    return static_cast<int64_t>(number > kMost ? kMost : number > -kMost ? number : -kMost);
  }
};

struct MutableAnyArray {
  void* data;
  DType dtype;

  MutableAnyArray() = default;
  explicit MutableAnyArray(const TensorView& view) : data(view.data), dtype(view.dtype) {}
  // By the rules of convert().
  template <class C>
  __device__ void set(int64_t i, C value) const {
    switch (dtype) {
      case DType::float32: static_cast<float*>(data)[i] = static_cast<float>(value); break;
      case DType::float64: static_cast<double*>(data)[i] = static_cast<double>(value); break;
      case DType::float16:
        static_cast<float16*>(data)[i] = half_of<float16>(static_cast<float>(value));
        break;
      case DType::bfloat16:
        static_cast<bfloat16*>(data)[i] = half_of<bfloat16>(static_cast<float>(value));
        break;
      case DType::int64: static_cast<int64_t*>(data)[i] = convert<int64_t>(value); break;
      case DType::int32: static_cast<int32_t*>(data)[i] = convert<int32_t>(value); break;
      case DType::int8: static_cast<int8_t*>(data)[i] = convert<int8_t>(value); break;
      case DType::boolean: static_cast<uint8_t*>(data)[i] = value != 0; break;
      default: static_cast<uint8_t*>(data)[i] = convert<uint8_t>(value); break;
    }
  }
  // A result that was computed in double: integers get the nearest number that they hold.
  __device__ void set_result(int64_t i, double value) const {
    if (is_floating(dtype)) set(i, value);
    else MutableIntegerArray{data, dtype}.set(i, value);
  }
};

}  // namespace loomix::cuda
