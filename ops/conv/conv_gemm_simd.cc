// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ops/conv/conv_gemm_kernels.h"
#include "ops/isa.h"
#include "ops/simd_tile.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

inline int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

// Blocks of rows are as even as can be: 20 are 4 blocks of 5.
int64_t block_count(int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }
int64_t block_begin(int64_t block, int64_t blocks, int64_t rows) { return rows * block / blocks; }

void pack_rows(int64_t count, int64_t depth, const float* from, int64_t row_step, int64_t depth_step,
               float* to) {
  const int64_t blocks = block_count(count);
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = block_begin(block, blocks, count);
    const int64_t rows = block_begin(block + 1, blocks, count) - begin;
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t r = 0; r < rows; ++r) *to++ = from[(begin + r) * row_step + k * depth_step];
    }
  }
}

// The image with its zeros at the sides, so that no tap falls outside.
struct Padded {
  int64_t size[3];
  int64_t plane;
  explicit Padded(const ConvGeometry& g) {
    for (int i = 0; i < 3; ++i) size[i] = g.in[i] + 2 * g.pad[i];
    plane = size[0] * size[1] * size[2];
  }
  int64_t offset(int64_t z, int64_t y, int64_t x) const { return (z * size[1] + y) * size[2] + x; }
};

// Calls fn(row of the data, row of the padded image) for every row of every channel.
template <class Fn>
void each_padded_row(const ConvGeometry& g, Fn&& fn) {
  const Padded padded(g);
  int64_t row = 0;
  for (int64_t c = 0; c < g.channels; ++c) {
    for (int64_t z = 0; z < g.in[0]; ++z) {
      for (int64_t y = 0; y < g.in[1]; ++y, row += g.in[2]) {
        fn(row, c * padded.plane + padded.offset(z + g.pad[0], y + g.pad[1], g.pad[2]));
      }
    }
  }
}

void pad(const ConvGeometry& g, const float* image, float* to) {
  const size_t row_bytes = static_cast<size_t>(g.in[2]) * sizeof(float);
  if (g.pad[0] + g.pad[1] + g.pad[2] == 0) {
    std::memcpy(to, image, row_bytes * static_cast<size_t>(g.channels * g.in[0] * g.in[1]));
    return;
  }
  std::memset(to, 0, static_cast<size_t>(g.channels * Padded(g).plane) * sizeof(float));
  each_padded_row(g, [&](int64_t from, int64_t at) { std::memcpy(to + at, image + from, row_bytes); });
}

// Calls fn(k, offset in the padded image) for every tap, in the order of the weight.
template <class Fn>
inline void each_tap(const ConvGeometry& g, const Padded& padded, Fn&& fn) {
  int64_t k = 0;
  for (int64_t c = 0; c < g.channels; ++c) {
    for (int64_t z = 0; z < g.kernel[0]; ++z) {
      for (int64_t y = 0; y < g.kernel[1]; ++y) {
        for (int64_t x = 0; x < g.kernel[2]; ++x, ++k) {
          fn(k, c * padded.plane + padded.offset(z * g.dilate[0], y * g.dilate[1], x * g.dilate[2]));
        }
      }
    }
  }
}

// Pixels of the output that are neighbours in a row: where the first one's taps start in the padded image, where the
// stretch starts in the panel, and how long it is.
struct Run {
  int64_t base, at, length;
};

