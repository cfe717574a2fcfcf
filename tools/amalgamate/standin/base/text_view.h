// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace loomix {

// Takes the place of std::string_view in the sources: here the length of a literal is always a number in the code, and no call.
// Operators are described by thousands of them.
class TextView : public std::string_view {
 public:
  using std::string_view::string_view;
  [[gnu::always_inline]] constexpr TextView() = default;
  [[gnu::always_inline]] constexpr TextView(const char* text)
      : std::string_view(text, __builtin_strlen(text)) {}
  [[gnu::always_inline]] constexpr TextView(std::string_view text) : std::string_view(text) {}
  [[gnu::always_inline]] TextView(const std::string& text) : std::string_view(text) {}
};

}  // namespace loomix

using loomix::TextView;  // in fmt and nlohmann, too
