// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/device/memory_pool.h"

namespace loomix::engine {

// Memory of this kind, from CUDA's runtime.
std::unique_ptr<MemorySource> make_cuda_source(int device, MemoryKind kind);

}  // namespace loomix::engine
