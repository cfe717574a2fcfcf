// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ops/table.h"
#include "symbol/graph.h"
#include "symbol/passes/infer.h"

namespace loomix {

// Elementwise operators that read each other's results become one node, `_fused` (ops/fused/fused.h), which takes the place of the
// last of them. An operator joins those before it
//  - where nothing else reads their results before its own place, and both belong to the same pass, forward or backward;
//  - where inputs are spread over the results in one way: full arrays, numbers, rows of one length, an element a row;
//  - where joining keeps no array alive for long that would be gone (two inputs of an early operator instead of its result).
//
// `explanation`, if given, is added to: what was joined, and why other operators of this kind were not.
Graph fuse(const Graph& graph, const ops::OpTable& table, const Inference& known,
           std::string* explanation = nullptr);

}  // namespace loomix
