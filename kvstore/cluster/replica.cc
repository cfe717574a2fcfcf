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
#include "kvstore/cluster/messages.h"

namespace loomix::kvstore {

Replica::Replica(const ServerParts& server, size_t group, Snapshots& snapshots,
                 std::function<void(int64_t round)> on_cut, NormExchange::Ask ask_for_squares)
    : place_(server, group, snapshots, std::move(on_cut)),
      head_(place_, std::move(ask_for_squares)),
      successor_(place_, [this] { commit(); }),
      copy_(place_, [this] { begin_with_copy(); }) {
  place_.pass_on = [this](comm::Message entry, const messages::Request& request) {
    successor_.add(++place_.last, std::move(entry));
    commit();
    head_.on_applied(request);
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
  for (Received<messages::Request>& request : std::exchange(future_requests_, {})) take(std::move(request));
  for (Received<messages::InChain>& message : std::exchange(future_messages_, {})) take(std::move(message));
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
  const std::optional<GroupCopy> copy = place_.snapshots.first_state(place_.group);
  if (copy) place_.shards->load(copy->state, copy->arrays);
}

void Replica::begin_with_copy() {
  successor_.begin_anew();
  if (successor_.is_there()) successor_.greet();
  commit();
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

void Replica::take(Received<messages::Request>&& request) {
  if (request.what.view() > place_.view.number) return future_requests_.push_back(std::move(request));
  head_.take(std::move(request));
}

// ---- the chain, from the place before ------------------------------------------------------------------------------

void Replica::take(Received<messages::InChain>&& message) {
  if (message.what.view() > place_.view.number) return future_messages_.push_back(std::move(message));
  comm::Responder& responder = message.incoming.responder;
  const comm::NodeId from = message.incoming.from;
  if (message.what.view() < place_.view.number || place_.position < 0)
    return responder.fail("the message is of an earlier view.");
  try {
    switch (message.what.what_case()) {
      case messages::InChain::kHello: return responder.reply(encode(copy_.what_is_here(from)));
      case messages::InChain::kConfirm: return confirm(message.what.confirm().index(), std::move(responder));
      case messages::InChain::kAppend: return on_append(std::move(message));
      case messages::InChain::kPiece:
        if (auto next = copy_.on_piece(std::move(message))) take(std::move(*next));
        return;
      case messages::InChain::kCut:
        responder.reply({});
        return place_.on_cut_elsewhere(message.what.cut().round());
      case messages::InChain::kAskSquares:
        return on_asked_for_squares(
            message.what.ask_squares().round(),
            [asker = std::make_shared<comm::Responder>(std::move(responder))](std::optional<double> sum) {
              if (!sum) return asker->fail("the squares of that round are not here.");
              messages::Squares answer;
              answer.set_sum(*sum);
              asker->reply(encode(answer));
            });
      case messages::InChain::WHAT_NOT_SET: break;
    }
    responder.fail("the message is of no kind that is known here.");
  } catch (const comm::ProtocolError& error) {
    if (responder) responder.fail(error.what());
    place_.server.endpoint.cut_off(from, error.what());
  } catch (const Error& error) {
    log(LogLevel::error, "[KVStore] server {} cannot follow in the chain of group {}: {}", place_.server.rank,
        place_.group, error.what());
    if (responder) responder.fail(error.what());
  }
}

void Replica::on_append(Received<messages::InChain>&& message) {
  const int64_t index = message.what.append().index();
  if (!place_.has_state) return message.incoming.responder.fail("there is no state yet.");
  if (index > place_.last + 1) {
    ahead_.insert_or_assign(index, std::move(message));
    return;
  }
  if (index == place_.last + 1) {
    comm::Message entry;
    entry.head = std::move(*message.what.mutable_append()->mutable_request());
    entry.payload = std::move(message.incoming.message.payload);
    const auto request = decode<messages::Request>(entry);
    place_.append(std::move(entry), request);
  }
  place_.when_committed(index, std::move(message.incoming.responder));
  const auto next = ahead_.find(place_.last + 1);
  if (next == ahead_.end()) return;
  Received<messages::InChain> following = std::move(next->second);
  ahead_.erase(next);
  on_append(std::move(following));
}

void Replica::confirm(int64_t index, comm::Responder&& asker) {
  if (!place_.has_state || place_.position == 0)
    return asker.fail("there is no state yet, or no place before.");
  const Link before = place_.view.chains[place_.group][static_cast<size_t>(place_.position - 1)];
  place_.when_committed(index, std::move(asker), [this, before](comm::Responder&& responder) {
    responder.reply({});
    if (place_.position > 0 &&
        !place_.view.chains[place_.group][static_cast<size_t>(place_.position)].synchronised)
      report(before);
  });
}

// Tells the scheduler that this place has its state, as `before` has found, which asks for it in every view.
void Replica::report(const Link& before) {
  messages::ToScheduler message;
  messages::Synchronised& told = *message.mutable_synchronised();
  told.set_group(static_cast<uint32_t>(place_.group));
  told.set_since(since_);
  told.set_before(before.server);
  told.set_before_since(before.since);
  comm::RequestOptions lasting = place_.chain_options();
  lasting.survive_restart = true;
  place_.server.endpoint.request(kScheduler, kToScheduler, encode(message), std::move(lasting),
                                 [this, before, since = since_](comm::Reply&& reply) {
                                   if (reply.error && since == since_ && is_lost(reply.error)) report(before);
                                 });
}

}  // namespace loomix::kvstore
