// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

namespace loomix {

void detail::throw_internal(const char* condition, const char* file, int line) {
  throw InternalError(fmt::format(
      "[internal] the invariant `{}` does not hold at {}:{}; this is a fault of Loomix, please report it.",
      condition, file, line));
}

}  // namespace loomix
