// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace loomix {

// Base of everything that Loomix throws. The text has the form
// `[who] what was wrong; what was given; what is allowed.`; layers above append context (operator, node, shapes,
// the Python line that pushed the work) without changing the exception's type.
class Error : public std::exception {
 public:
  explicit Error(std::string message) : text_(std::move(message)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  void add_context(std::string_view line) {
    text_ += '\n';
    text_ += line;
  }

 private:
  std::string text_;
};

// Each maps to a Python exception that is both MXNetError and the built-in named in the comment.
// clang-format off
class ValueError : public Error { using Error::Error; };           // ValueError
class ShapeError : public ValueError { using ValueError::ValueError; };  // ValueError
class TypeError : public Error { using Error::Error; };            // TypeError: dtype or argument kind
class IndexError : public Error { using Error::Error; };           // IndexError
class KeyError : public Error { using Error::Error; };             // KeyError: unknown name
class FileError : public Error { using Error::Error; };            // OSError: missing or damaged file
class DeviceError : public Error { using Error::Error; };          // RuntimeError: missing device, mixed devices
class MemoryError : public Error { using Error::Error; };          // MemoryError
class NetworkError : public Error { using Error::Error; };         // ConnectionError
class NotImplementedError : public Error { using Error::Error; };  // NotImplementedError
class StateError : public Error { using Error::Error; };           // RuntimeError: a call in the wrong order or place
class InternalError : public Error { using Error::Error; };        // RuntimeError: a broken invariant, our fault
class Interrupted : public Error { using Error::Error; };          // what a signal's handler raised: KeyboardInterrupt
// clang-format on

namespace detail {
template <class E, class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void throw_error(fmt::format_string<Args...> format, Args&&... args) {
  throw E(fmt::format(format, std::forward<Args>(args)...));
}
[[noreturn]] void throw_internal(const char* condition, const char* file, int line);
}  // namespace detail

}  // namespace loomix

// LOOMIX_CHECK(cond, ShapeError, "[dot] ... {}", x): a user's mistake.
#define LOOMIX_CHECK(condition, Type, ...)              \
  do {                                                  \
    if (!(condition)) [[unlikely]]                      \
      ::loomix::detail::throw_error<Type>(__VA_ARGS__); \
  } while (false)

// A broken invariant; cannot be reached by user input.
#define LOOMIX_INTERNAL_CHECK(condition)                                \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::loomix::detail::throw_internal(#condition, __FILE__, __LINE__); \
  } while (false)
