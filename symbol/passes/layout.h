// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "symbol/graph.h"
#include "symbol/passes/infer.h"

namespace loomix {

enum class LayoutFor : uint8_t { prediction, training };

// Convolutions, and what can follow them, run on images in blocks of channels (ops/blocked/blocked.h), with conversions where
// others read or write them. An addition or a max(x, 0) that alone reads a convolution or a normalisation becomes a part of
// it. Outputs of the graph stay plain. Prunes what is left over.
// For prediction, weights are brought into their kernel's form by held nodes. For training, gradients of all these run on
// blocks, too, and weights are brought into form once in each pass; the graph stays as it is where conversions would move more
// bytes than operators are spared.
// `pick` may give a node another form of the same result than the one by the rules.
using PickForm = std::function<ops::BlockedForm(const Node& node, const ops::KernelSpec& spec,
                                                ops::BlockedInputs is_blocked, ops::BlockedForm by_rules)>;
Graph choose_layout(const Graph& graph, const ops::OpTable& table, const Inference& known, LayoutFor purpose,
                    const PickForm& pick = {});

}  // namespace loomix
