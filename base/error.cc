// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

namespace loomix::detail {

void throw_internal(const char* condition, const char* file, int line) {
  throw_error<InternalError>("[internal] broken invariant: {} at {}:{}; please report this.", condition, file, line);
}

}  // namespace loomix::detail
