// SPDX-License-Identifier: Apache-2.0
#include "engine/thread_state.h"

#include <new>

#include "engine/block_cache.h"

namespace loomix::engine {

// What came back, else new tasks. A carrier brings others along, so that a look at one of them finds many.
void ThreadState::refill() {
  Task* carrier = returned.exchange(nullptr, std::memory_order_acquire);
  while (carrier != nullptr) {
    Task* const next = carrier->link;
    __builtin_prefetch(next);
    for (uint16_t i = 0; i < carrier->inline_count; ++i) free_tasks_[free_count_++] = carrier->batch[i];
    free_tasks_[free_count_++] = carrier;
    carrier = next;
  }
  if (free_count_ > 0) return;
  slabs_.push_back(std::make_unique<Task[]>(kSlabTasks));
  free_tasks_.resize(slabs_.size() * kSlabTasks);
  for (size_t i = kSlabTasks; i-- > 0;) {
    Task* const task = &slabs_.back()[i];
    task->home = this;
    free_tasks_[free_count_++] = task;
  }
}

namespace {

constexpr size_t kMediumNodes = 16;
constexpr size_t kLargeNodes = 64;
using MediumBlocks = BlockCache<kMediumNodes * sizeof(AccessNode)>;
using LargeBlocks = BlockCache<kLargeNodes * sizeof(AccessNode)>;

}  // namespace

void ThreadState::widen(Task& task, size_t nodes) {
  void* const block = nodes <= kMediumNodes  ? MediumBlocks::allocate()
                      : nodes <= kLargeNodes ? LargeBlocks::allocate()
                                             : ::operator new(nodes * sizeof(AccessNode));
  task.wide_nodes = static_cast<AccessNode*>(block);
  for (size_t i = 0; i < nodes; ++i) ::new (task.wide_nodes + i) AccessNode;
  task.wide_capacity = static_cast<uint32_t>(nodes);
  task.flags = kWideNodes;
}

void ThreadState::narrow(Task& task) noexcept {
  if (task.wide_capacity <= kMediumNodes) {
    MediumBlocks::free(task.wide_nodes);
  } else if (task.wide_capacity <= kLargeNodes) {
    LargeBlocks::free(task.wide_nodes);
  } else {
    ::operator delete(task.wide_nodes);
  }
  task.flags = 0;
}

// Tasks that were on their way between threads are lost to reuse; their memory ends with the engine.
void ThreadState::abandon() noexcept {
  worker = nullptr;
  current.store(nullptr, std::memory_order_relaxed);
  inline_depth = 0;
  for_task = false;
  push_priority = 0;
  credit = 0;
  omp_threads = 0;
  free_count_ = 0;
  return_home_ = nullptr;
  return_count_ = 0;
  returned.store(nullptr, std::memory_order_relaxed);
  owned.store(false, std::memory_order_relaxed);
}

void ThreadState::flush_returns() noexcept {
  if (return_count_ == 0) return;
  Task* const carrier = returning_[--return_count_];
  for (size_t i = 0; i < return_count_; ++i) carrier->batch[i] = returning_[i];
  carrier->inline_count = static_cast<uint16_t>(return_count_);
  return_count_ = 0;
  std::atomic<Task*>& list = return_home_->returned;
  Task* head = list.load(std::memory_order_relaxed);
  do {
    carrier->link = head;
  } while (!list.compare_exchange_weak(head, carrier, std::memory_order_release, std::memory_order_relaxed));
}

}  // namespace loomix::engine
