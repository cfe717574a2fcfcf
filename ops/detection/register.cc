// SPDX-License-Identifier: Apache-2.0
#include "ops/detection/box.h"
#include "ops/detection/multibox.h"
#include "ops/detection/roi.h"
#include "ops/families.h"

namespace loomix::ops {

void register_detection(OpTable& table) {
  register_roi(table);
  register_deformable_roi(table);
  register_box(table);
  register_multibox(table);
  register_proposal(table);
}

}  // namespace loomix::ops
