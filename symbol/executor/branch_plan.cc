// SPDX-License-Identifier: Apache-2.0
//
// Each step goes where it could start first, in the order of the program; a step that waits for another branch pays for the event.
// What that saves is an estimate: short kernels leave most of a device free, long ones fill it, and then nothing is gained.
#include "symbol/executor/branch_plan.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace loomix {
namespace {

constexpr double kEventNs = 1'000;   // from the end of a step to the begin of one on another branch
constexpr double kFillsNs = 30'000;  // a kernel that takes so long has work for the whole device
constexpr double kLeastGain = 1.1;

// The steps before each one that it has to follow, sorted.
std::vector<std::vector<uint32_t>> find_before(std::span<const BranchStep> steps) {
  struct Last {
    std::vector<uint32_t> writer, readers;
  };
  std::unordered_map<const engine::Var*, Last> last;
  std::vector<std::vector<uint32_t>> before(steps.size());
  for (uint32_t i = 0; i < steps.size(); ++i) {
    std::vector<uint32_t>& own = before[i];
    for (const engine::Tag& tag : steps[i].tags) {
      const Last& known = last[tag.var];
      own.insert(own.end(), known.writer.begin(), known.writer.end());
      if (tag.access != engine::Access::read)
        own.insert(own.end(), known.readers.begin(), known.readers.end());
    }
    for (const engine::Tag& tag : steps[i].tags) {
      Last& known = last[tag.var];
      if (tag.access == engine::Access::read) known.readers.push_back(i);
      else known = {{i}, {}};
    }
    std::ranges::sort(own);
    const auto repeated = std::ranges::unique(own);
    own.erase(repeated.begin(), repeated.end());
  }
  return before;
}

}  // namespace

std::vector<BranchPlace> plan_branches(std::span<const BranchStep> steps, int most,
                                       const engine::DeviceTraits& traits) {
  const std::vector<std::vector<uint32_t>> before = find_before(steps);
  const auto branches = static_cast<size_t>(std::max(most, 1));
  std::vector<BranchPlace> places(steps.size());
  std::vector<double> ends(steps.size()), free(branches, 0);
  // The last step of each branch that a branch has waited for, so that no event is waited for twice.
  std::vector<std::vector<int64_t>> seen(branches, std::vector<int64_t>(branches, -1));
  double one_by_one = 0, occupied = 0;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    size_t best = 0;
    double start = 0;
    for (size_t branch = 0; branch < branches; ++branch) {
      double ready = free[branch];
      for (const uint32_t other : before[i]) {
        const bool crosses = static_cast<size_t>(places[other].branch) != branch;
        ready = std::max(ready, ends[other] + (crosses ? kEventNs : 0));
      }
      if (branch == 0 || ready < start) std::tie(best, start) = std::pair(branch, ready);
    }
    places[i].branch = static_cast<int>(best);
    for (auto other = before[i].rbegin(); other != before[i].rend(); ++other) {
      const auto from = static_cast<size_t>(places[*other].branch);
      if (from == best || seen[best][from] >= static_cast<int64_t>(*other)) continue;
      seen[best][from] = static_cast<int64_t>(*other);
      places[*other].is_followed = true;
      places[i].follows.push_back(*other);
    }
    const double ns = traits.time_ns(steps[i].cost_ns);
    ends[i] = free[best] = start + ns;
    one_by_one += ns;
    occupied += ns * std::min(1.0, ns / kFillsNs);
  }
  const double beside = std::max(*std::ranges::max_element(free), occupied);
  if (one_by_one < kLeastGain * beside) return {};
  return places;
}

}  // namespace loomix
