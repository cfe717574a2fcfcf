// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <cuda_runtime_api.h>

namespace loomix::standin {

// Runs the work after what was put on the stream before; at once where the stream is null.
void put_on(cudaStream_t stream, std::function<void()> work);

}  // namespace loomix::standin
