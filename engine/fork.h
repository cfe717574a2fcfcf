// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

namespace loomix::engine {

class Engine;
class ThreadedEngine;

// fork() by any thread first drains the host work of every registered engine (up to its deadline); the child's engines
// start threads of their own on first use, and its OpenMP teams have one thread. Spawning by exec is not delayed.
void register_for_fork(ThreadedEngine& engine);
void unregister_for_fork(ThreadedEngine& engine);

// For a binding to a language whose own locks its forks hold: work in flight may need these, so the binding calls this before
// they are taken. Until the fork has ended only the calling thread pushes to `engine`; it returns when nothing is in
// flight, or at the fork's deadline. A fork has to follow, and may fail.
void quiesce_for_fork(Engine& engine);

// A lock for an object that lives as long as the process and under which nothing else is locked. Forks take all such
// locks, so that the child finds what they guard whole.
class ForkLock {
 public:
  constexpr ForkLock() noexcept = default;
  ForkLock(const ForkLock&) = delete;
  ForkLock& operator=(const ForkLock&) = delete;
  void lock() {
    mutex_.lock();
    if (!listed_) enlist();
  }
  void unlock() { mutex_.unlock(); }
  static void lock_all();
  static void unlock_all();

 private:
  void enlist() noexcept;
  std::mutex mutex_;
  bool listed_ = false;  // guarded by mutex_
  ForkLock* next_ = nullptr;
};

}  // namespace loomix::engine
