// SPDX-License-Identifier: Apache-2.0
#include "ops/blocked/blocked.h"
#include "ops/families.h"

namespace loomix::ops {

std::optional<std::string> weight_form(const AttrsBase&) { return {}; }
const char* undoing_operator(const OpDef&, const AttrsBase&) { return nullptr; }
int64_t channel_block() { return 8; }
bool has_blocked_convolution() { return false; }
std::string convolution_library() { return {}; }
bool is_blocked_type(DType dtype) { return dtype == DType::float32; }

void register_blocked_conv(OpTable&) {}
void register_blocked_conv_gradients(OpTable&) {}

}  // namespace loomix::ops
