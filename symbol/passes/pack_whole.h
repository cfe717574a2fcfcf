// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/graph.h"
#include "symbol/passes/infer.h"
#include "symbol/passes/whole_note.h"

namespace loomix {

// For prediction: layers of 8 bits whose ranges are calibrated run in packed form (ops/quantization/packed.h), from one quantize to
// the dequantize behind it. Rounding, the sum of a residual, max(x, 0) and dequantize become parts of the layer before them, and
// layers round to the range of the concat that alone reads them. So sums are rounded once where they were rounded twice.
// Weights are brought into their kernel's form by held nodes. What has no packed form gets plain arrays and ranges. Prunes what is
// left over. Notes, if they are wanted, say which layers were left as they are, and why.
Graph pack_whole(const Graph& graph, const ops::OpTable& table, const Inference& known,
                 std::vector<WholeNote>* notes = nullptr);

}  // namespace loomix
