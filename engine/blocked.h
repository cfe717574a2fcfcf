// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>

#include "base/error.h"
#include "engine/options.h"
#include "engine/side_threads.h"
#include "engine/trace.h"

namespace loomix::engine {

inline constexpr int64_t kMillisecond = 1'000'000;

// Lets the binding's lock go for as long as it lives, and asks the binding whether to go on.
class Blocked {
 public:
  static constexpr int64_t kInterruptPeriod = 50 * kMillisecond;

  explicit Blocked(const BlockHook& hook) : hook_(hook), state_(hook.enter ? hook.enter() : nullptr) {
    SideThreads::begin_wait();
  }
  ~Blocked() {
    SideThreads::end_wait();
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

inline void check_no_task_waits_for_itself(bool for_task) {
  LOOMIX_CHECK(!for_task, StateError,
               "[engine] wait_all() was called by the work of a task, which it would wait for; wait for "
               "arrays instead.");
}

inline void sleep_ns(int64_t duration) {
  const timespec time{0, static_cast<long>(duration)};
  nanosleep(&time, nullptr);
}

}  // namespace loomix::engine
