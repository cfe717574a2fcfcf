// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/bulk.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>

#include "engine/device/device_runtime.h"
#include "ops/optimizer/step_factor.h"

namespace loomix {
namespace {

const Bulk& bulk_of(const void* context) {
  return *static_cast<const Bulk*>(static_cast<const RefCounted*>(context));
}

}  // namespace

void poison(const NDArray& array, engine::RunContext& context) {
  constexpr unsigned char kPoison = 0xff;
  const auto bytes = static_cast<size_t>(array.bytes());
  if (context.queue != nullptr) context.queue->fill(array.view().data, kPoison, bytes);
  else std::memset(array.view().data, kPoison, bytes);
}

// Puts calls on their branches; all on the queue's own stream if there are no places.
class Bulk::OnBranches {
 public:
  OnBranches(std::span<const BranchPlace> places, engine::RunContext& context)
      : places_(places), context_(context), main_(context.stream), marks_(places.size()) {
    int count = 0;
    for (const BranchPlace& place : places) count = std::max(count, place.branch + 1);
    if (count > 1) branches_ = context.queue->branches(count);
  }
  ~OnBranches() { context_.stream = main_; }
  OnBranches(const OnBranches&) = delete;
  OnBranches& operator=(const OnBranches&) = delete;

  // Around the call of this number.
  void before(size_t call) {
    if (!branches_) return;
    context_.stream = branches_->enter(places_[call].branch);
    for (const uint32_t other : places_[call].follows) branches_->follow(marks_[other]);
  }
  void after(size_t call) {
    if (branches_ && places_[call].is_followed) marks_[call] = branches_->mark();
  }
  void join() {
    if (branches_) branches_->join();
  }

 private:
  const std::span<const BranchPlace> places_;
  engine::RunContext& context_;
  void* const main_;
  std::vector<size_t> marks_;  // of calls that others follow
  std::unique_ptr<engine::Branches> branches_;
};

Ref<Bulk> Bulk::make(engine::Engine& engine, std::vector<Part> parts, std::span<engine::Var* const> own,
                     int streams, const Bulk* before) {
  Ref<Bulk> bulk(new Bulk);
  bulk->engine_ = &engine::parts_of(engine);
  bulk->device_ = parts[0].call->device();
  double cost = 0;
  for (Part& part : parts) {
    const OpCall& call = *part.call;
    cost += call.cost_ns();
    for (const engine::Tag& tag : call.tags()) {
      if (!std::binary_search(own.begin(), own.end(), tag.var)) bulk->tags_.push_back(tag);
    }
    bulk->parts_.push_back({&call, part.random_offset, call.describe_task(), std::move(part.poisoned)});
  }
  bulk->find_stretches();
  for (const Stretch& stretch : bulk->recorded_->stretches) {
    const bool is_recorded = stretch.same && stretch.end - stretch.first >= kLeastRecorded;
    bulk->places_.push_back(is_recorded && streams > 1 ? bulk->plan(stretch, engine, streams)
                                                       : std::vector<BranchPlace>());
  }
  if (before != nullptr) bulk->follow(*before);
  bulk->cost_ns_ = static_cast<uint32_t>(std::min<double>(cost, std::numeric_limits<uint32_t>::max()));
  bulk->sort_tags();
  return bulk;
}

Ref<Bulk> Bulk::make_updates(engine::Engine& engine, std::vector<Part> parts, const Bulk* before,
                             const NDArray& factor) {
  Ref<Bulk> bulk = make(engine, std::move(parts), {}, 1, before);
  if (!factor.is_none()) {
    bulk->factor_ = factor;
    bulk->tags_.push_back({&factor.var(), engine::Access::read});
    bulk->sort_tags();
  }
  return bulk;
}

// Where the same neighbours are recorded. What the worker changes of those is not read here.
void Bulk::follow(const Bulk& before) {
  const auto same = [](const Stretch& a, const Stretch& b) {
    return a.first == b.first && a.end == b.end && a.same == b.same;
  };
  if (!std::ranges::equal(recorded_->stretches, before.recorded_->stretches, same)) return;
  recorded_ = before.recorded_;
  version_ = before.version_ + 1;
}

void Bulk::sort_tags() {
  const auto order = [](const engine::Tag& tag) { return std::pair(tag.var, tag.access); };
  std::ranges::sort(tags_, std::less(), order);
  const auto repeated = std::ranges::unique(tags_, std::equal_to(), order);
  tags_.erase(repeated.begin(), repeated.end());
}

void Bulk::find_stretches() {
  recorded_ = make_ref<Recorded>();
  std::vector<Stretch>& stretches = recorded_->stretches;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const bool same = parts_[i].call->issues_the_same();
    if (stretches.empty() || stretches.back().same != same) stretches.push_back({i, i, same});
    stretches.back().end = i + 1;
  }
}

