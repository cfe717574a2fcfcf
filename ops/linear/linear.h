// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operators of this folder, for register.cc.
namespace loomix::ops {

class OpTable;
void register_fully_connected(OpTable& table);
void register_dot(OpTable& table);
void kernels_bfloat16_dnnl(OpTable& table);

}  // namespace loomix::ops
