// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ndarray/ndarray.h"

// MXNet's array files (`.params`, `.nd`), all versions, both ways. Files are untrusted: every length is checked against
// what is left before it is used, and errors (FileError) name file and offset.
namespace loomix {

// How one array is laid out. v0 and v1 hold dense arrays only; v3 has NumPy's shapes (scalars, sizes of zero).
enum class ArrayFormat : uint8_t { v0, v1, v2, v3 };

struct ArrayList {
  std::vector<NDArray> arrays;     // may hold none arrays
  std::vector<std::string> names;  // empty for a list, else one an array
};

struct LoadOptions {
  bool numpy_shapes = false;  // accept v3
  // From a buffer: dense arrays of kLargeBytes or more are not copied, where their place allows it. The buffer must outlive them,
  // and nobody may write it or them.
  bool borrow = false;
  static constexpr int64_t kLargeBytes = 1 << 16;
};

ArrayList load_arrays(engine::Engine& engine, const std::string& path, LoadOptions options = {});
// `name` stands for the file in errors.
ArrayList load_arrays_from_buffer(engine::Engine& engine, std::span<const std::byte> bytes,
                                  LoadOptions options = {}, const std::string& name = "buffer");
// `names` is empty or has one name an array. The file appears whole or not at all.
void save_arrays(const std::string& path, std::span<const NDArray> arrays, std::span<const std::string> names,
                 ArrayFormat format = ArrayFormat::v2);
std::string save_arrays_to_buffer(std::span<const NDArray> arrays, std::span<const std::string> names,
                                  ArrayFormat format = ArrayFormat::v2);

// One record without the list around it, as pickles hold it.
NDArray load_array_record(engine::Engine& engine, std::span<const std::byte> bytes, LoadOptions options = {});
std::string save_array_record(const NDArray& array, ArrayFormat format = ArrayFormat::v2);

}  // namespace loomix
