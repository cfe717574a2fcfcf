// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/cuda_memory.h"

#include <cstddef>
#include <optional>

#include <cuda_runtime_api.h>

#include "engine/device/cuda/check.h"

namespace loomix::engine {
namespace {

class CudaSource final : public MemorySource {
 public:
  CudaSource(int device, MemoryKind kind) noexcept : device_(device), kind_(kind) {}
  void* allocate(size_t bytes) override {
    void* memory = nullptr;
    cudaSetDevice(device_);
    cudaError_t status = cudaSuccess;
    switch (kind_) {
      case MemoryKind::host:
      case MemoryKind::pinned: status = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable); break;
      case MemoryKind::cuda_managed: status = cudaMallocManaged(&memory, bytes, cudaMemAttachGlobal); break;
      case MemoryKind::device:
      case MemoryKind::managed: status = cudaMalloc(&memory, bytes); break;
    }
    if (status == cudaSuccess) return memory;
    cudaGetLastError();  // it was this allocation's; later calls must not see it
    if (status != cudaErrorMemoryAllocation) check(status, "an allocation");
    return nullptr;
  }
  void free(void* memory, size_t) noexcept override {
    cudaSetDevice(device_);
    kind_ == MemoryKind::pinned ? cudaFreeHost(memory) : cudaFree(memory);
  }
  size_t capacity() const noexcept override {
    if (kind_ == MemoryKind::pinned) return make_host_source()->capacity() / 2;
    const std::optional<Info> info = ask();
    return info ? info->total : 0;
  }
  std::optional<size_t> left() const noexcept override {
    if (kind_ == MemoryKind::pinned) return std::nullopt;
    const std::optional<Info> info = ask();
    return info ? std::optional(info->left) : std::nullopt;
  }
  bool on_host() const noexcept override { return kind_ == MemoryKind::pinned; }

 private:
  struct Info {
    size_t left = 0;
    size_t total = 0;
  };
  std::optional<Info> ask() const noexcept {
    Info info;
    cudaSetDevice(device_);
    if (cudaMemGetInfo(&info.left, &info.total) == cudaSuccess) return info;
    cudaGetLastError();  // it was this question's; later calls must not see it
    return std::nullopt;
  }

  const int device_;
  const MemoryKind kind_;
};

}  // namespace

std::unique_ptr<MemorySource> make_cuda_source(int device, MemoryKind kind) {
  return std::make_unique<CudaSource>(device, kind);
}

}  // namespace loomix::engine
