// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace loomix::engine {

class WorkerPool;

// Idle workers that run the parts of a parallel_for beside its caller.
class Team {
 public:
  // Calls run(body, part) for every part in [0, parts), on the caller and at most `helpers` others; returns when all
  // are done. Called inside a part, it runs everything on the caller.
  void run(int helpers, int64_t parts, void (*run)(void* body, int64_t part), void* body);

  // Whose idle workers may help; null: nobody.
  void set_crew(WorkerPool* crew) noexcept { crew_.store(crew, std::memory_order_release); }
  bool wants_help() const noexcept { return offered_.load(std::memory_order_seq_cst) > 0; }
  // From an idle worker, whose OpenMP teams have one thread: helps with a loop, the first that it finds from `place` on.
  // False if no help is wanted any more.
  bool help(int place);
  void reset() noexcept;  // in the child of a fork: forgets the loops of the parent's threads

 private:
  struct Job;
  static constexpr int kSlots = 64;
  struct alignas(64) Slot {
    std::atomic<Job*> job{nullptr};  // while it is there one more helper is welcome
  };
  std::array<Slot, kSlots> slots_{};
  alignas(64) std::atomic<int> offered_{0};  // slots that may hold a job; never fewer than do
  std::atomic<WorkerPool*> crew_{nullptr};
};

}  // namespace loomix::engine
