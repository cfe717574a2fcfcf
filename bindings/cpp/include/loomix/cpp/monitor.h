// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <functional>
#include <iostream>
#include <regex>
#include <tuple>

#include "loomix/cpp/executor.h"

namespace loomix::cpp {
inline namespace names {

// Numbers about what executors compute, every `interval` batches. It outlives the passes of its executors.
class Monitor {
 public:
  using StatFunc = std::function<NDArray(const NDArray&)>;
  using Stat = std::tuple<int, std::string, NDArray>;  // of which batch, which value, the number

  explicit Monitor(int interval, const std::regex& pattern = std::regex(".*"), StatFunc stat_func = mean_size)
      : interval(interval), pattern(pattern), stat_func(std::move(stat_func)) {
    if (interval < 1)
      throw Error("[Monitor] interval is " + std::to_string(interval) + "; expected 1 or more.");
  }
  virtual ~Monitor() = default;
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  void install(Executor* exe) {
    detail::check(LoomixExecutorSetMonitor(exe->GetHandle(), &Monitor::executor_callback, this));
    exes.push_back(exe);
  }
  // Before a batch.
  void tic() {
    if (step % interval == 0) {
      NDArray::WaitAll();
      activated = true;
      stats.clear();
    }
    ++step;
  }
  // After it: the numbers of the values, and of the arguments, if the batch was one that is looked at.
  std::vector<Stat> toc() {
    if (!activated) return {};
    activated = false;
    for (Executor* const exe : exes) {
      for (const auto& [name, array] : exe->arg_dict()) add(name, array);
    }
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
    return std::exchange(stats, {});
  }
  void toc_print() {
    for (const auto& [batch, name, value] : toc())
      std::clog << "Batch: " << batch << ' ' << name << ' ' << value << '\n';
  }

 protected:
  // The root of the mean square.
  static NDArray mean_size(const NDArray& x) {
    return NDArray::invoke("norm", {x}, {})[0] / std::sqrt(static_cast<float>(x.Size()));
  }
  void add(const std::string& name, const NDArray& array) {
    if (std::regex_match(name, pattern)) stats.emplace_back(step, name, stat_func(array));
  }
  static void executor_callback(const char* name, LoomixArray handle, void* context) {
    const NDArray array(handle);
    auto* const self = static_cast<Monitor*>(context);
    if (!self->activated) return;
    try {
      self->add(name, array);
    } catch (...) {  // told by toc
      self->failure = std::current_exception();
    }
  }

  int interval;
  std::regex pattern;
  StatFunc stat_func;
  std::vector<Executor*> exes;
  int step = 0;
  bool activated = false;
  std::vector<Stat> stats;
  std::exception_ptr failure;
};

}  // namespace names
}  // namespace loomix::cpp
