// SPDX-License-Identifier: Apache-2.0
//
// Chain replication (van Renesse and Schneider, 2004) of a state machine. Why no acknowledged entry is lost: a place answers
// `append` only when all places behind it that count have the entry, so what the head has acknowledged is everywhere in the chain.
// The scheduler takes places out and puts new ones at the end, never the last one that is synchronised. After each new view a place
// asks the one behind for its last index and sends what is missing, or all of it (replica_chain.cc, replica_copy.cc), and meanwhile
// serves without it; replica_chain.cc says from when on a new place counts. Why no entry is applied twice: places
// apply by index, and what a worker sends again is known by its number. Why an old head does no harm: messages along the chain
// carry the number of the view, and other numbers than the receiver's are refused or wait for that view; so what an old
// head takes in is never committed, unless the scheduler has never put anybody in its place.
#include "kvstore/dist/replica.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "kvstore/dist/batch.h"
#include "kvstore/dist/pull_answer.h"

namespace loomix::kvstore {
namespace {

// At most: workers that push their keys in different orders may wait for each other's next pushes.
constexpr auto kHoldBack = std::chrono::seconds(10);

bool concerns_one_shard(const comm::Message& message) {
  return message.command == kInit || message.command == kPush || message.command == kPull ||
         message.command == kPullRows;
}

}  // namespace

Replica::ShardId Replica::shard_of(const comm::Message& message) {
  if (message.texts.empty() || message.fields.size() < 5) return {};
  return {message.texts[0], message.fields[4]};
}

Replica::Replica(Runtime& runtime, comm::Endpoint& endpoint, std::shared_ptr<ServerLink> link, int32_t server,
                 size_t group, const NodeOptions& options, Snapshots& snapshots,
                 std::function<void(int64_t round)> on_cut, CodeOptimizerMaker code)
    : runtime_(runtime),
      link_(std::move(link)),
      endpoint_(endpoint),
      server_(server),
      group_(group),
      retry_after_(options.retry_after),
      hold_back_(std::min<comm::Duration>(kHoldBack, options.deadline / 4)),
      piece_limits_(PieceLimits::within(options.endpoint.limits)),
      snapshots_(snapshots),
      on_cut_(std::move(on_cut)),
      code_(std::move(code)),
      shards_(std::make_unique<ShardGroup>(runtime, code_)) {}

// ---- views ------------------------------------------------------------------------------------------------------

void Replica::on_view(const View& view) {
  view_ = view;
  position_ = view.position(group_, server_);
  ahead_.clear();
  if (coming_) coming_->ahead.clear();
  const Chain& chain = view.chains[group_];
  if (position_ >= 0) {
    const Link& own = chain[static_cast<size_t>(position_)];
    if (own.since != since_) {
      forget_state();
      since_ = own.since;
      has_state_ = own.synchronised;
      if (has_state_) begin_with_snapshot();
    }
  }
  follow_successor();
  if (position_ != 0) {
    for (auto& [shard, list] : waiting_) {
      for (comm::Incoming& incoming : list) refuse_as_no_head(incoming.responder);
    }
    waiting_.clear();
    for (auto& [shard, batch] : std::exchange(waiting_batches_, {})) {
      if (!std::exchange(batch->answered, true)) refuse_as_no_head(batch->incoming.responder);
    }
  }
  if (position_ < 0) {
    forget_state();
  } else if (has_state_) {
    if (successor_) greet_successor();
    commit();
  }
  const auto is_gone = [&](const comm::Incoming& incoming) {
    const auto rank = static_cast<size_t>(incoming.from.name.rank);
    return rank >= view.workers.size() || view.workers[rank].id.incarnation != incoming.from.incarnation;
  };
  for (auto& [shard, list] : waiting_) std::erase_if(list, is_gone);
  std::erase_if(waiting_batches_,
                [&](const auto& entry) { return entry.second->answered || is_gone(entry.second->incoming); });
  shards_->take_cuts(position_ == 0 && has_state_ ? snapshots_.every() : 0);
  if (position_ == 0 && has_state_) leave_out_the_dead();
  std::vector<comm::Incoming> now;
  now.swap(future_);
  for (comm::Incoming& incoming : now) {
    incoming.message.command >= kHello ? on_chain(std::move(incoming)) : on_worker(std::move(incoming));
  }
}

void Replica::forget_state() {
  release_held_back(true);
  since_ = 0;
  copy_.reset();
  coming_.reset();
  has_state_ = false;
  shards_ = std::make_unique<ShardGroup>(runtime_, code_);
  last_ = committed_ = confirmed_ = all_changed_ = counts_since_ = 0;
  shard_changed_.clear();
  log_.clear();
  for (auto& [index, list] : std::exchange(when_committed_, {})) {
    for (Pending& pending : list) refuse_as_no_head(pending.responder);
  }
}

// Only places of a cluster's first view have their state without anybody giving it to them.
void Replica::begin_with_snapshot() {
  if (const std::optional<comm::Message> state = snapshots_.first_state(group_)) shards_->load(*state);
}

void Replica::on_cut_elsewhere(int64_t round) {
  if (position_ != 0 || !has_state_ || snapshots_.every() == 0) return;
  if (auto picture = shards_->picture_if_never_pushed())
    keep_snapshot(last_, {round, std::move(*picture)}, false);
}

// It is written when all that is in it is committed: what the next head does not have must not be on disk.
void Replica::keep_snapshot(int64_t index, ShardGroup::Cut cut, bool others_may_have_none) {
  const auto kept = std::make_shared<ShardGroup::Cut>(std::move(cut));
  when_committed(index, {}, [this, kept, others_may_have_none](comm::Responder&&) {
    if (position_ != 0) return;
    snapshots_.write(group_, view_.number / kEpoch, kept->round, std::move(kept->picture));
    if (others_may_have_none) on_cut_(kept->round);
  });
}

void Replica::leave_out_the_dead() {
  if (view_.policy != DeadWorker::go_on) return;
  for (size_t rank = 0; rank < view_.workers.size(); ++rank) {
    const Member& worker = view_.workers[rank];
    const int64_t life = shards_->life_of(rank);
    if (life == 0 || (worker.up && life == worker.since)) continue;
    comm::Message leave;
    leave.command = kLeave;
    leave.fields = {view_.number, static_cast<int64_t>(group_), static_cast<int64_t>(rank), life};
    append(std::move(leave));
  }
}

// Keeps a message of a view that has not come yet.
bool Replica::must_wait(const comm::Incoming& incoming) {
  return incoming.message.fields.size() >= 2 && incoming.message.fields[0] > view_.number;
}

// ---- workers ----------------------------------------------------------------------------------------------------

GroupNumbers Replica::numbers() const {
  GroupNumbers numbers;
  numbers.group = group_;
  numbers.place = position_;
  numbers.unconfirmed = log_.size();
  for (const auto& [shard, requests] : waiting_) numbers.waiting += requests.size();
  numbers.waiting += waiting_batches_.size();
  if (shards_) shards_->count(numbers);
  return numbers;
}

void Replica::on_worker(comm::Incoming&& incoming) {
  if (must_wait(incoming)) return future_.push_back(std::move(incoming));
  if (position_ != 0 || !has_state_) return refuse_as_no_head(incoming.responder);
  submit(std::move(incoming));
}

void Replica::submit(comm::Incoming&& incoming) {
  const std::vector<int64_t>& fields = incoming.message.fields;
  if (incoming.message.command < kJoin || incoming.message.command > kSetOptimizer || fields.size() < 4 ||
      fields[2] != incoming.from.name.rank || static_cast<size_t>(fields[2]) >= view_.workers.size())
    return incoming.responder.fail("the message is not what a worker says for itself.");
  const Member& worker = view_.workers[static_cast<size_t>(fields[2])];
  const bool left_out = !worker.up && view_.policy == DeadWorker::go_on;
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
    const ShardGroup::Check check = shards_->check(incoming.message);
    switch (check.verdict) {
      case ShardGroup::Verdict::refuse: return incoming.responder.fail(check.reason);
      case ShardGroup::Verdict::early: return wait_for_shard(std::move(incoming));
      case ShardGroup::Verdict::again: return when_committed(last_, std::move(incoming.responder));
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
      const int64_t index = append(std::move(incoming.message));
      return when_committed(index, std::move(incoming.responder), [this, push](comm::Responder&& responder) {
        push->responder = std::move(responder);
        acknowledge_push(std::move(*push));
      });
    }
    const int64_t index = append(std::move(incoming.message));
    if (!joins) return when_committed(index, std::move(incoming.responder));
    when_committed(index, std::move(incoming.responder),
                   [known = pack_head(shards_->known_of(rank))](comm::Responder&& responder) {
                     comm::Message answer;
                     answer.payload = {known};
                     responder.reply(std::move(answer));
                   });
  } catch (const Error& error) {
    incoming.responder.fail(error.what());
  }
}

