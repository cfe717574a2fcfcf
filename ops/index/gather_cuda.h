// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

#include "ops/cuda/arrays.h"
#include "ops/cuda/index.h"
#include "ops/cuda/order.h"
#include "ops/cuda/report.h"
#include "ops/cuda/word.h"
#include "ops/index/index.h"

// Slices that are read from, or put to, places that another array names.
namespace loomix::cuda {

using ops::IndexMode;

// Indices of any type, brought inside [0, size). Mode `raise` reports those that are not, and counts negative ones from the end.
struct Indices {
  AnyArray given;
  int64_t size;
  bool wraps;
  int64_t* fault;

  Indices(const TensorView& view, int64_t axis_size, IndexMode mode, int64_t* to_report = nullptr)
      : given(view), size(axis_size), wraps(mode == IndexMode::wrap), fault(to_report) {}
  __device__ int64_t operator[](int64_t i) const {
    const int64_t index = given.whole(i);
    if (index >= 0 && index < size) return index;
    if (fault != nullptr) {
      if (index < 0 && index >= -size) return index + size;
      report(fault);
    }
    if (!wraps) return index < 0 ? 0 : size - 1;
    return (index % size + size) % size;
  }
};

template <class T>
__global__ void gather_words(int64_t count, Divider words, Divider indices, int64_t size, Indices index,
                             const T* in, T* out) {
  for (const int64_t i : own_items(count)) {
    const int64_t item = words.quotient(i);
    const int64_t outer = indices.quotient(item);
    const int64_t source = outer * size + index[item - outer * indices.divisor()];
    out[i] = in[source * words.divisor() + (i - item * words.divisor())];
  }
}

// Out[o, i, :] = in[o, index[i], :], of slices of `bytes`.
inline void gather(const TensorView& in, const TensorView& out, const Indices& index, int64_t indices,
                   int64_t bytes, cudaStream_t stream) {
  const int64_t word = common_bytes(static_cast<uint64_t>(bytes) | reinterpret_cast<uintptr_t>(in.data) |
                                    reinterpret_cast<uintptr_t>(out.data));
  dispatch_bytes(word, [&]<class T>(Type<T>) {
    const int64_t count = out.bytes() / word;
    launch(gather_words<T>, grid_for(count), stream, count, Divider(bytes / word), Divider(indices),
           index.size, index, static_cast<const T*>(in.data), static_cast<T*>(out.data));
  });
}

struct ListIndices {
  Indices index;
  uint32_t *keys, *values;
  __device__ void operator()(int64_t i) const {
    keys[i] = static_cast<uint32_t>(index[i]);
    values[i] = static_cast<uint32_t>(i);
  }
};

// What lies at the end of each run of equal places: to[place, :] = from[number, :], the last of those that go to one place.
template <class T>
__global__ void put_last_words(int64_t count, Divider words, int64_t contributions, uint32_t places,
                               const uint32_t* place, const uint32_t* number, const T* from, T* to) {
  for (const int64_t i : own_items(count)) {
    const int64_t k = words.quotient(i), word = i - k * words.divisor();
    if (place[k] >= places || (k + 1 < contributions && place[k + 1] == place[k])) continue;
    to[place[k] * words.divisor() + word] = from[number[k] * words.divisor() + word];
  }
}

// Out[index[i], :] = in[i, :] of slices of `bytes`; of those with one index the last counts, as on the host.
inline void put_slices(const TensorView& in, const TensorView& out, const Indices& index, int64_t count,
                       int64_t bytes, std::span<std::byte> scratch, cudaStream_t stream) {
  if (count == 0 || bytes == 0 || index.size == 0) return;
  const SortSpace<uint32_t> space(scratch, count);
  launch_each(stream, count, ListIndices{index, space.keys(), space.values()});
  space.sort(std::bit_width(static_cast<uint64_t>(index.size - 1)), stream);
  const int64_t word = common_bytes(static_cast<uint64_t>(bytes) | reinterpret_cast<uintptr_t>(in.data) |
                                    reinterpret_cast<uintptr_t>(out.data));
  dispatch_bytes(word, [&]<class T>(Type<T>) {
    const int64_t words = bytes / word;
    launch(put_last_words<T>, grid_for(count * words), stream, count * words, Divider(words), count,
           static_cast<uint32_t>(index.size), space.sorted_keys(), space.sorted_values(),
           static_cast<const T*>(in.data), static_cast<T*>(out.data));
  });
}

}  // namespace loomix::cuda
