// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ops/image_form.h"
#include "symbol/graph.h"
#include "symbol/passes/infer.h"

namespace loomix {

enum class LayoutFor : uint8_t { prediction, training };

// Convolutions, and what can follow them, run on images in the form that the device wants: in blocks of channels
// (ops/blocked/blocked.h), or with channels as the last axis; with conversions where others read or write them. An addition or a
// max(x, 0) that alone reads a convolution or a normalisation in blocks becomes a part of it. Outputs of the graph stay plain. Prunes
// what is left over.
// For prediction, weights are brought into their kernel's form by held nodes. For training, gradients of all these run in that
// form, too, and weights are brought into form once in each pass. The graph stays as it is where conversions would move more
// bytes, by the form's weights, than operators are spared; `note` gets a line with both numbers.
// `pick` may give a node another form of the same result than the one by the rules.
using PickForm = std::function<ops::BlockedForm(const Node& node, const ops::KernelSpec& spec,
                                                ops::BlockedInputs is_blocked, ops::BlockedForm by_rules)>;
Graph choose_layout(const Graph& graph, const ops::OpTable& table, const Inference& known, LayoutFor purpose,
                    const ops::ImageForm& form, const PickForm& pick = {}, std::string* note = nullptr);

}  // namespace loomix
