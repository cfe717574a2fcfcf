// SPDX-License-Identifier: Apache-2.0
// Small pushes and pulls that came together.
#include <algorithm>

#include "base/error.h"
#include "kvstore/cluster/batch.h"
#include "kvstore/cluster/head.h"
#include "kvstore/cluster/pull_answer.h"

namespace loomix::kvstore {

// One entry for all that may be applied now. The others need answers of their own.
void Head::take_pushes(comm::Incoming&& incoming) {
  std::vector<comm::Message> pushes = items_of(incoming.message);
  comm::Message answer;
  std::vector<comm::Message> applied;
  int64_t index = place_.committed();
  const int64_t next = place_.last + 1;
  for (comm::Message& push : pushes) {
    auto verdict = ShardGroup::Verdict::refuse;
    try {
      verdict = place_.shards->check(push).verdict;
    } catch (const Error&) {  // is for the single push to say
    }
    const bool good = verdict == ShardGroup::Verdict::apply || verdict == ShardGroup::Verdict::again;
    answer.fields.push_back(good ? int64_t{0} : int64_t{kAlone});
    if (verdict == ShardGroup::Verdict::again) index = std::max(index, next - 1);
    if (verdict != ShardGroup::Verdict::apply) continue;
    place_.apply(push, next);
    applied.push_back(std::move(push));
  }
  if (!applied.empty()) {
    index = next;
    comm::Message entry = std::move(incoming.message);
    if (applied.size() < pushes.size()) {
      std::vector<const comm::Message*> some;
      for (const comm::Message& push : applied) some.push_back(&push);
      entry = gather(some);
      join_payload(entry);
    }
    place_.pass_on(std::move(entry), applied);
  }
  place_.when_committed(index, std::move(incoming.responder),
                        [answer = std::make_shared<comm::Message>(std::move(answer))](comm::Responder&& who) {
                          who.reply(std::move(*answer));
                        });
}

// Answered as soon as something can be; what cannot is asked for again.
void Head::take_pulls(comm::Incoming&& incoming) {
  const auto batch = std::make_shared<PullBatch>();
  batch->pulls = items_of(incoming.message);
  batch->incoming = std::move(incoming);
  if (answer_pulls(*batch)) return;
  for (const comm::Message& pull : batch->pulls) waiting_batches_.emplace(shard_of(pull), batch);
}

// False if there is nothing to say yet.
bool Head::answer_pulls(PullBatch& batch) {
  comm::Message answer;
  std::vector<NDArray> values;
  int64_t index = 0;
  size_t bytes = 0;
  for (const comm::Message& pull : batch.pulls) {
    int64_t outcome = kAlone;
    try {
      const std::optional<NDArray> value = place_.shards->find(pull);
      const auto size = value ? static_cast<size_t>(value->bytes()) : 0;
      if (!value) {
        outcome = kNotYet;
      } else if (size <= kSmallItem) {
        outcome = static_cast<int64_t>(size);
        bytes = next_part(bytes) + size;
        index = std::max(index, place_.changed_at(pull));
        values.push_back(*value);
      }
    } catch (const Error&) {  // is for the single pull to say
    }
    answer.fields.push_back(outcome);
  }
  const auto says_nothing = [](int64_t outcome) { return outcome == kNotYet; };
  if (std::all_of(answer.fields.begin(), answer.fields.end(), says_nothing)) return false;
  batch.answered = true;
  const auto sending =
      answer_of_all(place_.server.runtime.engine(), std::move(answer), std::move(values), bytes);
  place_.when_committed(index, std::move(batch.incoming.responder), [sending](comm::Responder&& responder) {
    send_when_there(sending, std::move(responder));
  });
  return true;
}

// After all that came together with what has changed their shards, so that there is more to answer.
void Head::answer_due() {
  for (auto& [shard, batch] : std::exchange(due_, {})) {
    if (batch->answered) continue;
    if (!place_.is_head()) {
      batch->answered = true;
      refuse_as_no_head(batch->incoming.responder);
    } else if (!answer_pulls(*batch)) {
      waiting_batches_.emplace(std::move(shard), std::move(batch));
    }
  }
}

}  // namespace loomix::kvstore
