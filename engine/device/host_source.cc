// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <sys/mman.h>

#include "base/machine.h"
#include "engine/device/memory_pool.h"

namespace loomix::engine {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

class HostSource final : public MemorySource {
 public:
  void* allocate(size_t bytes) noexcept override {
    const size_t alignment = bytes >= kHugePage ? kHugePage : 64;
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, bytes) != 0) return nullptr;
    if (bytes >= kHugePage) madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
  }
  void free(void* memory, size_t) noexcept override { std::free(memory); }
  size_t capacity() const noexcept override { return static_cast<size_t>(machine().memory_bytes); }
};

}  // namespace

std::unique_ptr<MemorySource> make_host_source() { return std::make_unique<HostSource>(); }

}  // namespace loomix::engine
