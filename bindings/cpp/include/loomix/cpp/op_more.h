// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/cpp/op.h"

namespace loomix::cpp {
inline namespace names {

// Arithmetic by the names of MXNet's cpp-package.
inline Symbol _Plus(const Symbol& lhs, const Symbol& rhs) { return lhs + rhs; }
inline Symbol _Minus(const Symbol& lhs, const Symbol& rhs) { return lhs - rhs; }
inline Symbol _Mul(const Symbol& lhs, const Symbol& rhs) { return lhs * rhs; }
inline Symbol _Div(const Symbol& lhs, const Symbol& rhs) { return lhs / rhs; }
inline Symbol _Mod(const Symbol& lhs, const Symbol& rhs) { return lhs % rhs; }
inline Symbol _Power(const Symbol& lhs, const Symbol& rhs) {
  return Operator("_Power")(lhs, rhs).CreateSymbol();
}
inline Symbol _Maximum(const Symbol& lhs, const Symbol& rhs) {
  return Operator("_Maximum")(lhs, rhs).CreateSymbol();
}
inline Symbol _Minimum(const Symbol& lhs, const Symbol& rhs) {
  return Operator("_Minimum")(lhs, rhs).CreateSymbol();
}

inline Symbol _PlusScalar(const Symbol& lhs, mx_float scalar) { return lhs + scalar; }
inline Symbol _MinusScalar(const Symbol& lhs, mx_float scalar) { return lhs - scalar; }
inline Symbol _MulScalar(const Symbol& lhs, mx_float scalar) { return lhs * scalar; }
inline Symbol _DivScalar(const Symbol& lhs, mx_float scalar) { return lhs / scalar; }
inline Symbol _ModScalar(const Symbol& lhs, mx_float scalar) { return lhs % scalar; }
inline Symbol _RMinusScalar(mx_float scalar, const Symbol& rhs) {
  return Operator("_RMinusScalar").SetParam("scalar", scalar)(rhs).CreateSymbol();
}
inline Symbol _RDivScalar(mx_float scalar, const Symbol& rhs) {
  return Operator("_RDivScalar").SetParam("scalar", scalar)(rhs).CreateSymbol();
}
inline Symbol _RModScalar(mx_float scalar, const Symbol& rhs) {
  return Operator("_rmod_scalar").SetParam("scalar", scalar)(rhs).CreateSymbol();
}
inline Symbol _PowerScalar(const Symbol& lhs, mx_float scalar) {
  return Operator("_PowerScalar").SetParam("scalar", scalar)(lhs).CreateSymbol();
}
inline Symbol _RPowerScalar(mx_float scalar, const Symbol& rhs) {
  return Operator("_RPowerScalar").SetParam("scalar", scalar)(rhs).CreateSymbol();
}
inline Symbol _MaximumScalar(const Symbol& lhs, mx_float scalar) {
  return Operator("_MaximumScalar").SetParam("scalar", scalar)(lhs).CreateSymbol();
}
inline Symbol _MinimumScalar(const Symbol& lhs, mx_float scalar) {
  return Operator("_MinimumScalar").SetParam("scalar", scalar)(lhs).CreateSymbol();
}

inline Symbol operator+(mx_float lhs, const Symbol& rhs) { return rhs + lhs; }
inline Symbol operator-(mx_float lhs, const Symbol& rhs) { return _RMinusScalar(lhs, rhs); }
inline Symbol operator*(mx_float lhs, const Symbol& rhs) { return rhs * lhs; }
inline Symbol operator/(mx_float lhs, const Symbol& rhs) { return _RDivScalar(lhs, rhs); }
inline Symbol operator%(mx_float lhs, const Symbol& rhs) { return _RModScalar(lhs, rhs); }

inline Symbol Activation(const std::string& symbol_name, const Symbol& data, const std::string& act_type) {
  return Operator("Activation")
      .SetParam("act_type", act_type)
      .SetInput("data", data)
      .CreateSymbol(symbol_name);
}
inline Symbol ConvolutionNoBias(const std::string& symbol_name, const Symbol& data, const Symbol& weight,
                                const Shape& kernel, int num_filter, const Shape& stride = Shape(1, 1),
                                const Shape& dilate = Shape(1, 1), const Shape& pad = Shape(0, 0),
                                int num_group = 1, int64_t workspace = 512) {
  return Operator("Convolution")
      .SetParam("kernel", kernel)
      .SetParam("num_filter", num_filter)
      .SetParam("stride", stride)
      .SetParam("dilate", dilate)
      .SetParam("pad", pad)
      .SetParam("num_group", num_group)
      .SetParam("workspace", workspace)
      .SetParam("no_bias", true)
      .SetInput("data", data)
      .SetInput("weight", weight)
      .CreateSymbol(symbol_name);
}

}  // namespace names
}  // namespace loomix::cpp
