// SPDX-License-Identifier: Apache-2.0
//
// How a place that joins a chain gets its group's state. The place before pictures it as of one entry: numbers at once, arrays by
// tasks that copy them before anything later changes them. It goes in pieces, a few on the way at a time. The successor takes them in
// their order, keeps those that came ahead, and answers each when it has all up to it. With the last one it has
// the state, and what was applied since follows as entries, which the sender keeps that long. Why losses do no harm: a piece
// has its copy's number and its own, so one that comes again is known; and after each break (an error, a new view) the sender asks what
// has arrived and goes on from there. A copy ends early only with one of the two places; then the next begins anew.
#include "kvstore/cluster/state_copy.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/error.h"
#include "base/log.h"

namespace loomix::kvstore {
namespace {

constexpr size_t kPiecesInFlight = 4;

void fill(const comm::Buffer& head, std::span<const NDArray> arrays, const PiecePlan& plan,
          std::vector<comm::Buffer>& parts) {
  for (const PiecePlan::Part& part : plan.parts) {
    if (part.item == 0) {
      parts.push_back(head.slice(part.begin, part.end - part.begin));
      continue;
    }
    const auto* const data = static_cast<const std::byte*>(arrays[part.item - 1].view().data);
    parts.push_back(comm::Buffer::copy_of({data + part.begin, part.end - part.begin}));
  }
}

// Shared by the tasks that fill a copy; when the last one is gone, be it done or skipped because an array is in error, the replica
// is called back on the endpoint's thread.
struct CallBack {
  std::weak_ptr<ServerLink> link;
  std::function<void(bool all)> then;
  std::atomic<size_t> left;

