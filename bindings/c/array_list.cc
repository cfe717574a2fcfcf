// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/array_list.h"

#include <limits>

#include "base/error.h"
#include "bindings/c/bound_network.h"

namespace loomix::c {

NamedArrays::NamedArrays(std::span<const std::byte> file) {
  const ArrayList list = read_arrays(file, "nd_file_bytes");
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
    item.elements = float_elements(array);
  }
}

const NamedArrays::Item& NamedArrays::at(size_t index) const {
  LOOMIX_CHECK(index < items_.size(), IndexError, "[MXNDListGet] array {} of {} is asked for.", index,
               items_.size());
  return items_[index];
}

}  // namespace loomix::c