std::vector<BranchPlace> Bulk::plan(const Stretch& stretch, engine::Engine& engine, int streams) const {
  std::vector<BranchStep> steps;
  for (size_t i = stretch.first; i < stretch.end; ++i)
    steps.push_back({parts_[i].call->tags(), static_cast<double>(parts_[i].call->cost_ns())});
  return plan_branches(steps, streams, engine.device(device_).traits());
}

void Bulk::run(engine::RunContext& context, engine::TaskParts& task, ops::RandomStream random) {
  const ops::StepFactor factor(factor_data());
  const bool together = recorded_->runs >= kRunsBefore && task.may_run_together();
  const bool is_last_before = recorded_->runs == kRunsBefore - 1;
  recorded_->runs += recorded_->runs < kRunsBefore ? 1 : 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    Stretch& stretch = recorded_->stretches[i];
    if (together && launch(stretch, places_[i], context, task)) continue;
    run_parts(stretch, is_last_before ? std::span(places_[i]) : std::span<BranchPlace>(), context, task,
              random);
  }
}

void Bulk::run_parts(const Stretch& stretch, std::span<const BranchPlace> places, engine::RunContext& context,
                     engine::TaskParts& task, ops::RandomStream random) const {
  OnBranches branches(places, context);
  for (size_t i = stretch.first; i < stretch.end; ++i) {
    branches.before(i - stretch.first);
    run_part(parts_[i], context, task, random);
    branches.after(i - stretch.first);
  }
  branches.join();
}

void Bulk::run_part(const Prepared& part, engine::RunContext& context, engine::TaskParts& task,
                    ops::RandomStream random) const {
  std::span<const engine::Tag> tags = part.call->tags();
  std::vector<engine::Tag> with_factor;
  if (!factor_.is_none()) {
    with_factor.assign(tags.begin(), tags.end());
    with_factor.push_back({&factor_.var(), engine::Access::read});
    tags = with_factor;
  }
  if (!task.begin(tags)) return;
  for (const NDArray& array : part.poisoned) poison(array, context);
  try {
    part.call->run(context, {random.seed, random.offset + part.random_offset});
  } catch (...) {
    return task.fail(tags, part.describe, std::current_exception());
  }
  task.end(tags, part.describe);
}

// Puts these calls of the stretch on the queue.
void Bulk::issue(const Stretch& stretch, std::span<const size_t> calls, std::span<const BranchPlace> places,
                 engine::RunContext& context, engine::WorkParts& parts) const {
  OnBranches branches(places, context);
  for (const size_t i : calls) {
    const Prepared& part = parts_[stretch.first + i];
    branches.before(i);
    parts.begin();
    for (const NDArray& array : part.poisoned) poison(array, context);
    part.call->run(context, {});
    parts.end();
    branches.after(i);
  }
  branches.join();
}

