// SPDX-License-Identifier: Apache-2.0
//
// Each thread counts what it pushed and what it completed; nothing shared is written. Whoever needs the number in flight
// adds up, completed first, so that zero proves that nothing was. A push counts itself and then looks at the gate and the
// bounds; if it may not go it takes its count back and waits, so that neither drains nor other pushes wait for it.
//
// A fork shuts the gate to all other threads and then has every core pass a memory barrier: a push either sees the gate shut, or its count is
// seen by the drain that follows. Once that has ended no other thread is inside a push, a wait's task or a completion, so
// all queues and Vars are whole in the child. A thread may just be counted before it sees the gate; so the child, where
// nothing is in flight, begins with counts of zero.
#include "engine/admission.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/blocked.h"
#include "engine/futex.h"

namespace loomix::engine {
namespace {

std::atomic<uint64_t> g_next_id{1};

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }

// Every thread of the process passes a full memory barrier.
void barrier_on_all_cores() noexcept {
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
  membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
  if (membarrier(MEMBARRIER_CMD_GLOBAL) != 0) sleep_ns(kMillisecond);
}

}  // namespace

struct Admission::ThreadEntries {
  std::vector<ThreadEntry> all;
  static ThreadEntries& of_this_thread() {
    thread_local ThreadEntries entries;
    return entries;
  }
  ~ThreadEntries() {
    t_last_ = {0, nullptr};
    for (const ThreadEntry& entry : all) {
      entry.state->owned.store(false, std::memory_order_release);
      entry.state->release();
    }
  }
};

Admission::Admission(const EngineOptions& options) : options_(options), id_(g_next_id.fetch_add(1)) {}

Admission::~Admission() {
  for (ThreadState* state = states_.load(); state != nullptr;) {
    ThreadState* const next = state->next_state;
    state->release();
    state = next;
  }
}

// ---- threads ----------------------------------------------------------------------------------------------------

ThreadState* Admission::known_thread() const noexcept {
  for (const ThreadEntry& entry : ThreadEntries::of_this_thread().all) {
    if (entry.admission == id_) return entry.state;
  }
  return nullptr;
}

ThreadState& Admission::attach_thread() {
  if (ThreadState* const known = known_thread()) {
    t_last_ = {id_, known};
    return *known;
  }
  ThreadState* state = first_thread();
  for (; state != nullptr; state = state->next_state) {
    bool owned = false;
    if (state->owned.compare_exchange_strong(owned, true, std::memory_order_acquire)) break;
  }
  if (state == nullptr) {
    state = make_ref<ThreadState>().detach();
    const std::lock_guard lock(threads_mutex_);
    state->next_state = states_.load(std::memory_order_relaxed);
    states_.store(state, std::memory_order_release);
    threads_.fetch_add(1, std::memory_order_relaxed);
  }
  state->retain();
  t_last_ = {id_, state};
  ThreadEntries::of_this_thread().all.push_back(t_last_);
  return *state;
}

// ---- bounds -----------------------------------------------------------------------------------------------------

void Admission::admit_slowly(ThreadState& state, const TaskInfo& info) {
  for (;;) {
    const Gate gate = gate_.load(std::memory_order_seq_cst);
    if (gate == Gate::open && has_room(state, info)) return;
    if (gate == Gate::forking && forker_.load(std::memory_order_relaxed) == &state) return;
    state.pushed.fetch_sub(1, std::memory_order_seq_cst);
    check_usable(gate);
    hold(state, info);
    state.pushed.fetch_add(1, std::memory_order_seq_cst);
  }
}

