// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/generator.h"

namespace loomix {

namespace {

// The first device's stream is the seed's own; others are far apart (odd multiples of the golden ratio).
uint64_t seed_of(uint64_t base, Device device) {
  const uint64_t number = (static_cast<uint64_t>(device.type) - 1) * 65536 + static_cast<uint16_t>(device.id);
  return base + number * 0x9E3779B97F4A7C15u;
}

}  // namespace

ops::RandomStream& Generators::stream(Device device) {
  return streams_.try_emplace(device, ops::RandomStream{seed_of(base_seed_, device), 0}).first->second;
}

ops::RandomStream Generators::reserve(Device device, uint64_t count) {
  const std::lock_guard lock(mutex_);
  ops::RandomStream& generator = stream(device);
  const ops::RandomStream reserved = generator;
  generator.offset += count;
  return reserved;
}

void Generators::seed(uint64_t seed, Device device) { set_state(device, {seed, 0}); }

void Generators::seed_all(uint64_t seed) {
  const std::lock_guard lock(mutex_);
  base_seed_ = seed;
  streams_.clear();
}

ops::RandomStream Generators::state(Device device) { return reserve(device, 0); }

void Generators::set_state(Device device, ops::RandomStream state) {
  const std::lock_guard lock(mutex_);
  stream(device) = state;
}

}  // namespace loomix
