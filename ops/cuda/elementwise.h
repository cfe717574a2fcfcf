// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/device/cuda/element.h"
#include "ops/cuda/index.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/stream.h"

// One pass over memory: y[i] = f(a[i], b[i], ...). Three shapes of it, the fastest that fits is taken: contiguous by 16-byte
// accesses, contiguous one by one (odd addresses), and strided (operands that broadcast).
namespace loomix::cuda {

// Items an access of 16 bytes of the widest type has.
template <class... T>
inline constexpr int kPackItems = 16 / static_cast<int>(std::max({sizeof(T)...}));

// Where an operand is read: an array, or one element for all.
template <class T>
struct Reader {
  const T* data;
  bool single = false;
};

// A functor says `static constexpr bool kIsLong = true` where its code is long: it is compiled once a kernel then.
template <class F>
inline constexpr bool kIsLong = requires {
  requires F::kIsLong;
};

template <int kItems, class T>
__device__ Pack<T, kItems> read_pack(const Reader<T>& from, int64_t first, bool aligned) {
  if (aligned && !from.single) return *reinterpret_cast<const Pack<T, kItems>*>(from.data + first);
  Pack<T, kItems> pack;
#pragma unroll
  for (int k = 0; k < kItems; ++k) pack.item[k] = from.data[from.single ? 0 : first + k];
  return pack;
}

template <int kItems, class F, class T, class... In>
__global__ void map_packs(int64_t packs, int64_t count, bool aligned, F f, T* y, Reader<In>... x) {
  for (const int64_t pack : own_items(packs)) {
    const int64_t first = pack * kItems;
    const bool is_whole = first + kItems <= count;
    if (!is_whole) {  // the last ones, by as many threads' turns
#pragma unroll 1
      for (int64_t i = first; i < count; ++i) y[i] = store<T>(f(load(x.data[x.single ? 0 : i])...));
      return;
    }
    const auto apply = [&](const auto&... got) {
      Pack<T, kItems> out;
#pragma unroll
      for (int k = 0; k < kItems; ++k) out.item[k] = store<T>(f(load(got.item[k])...));
      return out;
    };
    const Pack<T, kItems> out = apply(read_pack<kItems>(x, first, aligned)...);
    if (aligned) {
      *reinterpret_cast<Pack<T, kItems>*>(y + first) = out;
    } else {
#pragma unroll
      for (int k = 0; k < kItems; ++k) y[first + k] = out.item[k];
    }
  }
}

template <class T>
bool is_aligned(const T* data, int items) {
  return reinterpret_cast<uintptr_t>(data) % (sizeof(T) * static_cast<size_t>(items)) == 0;
}

// y[i] = f(x[i] ...) for i < count. `f` takes and gives numbers of Computed types; it may be run for the same element on any
// thread, so y may be one of the arrays that are read, from the same element on.
template <class F, class T, class... In>
void map_readers(cudaStream_t stream, int64_t count, F f, T* y, Reader<In>... x) {
  if (count == 0) return;
  constexpr int kItems = kIsLong<F> ? 1 : kPackItems<T, In...>;
  const bool aligned = is_aligned(y, kItems) && ((x.single || is_aligned(x.data, kItems)) && ...);
  const int64_t packs = ceil_divide(count, kItems);
  launch(map_packs<kItems, F, T, In...>, grid_for(packs), stream, packs, count, aligned, f, y, x...);
}
template <class F, class T, class... In>
void map(cudaStream_t stream, int64_t count, F f, T* y, const In*... x) {
  map_readers(stream, count, f, y, Reader<In>{x}...);
}

template <class F, class T, class A, class B>
__global__ void map_strided_pair(int64_t count, F f, Places<2> places, T* y, const A* a, const B* b) {
  for (const int64_t i : own_items(count)) {
    int64_t at[2];
    places.of(i, at);
    y[i] = store<T>(f(load(a[at[0]]), load(b[at[1]])));
  }
}

// The same for two operands whose shapes broadcast to y's.
template <class F, class T, class A, class B>
void map_broadcast(cudaStream_t stream, const Shape& shape, F f, T* y, const A* a, const Shape& a_shape,
                   const B* b, const Shape& b_shape) {
  const int64_t count = shape.size();
  if (count == 0) return;
  const ops::BroadcastPlan plan = ops::plan_broadcast(shape, {&a_shape, &b_shape});
  if (plan.ndim == 1) {
    return map_readers(stream, count, f, y, Reader<A>{a, plan.stride[0][0] == 0},
                       Reader<B>{b, plan.stride[1][0] == 0});
  }
  launch(map_strided_pair<F, T, A, B>, grid_for(count), stream, count, f, places_of<2>(plan), y, a, b);
}

template <class F, class T, class A>
__global__ void map_strided(int64_t count, F f, Places<1> places, T* y, const A* a) {
  for (const int64_t i : own_items(count)) {
    int64_t at[1];
    places.of(i, at);
    y[i] = store<T>(f(load(a[at[0]])));
  }
}

// The same for one operand whose shape broadcasts to y's.
template <class F, class T, class A>
void map_repeated(cudaStream_t stream, const Shape& shape, F f, T* y, const A* a, const Shape& a_shape) {
  const int64_t count = shape.size();
  if (count == 0) return;
  const ops::BroadcastPlan plan = ops::plan_broadcast(shape, {&a_shape});
  if (plan.ndim == 1) return map_readers(stream, count, f, y, Reader<A>{a, plan.stride[0][0] == 0});
  launch(map_strided<F, T, A>, grid_for(count), stream, count, f, places_of<1>(plan), y, a);
}

}  // namespace loomix::cuda
