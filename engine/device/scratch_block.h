// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "engine/device/device_runtime.h"

namespace loomix::engine {

// Memory of a task's own for as long as it runs; uninitialised, aligned to 64 bytes. Made in the body of the task, with
// its context's queue. On hosts it may move to another thread, e.g. with the Completion, and costs no lock as a rule.
// On a device the memory is reused behind the work that the queue holds when the block dies, on whatever thread: a task
// that ends later, by what a kernel reported, lets its block go there.
class ScratchBlock {
 public:
  // Where such memory comes from: found once, when a task is prepared.
  static MemoryPool& pool_of(Engine& engine, Device device) {
    return engine.device(device).memory(device.is_host() ? MemoryKind::host : MemoryKind::device);
  }

  ScratchBlock() noexcept = default;
  // Throws MemoryError. No bytes: nothing is taken.
  ScratchBlock(MemoryPool& pool, size_t bytes, DeviceQueue* queue) : pool_(&pool), queue_(queue) {
    if (bytes == 0) return;
    memory_ = queue == nullptr ? pool.allocate(bytes) : take_on(*queue, bytes);
    bytes_ = bytes;
  }
  ScratchBlock(ScratchBlock&& other) noexcept
      : pool_(other.pool_),
        queue_(other.queue_),
        memory_(std::exchange(other.memory_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  ScratchBlock& operator=(ScratchBlock&& other) noexcept {
    if (this == &other) return *this;
    release();
    pool_ = other.pool_;
    queue_ = other.queue_;
    memory_ = std::exchange(other.memory_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~ScratchBlock() { release(); }

  std::span<std::byte> bytes() const noexcept { return {static_cast<std::byte*>(memory_), bytes_}; }

 private:
  void* take_on(DeviceQueue& queue, size_t bytes) const;
  void give_back_on(DeviceQueue& queue) noexcept;
  void release() noexcept {
    if (memory_ == nullptr) return;
    queue_ == nullptr ? pool_->free(memory_, bytes_) : give_back_on(*queue_);
    memory_ = nullptr;
  }

  MemoryPool* pool_ = nullptr;
  DeviceQueue* queue_ = nullptr;
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace loomix::engine
