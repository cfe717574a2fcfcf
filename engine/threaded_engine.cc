// SPDX-License-Identifier: Apache-2.0
//
// A push makes a Task with one AccessNode per Var, enters the nodes into their Vars' queues (var_queue.h) and, if all
// of them were free, launches it; otherwise the completion that grants the last node does. Ready tasks go to the pool
// of their device and lane (worker_pool.cc); the first successor of a task runs next on the same worker, past all queues.
//
// Shared state and who guards it:
//  - a Var's queue: its spin lock. A push locks all its Vars in order of address, so that two pushes are ordered the same
//    way by every Var that they share (else A before B here and B before A there would be a deadlock). A completion
//    locks one Var at a time, or none (writer to writer).
//  - Task::blockers: atomic; holds the number of nodes that were not free. It is stored before the first node is
//    linked, so that nobody can count it down early; whoever brings it to zero owns the task.
//  - a Var's poison: the task with exclusive access. Others read it while they have access, or under the Var's lock
//    while it has no writer.
//  - counts: each thread's own (ThreadState); sums are taken by whoever needs them, completed before pushed, so that
//    equality proves that nothing was in flight.
#include "engine/threaded_engine.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/machine.h"
#include "engine/device/device_runtime.h"
#include "engine/fork.h"
#include "engine/futex.h"
#include "engine/omp_threads.h"

namespace loomix::engine {
namespace {

std::atomic<uint64_t> g_next_id{1};

// The thread's states, of all engines. The last used one apart, as reading it needs no guard.
struct ThreadEntry {
  uint64_t engine = 0;
  ThreadState* state = nullptr;
};
constinit thread_local ThreadEntry t_last;
struct ThreadEntries {
  std::vector<ThreadEntry> all;
  ~ThreadEntries() {
    t_last = {};
    for (const ThreadEntry& entry : all) {
      entry.state->owned.store(false, std::memory_order_release);
      entry.state->release();
    }
  }
};
thread_local ThreadEntries t_entries;

constexpr int64_t kMostBytesInFlight = int64_t{4} << 30;  // unless it is set
constexpr uint32_t kHelpLimitNs = 100'000;  // a waiting thread leaves costlier tasks to the workers

}  // namespace

ThreadedEngine::ThreadedEngine(EngineOptions options)
    : options_([&] {
        if (options.workers <= 0) options.workers = machine().cores;
        if (options.max_bytes < 0)
          options.max_bytes = std::min(machine().memory_bytes / 4, kMostBytesInFlight);
        options.io_workers = std::max(1, options.io_workers);
        return options;
      }()),
      id_(g_next_id.fetch_add(1)),
      cores_(options_.workers),
      devices_(std::make_unique<Devices>(options_,
                                         [this](CompletionToken* pending) { return reclaim(pending); })) {
  register_for_fork(*this);
}

void ThreadedEngine::operator delete(ThreadedEngine* engine, std::destroying_delete_t) {
  unregister_for_fork(*engine);
  if (!engine->end_threads()) return;
  engine->~ThreadedEngine();
  ::operator delete (engine, std::align_val_t{alignof(ThreadedEngine)});
}

ThreadedEngine::~ThreadedEngine() {
  devices_.reset();
  for (ThreadState* state = states_.load(); state != nullptr;) {
    ThreadState* const next = state->next_state;
    state->release();
    state = next;
  }
}

ThreadState& ThreadedEngine::this_thread() {
  if (t_last.engine == id_) [[likely]]
    return *t_last.state;
  return attach_thread();
}

ThreadState* ThreadedEngine::state_of_this_thread() const noexcept {
  for (const ThreadEntry& entry : t_entries.all) {
    if (entry.engine == id_) return entry.state;
  }
  return nullptr;
}

ThreadState& ThreadedEngine::attach_thread() {
  if (ThreadState* const known = state_of_this_thread()) {
    t_last = {id_, known};
    return *known;
  }
  ThreadState* state = states_.load(std::memory_order_acquire);
  for (; state != nullptr; state = state->next_state) {
    bool owned = false;
    if (state->owned.compare_exchange_strong(owned, true, std::memory_order_acquire)) break;
  }
  if (state == nullptr) {
    state = Ref<ThreadState>(new ThreadState(*this)).detach();
    const std::lock_guard lock(threads_mutex_);
    state->next_state = states_.load(std::memory_order_relaxed);
    states_.store(state, std::memory_order_release);
  }
  state->retain();
  t_last = {id_, state};
  t_entries.all.push_back(t_last);
  return *state;
}

size_t ThreadedEngine::bytes_slot(Device device) noexcept {
  return device.is_host()
             ? 0
             : (static_cast<size_t>(device.type) * 16 + static_cast<uint16_t>(device.id)) % 63 + 1;
}

// ---- pushing ----------------------------------------------------------------------------------------------------

void ThreadedEngine::push(TaskInfo info, std::span<const Tag> tags, Work work) {
  ThreadState& state = this_thread();
  Task* const task = prepare(state, info, tags);
  ::new (&task->work) Work(std::move(work));
  launch(task, state,
         info.may_inline && info.cost_ns <= options_.inline_cost_ns && options_.inline_cost_ns > 0);
}

void ThreadedEngine::push_async(TaskInfo info, std::span<const Tag> tags, AsyncWork work) {
  ThreadState& state = this_thread();
  Task* const task = prepare(state, info, tags);
  ::new (&task->async) AsyncWork(std::move(work));
  task->flags = static_cast<uint8_t>((task->flags | kAsync) & ~kMayInline);
  launch(task, state, false);
}

int16_t ThreadedEngine::exchange_push_priority(int16_t priority) {
  return std::exchange(this_thread().push_priority, priority);
}

Task* ThreadedEngine::prepare(ThreadState& state, TaskInfo& info, std::span<const Tag> tags) {
  for (const Tag& tag : tags)
    LOOMIX_CHECK(tag.var != nullptr, ValueError, "[engine] a tag of a pushed task names no Var.");
  WorkerPool& pool = pool_for(info.device, info.lane);
  admit(state, info);
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
    bytes_in_flight_[bytes_slot(info.device)].fetch_add(info.bytes, std::memory_order_relaxed);
  }
  set_nodes(*task, tags);
  return task;
}

