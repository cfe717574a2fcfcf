// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace loomix::ops {

// Copies to memory past the caches, for arrays that these do not hold. A usual write reads the line first, which is a third of
// the traffic of a copy. Where there are no such writes it is a usual copy. Any alignment.
void stream_copy(std::byte* to, const std::byte* from, int64_t bytes);

// What the thread copied so is in its place before what it does from now on. Each thread that copied calls it before it tells
// others that it is done.
void end_streams();

// The copy of one instruction set.
struct StreamLoops {
  void (*copy)(std::byte* to, const std::byte* from, int64_t bytes);
};

}  // namespace loomix::ops
