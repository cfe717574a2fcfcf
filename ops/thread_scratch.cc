// SPDX-License-Identifier: Apache-2.0
#include "ops/thread_scratch.h"

#include <memory>
#include <new>

namespace loomix::ops {
namespace {

constexpr int64_t kKeptFloats = 1 << 24;  // more goes back at the end of the scope
constexpr std::align_val_t kAlignment{64};

struct Free {
  void operator()(float* memory) const { ::operator delete(memory, kAlignment); }
};
struct Buffer {
  std::unique_ptr<float, Free> memory;
  int64_t floats = 0;
};

Buffer& buffer(ThreadScratch::Slot slot) {
  static thread_local Buffer buffers[ThreadScratch::kSlots];
  return buffers[slot];
}

}  // namespace

ThreadScratch::ThreadScratch(Slot slot, int64_t floats) : slot_(slot) {
  Buffer& kept = buffer(slot);
  if (kept.floats < floats) {
    kept = {};
    const auto bytes = static_cast<size_t>(floats) * sizeof(float);
    kept.memory.reset(static_cast<float*>(::operator new(bytes, kAlignment)));
    kept.floats = floats;
  }
  data_ = kept.memory.get();
}

ThreadScratch::~ThreadScratch() {
  Buffer& kept = buffer(slot_);
  if (kept.floats > kKeptFloats) kept = {};
}

}  // namespace loomix::ops
