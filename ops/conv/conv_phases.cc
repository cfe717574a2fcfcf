// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/conv_phases.h"

#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/conv/conv_gemm_kernels.h"
#include "ops/isa.h"

namespace loomix::ops {
namespace {

constexpr int64_t kMostWidth = 64, kMostTile = 6 * kMostWidth;  // of all levels of instructions

const ConvGemmKernels& kernels() { return best_loops<ConvGemmKernels>(); }

int64_t tiles_of(const DataPhases& d) { return (d.columns() + kernels().width - 1) / kernels().width; }

void pad_plane(const ConvGeometry& g, const DataPhases& d, const float* from, float* to) {
  std::fill_n(to, d.plane, 0.0f);
  to += (d.lead[0] * d.size[1] + d.lead[1]) * d.size[2] + d.lead[2];
  for (int64_t z = 0; z < g.out[0]; ++z)
    for (int64_t y = 0; y < g.out[1]; ++y, from += g.out[2])
      std::copy_n(from, g.out[2], to + (z * d.size[1] + y) * d.size[2]);
}

// What the places x, x + stride, ... of one axis need: taps `first`, `first` + stride, ..., of which tap j reads the padded
// gradient's place `base` - j for the first of them.
struct PhaseAxis {
  int64_t first, taps, base;
  PhaseAxis(const ConvGeometry& g, const DataPhases& d, int i, int64_t x)
      : first((x + g.pad[i]) % g.stride[i]),
        taps(first < g.kernel[i] ? (g.kernel[i] - 1 - first) / g.stride[i] + 1 : 0),
        base((x + g.pad[i]) / g.stride[i] + d.lead[i]) {}
};

// Columns of a tile that are neighbours in a row of the grid: where they go in the data, and how many there are.
struct PhaseRun {
  int64_t to, at, length;
};

// Every second place from two phases, of which the other may end a place before.
void write_two(const float* even, const float* odd, int64_t length, int64_t places, float* to) {
  const int64_t pairs = std::min(length, places / 2);
#pragma omp simd
  for (int64_t i = 0; i < pairs; ++i) {
    to[2 * i] = even[i];
    to[2 * i + 1] = odd[i];
  }
  if (pairs < length) to[2 * pairs] = even[pairs];
}

// Columns [first, first + width) of the data's gradient in the planes z, z + stride, ... and rows y, y + stride, ...
class PhaseTile {
 public:
  PhaseTile(const ConvGeometry& g, const DataPhases& d, int64_t z, int64_t y, int64_t first)
      : g_(g), d_(d), z_(z), y_(y), first_(first), used_(std::min(kernels().width, d.columns() - first)) {
    cut_runs();
  }

  // `grad` is padded, packed[tap][channels][filters] is one packed matrix for each tap.
  void run(const float* grad, const float* packed, const float* bias, float* out) const {
    const int64_t blocks = (g_.channels + kernels().rows - 1) / kernels().rows;
    for (int64_t block = 0; block < blocks && count_ > 0; ++block) {
      const int64_t begin = g_.channels * block / blocks;
      const int64_t rows = g_.channels * (block + 1) / blocks - begin;
      run_block(rows, grad + first_, packed + begin * g_.filters, bias ? bias + begin : nullptr,
                out + begin * g_.in_size());
    }
  }

 private:
  void cut_runs() {
    for (int64_t at = first_; at < first_ + used_;) {
      const int64_t column = at % d_.size[2], row = at / d_.size[2];
      const int64_t end = std::min(at - column + d_.size[2], first_ + used_);
      const int64_t z = z_ + row / d_.size[1] * g_.stride[0], y = y_ + row % d_.size[1] * g_.stride[1];
      if (column < d_.grid[2] && row % d_.size[1] < d_.grid[1] && y < g_.in[1] && z < g_.in[0]) {
        runs_[count_++] = {(z * g_.in[1] + y) * g_.in[2] + column * g_.stride[2], at - first_,
                           std::min(d_.grid[2] - column, end - at)};
      }
      at = end;
    }
  }

  void run_block(int64_t rows, const float* grad, const float* packed, const float* bias, float* out) const {
    const int64_t stride = g_.stride[2], width = kernels().width;
    const int64_t at_once = stride == 2 ? 2 : 1;  // phases whose pixels alternate
    alignas(64) float parts[2][kMostTile];
    for (int64_t x = 0; x < stride; x += at_once) {
      for (int64_t i = 0; i < at_once; ++i) sum(x + i, rows, grad, packed, bias, parts[i]);
      for (int64_t r = 0; r < rows; ++r)
        write(x, parts[0] + r * width, parts[1] + r * width, out + r * g_.in_size());
    }
  }

