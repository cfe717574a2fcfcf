// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "engine/engine.h"

namespace loomix::engine {

// A random program over cells, each with its Var: every task mixes what it reads into what it writes, so that the
// final values depend on the order of each pair of conflicting tasks and on nothing else.
struct RandomProgram {
  struct Step {
    std::vector<int> reads;
    std::vector<int> writes;   // overwritten
    std::vector<int> updates;  // read and written
    uint64_t salt;
    int8_t priority;
    Lane lane;
    int style;  // 0 plain, 1 asynchronous, 2 pushed from inside a task, 3 throws
  };
  std::vector<Step> steps;
  int cells;

  static RandomProgram make(uint64_t seed, int cells, int count, bool styles) {
    std::mt19937_64 random(seed);
    RandomProgram program;
    program.cells = cells;
    const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<uint64_t>(below)); };
    for (int i = 0; i < count; ++i) {
      Step step;
      const auto some = [&](int most) {
        std::vector<int> chosen;
        for (int k = pick(most + 1); k > 0; --k) chosen.push_back(pick(cells));
        return chosen;
      };
      step.reads = some(pick(20) == 0 ? 12 : 3);
      step.writes = some(2);
      step.updates = some(1);
      std::erase_if(step.writes, [&](int cell) {
        return std::find(step.reads.begin(), step.reads.end(), cell) != step.reads.end() ||
               std::find(step.updates.begin(), step.updates.end(), cell) != step.updates.end();
      });
      step.salt = random();
      step.priority = static_cast<int8_t>(pick(4) == 0 ? pick(5) - 2 : 0);
      step.lane = static_cast<Lane>(pick(4) == 0 ? pick(kLanes) : 0);
      step.style = styles ? std::max(0, pick(6) - 2) : 0;
      program.steps.push_back(std::move(step));
    }
    return program;
  }

  std::vector<Tag> tags(const Step& step, const std::vector<VarRef>& vars) const {
    std::vector<Tag> tags;
    for (const int cell : step.reads) tags.push_back({vars[static_cast<size_t>(cell)].get(), Access::read});
    for (const int cell : step.writes) tags.push_back({vars[static_cast<size_t>(cell)].get(), Access::write});
    for (const int cell : step.updates) {
      tags.push_back({vars[static_cast<size_t>(cell)].get(), Access::write});
      tags.push_back({vars[static_cast<size_t>(cell)].get(), Access::read});
    }
    return tags;
  }

  static void apply(const Step& step, std::vector<uint64_t>& values) {
    uint64_t mix = step.salt;
    for (const int cell : step.reads)
      mix = (mix ^ values[static_cast<size_t>(cell)]) * 0x9e3779b97f4a7c15u + 1;
    for (const int cell : step.updates)
      values[static_cast<size_t>(cell)] = values[static_cast<size_t>(cell)] * 31 + mix;
    for (const int cell : step.writes) values[static_cast<size_t>(cell)] = mix + static_cast<uint64_t>(cell);
  }
};

}  // namespace loomix::engine
