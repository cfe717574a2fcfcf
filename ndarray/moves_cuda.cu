// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "engine/device/cuda/element.h"
#include "engine/device/cuda/launch.h"
#include "ndarray/device_moves.h"

namespace loomix {
namespace {

using namespace cuda;

constexpr int kMaxAxes = 8;

struct Box {
  int ndim;
  int64_t size[kMaxAxes], from_stride[kMaxAxes], to_stride[kMaxAxes];
};

// Axes along which both arrays do the same as along the next one are joined with it; those of size 1 go.
Box box_of(const DeviceMove& move) {
  Box box{};
  for (int axis = 0; axis < move.ndim; ++axis) {
    if (move.size[axis] == 1) continue;
    if (box.ndim > 0 && box.from_stride[box.ndim - 1] == move.from_stride[axis] * move.size[axis] &&
        box.to_stride[box.ndim - 1] == move.to_stride[axis] * move.size[axis]) {
      box.size[box.ndim - 1] *= move.size[axis];
      box.from_stride[box.ndim - 1] = move.from_stride[axis];
      box.to_stride[box.ndim - 1] = move.to_stride[axis];
      continue;
    }
    LOOMIX_CHECK(box.ndim < kMaxAxes, NotImplementedError,
                 "[copy] a box of more than {} axes that cannot be joined, on a GPU.", kMaxAxes);
    box.size[box.ndim] = move.size[axis];
    box.from_stride[box.ndim] = move.from_stride[axis];
    box.to_stride[box.ndim] = move.to_stride[axis];
    ++box.ndim;
  }
  return box;
}

template <class To, class From>
__global__ void move_box(int64_t count, Box box, const From* from, To* to) {
  for (const int64_t i : own_items(count)) {
    int64_t rest = i, at_from = 0, at_to = 0;
    for (int axis = box.ndim - 1; axis >= 0; --axis) {
      const int64_t index = rest % box.size[axis];
      rest /= box.size[axis];
      at_from += index * box.from_stride[axis];
      at_to += index * box.to_stride[axis];
    }
    to[at_to] = convert<To>(from[at_from]);
  }
}

template <class T>
__global__ void fill_items(int64_t count, T item, T* to) {
  for (const int64_t i : own_items(count)) to[i] = item;
}

void move_on(const DeviceMove& move, void* stream) {
  int64_t count = 1;
  for (int axis = 0; axis < move.ndim; ++axis) count *= move.size[axis];
  if (count == 0) return;
  const Box box = box_of(move);
  const auto start = [&]<class From, class To>(const From* from, To* to) {
    launch(move_box<To, From>, grid_for(count), static_cast<cudaStream_t>(stream), count, box, from, to);
  };
  if (move.from_type == move.to_type) {
    return dispatch_bits(move.to_type, [&]<class T>(Type<T>) {
      start(static_cast<const T*>(move.from), static_cast<T*>(move.to));
    });
  }
  dispatch_all(move.from_type, "copy", [&]<class From>(Type<From>) {
    dispatch_all(move.to_type, "copy", [&]<class To>(Type<To>) {
      start(static_cast<const From*>(move.from), static_cast<To*>(move.to));
    });
  });
}

void fill_on(void* to, uint64_t word, int bytes, int64_t count, void* stream) {
  if (count == 0) return;
  const auto on = static_cast<cudaStream_t>(stream);
  if (word == 0) return check(cudaMemsetAsync(to, 0, static_cast<size_t>(bytes * count), on), "a fill");
  const auto start = [&](auto item) {
    launch(fill_items<decltype(item)>, grid_for(count), on, count, item, static_cast<decltype(item)*>(to));
  };
  switch (bytes) {
    case 1: return start(static_cast<uint8_t>(word));
    case 2: return start(static_cast<uint16_t>(word));
    case 4: return start(static_cast<uint32_t>(word));
    default: return start(word);
  }
}

}  // namespace
}  // namespace loomix

// Looked up by device_moves().
extern "C" [[gnu::visibility("default")]] const loomix::DeviceMoves loomix_cuda_moves{loomix::move_on,
                                                                                      loomix::fill_on};
