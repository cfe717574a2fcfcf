// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/params.h"
#include "ops/op.h"
#include "ops/softmax/softmax.h"

namespace loomix::ops {

enum class LossNormalization { null, batch, valid };

struct SoftmaxOutputParams {
  float grad_scale = 1.0f;
  float ignore_label = -1.0f;
  bool multi_output = false;
  bool use_ignore = false;
  bool preserve_shape = false;
  LossNormalization normalization = LossNormalization::null;
  bool out_grad = false;
  float smooth_alpha = 0.0f;

  static void fields(FieldList<SoftmaxOutputParams>& f) {
    using P = SoftmaxOutputParams;
    f("grad_scale", &P::grad_scale, "Scales the gradient.");
    f("ignore_label", &P::ignore_label, "Items with this label have no gradient, if `use_ignore` is on.");
    f("multi_output", &P::multi_output, "One softmax over axis 1 for each place of the other axes.");
    f("use_ignore", &P::use_ignore, "Whether `ignore_label` is looked at.");
    f("preserve_shape", &P::preserve_shape,
      "One softmax over the last axis, instead of one over all of an item.");
    f("normalization", &P::normalization,
      "Divides the gradient by nothing, the batch or the labels not ignored.")
        .options({{"batch", LossNormalization::batch},
                  {"null", LossNormalization::null},
                  {"valid", LossNormalization::valid}});
    f("out_grad", &P::out_grad, "Multiplies the gradient by the output.");
    f("smooth_alpha", &P::smooth_alpha, "How much of the label's weight goes to the other classes.")
        .at_least(0)
        .at_most(1);
  }
};

SoftmaxRows rows_of(const SoftmaxOutputParams& p, const Shape& shape);
// What the gradient is divided by, unless that is the number of valid labels.
double fixed_divisor(const SoftmaxOutputParams& p, const SoftmaxRows& rows, const Shape& label);

}  // namespace loomix::ops
