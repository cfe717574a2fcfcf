// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/place.h"

#include <algorithm>

#include "kvstore/cluster/batch.h"

namespace loomix::kvstore {
namespace {

constexpr auto kDeadline = std::chrono::seconds(60);

}  // namespace

std::vector<ShardId> shards_in(const messages::Request& request) {
  if (request.has_init()) return {shard_of(request.init())};
  if (request.has_push()) return {shard_of(request.push())};
  if (request.has_pull()) return {shard_of(request.pull())};
  std::vector<ShardId> shards;
  for (const messages::Push& push : request.pushes().items()) shards.push_back(shard_of(push));
  for (const messages::Pull& pull : request.pulls().items()) shards.push_back(shard_of(pull));
  return shards;
}

Place::Place(const ServerParts& given, size_t number, Snapshots& on_disk,
             std::function<void(int64_t round)> on_cut)
    : server(given), group(number), snapshots(on_disk), shards(new_group()), on_cut_(std::move(on_cut)) {}

std::unique_ptr<ShardGroup> Place::new_group() {
  return std::make_unique<ShardGroup>(
      server.runtime, server.code,
      [this, weak = std::weak_ptr(server.link)] {  // this lives while the endpoint does
        if (const auto link = weak.lock()) link->post([this] { on_work_done(); });
      });
}

int64_t Place::append(comm::Message entry, const messages::Request& request) {
  const int64_t index = last + 1;
  apply(request, entry.payload, index);
  pass_on(std::move(entry), request);
  return index;
}

void Place::apply(const messages::Request& request, std::span<const comm::Buffer> payload, int64_t index) {
  if (request.has_pushes()) {
    const std::vector<comm::Buffer> parts = parts_of(request.pushes(), payload);
    for (size_t i = 0; i < parts.size(); ++i)
      apply_push(request, request.pushes().items(static_cast<int>(i)), parts[i], index);
  } else if (request.has_push()) {
    apply_push(request, request.push(), only_part(payload), index);
  } else {
    shards->apply(request, payload);
    take_cut(index);
    (request.has_init() ? shard_changed_[shard_of(request.init())] : all_changed_) = index;
  }
}

void Place::apply_push(const messages::Request& request, const messages::Push& push,
                       const comm::Buffer& bytes, int64_t index) {
  shards->push(request, push, bytes);
  take_cut(index);
  shard_changed_[shard_of(push)] = index;
}

void Place::take_cut(int64_t index) {
  if (auto cut = shards->take_cut()) keep_snapshot(index, std::move(*cut), true);
}

int64_t Place::changed_at(const ShardId& shard) const {
  const auto found = shard_changed_.find(shard);
  return std::max(all_changed_, found == shard_changed_.end() ? 0 : found->second);
}

void Place::when_committed(int64_t index, comm::Responder&& responder, Answer answer) {
  if (!answer) answer = [](comm::Responder&& who) { who.reply({}); };
  if (index <= committed_) return answer(std::move(responder));
  when_committed_[index].push_back({std::move(responder), std::move(answer)});
}

void Place::commit_up_to(int64_t index) {
  committed_ = std::max(committed_, index);
  while (!when_committed_.empty() && when_committed_.begin()->first <= committed_) {
    std::vector<Pending> list = std::move(when_committed_.begin()->second);
    when_committed_.erase(when_committed_.begin());
    for (Pending& pending : list) pending.answer(std::move(pending.responder));
  }
}

void Place::on_cut_elsewhere(int64_t round) {
  if (!is_head() || snapshots.every() == 0) return;
  if (auto picture = shards->picture_if_never_pushed())
    keep_snapshot(last, {round, std::move(*picture)}, false);
}

// It is written when all that is in it is committed: what the next head does not have must not be on disk.
void Place::keep_snapshot(int64_t index, ShardGroup::Cut cut, bool others_may_have_none) {
  const auto kept = std::make_shared<ShardGroup::Cut>(std::move(cut));
  when_committed(index, {}, [this, kept, others_may_have_none](comm::Responder&&) {
    if (position != 0) return;
    snapshots.write(group, view.number / kEpoch, kept->round, std::move(kept->picture));
    if (others_may_have_none) on_cut_(kept->round);
  });
}

void Place::forget() {
  has_state = false;
  shards = new_group();
  last = committed_ = all_changed_ = 0;
  shard_changed_.clear();
  for (auto& [index, list] : std::exchange(when_committed_, {})) {
    for (Pending& pending : list) refuse_as_no_head(pending.responder);
  }
}

void Place::take_over(int64_t index, std::unique_ptr<ShardGroup> state) {
  shards = std::move(state);
  has_state = true;
  last = all_changed_ = index;
  shard_changed_.clear();
}

messages::InChain chain_message(const View& view, size_t group) {
  messages::InChain message;
  message.set_view(view.number);
  message.set_group(static_cast<uint32_t>(group));
  return message;
}

comm::RequestOptions Place::chain_options() const {
  comm::RequestOptions options;
  options.deadline = kDeadline;
  options.retry_after = server.options.retry_after;
  return options;
}

}  // namespace loomix::kvstore
