// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <exception>
#include <mutex>
#include <string>

#include "base/device.h"
#include "engine/device/completion_token.h"

namespace loomix::engine {

// Names of the tasks whose work on a device may not be done, in the order in which it was issued. A device says only later that it
// fell over, and then of all work; so the first that failed is found here. Thread-safe.
class IssuedWork {
 public:
  void add(TokenRef token, const char* name);
  // "the first work to fail on gpu(0) was one of dot, relu": what the device can tell apart. Empty if none failed.
  std::string suspects(Device device) const;
  // A device that fell over refuses whatever comes next: then the error of what it refused, with the suspects. Waits for earlier work.
  std::exception_ptr with_suspects(std::exception_ptr error, Device device) const;

 private:
  struct Item {
    TokenRef token;
    std::string name;
  };
  mutable std::mutex mutex_;
  std::deque<Item> issued_;  // the first is not done, or failed
};

}  // namespace loomix::engine
