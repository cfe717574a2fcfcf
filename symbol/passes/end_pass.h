// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/graph.h"
#include "symbol/passes/infer.h"

namespace loomix {

// What every pass ends with. The graph is verified in builds with assertions, and wherever LOOMIX_VERIFY_PASSES says so;
// and it is written out, with what is known of its values, if LOOMIX_DUMP_PASSES names the pass.
void end_pass(const char* pass, const Graph& graph, const Inference* known = nullptr);

// For passes that make something else of a graph: where its text is wanted.
bool is_pass_dumped(std::string_view pass);
void dump_pass(std::string_view pass, const std::string& text);

// Whether LOOMIX_EXPLAIN asks for this of bound graphs: "fuse" or "plan".
bool is_explained(std::string_view topic);

}  // namespace loomix