// Writes the nodes in order of address, one per Var.
void ThreadedEngine::set_nodes(Task& task, std::span<const Tag> tags) {
  AccessNode* const nodes = task.nodes();
  size_t count = 0;
  for (const Tag& tag : tags) {
    const uintptr_t entry = reinterpret_cast<uintptr_t>(tag.var) | bits_of(tag.access);
    size_t place = count;
    while (place > 0 && nodes[place - 1].var_and_bits > (entry | kAccessMask)) --place;
    if (place > 0 && (nodes[place - 1].var_and_bits ^ entry) <= kAccessMask) {
      nodes[place - 1].var_and_bits |= entry;
      continue;
    }
    for (size_t i = count; i > place; --i) nodes[i].var_and_bits = nodes[i - 1].var_and_bits;
    nodes[place].var_and_bits = entry;
    ++count;
  }
  for (size_t i = 0; i < count; ++i) {
    nodes[i].next.store(nullptr, std::memory_order_relaxed);
    nodes[i].task = &task;
  }
  task.node_count = static_cast<uint16_t>(count);
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
  if (careful_.load(std::memory_order_relaxed) && hold_for_tokens(*task)) return;
  ReadyList ready;
  RunContext context;
  ++state.inline_depth;
  ThreadState::count(state.ran_inline);
  const bool finished = run(task, state, context);
  --state.inline_depth;
  if (finished) finish(task, state, ready);
  dispatch(ready, state);
  if (drain_waiters_.load(std::memory_order_relaxed) > 0) [[unlikely]]
    notify_drained();
}

// Sends ready tasks on their way. Default-priority tasks for the calling worker's own pool go into its ring.
void ThreadedEngine::dispatch(ReadyList& ready, ThreadState& state) {
  while (Task* const task = ready.take()) {
    if (careful_.load(std::memory_order_relaxed) && hold_for_tokens(*task)) continue;
    if (task->flags & kDirect) {
      run_direct(task, state, ready);
    } else if (state.worker != nullptr && state.worker->pool == task->pool && task->priority == 0) {
      task->pool->submit_local(*state.worker, task);
    } else {
      task->pool->submit(task);
    }
  }
}

