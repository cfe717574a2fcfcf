// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

enum class DropoutMode { training, always };

struct DropoutParams {
  float p = 0.5f;
  DropoutMode mode = DropoutMode::training;
  Shape axes;
  std::optional<bool> cudnn_off = false;

  static void fields(FieldList<DropoutParams>& f) {
    f("p", &DropoutParams::p, "Probability that an element is dropped.").at_least(0).at_most(1);
    f("mode", &DropoutParams::mode, "Whether elements are dropped outside training, too.")
        .options({{"training", DropoutMode::training}, {"always", DropoutMode::always}});
    f("axes", &DropoutParams::axes, "Axes along which one decision holds.");
    f("cudnn_off", &DropoutParams::cudnn_off, "Has no effect.");
  }
};

}  // namespace loomix::ops
