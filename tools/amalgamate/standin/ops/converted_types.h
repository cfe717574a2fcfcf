// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/dtype.h"

namespace loomix {

// The types that elements are converted from and to.
template <class Fn>
void dispatch_converted(DType dtype, const char* who, Fn&& fn) {
  if (dtype == DType::float64) fn(Type<double>{});
  else dispatch_all(dtype, who, static_cast<Fn&&>(fn));
}

}  // namespace loomix