// Those that are not what was recorded; all, if calls now wait for other ones, or read another factor.
std::vector<size_t> Bulk::changed_calls(const Stretch& stretch, std::span<const BranchPlace> places) const {
  const bool same_places = std::ranges::equal(stretch.places, places) && stretch.factor == factor_data();
  std::vector<size_t> changed;
  for (size_t i = 0; i < stretch.end - stretch.first; ++i) {
    const OpCall& call = *parts_[stretch.first + i].call;
    const bool same = same_places && i < stretch.calls.size() &&
                      (stretch.calls[i].get() == &call ||
                       (stretch.calls[i]->repeats(call) && stretch.calls[i]->attrs() == call.attrs()));
    if (!same) changed.push_back(i);
  }
  return changed;
}

// On the streams where they were recorded, as libraries have memory for each stream.
bool Bulk::renew_calls(const Stretch& stretch, std::span<const size_t> calls,
                       engine::RunContext& context) const {
  if (calls.empty()) return true;
  std::vector<BranchPlace> places;
  for (const BranchPlace& place : stretch.places) places.push_back({.branch = place.branch});
  return stretch.work->renew_parts(
      calls, [&](engine::WorkParts& parts) { issue(stretch, calls, places, context, parts); });
}

bool Bulk::record(Stretch& stretch, std::span<const BranchPlace> places, engine::RunContext& context) const {
  std::vector<size_t> all(stretch.end - stretch.first);
  std::iota(all.begin(), all.end(), size_t{0});
  const auto issue_all = [&](engine::WorkParts& parts) { issue(stretch, all, places, context, parts); };
  const std::vector<size_t> changed = changed_calls(stretch, places);
  // Where most have changed, as updates at another rate, what is done for each costs more than to do it for all at once.
  const bool partly =
      stretch.work && changed.size() <= all.size() / 2 && renew_calls(stretch, changed, context);
  if (!stretch.work) stretch.work = context.queue->record_work(issue_all);
  else if (!partly && !stretch.work->renew(issue_all)) stretch.work = {};
  stretch.version = version_;
  stretch.is_refused = !stretch.work;
  stretch.calls.resize(all.size());
  for (const size_t i : partly ? changed : all)  // whose memory is in use now
    stretch.calls[i] = Ref<const OpCall>(parts_[stretch.first + i].call);
  stretch.places.assign(places.begin(), places.end());
  stretch.factor = factor_data();
  return !stretch.is_refused;
}

// False if it is not recorded: then nothing was done.
bool Bulk::launch(Stretch& stretch, std::span<const BranchPlace> places, engine::RunContext& context,
                  engine::TaskParts& task) const {
  const bool is_short = stretch.end - stretch.first < kLeastRecorded;
  if (context.queue == nullptr || !stretch.same || stretch.is_refused || is_short) return false;
  const engine::Describe describe{[](const void* bulk) { return bulk_of(bulk).describe(); },
                                  [](const void*) { return "captured operators"; },
                                  Ref<RefCounted>(const_cast<Bulk*>(this))};
  try {
    const bool is_ready = stretch.work && stretch.version == version_;
    if (!is_ready && !record(stretch, places, context)) return false;
    task.begin({});  // not before: a trace has what the device does, and recording is the host's work
    stretch.work->launch();
    task.end({}, describe);
  } catch (...) {
    std::vector<engine::Tag> tags;
    for (size_t i = stretch.first; i < stretch.end; ++i)
      tags.insert(tags.end(), parts_[i].call->tags().begin(), parts_[i].call->tags().end());
    task.fail(tags, describe, std::current_exception());
  }
  return true;
}

void Bulk::push(ops::RandomStream random) {
  engine::TaskInfo info;
  info.device = device_;
  info.cost_ns = cost_ns_;
  info.describe = {[](const void* context) { return bulk_of(context).describe(); },
                   [](const void*) { return "operators in one task"; }, Ref<RefCounted>(this)};
  // The task holds the calls through its description.
  engine_->push_parts(
      std::move(info), tags_,
      [this, random](engine::RunContext& context, engine::TaskParts& task) { run(context, task, random); });
}

std::string Bulk::describe() const {
  std::string text = fmt::format("in one task of {} operators", parts_.size());
  for (const Prepared& part : parts_) text += "\n" + part.call->describe();
  return text;
}

}  // namespace loomix
