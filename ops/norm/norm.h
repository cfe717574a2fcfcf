// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operators of this folder, for register.cc.
namespace loomix::ops {

class OpTable;
void register_batch_norm(OpTable& table);
void register_row_norm(OpTable& table);
void register_l2_norm(OpTable& table);

}  // namespace loomix::ops
