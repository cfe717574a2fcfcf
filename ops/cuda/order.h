// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/cuda/sort.h"
#include "ops/scratch_slots.h"

namespace loomix::cuda {

// The four arrays of a sort and its own memory, cut out of scratch memory.
template <class Key>
class SortSpace {
 public:
  static size_t bytes(int64_t count) {
    return 2 * (ops::aligned(static_cast<size_t>(count) * sizeof(Key)) +
                ops::aligned(static_cast<size_t>(count) * sizeof(uint32_t))) +
           sort_scratch(count);
  }
  SortSpace(std::span<std::byte> scratch, int64_t count) : count_(count) {
    const auto take = [&](size_t item) {
      const size_t size = ops::aligned(static_cast<size_t>(count) * item);
      void* const at = scratch.data();
      scratch = scratch.subspan(size);
      return at;
    };
    for (Key*& array : keys_) array = static_cast<Key*>(take(sizeof(Key)));
    for (uint32_t*& array : values_) array = static_cast<uint32_t*>(take(sizeof(uint32_t)));
    rest_ = scratch;
  }
  // What is sorted; after a sort, its result is in sorted_keys() and sorted_values().
  Key* keys() const { return keys_[0]; }
  uint32_t* values() const { return values_[0]; }
  Key* sorted_keys() const { return keys_[1]; }
  uint32_t* sorted_values() const { return values_[1]; }
  void sort(int bits, cudaStream_t stream) const {
    sort_pairs(SortedPairs<Key>{keys_[0], keys_[1], values_[0], values_[1]}, count_, bits, rest_, stream);
  }
  // The result becomes what is sorted next.
  void turn() {
    std::swap(keys_[0], keys_[1]);
    std::swap(values_[0], values_[1]);
  }

 private:
  Key* keys_[2];
  uint32_t* values_[2];
  std::span<std::byte> rest_;
  int64_t count_;
};

}  // namespace loomix::cuda
