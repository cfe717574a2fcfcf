// SPDX-License-Identifier: Apache-2.0
//
// Waiting for a Var enters its queue like a task, as a `direct` one that sets a flag; a waiting thread runs ready tasks
// meanwhile. wait_all drains (admission.cc).
#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "engine/blocked.h"
#include "engine/device/device_runtime.h"
#include "engine/futex.h"
#include "engine/threaded_engine.h"

namespace loomix::engine {

void ThreadedEngine::check_may_wait(const ThreadState& state, const char* what) const {
  const Task* const task = state.current.load(std::memory_order_relaxed);
  if (task == nullptr) return;
  const bool described = (task->flags & kDescribed) != 0;
  throw StateError(fmt::format(
      "[engine] {} was called inside the running task '{}'; a task must not wait: name what it "
      "needs in its tags.{}{}",
      what, described ? task->name() : "task", described ? "\n" : "", described ? task->text() : ""));
}

bool ThreadedEngine::is_ready(Var& var) {
  Ref<Poison> poison;
  return ready_now(var, false, poison);
}

// True if nothing has to be waited for; `poison` is then the data's.
bool ThreadedEngine::ready_now(Var& var, bool exclusive, Ref<Poison>& poison) {
  const std::lock_guard lock(var.lock_);
  if (!VarQueue::free_for(var, exclusive)) return false;
  if (var.tokens_ && var.tokens_->pending(exclusive)) return false;
  poison = poison_of(var);
  return true;
}

void ThreadedEngine::wait_for(Var& var, bool exclusive) {
  ThreadState& state = admission_.this_thread();
  check_may_wait(state, exclusive ? "wait_to_write()" : "wait()");
  Ref<Poison> poison;
  if (!ready_now(var, exclusive, poison)) {
    Blocked blocked(options_.block_hook);
    auto waiter = std::make_unique<Waiter>();
    admission_.admit_wait(state);
    Task* const task = state.take_task(1);
    task->pool = &pool_for(Device::cpu(), Lane::compute);
    task->device = Device::cpu();
    task->priority = 0;
    task->flags |= kDirect;
    task->waiter = waiter.get();
    task->set_count(1);
    AccessNode& node = task->nodes()[0];
    node.next.store(nullptr, std::memory_order_relaxed);
    node.task = task;
    node.var_and_bits = reinterpret_cast<uintptr_t>(&var) | (exclusive ? uintptr_t{kExclusive} : 0);
    launch(task, state, false);
    constexpr int kSpins = 64;
    const int64_t timeout = options_.block_hook.interrupted ? Blocked::kInterruptPeriod : -1;
    for (int spins = 0; waiter->state.load(std::memory_order_acquire) == Waiter::kWaiting;) {
      if (options_.help_while_waiting && help(state, *waiter)) {
        spins = 0;
      } else if (++spins < kSpins) {
        cpu_relax();
        continue;
      } else {
        futex_wait(waiter->state, Waiter::kWaiting, timeout);
      }
      if (blocked.interrupted()) {
        state.flush_returns();
        if (waiter->state.exchange(Waiter::kGone, std::memory_order_acq_rel) == Waiter::kWaiting)
          static_cast<void>(waiter.release());  // the task's now
        throw Interrupted("[engine] a wait for an array was interrupted by a signal.");
      }
    }
    state.flush_returns();
    poison = std::move(waiter->poison);
  }
  if (poison) poison->rethrow();
}

// Runs one ready host task, and then some of its successors while the waiter has to wait anyway.
bool ThreadedEngine::help(ThreadState& state, const Waiter& waiter) {
  Task* task = pool_for(Device::cpu(), Lane::compute).take_for_guest(state);
  if (task == nullptr) return false;
  RunContext context;
  for (int left = WorkerPool::kChain; task != nullptr; --left) {
    ReadyList ready;
    WorkerPool* const pool = task->pool;
    ThreadState::count(state.ran_waiting);
    if (run(task, state, context)) finish(task, state, ready);
    task = nullptr;
    if (Task* const first = ready.first;
        left > 0 && first && first->pool == pool && (first->flags & kMayInline) && first->priority == 0 &&
        !pool->urgent() && !devices_used() && waiter.state.load() == Waiter::kWaiting) {
      task = ready.take();
    }
    dispatch(ready, state);
  }
  return true;
}

void ThreadedEngine::wait_all() {
  ThreadState& state = admission_.this_thread();
  check_may_wait(state, "wait_all()");
  check_no_task_waits_for_itself(state.for_task);
  if (admission_.in_flight() > 0) {
    admission_.check_not_broken();
    Blocked blocked(options_.block_hook);
    while (!admission_.drain(Blocked::kInterruptPeriod)) blocked.check();
  }
  for (DeviceRuntime* const runtime : devices_->opened()) {
    const Blocked blocked(options_.block_hook);
    runtime->synchronize();
  }
  errors_.throw_first();
}

bool ThreadedEngine::drain(int timeout_ms) noexcept {
  const ThreadState& state = admission_.this_thread();
  if (admission_.drain(0)) return true;
  if (state.for_task || state.current.load(std::memory_order_relaxed) != nullptr) return false;
  const Blocked blocked(options_.block_hook);
  return admission_.drain(int64_t{timeout_ms} * kMillisecond);
}

// Waits for device work that lets go of memory, or until some task in flight has ended, as it may have freed some.
bool ThreadedEngine::reclaim(CompletionToken* pending) {
  if (pending != nullptr) {
    const Blocked blocked(options_.block_hook);
    pending->wait();
    return true;
  }
  // In a task, others that wait for memory in the same way cannot free any; nor can what stands behind them.
  constexpr int64_t kPatience = 10'000 * kMillisecond;
  constexpr int64_t kPatienceWithoutRunning = 200 * kMillisecond;
  const bool in_task = admission_.this_thread().current.load(std::memory_order_relaxed) != nullptr;
  const int64_t completed = admission_.completed();
  if (admission_.in_flight() <= (in_task ? 1 : 0)) {
    finish_device_work();  // which may hold memory of the host
    return false;
  }
  if (in_task) tasks_short_of_memory_.fetch_add(1, std::memory_order_relaxed);
  const Blocked blocked(options_.block_hook);
  const int64_t begin = Trace::now();
  int64_t last_running = begin;
  bool freed = false;
  while (!(freed = admission_.completed() != completed)) {
    const int64_t now = Trace::now();
    if (!in_task || admission_.running() > tasks_short_of_memory_.load(std::memory_order_relaxed))
      last_running = now;
    if (now > begin + kPatience || now > last_running + kPatienceWithoutRunning) break;
    sleep_ns(kMillisecond / 10);
  }
  if (in_task) tasks_short_of_memory_.fetch_sub(1, std::memory_order_relaxed);
  return freed;
}

void ThreadedEngine::finish_device_work() noexcept {
  for (DeviceRuntime* const runtime : devices_->opened()) {
    const Blocked blocked(options_.block_hook);
    try {
      runtime->synchronize();
    } catch (const Error&) {  // of the device: shown where its results are waited for
    }
  }
}

}  // namespace loomix::engine
