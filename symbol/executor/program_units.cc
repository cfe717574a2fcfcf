// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/device/device_runtime.h"
#include "symbol/executor/program.h"
#include "symbol/executor/schedule.h"

// From steps to tasks. A task of several steps has their tags, but for Vars that only these steps use: that is sound because nothing
// can tell when their values are written, and because the gate lets no step of the next run begin before all of this one are through.
namespace loomix {

// Vars of values in the arena: nobody else sees those.
std::vector<engine::Var*> Program::planned_vars() const {
  std::vector<engine::Var*> vars;
  for (size_t value = 0; value < arrays_.size(); ++value) {
    if (plan_.planned(static_cast<int>(value)) && !arrays_[value].is_none())
      vars.push_back(&arrays_[value].var());
  }
  std::ranges::sort(vars);
  return vars;
}

bool Program::records_work(NodeId id) const {
  return runtime_.engine().device(devices_[id]).traits().records_work;
}

// What a node writes for others than the program's own steps.
int64_t Program::leaving_bytes(NodeId id) const {
  int64_t bytes = 0;
  for (int i = 0; i < graph_[id].num_outputs; ++i) {
    const int value = index_(id, i);
    if (!plan_.planned(plan_.root[value]) && !arrays_[value].is_none()) bytes += arrays_[value].bytes();
  }
  return bytes;
}

// Of a pass that ran before, the gate of the next one waits for all; so units may change between two passes.
void Program::make_units() {
  units_.clear();
  std::vector<ScheduledStep> scheduled;
  const std::vector<engine::Var*> planned = planned_vars();
  const auto leaves = [&](const engine::Tag& tag) {
    return tag.access == engine::Access::write && !std::ranges::binary_search(planned, tag.var);
  };
  for (const Step& step : steps_) {
    ScheduledStep& entry = scheduled.emplace_back();
    entry.device = devices_[step.node];
    if (!step.call) continue;
    const OpCall& call = *step.call;
    entry.tags = call.tags();
    entry.cost_ns = call.cost_ns();
    entry.cores = call.max_cores();
    entry.may_join = call.may_join();
    entry.issues = call.only_issues() && !step.is_loose && records_work(step.node);
    entry.leaves = std::ranges::any_of(entry.tags, leaves);
    if (entry.leaves) entry.leaving_bytes = leaving_bytes(step.node);
  }
  const auto add = [&](size_t begin, size_t end, const MostSteps& most) {
    for (const uint32_t size : group_steps(std::span(scheduled).subspan(begin, end - begin), most)) {
      const auto first = static_cast<uint32_t>(begin);
      begin += size;
      for (uint32_t i = first; i < begin; ++i) steps_[i].unit = static_cast<uint32_t>(units_.size());
      units_.push_back({first, static_cast<uint32_t>(begin)});
    }
  };
  MostSteps most{.short_ones = training_ ? options_.bulk_forward : options_.bulk_inference,
                 .issued = options_.captured};
  add(0, first_backward_, most);
  first_backward_unit_ = units_.size();
  most.short_ones = options_.bulk_backward;
  ends_early_ = runtime_.gradients_travel.load(std::memory_order_relaxed);
  if (ends_early_) most.leaving_bytes = options_.leaving_bytes;
  add(first_backward_, steps_.size(), most);
  find_own_vars();
  for (Unit& unit : units_) {
    if (unit.end - unit.first == 1) continue;
    const auto steps = std::span(steps_).subspan(unit.first, unit.end - unit.first);
    unit.outdated = std::ranges::any_of(steps, [](const Step& step) { return step.outdated; });
    if (!unit.outdated) make_bulk(unit);
    const auto at = std::ranges::find(random_devices_, devices_[steps_[unit.first].node]);
    if (at != random_devices_.end()) unit.random_device = static_cast<size_t>(at - random_devices_.begin());
  }
}

// Gates count as users: what they wait for, and what waits for them.
void Program::find_own_vars() {
  constexpr uint32_t kSeveral = ~uint32_t{0};
  std::unordered_map<engine::Var*, uint32_t> users;
  for (engine::Var* var : planned_vars()) users.emplace(var, kSeveral - 1);  // nobody yet
  const auto use = [&](engine::Var* var, uint32_t unit) {
    const auto found = users.find(var);
    if (found == users.end() || found->second == unit) return;
    found->second = found->second == kSeveral - 1 ? unit : kSeveral;
  };
  for (const Step& step : steps_) {
    if (step.call) {
      for (const engine::Tag& tag : step.call->tags()) use(tag.var, step.unit);
    } else {
      use(&arrays_[step.from].var(), kSeveral);
      use(&arrays_[step.to].var(), kSeveral);
      for (engine::Var* var : step.order) use(var, kSeveral);
    }
  }
  for (const auto& gate : own_gate_) {
    for (const engine::Tag& tag : gate) use(tag.var, kSeveral);
  }
  for (const auto& [var, unit] : users) {
    if (unit < units_.size() && units_[unit].end - units_[unit].first > 1) units_[unit].own.push_back(var);
  }
  for (Unit& unit : units_) std::ranges::sort(unit.own);
}

void Program::make_bulk(Unit& unit) const {
  std::vector<Bulk::Part> parts;
  for (uint32_t i = unit.first; i < unit.end; ++i)
    parts.push_back({steps_[i].call, steps_[i].random_offset, steps_[i].poisoned});
  unit.bulk = Bulk::make(runtime_.engine(), std::move(parts), unit.own, options_.streams, unit.bulk.get());
}

// On devices that record work: what is recorded takes the new arrays over, so it is launched again at once.
bool Program::renew_bulk(Unit& unit) {
  if (!unit.bulk || !records_work(steps_[unit.first].node)) return false;
  for (Step& step : std::span(steps_).subspan(unit.first, unit.end - unit.first)) {
    if (step.outdated) make_call(step);
  }
  make_bulk(unit);
  unit.outdated = false;
  return true;
}

// Each step is a task of its own while values are checked or visited; and on hosts in a run for which an array was replaced, since joining
// anew costs more than it saves once: in calls of a hybridized block that is so for its inputs and outputs each time.
void Program::push(Unit& unit, bool visit) {
  const bool is_single = unit.end - unit.first == 1;
  const bool one_by_one =
      is_single || (visit && (before_ || after_)) || runtime_.check_values.load(std::memory_order_relaxed);
  if (one_by_one || (unit.outdated && !renew_bulk(unit))) {
    for (uint32_t i = unit.first; i < unit.end; ++i) push(steps_[i], visit);
    if (std::exchange(unit.outdated, false)) unit.bulk = {};
    return;
  }
  if (!unit.bulk) make_bulk(unit);
  unit.bulk->push(random_.empty() ? ops::RandomStream() : random_[unit.random_device]);
}

}  // namespace loomix
