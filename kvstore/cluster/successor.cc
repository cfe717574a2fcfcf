// SPDX-License-Identifier: Apache-2.0
//
// A place and the one behind it. A new place behind has nothing: while it gets a copy of the state and then the log since, entries are
// committed without it, so nothing waits. Then it begins to *count*, which is for good: from then on entries are committed only when it
// has confirmed them. The place before decides that, when the log is short, and only then asks it to confirm all
// so far; having done so, the new place reports to the scheduler. Why nothing acknowledged is lost when the scheduler takes it for
// synchronised: it has all that was committed before it counted, since it confirmed that, and all since, since it counts. The
// report names the place before, and holds only while that is still before it: the one that comes next to be before it may have
// committed entries that it does not have.
//
// The log of a newcomer is bounded: by twice the state and some more while the copy is under way (on links that are as fast in both directions
// no more comes in meanwhile); afterwards by what shrinks by half of what it confirms. Entries that exceed it wait to be committed, so
// workers wait, and the newcomer catches up however fast they are.
#include "kvstore/cluster/successor.h"

#include <algorithm>

namespace loomix::kvstore {
namespace {

constexpr auto kPause = std::chrono::milliseconds(100);
constexpr size_t kLogLeast = size_t{64} << 20;  // bytes that a newcomer may be behind while it gets its copy
constexpr size_t kLogForState = 2;  // times its bytes: what may be committed that is not in the copy
constexpr size_t kShortLog = size_t{4} << 20;
// Bytes on the way: more only wait, and what waits long is sent twice. One that counts is sent more, which workers' windows bound.
constexpr size_t kInFlight = size_t{64} << 20;
constexpr size_t kInFlightToNewcomer = size_t{8} << 20;

}  // namespace

// ---- for the replica -------------------------------------------------------------------------------------------------

Successor::Successor(Place& place, std::function<void()> on_confirmed)
    : place_(place),
      on_confirmed_(std::move(on_confirmed)),
      copy_(
          place, [this](int64_t index) { link(index); }, [this] { greet_later(); }) {}

void Successor::add(int64_t index, comm::Message entry) {
  if (!name_) return;
  if (!counts()) {  // who sent it may wait for its memory, and this may take long
    for (comm::Buffer& part : entry.payload) part = comm::Buffer::copy_of(part.bytes());
  }
  log_.add(index, std::move(entry));
  send_entries();
}

int64_t Successor::committed() const {
  if (name_ && counts()) return confirmed_;
  return !name_ || log_.bytes() <= allowance_ ? place_.last : 0;
}

void Successor::begin_anew() {
  copy_.end();
  log_.clear();
}

void Successor::forget_state() {
  begin_anew();
  confirmed_ = counts_since_ = 0;
}

// ---- which place it is -----------------------------------------------------------------------------------------------

std::optional<Link> Successor::place_behind() const {
  const Chain& chain = place_.view.chains[place_.group];
  const auto behind = static_cast<size_t>(place_.position + 1);
  if (place_.position < 0 || behind >= chain.size()) return std::nullopt;
  return chain[behind];
}

bool Successor::counts() const {
  const std::optional<Link> behind = place_behind();
  return behind && (behind->synchronised || behind->since == counts_since_);
}

// A new view. What one that is synchronised has confirmed to others is all that was ever committed.
void Successor::on_view() {
  const std::optional<Link> behind = place_behind();
  const bool same = behind && name_ && name_->rank == behind->server && since_ == behind->since;
  if (!same) {
    confirmed_ = behind && behind->synchronised ? place_.committed() : 0;
    allowance_ = kLogLeast;
  }
  name_.reset();
  linked_ = false;
  copy_.on_view(behind);
  if (!behind) return log_.clear();
  name_ = comm::NodeName{comm::Role::server, behind->server};
  since_ = behind->since;
}

// ---- finding each other ----------------------------------------------------------------------------------------------

void Successor::on_link_error(int64_t view) {
  if (view != place_.view.number || !linked_ || !name_) return;  // another greeting is on its way
  linked_ = false;
  greet_later();
}

// After a moment, unless a new view does it first.
void Successor::greet_later() {
  place_.server.endpoint.after(kPause, [this, view = place_.view.number] {
    if (view == place_.view.number && name_ && !linked_) greet();
  });
}

void Successor::greet() {
  messages::InChain message = place_.chain_message();
  message.mutable_hello();
  place_.server.endpoint.request(*name_, kChain, encode(message), place_.chain_options(),
                                 [this, view = place_.view.number](comm::Reply&& reply) {
                                   if (view != place_.view.number || !name_ || linked_) return;
                                   const auto has =
                                       decode_reply<messages::HelloAnswer>(place_.server.endpoint, reply);
                                   reply.error ? greet_later() : greeted(has);
                                 });
}

void Successor::greeted(const messages::HelloAnswer& successor_has) {
  const int64_t last = successor_has.last();
  const int64_t oldest = log_.empty() ? place_.last + 1 : log_.front().index;
  if (oldest - 1 <= last && last <= place_.last) return link(last);
  if (copy_.is_under_way() && copy_.go_on(*name_, successor_has)) return;
  log_.clear();  // it is in the copy
  allowance_ = copy_.begin(*name_, *place_behind()) * kLogForState + kLogLeast;
  on_confirmed_();
}

// ---- entries ---------------------------------------------------------------------------------------------------------

void Successor::link(int64_t last_of_successor) {
  copy_.end();
  linked_ = true;
  sent_ = last_of_successor;
  if (place_behind()->synchronised) {
    ask_to_confirm(last_of_successor);
  } else {  // nobody is behind it
    confirmed_ = std::max(confirmed_, last_of_successor);
    log_.drop_up_to(confirmed_);
    if (counts())
      ask_to_confirm(place_.last);  // what it does not have may have been committed before it counted
    else allowance_ = log_.bytes();
  }
  send_entries();
  let_it_count();
  on_confirmed_();
}

void Successor::ask_to_confirm(int64_t index) {
  messages::InChain message = place_.chain_message();
  message.mutable_confirm()->set_index(index);
  place_.server.endpoint.request(*name_, kChain, encode(message), place_.chain_options(),
                                 [this, view = place_.view.number, index](comm::Reply&& reply) {
                                   reply.error ? on_link_error(view) : confirmed_up_to(index, view);
                                 });
}

void Successor::send_entries() {
  const size_t most = counts() ? kInFlight : kInFlightToNewcomer;
  sent_ = std::max(sent_, confirmed_);  // of what was sent before the last greeting
  while (linked_ && log_.bytes_up_to(sent_) < most) {
    const EntryLog::Entry* const entry = log_.find(sent_ + 1);
    if (entry == nullptr) return;
    ++sent_;
    send_entry(*entry);
  }
}

void Successor::send_entry(const EntryLog::Entry& entry) {
  messages::InChain message = place_.chain_message();
  message.mutable_append()->set_index(entry.index);
  message.mutable_append()->set_request(entry.message.head);
  place_.server.endpoint.request(*name_, kChain, encode(message, entry.message.payload),
                                 place_.chain_options(),
                                 [this, view = place_.view.number, index = entry.index](comm::Reply&& reply) {
                                   reply.error ? on_link_error(view) : confirmed_up_to(index, view);
                                 });
}

// What was said in an earlier view was about the places of that.
void Successor::confirmed_up_to(int64_t index, int64_t view) {
  if (view != place_.view.number || !name_) return;
  confirmed_ = std::max(confirmed_, index);
  const size_t before = log_.bytes();
  log_.drop_up_to(confirmed_);
  allowance_ -= std::min(allowance_, (before - log_.bytes()) / 2);
  send_entries();
  let_it_count();
  on_confirmed_();
}

// ---- from when on a new place counts -----------------------------------------------------------------------------------

void Successor::let_it_count() {
  if (!linked_ || counts() || log_.bytes() > kShortLog) return;
  counts_since_ = since_;
  ask_to_confirm(place_.last);
}

}  // namespace loomix::kvstore
