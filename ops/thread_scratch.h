// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loomix::ops {

// Memory of the calling thread for the length of a scope, 64-byte aligned, its content undefined. What a thread used last
// stays for its next scope, unless it is large. A slot serves one scope at a time; a kernel's buffers have one each.
class ThreadScratch {
 public:
  enum Slot { shared, own, sums, kSlots };

  ThreadScratch(Slot slot, int64_t floats);
  ~ThreadScratch();
  ThreadScratch(const ThreadScratch&) = delete;
  ThreadScratch& operator=(const ThreadScratch&) = delete;

  float* data() const { return data_; }

 private:
  const Slot slot_;
  float* data_;
};

}  // namespace loomix::ops
