// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/table.h"

namespace loomix::python {

// Adds `Custom`, which runs operators that users wrote in Python (mx.operator), and its gradient. See the top of custom_op.cc.
void register_custom_ops(ops::OpTable& table);

}  // namespace loomix::python
