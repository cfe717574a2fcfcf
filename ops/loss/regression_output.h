// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

struct RegressionOutputParams {
  float grad_scale = 1.0f;
  static void fields(FieldList<RegressionOutputParams>& f) {
    f("grad_scale", &RegressionOutputParams::grad_scale, "Scales the gradient.");
  }
};

struct SvmOutputParams {
  float margin = 1.0f;
  float regularization_coefficient = 1.0f;
  bool use_linear = false;
  static void fields(FieldList<SvmOutputParams>& f) {
    f("margin", &SvmOutputParams::margin, "Distance from the boundary below which an item counts.");
    f("regularization_coefficient", &SvmOutputParams::regularization_coefficient, "Scales the gradient.");
    f("use_linear", &SvmOutputParams::use_linear, "The hinge loss itself instead of its square.");
  }
};

}  // namespace loomix::ops