void Admission::admit_wait(ThreadState& state) {
  ThreadState::count(state.pushed);
  while (!state.for_task) {
    const Gate gate = gate_.load(std::memory_order_seq_cst);
    if (gate == Gate::open || gate == Gate::closed) return;
    if (gate == Gate::forking && forker_.load(std::memory_order_relaxed) == &state) return;
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

void Admission::check_usable(Gate gate) const {
  LOOMIX_CHECK(gate != Gate::closed, StateError, "[engine] work was pushed after shutdown().");
  LOOMIX_CHECK(
      gate != Gate::broken, StateError,
      "[engine] this process was forked while task '{}' did not end; its arrays are incomplete here. Fork "
      "after wait_all(), or start the child by spawn.",
      late_task_);
}

// How many pushes are let through for one look at all counts: more where there are more of them.
int64_t Admission::chunk() const noexcept {
  const int64_t most = std::max<int64_t>(64, 4 * threads_.load(std::memory_order_relaxed));
  return std::clamp<int64_t>(options_.max_tasks / 16, 1, most);
}

// For a push that is counted itself. Takes credit for some more if it has used up what it had.
bool Admission::has_room(ThreadState& state, const TaskInfo& info) noexcept {
  if (!bytes_fit(info)) return false;
  if (state.credit >= 0) return true;
  if (options_.max_tasks <= 0) {
    state.credit = int64_t{1} << 40;
    return true;
  }
  if (in_flight() - 1 + chunk() > options_.max_tasks) return false;
  state.credit = chunk() - 1;
  return true;
}

bool Admission::bytes_fit(const TaskInfo& info) const noexcept {
  if (info.bytes <= 0 || options_.max_bytes <= 0) return true;
  const int64_t now = bytes_in_flight_[bytes_slot(info.device)].load(std::memory_order_relaxed);
  return now <= 0 || now + info.bytes <= options_.max_bytes;
}

// Sleeps until a push may try again.
void Admission::hold(ThreadState& state, const TaskInfo& info) {
  const int64_t low = std::max<int64_t>(options_.max_tasks - options_.max_tasks / 4 - chunk(), 0);
  const auto may_try = [&] {
    const Gate gate = gate_.load(std::memory_order_acquire);
    if (gate != Gate::open) return gate != Gate::forking;
    return bytes_fit(info) && (state.credit >= 0 || options_.max_tasks <= 0 || in_flight() <= low);
  };
  Blocked blocked(options_.block_hook);
  for (int64_t pause = 20'000; !may_try(); pause = std::min(pause * 2, kMillisecond)) {
    sleep_ns(pause);
    LOOMIX_CHECK(!blocked.interrupted(), Interrupted,
                 "[engine] a push that waited for work in flight was interrupted by a signal.");
  }
}

// ---- counts -----------------------------------------------------------------------------------------------------

int64_t Admission::completed() const noexcept {
  int64_t sum = 0;
  for (const ThreadState* state = first_thread(); state; state = state->next_state)
    sum += state->completed.load(std::memory_order_acquire);
  return sum;
}

int64_t Admission::running() const noexcept {
  int64_t running = 0;
  for (const ThreadState* state = first_thread(); state; state = state->next_state)
    running += state->current.load(std::memory_order_relaxed) != nullptr;
  return running;
}

int64_t Admission::in_flight() const noexcept {
  const int64_t done = completed();
  int64_t pushed = 0;
  for (const ThreadState* state = first_thread(); state; state = state->next_state)
    pushed += state->pushed.load(std::memory_order_acquire);
  return pushed - done;
}

// Sleeps on an epoch that every thread without work advances once it sees that nothing is in flight; as a thread outside
// of the pools may finish the last task just before it sees the waiter, a sleep takes a millisecond at most.
bool Admission::drain(int64_t timeout_ns) noexcept {
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

void Admission::nothing_to_do(ThreadState& state) noexcept {
  state.flush_returns();
  state.completed.fetch_add(0,
                            std::memory_order_seq_cst);  // the count is out before the waiters are looked for
  if (drain_waiters_.load(std::memory_order_seq_cst) > 0) notify_drained();
}

void Admission::notify_drained() noexcept {
  if (in_flight() > 0) return;
  drain_epoch_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(drain_epoch_, 1 << 30);
}

// ---- the gate ---------------------------------------------------------------------------------------------------

bool Admission::close() noexcept {
  Gate gate = gate_.load(std::memory_order_seq_cst);
  while (gate != Gate::broken &&
         !gate_.compare_exchange_weak(gate, Gate::closed, std::memory_order_seq_cst)) {}
  return gate != Gate::broken;
}

bool Admission::shut_for_fork() {
  forker_.store(&this_thread(), std::memory_order_relaxed);
  Gate gate = Gate::open;
  const bool was_open = gate_.compare_exchange_strong(gate, Gate::forking, std::memory_order_seq_cst);
  barrier_on_all_cores();
  return was_open || gate == Gate::forking;
}

void Admission::open_in_parent() noexcept {
  Gate forking = Gate::forking;
  gate_.compare_exchange_strong(forking, Gate::open, std::memory_order_seq_cst);
}

void Admission::open_in_child(const std::string& late_task) noexcept {
  const ThreadState* const own = known_thread();
  for (ThreadState* state = states_.load(); state != nullptr; state = state->next_state) {
    if (state != own) state->abandon();
    if (!late_task.empty()) continue;
    state->pushed.store(0, std::memory_order_relaxed);
    state->completed.store(0, std::memory_order_relaxed);
  }
  if (late_task.empty()) {
    for (auto& bytes : bytes_in_flight_) bytes.store(0, std::memory_order_relaxed);
  }
  drain_waiters_.store(0, std::memory_order_relaxed);
  late_task_ = late_task;
  Gate forking = Gate::forking;
  gate_.compare_exchange_strong(forking, late_task.empty() ? Gate::open : Gate::broken,
                                std::memory_order_seq_cst);
}

}  // namespace loomix::engine
