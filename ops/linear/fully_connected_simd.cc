// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/isa.h"
#include "ops/linear/fully_connected_loops.h"
#include "ops/simd_tile.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

constexpr int64_t kGroup = 16 * kTileRows;  // columns of the result that use a piece of the panel in turn

constexpr int64_t kPieceFloats = 1 << 16;  // half of a second cache

int64_t panel_columns(int64_t rows) {
  return rows >= kTileWidth ? kTileWidth : (rows + kLanes - 1) / kLanes * kLanes;
}

void pack(int64_t rows, int64_t depth, const float* data, int64_t begin, int64_t end, float* panels) {
  for (int64_t first = 0; first < rows; first += kTileWidth, panels += kTileWidth * depth) {
    const int64_t used = std::min<int64_t>(kTileWidth, rows - first);
    const int64_t columns = panel_columns(rows - first);
    for (int64_t i = 0; i < used; ++i) {
      const float* from = data + (first + i) * depth;
      for (int64_t k = begin; k < end; ++k) panels[k * columns + i] = from[k];
    }
    for (int64_t i = used; i < columns; ++i) {
      for (int64_t k = begin; k < end; ++k) panels[k * columns + i] = 0.0f;
    }
  }
}

void columns(int64_t rows, int64_t hidden, int64_t depth, const float* panels, const float* weight,
             const float* bias, int64_t begin, int64_t end, float* out) {
  float part[kGroup * kTileWidth];
  for (int64_t group = begin; group < end; group += kGroup) {
    const int64_t count = std::min(kGroup, end - group);
    const float* panel = panels;
    for (int64_t first = 0; first < rows; first += kTileWidth, panel += kTileWidth * depth) {
      const int64_t width = panel_columns(rows - first), piece = kPieceFloats / width;
      for (int64_t k = 0; k < depth; k += piece) {
        for (int64_t r = 0; r < count; r += kTileRows) {
          tile_any(std::min<int64_t>(kTileRows, count - r), width, std::min(piece, depth - k),
                   weight + (group + r) * depth + k, depth, 1, panel + k * width, width,
                   part + r * kTileWidth, kTileWidth, bias ? bias + group + r : nullptr, k > 0);
        }
      }
      const int64_t used = std::min<int64_t>(kTileWidth, rows - first);
      for (int64_t i = 0; i < used; ++i) {
        float* to = out + (first + i) * hidden + group;
        for (int64_t r = 0; r < count; ++r) to[r] = part[r * kTileWidth + i];
      }
    }
  }
}

}  // namespace

template <>
const FullyConnectedLoops& compiled_loops() {
  static const FullyConnectedLoops loops = {kTileWidth, kLanes, pack, columns};
  return loops;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
