// SPDX-License-Identifier: Apache-2.0
//
// Memory of devices and page-locked memory: the host's, known by address.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

#include <cuda_runtime_api.h>

#include "tests/standin/stream.h"

namespace loomix::standin {
namespace {

struct Memory {
  size_t bytes;
  int place;
};
std::mutex mutex;
std::map<const char*, Memory> given;

cudaError_t give(void** memory, size_t bytes, int place) {
  if (forbidden()) return cudaErrorStreamCaptureUnsupported;
  if (status() != cudaSuccess) return status();
  if (posix_memalign(memory, 256, bytes) != 0) return cudaErrorMemoryAllocation;
  std::memset(*memory, 0xff, bytes);  // nobody may count on zeros
  const std::lock_guard lock(mutex);
  given[static_cast<const char*>(*memory)] = {bytes, place};
  return cudaSuccess;
}

size_t taken(int device) {
  const std::lock_guard lock(mutex);
  size_t bytes = 0;
  for (const auto& [first, memory] : given) bytes += memory.place == device ? memory.bytes : 0;
  return bytes;
}

}  // namespace

int place_of(const void* at) {
  const std::lock_guard lock(mutex);
  const auto after = given.upper_bound(static_cast<const char*>(at));
  if (after == given.begin()) return kElsewhere;
  const auto& [first, memory] = *std::prev(after);
  return static_cast<const char*>(at) < first + memory.bytes ? memory.place : kElsewhere;
}

}  // namespace loomix::standin

using loomix::standin::give;
using loomix::standin::kPinned;

extern "C" {

cudaError_t cudaMemGetInfo(size_t* left, size_t* total) {
  constexpr size_t kAll = size_t{1} << 30;
  int device = 0;
  cudaGetDevice(&device);
  *total = kAll;
  *left = kAll - std::min(loomix::standin::taken(device), kAll);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) { return give(memory, bytes, kPinned); }
cudaError_t cudaMallocManaged(void** memory, size_t bytes, unsigned) { return give(memory, bytes, kPinned); }
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  int device = 0;
  cudaGetDevice(&device);
  return give(memory, bytes, device);
}
cudaError_t cudaFree(void* memory) {
  if (loomix::standin::forbidden()) return cudaErrorStreamCaptureUnsupported;
  {
    const std::lock_guard lock(loomix::standin::mutex);
    loomix::standin::given.erase(static_cast<const char*>(memory));
  }
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }

}  // extern "C"
