// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "engine/device/device_runtime.h"

namespace loomix::engine {

// MemoryKind::managed: a copy on the host and one on the device, synchronised only by to_device() and to_host(). The
// tasks that use it order those calls by its Var. On a host device both are the same memory.
class ManagedMemory {
 public:
  // `host` is pinned memory where there is some.
  ManagedMemory(DeviceRuntime& device, MemoryPool& host, size_t bytes);
  ~ManagedMemory();
  ManagedMemory(const ManagedMemory&) = delete;
  ManagedMemory& operator=(const ManagedMemory&) = delete;

  size_t bytes() const noexcept { return bytes_; }
  void* host() const noexcept { return host_data_; }
  void* device() const noexcept { return device_data_; }
  void to_device(DeviceQueue* queue);  // in the queue's order; null on hosts, where it does nothing
  void to_host(DeviceQueue* queue);
  // Device work that the memory has to outlive.
  void release_after(std::span<const TokenRef> tokens) { tokens_.assign(tokens.begin(), tokens.end()); }

 private:
  MemoryPool& host_pool_;
  MemoryPool* device_pool_;  // null on hosts
  const size_t bytes_;
  void* host_data_;
  void* device_data_;
  std::vector<TokenRef> tokens_;
};

}  // namespace loomix::engine
