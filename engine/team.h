// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace loomix::engine {

// Helper threads that run the parts of a parallel_for beside its caller. They start on first use.
class Team {
 public:
  explicit Team(int helpers) noexcept;
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Calls run(body, part) for every part in [0, parts), on the caller and at most `helpers` others; returns when all
  // are done. Called inside a part, it runs everything on the caller.
  void run(int helpers, int64_t parts, void (*run)(void* body, int64_t part), void* body);
  void stop();
  void forget_threads() noexcept;  // in the child of a fork

 private:
  struct Job;
  struct Helper;
  void start();
  static void serve(Helper& helper);

  const int wanted_;
  std::atomic<bool> started_{false};
  std::mutex mutex_;  // guards starting and stopping
  std::vector<std::unique_ptr<Helper>> helpers_;
};

}  // namespace loomix::engine
