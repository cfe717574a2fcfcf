// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ops/conv/conv_gemm_kernels.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

// A tile's sums fill the registers but for one panel row and a broadcast.
#if defined(__AVX512F__)
constexpr int kLanes = 16, kVectors = 4, kRows = 6;
#elif defined(__AVX2__)
constexpr int kLanes = 8, kVectors = 2, kRows = 6;
#else
constexpr int kLanes = 4, kVectors = 2, kRows = 6;
#endif
constexpr int kWidth = kLanes * kVectors;

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
typedef float LooseVector __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

inline int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }

// c[R][kWidth] = start + a b: a is element (r, k) at a[r * a_row + k * a_step], b[k * b_row + column].
template <int R>
void tile(int64_t depth, const float* a, int64_t a_row, int64_t a_step, const float* b, int64_t b_row, float* c,
          int64_t c_row, const float* bias, bool add) {
  Vector sums[R][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      if (add) sums[r][v] = *reinterpret_cast<const LooseVector*>(c + r * c_row + v * kLanes);
      else sums[r][v] = Vector{} + (bias ? bias[r] : 0.0f);
    }
  }
  for (int64_t k = 0; k < depth; ++k, b += b_row, a += a_step) {
    Vector row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) row[v] = *reinterpret_cast<const LooseVector*>(b + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const float x = a[r * a_row];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] += x * row[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) *reinterpret_cast<LooseVector*>(c + r * c_row + v * kLanes) = sums[r][v];
  }
}