// Back pressure: a worker has few pushes without an answer on the way. So while many pushes are kept since those of smaller ranks have to
// be added before them, who sends such pushes waits. The others' are answered, so these come.
void Replica::acknowledge_push(HeldBack&& push) {
  const bool wait = shards_->held_bytes() > shards_->held_limit() &&
                    shards_->holds(push.shard, push.worker, push.number) && comm::Clock::now() < push.until;
  if (!wait) return push.responder.reply({});
  endpoint_.after(push.until - comm::Clock::now(), [this] { release_held_back(false); });
  held_back_.push_back(std::move(push));
}

void Replica::release_held_back(bool all) {
  if (held_back_.empty()) return;
  const comm::TimePoint now = comm::Clock::now();
  const bool room = all || shards_->held_bytes() <= shards_->held_limit();
  std::erase_if(held_back_, [&](HeldBack& push) {
    if (!room && now < push.until && shards_->holds(push.shard, push.worker, push.number)) return false;
    push.responder.reply({});
    return true;
  });
}

int64_t Replica::changed_at(const comm::Message& pull) const {
  const auto found = shard_changed_.find(shard_of(pull));
  return std::max(all_changed_, found == shard_changed_.end() ? 0 : found->second);
}

// A value waits for its own entries only: those of other shards that came later may still be on their way along the chain.
void Replica::answer_pull(comm::Incoming&& incoming) {
  const std::optional<NDArray> array = shards_->find(incoming.message);
  if (!array) return wait_for_shard(std::move(incoming));
  const auto answer =
      answer_of(runtime_.engine(),
                incoming.message.command == kPull ? *array : rows_of(runtime_, incoming.message, *array));
  when_committed(changed_at(incoming.message), std::move(incoming.responder),
                 [answer](comm::Responder&& responder) { send_when_there(answer, std::move(responder)); });
}

