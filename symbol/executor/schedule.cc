// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/schedule.h"

#include <algorithm>
#include <unordered_map>

namespace loomix {
namespace {

constexpr double kMostOfOneNs = 5'000;    // a step that takes longer does not notice what its task costs
constexpr double kMostOfTaskNs = 20'000;  // what waits for a step in the middle waits no longer than that
constexpr double kTinyNs = 1'000;         // about what it takes until another core has a task
constexpr double kMostDelayNs = 1'000;

// Follows the steps in their order, with the times at which each Var's accesses would end if there were cores without number.
class Grouper {
 public:
  explicit Grouper(MostSteps most) : most_(most) {}

  void add(const ScheduledStep& step) {
    if (!open_.empty() && !joins(step)) close();
    start_ns_ = std::max(start_ns_, ready_ns(step));
    cost_ns_ += step.cost_ns / std::max(step.cores, 1);
    leaving_bytes_ += step.leaving_bytes;
    open_.push_back(&step);
    for (const engine::Tag& tag : step.tags) {
      if (tag.access != engine::Access::read) vars_[tag.var].written_in = open_.size();
    }
  }

  std::vector<uint32_t> finish() {
    if (!open_.empty()) close();
    return std::move(sizes_);
  }

 private:
  struct VarTimes {
    double written_ns = 0, read_ns = 0;
    size_t written_in = 0;  // which step of the open task wrote it last, from 1; 0: none
  };

  bool joins(const ScheduledStep& step) {
    const ScheduledStep& last = *open_.back();
    const auto size = static_cast<int>(open_.size());
    if (!(step.device == last.device)) return false;
    if (step.issues && last.issues) return size < most_.issued && leaving_bytes_ < most_.leaving_bytes;
    if (size >= most_.short_ones || !step.may_join || !last.may_join || last.leaves) return false;
    if (step.cost_ns > kMostOfOneNs) return false;
    if (last.cost_ns > kMostOfOneNs || cost_ns_ + step.cost_ns > kMostOfTaskNs) return false;
    if (step.cost_ns > kTinyNs && !reads_last(step)) return false;
    return ready_ns(step) <= start_ns_ + kMostDelayNs;
  }

  bool reads_last(const ScheduledStep& step) const {
    return std::ranges::any_of(step.tags, [&](const engine::Tag& tag) {
      if (tag.access != engine::Access::read) return false;
      const auto found = vars_.find(tag.var);
      return found != vars_.end() && found->second.written_in == open_.size();
    });
  }

  // When a step could start, for all that is not in the open task.
  double ready_ns(const ScheduledStep& step) const {
    double ready = 0;
    for (const engine::Tag& tag : step.tags) {
      const auto found = vars_.find(tag.var);
      if (found == vars_.end()) continue;
      ready = std::max(ready, found->second.written_ns);
      if (tag.access != engine::Access::read) ready = std::max(ready, found->second.read_ns);
    }
    return ready;
  }

  void close() {
    const double end = start_ns_ + cost_ns_;
    for (const ScheduledStep* step : open_) {
      for (const engine::Tag& tag : step->tags) {
        VarTimes& var = vars_[tag.var];
        (tag.access == engine::Access::read ? var.read_ns : var.written_ns) = end;
        var.written_in = 0;
      }
    }
    sizes_.push_back(static_cast<uint32_t>(open_.size()));
    open_.clear();
    start_ns_ = cost_ns_ = 0;
    leaving_bytes_ = 0;
  }

  const MostSteps most_;
  std::unordered_map<const engine::Var*, VarTimes> vars_;
  std::vector<const ScheduledStep*> open_;
  double start_ns_ = 0, cost_ns_ = 0;  // of the open task
  int64_t leaving_bytes_ = 0;
  std::vector<uint32_t> sizes_;
};

}  // namespace

std::vector<uint32_t> group_steps(std::span<const ScheduledStep> steps, MostSteps most) {
  Grouper grouper(most);
  for (const ScheduledStep& step : steps) grouper.add(step);
  return grouper.finish();
}

}  // namespace loomix
