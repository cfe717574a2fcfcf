// SPDX-License-Identifier: Apache-2.0
#include "engine/thread_state.h"

#include <new>

#include "engine/block_cache.h"

namespace loomix::engine {

void ThreadState::refill() {
  free_tasks = returned.exchange(nullptr, std::memory_order_acquire);
  if (free_tasks != nullptr) return;
  slabs_.push_back(std::make_unique<Task[]>(kSlabTasks));
  for (int i = kSlabTasks - 1; i >= 0; --i) {
    Task* const task = &slabs_.back()[static_cast<size_t>(i)];
    task->home = this;
    task->link = free_tasks;
    free_tasks = task;
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
  free_tasks = nullptr;
  return_first = return_last = nullptr;
  return_home = nullptr;
  return_count = 0;
  returned.store(nullptr, std::memory_order_relaxed);
  owned.store(false, std::memory_order_relaxed);
}

void ThreadState::flush_returns() noexcept {
  if (return_first == nullptr) return;
  std::atomic<Task*>& list = return_home->returned;
  Task* head = list.load(std::memory_order_relaxed);
  do {
    return_last->link = head;
  } while (
      !list.compare_exchange_weak(head, return_first, std::memory_order_release, std::memory_order_relaxed));
  return_first = return_last = nullptr;
  return_home = nullptr;
  return_count = 0;
}

}  // namespace loomix::engine
