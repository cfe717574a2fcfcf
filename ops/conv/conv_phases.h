// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/conv/convolution.h"

// The data's gradient of a convolution with strides, cut into phases: places of the data that are a stride apart lie on a
// grid, and those of one grid are a convolution of stride 1 of the output's gradient with every stride-th tap. So nothing
// is added to the data twice: a tile of sums is complete when it is written.
namespace loomix::ops {

struct DataPhases {
  int64_t lead[3];  // zeros before the gradient
  int64_t size[3];  // of the gradient with zeros around it
  int64_t plane;
  int64_t grid[3];  // places of the largest grid
  explicit DataPhases(const ConvGeometry& g);
  // Columns of all tiles: places of the grid in the padded gradient's rows, with what lies between the rows.
  int64_t columns() const { return ((grid[0] - 1) * size[1] + grid[1] - 1) * size[2] + grid[2]; }
};

// Few images with a stride: the phases of one are pieces for all cores, where a batch has pieces enough.
bool has_phases(const ConvGeometry& g);

// `scratch` holds the packed weight and the filters' padded planes, each up to a whole cache line, and kSurplus floats.
void run_phases(const ConvGeometry& g, const ConvOperands& operands, float* scratch, const KernelArgs& args);

}  // namespace loomix::ops
