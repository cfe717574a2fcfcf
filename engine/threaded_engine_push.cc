// SPDX-License-Identifier: Apache-2.0
//
// Pushing: a task is made, entered into the queues of its Vars and, if it is ready, run or handed to its pool.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/threaded_engine.h"

namespace loomix::engine {
namespace {

constexpr uint32_t kHelpLimitNs = 100'000;  // a waiting thread leaves costlier tasks to the workers

uintptr_t entry_of(const Tag& tag) { return reinterpret_cast<uintptr_t>(tag.var) | bits_of(tag.access); }
bool same_var(uintptr_t a, uintptr_t b) { return (a ^ b) <= kAccessMask; }

// Both write `var_and_bits` of the nodes in order of address, one per Var, and return how many.
size_t insert_few(AccessNode* nodes, std::span<const Tag> tags) {
  size_t count = 0;
  for (const Tag& tag : tags) {
    const uintptr_t entry = entry_of(tag);
    size_t place = count;
    while (place > 0 && nodes[place - 1].var_and_bits > (entry | kAccessMask)) --place;
    if (place > 0 && same_var(nodes[place - 1].var_and_bits, entry)) {
      nodes[place - 1].var_and_bits |= entry;
      continue;
    }
    for (size_t i = count; i > place; --i) nodes[i].var_and_bits = nodes[i - 1].var_and_bits;
    nodes[place].var_and_bits = entry;
    ++count;
  }
  return count;
}

size_t sort_many(AccessNode* nodes, std::span<const Tag> tags, std::vector<uintptr_t>& entries) {
  entries.clear();
  for (const Tag& tag : tags) entries.push_back(entry_of(tag));
  if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());
  size_t count = 0;
  for (const uintptr_t entry : entries) {
    if (count > 0 && same_var(nodes[count - 1].var_and_bits, entry)) {
      nodes[count - 1].var_and_bits |= entry;
    } else {
      nodes[count++].var_and_bits = entry;
    }
  }
  return count;
}

}  // namespace

void ThreadedEngine::push(TaskInfo info, std::span<const Tag> tags, Work work) {
  ThreadState& state = admission_.this_thread();
  Task* const task = prepare(state, info, tags);
  ::new (&task->work) Work(std::move(work));
  launch(task, state, may_inline(info));
}

void ThreadedEngine::push_async(TaskInfo info, std::span<const Tag> tags, AsyncWork work) {
  ThreadState& state = admission_.this_thread();
  Task* const task = prepare(state, info, tags);
  ::new (&task->async) AsyncWork(std::move(work));
  task->flags = static_cast<uint8_t>((task->flags | kAsync) & ~kMayInline);
  launch(task, state, false);
}

int16_t ThreadedEngine::exchange_push_priority(int16_t priority) {
  return std::exchange(admission_.this_thread().push_priority, priority);
}

bool ThreadedEngine::exchange_for_task(bool for_task) {
  return std::exchange(admission_.this_thread().for_task, for_task);
}

Task* ThreadedEngine::prepare(ThreadState& state, TaskInfo& info, std::span<const Tag> tags) {
  for (const Tag& tag : tags)
    LOOMIX_CHECK(tag.var != nullptr, ValueError, "[engine] a tag of a pushed task names no Var.");
  WorkerPool& pool = pool_for(info.device, info.lane);
  admission_.admit(state, info);
  Task* const task = state.take_task(tags.size());
  task->pool = &pool;
  task->device = info.device;
  task->priority = info.priority != 0 ? info.priority : state.push_priority;
  task->max_cores = std::max<uint8_t>(1, info.max_cores);
  constexpr int64_t kPatiencePart = 64;  // of the cost: most often the other cores are busy for longer
  task->patience_ns =
      static_cast<uint16_t>(std::min<int64_t>(info.cost_ns / kPatiencePart, CoreTokens::kPatienceNs));
  if (info.may_inline && info.cost_ns <= kHelpLimitNs && info.device.is_host()) task->flags |= kMayInline;
  if (info.may_be_unused) task->flags |= kUnlogged;
  if (info.describe.text || info.describe.name) {
    task->describe = std::move(info.describe);
    task->flags |= kDescribed;
  }
  if (info.bytes > 0) {
    task->bytes = info.bytes;
    task->flags |= kCounted;
    admission_.add_bytes(info.device, info.bytes);
  }
  set_nodes(*task, tags, state.long_tags);
  return task;
}

// Writes the nodes in order of address, one per Var.
void ThreadedEngine::set_nodes(Task& task, std::span<const Tag> tags, std::vector<uintptr_t>& long_tags) {
  constexpr size_t kFew = 32;
  AccessNode* const nodes = task.nodes();
  const size_t count = tags.size() <= kFew ? insert_few(nodes, tags) : sort_many(nodes, tags, long_tags);
  for (size_t i = 0; i < count; ++i) {
    nodes[i].next.store(nullptr, std::memory_order_relaxed);
    nodes[i].task = &task;
  }
  task.set_count(count);
}

// Returns how many accesses have to wait. If any has, the task may be gone on return.
uint32_t ThreadedEngine::enter_queues(Task& task) {
  const std::span<AccessNode> nodes = task.accesses();
  uint32_t blocked = 0;
  for (AccessNode& node : nodes) {
    VarQueue::lock(node.var());
    if (!VarQueue::free_for(node.var(), node.exclusive())) ++blocked;
  }
  task.blockers.store(blocked, std::memory_order_relaxed);
  for (AccessNode& node : nodes) {
    Var& var = node.var();
    VarQueue::enter(node);
    VarQueue::unlock(var);
  }
  return blocked;
}

void ThreadedEngine::launch(Task* task, ThreadState& state, bool inline_allowed) {
  if (enter_queues(*task) > 0) return;
  if (inline_allowed && may_run_inline(*task, state)) {
    run_inline(task, state);
    return;
  }
  ReadyList ready;
  ready.append(task);
  dispatch(ready, state);
}

bool ThreadedEngine::may_run_inline(const Task& task, const ThreadState& state) const {
  return state.inline_depth == 0 && task.device.is_host() && !task.pool->has_higher(task.priority);
}

void ThreadedEngine::run_inline(Task* task, ThreadState& state) {
  if (devices_used() && hold_for_tokens(*task)) return;
  ReadyList ready;
  RunContext context;
  ++state.inline_depth;
  ThreadState::count(state.ran_inline);
  const bool finished = run(task, state, context);
  --state.inline_depth;
  if (finished) finish(task, state, ready);
  dispatch(ready, state);
  admission_.tell_drain();
}

// Sends ready tasks on their way.
void ThreadedEngine::dispatch(ReadyList& ready, ThreadState& state) {
  while (Task* const task = ready.take()) {
    if (devices_used() && hold_for_tokens(*task)) continue;
    if (task->flags & kDirect) {
      run_direct(task, state, ready);
    } else {
      task->pool->submit(task, state);
    }
  }
}

}  // namespace loomix::engine
