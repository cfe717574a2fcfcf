// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

// What engine_bench and mxnet_bench have in common, so that both engines get the same programs.
namespace engine_cases {

inline constexpr int kVars = 128;
inline constexpr int kTasks = 1'000'000;

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Case {
  std::string name;
  std::function<double()> run;  // the figure
  const char* unit;
  std::vector<double> results;
};

// Millions of tasks a second: pushes and waits for all.
template <class PushOne, class WaitAll>
double rate(int tasks, PushOne&& push_one, WaitAll&& wait_all) {
  const auto begin = Clock::now();
  for (int i = 0; i < tasks; ++i) push_one(static_cast<uint32_t>(i));
  wait_all();
  return tasks / seconds_since(begin) / 1e6;
}

// Three Vars of kVars for each task.
inline std::vector<uint32_t> random_choice() {
  std::minstd_rand random(1);
  std::vector<uint32_t> choice(3 * kTasks);
  for (auto& c : choice) c = static_cast<uint32_t>(random() >> 8) % kVars;
  return choice;
}

// Runs the cases in turns, so that the machine's drift hits all alike; prints median, worst and best.
inline void run_all(std::vector<Case>& cases, int repetitions) {
  for (int i = 0; i < repetitions; ++i) {
    for (Case& c : cases) c.results.push_back(c.run());
  }
  for (Case& c : cases) {
    std::sort(c.results.begin(), c.results.end());
    fmt::print("{:42} median {:8.3f}  min {:8.3f}  max {:8.3f}  {}\n", c.name,
               c.results[c.results.size() / 2], c.results.front(), c.results.back(), c.unit);
  }
}

}  // namespace engine_cases
