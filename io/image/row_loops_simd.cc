// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <utility>

#include "io/image/row_loops.h"

namespace loomix::io::LOOMIX_ISA_NAMESPACE {
namespace {

template <int kCount>
void blend_fixed(const float* const* rows, const float* weight, int64_t n, uint8_t* __restrict out) {
  const float* row[kCount];
  float w[kCount];
  for (int k = 0; k < kCount; ++k) row[k] = rows[k], w[k] = weight[k];
  for (int64_t i = 0; i < n; ++i) {
    float sum = 0.5f;
    for (int k = 0; k < kCount; ++k) sum += w[k] * row[k][i];
    sum = sum < 0 ? 0 : sum > 255 ? 255 : sum;
    out[i] = static_cast<uint8_t>(static_cast<int>(sum));
  }
}

void blend(const float* const* rows, const float* weight, int count, int64_t n, uint8_t* __restrict out) {
  if (count == 1) return blend_fixed<1>(rows, weight, n, out);
  if (count == 2) return blend_fixed<2>(rows, weight, n, out);
  if (count == 3) return blend_fixed<3>(rows, weight, n, out);
  if (count == 4) return blend_fixed<4>(rows, weight, n, out);
  constexpr int64_t kBlock = 256;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t size = n - begin < kBlock ? n - begin : kBlock;
    float sum[kBlock];
    for (int64_t i = 0; i < size; ++i) sum[i] = 0.5f;
    for (int k = 0; k < count; ++k) {
      const float* const row = rows[k] + begin;
      const float w = weight[k];
      for (int64_t i = 0; i < size; ++i) sum[i] += w * row[i];
    }
    for (int64_t i = 0; i < size; ++i) {
      const float value = sum[i] < 0 ? 0 : sum[i] > 255 ? 255 : sum[i];
      out[begin + i] = static_cast<uint8_t>(static_cast<int>(value));
    }
  }
}

// Any channels, one value after the other: put(channel, x, pixel) for x in [begin, end).
template <class Put>
void split(const uint8_t* in, int64_t begin, int64_t end, int64_t width, int channels, bool mirror,
           const Put& put) {
  for (int c = 0; c < channels; ++c) {
    for (int64_t x = begin; x < end; ++x) put(c, x, in[(mirror ? width - 1 - x : x) * channels + c]);
  }
}

// Three channels, sixteen pixels at once: 48 bytes in three vectors become one vector a channel, by two shuffles each.
constexpr int64_t kLanes = 16;
using Vector = uint8_t __attribute__((vector_size(kLanes)));

constexpr int place_of(size_t lane, int channel, bool mirror) {
  return 3 * static_cast<int>(mirror ? kLanes - 1 - lane : lane) + channel;
}

template <int kChannel, bool kMirror, size_t... kLane>
Vector channel_of(Vector a, Vector b, Vector c, std::index_sequence<kLane...>) {
  const Vector from_ab = __builtin_shufflevector(
      a, b, (place_of(kLane, kChannel, kMirror) < 32 ? place_of(kLane, kChannel, kMirror) : 0)...);
  return __builtin_shufflevector(
      from_ab, c,
      (place_of(kLane, kChannel, kMirror) < 32 ? static_cast<int>(kLane)
                                               : place_of(kLane, kChannel, kMirror) - 16)...);
}

// put(channel, x, sixteen pixels from x on); returns the first x that is left.
template <bool kMirror, class Put>
int64_t split_three(const uint8_t* in, int64_t width, const Put& put) {
  constexpr auto kAll = std::make_index_sequence<kLanes>();
  int64_t x = 0;
  for (; x + kLanes <= width; x += kLanes) {
    const uint8_t* from = in + 3 * (kMirror ? width - kLanes - x : x);
    Vector a, b, c;
    std::memcpy(&a, from, sizeof a);
    std::memcpy(&b, from + kLanes, sizeof b);
    std::memcpy(&c, from + 2 * kLanes, sizeof c);
    put(0, x, channel_of<0, kMirror>(a, b, c, kAll));
    put(1, x, channel_of<1, kMirror>(a, b, c, kAll));
    put(2, x, channel_of<2, kMirror>(a, b, c, kAll));
  }
  return x;
}

template <class Put>
int64_t split_blocks(const uint8_t* in, int64_t width, int channels, bool mirror, const Put& put) {
  if (channels != 3) return 0;
  return mirror ? split_three<true>(in, width, put) : split_three<false>(in, width, put);
}

void to_bytes(const uint8_t* in, int64_t width, int channels, bool mirror, uint8_t* out, int64_t plane) {
  const int64_t done = split_blocks(in, width, channels, mirror, [=](int c, int64_t x, Vector pixels) {
    std::memcpy(out + c * plane + x, &pixels, sizeof pixels);
  });
  split(in, done, width, width, channels, mirror,
        [=](int c, int64_t x, uint8_t pixel) { out[c * plane + x] = pixel; });
}

void scale(const uint8_t* __restrict in, int64_t count, float factor, float shift, float* __restrict out) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(in[i]) * factor + shift;
}

// Split first, within a buffer in the first-level cache: g++ vectorises conversions of memory only.
void to_float(const uint8_t* in, int64_t width, int channels, bool mirror, const Normalise& by, float* out,
              int64_t plane) {
  constexpr int64_t kBlock = 512, kMaxChannels = 4;
  uint8_t split_pixels[kMaxChannels * kBlock];
  for (int64_t x = 0; x < width; x += kBlock) {
    const int64_t count = width - x < kBlock ? width - x : kBlock;
    to_bytes(in + (mirror ? width - x - count : x) * channels, count, channels, mirror, split_pixels, kBlock);
    for (int c = 0; c < channels; ++c) {
      scale(split_pixels + c * kBlock, count, by.scale[c], by.shift[c], out + c * plane + x);
    }
  }
}

}  // namespace

const RowLoops& row_loops() {
  static constexpr RowLoops loops = {blend, to_float, to_bytes};
  return loops;
}

}  // namespace loomix::io::LOOMIX_ISA_NAMESPACE
