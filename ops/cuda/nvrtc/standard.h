// SPDX-License-Identifier: Apache-2.0
#pragma once

// What sources that NVRTC compiles use of the language's headers, of cuda_fp16.h and of base/dtype.h: on a user's machine there are
// none. The compiler is given this file under all their names (ops/cuda/compiler_nvrtc.cc).

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long long;
using uint64_t = unsigned long long;
using uintptr_t = unsigned long long;

namespace std {

template <bool, class A, class>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool condition, class A, class B>
using conditional_t = typename conditional<condition, A, B>::type;

template <class, class>
inline constexpr bool is_same_v = false;
template <class T>
inline constexpr bool is_same_v<T, T> = true;

template <class T>
inline constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;
template <class T>
inline constexpr bool is_integral_v =
    is_same_v<T, bool> || is_same_v<T, char> || is_same_v<T, int8_t> || is_same_v<T, uint8_t> ||
    is_same_v<T, int16_t> || is_same_v<T, uint16_t> || is_same_v<T, int32_t> || is_same_v<T, uint32_t> ||
    is_same_v<T, long> || is_same_v<T, unsigned long> || is_same_v<T, int64_t> || is_same_v<T, uint64_t>;
template <class T>
inline constexpr bool is_signed_v = T(-1) < T(0);
template <class T>
inline constexpr bool is_unsigned_v = is_integral_v<T> && !is_signed_v<T>;

template <class T>
concept floating_point = is_floating_point_v<T>;
template <class T>
concept integral = is_integral_v<T>;

template <class T>
struct numeric_limits {  // of integers
  static constexpr T max() { return is_signed_v<T> ? T((uint64_t(1) << (8 * sizeof(T) - 1)) - 1) : T(-1); }
  static constexpr T min() { return is_signed_v<T> ? T(-max() - 1) : T(0); }
};
template <>
struct numeric_limits<float> {
  static constexpr float max() { return 3.40282346638528859812e+38f; }
};
template <>
struct numeric_limits<double> {
  static constexpr double max() { return 1.79769313486231570815e+308; }
  static constexpr double infinity() { return __builtin_bit_cast(double, uint64_t(0x7ff0000000000000)); }
  static constexpr double quiet_NaN() { return __builtin_bit_cast(double, uint64_t(0x7ff8000000000000)); }
};

}  // namespace std

inline __device__ uint16_t __ushort_as_half(uint16_t bits) { return bits; }
inline __device__ uint16_t __half_as_ushort(uint16_t bits) { return bits; }
inline __device__ float __half2float(uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
inline __device__ uint16_t __float2half_rn(float value) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

namespace loomix {

struct float16 {
  uint16_t bits;
};
struct bfloat16 {
  uint16_t bits;
};

enum class DType : int8_t { unknown, int64, int32, int8, uint8, boolean };  // its numbers stay in here

template <class T>
constexpr DType dtype_of() {
  return std::is_same_v<T, int64_t>   ? DType::int64
         : std::is_same_v<T, int32_t> ? DType::int32
         : std::is_same_v<T, int8_t>  ? DType::int8
         : std::is_same_v<T, uint8_t> ? DType::uint8
         : std::is_same_v<T, bool>    ? DType::boolean
                                      : DType::unknown;
}

}  // namespace loomix
