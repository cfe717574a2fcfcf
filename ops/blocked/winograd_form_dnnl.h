// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ops/blocked/winograd_weight.h"
#include "ops/primitive_dnnl.h"

namespace loomix::ops {

// How oneDNN lays out a weight for Winograd's method, if it says so and the tiles fill its blocks; version 3 does not. Then
// its own transform is left, which takes several times as long, and twice the memory.
std::optional<WinogradForm> winograd_form(const onednn::Desc& weight);

}  // namespace loomix::ops