  // Sums of a block of channels over all taps of the phase.
  void sum(int64_t column, int64_t rows, const float* grad, const float* packed, const float* bias,
           float* part) const {
    const ConvGemmKernels& k = kernels();
    const int64_t matrix = g_.channels * g_.filters;
    const PhaseAxis z(g_, d_, 0, z_), y(g_, d_, 1, y_), x(g_, d_, 2, column);
    bool add = false;
    for (int64_t jz = 0; jz < z.taps; ++jz) {
      for (int64_t jy = 0; jy < y.taps; ++jy) {
        const int64_t row = (z.base - jz) * d_.size[1] + y.base - jy;
        const int64_t line = (z.first + jz * g_.stride[0]) * g_.kernel[1] + y.first + jy * g_.stride[1];
        for (int64_t jx = 0; jx < x.taps; ++jx, add = true) {
          const int64_t tap = line * g_.kernel[2] + x.first + jx * g_.stride[2];
          k.tile(rows, used_, g_.filters, packed + tap * matrix, 1, rows,
                 grad + row * d_.size[2] + x.base - jx, d_.plane, part, k.width, bias, add);
        }
      }
    }
    for (int64_t r = 0; !add && r < rows; ++r)
      std::fill_n(part + r * k.width, k.width, bias ? bias[r] : 0.0f);
  }

  void write(int64_t x, const float* even, const float* odd, float* image) const {
    const int64_t stride = g_.stride[2];
    for (int i = 0; i < count_; ++i) {
      const PhaseRun& run = runs_[i];
      const int64_t places = g_.in[2] - run.to % g_.in[2];
      float* const to = image + run.to + x;
      if (stride == 2) {
        write_two(even + run.at, odd + run.at, run.length, places, to);
      } else {
        for (int64_t j = 0; j < run.length && j * stride + x < places; ++j) to[j * stride] = even[run.at + j];
      }
    }
  }

  const ConvGeometry& g_;
  const DataPhases& d_;
  const int64_t z_, y_, first_, used_;
  PhaseRun runs_[kMostWidth];
  int count_ = 0;
};

}  // namespace

DataPhases::DataPhases(const ConvGeometry& g) : plane(1) {
  for (int i = 0; i < 3; ++i) {
    lead[i] = (g.kernel[i] - 1) / g.stride[i];
    grid[i] = (g.in[i] + g.stride[i] - 1) / g.stride[i];
    size[i] = lead[i] + std::max(g.out[i], grid[i] + (g.stride[i] - 1 + g.pad[i]) / g.stride[i]);
    plane *= size[i];
  }
}

bool has_phases(const ConvGeometry& g) {
  constexpr int64_t kMostItems = 3;
  if (g.stride[0] * g.stride[1] * g.stride[2] == 1 || g.dilate[0] * g.dilate[1] * g.dilate[2] > 1)
    return false;
  if (g.batch * g.groups > kMostItems || g.channels < kernels().rows || g.out_size() == 0) return false;
  // What lies between rows is computed for nothing. Sums that are not added to the data save as much as some depth.
  constexpr int64_t kSavedDepth = 12;
  const int64_t extra = tiles_of(DataPhases(g)) * kernels().width - g.out_size();
  return extra <= g.out_size() / 4 && extra * g.filters <= g.out_size() * kSavedDepth;
}

// The unit of work is a tile's columns in the planes and rows of one phase.
void run_phases(const ConvGeometry& g, const ConvOperands& operands, float* scratch, const KernelArgs& args) {
  const ConvGemmKernels& k = kernels();
  const DataPhases d(g);
  const int64_t taps = g.kernel_size(), weights = g.filters * g.depth();
  const int64_t blocks = (g.channels + k.rows - 1) / k.rows;
  float* const padded = scratch + whole_lines(g.groups * weights);
  engine::parallel_each(*args.context, g.groups * blocks, 1, [&](int64_t i) {
    const int64_t begin = g.channels * (i % blocks) / blocks, end = g.channels * (i % blocks + 1) / blocks;
    const float* const from = operands.b.as<float>() + i / blocks * weights + begin * taps;
    float* const to = scratch + i / blocks * weights + begin * g.filters;
    for (int64_t tap = 0; tap < taps; ++tap)
      k.pack_rows(end - begin, g.filters, from + tap, taps, g.depth(), to + tap * g.channels * g.filters);
  });
  const int64_t phases = g.stride[0] * g.stride[1];
  for (int64_t item = 0; item < g.batch * g.groups; ++item) {
    const float* const grad = operands.a.as<float>() + item * g.filters * g.out_size();
    engine::parallel_each(*args.context, g.filters, 16,
                          [&](int64_t f) { pad_plane(g, d, grad + f * g.out_size(), padded + f * d.plane); });
    const int64_t group = item % g.groups;
    const float* const bias = operands.bias ? operands.bias->as<float>() + group * g.channels : nullptr;
    float* const out = args.out[0].mutable_as<float>() + item * g.channels * g.in_size();
    engine::parallel_each(*args.context, tiles_of(d) * phases, 1, [&](int64_t i) {
      const int64_t phase = i % phases;
      const PhaseTile tile(g, d, phase / g.stride[1], phase % g.stride[1], i / phases * k.width);
      tile.run(padded, scratch + group * weights, bias, out);
    });
  }
}

}  // namespace loomix::ops
