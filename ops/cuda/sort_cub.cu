// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/sort.h"

#include <cub/device/device_radix_sort.cuh>

#include "engine/device/cuda/launch.h"

namespace loomix::cuda {
namespace {

template <class Key>
size_t bytes_for(int64_t count) {
  size_t bytes = 0;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, static_cast<const Key*>(nullptr),
                                        static_cast<Key*>(nullptr), static_cast<const uint32_t*>(nullptr),
                                        static_cast<uint32_t*>(nullptr), static_cast<int>(count)),
        "a question about sorting");
  return bytes;
}

template <class Key>
void sort(const SortedPairs<Key>& pairs, int64_t count, int bits, std::span<std::byte> scratch,
          cudaStream_t stream) {
  if (count == 0) return;
  size_t bytes = scratch.size();
  check(cub::DeviceRadixSort::SortPairs(scratch.data(), bytes, pairs.keys, pairs.sorted_keys, pairs.values,
                                        pairs.sorted_values, static_cast<int>(count), 0, std::max(bits, 1),
                                        stream),
        "sorting");
}

}  // namespace

size_t sort_scratch(int64_t count) {
  return count == 0 ? 0 : std::max(bytes_for<uint32_t>(count), bytes_for<uint64_t>(count));
}

void sort_pairs(const SortedPairs<uint32_t>& pairs, int64_t count, int bits, std::span<std::byte> scratch,
                cudaStream_t stream) {
  sort(pairs, count, bits, scratch, stream);
}
void sort_pairs(const SortedPairs<uint64_t>& pairs, int64_t count, int bits, std::span<std::byte> scratch,
                cudaStream_t stream) {
  sort(pairs, count, bits, scratch, stream);
}

}  // namespace loomix::cuda
