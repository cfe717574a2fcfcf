// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/head.h"

#include <algorithm>

#include "base/error.h"
#include "kvstore/cluster/batch.h"
#include "kvstore/cluster/pull_answer.h"
#include "kvstore/cluster/state_pieces.h"

namespace loomix::kvstore {
namespace {

// At most: workers that push their keys in different orders may wait for each other's next pushes.
constexpr auto kHoldBack = std::chrono::seconds(10);

}  // namespace

Head::Head(Place& place)
    : place_(place), hold_back_(std::min<comm::Duration>(kHoldBack, place.server.options.deadline / 4)) {}

// ---- views ------------------------------------------------------------------------------------------------------

void Head::on_view() {
  if (place_.position != 0) refuse_all();
  const auto is_gone = [&](const comm::Incoming& incoming) {
    const auto rank = static_cast<size_t>(incoming.from.name.rank);
    const std::vector<Member>& workers = place_.view.workers;
    return rank >= workers.size() || workers[rank].id.incarnation != incoming.from.incarnation;
  };
  for (auto& [shard, list] : waiting_) std::erase_if(list, is_gone);
  std::erase_if(waiting_batches_,
                [&](const auto& entry) { return entry.second->answered || is_gone(entry.second->incoming); });
  place_.shards->take_cuts(place_.is_head() ? place_.snapshots.every() : 0);
  if (place_.is_head()) leave_out_the_dead();
}

void Head::refuse_all() {
  for (auto& [shard, list] : std::exchange(waiting_, {})) {
    for (comm::Incoming& incoming : list) refuse_as_no_head(incoming.responder);
  }
  for (auto& [shard, batch] : std::exchange(waiting_batches_, {})) {
    if (!std::exchange(batch->answered, true)) refuse_as_no_head(batch->incoming.responder);
  }
}

void Head::leave_out_the_dead() {
  if (place_.view.policy != DeadWorker::go_on) return;
  for (size_t rank = 0; rank < place_.view.workers.size(); ++rank) {
    const Member& worker = place_.view.workers[rank];
    const int64_t life = place_.shards->life_of(rank);
    if (life == 0 || (worker.up && life == worker.since)) continue;
    comm::Message leave;
    leave.command = kLeave;
    leave.fields = {place_.view.number, static_cast<int64_t>(place_.group), static_cast<int64_t>(rank), life};
    place_.append(std::move(leave));
  }
}

void Head::on_applied(std::span<const comm::Message> applied) {
  wake(applied);
  release_held_back(false);
}

size_t Head::waiting() const {
  size_t requests = waiting_batches_.size();
  for (const auto& [shard, list] : waiting_) requests += list.size();
  return requests;
}

// ---- workers ----------------------------------------------------------------------------------------------------

void Head::on_worker(comm::Incoming&& incoming) {
  if (!place_.is_head()) return refuse_as_no_head(incoming.responder);
  submit(std::move(incoming));
}

void Head::submit(comm::Incoming&& incoming) {
  const std::vector<int64_t>& fields = incoming.message.fields;
  if (incoming.message.command < kJoin || incoming.message.command > kSetOptimizer || fields.size() < 4 ||
      fields[2] != incoming.from.name.rank || static_cast<size_t>(fields[2]) >= place_.view.workers.size())
    return incoming.responder.fail("the message is not what a worker says for itself.");
  const Member& worker = place_.view.workers[static_cast<size_t>(fields[2])];
  const bool left_out = !worker.up && place_.view.policy == DeadWorker::go_on;
  if (worker.id.incarnation != incoming.from.incarnation || worker.since != fields[3] || left_out) {
    return incoming.responder.fail(
        fmt::format("{} was left out of the cluster, or started again since.", worker.id.name.to_string()),
        kLeftOut);
  }
  try {
    if (incoming.message.command == kPull || incoming.message.command == kPullRows)
      return answer_pull(std::move(incoming));
    if (incoming.message.command == kPushes) return take_pushes(std::move(incoming));
    if (incoming.message.command == kPulls) return take_pulls(std::move(incoming));
    const ShardGroup::Check check = place_.shards->check(incoming.message);
    switch (check.verdict) {
      case ShardGroup::Verdict::refuse: return incoming.responder.fail(check.reason);
      case ShardGroup::Verdict::early: return wait_for_shard(std::move(incoming));
      case ShardGroup::Verdict::again:
        return place_.when_committed(place_.last, std::move(incoming.responder));
      case ShardGroup::Verdict::apply: break;
    }
    const bool joins = incoming.message.command == kJoin;
    const int32_t rank = worker.id.name.rank;
    if (incoming.message.command == kPush) {
      const auto push = std::make_shared<HeldBack>(HeldBack{shard_of(incoming.message),
                                                            static_cast<size_t>(rank),
                                                            fields[5],
                                                            comm::Clock::now() + hold_back_,
                                                            {}});
      const int64_t index = place_.append(std::move(incoming.message));
      return place_.when_committed(index, std::move(incoming.responder),
                                   [this, push](comm::Responder&& responder) {
                                     push->responder = std::move(responder);
                                     acknowledge_push(std::move(*push));
                                   });
    }
    const int64_t index = place_.append(std::move(incoming.message));
    if (!joins) return place_.when_committed(index, std::move(incoming.responder));
    place_.when_committed(index, std::move(incoming.responder),
                          [known = pack_head(place_.shards->known_of(rank))](comm::Responder&& responder) {
                            comm::Message answer;
                            answer.payload = {known};
                            responder.reply(std::move(answer));
                          });
  } catch (const Error& error) {
    incoming.responder.fail(error.what());
  }
}

// Back pressure: a worker has few pushes without an answer on the way, so who is not answered sends no more. While too many pushes are
// kept since those of smaller ranks have to be added before them, it is those who sent such ones; the others' are answered, so these
// come. While the engine is late, it is all.
void Head::acknowledge_push(HeldBack&& push) {
  if (!must_wait(push)) return push.responder.reply({});
  place_.server.endpoint.after(push.until - comm::Clock::now(), [this] { release_held_back(false); });
  held_back_.push_back(std::move(push));
}

bool Head::must_wait(const HeldBack& push) const {
  return comm::Clock::now() < push.until && place_.shards->must_wait(push.shard, push.worker, push.number);
}

void Head::release_held_back(bool all) {
  std::erase_if(held_back_, [&](HeldBack& push) {
    if (!all && must_wait(push)) return false;
    push.responder.reply({});
    return true;
  });
}

// A value waits for its own entries only: those of other shards that came later may still be on their way along the chain.
void Head::answer_pull(comm::Incoming&& incoming) {
  const std::optional<NDArray> array = place_.shards->find(incoming.message);
  if (!array) return wait_for_shard(std::move(incoming));
  const auto answer = answer_of(
      place_.server.runtime.engine(),
      incoming.message.command == kPull ? *array : rows_of(place_.server.runtime, incoming.message, *array));
  place_.when_committed(
      place_.changed_at(incoming.message), std::move(incoming.responder),
      [answer](comm::Responder&& responder) { send_when_there(answer, std::move(responder)); });
}

void Head::wait_for_shard(comm::Incoming&& incoming) {
  waiting_[shard_of(incoming.message)].push_back(std::move(incoming));
}

void Head::wake(std::span<const comm::Message> applied) {
  for (const comm::Message& message : applied) {
    if (!concerns_one_shard(message)) return wake_all();
  }
  const bool idle = due_.empty();
  for (const comm::Message& message : applied) {
    const ShardId shard = shard_of(message);
    const auto [from, to] = waiting_batches_.equal_range(shard);
    for (auto one = from; one != to; ++one) {
      if (!one->second->answered) due_.emplace_back(shard, one->second);
    }
    waiting_batches_.erase(from, to);
  }
  if (idle && !due_.empty()) place_.server.endpoint.post([this] { answer_due(); });
  for (const comm::Message& message : applied) {
    const auto found = waiting_.find(shard_of(message));
    if (found == waiting_.end()) continue;
    std::vector<comm::Incoming> list = std::move(found->second);
    waiting_.erase(found);
    for (comm::Incoming& incoming : list) submit(std::move(incoming));
  }
}

void Head::wake_all() {
  const bool idle = due_.empty();
  for (auto& [shard, batch] : std::exchange(waiting_batches_, {})) {
    if (!batch->answered) due_.emplace_back(shard, std::move(batch));
  }
  if (idle && !due_.empty()) place_.server.endpoint.post([this] { answer_due(); });
  auto all = std::exchange(waiting_, {});
  for (auto& [shard, list] : all) {
    for (comm::Incoming& incoming : list) submit(std::move(incoming));
  }
}

}  // namespace loomix::kvstore
