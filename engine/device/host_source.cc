// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <sys/mman.h>

#include "base/machine.h"
#include "engine/device/memory_pool.h"

namespace loomix::engine {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kMaps = false;  // malloc's blocks have zones around them, in which overflows are found
#else
constexpr bool kMaps = true;
#endif

size_t in_pages(size_t bytes) noexcept { return (bytes + 4095) / 4096 * 4096; }

// Large blocks are mappings of their own: malloc may cut them out of a heap that other blocks keep from shrinking, and
// then free() gives nothing back to the system.
void* map(size_t bytes) noexcept {
  const size_t size = in_pages(bytes);
  void* const mapping =
      mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(mapping);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (before > 0) munmap(begin, before);
  if (before < kHugePage) munmap(begin + before + size, kHugePage - before);
  return begin + before;
}

class HostSource final : public MemorySource {
 public:
  void* allocate(size_t bytes) noexcept override {
    const bool large = bytes >= kHugePage;
    void* memory = nullptr;
    if (large && kMaps) {
      memory = map(bytes);
    } else if (posix_memalign(&memory, large ? kHugePage : 64, bytes) != 0) {
      return nullptr;
    }
    if (large && memory != nullptr) madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
  }
  void free(void* memory, size_t bytes) noexcept override {
    if (bytes >= kHugePage && kMaps) {
      munmap(memory, in_pages(bytes));
    } else {
      std::free(memory);
    }
  }
  size_t capacity() const noexcept override { return static_cast<size_t>(machine().memory_bytes); }
};

}  // namespace

std::unique_ptr<MemorySource> make_host_source() { return std::make_unique<HostSource>(); }

}  // namespace loomix::engine
