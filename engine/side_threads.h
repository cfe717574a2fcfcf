// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "base/ref_counted.h"
#include "engine/inline_function.h"

namespace loomix::engine {

// Threads beside an engine's lanes, for the work of asynchronous tasks that waits: for a binding's lock, for arrays. No
// worker is kept while they do. They start when they are needed; few stay. See the top of side_threads.cc.
class SideThreads {
 public:
  using Job = InlineFunction<void(), 64>;  // does not throw

  // Jobs that run one at a time, in the order in which they came.
  class Strand : public RefCounted {
   private:
    friend class SideThreads;
    bool busy_ = false;
  };

  // `most`: jobs that run at once, not counting those that wait in the engine.
  explicit SideThreads(int most);
  ~SideThreads();
  SideThreads(const SideThreads&) = delete;
  SideThreads& operator=(const SideThreads&) = delete;

  // From any thread; returns at once.
  void run(Job job, Ref<Strand> strand = {});
  // Waits for the jobs that run and ends the threads. No job may come any more.
  void stop() noexcept;

  // Around every stretch in which a thread waits for the engine; nothing on threads that are not of this kind.
  static void begin_wait() noexcept {
    if (t_shared_ != nullptr) [[unlikely]]
      note_wait(1);
  }
  static void end_wait() noexcept {
    if (t_shared_ != nullptr) [[unlikely]]
      note_wait(-1);
  }

  // Around a fork, before which no job is left; in the child the threads are gone.
  void lock_for_fork() noexcept;
  void unlock_after_fork() noexcept;
  void forget_threads() noexcept;

 private:
  struct Item {
    Job job;
    Ref<Strand> strand;
  };
  struct Shared;
  static void work(const std::shared_ptr<Shared>& shared) noexcept;
  static void note_wait(int change) noexcept;
  static bool take(Shared& shared, Item& item);
  static void start_if_needed(Shared& shared);
  static inline thread_local constinit Shared* t_shared_ = nullptr;  // of this thread, if it is one of these

  const int most_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace loomix::engine
