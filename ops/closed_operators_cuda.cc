// SPDX-License-Identifier: Apache-2.0
#include "ops/closed_operators.h"

#include <map>
#include <string_view>

// Which operators have kernels here that end with max(x, 0).
namespace loomix::ops {
namespace {

using Rule = const char* (*)(const AttrsBase& attrs, const KernelSpec& spec);

const std::map<std::string_view, Rule> kWithRelu = {
    {"FullyConnected", [](const AttrsBase&, const KernelSpec&) { return "_relu_FullyConnected"; }},
};

const char* with_relu(const OpDef& op, const AttrsBase& attrs, const KernelSpec& spec) {
  const auto found = kWithRelu.find(op.name);
  return found == kWithRelu.end() ? nullptr : found->second(attrs, spec);
}

}  // namespace
}  // namespace loomix::ops

// Looked up by closed_operators().
extern "C" [[gnu::visibility("default")]] const loomix::ops::ClosedOperators loomix_closed_operators{
    .with_relu = loomix::ops::with_relu};
