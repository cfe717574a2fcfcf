// SPDX-License-Identifier: Apache-2.0
#include "engine/device/managed_memory.h"

namespace loomix::engine {

ManagedMemory::ManagedMemory(DeviceRuntime& device, MemoryPool& host, size_t bytes)
    : host_pool_(host),
      device_pool_(device.device().is_host() ? nullptr : &device.memory(MemoryKind::device)),
      bytes_(bytes),
      host_data_(host.allocate(bytes)),
      device_data_(host_data_) {
  if (device_pool_ == nullptr) return;
  try {
    device_data_ = device_pool_->allocate(bytes);
  } catch (...) {
    host_pool_.free(host_data_, bytes_);
    throw;
  }
}

ManagedMemory::~ManagedMemory() {
  host_pool_.free(host_data_, bytes_, tokens_);
  if (device_pool_ != nullptr) device_pool_->free(device_data_, bytes_, tokens_);
}

void ManagedMemory::to_device(DeviceQueue* queue) {
  if (queue != nullptr) queue->copy(device_data_, host_data_, bytes_);
}

void ManagedMemory::to_host(DeviceQueue* queue) {
  if (queue != nullptr) queue->copy(host_data_, device_data_, bytes_);
}

}  // namespace loomix::engine
