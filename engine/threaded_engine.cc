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
//  - counts, bounds, the gate of fork and shutdown: admission.cc.
// threaded_engine_push.cc makes tasks and launches them, threaded_engine_run.cc runs and ends them, threaded_engine_parts.cc those in
// parts, threaded_engine_data.cc keeps errors and device work, threaded_engine_wait.cc waits. Here: an engine's life, its pools, and fork.
#include "engine/threaded_engine.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/machine.h"
#include "engine/blocked.h"
#include "engine/exit.h"
#include "engine/fork.h"
#include "engine/omp_threads.h"
#include "engine/places.h"

namespace loomix::engine {
namespace {

constexpr int64_t kMostBytesInFlight = int64_t{4} << 30;  // unless it is set
constexpr const char* kLaneNames[kLanes] = {"compute", "copy_in", "copy_out", "communicate", "io"};

}  // namespace

// ---- life ---------------------------------------------------------------------------------------------------------

ThreadedEngine::ThreadedEngine(EngineOptions options)
    : options_([&] {
        if (options.workers <= 0) options.workers = machine().cores;
        if (options.max_bytes < 0)
          options.max_bytes = std::min(machine().memory_bytes / 4, kMostBytesInFlight);
        options.io_workers = std::max(1, options.io_workers);
        return options;
      }()),
      admission_(options_),
      cores_(options_.workers),
      places_(parse_places(options_.worker_places)),
      devices_(
          std::make_unique<Devices>(options_, [this](CompletionToken* pending) { return reclaim(pending); })),
      side_threads_(options_.side_threads) {
  register_for_fork(*this);
}

void ThreadedEngine::operator delete(ThreadedEngine* engine, std::destroying_delete_t) {
  unregister_for_fork(*engine);
  if (!engine->end_threads()) return;
  engine->~ThreadedEngine();
  ::operator delete (engine, std::align_val_t{alignof(ThreadedEngine)});
}

// Jobs on side threads may still be leaving their tasks. Then devices: their threads may still complete tokens, and memory
// goes back to pools.
ThreadedEngine::~ThreadedEngine() {
  side_threads_.stop();
  devices_.reset();
}

void ThreadedEngine::shutdown() {
  check_may_wait(admission_.this_thread(), "shutdown()");
  const Blocked blocked(options_.block_hook);
  end_threads();
}

// False if work did not end in time: the threads go on then.
bool ThreadedEngine::end_threads() {
  if (!admission_.close()) return false;
  const int64_t end = Trace::now() + int64_t{options_.exit_deadline_ms} * kMillisecond;
  int64_t dropped_end = end;
  constexpr int64_t kLook = 20 * kMillisecond;  // after which it is seen that computing is dropped
  while (!admission_.drain(kLook)) {
    const int64_t now = Trace::now();
    if (dropped_end == end && dropping_.load(std::memory_order_acquire))
      dropped_end = std::min(end, now + int64_t{kDropDeadlineMs} * kMillisecond);
    if (now >= dropped_end) return false;
  }
  const std::lock_guard lock(pools_mutex_);
  for (auto& pool : pools_) pool->stop();
  team_.set_crew(nullptr);
  return true;
}

void ThreadedEngine::drop_computing() {
  if (dropping_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(pools_mutex_);
  if (!dropped_) {
    dropped_ = make_ref<Poison>(
        std::make_exception_ptr(StateError("[engine] dropped before it started, since the program ends.")),
        std::string(), poisoned_);
  }
  dropping_.store(true, std::memory_order_release);
}

void drop_computing(Engine& engine) {  // a naive engine has nothing that has not started
  if (auto* const threaded = dynamic_cast<ThreadedEngine*>(&engine)) threaded->drop_computing();
}

EngineStats ThreadedEngine::stats() const {
  EngineStats stats;
  for (const ThreadState* state = admission_.first_thread(); state; state = state->next_state) {
    stats.pushed += state->pushed.load(std::memory_order_relaxed);
    stats.ran_inline += state->ran_inline.load(std::memory_order_relaxed);
    stats.ran_waiting += state->ran_waiting.load(std::memory_order_relaxed);
  }
  if (const WorkerPool* pool = host_pools_[0].load(std::memory_order_acquire)) {
    for (const auto& worker : pool->workers())
      stats.ran_worker.push_back(worker->ran.load(std::memory_order_relaxed));
  }
  stats.poisoned_vars = poisoned_->vars.load(std::memory_order_relaxed);
  return stats;
}

// ---- workers and pools --------------------------------------------------------------------------------------------

ThreadState& ThreadedEngine::enter_worker(Worker& worker) {
  ThreadState& state = admission_.this_thread();
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
  ThreadState& state = admission_.this_thread();
  if (state.omp_threads == 1) return;
  set_omp_threads(1);
  state.omp_threads = 1;
}

void ThreadedEngine::leave_worker(ThreadState& state) noexcept {
  worker_sleeps(*state.worker);
  admission_.nothing_to_do(state);
  state.worker = nullptr;
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
  admission_.check_usable();
  DeviceRuntime& runtime = devices_->get(device);
  const std::lock_guard lock(pools_mutex_);
  std::atomic<WorkerPool*>& slot = pool_slot(device, lane);
  if (WorkerPool* const pool = slot.load(std::memory_order_relaxed)) return *pool;
  int threads = 1;
  if (device.is_host() && lane == Lane::compute) threads = options_.workers;
  if (device.is_host() && (lane == Lane::io || lane == Lane::communicate)) threads = options_.io_workers;
  const bool crew = device.is_host() && lane == Lane::compute;
  pools_.push_back(std::make_unique<WorkerPool>(*this, runtime.device(), lane, threads,
                                                crew ? &team_ : nullptr,
                                                crew ? places_ : std::vector<std::vector<int>>()));
  if (crew) team_.set_crew(pools_.back().get());
  if (!device.is_host()) {
    devices_used_.store(true, std::memory_order_seq_cst);
    pools_.back()->queue = runtime.queue(lane);
  }
  pools_.back()->start();
  slot.store(pools_.back().get(), std::memory_order_release);
  return *pools_.back();
}

std::string ThreadedEngine::track_of(const Task& task, const ThreadState& state) {
  const char* const lane = kLaneNames[static_cast<int>(task.pool->lane())];
  if (state.inline_depth > 0) return fmt::format("{} {} (pushing thread)", task.device.to_string(), lane);
  if (state.worker == nullptr) return fmt::format("{} {} (waiting thread)", task.device.to_string(), lane);
  return fmt::format("{} {} {}", task.device.to_string(), lane, state.worker->index);
}

std::string ThreadedEngine::stream_of(const Task& task) {
  return fmt::format("{} {} stream", task.device.to_string(),
                     kLaneNames[static_cast<int>(task.pool->lane())]);
}

// ---- fork -------------------------------------------------------------------------------------------------------

void ThreadedEngine::quiesce_for_fork() {
  if (admission_.shut_for_fork()) drain_for_fork();
}

std::string ThreadedEngine::prepare_fork() {
  std::string late;
  if (admission_.shut_for_fork() && !drain_for_fork()) late = unfinished_task();
  pools_mutex_.lock();
  side_threads_.lock_for_fork();
  admission_.lock_for_fork();
  inspect_mutex_.lock();
  errors_.lock_for_fork();
  trace_.lock_for_fork();
  devices_->lock_for_fork();
  return late;
}

void ThreadedEngine::unlock_after_fork() noexcept {
  devices_->unlock_after_fork();
  trace_.unlock_after_fork();
  errors_.unlock_after_fork();
  inspect_mutex_.unlock();
  admission_.unlock_after_fork();
  side_threads_.unlock_after_fork();
  pools_mutex_.unlock();
}

// What is in flight may need the binding's lock, which the forking thread holds. A task that forks cannot wait for itself.
bool ThreadedEngine::drain_for_fork() noexcept {
  const ThreadState& own = admission_.this_thread();
  if (own.current.load(std::memory_order_relaxed) != nullptr || own.for_task) return false;
  if (admission_.drain(0)) return true;
  const Blocked blocked(options_.block_hook);
  return admission_.drain(int64_t{options_.fork_deadline_ms} * kMillisecond);
}

void ThreadedEngine::resume_in_parent() noexcept {
  unlock_after_fork();
  admission_.open_in_parent();
}

// The parent's pools are kept as they are: what is in them belongs to threads that are not here.
void ThreadedEngine::restart_in_child(const std::string& late_task) noexcept {
  unlock_after_fork();
  for (auto& slot : host_pools_) slot.store(nullptr, std::memory_order_relaxed);
  for (auto& lanes : device_pools_) {
    for (auto& slot : lanes) slot.store(nullptr, std::memory_order_relaxed);
  }
  devices_->close_in_child();
  side_threads_.forget_threads();
  team_.reset();
  for (auto& pool : pools_) {
    pool->forget_threads();
    retired_pools_.push_back(std::move(pool));
  }
  pools_.clear();
  cores_.reset();
  admission_.open_in_child(late_task);
}

// The name of a task whose body runs. Workers that end a body while the gate is not open do so under the same mutex.
std::string ThreadedEngine::unfinished_task() {
  const std::lock_guard lock(inspect_mutex_);
  for (ThreadState* state = admission_.first_thread(); state != nullptr; state = state->next_state) {
    const Task* const task = state->current.load(std::memory_order_acquire);
    if (task && (task->flags & kDescribed)) return task->name();
  }
  return "task";
}

}  // namespace loomix::engine
