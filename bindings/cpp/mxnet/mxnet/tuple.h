// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/cpp/shape.h"

namespace mxnet {

class TShape : public loomix::cpp::Shape {
 public:
  using Shape::Shape;
};

}  // namespace mxnet
