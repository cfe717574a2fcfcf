// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/head.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "kvstore/cluster/pull_answer.h"

namespace loomix::kvstore {
namespace {

// At most: workers that push their keys in different orders may wait for each other's next pushes.
constexpr auto kHoldBack = std::chrono::seconds(10);

}  // namespace

Head::Head(Place& place, NormExchange::Ask ask_for_squares)
    : place_(place),
      hold_back_(std::min<comm::Duration>(kHoldBack, place.server.options.deadline / 4)),
      norms_(place, std::move(ask_for_squares)) {}

// ---- views ------------------------------------------------------------------------------------------------------

void Head::on_view() {
  if (place_.position != 0) refuse_all();
  const auto is_gone = [&](const Received<messages::Request>& request) {
    const comm::NodeId& from = request.incoming.from;
    const auto rank = static_cast<size_t>(from.name.rank);
    const std::vector<Member>& workers = place_.view.workers;
    return rank >= workers.size() || workers[rank].id.incarnation != from.incarnation;
  };
  for (auto& [shard, list] : waiting_) std::erase_if(list, is_gone);
  std::erase_if(waiting_batches_,
                [&](const auto& entry) { return entry.second->answered || is_gone(entry.second->request); });
  place_.shards->take_cuts(place_.is_head() ? place_.snapshots.every() : 0);
  if (place_.is_head()) leave_out_the_dead();
  norms_.on_view();
}

void Head::refuse_all() {
  for (auto& [shard, list] : std::exchange(waiting_, {})) {
    for (Received<messages::Request>& request : list) refuse_as_no_head(request.incoming.responder);
  }
  for (auto& [shard, batch] : std::exchange(waiting_batches_, {})) {
    if (!std::exchange(batch->answered, true)) refuse_as_no_head(batch->request.incoming.responder);
  }
}

void Head::leave_out_the_dead() {
  if (place_.view.policy != DeadWorker::go_on) return;
  for (size_t rank = 0; rank < place_.view.workers.size(); ++rank) {
    const Member& worker = place_.view.workers[rank];
    const int64_t life = place_.shards->life_of(rank);
    if (life == 0 || (worker.up && life == worker.since)) continue;
    messages::Request leave;
    leave.set_view(place_.view.number);
    leave.set_group(static_cast<uint32_t>(place_.group));
    leave.set_worker(static_cast<uint32_t>(rank));
    leave.set_life(life);
    leave.mutable_leave();
    place_.append(encode(leave), leave);
  }
}

// Whoever waits for a key's first value may ask for parts that it does not have.
void Head::on_applied(const messages::Request& entry) {
  wake(entry.has_init() ? waiting_of(entry.init().key()) : shards_in(entry));
  release_held_back(false);
  norms_.on_applied();
}

size_t Head::waiting() const {
  size_t requests = waiting_batches_.size();
  for (const auto& [shard, list] : waiting_) requests += list.size();
  return requests;
}

std::vector<ShardId> Head::waiting_of(const std::string& key) const {
  std::vector<ShardId> shards = {{key, 0}};
  const auto add = [&](const auto& waiting) {
    for (auto one = waiting.lower_bound({key, 0}); one != waiting.end() && one->first.first == key; ++one) {
      if (shards.back() != one->first) shards.push_back(one->first);
    }
  };
  add(waiting_);
  add(waiting_batches_);
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  return shards;
}

// Empty if it is nobody, or one that is not there: such a wait ends by the deadline of those who do not answer.
std::string Head::who_is_late(const messages::Request& request) const {
  const auto of = [&](const ShardId& shard, int64_t number) -> std::string {
    const ShardGroup::Awaited awaited = place_.shards->awaited(request, shard, number);
    const auto is_there = [this](size_t rank) {
      return rank < place_.view.workers.size() && place_.view.workers[rank].up;
    };
    if (awaited.workers.empty() || !std::all_of(awaited.workers.begin(), awaited.workers.end(), is_there))
      return {};
    const bool one = awaited.workers.size() == 1;
    return fmt::format("worker{} {}, which {} not {}", one ? "" : "s", fmt::join(awaited.workers, ", "),
                       one ? "has" : "have", awaited.what);
  };
  if (request.has_push()) return of(shard_of(request.push()), 0);
  if (request.has_pull()) return of(shard_of(request.pull()), request.pull().number());
  for (const messages::Pull& pull : request.pulls().items()) {
    if (std::string late = of(shard_of(pull), pull.number()); !late.empty()) return late;
  }
  return {};
}

void Head::tell_who_is_late() {
  const auto tell = [this](Received<messages::Request>& request) {
    if (std::string late = who_is_late(request.what); !late.empty())
      request.incoming.responder.waits(std::move(late));
  };
  for (auto& [shard, list] : waiting_) {
    for (Received<messages::Request>& request : list) tell(request);
  }
  std::set<const PullBatch*> told;  // it waits for several shards
  for (auto& [shard, batch] : waiting_batches_) {
    if (!batch->answered && told.insert(batch.get()).second) tell(batch->request);
  }
}

// ---- workers ----------------------------------------------------------------------------------------------------

void Head::take(Received<messages::Request>&& request) {
  if (!place_.is_head()) return refuse_as_no_head(request.incoming.responder);
  submit(std::move(request));
}

void Head::submit(Received<messages::Request>&& request) {
  comm::Responder& responder = request.incoming.responder;
  const comm::NodeId& from = request.incoming.from;
  const uint32_t rank = request.what.worker();
  if (static_cast<int64_t>(rank) != from.name.rank || rank >= place_.view.workers.size() ||
      request.what.has_leave() || request.what.has_norm())
    return responder.fail("the message is not what a worker says for itself.");
  const Member& worker = place_.view.workers[rank];
  const bool left_out = !worker.up && place_.view.policy == DeadWorker::go_on;
  if (worker.id.incarnation != from.incarnation || worker.since != request.what.life() || left_out) {
    return responder.fail(
        fmt::format("{} was left out of the cluster, or started again since.", worker.id.name.to_string()),
        kLeftOut);
  }
  try {
    switch (request.what.what_case()) {
      case messages::Request::kPull: return answer_pull(std::move(request));
      case messages::Request::kPushes: return take_pushes(std::move(request));
      case messages::Request::kPulls: return take_pulls(std::move(request));
      default: add_entry(std::move(request));
    }
  } catch (const Error& error) {
    if (responder) responder.fail(error.what());
  }
}

void Head::add_entry(Received<messages::Request>&& request) {
  comm::Message& message = request.incoming.message;
  comm::Responder& responder = request.incoming.responder;
  const ShardGroup::Check check = place_.shards->check(request.what, message.payload);
  switch (check.verdict) {
    case ShardGroup::Verdict::refuse: return responder.fail(check.reason, check.code);
    case ShardGroup::Verdict::early: return wait_for_shard(std::move(request));
    case ShardGroup::Verdict::again: return place_.when_committed(place_.last, std::move(responder));
    case ShardGroup::Verdict::apply: break;
  }
  const int64_t index = place_.append(std::move(message), request.what);
  if (request.what.has_join()) {
    const messages::KnownShards known = place_.shards->known_of(request.what.worker());
    return place_.when_committed(index, std::move(responder),
                                 [bytes = bytes_of(known)](comm::Responder&& asker) {
                                   comm::Message answer;
                                   answer.payload = {bytes};
                                   asker.reply(std::move(answer));
                                 });
  }
  if (!request.what.has_push()) return place_.when_committed(index, std::move(responder));
  const messages::Push& push = request.what.push();
  const auto held = std::make_shared<HeldBack>(
      HeldBack{shard_of(push), request.what.worker(), push.number(), comm::Clock::now() + hold_back_, {}});
  place_.when_committed(index, std::move(responder), [this, held](comm::Responder&& asker) {
    held->responder = std::move(asker);
    acknowledge_push(std::move(*held));
  });
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
void Head::answer_pull(Received<messages::Request>&& request) {
  const messages::Pull& pull = request.what.pull();
  if (auto why = place_.shards->unlike(pull.key(), pull.like()))
    return request.incoming.responder.fail(std::move(*why), kUnlike);
  const std::optional<NDArray> array = place_.shards->find(request.what, pull);
  if (!array) return wait_for_shard(std::move(request));
  Runtime& runtime = place_.server.runtime;
  const auto answer =
      answer_of(runtime.engine(), pull.row() == 0 ? *array : rows_of(runtime, request, *array));
  place_.when_committed(
      place_.changed_at(shard_of(pull)), std::move(request.incoming.responder),
      [answer](comm::Responder&& responder) { send_when_there(answer, std::move(responder)); });
}

void Head::wait_for_shard(Received<messages::Request>&& request) {
  const ShardId shard = shards_in(request.what).front();
  waiting_[shard].push_back(std::move(request));
}

void Head::wake(const std::vector<ShardId>& shards) {
  if (shards.empty()) return wake_all();
  const bool idle = due_.empty();
  for (const ShardId& shard : shards) {
    const auto [from, to] = waiting_batches_.equal_range(shard);
    for (auto one = from; one != to; ++one) {
      if (!one->second->answered) due_.emplace_back(shard, one->second);
    }
    waiting_batches_.erase(from, to);
  }
  if (idle && !due_.empty()) place_.server.endpoint.post([this] { answer_due(); });
  for (const ShardId& shard : shards) {
    const auto found = waiting_.find(shard);
    if (found == waiting_.end()) continue;
    std::vector<Received<messages::Request>> list = std::move(found->second);
    waiting_.erase(found);
    for (Received<messages::Request>& request : list) submit(std::move(request));
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
    for (Received<messages::Request>& request : list) submit(std::move(request));
  }
}

}  // namespace loomix::kvstore
