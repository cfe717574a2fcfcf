// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "loomix/cpp/handle.h"

// A C++17 interface over c_api.h, with the names of MXNet's cpp-package. Those lie in the inline namespace `names`, so that
// mxnet::cpp can be these and nothing else; what is Loomix's own lies beside it.
namespace loomix::cpp {
inline namespace names {

using mx_uint = uint32_t;
using mx_float = float;
using index_t = int64_t;

}  // namespace names

namespace detail {

using Pairs = std::map<std::string, std::string>;

// Names and values as C takes them. The pairs live as long as this is used.
class CPairs {
 public:
  explicit CPairs(const Pairs& pairs) {
    for (const auto& [name, value] : pairs) {
      names_.push_back(name.c_str());
      values_.push_back(value.c_str());
    }
    view_ = {names_.size(), names_.data(), values_.data()};
  }
  const LoomixPairs* get() const { return &view_; }

 private:
  std::vector<const char*> names_, values_;
  LoomixPairs view_{};
};

inline std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> result;
  for (const std::string& text : texts) result.push_back(text.c_str());
  return result;
}

inline std::vector<std::string> texts(size_t count, const char* const* names) {
  return names ? std::vector<std::string>(names, names + count) : std::vector<std::string>();
}

inline bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// How values of parameters are written.
inline std::string to_text(const std::string& value) { return value; }
inline std::string to_text(const char* value) { return value; }
inline std::string to_text(bool value) { return value ? "True" : "False"; }
template <class T>
std::string to_text(const T& value) {
  std::ostringstream text;
  if constexpr (std::is_floating_point_v<T>) text.precision(std::is_same_v<T, float> ? 9 : 17);
  text << value;
  return text.str();
}
template <class T>
std::string to_text(const std::vector<T>& values) {
  std::string text = "(";
  for (const T& value : values) text += to_text(value) + ",";
  return text + ")";
}

}  // namespace detail
}  // namespace loomix::cpp
