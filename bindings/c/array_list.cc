// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/array_list.h"

#include <limits>

#include "base/error.h"
#include "bindings/c/process.h"
#include "ndarray/array_file.h"
#include "ndarray/copy.h"

namespace loomix::c {

NamedArrays::NamedArrays(std::span<const std::byte> file) {
  engine::Engine& engine = runtime().engine();
  const ArrayList list = load_arrays_from_buffer(engine, file, {}, "nd_file_bytes");
  for (size_t i = 0; i < list.arrays.size(); ++i) {
    Item& item = items_.emplace_back();
    if (!list.names.empty()) item.name = list.names[i];
    const NDArray& array = list.arrays[i];
    if (array.is_none()) continue;
    for (const int64_t size : array.shape()) {
      LOOMIX_CHECK(size <= std::numeric_limits<uint32_t>::max(), ShapeError,
                   "[MXNDListCreate] array {} has shape {}; sizes of up to 4294967295 can be told.", i,
                   array.shape().to_string());
      item.shape.push_back(static_cast<uint32_t>(size));
    }
    const NDArray dense(engine, array.shape(), array.dtype(), Device::cpu());
    copy(array, dense);
    const NDArray as_float = cast(dense, DType::float32);
    item.elements.resize(static_cast<size_t>(as_float.size()));
    as_float.copy_to_host(item.elements.data(), as_float.bytes());
  }
}

const NamedArrays::Item& NamedArrays::at(size_t index) const {
  LOOMIX_CHECK(index < items_.size(), IndexError, "[MXNDListGet] array {} of {} is asked for.", index,
               items_.size());
  return items_[index];
}

}  // namespace loomix::c
