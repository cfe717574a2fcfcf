// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <version>

// What standard libraries of 2022 (that of Debian 12's Emscripten) lack of C++20, as far as the sources use it.
#if !defined(__cpp_lib_bit_cast)
namespace std {
template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}
}  // namespace std
#endif
#if !defined(__cpp_lib_smart_ptr_for_overwrite)
namespace std {
template <class T>
unique_ptr<T> make_unique_for_overwrite(size_t count) {
  return unique_ptr<T>(new remove_extent_t<T>[count]);
}
}  // namespace std
#endif
#if !defined(__cpp_lib_to_chars)
namespace std {
template <class T>
from_chars_result real_from_chars(const char* begin, const char* end, T& value) {
  const bool starts = begin != end && (*begin == '-' || *begin == '.' || isalnum(*begin));
  const string text(begin, end);
  char* stop = nullptr;
  const double read = starts && text.find_first_of("xXpP") == string::npos ? strtod(text.c_str(), &stop) : 0;
  if (stop == nullptr || stop == text.c_str()) return {begin, errc::invalid_argument};
  const char* const after = begin + (stop - text.c_str());
  if (isinf(static_cast<T>(read)) && text.find_first_of("iI") == string::npos)
    return {after, errc::result_out_of_range};
  value = static_cast<T>(read);
  return {after, errc()};
}
inline from_chars_result from_chars(const char* begin, const char* end, float& value) {
  return real_from_chars(begin, end, value);
}
inline from_chars_result from_chars(const char* begin, const char* end, double& value) {
  return real_from_chars(begin, end, value);
}
}  // namespace std
#endif
#if !defined(__cpp_lib_ranges)
namespace std::ranges {
template <class R, class F>
bool all_of(R&& r, F f) {
  return std::all_of(r.begin(), r.end(), f);
}
template <class R, class F>
bool any_of(R&& r, F f) {
  return std::any_of(r.begin(), r.end(), f);
}
template <class R, class F>
bool none_of(R&& r, F f) {
  return std::none_of(r.begin(), r.end(), f);
}
template <class R, class T>
bool binary_search(R&& r, const T& value) {
  return std::binary_search(r.begin(), r.end(), value);
}
template <class R, class To>
void copy(R&& r, To to) {
  std::copy(r.begin(), r.end(), to);
}
template <class R, class To, class F>
void copy_if(R&& r, To to, F f) {
  std::copy_if(r.begin(), r.end(), to, f);
}
template <class R, class T>
auto count(R&& r, const T& value) {
  return std::count(r.begin(), r.end(), value);
}
template <class R, class S>
bool equal(R&& r, S&& s) {
  return std::equal(r.begin(), r.end(), s.begin(), s.end());
}
template <class R, class T>
auto find(R&& r, const T& value) {
  return std::find(r.begin(), r.end(), value);
}
template <class R, class F>
auto find_if(R&& r, F f) {
  return std::find_if(r.begin(), r.end(), f);
}
template <class R, class T>
auto lower_bound(R&& r, const T& value) {
  return std::lower_bound(r.begin(), r.end(), value);
}
template <class R, class Less = std::less<>, class Part = std::identity>
auto max_element(R&& r, Less less = {}, Part part = {}) {
  return std::max_element(r.begin(), r.end(), [&](const auto& a, const auto& b) {
    return less(std::invoke(part, a), std::invoke(part, b));
  });
}
template <class R, class Less = std::less<>, class Part = std::identity>
auto min_element(R&& r, Less less = {}, Part part = {}) {
  return std::min_element(r.begin(), r.end(), [&](const auto& a, const auto& b) {
    return less(std::invoke(part, a), std::invoke(part, b));
  });
}
template <class R>
void reverse(R&& r) {
  std::reverse(r.begin(), r.end());
}
template <class R, class F>
void stable_partition(R&& r, F f) {
  std::stable_partition(r.begin(), r.end(), f);
}
template <class R, class... Less>
void sort(R&& r, Less... less) {
  std::sort(r.begin(), r.end(), less...);
}
}  // namespace std::ranges
namespace std::views {
struct Iota {
  struct Place {
    int i;
    int operator*() const { return i; }
    void operator++() { ++i; }
    bool operator!=(const Place& other) const { return i != other.i; }
  };
  int first, last;
  Place begin() const { return {first}; }
  Place end() const { return {last}; }
};
inline Iota iota(int first, int last) { return {first, last}; }
}  // namespace std::views
#endif

// Not of the standard library, so no header of it has this.
#if defined(__GLIBC__)
extern "C" int malloc_trim(std::size_t) noexcept;
#endif
