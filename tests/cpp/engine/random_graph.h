// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "engine/engine.h"

namespace loomix::engine {

// A random program over cells, each with its Var: every task mixes what it reads into what it writes, so that the
// final values depend on the order of each pair of conflicting tasks and on nothing else. With styles, there are further
// cells: channels, which are only used (Access::use), and for each group those that only tasks inside tasks touch. A task
// that pushes others uses its group's gate, so that groups' inner tasks are pushed in a certain order.
struct RandomProgram {
  static constexpr int kChannels = 4, kGroups = 3, kInnerCells = 3;

  struct Step {
    std::vector<int> reads;
    std::vector<int> writes;   // overwritten
    std::vector<int> updates;  // read and written
    std::vector<int> uses;     // channels and gates
    std::vector<Step> inner;   // pushed by this one
    uint64_t salt;
    int8_t priority;
    Lane lane;
    int style;  // 0 plain, 1 asynchronous, 2 pushes `inner`, 3 throws
  };
  std::vector<Step> steps;
  int cells;
  int all_cells() const { return cells + kChannels + kGroups * (1 + kInnerCells); }

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
      if (styles && pick(3) == 0) step.uses.push_back(cells + pick(kChannels));
      if (step.style == 2) {
        const int gate = cells + kChannels + pick(kGroups) * (1 + kInnerCells);
        step.uses.push_back(gate);
        for (int k = pick(4); k >= 0; --k) {
          Step inner{};
          inner.updates.push_back(gate + 1 + pick(kInnerCells));
          if (pick(2) == 0) inner.reads.push_back(gate + 1 + pick(kInnerCells));
          inner.salt = random();
          inner.priority = static_cast<int8_t>(pick(3) - 1);
          inner.style = pick(8) == 0 ? 3 : 0;
          step.inner.push_back(std::move(inner));
        }
      }
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
    for (const int cell : step.uses) tags.push_back({vars[static_cast<size_t>(cell)].get(), Access::use});
    return tags;
  }

  static void apply(const Step& step, std::vector<uint64_t>& values) {
    uint64_t mix = step.salt;
    for (const int cell : step.reads)
      mix = (mix ^ values[static_cast<size_t>(cell)]) * 0x9e3779b97f4a7c15u + 1;
    for (const int cell : step.updates)
      values[static_cast<size_t>(cell)] = values[static_cast<size_t>(cell)] * 31 + mix;
    for (const int cell : step.uses)
      values[static_cast<size_t>(cell)] = values[static_cast<size_t>(cell)] * 37 + step.salt;
    for (const int cell : step.writes) values[static_cast<size_t>(cell)] = mix + static_cast<uint64_t>(cell);
  }
};

}  // namespace loomix::engine
