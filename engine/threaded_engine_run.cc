// SPDX-License-Identifier: Apache-2.0
//
// Running a task: its body, what ends it, and the successors that become ready.
#include <algorithm>
#include <utility>

#include "engine/futex.h"
#include "engine/omp_threads.h"
#include "engine/threaded_engine.h"

namespace loomix::engine {

void ThreadedEngine::run_from_queue(Task* task, ThreadState& state, RunContext& context) {
  for (int left = WorkerPool::kChain;; --left) {
    ReadyList ready;
    WorkerPool* const pool = task->pool;
    ThreadState::count(state.worker->ran);
    if (run(task, state, context)) finish(task, state, ready);
    Task* next = nullptr;
    if (ready.first != nullptr) {
      Task* const first = ready.first;
      if (left > 0 && first->pool == pool && first->priority == 0 && !(first->flags & kDirect) &&
          !pool->urgent() && !devices_used() && pool->may_pass(*state.worker)) {
        next = ready.take();
      }
      dispatch(ready, state);
    }
    if (next == nullptr) {
      pool->ran(*state.worker, WorkerPool::kChain - left + 1);
      return;
    }
    task = next;
  }
}

// Runs the body, or skips it. Returns false if the task is asynchronous and will be finished by its Completion.
bool ThreadedEngine::run(Task* task, ThreadState& state, RunContext& context) {
  const bool in_parts = (task->flags & kInParts) != 0;
  if (looks_for_errors() && (skip_dropped(*task) || (!in_parts && skip_poisoned(*task)))) return true;
  if (state.push_priority != 0) [[unlikely]] {
    const int16_t outer_priority = std::exchange(state.push_priority, int16_t{0});
    const bool finished = run(task, state, context);
    state.push_priority = outer_priority;
    return finished;
  }
  Task* const outer = state.current.load(std::memory_order_relaxed);
  state.current.store(task, std::memory_order_release);
  if (!trace_.enabled() || in_parts) [[likely]]
    return invoke(task, state, context, outer);
  // An asynchronous task may be gone after its body.
  const std::string track = track_of(*task, state);
  std::string name = (task->flags & kDescribed) ? task->name() : "task";
  const char* const category = !task->device.is_host()  ? "issue"
                               : (task->flags & kAsync) ? "asynchronous"
                                                        : "task";
  const int64_t begin = Trace::now();
  const bool finished = invoke(task, state, context, outer);
  trace_.add(track, std::move(name), category, begin, Trace::now());
  return finished;
}

// Marks the body as ended. While a fork is prepared, somebody may be reading the task's name.
void ThreadedEngine::leave_body(ThreadState& state, Task* outer) noexcept {
  if (admission_.is_open()) [[likely]] {
    state.current.store(outer, std::memory_order_release);
  } else {
    const std::lock_guard lock(inspect_mutex_);
    state.current.store(outer, std::memory_order_release);
  }
}

bool ThreadedEngine::invoke(Task* task, ThreadState& state, RunContext& context, Task* outer) {
  context.device = task->device;
  const bool wide = task->max_cores > 1 && state.inline_depth == 0;
  const int extra = wide ? cores_.take(task->max_cores - 1, task->patience_ns) : 0;
  // How work is cut into parts decides how sums are rounded, so it must not depend on what else runs.
  const bool splits = wide || options_.deterministic;
  context.cores = splits ? std::clamp<int>(task->max_cores, 1, cores_.cores()) : 1;
  context.threads = options_.deterministic ? context.cores : 1 + extra;
  context.team = &team_;
  const bool own_thread = state.worker != nullptr;
  const int outer_threads = own_thread ? state.omp_threads : omp_threads();
  if (outer_threads != context.threads) {
    set_omp_threads(context.threads);
    if (own_thread) state.omp_threads = context.threads;
  }
  bool finished = true;
  if (task->flags & kAsync) [[unlikely]] {
    task->blockers.store(2, std::memory_order_relaxed);  // this function, and the Completion
    std::exception_ptr error;
    bool traced = false;
    try {
      if (context.queue != nullptr) traced = begin_on_device(*task, *context.queue);
      task->async(context, Completion(*this, task));
    } catch (...) {
      error = std::current_exception();
    }
    if (context.queue != nullptr) {
      std::exception_ptr device_error = end_on_device(*task, *context.queue, traced);
      if (!error) error = std::move(device_error);
    }
    task->async.reset();
    task->errors[0] = std::move(error);
    leave_body(state, outer);  // the Completion may end the task from here on
    finished = task->blockers.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (finished) end_async(*task);
  } else {
    const bool on_device = context.queue != nullptr;
    bool traced = false;
    try {
      if (on_device) [[unlikely]]
        traced = begin_on_device(*task, *context.queue);
      if (task->flags & kInParts) {
        run_parts(*task, state, context);
      } else {
        task->work(context);
        if (looks_for_errors()) heal(*task);
      }
    } catch (...) {
      fail(*task, std::current_exception());
    }
    if (on_device) [[unlikely]] {  // before the body lets go of its memory
      if (std::exception_ptr error = end_on_device(*task, *context.queue, traced))
        fail(*task, std::move(error));
    }
    task->drop_body();
    leave_body(state, outer);
  }
  if (!own_thread && outer_threads != context.threads) set_omp_threads(outer_threads);
  cores_.give(extra);
  return finished;
}

void ThreadedEngine::end_async(Task& task) noexcept {
  std::exception_ptr error = task.errors[0] ? task.errors[0] : task.errors[1];
  task.errors[0] = task.errors[1] = nullptr;
  if (error) {
    fail(task, std::move(error));
  } else if (looks_for_errors()) {
    heal(task);
  }
}

void ThreadedEngine::complete(void* opaque, std::exception_ptr error) noexcept {
  Task* const task = static_cast<Task*>(opaque);
  task->errors[1] = std::move(error);
  if (task->blockers.fetch_sub(1, std::memory_order_acq_rel) != 1) return;  // the body still runs
  end_async(*task);
  ThreadState& state = admission_.this_thread();
  ReadyList ready;
  finish(task, state, ready);
  dispatch(ready, state);
  if (state.worker == nullptr) state.flush_returns();
  admission_.tell_drain();
}

// The access ends before the waiter goes on, so that what it pushes next finds the Var free.
void ThreadedEngine::run_direct(Task* task, ThreadState& state, ReadyList& ready) {
  Waiter& waiter = *task->waiter;
  waiter.poison = data_poison(task->nodes()[0].var());
  finish(task, state, ready);
  // The waiter may be gone after the exchange; waking an address that nobody sleeps on is harmless.
  std::atomic<uint32_t>& waiter_state = waiter.state;
  if (waiter_state.exchange(Waiter::kFinished, std::memory_order_acq_rel) == Waiter::kGone) {
    delete &waiter;
  } else {
    futex_wake(waiter_state, 1);
  }
}

// Releases what the task holds. The task is gone afterwards.
void ThreadedEngine::finish(Task* task, ThreadState& state, ReadyList& ready) {
  for (AccessNode& node : task->accesses()) {
    VarQueue::leave(node, [&](AccessNode& granted) {
      Task* const successor = granted.task;
      if (successor->blockers.load(std::memory_order_acquire) == 1 ||
          successor->blockers.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        ready.append(successor);
      }
    });
  }
  if (task->flags & (kDescribed | kCounted)) [[unlikely]] {
    if (task->flags & kDescribed) task->describe = {};
    if (task->flags & kCounted) {
      admission_.add_bytes(task->device, -task->bytes);
    }
  }
  task->flags &= kWideNodes;
  state.recycle(task);
  ThreadState::count(state.completed);
}

}  // namespace loomix::engine
