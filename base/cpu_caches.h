// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace loomix {

// Bytes of the caches that one core's data go through; `last` may be shared with other cores.
struct CacheSizes {
  int64_t first, second, last;
};

// Of a text like "32K,1M,32M"; ValueError for anything but three sizes, each larger than the one before.
CacheSizes parse_cache_sizes(std::string_view text);

// What the setting cache_sizes says, else what Linux says of the first processor; 32 KiB, 512 KiB and 8 MiB where it says
// nothing. Constant. Limits of kernels that depend on caches are fractions of these (ops/limits.h).
const CacheSizes& cache_sizes();

}  // namespace loomix