// Makes a granted host task wait for the device work that its Vars still wait for; false if there is none.
bool ThreadedEngine::hold_for_tokens(Task& task) {
  if (!task.device.is_host()) return false;
  std::vector<TokenRef> pending;
  for (AccessNode& node : task.accesses()) {
    const std::lock_guard lock(node.var().lock_);
    if (node.var().tokens_) node.var().tokens_->collect(node.exclusive(), pending);
  }
  if (pending.empty()) return false;
  const auto release = [this, &task] {
    if (task.blockers.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    ReadyList ready;
    ready.append(&task);
    dispatch(ready, this_thread());
  };
  task.blockers.store(static_cast<uint32_t>(pending.size()) + 1, std::memory_order_relaxed);
  uint32_t done = 1;
  for (const TokenRef& token : pending) {
    if (!token->subscribe(release)) ++done;
  }
  return task.blockers.fetch_sub(done, std::memory_order_acq_rel) != done;
}

// Device work of the task starts after that of its Vars' earlier accesses; no host thread waits.
void ThreadedEngine::wait_on_device(Task& task, DeviceQueue& queue) {
  std::vector<TokenRef> pending;
  for (AccessNode& node : task.accesses()) {
    const std::lock_guard lock(node.var().lock_);
    if (node.var().tokens_) node.var().tokens_->collect(node.exclusive(), pending);
  }
  for (const TokenRef& token : pending) queue.wait_for(*token);
}

// Returns the device's error, if it takes no more work.
std::exception_ptr ThreadedEngine::record_on_device(Task& task, DeviceQueue& queue) noexcept {
  if (task.node_count == 0) return nullptr;
  try {
    const TokenRef token = queue.record();
    for (AccessNode& node : task.accesses()) {
      Var& var = node.var();
      const std::lock_guard lock(var.lock_);
      if (!var.tokens_) var.tokens_ = std::make_unique<TokenSet>();
      node.exclusive() ? var.tokens_->set_writer(token) : var.tokens_->add_reader(token);
    }
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

// ---- running ----------------------------------------------------------------------------------------------------

void ThreadedEngine::run_from_queue(Task* task, ThreadState& state, RunContext& context) {
  constexpr int kChain = 64;  // successors in a row before others get their turn
  for (int left = kChain;; --left) {
    ReadyList ready;
    WorkerPool* const pool = task->pool;
    ThreadState::count(state.worker->ran);
    if (run(task, state, context)) finish(task, state, ready);
    Task* next = nullptr;
    if (ready.first != nullptr) {
      Task* const first = ready.first;
      if (left > 0 && first->pool == pool && first->priority == 0 && !(first->flags & kDirect) &&
          !pool->urgent() && !careful_.load(std::memory_order_relaxed)) {
        next = ready.take();
      }
      dispatch(ready, state);
    }
    if (next == nullptr) return;
    task = next;
  }
}

// Runs the body, or skips it. Returns false if the task is asynchronous and will be finished by its Completion.
bool ThreadedEngine::run(Task* task, ThreadState& state, RunContext& context) {
  const bool careful = careful_.load(std::memory_order_relaxed);
  if (careful && skip_poisoned(*task)) return true;
  if (state.push_priority != 0) [[unlikely]] {
    const int16_t outer_priority = std::exchange(state.push_priority, int16_t{0});
    const bool finished = run(task, state, context);
    state.push_priority = outer_priority;
    return finished;
  }
  Task* const outer = state.current.load(std::memory_order_relaxed);
  state.current.store(task, std::memory_order_release);
  if (!trace_.enabled()) [[likely]]
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
  if (gate_.load(std::memory_order_relaxed) == Gate::open) [[likely]] {
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
  context.cores = options_.deterministic ? std::clamp<int>(task->max_cores, 1, cores_.cores()) : 1 + extra;
  context.team = &team_;
  const bool own_thread = state.worker != nullptr;
  const int outer_threads = own_thread ? state.omp_threads : omp_threads();
  if (outer_threads != context.cores) {
    set_omp_threads(context.cores);
    if (own_thread) state.omp_threads = context.cores;
  }
  bool finished = true;
  if (task->flags & kAsync) [[unlikely]] {
    task->blockers.store(2, std::memory_order_relaxed);  // this function, and the Completion
    std::exception_ptr error;
    try {
      if (context.queue != nullptr) wait_on_device(*task, *context.queue);
      task->async(context, Completion(*this, task));
    } catch (...) {
      error = std::current_exception();
    }
    if (context.queue != nullptr) {
      std::exception_ptr device_error = record_on_device(*task, *context.queue);
      if (!error) error = std::move(device_error);
    }
    task->async.reset();
    task->errors[0] = std::move(error);
    leave_body(state, outer);  // the Completion may end the task from here on
    finished = task->blockers.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (finished) end_async(*task);
  } else {
    const bool on_device = context.queue != nullptr;
    try {
      if (on_device) [[unlikely]]
        wait_on_device(*task, *context.queue);
      task->work(context);
      if (careful_.load(std::memory_order_relaxed)) heal(*task);
    } catch (...) {
      fail(*task, std::current_exception());
    }
    if (on_device) [[unlikely]] {  // before the body lets go of its memory
      if (std::exception_ptr error = record_on_device(*task, *context.queue)) fail(*task, std::move(error));
    }
    task->work.reset();
    leave_body(state, outer);
  }
  if (!own_thread && outer_threads != context.cores) set_omp_threads(outer_threads);
  cores_.give(extra);
  return finished;
}

void ThreadedEngine::end_async(Task& task) noexcept {
  std::exception_ptr error = task.errors[0] ? task.errors[0] : task.errors[1];
  task.errors[0] = task.errors[1] = nullptr;
  if (error) {
    fail(task, std::move(error));
  } else if (careful_.load(std::memory_order_relaxed)) {
    heal(task);
  }
}

void ThreadedEngine::complete(void* opaque, std::exception_ptr error) noexcept {
  Task* const task = static_cast<Task*>(opaque);
  task->errors[1] = std::move(error);
  if (task->blockers.fetch_sub(1, std::memory_order_acq_rel) != 1) return;  // the body still runs
  end_async(*task);
  ThreadState& state = this_thread();
  ReadyList ready;
  finish(task, state, ready);
  dispatch(ready, state);
  if (state.worker == nullptr) state.flush_returns();
  if (drain_waiters_.load(std::memory_order_relaxed) > 0) notify_drained();
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
      bytes_in_flight_[bytes_slot(task->device)].fetch_sub(task->bytes, std::memory_order_relaxed);
    }
  }
  task->flags &= kWideNodes;
  state.recycle(task);
  ThreadState::count(state.completed);
}

// ---- errors -----------------------------------------------------------------------------------------------------

// True if the task reads poisoned data: then what it writes is poisoned too, and its body is dropped.
bool ThreadedEngine::skip_poisoned(Task& task) {
  Ref<Poison> poison;
  for (AccessNode& node : task.accesses()) {
    if (!node.reads_data()) continue;
    poison = data_poison(node.var());
    if (poison) break;
  }
  if (!poison) return false;
  for (AccessNode& node : task.accesses()) {
    if (node.writes_data() && !(node.reads_data() && node.var().poison_)) node.var().poison_ = poison;
  }
  (task.flags & kAsync) ? task.async.reset() : task.work.reset();
  return true;
}

// The error of the data, or of the device work that should have written it. Caller holds the Var's lock.
Ref<Poison> ThreadedEngine::poison_of(const Var& var) {
  if (var.poison_ || !var.tokens_) return var.poison_;
  std::exception_ptr error = var.tokens_->writer_error();
  return error ? make_ref<Poison>(std::move(error), std::string()) : Ref<Poison>();
}

// The same for the holder of an access.
Ref<Poison> ThreadedEngine::data_poison(Var& var) {
  const std::lock_guard lock(var.lock_);
  return poison_of(var);
}

void ThreadedEngine::fail(Task& task, std::exception_ptr error) noexcept {
  std::string text;
  try {
    if (task.flags & kDescribed) text = task.text();
  } catch (...) {
    text = "(the task's description failed, too)";
  }
  careful_.store(true, std::memory_order_release);
  const Ref<Poison> poison = make_ref<Poison>(std::move(error), std::move(text));
  for (AccessNode& node : task.accesses()) {
    if (node.writes_data()) node.var().poison_ = poison;
  }
  if (!(task.flags & kUnlogged)) errors_.add(poison);
}

// After success: what was overwritten is whole again, and host work has waited for the device work before it.
void ThreadedEngine::heal(Task& task) noexcept {
  for (AccessNode& node : task.accesses()) {
    if (node.writes_data() && node.var().poison_) node.var().poison_.reset();
    if (node.exclusive() && task.device.is_host()) {
      const std::lock_guard lock(node.var().lock_);
      if (node.var().tokens_) node.var().tokens_->clear();
    }
  }
}

}  // namespace loomix::engine
