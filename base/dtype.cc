// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

#include <algorithm>
#include <array>

namespace loomix {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
};

constexpr std::array<Entry, 9> kTypes = {{{DType::float32, "float32"},
                                          {DType::float64, "float64"},
                                          {DType::float16, "float16"},
                                          {DType::bfloat16, "bfloat16"},
                                          {DType::uint8, "uint8"},
                                          {DType::int8, "int8"},
                                          {DType::int32, "int32"},
                                          {DType::int64, "int64"},
                                          {DType::boolean, "bool"}}};

const Entry* find(DType dtype) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [dtype](const Entry& entry) { return entry.dtype == dtype; });
  return found == kTypes.end() ? nullptr : &*found;
}

}  // namespace

void detail::throw_no_size(DType dtype) {
  throw TypeError(fmt::format("[dtype] number {} is not a data type with a size.", static_cast<int>(dtype)));
}

std::string_view name_of(DType dtype) {
  const Entry* entry = find(dtype);
  return entry ? entry->name : "None";
}

DType parse_dtype(std::string_view name) {
  std::string names;
  for (const Entry& entry : kTypes) {
    if (entry.name == name) return entry.dtype;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw TypeError(fmt::format("[dtype] '{}' is not a data type; expected one of {}.", name, names));
}

std::string DTypeSet::to_string() const {
  std::string names;
  for (const Entry& entry : kTypes) {
    if (contains(entry.dtype)) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return names;
}

bool is_valid(DType dtype) { return find(dtype) != nullptr; }

void detail::throw_bad_dtype(DType dtype, const char* who, const char* allowed) {
  throw TypeError(
      fmt::format("[{}] data type {} is not supported; expected one of {}.", who, name_of(dtype), allowed));
}

}  // namespace loomix
