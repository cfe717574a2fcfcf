// SPDX-License-Identifier: Apache-2.0
#include "ndarray/copy.h"

#include <cstring>

#include "ops/elemwise/loops.h"

namespace loomix {
namespace {

template <class From>
void widen(const void* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(static_cast<const From*>(from)[i]);
}

}  // namespace

void convert_elements(const void* from, DType from_type, void* to, DType to_type, int64_t count) {
  if (from_type == to_type) {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count * size_of(to_type)));
  } else if (to_type == DType::float32 && from_type == DType::float16) {
    widen<float16>(from, static_cast<float*>(to), count);
  } else if (to_type == DType::float32 && from_type == DType::bfloat16) {
    widen<bfloat16>(from, static_cast<float*>(to), count);
  } else if (to_type == DType::float32 && from_type == DType::int8) {
    widen<int8_t>(from, static_cast<float*>(to), count);
  } else {
    ops::convert_row(from_type, from, to_type, to, count);
  }
}

NDArray kept_form(engine::Engine& engine, const NDArray& array) {
  const DType dtype = kept_type(array.dtype());
  if (array.is_dense() && dtype == array.dtype()) return array;
  const NDArray dense(engine, array.shape(), dtype);
  char* const to = static_cast<char*>(dense.view().data);
  const int64_t bytes = size_of(dtype);
  if (array.is_dense()) {
    convert_elements(array.view().data, array.dtype(), to, dtype, array.size());
    return dense;
  }
  Storage& stored = array.storage();
  std::memset(to, 0, static_cast<size_t>(dense.bytes()));
  const bool csr = stored.stype() == StorageType::csr;
  const int64_t rows = array.shape()[0], row = rows > 0 ? array.size() / rows : 0;
  const auto put = [&](int64_t item, int64_t place, int64_t count) {
    convert_elements(static_cast<const char*>(stored.data()) + item * count * size_of(array.dtype()),
                     array.dtype(), to + place * bytes, dtype, count);
  };
  if (!csr) {
    for (int64_t i = 0; i < stored.count(); ++i) put(i, stored.indices()[i] * row, row);
    return dense;
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = stored.indptr()[r]; i < stored.indptr()[r + 1]; ++i)
      put(i, r * row + stored.indices()[i], 1);
  }
  return dense;
}

}  // namespace loomix