// Cuts pixels [first, last) into runs, at most one a pixel.
int cut_runs(const ConvGeometry& g, const Padded& padded, int64_t first, int64_t last, Run* runs) {
  int count = 0;
  int64_t x = first % g.out[2];
  int64_t y = first / g.out[2] % g.out[1];
  int64_t z = first / (g.out[2] * g.out[1]);
  for (int64_t at = first; at < last;) {
    const int64_t length = lesser(g.out[2] - x, last - at);
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

typedef float Eight __attribute__((vector_size(8 * sizeof(float)), aligned(4), may_alias));

// Copies `length` floats and up to seven more, in both places.
inline void copy_eights(const float* from, float* to, int64_t length) {
  for (int64_t i = 0; i < length; i += 8) {
    *reinterpret_cast<Eight*>(to + i) = *reinterpret_cast<const Eight*>(from + i);
  }
}

// tile_any with its many loops in one place.
__attribute__((noinline, noclone)) void tile_shared(int64_t rows, int64_t columns, int64_t depth,
                                                    const float* a, int64_t a_row, int64_t a_step,
                                                    const float* b, int64_t b_row, float* c, int64_t c_row,
                                                    const float* bias, bool add) {
  tile_any(rows, columns, depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
}

void forward(const ConvGeometry& g, const float* image, const float* weight, bool is_packed,
             const float* bias, int64_t first, float* panel, float* out) {
  const Padded padded(g);
  const int64_t pixels = g.out_size();
  const int64_t last = lesser(first + kTileWidth, pixels);
  const int64_t used = last - first;
  const int64_t stride = g.stride[2];
  Run runs[kTileWidth];
  const int count = cut_runs(g, padded, first, last, runs);
  // In order, so that what a copy writes too much is overwritten by the next.
  each_tap(g, padded, [&](int64_t k, int64_t offset) {
    float* to = panel + k * kTileWidth;
    for (int i = 0; i < count; ++i) {
      const float* from = image + offset + runs[i].base;
      float* run = to + runs[i].at;
      if (stride == 1) {
        copy_eights(from, run, runs[i].length);
      } else {
        for (int64_t x = 0; x < runs[i].length; ++x) run[x] = from[x * stride];
      }
    }
    for (int64_t i = used; i < kTileWidth; ++i) to[i] = 0;
  });
  const int64_t depth = g.depth();
  const int64_t blocks = block_count(g.filters);
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = block_begin(block, blocks, g.filters);
    const int64_t rows = block_begin(block + 1, blocks, g.filters) - begin;
    const float* a = weight + begin * depth;
    const int64_t a_row = is_packed ? 1 : depth, a_step = is_packed ? rows : 1;
    const float* start = bias ? bias + begin : nullptr;
    float* to = out + begin * pixels + first;
    if (used == kTileWidth) {
      tile_rows<kVectors>(rows, depth, a, a_row, a_step, panel, kTileWidth, to, pixels, start, false);
    } else {
      float part[kTileRows * kTileWidth];
      tile_shared(rows, used, depth, a, a_row, a_step, panel, kTileWidth, part, kTileWidth, start, false);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < used; ++i) to[r * pixels + i] = part[r * kTileWidth + i];
      }
    }
  }
}

inline void add_run(const float* from, float* to, int64_t length, int64_t stride) {
  int64_t i = 0;
  if (stride == 1) {
    for (; i + 8 <= length; i += 8) {
      *reinterpret_cast<Eight*>(to + i) += *reinterpret_cast<const Eight*>(from + i);
    }
  }
  for (; i < length; ++i) to[i * stride] += from[i];
}

// Of two taps side by side with a stride of two, whose pixels alternate.
inline void add_two_runs(const float* even, const float* odd, float* to, int64_t length) {
#pragma omp simd
  for (int64_t i = 0; i < length; ++i) {
    to[2 * i] += even[i];
    to[2 * i + 1] += odd[i];
  }
}

