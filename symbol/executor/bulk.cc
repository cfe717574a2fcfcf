// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/bulk.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/device/device_runtime.h"

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

Ref<Bulk> Bulk::make(engine::Engine& engine, std::vector<Part> parts, std::span<engine::Var* const> own) {
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
  bulk->cost_ns_ = static_cast<uint32_t>(std::min<double>(cost, std::numeric_limits<uint32_t>::max()));
  const auto order = [](const engine::Tag& tag) { return std::pair(tag.var, tag.access); };
  std::ranges::sort(bulk->tags_, std::less(), order);
  const auto repeated = std::ranges::unique(bulk->tags_, std::equal_to(), order);
  bulk->tags_.erase(repeated.begin(), repeated.end());
  return bulk;
}

void Bulk::find_stretches() {
  for (size_t i = 0; i < parts_.size(); ++i) {
    const bool same = parts_[i].call->issues_the_same();
    if (stretches_.empty() || stretches_.back().same != same) stretches_.push_back({i, i, same});
    stretches_.back().end = i + 1;
  }
}

void Bulk::run(engine::RunContext& context, engine::TaskParts& task, ops::RandomStream random) {
  const bool together = runs_ >= kRunsBefore && task.may_run_together();
  runs_ += runs_ < kRunsBefore ? 1 : 0;
  for (Stretch& stretch : stretches_) {
    if (!together || !launch(stretch, context, task))
      run_parts(stretch.first, stretch.end, context, task, random);
  }
}

void Bulk::run_parts(size_t first, size_t end, engine::RunContext& context, engine::TaskParts& task,
                     ops::RandomStream random) const {
  for (const Prepared& part : std::span(parts_).subspan(first, end - first)) {
    const std::span<const engine::Tag> tags = part.call->tags();
    if (!task.begin(tags)) continue;
    for (const NDArray& array : part.poisoned) poison(array, context);
    try {
      part.call->run(context, {random.seed, random.offset + part.random_offset});
    } catch (...) {
      task.fail(tags, part.describe, std::current_exception());
      continue;
    }
    task.end(tags, part.describe);
  }
}

// False if it is not recorded: then nothing was done.
bool Bulk::launch(Stretch& stretch, engine::RunContext& context, engine::TaskParts& task) const {
  if (context.queue == nullptr || !stretch.same || stretch.is_refused || stretch.end - stretch.first < 2)
    return false;
  const engine::Describe describe{[](const void* bulk) { return bulk_of(bulk).describe(); },
                                  [](const void*) { return "captured operators"; },
                                  Ref<RefCounted>(const_cast<Bulk*>(this))};
  task.begin({});
  try {
    if (!stretch.work) {
      stretch.work = context.queue->record_work([&] {
        for (size_t i = stretch.first; i < stretch.end; ++i) {
          for (const NDArray& array : parts_[i].poisoned) poison(array, context);
          parts_[i].call->run(context, {});
        }
      });
      stretch.is_refused = !stretch.work;
      if (stretch.is_refused) return false;
    }
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
