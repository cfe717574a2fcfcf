// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ops/conv/conv_packed.h"
#include "ops/isa.h"
#include "ops/simd_tile.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

typedef float Eight __attribute__((vector_size(8 * sizeof(float)), aligned(4), may_alias));

// Blocks of a tile's rows, each [depth][rows of the block].
void pack_rows(int64_t count, int64_t depth, const float* from, int64_t row_step, float* to) {
  for (int64_t first = 0; first < count; first += kTileRows) {
    const int64_t rows = count - first < kTileRows ? count - first : kTileRows;
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t r = 0; r < rows; ++r) *to++ = from[(first + r) * row_step + k];
    }
  }
}

struct Padded {
  int64_t size[3];
  int64_t plane;
  Padded(const ConvGeometry& g, bool padded) {
    for (int i = 0; i < 3; ++i) size[i] = g.in[i] + (padded ? 2 * g.pad[i] : 0);
    plane = size[0] * size[1] * size[2];
  }
  int64_t offset(int64_t z, int64_t y, int64_t x) const { return (z * size[1] + y) * size[2] + x; }
};

void pad(const ConvGeometry& g, const float* images, int64_t channel, float* to) {
  const Padded padded(g, true);
  const float* from = images + channel * g.in_size();
  to += channel * padded.plane;
  std::memset(to, 0, static_cast<size_t>(padded.plane) * sizeof(float));
  for (int64_t z = 0; z < g.in[0]; ++z) {
    for (int64_t y = 0; y < g.in[1]; ++y, from += g.in[2])
      std::memcpy(to + padded.offset(z + g.pad[0], y + g.pad[1], g.pad[2]), from,
                  static_cast<size_t>(g.in[2]) * sizeof(float));
  }
}

// Pixels of the output that are neighbours in a row: where the first one's taps start in the image, where the stretch starts in the
// panel, and how long it is.
struct Run {
  int64_t base, at, length;
};

int cut_runs(const ConvGeometry& g, const Padded& padded, int64_t first, int64_t last, Run* runs) {
  const bool plain = !g.kernel_size() || (g.kernel_size() == 1 && g.stride[1] == 1 && g.stride[2] == 1 &&
                                          g.stride[0] == 1 && padded.plane == g.out_size());
  if (plain) {
    runs[0] = {first, 0, last - first};
    return 1;
  }
  int count = 0;
  int64_t x = first % g.out[2], y = first / g.out[2] % g.out[1], z = first / (g.out[2] * g.out[1]);
  for (int64_t at = first; at < last;) {
    const int64_t length = g.out[2] - x < last - at ? g.out[2] - x : last - at;
    runs[count++] = {padded.offset(z * g.stride[0], y * g.stride[1], x * g.stride[2]), at - first, length};
    at += length;
    x = 0;
    if (++y == g.out[1]) {
      y = 0;
      ++z;
    }
  }
  return count;
}

// One row of a panel. Of a padded image, which has room behind it, up to seven floats too many are copied; the next run, or the next
// row, writes over them.
void unfold_row(const Run* runs, int count, const float* from, int64_t stride, bool padded, int64_t used,
                float* to) {
  for (int i = 0; i < count; ++i) {
    const float* source = from + runs[i].base;
    float* run = to + runs[i].at;
    const int64_t length = runs[i].length;
    if (stride != 1) {
      for (int64_t x = 0; x < length; ++x) run[x] = source[x * stride];
    } else if (padded) {
      for (int64_t x = 0; x < length; x += 8)
        *reinterpret_cast<Eight*>(run + x) = *reinterpret_cast<const Eight*>(source + x);
    } else {
      std::memcpy(run, source, static_cast<size_t>(length) * sizeof(float));
    }
  }
  for (int64_t i = used; i < kTileWidth; ++i) to[i] = 0;
}

// Where the next rows of the unfolded image come from, in the order of the weight.
class Taps {
 public:
  Taps(const ConvGeometry& g, const Padded& padded) : g_(g), padded_(padded) {}
  int64_t next() {
    const int64_t offset =
        channel_ * padded_.plane + padded_.offset(z_ * g_.dilate[0], y_ * g_.dilate[1], x_ * g_.dilate[2]);
    if (++x_ == g_.kernel[2]) {
      x_ = 0;
      if (++y_ == g_.kernel[1]) {
        y_ = 0;
        if (++z_ == g_.kernel[0]) {
          z_ = 0;
          ++channel_;
        }
      }
    }
    return offset;
  }

 private:
  const ConvGeometry& g_;
  const Padded& padded_;
  int64_t channel_ = 0, z_ = 0, y_ = 0, x_ = 0;
};

void write_out(const float* sums, int64_t rows, int64_t used, float* out, int64_t pixels,
               const ConvClosing& closing) {
  for (int64_t r = 0; r < rows; ++r, sums += kTileWidth, out += pixels) {
    const float* other = closing.add ? closing.other + (out - closing.start) : nullptr;
    if (other) {
      for (int64_t i = 0; i < used; ++i) {
        const float x = sums[i] + other[i];
        out[i] = closing.relu && x < 0 ? 0.0f : x;
      }
    } else if (closing.relu) {
      for (int64_t i = 0; i < used; ++i) out[i] = sums[i] < 0 ? 0.0f : sums[i];
    } else {
      std::memcpy(out, sums, static_cast<size_t>(used) * sizeof(float));
    }
  }
}

void panel(const ConvGeometry& g, const float* image, bool is_padded, const float* packed, const float* bias,
           int64_t first_pixel, int64_t first_filter, int64_t last_filter, float* panel, float* sums,
           float* out, const ConvClosing& given) {
  const Padded padded(g, is_padded);
  const int64_t pixels = g.out_size(), depth = g.depth();
  const int64_t used = pixels - first_pixel < kTileWidth ? pixels - first_pixel : kTileWidth;
  Run runs[kTileWidth];
  const int count = cut_runs(g, padded, first_pixel, first_pixel + used, runs);
  ConvClosing closing = given;
  closing.start = out;
  Taps taps(g, padded);
  for (int64_t first = 0; first < depth; first += kConvDepth) {
    const int64_t part = depth - first < kConvDepth ? depth - first : kConvDepth;
    for (int64_t k = 0; k < part; ++k)
      unfold_row(runs, count, image + taps.next(), g.stride[2], is_padded, used, panel + k * kTileWidth);
    const float* weight = packed + first * g.filters + first_filter * part;
    const bool last = first + part == depth;
    for (int64_t f = first_filter; f < last_filter; f += kTileRows, weight += kTileRows * part) {
      const int64_t rows = last_filter - f < kTileRows ? last_filter - f : kTileRows;
      float* const to = sums + (f - first_filter) * kTileWidth;
      tile_any(rows, used, part, weight, 1, rows, panel, kTileWidth, to, kTileWidth,
               bias ? bias + f : nullptr, first > 0);
      if (last) write_out(to, rows, used, out + f * pixels + first_pixel, pixels, closing);
    }
  }
}

}  // namespace

template <>
const ConvPackedKernels& compiled_loops() {
  static const ConvPackedKernels kernels = {kTileRows, kTileWidth, pack_rows, pad, panel};
  return kernels;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