// Rows are taps, columns pixels: each tile is added to the pixels of the data that its taps read.
void to_data(const ConvGeometry& g, const float* grad, const float* packed, float* scratch, float* out) {
  const Padded padded(g);
  const int64_t pixels = g.out_size();
  const int64_t depth = g.depth();
  const int64_t taps = g.kernel_size();
  const size_t image_bytes = static_cast<size_t>(g.channels * padded.plane) * sizeof(float);
  float* part = scratch;                         // [kTileRows][kTileWidth]
  float* tail = part + kTileRows * kTileWidth;   // [filters][kTileWidth]
  float* image = tail + g.filters * kTileWidth;  // padded
  std::memset(image, 0, image_bytes);
  const int64_t blocks = block_count(depth);
  for (int64_t first = 0; first < pixels; first += kTileWidth) {
    const int64_t last = lesser(first + kTileWidth, pixels);
    const int64_t used = last - first;
    const float* columns = grad + first;
    int64_t columns_row = pixels;
    if (used < kTileWidth) {
      for (int64_t f = 0; f < g.filters; ++f) {
        for (int64_t i = 0; i < kTileWidth; ++i)
          tail[f * kTileWidth + i] = i < used ? grad[f * pixels + first + i] : 0.0f;
      }
      columns = tail;
      columns_row = kTileWidth;
    }
    Run runs[kTileWidth];
    const int count = cut_runs(g, padded, first, last, runs);
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t begin = block_begin(block, blocks, depth);
      const int64_t rows = block_begin(block + 1, blocks, depth) - begin;
      tile_shared(rows, used, g.filters, packed + begin * g.filters, 1, rows, columns, columns_row, part,
                  kTileWidth, nullptr, false);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t tap = (begin + r) % taps;
        const int64_t offset =
            (begin + r) / taps * padded.plane + padded.offset(tap / (g.kernel[1] * g.kernel[2]) * g.dilate[0],
                                                              tap / g.kernel[2] % g.kernel[1] * g.dilate[1],
                                                              tap % g.kernel[2] * g.dilate[2]);
        const float* const from = part + r * kTileWidth;
        const bool is_pair =
            g.stride[2] == 2 && g.dilate[2] == 1 && r + 1 < rows && tap % g.kernel[2] + 1 < g.kernel[2];
        for (int i = 0; i < count; ++i) {
          float* const to = image + offset + runs[i].base;
          if (is_pair) add_two_runs(from + runs[i].at, from + kTileWidth + runs[i].at, to, runs[i].length);
          else add_run(from + runs[i].at, to, runs[i].length, g.stride[2]);
        }
        if (is_pair) ++r;
      }
    }
  }
  const size_t row_bytes = static_cast<size_t>(g.in[2]) * sizeof(float);
  if (g.pad[0] + g.pad[1] + g.pad[2] == 0) {
    std::memcpy(out, image, image_bytes);
  } else {
    each_padded_row(g, [&](int64_t to, int64_t from) { std::memcpy(out + to, image + from, row_bytes); });
  }
}

// unfolded[pixel][padded depth]: what each pixel of the output reads, in the order of the weight.
void unfold(const ConvGeometry& g, const float* image, int64_t first, int64_t last, int64_t row,
            float* unfolded) {
  const Padded padded(g);
  const int64_t taps = g.kernel[2];
  const bool dense = g.dilate[2] == 1;
  for (int64_t pixel = first; pixel < last; ++pixel, unfolded += row) {
    const float* start =
        image + padded.offset(pixel / (g.out[2] * g.out[1]) * g.stride[0],
                              pixel / g.out[2] % g.out[1] * g.stride[1], pixel % g.out[2] * g.stride[2]);
    float* to = unfolded;
    for (int64_t c = 0; c < g.channels; ++c) {
      for (int64_t z = 0; z < g.kernel[0]; ++z) {
        const float* from = start + c * padded.plane + padded.offset(z * g.dilate[0], 0, 0);
        for (int64_t y = 0; y < g.kernel[1]; ++y, to += taps, from += g.dilate[1] * padded.size[2]) {
          if (dense) {
            copy_eights(from, to, taps);
          } else {
            for (int64_t t = 0; t < taps; ++t) to[t] = from[t * g.dilate[2]];
          }
        }
      }
    }
    for (float* end = unfolded + row; to < end; ++to) *to = 0;
  }
}

void to_weight(const ConvGeometry& g, const float* grad, const float* image, int64_t pixels_at_once,
               float* unfolded, float* sums) {
  const int64_t pixels = g.out_size();
  const int64_t padded = padded_depth(g, kLanes);
  const int64_t blocks = block_count(g.filters);
  for (int64_t first = 0; first < pixels; first += pixels_at_once) {
    const int64_t last = lesser(first + pixels_at_once, pixels);
    unfold(g, image, first, last, padded, unfolded);
    for (int64_t column = 0; column < padded; column += kTileWidth) {
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t begin = block_begin(block, blocks, g.filters);
        const int64_t rows = block_begin(block + 1, blocks, g.filters) - begin;
        tile_shared(rows, lesser(kTileWidth, padded - column), last - first, grad + begin * pixels + first,
                    pixels, 1, unfolded + column, padded, sums + begin * padded + column, padded, nullptr,
                    true);
      }
    }
  }
}

}  // namespace

template <>
const ConvGemmKernels& compiled_loops() {
  static const ConvGemmKernels kernels = {kTileRows, kTileWidth, kLanes,      pack_rows, pad,
                                          forward,   to_data,    tile_shared, to_weight};
  return kernels;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