  ~CallBack() {
    if (const auto server = link.lock())
      server->post([then = std::move(then), all = left == 0] { then(all); });
  }
};

}  // namespace

// ---- to the place behind --------------------------------------------------------------------------------------------

OutgoingCopy::OutgoingCopy(Place& place, std::function<void(int64_t index)> on_arrival,
                           std::function<void()> on_break)
    : place_(place),
      limits_(PieceLimits::within(place.server.options.endpoint.limits)),
      on_arrival_(std::move(on_arrival)),
      on_break_(std::move(on_break)) {}

size_t OutgoingCopy::begin(const comm::NodeName& successor, const Link& behind) {
  const auto picture = std::make_shared<const ShardGroup::Picture>(place_.shards->picture());
  const comm::Buffer head = bytes_of(picture->state);
  std::vector<size_t> bytes = {head.size()};
  for (const NDArray& array : picture->arrays) bytes.push_back(static_cast<size_t>(array.bytes()));
  std::vector<PiecePlan> plans = plan_pieces(bytes, limits_);

  copy_ = std::make_shared<Copy>();
  copy_->number = ++copies_;
  copy_->index = place_.last;
  copy_->since = behind.since;
  to_ = successor;
  copy_->pieces.resize(plans.size());
  auto call_back = std::make_shared<CallBack>();
  call_back->link = place_.server.link;
  call_back->left = plans.size();
  call_back->then = [this, number = copy_->number](bool all) {
    if (!copy_ || copy_->number != number) return;
    if (all) {
      copy_->filled = true;
      return send_pieces();
    }
    if (!std::exchange(in_error_, true))
      log(LogLevel::error,
          "[KVStore] server {} gives nobody a copy of group {}: there is a value in error, or no memory.",
          place_.server.rank, place_.group);
    copy_.reset();
    on_break_();
  };
  for (size_t piece = 0; piece < plans.size(); ++piece) {
    ArrayTags tags;
    for (const PiecePlan::Part& part : plans[piece].parts) {
      if (part.item > 0) tags.read(picture->arrays[part.item - 1]);
    }
    engine::TaskInfo info;
    info.lane = engine::Lane::communicate;
    info.may_inline = false;
    info.describe.name = [](const void*) { return "kvstore_copy"; };
    const bool last = piece + 1 == plans.size();  // whose share of `call_back` must not end here
    place_.server.runtime.engine().push(
        std::move(info), tags.tags(),
        [copy = copy_, picture, head, piece, plan = std::move(plans[piece]),
         call_back = last ? std::move(call_back) : call_back](engine::RunContext&) {
          copy->pieces[piece].goes_on = plan.goes_on;
          fill(head, picture->arrays, plan, copy->pieces[piece].parts);
          --call_back->left;
        });
  }
  return std::accumulate(bytes.begin(), bytes.end(), size_t{0});
}

bool OutgoingCopy::go_on(const comm::NodeName& successor, const messages::HelloAnswer& successor_has) {
  to_ = successor;
  if (!copy_->filled) return true;  // it begins when it is
  const size_t there = successor_has.copy() == copy_->number ? successor_has.pieces() : 0;
  if (there < copy_->arrived || there > copy_->pieces.size()) return false;
  ++copy_->attempt;
  copy_->next = there;
  piece_arrived(there);
  return true;
}

void OutgoingCopy::send_pieces() {
  Copy& copy = *copy_;
  for (; copy.next < copy.pieces.size() && copy.next < copy.arrived + kPiecesInFlight; ++copy.next) {
    const Copy::Piece& piece = copy.pieces[copy.next];
    messages::InChain message = place_.chain_message();
    messages::Piece& told = *message.mutable_piece();
    told.set_index(copy.index);
    told.set_copy(copy.number);
    told.set_number(copy.next);
    told.set_count(copy.pieces.size());
    told.set_goes_on(piece.goes_on);
    place_.server.endpoint.request(
        to_, kChain, encode(message, piece.parts), place_.chain_options(),
        [this, number = copy.number, attempt = copy.attempt, next = copy.next + 1](comm::Reply&& reply) {
          if (!copy_ || copy_->number != number || copy_->attempt != attempt) return;
          if (!reply.error) return piece_arrived(next);
          ++copy_->attempt;
          on_break_();
        });
  }
}

void OutgoingCopy::piece_arrived(size_t pieces) {
  for (; copy_->arrived < pieces; ++copy_->arrived) copy_->pieces[copy_->arrived].parts.clear();
  if (copy_->arrived < copy_->pieces.size()) return send_pieces();
  in_error_ = false;
  on_arrival_(copy_->index);
}

// A new view: answers to what was sent in the one before do not count.
void OutgoingCopy::on_view(const std::optional<Link>& behind) {
  if (!copy_) return;
  if (!behind || behind->since != copy_->since) return copy_.reset();
  ++copy_->attempt;
}

// ---- from the place before ------------------------------------------------------------------------------------------

IncomingCopy::IncomingCopy(Place& place, std::function<void()> on_state)
    : place_(place), on_state_(std::move(on_state)) {}

void IncomingCopy::on_view() {
  if (copy_) copy_->ahead.clear();
}

messages::HelloAnswer IncomingCopy::what_is_here(const comm::NodeId& asked_by) const {
  messages::HelloAnswer here;
  here.set_last(place_.has_state ? place_.last : -1);
  if (copy_ && copy_->from == asked_by.incarnation) {
    here.set_copy(copy_->number);
    here.set_pieces(copy_->next);
  }
  return here;
}

std::optional<Received<messages::InChain>> IncomingCopy::on_piece(Received<messages::InChain>&& message) {
  comm::Incoming& incoming = message.incoming;
  const messages::Piece& told = message.what.piece();
  const int64_t number = told.copy();
  const size_t piece = told.number();
  in_range("Piece.count", static_cast<int64_t>(told.count()), 1, INT64_MAX);
  in_range("Piece.number", static_cast<int64_t>(piece), 0, static_cast<int64_t>(told.count()) - 1);
  if (!copy_ || copy_->from != incoming.from.incarnation || copy_->number < number) {
    copy_ = std::make_unique<Copy>();
    copy_->from = incoming.from.incarnation;
    copy_->number = number;
  }
  Copy& copy = *copy_;
  if (copy.number > number) {
    incoming.responder.fail("there is a newer copy.");
  } else if (piece < copy.next) {
    incoming.responder.reply({});
  } else if (piece >= copy.next + kPiecesInFlight) {
    incoming.responder.fail("the pieces before are missing.");
  } else if (piece > copy.next) {
    copy.ahead.insert_or_assign(piece, std::move(message));
  }
  if (copy.number > number || piece != copy.next) return std::nullopt;
  copy.state.add(std::move(incoming.message.payload), told.goes_on());
  ++copy.next;
  if (copy.next == told.count()) {
    try {
      load(told.index(), copy.state.take());
    } catch (const Error&) {
      copy_.reset();
      throw;
    }
  }
  incoming.responder.reply({});
  const auto next = copy.ahead.find(copy.next);
  if (next == copy.ahead.end()) return std::nullopt;
  Received<messages::InChain> following = std::move(next->second);
  copy.ahead.erase(next);
  return following;
}

void IncomingCopy::load(int64_t index, std::span<const comm::Buffer> items) {
  messages::GroupState state;
  decode(items[0].text(), state);
  std::unique_ptr<ShardGroup> shards = place_.new_group();
  shards->load(state, items.subspan(1));
  place_.take_over(index, std::move(shards));
  on_state_();
}

}  // namespace loomix::kvstore
