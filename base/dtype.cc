// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

#include <array>

namespace loomix {
namespace {

struct Row {
  DType dtype;
  int64_t bytes;
  std::string_view name;
};

constexpr std::array<Row, 9> kRows = {{
    {DType::float32, 4, "float32"},
    {DType::float64, 8, "float64"},
    {DType::float16, 2, "float16"},
    {DType::uint8, 1, "uint8"},
    {DType::int32, 4, "int32"},
    {DType::int8, 1, "int8"},
    {DType::int64, 8, "int64"},
    {DType::boolean, 1, "bool"},
    {DType::bfloat16, 2, "bfloat16"},
}};

const Row* find(DType dtype) {
  const auto code = static_cast<size_t>(dtype);
  if (code < 8) return &kRows[code];
  return dtype == DType::bfloat16 ? &kRows[8] : nullptr;
}

}  // namespace

int64_t size_of(DType dtype) {
  const Row* row = find(dtype);
  LOOMIX_CHECK(row, TypeError, "[dtype] {} is no element type.", static_cast<int>(dtype));
  return row->bytes;
}

std::string_view name_of(DType dtype) {
  const Row* row = find(dtype);
  return row ? row->name : "None";
}

DType parse_dtype(std::string_view name) {
  std::string names;
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  detail::throw_error<TypeError>("[dtype] unknown element type '{}'; expected one of {}.", name, names);
}

bool is_valid(DType dtype) { return find(dtype) != nullptr; }

void detail::throw_bad_dtype(DType dtype, const char* who, const char* allowed) {
  throw_error<TypeError>("[{}] element type {} is not supported; expected one of {}.", who, name_of(dtype), allowed);
}

}  // namespace loomix
