// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/place.h"

#include <algorithm>

#include "kvstore/cluster/batch.h"

namespace loomix::kvstore {
namespace {

constexpr auto kDeadline = std::chrono::seconds(60);

}  // namespace

bool concerns_one_shard(const comm::Message& message) {
  return message.command == kInit || message.command == kPush || message.command == kPull ||
         message.command == kPullRows;
}

ShardId shard_of(const comm::Message& message) {
  if (message.texts.empty() || message.fields.size() < 5) return {};
  return {message.texts[0], message.fields[4]};
}

Place::Place(const ServerParts& given, size_t number, Snapshots& on_disk,
             std::function<void(int64_t round)> on_cut)
    : server(given), group(number), snapshots(on_disk), shards(new_group()), on_cut_(std::move(on_cut)) {}

std::unique_ptr<ShardGroup> Place::new_group() {
  return std::make_unique<ShardGroup>(
      server.runtime, server.code,
      [this, weak = std::weak_ptr(server.link)] {  // this lives while the endpoint does
        const auto link = weak.lock();
        if (!link) return;
        const std::lock_guard lock(link->mutex);
        if (link->endpoint) link->endpoint->post([this] { on_work_done(); });
      });
}

int64_t Place::append(comm::Message entry) {
  const int64_t index = last + 1;
  if (entry.command == kPushes) {
    const std::vector<comm::Message> pushes = items_of(entry);
    for (const comm::Message& push : pushes) apply(push, index);
    pass_on(std::move(entry), pushes);
  } else {
    apply(entry, index);
    const comm::Message applied = entry;
    pass_on(std::move(entry), {&applied, 1});
  }
  return index;
}

void Place::apply(const comm::Message& message, int64_t index) {
  shards->apply(message);
  if (auto cut = shards->take_cut()) keep_snapshot(index, std::move(*cut), true);
  (concerns_one_shard(message) ? shard_changed_[shard_of(message)] : all_changed_) = index;
}

int64_t Place::changed_at(const comm::Message& pull) const {
  const auto found = shard_changed_.find(shard_of(pull));
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

comm::Message Place::chain_message(Command command, int64_t index) const {
  comm::Message message;
  message.command = command;
  message.fields = {view.number, static_cast<int64_t>(group), index};
  return message;
}

comm::RequestOptions Place::chain_options() const {
  comm::RequestOptions options;
  options.deadline = kDeadline;
  options.retry_after = server.options.retry_after;
  return options;
}

}  // namespace loomix::kvstore
