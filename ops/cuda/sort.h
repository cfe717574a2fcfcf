// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace loomix::cuda {

// Keys with what belongs to them, given and sorted. All four arrays are apart.
template <class Key>
struct SortedPairs {
  const Key* keys;
  Key* sorted_keys;
  const uint32_t* values;
  uint32_t* sorted_values;
};

inline constexpr int64_t kMostSorted = int64_t{1} << 31;  // pairs of a call; fewer than that

// Ascending by the lowest `bits` bits of the keys; pairs of equal keys keep their order. `scratch` is as large as sort_scratch says.
size_t sort_scratch(int64_t count);
void sort_pairs(const SortedPairs<uint32_t>& pairs, int64_t count, int bits, std::span<std::byte> scratch,
                cudaStream_t stream);
void sort_pairs(const SortedPairs<uint64_t>& pairs, int64_t count, int bits, std::span<std::byte> scratch,
                cudaStream_t stream);

}  // namespace loomix::cuda