void Replica::wait_for_shard(comm::Incoming&& incoming) {
  waiting_[shard_of(incoming.message)].push_back(std::move(incoming));
}

void Replica::wake(std::span<const comm::Message> applied) {
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
  if (idle && !due_.empty()) endpoint_.post([this] { answer_due(); });
  for (const comm::Message& message : applied) {
    const auto found = waiting_.find(shard_of(message));
    if (found == waiting_.end()) continue;
    std::vector<comm::Incoming> list = std::move(found->second);
    waiting_.erase(found);
    for (comm::Incoming& incoming : list) submit(std::move(incoming));
  }
}

void Replica::wake_all() {
  const bool idle = due_.empty();
  for (auto& [shard, batch] : std::exchange(waiting_batches_, {})) {
    if (!batch->answered) due_.emplace_back(shard, std::move(batch));
  }
  if (idle && !due_.empty()) endpoint_.post([this] { answer_due(); });
  auto all = std::exchange(waiting_, {});
  for (auto& [shard, list] : all) {
    for (comm::Incoming& incoming : list) submit(std::move(incoming));
  }
}

int64_t Replica::append(comm::Message message) {
  const int64_t index = last_ + 1;
  if (message.command == kPushes) {
    const std::vector<comm::Message> pushes = items_of(message);
    for (const comm::Message& push : pushes) apply(push, index);
    pass_on(std::move(message), pushes);
  } else {
    apply(message, index);
    const comm::Message applied = message;
    pass_on(std::move(message), {&applied, 1});
  }
  return index;
}

