// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <cuda_runtime_api.h>

namespace loomix::standin {

// Runs the work after what was put on the stream before; at once where the stream is null.
void put_on(cudaStream_t stream, std::function<void()> work);

// What the device did was wrong; it takes no more work, and says so.
void note_error(const char* what);

// What a call returns that did what it should.
cudaError_t status();

// For calls that a thread must not make while it captures, nor anybody on a stream that is captured: ends the capture as a failure.
bool forbidden(cudaStream_t on = nullptr);

// The device whose memory this is, or one of these.
constexpr int kPinned = -1, kElsewhere = -2;
int place_of(const void* at);

}  // namespace loomix::standin
