// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "loomix/cpp/handle.h"

// Networks in C++20: arrays, blocks, training. Values that everything here uses.
namespace loomix::nn {

using cpp::Error;
using Device = cpp::Context;

inline Device cpu(int id = 0) { return Device::cpu(id); }
inline Device gpu(int id = 0) { return Device::gpu(id); }

enum class DType : int32_t {
  float32 = LOOMIX_FLOAT32,
  float64 = LOOMIX_FLOAT64,
  float16 = LOOMIX_FLOAT16,
  uint8 = LOOMIX_UINT8,
  int32 = LOOMIX_INT32,
  int8 = LOOMIX_INT8,
  int64 = LOOMIX_INT64,
  boolean = LOOMIX_BOOL,
  bfloat16 = LOOMIX_BFLOAT16
};

inline const char* name_of(DType type) {
  switch (type) {
    case DType::float32: return "float32";
    case DType::float64: return "float64";
    case DType::float16: return "float16";
    case DType::uint8: return "uint8";
    case DType::int32: return "int32";
    case DType::int8: return "int8";
    case DType::int64: return "int64";
    case DType::boolean: return "bool";
    case DType::bfloat16: return "bfloat16";
  }
  return "unknown";
}

inline int64_t bytes_of(DType type) {
  switch (type) {
    case DType::float64:
    case DType::int64: return 8;
    case DType::float32:
    case DType::int32: return 4;
    case DType::float16:
    case DType::bfloat16: return 2;
    default: return 1;
  }
}

inline bool is_floating(DType type) {
  return type == DType::float32 || type == DType::float64 || type == DType::float16 ||
         type == DType::bfloat16;
}

// The type of C++ elements.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  else if constexpr (std::is_same_v<T, double>) return DType::float64;
  else if constexpr (std::is_same_v<T, uint8_t>) return DType::uint8;
  else if constexpr (std::is_same_v<T, int32_t>) return DType::int32;
  else if constexpr (std::is_same_v<T, int8_t>) return DType::int8;
  else if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  else {
    static_assert(std::is_integral_v<T> && sizeof(T) == 8, "an array has no elements of this type");
    return DType::int64;
  }
}

// Sizes of axes. One number may stand for a list of one.
struct Shape {
  Shape() = default;
  Shape(int64_t size) : sizes{size} {}  // NOLINT: {.kernel = 3}
  Shape(int size) : sizes{size} {}      // NOLINT
  Shape(std::initializer_list<int64_t> list) : sizes(list) {}
  explicit Shape(std::vector<int64_t> list) : sizes(std::move(list)) {}

  size_t ndim() const { return sizes.size(); }
  bool empty() const { return sizes.empty(); }
  int64_t operator[](size_t axis) const { return sizes[axis]; }
  int64_t& operator[](size_t axis) { return sizes[axis]; }
  const int64_t* begin() const { return sizes.data(); }
  const int64_t* end() const { return sizes.data() + sizes.size(); }
  int64_t count() const {
    int64_t result = 1;
    for (const int64_t size : sizes) result *= size;
    return result;
  }
  friend bool operator==(const Shape&, const Shape&) = default;

  std::vector<int64_t> sizes;
};

namespace detail {

using cpp::detail::check;
using cpp::detail::Handle;

[[gnu::noinline]] inline std::string text(const char* value) { return value; }
[[gnu::noinline]] inline std::string text(const std::string& value) { return value; }
[[gnu::noinline]] inline std::string text(bool value) { return value ? "True" : "False"; }
[[gnu::noinline]] inline std::string text(int value) { return std::to_string(value); }
[[gnu::noinline]] inline std::string text(int64_t value) { return std::to_string(value); }
[[gnu::noinline]] inline std::string text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.17g", value);
  return buffer;
}
[[gnu::noinline]] inline std::string text(float value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", static_cast<double>(value));
  return buffer;
}
[[gnu::noinline]] inline std::string text(DType value) { return name_of(value); }
[[gnu::noinline]] inline std::string text(const Shape& shape) {
  std::string result = "(";
  for (size_t i = 0; i < shape.ndim(); ++i) result += (i ? ", " : "") + std::to_string(shape[i]);
  return result + (shape.ndim() == 1 ? ",)" : ")");
}
[[gnu::noinline]] inline std::string text(const Device& device) { return cpp::detail::text_of(device); }
[[gnu::noinline]] inline std::string text(const std::vector<double>& values) {
  std::string result = "(";
  for (const double value : values) result += text(value) + ",";
  return result + ")";
}

inline LoomixShape to_c(const Shape& from) {
  if (from.ndim() > LOOMIX_MAX_AXES) throw Error("[Shape] there are more than 32 axes.");
  LoomixShape shape;
  shape.axes = static_cast<int32_t>(from.ndim());
  for (size_t i = 0; i < from.ndim(); ++i) shape.sizes[i] = from[i];
  return shape;
}
inline Shape from_c(const LoomixShape& from) {
  return Shape(std::vector<int64_t>(from.sizes, from.sizes + (from.axes > 0 ? from.axes : 0)));
}

// A piece of an error's text; texts are only made when there is an error.
struct Piece {
  Piece(const char* from) : kind(Kind::text), chars(from) {}                 // NOLINT: they are listed
  Piece(const std::string& from) : kind(Kind::text), chars(from.c_str()) {}  // NOLINT
  Piece(const Shape& from) : kind(Kind::shape), shape(&from) {}              // NOLINT
  Piece(int64_t from) : kind(Kind::number), number(from) {}                  // NOLINT
  Piece(size_t from) : Piece(static_cast<int64_t>(from)) {}                  // NOLINT
  Piece(int from) : Piece(int64_t{from}) {}                                  // NOLINT
  Piece(double from) : kind(Kind::real), real(from) {}                       // NOLINT
  enum class Kind { text, shape, number, real } kind;
  const char* chars = nullptr;
  const Shape* shape = nullptr;
  int64_t number = 0;
  double real = 0;
};
[[noreturn, gnu::noinline, gnu::cold]] inline void fail(std::initializer_list<Piece> pieces) {
  std::string message;
  for (const Piece& piece : pieces) {
    if (piece.kind == Piece::Kind::text) message += piece.chars;
    if (piece.kind == Piece::Kind::shape) message += text(*piece.shape);
    if (piece.kind == Piece::Kind::number) message += text(piece.number);
    if (piece.kind == Piece::Kind::real) message += text(piece.real);
  }
  throw Error(message);
}

}  // namespace detail

inline std::string to_string(const Shape& shape) { return detail::text(shape); }

// Seeds the generators of all devices.
inline void seed(uint64_t value) { detail::check(LoomixSeed(value)); }
// Waits until all that was pushed is done, and tells the first error that nobody was told yet.
inline void wait_all() { detail::check(LoomixWaitAll()); }
inline int count_gpus() {
  int gpus = 0;
  detail::check(LoomixGetInfo(nullptr, &gpus));
  return gpus;
}

}  // namespace loomix::nn
