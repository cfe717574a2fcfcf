// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

#include <algorithm>
#include <array>

namespace loomix {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
  int64_t size;
};

constexpr std::array<Entry, 9> kTypes = {{{DType::float32, "float32", 4},
                                          {DType::float64, "float64", 8},
                                          {DType::float16, "float16", 2},
                                          {DType::bfloat16, "bfloat16", 2},
                                          {DType::uint8, "uint8", 1},
                                          {DType::int8, "int8", 1},
                                          {DType::int32, "int32", 4},
                                          {DType::int64, "int64", 8},
                                          {DType::boolean, "bool", 1}}};

const Entry* find(DType dtype) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [dtype](const Entry& entry) { return entry.dtype == dtype; });
  return found == kTypes.end() ? nullptr : &*found;
}

}  // namespace

int64_t size_of(DType dtype) {
  const Entry* entry = find(dtype);
  LOOMIX_CHECK(entry != nullptr, TypeError, "[dtype] number {} is not a data type with a size.",
               static_cast<int>(dtype));
  return entry->size;
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
