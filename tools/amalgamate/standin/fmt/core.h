// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

// What the sources use of fmt: `{}` and printf's flags, width, precision and letter in `{:...}`.
namespace fmt {

class Value {
 public:
  enum class Kind : uint8_t { integer, natural, real, text };
  template <class T>
  Value(const T& value) {  // NOLINT: an argument becomes one silently
    if constexpr (std::is_same_v<T, bool>) kind = Kind::text, text = value ? "true" : "false";
    else if constexpr (std::is_same_v<T, char>) kind = Kind::text, text = std::string_view(&value, 1);
    else if constexpr (std::is_floating_point_v<T>)
      kind = Kind::real, real = static_cast<double>(value), single = std::is_same_v<T, float>;
    else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>)
      kind = Kind::natural, integer = static_cast<int64_t>(value);
    else if constexpr (std::is_integral_v<T>) kind = Kind::integer, integer = static_cast<int64_t>(value);
    else kind = Kind::text, text = value;
  }
  void print(std::string_view spec, std::string& to) const;

 private:
  Kind kind = Kind::integer;
  bool single = false;
  int64_t integer = 0;
  double real = 0;
  std::string_view text;
};

std::string format_values(std::string_view format, std::initializer_list<Value> values);

template <class... Args>
using format_string = std::string_view;

template <class... Args>
std::string format(std::string_view format, const Args&... args) {
  return format_values(format, {Value(args)...});
}

}  // namespace fmt
