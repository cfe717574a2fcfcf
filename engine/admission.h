// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "engine/engine.h"
#include "engine/options.h"
#include "engine/thread_state.h"

namespace loomix::engine {

// What is in flight in an engine, and whether more may come: the threads with their counts, the bounds of run-ahead, and
// the gate that fork and shutdown close. See the top of admission.cc.
class Admission {
 public:
  enum class Gate : uint32_t { open, forking, closed, broken };

  explicit Admission(const EngineOptions& options);
  ~Admission();
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  ThreadState& this_thread() {
    if (t_last_.admission == id_) [[likely]]
      return *t_last_.state;
    return attach_thread();
  }
  ThreadState* known_thread() const noexcept;  // this one's; null: it has none yet
  ThreadState* first_thread() const noexcept { return states_.load(std::memory_order_acquire); }

  // Counts a push of this thread; waits first while the gate is shut or the bounds are reached, unless it comes from a
  // task. Throws StateError after shutdown, Interrupted when a signal came.
  void admit(ThreadState& state, const TaskInfo& info) {
    ThreadState::count(state.pushed);
    if (state.current.load(std::memory_order_relaxed) != nullptr || state.for_task) return;
    if (gate_.load(std::memory_order_acquire) == Gate::open && --state.credit >= 0 && info.bytes <= 0)
        [[likely]]
      return;
    admit_slowly(state, info);
  }
  // The same for a wait, which needs a task: only a fork holds it up.
  void admit_wait(ThreadState& state);
  void add_bytes(Device device, int64_t bytes) noexcept {
    bytes_in_flight_[bytes_slot(device)].fetch_add(bytes, std::memory_order_relaxed);
  }

  int64_t in_flight() const noexcept;
  int64_t completed() const noexcept;
  int64_t running() const noexcept;  // tasks whose bodies are on some thread
  // Waits until nothing is in flight; false after `timeout_ns`, if that is not negative.
  bool drain(int64_t timeout_ns) noexcept;
  // From a thread that has nothing to do: tells drain().
  void nothing_to_do(ThreadState& state) noexcept;
  void tell_drain() noexcept {
    if (drain_waiters_.load(std::memory_order_relaxed) > 0) [[unlikely]]
      notify_drained();
  }

  bool is_open() const noexcept { return gate_.load(std::memory_order_relaxed) == Gate::open; }
  void check_usable() const { check_usable(gate_.load(std::memory_order_acquire)); }
  void check_not_broken() const {
    if (gate_.load(std::memory_order_acquire) == Gate::broken) check_usable(Gate::broken);
  }
  bool close() noexcept;  // for good; false if the engine is broken

  // Around fork(). `shut_for_fork` leaves only this thread's pushes through, and says whether the engine is in use still;
  // pushes that went through the gate are counted then.
  bool shut_for_fork();
  void lock_for_fork() { threads_mutex_.lock(); }
  void unlock_after_fork() { threads_mutex_.unlock(); }
  void open_in_parent() noexcept;
  void open_in_child(const std::string& late_task) noexcept;

 private:
  struct ThreadEntry {
    uint64_t admission;
    ThreadState* state;
  };
  struct ThreadEntries;
  static constexpr size_t kDevices = 64;

  ThreadState& attach_thread();
  void admit_slowly(ThreadState& state, const TaskInfo& info);
  bool has_room(ThreadState& state, const TaskInfo& info) noexcept;
  bool bytes_fit(const TaskInfo& info) const noexcept;
  int64_t chunk() const noexcept;
  void hold(ThreadState& state, const TaskInfo& info);
  void check_usable(Gate gate) const;
  void notify_drained() noexcept;
  static size_t bytes_slot(Device device) noexcept {
    return device.is_host()
               ? 0
               : (static_cast<size_t>(device.type) * 16 + static_cast<uint16_t>(device.id)) % (kDevices - 1) +
                     1;
  }

  // The last engine that a thread used. Apart from the list of all, as reading it needs no guard.
  static inline constinit thread_local ThreadEntry t_last_{0, nullptr};

  const EngineOptions& options_;
  const uint64_t id_;
  std::atomic<Gate> gate_{Gate::open};
  std::atomic<const ThreadState*> forker_{nullptr};  // whose pushes pass the gate while it is `forking`
  std::atomic<uint32_t> drain_waiters_{0};
  std::atomic<uint32_t> drain_epoch_{0};
  std::string late_task_;  // in a forked child: why the engine is broken

  std::mutex threads_mutex_;                   // guards adding to states_
  std::atomic<ThreadState*> states_{nullptr};  // all ever made, by next_state
  std::atomic<int64_t> threads_{0};            // how many
  alignas(64) std::atomic<int64_t> bytes_in_flight_[kDevices] = {};
};

}  // namespace loomix::engine