void Replica::apply(const comm::Message& message, int64_t index) {
  shards_->apply(message);
  if (auto cut = shards_->take_cut()) keep_snapshot(index, std::move(*cut), true);
  (concerns_one_shard(message) ? shard_changed_[shard_of(message)] : all_changed_) = index;
}

// The entry after the last one, which was applied.
void Replica::pass_on(comm::Message entry, std::span<const comm::Message> applied) {
  const int64_t index = ++last_;
  if (successor_) {
    if (!successor_counts()) {  // who sent it may wait for its memory, and this may take long
      for (comm::Buffer& part : entry.payload) part = comm::Buffer::copy_of(part.bytes());
    }
    log_.add(index, std::move(entry));
    send_entries();
  }
  commit();
  wake(applied);
  release_held_back(false);
}

void Replica::when_committed(int64_t index, comm::Responder&& responder, Answer answer) {
  if (!answer) answer = [](comm::Responder&& who) { who.reply({}); };
  if (index <= committed_) return answer(std::move(responder));
  when_committed_[index].push_back({std::move(responder), std::move(answer)});
}

// Tells all that may be told now.
void Replica::commit() {
  if (successor_ && successor_counts()) {
    committed_ = std::max(committed_, confirmed_);
  } else if (!successor_ || log_.bytes() <= allowance_) {
    committed_ = last_;
  }
  while (!when_committed_.empty() && when_committed_.begin()->first <= committed_) {
    std::vector<Pending> list = std::move(when_committed_.begin()->second);
    when_committed_.erase(when_committed_.begin());
    for (Pending& pending : list) pending.answer(std::move(pending.responder));
  }
}

// ---- the chain, from the place before ------------------------------------------------------------------------------

void Replica::on_chain(comm::Incoming&& incoming) {
  if (must_wait(incoming)) return future_.push_back(std::move(incoming));
  const comm::Message& message = incoming.message;
  if (message.fields.size() < 3 || message.fields[0] < view_.number || position_ < 0)
    return incoming.responder.fail("the message is of an earlier view.");
  const int64_t index = message.fields[2];
  try {
    switch (message.command) {
      case kHello: return incoming.responder.reply(what_is_here(incoming.from));
      case kConfirm: return confirm(std::move(incoming));
      case kAppend: return on_append(std::move(incoming));
      case kPiece: return on_piece(std::move(incoming));
      case kCut: incoming.responder.reply({}); return on_cut_elsewhere(index);
      default: incoming.responder.fail("the message is of no known kind.");
    }
  } catch (const Error& error) {
    log(LogLevel::error, "[KVStore] server {} cannot follow in the chain of group {}: {}", server_, group_,
        error.what());
    incoming.responder.fail(error.what());
  }
}

void Replica::on_append(comm::Incoming&& incoming) {
  const int64_t index = incoming.message.fields[2];
  if (!has_state_) return incoming.responder.fail("there is no state yet.");
  if (index > last_ + 1) {
    ahead_.insert_or_assign(index, std::move(incoming));
    return;
  }
  if (index == last_ + 1) {
    comm::Message entry = std::move(incoming.message);
    entry.command = static_cast<uint32_t>(entry.fields.at(3));
    entry.fields.erase(entry.fields.begin(), entry.fields.begin() + 4);
    append(std::move(entry));
  }
  when_committed(index, std::move(incoming.responder));
  const auto next = ahead_.find(last_ + 1);
  if (next == ahead_.end()) return;
  comm::Incoming following = std::move(next->second);
  ahead_.erase(next);
  on_append(std::move(following));
}

void Replica::confirm(comm::Incoming&& incoming) {
  const int64_t index = incoming.message.fields[2];
  if (!has_state_ || position_ == 0)
    return incoming.responder.fail("there is no state yet, or no place before.");
  const Link before = view_.chains[group_][static_cast<size_t>(position_ - 1)];
  when_committed(index, std::move(incoming.responder), [this, before](comm::Responder&& responder) {
    responder.reply({});
    if (position_ > 0 && !view_.chains[group_][static_cast<size_t>(position_)].synchronised) report(before);
  });
}

}  // namespace loomix::kvstore
