// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <cuda_runtime_api.h>

namespace loomix::standin {

// Runs the work after what was put on the stream before; at once where the stream is null.
void put_on(cudaStream_t stream, std::function<void()> work);

// What the device did was wrong; it takes no more work, and says so.
void note_error(const char* what);

}  // namespace loomix::standin
