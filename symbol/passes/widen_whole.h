// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/graph.h"
#include "symbol/passes/infer.h"
#include "symbol/passes/whole_note.h"

namespace loomix {

// For prediction where there are no fast kernels of 8 bits: layers of 8 bits whose ranges are calibrated become layers of real
// numbers, between a quantize and the dequantize behind it. What was rounded is clamped to its range, and no longer rounded.
// Weights are made real by held nodes. Prunes what is left over. Notes, if they are wanted, give `reason` for each such layer.
Graph widen_whole(const Graph& graph, const ops::OpTable& table, const Inference& known, const char* reason,
                  std::vector<WholeNote>* notes = nullptr);

}  // namespace loomix
