// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loomix::cuda {

// The place of an id in ids[first] to ids[last - 1], or -1.
__device__ inline int64_t find(const int64_t* ids, int64_t first, int64_t last, int64_t id, bool sorted) {
  if (!sorted) {
    while (first < last && ids[first] != id) ++first;
    return first < last ? first : -1;
  }
  const int64_t end = last;
  while (first < last) {
    const int64_t middle = first + (last - first) / 2;
    if (ids[middle] < id) first = middle + 1;
    else last = middle;
  }
  return first < end && ids[first] == id ? first : -1;
}

}  // namespace loomix::cuda
