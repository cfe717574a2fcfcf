// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/engine.h"

namespace loomix::engine {

// Calls fn(begin, end) over disjoint ranges that cover [0, count), on up to context.cores threads; a range has at least
// `grain` items unless it is the only one. Which thread runs which range is not specified. fn must not throw.
template <class Fn>
void parallel_for(RunContext& context, int64_t count, int64_t grain, Fn&& fn) {
  const int64_t parts = std::clamp<int64_t>(count / std::max<int64_t>(grain, 1), 1, context.cores);
  if (parts == 1) {
    if (count > 0) fn(int64_t{0}, count);
    return;
  }
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static, 1)
  for (int64_t part = 0; part < parts; ++part) fn(count * part / parts, count * (part + 1) / parts);
}

}  // namespace loomix::engine