void tile_rows(int64_t rows, int64_t depth, const float* a, int64_t a_row, int64_t a_step, const float* b,
               int64_t b_row, float* c, int64_t c_row, const float* bias, bool add) {
  switch (rows) {
    case 1: return tile<1>(depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
    case 2: return tile<2>(depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
    case 3: return tile<3>(depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
    case 4: return tile<4>(depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
    case 5: return tile<5>(depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
    default: return tile<6>(depth, a, a_row, a_step, b, b_row, c, c_row, bias, add);
  }
}

// Blocks of rows are as even as can be: 20 are 4 blocks of 5.
int64_t block_count(int64_t rows) { return (rows + kRows - 1) / kRows; }
int64_t block_begin(int64_t block, int64_t blocks, int64_t rows) { return rows * block / blocks; }

void pack_rows(int64_t count, int64_t depth, const float* from, int64_t row_step, int64_t depth_step, float* to) {
  const int64_t blocks = block_count(count);
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = block_begin(block, blocks, count);
    const int64_t rows = block_begin(block + 1, blocks, count) - begin;
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t r = 0; r < rows; ++r) *to++ = from[(begin + r) * row_step + k * depth_step];
    }
  }
}

// Calls fn(channel, first input position along each axis of the tap) for every row of the unfolded image, in order.
template <class Fn>
void each_tap(const ConvGeometry& g, Fn&& fn) {
  int64_t k = 0;
  for (int64_t c = 0; c < g.channels; ++c) {
    for (int64_t z = 0; z < g.kernel[0]; ++z) {
      for (int64_t y = 0; y < g.kernel[1]; ++y) {
        for (int64_t x = 0; x < g.kernel[2]; ++x, ++k) {
          fn(k, c, z * g.dilate[0] - g.pad[0], y * g.dilate[1] - g.pad[1], x * g.dilate[2] - g.pad[2]);
        }
      }
    }
  }
}

// A stretch of output pixels in one row of the image.
struct Run {
  int64_t z, y, x, length;
};

// The output columns [begin, end) whose input column x * stride + shift lies on the data.
inline void on_data(const ConvGeometry& g, int64_t shift, int64_t& begin, int64_t& end) {
  const int64_t stride = g.stride[2];
  if (shift < 0) begin = greater(begin, (-shift + stride - 1) / stride);
  end = lesser(end, g.in[2] > shift ? (g.in[2] - 1 - shift) / stride + 1 : 0);
}

// Cuts pixels [first, last) of the output into runs; fn(run, offset from first).
template <class Fn>
inline void each_run(const ConvGeometry& g, int64_t first, int64_t last, Fn&& fn) {
  int64_t x = first % g.out[2];
  int64_t y = first / g.out[2] % g.out[1];
  int64_t z = first / (g.out[2] * g.out[1]);
  for (int64_t at = first; at < last;) {
    const int64_t length = lesser(g.out[2] - x, last - at);
    fn(Run{z, y, x, length}, at - first);
    at += length;
    x = 0;
    if (++y == g.out[1]) {
      y = 0;
      ++z;
    }
  }
}

// The row of the input that a run reads through a tap, or null where it lies outside.
template <class T>
inline T* input_row(const ConvGeometry& g, T* image, int64_t c, const Run& run, int64_t dz, int64_t dy) {
  const int64_t z = run.z * g.stride[0] + dz;
  const int64_t y = run.y * g.stride[1] + dy;
  if (z < 0 || z >= g.in[0] || y < 0 || y >= g.in[1]) return nullptr;
  return image + ((c * g.in[0] + z) * g.in[1] + y) * g.in[2];
}

// to[0, length) = row[(x + i) * stride + shift], zero outside.
inline void gather(const ConvGeometry& g, const float* row, int64_t x, int64_t length, int64_t shift, float* to) {
  int64_t begin = x;
  int64_t end = x + length;
  on_data(g, shift, begin, end);
  if (begin > x || end < x + length) {
    std::memset(to, 0, static_cast<size_t>(length) * sizeof(float));
    if (begin >= end) return;
  }
  const float* from = row + begin * g.stride[2] + shift;
  float* out = to + (begin - x);
  const int64_t count = end - begin;
  if (g.stride[2] == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = from[i];
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = from[i * g.stride[2]];
  }
}

void forward(const ConvGeometry& g, const float* image, const float* packed, const float* bias, int64_t first,
             float* panel, float* out) {
  const int64_t pixels = g.out_size();
  const int64_t last = lesser(first + kWidth, pixels);
  const int64_t used = last - first;
  Run runs[kWidth];
  int64_t offsets[kWidth];
  int count = 0;
  each_run(g, first, last, [&](const Run& run, int64_t offset) {
    runs[count] = run;
    offsets[count++] = offset;
  });
  each_tap(g, [&](int64_t k, int64_t c, int64_t dz, int64_t dy, int64_t dx) {
    float* to = panel + k * kWidth;
    for (int i = 0; i < count; ++i) {
      const float* row = input_row(g, image, c, runs[i], dz, dy);
      if (row) gather(g, row, runs[i].x, runs[i].length, dx, to + offsets[i]);
      else std::memset(to + offsets[i], 0, static_cast<size_t>(runs[i].length) * sizeof(float));
    }
    for (int64_t i = used; i < kWidth; ++i) to[i] = 0;
  });
  const int64_t depth = g.depth();
  const int64_t blocks = block_count(g.filters);
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = block_begin(block, blocks, g.filters);
    const int64_t rows = block_begin(block + 1, blocks, g.filters) - begin;
    const float* a = packed + begin * depth;
    const float* start = bias ? bias + begin : nullptr;
    float* to = out + begin * pixels + first;
    if (used == kWidth) {
      tile_rows(rows, depth, a, 1, rows, panel, kWidth, to, pixels, start, false);
    } else {
      float part[kRows * kWidth];
      tile_rows(rows, depth, a, 1, rows, panel, kWidth, part, kWidth, start, false);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < used; ++i) to[r * pixels + i] = part[r * kWidth + i];
      }
    }
  }
}

