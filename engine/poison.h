// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "base/ref_counted.h"

namespace loomix::engine {

// How many of an engine's Vars are poisoned, so that tasks look for poison only while there is any.
struct PoisonCount : RefCounted {
  std::atomic<int64_t> vars{0};
};

// The error of a failed task. It is shared by the Vars that the task should have written and by those that
// skipped readers should have written in turn.
class Poison : public RefCounted {
 public:
  // `context` (what Describe::text says) is appended to the text of a loomix::Error; every exception keeps its type.
  // `count` is that of the Vars' engine, if it keeps one.
  Poison(std::exception_ptr error, std::string context, Ref<PoisonCount> count = {});

  const std::exception_ptr& error() const noexcept { return error_; }
  const std::string& context() const noexcept { return context_; }
  // Throws the error and counts it as reported.
  [[noreturn]] void rethrow() const;
  bool mark_reported() const noexcept { return !reported_.exchange(true, std::memory_order_relaxed); }
  bool reported() const noexcept { return reported_.load(std::memory_order_relaxed); }
  // From a Var that begins (+1) or ceases (-1) to hold it.
  void count_var(int change) const noexcept {
    if (count_) count_->vars.fetch_add(change, std::memory_order_relaxed);
  }

 private:
  std::exception_ptr error_;
  std::string context_;
  Ref<PoisonCount> count_;
  mutable std::atomic<bool> reported_{false};
};

// Errors in the order of failure, for wait_all. Emptied by throw_first(); holds at most kLimit.
class ErrorLog {
 public:
  static constexpr size_t kLimit =
      1024;  // older reported errors are dropped first, then newer ones are not kept
  void add(Ref<Poison> poison);
  void throw_first();  // the first one not yet reported, if any
  void lock_for_fork() noexcept { mutex_.lock(); }
  void unlock_after_fork() noexcept { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::vector<Ref<Poison>> errors_;
};

}  // namespace loomix::engine
