// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ops/table.h"
#include "symbol/graph.h"
#include "symbol/passes/infer.h"

namespace loomix {

// What `fuse` did, for people to look at.
struct FusionLog {
  // An operator that could not be with another one whose result it reads, or, without `input`, with none.
  struct Apart {
    std::string name, op;
    std::string input, input_op;
    std::string reason;
  };
  std::vector<std::string> fused;  // a line each
  std::vector<Apart> apart;
};
std::string to_text(const FusionLog& log);

// Elementwise operators that read each other's results become one node, `_fused` (ops/fused/fused.h), which takes the place of the
// last of them. An operator joins those before it
//  - where nothing else reads their results before its own place, and both belong to the same pass, forward or backward;
//  - where inputs are spread over the results in one way: full arrays, numbers, rows of one length, an element a row;
//  - where joining keeps no array alive for long that would be gone (two inputs of an early operator instead of its result).
// Repetitions of smaller arrays (broadcast_to, the gradient of a sum) are such operators, too. Reductions are joined to what they
// reduce, and nothing that reads their result is.
Graph fuse(const Graph& graph, const ops::OpTable& table, const Inference& known, FusionLog* log = nullptr);

}  // namespace loomix
