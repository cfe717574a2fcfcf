// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/sort.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/standin/stream.h"

namespace loomix::cuda {
namespace {

template <class Key>
void sort(const SortedPairs<Key>& pairs, int64_t count, int bits, cudaStream_t stream) {
  standin::put_on(stream, [=] {
    const Key mask =
        bits >= static_cast<int>(8 * sizeof(Key)) ? ~Key{0} : static_cast<Key>((Key{1} << bits) - 1);
    std::vector<size_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return (pairs.keys[a] & mask) < (pairs.keys[b] & mask); });
    for (size_t i = 0; i < order.size(); ++i) {
      pairs.sorted_keys[i] = pairs.keys[order[i]];
      pairs.sorted_values[i] = pairs.values[order[i]];
    }
  });
}

}  // namespace

size_t sort_scratch(int64_t) { return 64; }

void sort_pairs(const SortedPairs<uint32_t>& pairs, int64_t count, int bits, std::span<std::byte>,
                cudaStream_t stream) {
  sort(pairs, count, bits, stream);
}
void sort_pairs(const SortedPairs<uint64_t>& pairs, int64_t count, int bits, std::span<std::byte>,
                cudaStream_t stream) {
  sort(pairs, count, bits, stream);
}

}  // namespace loomix::cuda
