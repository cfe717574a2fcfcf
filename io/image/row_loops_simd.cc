// SPDX-License-Identifier: Apache-2.0
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

// Writes channel planes by `put`; the direction and number of channels are known to the compiler in the usual cases.
template <int kChannels, bool kMirror, class Put>
void split(const uint8_t* __restrict in, int64_t width, int channels, const Put& put) {
  const int stride = kChannels > 0 ? kChannels : channels;
  for (int c = 0; c < stride; ++c) {
    for (int64_t x = 0; x < width; ++x) put(c, x, in[(kMirror ? width - 1 - x : x) * stride + c]);
  }
}

template <class Put>
void split_any(const uint8_t* in, int64_t width, int channels, bool mirror, const Put& put) {
  if (channels == 3) return mirror ? split<3, true>(in, width, 3, put) : split<3, false>(in, width, 3, put);
  if (channels == 1) return mirror ? split<1, true>(in, width, 1, put) : split<1, false>(in, width, 1, put);
  mirror ? split<0, true>(in, width, channels, put) : split<0, false>(in, width, channels, put);
}

void to_float(const uint8_t* in, int64_t width, int channels, bool mirror, const Normalise& by, float* out,
              int64_t plane) {
  const Normalise n = by;
  split_any(in, width, channels, mirror, [=](int c, int64_t x, uint8_t pixel) {
    out[c * plane + x] = static_cast<float>(pixel) * n.scale[c] + n.shift[c];
  });
}

void to_bytes(const uint8_t* in, int64_t width, int channels, bool mirror, uint8_t* out, int64_t plane) {
  split_any(in, width, channels, mirror,
            [=](int c, int64_t x, uint8_t pixel) { out[c * plane + x] = pixel; });
}

}  // namespace

const RowLoops& row_loops() {
  static constexpr RowLoops loops = {blend, to_float, to_bytes};
  return loops;
}

}  // namespace loomix::io::LOOMIX_ISA_NAMESPACE
