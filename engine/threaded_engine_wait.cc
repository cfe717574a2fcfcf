// SPDX-License-Identifier: Apache-2.0
//
// The slow side of ThreadedEngine: waits, the bounds of run-ahead, pools, fork and the end.
//
// Waiting for a Var enters its queue like a task, as a `direct` one that sets a flag. wait_all sleeps on an epoch that
// every worker without work advances once it sees that nothing is in flight; since a thread outside the pools may
// finish the last task just before it sees the waiter, the sleep is bounded by a millisecond. A push beyond the
// bounds polls, so that workers need not look for waiters.
#include <sys/syscall.h>
#include <unistd.h>
#include <chrono>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "engine/futex.h"
#include "engine/omp_threads.h"
#include "engine/threaded_engine.h"

namespace loomix::engine {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kInterruptPeriod = 50 * kMillisecond;
constexpr const char* kLaneNames[kLanes] = {"compute", "copy_in", "copy_out", "communicate", "io"};

// Lets the binding's lock go for as long as it lives, and asks the binding whether to go on.
class Blocked {
 public:
  explicit Blocked(const BlockHook& hook) : hook_(hook), state_(hook.enter ? hook.enter() : nullptr) {}
  ~Blocked() {
    if (hook_.leave) hook_.leave(state_);
  }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

  // Whether the wait has to end early; asks once a period.
  bool interrupted() {
    if (!hook_.interrupted || Trace::now() < next_) return false;
    next_ = Trace::now() + kInterruptPeriod;
    return hook_.interrupted(state_);
  }
  void check() { LOOMIX_CHECK(!interrupted(), Interrupted, "[engine] a wait was interrupted by a signal."); }

 private:
  const BlockHook& hook_;
  void* state_;
  int64_t next_ = hook_.interrupted ? Trace::now() + kInterruptPeriod : 0;
};

void sleep_ns(int64_t duration) {
  const timespec time{0, static_cast<long>(duration)};
  nanosleep(&time, nullptr);
}

// Sleeps until `may_go`. A push that is interrupted is taken out of the count again.
template <class MayGo>
void hold_push(const BlockHook& hook, ThreadState& state, MayGo may_go) {
  Blocked blocked(hook);
  for (int64_t pause = 20'000; !may_go(); pause = std::min(pause * 2, kMillisecond)) {
    sleep_ns(pause);
    if (blocked.interrupted()) {
      state.pushed.fetch_sub(1, std::memory_order_seq_cst);
      throw Interrupted("[engine] a push that waited for work in flight was interrupted by a signal.");
    }
  }
}

}  // namespace

// ---- bounds -----------------------------------------------------------------------------------------------------

void ThreadedEngine::admit(ThreadState& state, const TaskInfo& info) {
  ThreadState::count(state.pushed);
  if (state.current.load(std::memory_order_relaxed) != nullptr) return;
  if (gate_.load(std::memory_order_acquire) != Gate::open) [[unlikely]]
    pass_gate(state);
  if (--state.credit < 0) take_credit(state);
  if (info.bytes > 0 && options_.max_bytes > 0) await_bytes(state, info);
}

void ThreadedEngine::check_usable(Gate gate) const {
  LOOMIX_CHECK(gate != Gate::closed, StateError, "[engine] work was pushed after shutdown().");
  LOOMIX_CHECK(
      gate != Gate::broken, StateError,
      "[engine] this process was forked while task '{}' did not end; its arrays are incomplete here. Fork "
      "after wait_all(), or start the child by spawn.",
      late_task_);
}

// A push that has been counted but not begun gives its count back while it waits for a fork to end.
void ThreadedEngine::pass_gate(ThreadState& state) {
  for (;;) {
    const Gate gate = gate_.load(std::memory_order_seq_cst);
    if (gate == Gate::open) return;
    state.pushed.fetch_sub(1, std::memory_order_seq_cst);
    check_usable(gate);
    {
      Blocked blocked(options_.block_hook);
      while (gate_.load(std::memory_order_acquire) == Gate::forking) {
        sleep_ns(kMillisecond / 10);
        blocked.check();
      }
    }
    state.pushed.fetch_add(1, std::memory_order_seq_cst);
  }
}

// Credit for some pushes at once, so that the sum over all threads is rarely taken.
void ThreadedEngine::take_credit(ThreadState& state) {
  if (options_.max_tasks <= 0) {
    state.credit = int64_t{1} << 40;
    return;
  }
  const int64_t chunk = std::clamp<int64_t>(options_.max_tasks / 16, 1, 64);
  if (in_flight() - 1 + chunk > options_.max_tasks) {
    const int64_t low = std::max<int64_t>(options_.max_tasks - options_.max_tasks / 4 - chunk, 0);
    hold_push(options_.block_hook, state, [&] { return in_flight() - 1 <= low; });
  }
  state.credit = chunk - 1;
}

