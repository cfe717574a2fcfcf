// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/process.h"
#include "io/image_ops/image_ops.h"
#include "symbol/autograd/tape.h"
#include "symbol/control_flow/control_flow.h"

namespace loomix::c {

void register_operators(ops::OpTable& table) {
  ops::register_all(table);
  autograd::register_operators(table);
  io::register_image_ops(table);
  control_flow::register_operators(table);
  control_flow::register_gradients(table);
}

}  // namespace loomix::c
