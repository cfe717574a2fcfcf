// SPDX-License-Identifier: Apache-2.0
//
// Chain replication (van Renesse and Schneider, 2004) of a state machine. Why no acknowledged entry is lost: a place answers
// `append` only when all places behind it that count have the entry, so what the head has acknowledged is everywhere in the chain.
// The scheduler takes places out and puts new ones at the end, never the last one that is synchronised. After each new view a place
// asks the one behind for its last index and sends what is missing, or all of it (successor.cc, state_copy.cc), and meanwhile
// serves without it; successor.cc says from when on a new place counts. Why no entry is applied twice: places
// apply by index, and what a worker sends again is known by its number. Why an old head does no harm: messages along the chain
// carry the number of the view, and other numbers than the receiver's are refused or wait for that view; so what an old
// head takes in is never committed, unless the scheduler has never put anybody in its place.
#include "kvstore/cluster/replica.h"

#include "base/error.h"
#include "base/log.h"

namespace loomix::kvstore {
namespace {

constexpr comm::NodeName kScheduler{comm::Role::scheduler, 0};

bool is_lost(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const comm::PeerLost&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

Replica::Replica(const ServerParts& server, size_t group, Snapshots& snapshots,
                 std::function<void(int64_t round)> on_cut)
    : place_(server, group, snapshots, std::move(on_cut)),
      head_(place_),
      successor_(place_, [this] { commit(); }),
      copy_(place_, [this] { begin_with_copy(); }) {
  place_.pass_on = [this](comm::Message entry, std::span<const comm::Message> applied) {
    successor_.add(++place_.last, std::move(entry));
    commit();
    head_.on_applied(applied);
  };
  place_.on_work_done = [this] { head_.release_held_back(false); };
}

void Replica::commit() { place_.commit_up_to(successor_.committed()); }

// ---- views ------------------------------------------------------------------------------------------------------

void Replica::on_view(const View& view) {
  place_.view = view;
  place_.position = view.position(place_.group, place_.server.rank);
  ahead_.clear();
  copy_.on_view();
  if (place_.position >= 0) {
    const Link& own = view.chains[place_.group][static_cast<size_t>(place_.position)];
    if (own.since != since_) {
      forget_state();
      since_ = own.since;
      place_.has_state = own.synchronised;
      if (place_.has_state) begin_with_snapshot();
    }
  }
  successor_.on_view();
  if (place_.position < 0) {
    forget_state();
  } else if (place_.has_state) {
    if (successor_.is_there()) successor_.greet();
    commit();
  }
  head_.on_view();
  std::vector<comm::Incoming> now;
  now.swap(future_);
  for (comm::Incoming& incoming : now) {
    incoming.message.command >= kHello ? on_chain(std::move(incoming)) : on_worker(std::move(incoming));
  }
}

void Replica::forget_state() {
  head_.release_held_back(true);
  since_ = 0;
  copy_.forget();
  successor_.forget_state();
  place_.forget();
}

// Only places of a cluster's first view have their state without anybody giving it to them.
void Replica::begin_with_snapshot() {
  const std::optional<comm::Message> state = place_.snapshots.first_state(place_.group);
  if (state) place_.shards->load(*state);
}

void Replica::begin_with_copy() {
  successor_.begin_anew();
  if (successor_.is_there()) successor_.greet();
  commit();
}

// Keeps a message of a view that has not come yet.
bool Replica::must_wait(const comm::Incoming& incoming) const {
  return incoming.message.fields.size() >= 2 && incoming.message.fields[0] > place_.view.number;
}

GroupNumbers Replica::numbers() const {
  GroupNumbers numbers;
  numbers.group = place_.group;
  numbers.place = place_.position;
  numbers.unconfirmed = successor_.unconfirmed();
  numbers.waiting = head_.waiting();
  place_.shards->count(numbers);
  return numbers;
}

void Replica::on_worker(comm::Incoming&& incoming) {
  if (must_wait(incoming)) return future_.push_back(std::move(incoming));
  head_.on_worker(std::move(incoming));
}

// ---- the chain, from the place before ------------------------------------------------------------------------------

void Replica::on_chain(comm::Incoming&& incoming) {
  if (must_wait(incoming)) return future_.push_back(std::move(incoming));
  const comm::Message& message = incoming.message;
  if (message.fields.size() < 3 || message.fields[0] < place_.view.number || place_.position < 0)
    return incoming.responder.fail("the message is of an earlier view.");
  const int64_t index = message.fields[2];
  try {
    switch (message.command) {
      case kHello: return incoming.responder.reply(copy_.what_is_here(incoming.from));
      case kConfirm: return confirm(std::move(incoming));
      case kAppend: return on_append(std::move(incoming));
      case kPiece:
        if (std::optional<comm::Incoming> next = copy_.on_piece(std::move(incoming)))
          on_chain(std::move(*next));
        return;
      case kCut: incoming.responder.reply({}); return place_.on_cut_elsewhere(index);
      default: incoming.responder.fail("the message is of no known kind.");
    }
  } catch (const Error& error) {
    log(LogLevel::error, "[KVStore] server {} cannot follow in the chain of group {}: {}", place_.server.rank,
        place_.group, error.what());
    incoming.responder.fail(error.what());
  }
}

void Replica::on_append(comm::Incoming&& incoming) {
  const int64_t index = incoming.message.fields[2];
  if (!place_.has_state) return incoming.responder.fail("there is no state yet.");
  if (index > place_.last + 1) {
    ahead_.insert_or_assign(index, std::move(incoming));
    return;
  }
  if (index == place_.last + 1) {
    comm::Message entry = std::move(incoming.message);
    entry.command = static_cast<uint32_t>(entry.fields.at(3));
    entry.fields.erase(entry.fields.begin(), entry.fields.begin() + 4);
    place_.append(std::move(entry));
  }
  place_.when_committed(index, std::move(incoming.responder));
  const auto next = ahead_.find(place_.last + 1);
  if (next == ahead_.end()) return;
  comm::Incoming following = std::move(next->second);
  ahead_.erase(next);
  on_append(std::move(following));
}

void Replica::confirm(comm::Incoming&& incoming) {
  const int64_t index = incoming.message.fields[2];
  if (!place_.has_state || place_.position == 0)
    return incoming.responder.fail("there is no state yet, or no place before.");
  const Link before = place_.view.chains[place_.group][static_cast<size_t>(place_.position - 1)];
  place_.when_committed(index, std::move(incoming.responder), [this, before](comm::Responder&& responder) {
    responder.reply({});
    if (place_.position > 0 &&
        !place_.view.chains[place_.group][static_cast<size_t>(place_.position)].synchronised)
      report(before);
  });
}

// Tells the scheduler that this place has its state, as `before` has found, which asks for it in every view.
void Replica::report(const Link& before) {
  comm::Message message;
  message.command = kSynchronised;
  message.fields = {static_cast<int64_t>(place_.group), since_, before.server, before.since};
  comm::RequestOptions lasting = place_.chain_options();
  lasting.survive_restart = true;
  place_.server.endpoint.request(kScheduler, kToScheduler, std::move(message), std::move(lasting),
                                 [this, before, since = since_](comm::Reply&& reply) {
                                   if (reply.error && since == since_ && is_lost(reply.error)) report(before);
                                 });
}

}  // namespace loomix::kvstore