void ThreadedEngine::await_bytes(ThreadState& state, const TaskInfo& info) {
  const std::atomic<int64_t>& bytes = bytes_in_flight_[bytes_slot(info.device)];
  const auto fits = [&] {
    const int64_t now = bytes.load(std::memory_order_relaxed);
    return now <= 0 || now + info.bytes <= options_.max_bytes;
  };
  if (!fits()) hold_push(options_.block_hook, state, fits);
}

int64_t ThreadedEngine::in_flight() const noexcept {
  const int64_t completed = completed_tasks();
  int64_t pushed = 0;
  for (const ThreadState* state = states_.load(std::memory_order_acquire); state; state = state->next_state) {
    pushed += state->pushed.load(std::memory_order_acquire);
  }
  return pushed - completed;
}

// ---- waits ------------------------------------------------------------------------------------------------------

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
  ThreadState& state = this_thread();
  check_may_wait(state, exclusive ? "wait_to_write()" : "wait()");
  Ref<Poison> poison;
  if (!ready_now(var, exclusive, poison)) {
    Blocked blocked(options_.block_hook);
    auto waiter = std::make_unique<Waiter>();
    Task* const task = state.take_task(1);
    ThreadState::count(state.pushed);
    task->pool = &pool_for(Device::cpu(), Lane::compute);
    task->device = Device::cpu();
    task->priority = 0;
    task->flags |= kDirect;
    task->waiter = waiter.get();
    task->node_count = 1;
    AccessNode& node = task->nodes()[0];
    node.next.store(nullptr, std::memory_order_relaxed);
    node.task = task;
    node.var_and_bits = reinterpret_cast<uintptr_t>(&var) | (exclusive ? uintptr_t{kExclusive} : 0);
    launch(task, state, false);
    constexpr int kSpins = 64;
    const int64_t timeout = options_.block_hook.interrupted ? kInterruptPeriod : -1;
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

// Runs one ready host task, and then its successors while the waiter has to wait anyway.
bool ThreadedEngine::help(ThreadState& state, const Waiter& waiter) {
  Task* task = pool_for(Device::cpu(), Lane::compute).take_for_guest();
  if (task == nullptr) return false;
  RunContext context;
  while (task != nullptr) {
    ReadyList ready;
    WorkerPool* const pool = task->pool;
    ThreadState::count(state.ran_waiting);
    if (run(task, state, context)) finish(task, state, ready);
    task = nullptr;
    if (Task* const first = ready.first; first && first->pool == pool && (first->flags & kMayInline) &&
                                         !careful_.load(std::memory_order_relaxed) &&
                                         waiter.state.load() == Waiter::kWaiting) {
      task = ready.take();
    }
    dispatch(ready, state);
  }
  return true;
}

void ThreadedEngine::wait_all() {
  ThreadState& state = this_thread();
  check_may_wait(state, "wait_all()");
  if (in_flight() > 0) {
    Blocked blocked(options_.block_hook);
    while (!drain(kInterruptPeriod)) blocked.check();
  }
  for (DeviceRuntime* const runtime : devices_->opened()) {
    const Blocked blocked(options_.block_hook);
    runtime->synchronize();
  }
  errors_.throw_first();
}

// Waits until nothing is in flight; false after `timeout_ns`, if that is not negative.
bool ThreadedEngine::drain(int64_t timeout_ns) noexcept {
  const int64_t end = timeout_ns < 0 ? -1 : Trace::now() + timeout_ns;
  drain_waiters_.fetch_add(1, std::memory_order_seq_cst);
  bool drained;
  for (;;) {
    const uint32_t epoch = drain_epoch_.load(std::memory_order_seq_cst);
    drained = in_flight() <= 0;
    if (drained || (end >= 0 && Trace::now() >= end)) break;
    futex_wait(drain_epoch_, epoch, kMillisecond);
  }
  drain_waiters_.fetch_sub(1, std::memory_order_seq_cst);
  return drained;
}

void ThreadedEngine::notify_drained() noexcept {
  if (in_flight() > 0) return;
  drain_epoch_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(drain_epoch_, 1 << 30);
}

EngineStats ThreadedEngine::stats() const {
  EngineStats stats;
  for (const ThreadState* state = states_.load(std::memory_order_acquire); state; state = state->next_state) {
    stats.pushed += state->pushed.load(std::memory_order_relaxed);
    stats.ran_inline += state->ran_inline.load(std::memory_order_relaxed);
    stats.ran_waiting += state->ran_waiting.load(std::memory_order_relaxed);
  }
  if (const WorkerPool* pool = host_pools_[0].load(std::memory_order_acquire)) {
    for (const auto& worker : pool->workers())
      stats.ran_worker.push_back(worker->ran.load(std::memory_order_relaxed));
  }
  return stats;
}

// ---- workers and pools --------------------------------------------------------------------------------------------

ThreadState& ThreadedEngine::enter_worker(Worker& worker) {
  ThreadState& state = this_thread();
  state.worker = &worker;
  worker_wakes(worker);
  set_omp_threads(1);
  state.omp_threads = 1;
  return state;
}

void ThreadedEngine::worker_sleeps(Worker& worker) noexcept { cores_.give(std::exchange(worker.cores, 0)); }

void ThreadedEngine::worker_wakes(Worker& worker) noexcept {
  if (worker.pool->device().is_host() && worker.pool->lane() == Lane::compute)
    worker.cores = cores_.try_take(1);
}

void ThreadedEngine::worker_helps() noexcept {
  ThreadState& state = this_thread();
  if (state.omp_threads == 1) return;
  set_omp_threads(1);
  state.omp_threads = 1;
}

void ThreadedEngine::leave_worker(ThreadState& state) noexcept {
  worker_sleeps(*state.worker);
  worker_idle(state);
  state.worker = nullptr;
}

void ThreadedEngine::worker_idle(ThreadState& state) noexcept {
  state.flush_returns();
  state.completed.fetch_add(0,
                            std::memory_order_seq_cst);  // the count is out before the waiters are looked for
  if (drain_waiters_.load(std::memory_order_seq_cst) > 0) notify_drained();
}

std::atomic<WorkerPool*>& ThreadedEngine::pool_slot(Device device, Lane lane) {
  if (device.is_host()) [[likely]]
    return host_pools_[static_cast<int>(lane)];
  LOOMIX_CHECK(device.id >= 0 && device.id < kMaxDevices, DeviceError, "[engine] there is no device {}.",
               device.to_string());
  return device_pools_[(device.type == DeviceType::null ? kMaxDevices : 0) + device.id]
                      [static_cast<int>(lane)];
}

WorkerPool& ThreadedEngine::pool_for(Device device, Lane lane) {
  WorkerPool* const pool = pool_slot(device, lane).load(std::memory_order_acquire);
  return pool != nullptr ? *pool : start_pool(device, lane);
}

WorkerPool& ThreadedEngine::start_pool(Device device, Lane lane) {
  check_usable(gate_.load(std::memory_order_acquire));
  DeviceRuntime& runtime = devices_->get(device);
  const std::lock_guard lock(pools_mutex_);
  std::atomic<WorkerPool*>& slot = pool_slot(device, lane);
  if (WorkerPool* const pool = slot.load(std::memory_order_relaxed)) return *pool;
  int threads = 1;
  if (device.is_host() && lane == Lane::compute) threads = options_.workers;
  if (device.is_host() && (lane == Lane::io || lane == Lane::communicate)) threads = options_.io_workers;
  const bool crew = device.is_host() && lane == Lane::compute;
  pools_.push_back(
      std::make_unique<WorkerPool>(*this, runtime.device(), lane, threads, crew ? &team_ : nullptr));
  if (crew) team_.set_crew(pools_.back().get());
  if (!device.is_host()) {
    careful_.store(true, std::memory_order_seq_cst);
    pools_.back()->queue = runtime.queue(lane);
  }
  pools_.back()->start();
  slot.store(pools_.back().get(), std::memory_order_release);
  return *pools_.back();
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
  const bool in_task = this_thread().current.load(std::memory_order_relaxed) != nullptr;
  const int64_t completed = completed_tasks();
  if (in_flight() <= (in_task ? 1 : 0)) {
    finish_device_work();  // which may hold memory of the host
    return false;
  }
  if (in_task) tasks_short_of_memory_.fetch_add(1, std::memory_order_relaxed);
  const Blocked blocked(options_.block_hook);
  const int64_t begin = Trace::now();
  int64_t last_running = begin;
  bool freed = false;
  while (!(freed = completed_tasks() != completed)) {
    const int64_t now = Trace::now();
    if (!in_task || running_tasks() > tasks_short_of_memory_.load(std::memory_order_relaxed))
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

int64_t ThreadedEngine::completed_tasks() const noexcept {
  int64_t completed = 0;
  for (const ThreadState* state = states_.load(std::memory_order_acquire); state; state = state->next_state) {
    completed += state->completed.load(std::memory_order_acquire);
  }
  return completed;
}

// Whose bodies are on some thread.
int64_t ThreadedEngine::running_tasks() const noexcept {
  int64_t running = 0;
  for (const ThreadState* state = states_.load(std::memory_order_acquire); state; state = state->next_state) {
    if (state->current.load(std::memory_order_relaxed) != nullptr) ++running;
  }
  return running;
}

std::string ThreadedEngine::track_of(const Task& task, const ThreadState& state) {
  const char* const lane = kLaneNames[static_cast<int>(task.pool->lane())];
  if (state.inline_depth > 0) return fmt::format("{} {} (pushing thread)", task.device.to_string(), lane);
  if (state.worker == nullptr) return fmt::format("{} {} (waiting thread)", task.device.to_string(), lane);
  return fmt::format("{} {} {}", task.device.to_string(), lane, state.worker->index);
}

void ThreadedEngine::shutdown() {
  check_may_wait(this_thread(), "shutdown()");
  const Blocked blocked(options_.block_hook);
  end_threads();
}

// False if work did not end in time: the threads go on then.
bool ThreadedEngine::end_threads() {
  const Gate before = gate_.exchange(Gate::closed, std::memory_order_seq_cst);
  if (before == Gate::broken) return false;
  if (!drain(int64_t{options_.exit_deadline_ms} * kMillisecond)) return false;
  const std::lock_guard lock(pools_mutex_);
  for (auto& pool : pools_) pool->stop();
  team_.set_crew(nullptr);
  return true;
}

// ---- fork -------------------------------------------------------------------------------------------------------

std::string ThreadedEngine::prepare_fork() {
  Gate open = Gate::open;
  gate_.compare_exchange_strong(open, Gate::forking, std::memory_order_seq_cst);
  // A push counts itself, then reads the gate, with no fence between; this is the fence, on every core.
  constexpr int kMembarrierGlobal = 1;
  if (syscall(SYS_membarrier, kMembarrierGlobal, 0, 0) != 0) sleep_ns(kMillisecond);
  std::string late;
  const ThreadState* const own = state_of_this_thread();
  const bool inside_task = own != nullptr && own->current.load(std::memory_order_relaxed) != nullptr;
  if (open == Gate::open && (inside_task || !drain(int64_t{options_.fork_deadline_ms} * kMillisecond))) {
    late = unfinished_task();
  }
  pools_mutex_.lock();
  threads_mutex_.lock();
  inspect_mutex_.lock();
  for (auto& pool : pools_) pool->lock_all();
  devices_->lock_for_fork();
  return late;
}

void ThreadedEngine::unlock_after_fork() noexcept {
  devices_->unlock_after_fork();
  for (auto& pool : pools_) pool->unlock_all();
  inspect_mutex_.unlock();
  threads_mutex_.unlock();
  pools_mutex_.unlock();
}

void ThreadedEngine::resume_in_parent() noexcept {
  unlock_after_fork();
  Gate forking = Gate::forking;
  gate_.compare_exchange_strong(forking, Gate::open, std::memory_order_seq_cst);
}

void ThreadedEngine::restart_in_child(const std::string& late_task) noexcept {
  unlock_after_fork();
  for (auto& slot : host_pools_) slot.store(nullptr, std::memory_order_relaxed);
  for (auto& lanes : device_pools_) {
    for (auto& slot : lanes) slot.store(nullptr, std::memory_order_relaxed);
  }
  devices_->close_in_child();
  team_.reset();
  for (auto& pool : pools_) {
    pool->forget_threads();
    retired_pools_.push_back(std::move(pool));
  }
  pools_.clear();
  const ThreadState* const own = state_of_this_thread();
  for (ThreadState* state = states_.load(); state != nullptr; state = state->next_state) {
    if (state == own) continue;
    state->worker = nullptr;
    state->current.store(nullptr, std::memory_order_relaxed);
    state->inline_depth = 0;
    state->owned.store(false, std::memory_order_relaxed);
  }
  drain_waiters_.store(0, std::memory_order_relaxed);
  cores_.reset();
  late_task_ = late_task;
  Gate forking = Gate::forking;
  gate_.compare_exchange_strong(forking, late_task.empty() ? Gate::open : Gate::broken,
                                std::memory_order_seq_cst);
}

// The name of a task whose body runs. Workers that end a body while the gate is not open do so under the same mutex.
std::string ThreadedEngine::unfinished_task() {
  const std::lock_guard lock(inspect_mutex_);
  for (ThreadState* state = states_.load(std::memory_order_acquire); state != nullptr;
       state = state->next_state) {
    const Task* const task = state->current.load(std::memory_order_acquire);
    if (task && (task->flags & kDescribed)) return task->name();
  }
  return "task";
}

}  // namespace loomix::engine
