// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/array_list.h"

#include <limits>

#include "base/error.h"
#include "bindings/c/process.h"
#include "ndarray/array_file.h"
#include "ndarray/copy.h"

namespace loomix::c {

NamedArrays::NamedArrays(std::span<const std::byte> file) {
  const ArrayList list = load_arrays_from_buffer(engine(), file, {}, "nd_file_bytes");
  for (size_t i = 0; i < list.arrays.size(); ++i) {
    Item& item = items_.emplace_back();
    if (!list.names.empty()) item.name = list.names[i];
    if (list.arrays[i].is_none()) continue;
    const NDArray array = kept_form(engine(), list.arrays[i]);
    for (const int64_t size : array.shape()) {
      LOOMIX_CHECK(size <= std::numeric_limits<uint32_t>::max(), ShapeError,
                   "[MXNDListCreate] array {} has shape {}; sizes of up to 4294967295 can be told.", i,
                   array.shape().to_string());
      item.shape.push_back(static_cast<uint32_t>(size));
    }
    item.elements.resize(static_cast<size_t>(array.size()));
    convert_elements(array.view().data, array.dtype(), item.elements.data(), DType::float32, array.size());
  }
}

const NamedArrays::Item& NamedArrays::at(size_t index) const {
  LOOMIX_CHECK(index < items_.size(), IndexError, "[MXNDListGet] array {} of {} is asked for.", index,
               items_.size());
  return items_[index];
}

}  // namespace loomix::c
