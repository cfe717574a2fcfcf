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
#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "kvstore/dist/replica.h"

namespace loomix::kvstore {
namespace {

constexpr comm::NodeName kScheduler{comm::Role::scheduler, 0};
constexpr auto kDeadline = std::chrono::seconds(60);
constexpr auto kPause = std::chrono::milliseconds(100);
constexpr size_t kShortLog = size_t{4} << 20;
// Bytes on the way: more only wait, and what waits long is sent twice. One that counts is sent more, which workers' windows bound.
constexpr size_t kInFlight = size_t{64} << 20;
constexpr size_t kInFlightToNewcomer = size_t{8} << 20;

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

// ---- which place it is -----------------------------------------------------------------------------------------------

std::optional<Link> Replica::successor_link() const {
  const Chain& chain = view_.chains[group_];
  const auto behind = static_cast<size_t>(position_ + 1);
  if (position_ < 0 || behind >= chain.size()) return std::nullopt;
  return chain[behind];
}

bool Replica::successor_counts() const {
  const std::optional<Link> behind = successor_link();
  return behind && (behind->synchronised || behind->since == counts_since_);
}

// A new view. What one that is synchronised has confirmed to others is all that was ever committed.
void Replica::follow_successor() {
  const std::optional<Link> behind = successor_link();
  const bool same =
      behind && successor_ && successor_->rank == behind->server && successor_since_ == behind->since;
  if (!same) {
    confirmed_ = behind && behind->synchronised ? committed_ : 0;
    allowance_ = kLogLeast;
  }
  successor_.reset();
  linked_ = false;
  keep_copy_for_successor();
  if (!behind) return log_.clear();
  successor_ = comm::NodeName{comm::Role::server, behind->server};
  successor_since_ = behind->since;
}

// ---- finding each other ----------------------------------------------------------------------------------------------

comm::Message Replica::chain_message(Command command, int64_t index) const {
  comm::Message message;
  message.command = command;
  message.fields = {view_.number, static_cast<int64_t>(group_), index};
  return message;
}

void Replica::on_link_error(int64_t view) {
  if (view != view_.number || !linked_ || !successor_) return;  // another greeting is on its way
  linked_ = false;
  greet_later();
}

// After a moment, unless a new view does it first.
void Replica::greet_later() {
  endpoint_.after(kPause, [this, view = view_.number] {
    if (view == view_.number && successor_ && !linked_) greet_successor();
  });
}

comm::RequestOptions Replica::options() const {
  comm::RequestOptions options;
  options.deadline = kDeadline;
  options.retry_after = retry_after_;
  return options;
}

void Replica::greet_successor() {
  endpoint_.request(*successor_, kChain, chain_message(kHello, 0), options(),
                    [this, view = view_.number](comm::Reply&& reply) {
                      if (view != view_.number || !successor_ || linked_) return;
                      if (reply.error || reply.message.fields.size() != 3) return greet_later();
                      greeted(reply.message);
                    });
}

void Replica::greeted(const comm::Message& successor_has) {
  const int64_t last = successor_has.fields[0];
  const int64_t oldest = log_.empty() ? last_ + 1 : log_.front().index;
  if (oldest - 1 <= last && last <= last_) return link_successor(last);
  if (copy_) return continue_copy(successor_has);
  send_state();
  commit();
}

// ---- entries ---------------------------------------------------------------------------------------------------------

void Replica::link_successor(int64_t last_of_successor) {
  copy_.reset();
  linked_ = true;
  sent_ = last_of_successor;
  if (successor_link()->synchronised) {
    ask_to_confirm(last_of_successor);
  } else {  // nobody is behind it
    confirmed_ = std::max(confirmed_, last_of_successor);
    log_.drop_up_to(confirmed_);
    if (successor_counts())
      ask_to_confirm(last_);  // what it does not have may have been committed before it counted
    else allowance_ = log_.bytes();
  }
  send_entries();
  let_successor_count();
  commit();
}

void Replica::ask_to_confirm(int64_t index) {
  endpoint_.request(*successor_, kChain, chain_message(kConfirm, index), options(),
                    [this, view = view_.number, index](comm::Reply&& reply) {
                      reply.error ? on_link_error(view) : confirmed_up_to(index, view);
                    });
}

void Replica::send_entries() {
  const size_t most = successor_counts() ? kInFlight : kInFlightToNewcomer;
  sent_ = std::max(sent_, confirmed_);  // of what was sent before the last greeting
  while (linked_ && log_.bytes_up_to(sent_) < most) {
    const EntryLog::Entry* const entry = log_.find(sent_ + 1);
    if (entry == nullptr) return;
    ++sent_;
    send_entry(*entry);
  }
}

void Replica::send_entry(const EntryLog::Entry& entry) {
  comm::Message message = chain_message(kAppend, entry.index);
  message.fields.push_back(entry.message.command);
  message.fields.insert(message.fields.end(), entry.message.fields.begin(), entry.message.fields.end());
  message.texts = entry.message.texts;
  message.payload = entry.message.payload;
  endpoint_.request(*successor_, kChain, std::move(message), options(),
                    [this, view = view_.number, index = entry.index](comm::Reply&& reply) {
                      reply.error ? on_link_error(view) : confirmed_up_to(index, view);
                    });
}

// What was said in an earlier view was about the places of that.
void Replica::confirmed_up_to(int64_t index, int64_t view) {
  if (view != view_.number || !successor_) return;
  confirmed_ = std::max(confirmed_, index);
  const size_t before = log_.bytes();
  log_.drop_up_to(confirmed_);
  allowance_ -= std::min(allowance_, (before - log_.bytes()) / 2);
  send_entries();
  let_successor_count();
  commit();
}

// ---- from when on a new place counts -----------------------------------------------------------------------------------

void Replica::let_successor_count() {
  if (!linked_ || successor_counts() || log_.bytes() > kShortLog) return;
  counts_since_ = successor_since_;
  ask_to_confirm(last_);
}

// Tells the scheduler that this place has its state, as `before` has found, which asks for it in every view.
void Replica::report(const Link& before) {
  comm::Message message;
  message.command = kSynchronised;
  message.fields = {static_cast<int64_t>(group_), since_, before.server, before.since};
  comm::RequestOptions lasting = options();
  lasting.survive_restart = true;
  endpoint_.request(kScheduler, kToScheduler, std::move(message), std::move(lasting),
                    [this, before, since = since_](comm::Reply&& reply) {
                      if (reply.error && since == since_ && is_lost(reply.error)) report(before);
                    });
}

}  // namespace loomix::kvstore
