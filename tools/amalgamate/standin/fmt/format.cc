// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "fmt/core.h"

namespace fmt {

void Value::print(std::string_view spec, std::string& to) const {
  if (kind == Kind::text) {
    to += text;
    return;
  }
  char buffer[64];
  if (kind == Kind::real && spec.empty()) {  // the shortest text that reads back as the same number
    for (int digits = 1; digits <= 17; ++digits) {
      std::snprintf(buffer, sizeof buffer, "%.*g", digits, real);
      const double read = std::strtod(buffer, nullptr);
      if (read == real || (single && static_cast<float>(read) == static_cast<float>(real))) break;
    }
    to += buffer;
    return;
  }
  std::string pattern = "%";
  const bool letter = !spec.empty() && spec.back() >= 'A';
  pattern += spec.substr(0, spec.size() - (letter ? 1 : 0));
  if (kind == Kind::real) {
    pattern += letter ? spec.back() : 'g';
    to.append(buffer, static_cast<size_t>(std::snprintf(buffer, sizeof buffer, pattern.c_str(), real)));
    return;
  }
  pattern += "ll";
  pattern += letter ? spec.back() : kind == Kind::natural ? 'u' : 'd';
  to.append(buffer, static_cast<size_t>(std::snprintf(buffer, sizeof buffer, pattern.c_str(),
                                                      static_cast<long long>(integer))));
}

std::string format_values(std::string_view format, std::initializer_list<Value> values) {
  std::string text;
  const Value* next = values.begin();
  for (size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    const bool doubled = i + 1 < format.size() && format[i + 1] == c;
    if ((c == '{' || c == '}') && doubled) {
      text += c;
      ++i;
    } else if (c == '{' && next != values.end()) {
      const size_t end = format.find('}', i);
      const size_t colon = format.substr(i, end - i).find(':');
      next++->print(colon == std::string_view::npos ? "" : format.substr(i + colon + 1, end - i - colon - 1),
                    text);
      i = end;
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace fmt
