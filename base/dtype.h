// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace loomix {

// IEEE binary16, stored as bits. Arithmetic goes through float; arrays are converted in bulk by ops/cpu kernels.
struct float16 {
  uint16_t bits = 0;
  float16() = default;
  explicit float16(float value) noexcept : bits(from_float(value)) {}
  operator float() const noexcept { return to_float(bits); }
  static uint16_t from_float(float value) noexcept;
  static float to_float(uint16_t bits) noexcept;
};

// The upper half of a float32, rounded to nearest even.
struct bfloat16 {
  uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float value) noexcept : bits(from_float(value)) {}
  operator float() const noexcept { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static uint16_t from_float(float value) noexcept {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u)
      return static_cast<uint16_t>((word >> 16) | 0x40u);  // keep NaN a NaN
    return static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
};

inline float float16::to_float(uint16_t bits) noexcept {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent_mantissa = static_cast<uint32_t>(bits & 0x7fffu) << 13;
  if (exponent_mantissa >= 0x0f800000u) {  // infinity or NaN
    return std::bit_cast<float>(sign | (exponent_mantissa + 0x70000000u));
  }
  // Scaling by 2^112 re-biases the exponent and is exact for subnormals, too.
  const float magnitude = std::bit_cast<float>(exponent_mantissa) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

inline uint16_t float16::from_float(float value) noexcept {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (word >> 16) & 0x8000u;
  const uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to infinity
  if (magnitude < 0x38800000u) {  // subnormal: let the float adder round at the right bit
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - 0x3f000000u));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

// The numbers are MXNet's, as stored in files and attributes.
enum class DType : int8_t {
  unknown = -1,
  float32 = 0,
  float64 = 1,
  float16 = 2,
  uint8 = 3,
  int32 = 4,
  int8 = 5,
  int64 = 6,
  boolean = 7,
  bfloat16 = 12,
};

namespace detail {
// Bytes an element by the type's number; 0 for numbers that are no type.
inline constexpr int8_t kElementBytes[] = {4, 8, 2, 1, 4, 1, 8, 1, 0, 0, 0, 0, 2};
[[noreturn]] void throw_no_size(DType dtype);
}  // namespace detail

// Bytes an element; throws TypeError for unknown.
inline int64_t size_of(DType dtype) {
  const auto number = static_cast<size_t>(dtype);
  if (number >= std::size(detail::kElementBytes) || detail::kElementBytes[number] == 0) [[unlikely]]
    detail::throw_no_size(dtype);
  return detail::kElementBytes[number];
}
std::string_view name_of(DType dtype);     // NumPy's name: "float32", "bool", "bfloat16"; "None" for unknown
DType parse_dtype(std::string_view name);  // throws TypeError that lists the names
bool is_valid(DType dtype);                // one of the nine real types
constexpr bool is_floating(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::float16 ||
         dtype == DType::bfloat16;
}

// A set of types; DType::unknown is in none.
class DTypeSet {
 public:
  constexpr DTypeSet(std::initializer_list<DType> types) {
    for (const DType dtype : types) bits_ |= bit(dtype);
  }
  constexpr bool contains(DType dtype) const { return (bits_ & bit(dtype)) != 0; }
  bool operator==(const DTypeSet&) const = default;
  std::string to_string() const;  // "float16, float32"

 private:
  static constexpr uint32_t bit(DType dtype) {
    return dtype == DType::unknown ? 0 : 1u << static_cast<int>(dtype);
  }
  uint32_t bits_ = 0;
};

inline constexpr DTypeSet kFloatingTypes{DType::float16, DType::bfloat16, DType::float32, DType::float64};
inline constexpr DTypeSet kNumericTypes{DType::float16, DType::bfloat16, DType::float32, DType::float64,
                                        DType::uint8,   DType::int8,     DType::int32,   DType::int64};
inline constexpr DTypeSet kAllTypes{DType::float16, DType::bfloat16, DType::float32,
                                    DType::float64, DType::uint8,    DType::int8,
                                    DType::int32,   DType::int64,    DType::boolean};

template <class T>
struct Type {
  using type = T;
};

// The type that sums of T are kept in.
template <class T>
using Accum = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float,
                                 std::conditional_t<std::is_integral_v<T> && sizeof(T) < 8, int64_t, T>>;

template <class T>
constexpr DType dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>) return DType::float32;
  else if constexpr (std::is_same_v<U, double>) return DType::float64;
  else if constexpr (std::is_same_v<U, float16>) return DType::float16;
  else if constexpr (std::is_same_v<U, bfloat16>) return DType::bfloat16;
  else if constexpr (std::is_same_v<U, uint8_t>) return DType::uint8;
  else if constexpr (std::is_same_v<U, int8_t>) return DType::int8;
  else if constexpr (std::is_same_v<U, int32_t>) return DType::int32;
  else if constexpr (std::is_same_v<U, int64_t>) return DType::int64;
  else {
    static_assert(std::is_same_v<U, bool>, "no DType for this C++ type");
    return DType::boolean;
  }
}

namespace detail {
[[noreturn]] void throw_bad_dtype(DType dtype, const char* who, const char* allowed);
}

// Calls fn(Type<T>{}) with the C++ type of `dtype`; the result is fn's. `who` names the caller in the TypeError.
template <class Fn>
decltype(auto) dispatch_floating(DType dtype, const char* who, Fn&& fn) {
  switch (dtype) {
    case DType::float32: return fn(Type<float>{});
    case DType::float64: return fn(Type<double>{});
    case DType::float16: return fn(Type<float16>{});
    case DType::bfloat16: return fn(Type<bfloat16>{});
    default: detail::throw_bad_dtype(dtype, who, "float16, bfloat16, float32, float64");
  }
}

template <class Fn>
decltype(auto) dispatch_real(DType dtype, const char* who, Fn&& fn) {  // what BLAS and LAPACK compute in
  switch (dtype) {
    case DType::float32: return fn(Type<float>{});
    case DType::float64: return fn(Type<double>{});
    default: detail::throw_bad_dtype(dtype, who, "float32, float64");
  }
}

template <class Fn>
decltype(auto) dispatch_numeric(DType dtype, const char* who, Fn&& fn) {  // every type but bool
  switch (dtype) {
    case DType::float32: return fn(Type<float>{});
    case DType::float64: return fn(Type<double>{});
    case DType::float16: return fn(Type<float16>{});
    case DType::bfloat16: return fn(Type<bfloat16>{});
    case DType::uint8: return fn(Type<uint8_t>{});
    case DType::int8: return fn(Type<int8_t>{});
    case DType::int32: return fn(Type<int32_t>{});
    case DType::int64: return fn(Type<int64_t>{});
    default: detail::throw_bad_dtype(dtype, who, "the floating and integer types");
  }
}

template <class Fn>
decltype(auto) dispatch_all(DType dtype, const char* who, Fn&& fn) {
  if (dtype == DType::boolean) return fn(Type<bool>{});
  return dispatch_numeric(dtype, who, static_cast<Fn&&>(fn));
}

// For kernels that only move elements: fn gets an unsigned integer type of the element's size.
template <class Fn>
decltype(auto) dispatch_bits(DType dtype, Fn&& fn) {
  switch (size_of(dtype)) {
    case 1: return fn(Type<uint8_t>{});
    case 2: return fn(Type<uint16_t>{});
    case 4: return fn(Type<uint32_t>{});
    default: return fn(Type<uint64_t>{});
  }
}

}  // namespace loomix
