// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "base/device.h"
#include "engine/device/completion_token.h"
#include "engine/engine.h"

namespace loomix::engine {

// An ordered queue of work on a device (a CUDA stream). Calls come from the one worker that issues to it.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  virtual Device device() const = 0;
  virtual void* native() = 0;  // cudaStream_t
  virtual void wait_for(
      CompletionToken& token) = 0;  // later work starts after the token; no host thread waits
  virtual TokenRef record() = 0;    // done when all earlier work is
};

}  // namespace loomix::engine
