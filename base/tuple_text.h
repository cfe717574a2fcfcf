// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/shape.h"

namespace loomix {

// The numbers of a parameter in Python's notation. Shape::to_string is for shapes of arrays, where a negative size is unknown.
std::string tuple_text(const Shape& numbers);

}  // namespace loomix
