// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace loomix {

// An attribute of a symbol file, where floating types of other widths become float32.
inline std::string narrowed(std::string_view key, std::string value) {
  if (key == "dtype" && (value == "float16" || value == "bfloat16" || value == "float64")) return "float32";
  if (key == "__dtype__" && (value == "1" || value == "2" || value == "12")) return "0";
  return value;
}

}  // namespace loomix
