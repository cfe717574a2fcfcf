// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "engine/engine.h"
#include "engine/team.h"

namespace loomix::engine {

// Calls fn(begin, end) over disjoint ranges that cover [0, count), on up to context.cores threads; a range has at least
// `grain` items, and at least one, unless it is the only one. Which thread runs which range is not specified, and neither is how many there
// are: at most kRangesPerCore a core, so that a helper that wakes up late costs little. fn must not throw. Inside fn, and
// in work that runs inline, it runs on the calling thread.
template <class Fn>
void parallel_for(RunContext& context, int64_t count, int64_t grain, Fn&& fn) {
  constexpr int64_t kRangesPerCore = 4;
  int64_t parts = 1;
  if (context.cores > 1 && context.team != nullptr) {
    parts = std::clamp<int64_t>(count / std::max<int64_t>(grain, 1), 1, context.cores * kRangesPerCore);
  }
  if (parts == 1) {
    if (count > 0) fn(int64_t{0}, count);
    return;
  }
  struct Loop {
    std::remove_reference_t<Fn>* fn;
    int64_t count;
    int64_t parts;
  } loop{&fn, count, parts};
  const auto run = [](void* body, int64_t part) {
    const Loop& l = *static_cast<const Loop*>(body);
    (*l.fn)(l.count / l.parts * part + std::min(part, l.count % l.parts),
            l.count / l.parts * (part + 1) + std::min(part + 1, l.count % l.parts));
  };
  context.team->run(context.cores - 1, parts, run, &loop);
}

// The same for each item on its own: fn(i).
template <class Fn>
void parallel_each(RunContext& context, int64_t count, int64_t grain, Fn&& fn) {
  parallel_for(context, count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) fn(i);
  });
}

}  // namespace loomix::engine
