// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/device/device_runtime.h"
#include "engine/inline_function.h"

namespace loomix::engine {

// A queue of the null device. Work put on it runs later, on the device's own thread: in order within the queue, in
// random order between queues. What it throws is the error of the next token. RunContext::queue of a task on Device::null() is
// one.
class NullQueue : public DeviceQueue {
 public:
  virtual void enqueue(InlineFunction<void(), 64> work) = 0;
};

}  // namespace loomix::engine
