// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include "ops/op.h"

namespace loomix::ops {

// Another form of images than the plain one, (batch, channels, height, width), for values of a graph. Weights of convolutions can
// be in it, too.
struct ImageForm {
  using Conversion =
      std::pair<const char*, Ref<const AttrsBase>>;  // an operator of one array, its attributes

  DTypeSet types = {};  // of images that can be in it
  Conversion (*into)(const Shape& image) = nullptr;
  Conversion (*back)(const Shape& image) = nullptr;
  // Whether it holds the elements of the image alone; else there are further ones, which are zero.
  bool (*fits)(const Shape& image) = nullptr;
  bool (*knows)(const OpDef& op) = nullptr;  // whether the operator can be in this form at all
  // The operator in this form; none if its attributes or arrays do not allow that, or it would not be faster. An input that is `prepared` by no operator is brought into the form as images are.
  std::optional<BlockedForm> (*of)(const ImageForm& form, const OpDef& op, const AttrsBase& attrs,
                                   const KernelSpec& spec, BlockedInputs inputs) = nullptr;
  // As what a converted byte counts beside one that is spared, in training and in prediction; at 0 it is always taken.
  int training_weight = 2, prediction_weight = 2;
};

// Blocks of channels (ops/blocked/blocked.h); without types where there are no such convolutions.
ImageForm blocked_images();

// Channels as the last axis, of a device whose traits have these types; by attributes of the operators themselves. It is in the
// CUDA module. Throws DeviceError where there is none.
ImageForm channels_last_images(DTypeSet types);

}  // namespace loomix::ops
