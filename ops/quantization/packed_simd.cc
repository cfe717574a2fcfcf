// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "ops/isa.h"
#include "ops/quantization/packed_loops.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

template <class T>
void widen_as(const T* data, int64_t count, float factor, float* out) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(data[i]) * factor;
}
void widen(const uint8_t* data, bool is_signed, int64_t count, float factor, float* out) {
  if (is_signed) widen_as(reinterpret_cast<const int8_t*>(data), count, factor, out);
  else widen_as(data, count, factor, out);
}

template <class T>
void add_as(const T* data, int64_t count, float factor, float* out) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] += static_cast<float>(data[i]) * factor;
}
void add(const uint8_t* data, bool is_signed, int64_t count, float factor, float* out) {
  if (is_signed) add_as(reinterpret_cast<const int8_t*>(data), count, factor, out);
  else add_as(data, count, factor, out);
}

void narrow(const float* data, int64_t count, float factor, float low, float high, uint8_t* out) {
  constexpr float kRounder = 12582912.0f;  // as in to_whole
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float value = data[i] * factor;
    const float within = value < low ? low : value > high ? high : value;
    out[i] = static_cast<uint8_t>(static_cast<int32_t>(within + kRounder - kRounder));
  }
}

template <class T>
void largest_as(const T* data, int64_t count, T* out) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = data[i] > out[i] ? data[i] : out[i];
}
void largest(const uint8_t* data, bool is_signed, int64_t count, uint8_t* out) {
  if (is_signed) largest_as(reinterpret_cast<const int8_t*>(data), count, reinterpret_cast<int8_t*>(out));
  else largest_as(data, count, out);
}

void spread(const uint8_t* data, int64_t count, int64_t step, uint8_t* out) {
  for (int64_t i = 0; i < count; ++i) out[i * step] = data[i];
}

}  // namespace

template <>
const PackedLoops& compiled_loops() {
  static constexpr PackedLoops made{widen, add, narrow, largest, spread};
  return made;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
