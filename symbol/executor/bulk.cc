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
  bulk->cost_ns_ = static_cast<uint32_t>(std::min<double>(cost, std::numeric_limits<uint32_t>::max()));
  const auto order = [](const engine::Tag& tag) { return std::pair(tag.var, tag.access); };
  std::ranges::sort(bulk->tags_, std::less(), order);
  const auto repeated = std::ranges::unique(bulk->tags_, std::equal_to(), order);
  bulk->tags_.erase(repeated.begin(), repeated.end());
  return bulk;
}

void Bulk::run(engine::RunContext& context, engine::TaskParts& task, ops::RandomStream random) const {
  for (const Prepared& part : parts_) {
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
