// SPDX-License-Identifier: Apache-2.0
// Small pushes and pulls that came together.
#include <algorithm>

#include "base/error.h"
#include "kvstore/cluster/batch.h"
#include "kvstore/cluster/head.h"
#include "kvstore/cluster/pull_answer.h"

namespace loomix::kvstore {

// One entry for all that may be applied now. The others need answers of their own.
void Head::take_pushes(Received<messages::Request>&& request) {
  const messages::Pushes& pushes = request.what.pushes();
  const std::vector<comm::Buffer> parts = parts_of(pushes, request.incoming.message.payload);
  messages::Outcomes outcomes;
  messages::Request applied;
  std::vector<comm::Buffer> applied_parts;
  int64_t index = place_.committed();
  const int64_t next = place_.last + 1;
  for (size_t i = 0; i < parts.size(); ++i) {
    const messages::Push& push = pushes.items(static_cast<int>(i));
    auto verdict = ShardGroup::Verdict::refuse;
    try {
      verdict = place_.shards->check(request.what, push, parts[i]).verdict;
    } catch (const Error&) {  // is for the single push to say
    }
    const bool good = verdict == ShardGroup::Verdict::apply || verdict == ShardGroup::Verdict::again;
    outcomes.add_items(good ? int64_t{0} : int64_t{kAlone});
    if (verdict == ShardGroup::Verdict::again) index = std::max(index, next - 1);
    if (verdict != ShardGroup::Verdict::apply) continue;
    place_.apply_push(request.what, push, parts[i], next);
    applied_parts.push_back(parts[i]);
    *applied.mutable_pushes()->add_items() = push;
  }
  if (!applied_parts.empty()) {
    index = next;
    comm::Message entry = std::move(request.incoming.message);
    if (applied_parts.size() < parts.size()) {
      request.what.mutable_pushes()->Swap(applied.mutable_pushes());
      entry = encode(request.what, {join_parts(applied_parts)});
    }
    place_.pass_on(std::move(entry), request.what);
  }
  place_.when_committed(index, std::move(request.incoming.responder),
                        [answer = std::make_shared<comm::Message>(encode(outcomes))](comm::Responder&& who) {
                          who.reply(std::move(*answer));
                        });
}

// Answered as soon as something can be; what cannot is asked for again.
void Head::take_pulls(Received<messages::Request>&& request) {
  in_range("Pulls.items, counted,", request.what.pulls().items_size(), 1, kBatchItems);
  const auto batch = std::make_shared<PullBatch>(PullBatch{std::move(request)});
  if (answer_pulls(*batch)) return;
  for (const ShardId& shard : shards_in(batch->request.what)) waiting_batches_.emplace(shard, batch);
}

// False if there is nothing to say yet.
bool Head::answer_pulls(PullBatch& batch) {
  messages::Outcomes outcomes;
  std::vector<NDArray> values;
  int64_t index = 0;
  size_t bytes = 0;
  for (const messages::Pull& pull : batch.request.what.pulls().items()) {
    int64_t outcome = kAlone;
    try {
      if (place_.shards->unlike(pull.key(), pull.like())) {
        outcomes.add_items(kAlone);
        continue;
      }
      const std::optional<NDArray> value = place_.shards->find(batch.request.what, pull);
      const auto size = value ? static_cast<size_t>(value->bytes()) : 0;
      if (!value) {
        outcome = kNotYet;
      } else if (size <= kSmallItem) {
        outcome = static_cast<int64_t>(size);
        bytes = next_part(bytes) + size;
        index = std::max(index, place_.changed_at(shard_of(pull)));
        values.push_back(*value);
      }
    } catch (const Error&) {  // is for the single pull to say
    }
    outcomes.add_items(outcome);
  }
  const auto says_nothing = [](int64_t outcome) { return outcome == kNotYet; };
  if (std::all_of(outcomes.items().begin(), outcomes.items().end(), says_nothing)) return false;
  batch.answered = true;
  const auto sending =
      answer_of_all(place_.server.runtime.engine(), encode(outcomes), std::move(values), bytes);
  place_.when_committed(
      index, std::move(batch.request.incoming.responder),
      [sending](comm::Responder&& responder) { send_when_there(sending, std::move(responder)); });
  return true;
}

// After all that came together with what has changed their shards, so that there is more to answer.
void Head::answer_due() {
  for (auto& [shard, batch] : std::exchange(due_, {})) {
    if (batch->answered) continue;
    if (!place_.is_head()) {
      batch->answered = true;
      refuse_as_no_head(batch->request.incoming.responder);
    } else if (!answer_pulls(*batch)) {
      waiting_batches_.emplace(std::move(shard), std::move(batch));
    }
  }
}

}  // namespace loomix::kvstore
