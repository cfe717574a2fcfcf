// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "base/device.h"
#include "ops/kernel.h"

namespace loomix {

// The random generators of all devices: each is a seed and a counter, from which pushes reserve stretches. Results
// depend on the order of the pushes only. Safe from any thread.
class Generators {
 public:
  // Reserves `count` numbers.
  ops::RandomStream reserve(Device device, uint64_t count);
  // One device, or all: those get different streams of the same seed.
  void seed(uint64_t seed, Device device);
  void seed_all(uint64_t seed);
  // For checkpoints.
  ops::RandomStream state(Device device);
  void set_state(Device device, ops::RandomStream state);

 private:
  ops::RandomStream& stream(Device device);  // needs the mutex
  std::mutex mutex_;
  uint64_t base_seed_ = 0;
  std::map<Device, ops::RandomStream> streams_;  // one for each device that drew
};

}  // namespace loomix