// Rows are taps, columns pixels: each tile is added to the pixels of the data that its taps read.
void to_data(const ConvGeometry& g, const float* grad, const float* packed, float* scratch, float* out) {
  const int64_t pixels = g.out_size();
  const int64_t depth = g.depth();
  const int64_t taps = g.kernel_size();
  float* part = scratch;                       // [kRows][kWidth]
  float* tail = scratch + kRows * kWidth;      // [filters][kWidth]
  std::memset(out, 0, static_cast<size_t>(g.channels * g.in_size()) * sizeof(float));
  const int64_t blocks = block_count(depth);
  for (int64_t first = 0; first < pixels; first += kWidth) {
    const int64_t last = lesser(first + kWidth, pixels);
    const int64_t used = last - first;
    const float* columns = grad + first;
    int64_t columns_row = pixels;
    if (used < kWidth) {
      for (int64_t f = 0; f < g.filters; ++f) {
        for (int64_t i = 0; i < kWidth; ++i) tail[f * kWidth + i] = i < used ? grad[f * pixels + first + i] : 0.0f;
      }
      columns = tail;
      columns_row = kWidth;
    }
    Run runs[kWidth];
    int64_t offsets[kWidth];
    int count = 0;
    each_run(g, first, last, [&](const Run& run, int64_t offset) {
      runs[count] = run;
      offsets[count++] = offset;
    });
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t begin = block_begin(block, blocks, depth);
      const int64_t rows = block_begin(block + 1, blocks, depth) - begin;
      tile_rows(rows, g.filters, packed + begin * g.filters, 1, rows, columns, columns_row, part, kWidth, nullptr,
                false);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t k = begin + r;
        const int64_t tap = k % taps;
        const int64_t dz = tap / (g.kernel[1] * g.kernel[2]) * g.dilate[0] - g.pad[0];
        const int64_t dy = tap / g.kernel[2] % g.kernel[1] * g.dilate[1] - g.pad[1];
        const int64_t dx = tap % g.kernel[2] * g.dilate[2] - g.pad[2];
        for (int i = 0; i < count; ++i) {
          float* row = input_row(g, out, k / taps, runs[i], dz, dy);
          if (!row) continue;
          int64_t from = runs[i].x;
          int64_t to = from + runs[i].length;
          on_data(g, dx, from, to);
          const float* values = part + r * kWidth + offsets[i] - runs[i].x;
          if (g.stride[2] == 1) {
            float* target = row + dx;
            for (int64_t x = from; x < to; ++x) target[x] += values[x];
          } else {
            for (int64_t x = from; x < to; ++x) row[x * g.stride[2] + dx] += values[x];
          }
        }
      }
    }
  }
}

// unfolded[pixel][depth]: what each pixel of the output reads, in the order of the weight.
void unfold(const ConvGeometry& g, const float* image, int64_t first, int64_t last, int64_t padded, float* unfolded) {
  const int64_t taps = g.kernel[2];
  each_run(g, first, last, [&](const Run& run, int64_t offset) {
    for (int64_t i = 0; i < run.length; ++i) {
      float* to = unfolded + (offset + i) * padded;
      const int64_t x = (run.x + i) * g.stride[2] - g.pad[2];
      const bool inside = x >= 0 && x + (taps - 1) * g.dilate[2] < g.in[2];
      float* end = to + padded;
      for (int64_t c = 0; c < g.channels; ++c) {
        for (int64_t z = 0; z < g.kernel[0]; ++z) {
          for (int64_t y = 0; y < g.kernel[1]; ++y, to += taps) {
            const float* row = input_row(g, image, c, run, z * g.dilate[0] - g.pad[0], y * g.dilate[1] - g.pad[1]);
            if (row && inside && g.dilate[2] == 1) {
              // Copies of eight overwrite each other's surplus; near the end of the data they would read too far.
              const float* from = row + x;
              if (taps <= 8 && to + 8 <= end && from + 8 <= image + g.channels * g.in_size()) {
                std::memcpy(to, from, 8 * sizeof(float));
              } else {
                for (int64_t t = 0; t < taps; ++t) to[t] = from[t];
              }
              continue;
            }
            for (int64_t t = 0; t < taps; ++t) {
              const int64_t at = x + t * g.dilate[2];
              to[t] = row && at >= 0 && at < g.in[2] ? row[at] : 0.0f;
            }
          }
        }
      }
      for (; to < end; ++to) *to = 0;
    }
  });
}

void to_weight(const ConvGeometry& g, const float* grad, const float* image, int64_t pixels_at_once, float* unfolded,
               float* sums) {
  const int64_t pixels = g.out_size();
  const int64_t padded = padded_depth(g, kWidth);
  const int64_t blocks = block_count(g.filters);
  for (int64_t first = 0; first < pixels; first += pixels_at_once) {
    const int64_t last = lesser(first + pixels_at_once, pixels);
    unfold(g, image, first, last, padded, unfolded);
    for (int64_t column = 0; column < padded; column += kWidth) {
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t begin = block_begin(block, blocks, g.filters);
        const int64_t rows = block_begin(block + 1, blocks, g.filters) - begin;
        tile_rows(rows, last - first, grad + begin * pixels + first, pixels, 1, unfolded + column, padded,
                  sums + begin * padded + column, padded, nullptr, true);
      }
    }
  }
}

}  // namespace

const ConvGemmKernels& conv_gemm_kernels() {
  static const ConvGemmKernels kernels = {kRows, kWidth, pack_rows, forward, to_data, to_weight};
  return kernels;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
