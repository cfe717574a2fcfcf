// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <type_traits>

#include "base/dtype.h"
#include "ops/kernel.h"
#include "ops/scratch_slots.h"

// Scratch memory of kernels without state: equal pieces for the threads of a loop.
namespace loomix::ops {

inline size_t slot_bytes(int64_t count, size_t each) {  // whole cache lines
  return aligned(static_cast<size_t>(std::max<int64_t>(count, 1)) * each);
}
inline size_t slots_bytes(const KernelSpec& spec, int64_t count, size_t each) {
  return static_cast<size_t>(slots_for(spec.cores)) * slot_bytes(count, each);
}
// `memory` was asked for by slots_bytes with the same count and size.
inline ScratchSlots slots_of(std::span<std::byte> memory, int64_t count, size_t each) {
  const size_t bytes = slot_bytes(count, each);
  return ScratchSlots(memory, bytes, static_cast<int>(memory.size() / bytes));
}

inline size_t accum_size(DType dtype) { return dtype == DType::float64 ? 8 : 4; }

// Sums for a plane of T: in the plane itself, or in scratch memory where T is a half type.
template <class T>
inline constexpr bool sums_in_place_v = std::is_same_v<T, Accum<T>>;

inline size_t plane_sums_bytes(const KernelSpec& spec, DType dtype, int64_t size) {
  return dtype == DType::float32 || dtype == DType::float64 ? 0 : slots_bytes(spec, size, sizeof(float));
}

// Calls fill(sums) on a plane of zeros, which then becomes `out`.
template <class T, class Fill>
void fill_plane(ScratchSlots& slots, T* out, int64_t size, Fill&& fill) {
  if constexpr (sums_in_place_v<T>) {
    std::fill_n(out, size, T{0});
    fill(out);
  } else {
    const ScratchSlots::Use slot(slots);
    auto* const sums = slot.as<Accum<T>>();
    std::fill_n(sums, size, Accum<T>{0});
    fill(sums);
    for (int64_t i = 0; i < size; ++i) out[i] = static_cast<T>(sums[i]);
  }
}

template <class T>
ScratchSlots plane_slots(std::span<std::byte> memory, int64_t size) {
  if constexpr (sums_in_place_v<T>) return ScratchSlots({}, 0, 0);
  else return slots_of(memory, size, sizeof(Accum<T>));
}

}  // namespace loomix::ops
