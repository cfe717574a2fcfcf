// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/array.h"

// Elements of both arrays, which are broadcast. Their types must be the same; comparisons give 0 and 1 of that type.
namespace loomix::nn {

inline Array operator+(const Array& a, const Array& b) {
  static const detail::Prepared op("broadcast_add", 2);
  return op(a, b);
}
inline Array operator-(const Array& a, const Array& b) {
  static const detail::Prepared op("broadcast_sub", 2);
  return op(a, b);
}
inline Array operator*(const Array& a, const Array& b) {
  static const detail::Prepared op("broadcast_mul", 2);
  return op(a, b);
}
inline Array operator/(const Array& a, const Array& b) {
  static const detail::Prepared op("broadcast_div", 2);
  return op(a, b);
}
inline Array operator%(const Array& a, const Array& b) {
  static const detail::Prepared op("broadcast_mod", 2);
  return op(a, b);
}
inline Array operator==(const Array& a, const Array& b) {
  static const detail::Prepared op("broadcast_equal", 2);
  return op(a, b);
}
inline Array operator!=(const Array& a, const Array& b) {
  static const detail::Prepared op("broadcast_not_equal", 2);
  return op(a, b);
}
inline Array operator<(const Array& a, const Array& b) {
  static const detail::Prepared op("broadcast_lesser", 2);
  return op(a, b);
}
inline Array operator<=(const Array& a, const Array& b) {
  static const detail::Prepared op("broadcast_lesser_equal", 2);
  return op(a, b);
}
inline Array operator>(const Array& a, const Array& b) {
  static const detail::Prepared op("broadcast_greater", 2);
  return op(a, b);
}
inline Array operator>=(const Array& a, const Array& b) {
  static const detail::Prepared op("broadcast_greater_equal", 2);
  return op(a, b);
}
inline Array maximum(const Array& a, const Array& b) {
  static const detail::Prepared op("broadcast_maximum", 2);
  return op(a, b);
}
inline Array minimum(const Array& a, const Array& b) {
  static const detail::Prepared op("broadcast_minimum", 2);
  return op(a, b);
}
inline Array power(const Array& a, const Array& b) {
  static const detail::Prepared op("broadcast_power", 2);
  return op(a, b);
}

// With a number, which the array's type must be able to hold.
inline Array operator+(const Array& a, double b) { return detail::with_scalar("_plus_scalar", a, b); }
inline Array operator+(double a, const Array& b) { return detail::with_scalar("_plus_scalar", b, a); }
inline Array operator-(const Array& a, double b) { return detail::with_scalar("_minus_scalar", a, b); }
inline Array operator-(double a, const Array& b) { return detail::with_scalar("_rminus_scalar", b, a); }
inline Array operator*(const Array& a, double b) { return detail::with_scalar("_mul_scalar", a, b); }
inline Array operator*(double a, const Array& b) { return detail::with_scalar("_mul_scalar", b, a); }
inline Array operator/(const Array& a, double b) { return detail::with_scalar("_div_scalar", a, b); }
inline Array operator/(double a, const Array& b) { return detail::with_scalar("_rdiv_scalar", b, a); }
inline Array operator%(const Array& a, double b) { return detail::with_scalar("_mod_scalar", a, b); }
inline Array operator%(double a, const Array& b) { return detail::with_scalar("_rmod_scalar", b, a); }
inline Array operator==(const Array& a, double b) { return detail::with_scalar("_equal_scalar", a, b); }
inline Array operator==(double a, const Array& b) { return detail::with_scalar("_equal_scalar", b, a); }
inline Array operator!=(const Array& a, double b) { return detail::with_scalar("_not_equal_scalar", a, b); }
inline Array operator!=(double a, const Array& b) { return detail::with_scalar("_not_equal_scalar", b, a); }
inline Array operator<(const Array& a, double b) { return detail::with_scalar("_lesser_scalar", a, b); }
inline Array operator<(double a, const Array& b) { return detail::with_scalar("_greater_scalar", b, a); }
inline Array operator<=(const Array& a, double b) {
  return detail::with_scalar("_lesser_equal_scalar", a, b);
}
inline Array operator<=(double a, const Array& b) {
  return detail::with_scalar("_greater_equal_scalar", b, a);
}
inline Array operator>(const Array& a, double b) { return detail::with_scalar("_greater_scalar", a, b); }
inline Array operator>(double a, const Array& b) { return detail::with_scalar("_lesser_scalar", b, a); }
inline Array operator>=(const Array& a, double b) {
  return detail::with_scalar("_greater_equal_scalar", a, b);
}
inline Array operator>=(double a, const Array& b) {
  return detail::with_scalar("_lesser_equal_scalar", b, a);
}
inline Array maximum(const Array& a, double b) { return detail::with_scalar("_maximum_scalar", a, b); }
inline Array maximum(double a, const Array& b) { return detail::with_scalar("_maximum_scalar", b, a); }
inline Array minimum(const Array& a, double b) { return detail::with_scalar("_minimum_scalar", a, b); }
inline Array minimum(double a, const Array& b) { return detail::with_scalar("_minimum_scalar", b, a); }
inline Array power(const Array& a, double b) { return detail::with_scalar("_power_scalar", a, b); }
inline Array power(double a, const Array& b) { return detail::with_scalar("_rpower_scalar", b, a); }

}  // namespace loomix::nn
