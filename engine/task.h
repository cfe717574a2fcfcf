// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <new>

#include "engine/engine.h"
#include "engine/task_parts.h"
#include "engine/var_queue.h"

namespace loomix::engine {

class WorkerPool;
struct ThreadState;

enum TaskFlags : uint8_t {
  kAsync = 1,       // `async` is the body, not `work`
  kMayInline = 2,   // may run on a pushing or waiting thread
  kDirect = 4,      // bookkeeping of the engine: runs where it becomes ready, past all queues
  kDescribed = 8,   // `describe` holds something
  kWideNodes = 16,  // the nodes are in an array of their own
  kCounted = 32,    // `bytes` was added to the device's bytes in flight
  kUnlogged = 64,   // wait_all does not throw its error
  kInParts = 128,   // `parts` is the body; each part has its own errors
};

// A thread that waits for a Var. The thread and the task that ends its wait both move `state`; whoever comes second
// owns it: the thread as a rule, the task if the thread was interrupted.
struct Waiter {
  static constexpr uint32_t kWaiting = 0, kFinished = 1, kGone = 2;
  Ref<Poison> poison;  // of the Var's data, once finished
  std::atomic<uint32_t> state{kWaiting};
};

// A pushed task. Belongs to the thread state that made it and goes back to it for reuse. The first cache line is what
// ordering and hand-over touch; a task with one tag and a small closure uses two lines.
struct alignas(64) Task {
  static constexpr int kInlineNodes = 4;
  static constexpr int kBatch = 12;

  Task* link = nullptr;  // in lists of ready tasks and of those on their way home
  ThreadState* home = nullptr;
  WorkerPool* pool = nullptr;
  std::atomic<uint32_t> blockers{
      0};                     // accesses not yet granted and tokens not yet done; then parties to completion
  uint16_t inline_count = 0;  // of inline_nodes that are used
  int16_t priority = 0;
  Device device;
  uint8_t flags = 0;
  uint8_t max_cores = 1;
  uint16_t patience_ns = 0;  // how long it waits for its cores
  union {
    AccessNode inline_nodes[kInlineNodes];
    Task* batch[kBatch];  // on the way home: others that come along, `inline_count` of them
    struct {
      AccessNode* wide_nodes;
      uint32_t wide_capacity;
      uint32_t wide_count;
    };
  };
  union {
    Work work;
    AsyncWork async;
    PartsWork parts;
    Waiter* waiter;
  };
  Describe describe;
  int64_t bytes = 0;
  std::exception_ptr errors[2];  // of the body, of the Completion

  Task() noexcept {}
  ~Task() {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  AccessNode* nodes() noexcept { return (flags & kWideNodes) ? wide_nodes : inline_nodes; }
  std::span<AccessNode> accesses() noexcept {
    if (flags & kWideNodes) [[unlikely]]
      return {wide_nodes, wide_count};
    return {inline_nodes, inline_count};
  }
  void set_count(size_t count) noexcept {
    if (flags & kWideNodes) {
      wide_count = static_cast<uint32_t>(count);
    } else {
      inline_count = static_cast<uint16_t>(count);
    }
  }

  void drop_body() noexcept {
    if (flags & kAsync) async.reset();
    else if (flags & kInParts) parts.reset();
    else work.reset();
  }
  std::string text() const { return describe.text ? describe.text(describe.context.get()) : std::string(); }
  const char* name() const { return describe.name ? describe.name(describe.context.get()) : "task"; }
};
static_assert(sizeof(Task) <= 256);

}  // namespace loomix::engine
