// SPDX-License-Identifier: Apache-2.0
#include "ops/stream_copy.h"

#include "ops/isa.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace loomix::ops {

void stream_copy(std::byte* to, const std::byte* from, int64_t bytes) {
  best_loops<StreamLoops>().copy(to, from, bytes);
}

void end_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace loomix::ops
