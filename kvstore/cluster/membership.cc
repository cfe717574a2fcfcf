// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/membership.h"

#include <algorithm>

#include "base/error.h"
#include "kvstore/cluster/messages.h"
#include "kvstore/cluster/protocol.h"

namespace loomix::kvstore {
namespace {

constexpr auto kForTheReason = std::chrono::seconds(5);  // the scheduler says who is missing

}  // namespace

int32_t ask_for_rank(std::unique_ptr<comm::Transport> transport, comm::Role role,
                     const NodeOptions& options) {
  const uint64_t incarnation = comm::new_incarnation();
  const auto provisional = static_cast<int32_t>(incarnation & INT32_MAX);
  comm::Endpoint endpoint(std::move(transport), {{role, -1 - provisional}, incarnation}, options.endpoint);
  endpoint.connect(kScheduler, options.scheduler);
  messages::ToScheduler message;
  message.mutable_ask_rank();
  comm::RequestOptions request;
  request.deadline = options.deadline;
  request.retry_after = options.retry_after;
  request.survive_restart = true;
  const auto reply =
      decode<messages::Rank>(endpoint.call(kScheduler, kToScheduler, encode(message), std::move(request)));
  return static_cast<int32_t>(in_range("Rank.rank", reply.rank(), 0, INT32_MAX));
}

Membership::Membership(comm::Endpoint& endpoint, const NodeOptions& options,
                       std::function<void(const View&)> on_view,
                       std::function<void(std::exception_ptr)> on_error, std::function<int64_t()> barriers)
    : endpoint_(endpoint),
      deadline_(options.deadline),
      retry_after_(options.retry_after),
      without_scheduler_(options.without_scheduler),
      least_epoch_(epoch_after_snapshots(options.snapshots.folder)),
      on_view_(std::move(on_view)),
      on_error_(std::move(on_error)),
      barriers_(std::move(barriers)),
      lost_at_(comm::Clock::now()),
      lost_(
          fmt::format("nothing was heard of the scheduler at {}. Check that it runs there (DMLC_PS_ROOT_URI, "
                      "DMLC_PS_ROOT_PORT) and that keys and cluster are the same.",
                      options.scheduler)) {
  endpoint_.serve(kViews, [this](comm::Incoming&& incoming) {
    if (!incoming.responder) return;
    if (incoming.from.name != kScheduler)
      return incoming.responder.fail("only the scheduler tells of views.");
    const auto told = decode<messages::FromScheduler>(incoming.message);
    if (told.has_passing()) passed_ = std::max(passed_, told.passing().number());
    if (told.has_view()) take(told.view());
    messages::ViewHere here;
    here.set_number(view_.number);
    incoming.responder.reply(encode(here));
  });
  endpoint_.on_peer([this](const comm::PeerEvent& event) {
    if (event.peer.name.role == comm::Role::worker && event.state == comm::PeerState::left) {
      departed_[event.peer.name.rank] = event.peer.incarnation;
      const std::lock_guard lock(mutex_);
      all_departed_ = all_departed();
    }
    if (event.peer.name != kScheduler) return;
    if (event.state == comm::PeerState::refused)
      return fail(fmt::format("the scheduler at {} refused this process: {}", event.address, event.reason));
    {
      const std::lock_guard lock(mutex_);
      lost_at_.reset();
      if (event.state == comm::PeerState::left) standing_.ended = true;
      if (event.state == comm::PeerState::lost) {
        lost_at_ = comm::Clock::now();
        lost_ = fmt::format("the scheduler at {} was lost: {}", event.address, event.reason);
      }
    }
    if (event.state == comm::PeerState::up) enter();
  });
  endpoint_.connect(kScheduler, options.scheduler);
}

void Membership::enter() {
  if (entering_) return;
  entering_ = true;
  messages::ToScheduler message;
  messages::Register& own = *message.mutable_register_();
  own.set_version(kKVStoreVersion);
  own.set_address(endpoint_.address());
  *own.mutable_view() = ViewChanges(view_).since(0);
  own.set_barriers(std::max(barriers_(), passed_));
  own.set_least_epoch(least_epoch_);
  for (const auto& [rank, incarnation] : departed_) {
    messages::Node& worker = *own.add_departed();
    worker.set_rank(rank);
    worker.set_incarnation(incarnation);
  }
  comm::RequestOptions options;
  options.deadline = deadline_ + kForTheReason;
  options.retry_after = retry_after_;
  options.survive_restart = true;
  endpoint_.request(kScheduler, kToScheduler, encode(message), options, [this](comm::Reply&& reply) {
    entering_ = false;
    const auto told = decode_reply<messages::View>(endpoint_, reply);
    try {
      if (!reply.error) return take(told);
    } catch (const NetworkError&) {
      reply.error = std::current_exception();
    }
    if (view_.number > 0 && refusal_of(reply.error) != kReplaced)
      return endpoint_.after(retry_after_, [this] { enter(); });
    fail(text_of(reply.error));
    on_error_(reply.error);
  });
}

Standing Membership::standing() const {
  std::unique_lock lock(mutex_);
  Standing standing = standing_;
  if (!lost_at_) return standing;
  // Nobody is left who could want anything, and nobody who could say so.
  standing.ended = standing.ended || all_departed_;
  if (comm::Clock::now() - *lost_at_ < (entered_ ? without_scheduler_ : deadline_) ||
      !standing.failure.empty())
    return standing;
  standing.failure = lost_;
  lock.unlock();  // the endpoint's thread may want it
  for (const comm::PeerInfo& peer : endpoint_.peers()) {
    if (peer.id.name == kScheduler && !peer.trouble.empty())
      standing.failure += fmt::format(" The last attempt: {}.", peer.trouble);
  }
  return standing;
}

std::string Membership::scheduler_lost() const {
  const std::lock_guard lock(mutex_);
  return lost_at_ ? lost_ : std::string();
}

bool Membership::all_departed() const {
  return !view_.workers.empty() &&
         std::all_of(view_.workers.begin(), view_.workers.end(), [this](const Member& worker) {
           const auto found = departed_.find(worker.id.name.rank);
           return worker.departed || (found != departed_.end() && found->second == worker.id.incarnation);
         });
}

void Membership::take(const messages::View& told) {
  View fresh = view_;
  if (!follow(fresh, told)) return;
  const comm::NodeId self = endpoint_.self();
  const auto& members = self.name.role == comm::Role::server ? fresh.servers : fresh.workers;
  const auto rank = static_cast<size_t>(self.name.rank);
  if (rank >= members.size()) return;
  if (members[rank].id.incarnation != self.incarnation) {  // it is not for this process to follow
    if (view_.number > 0)
      fail(fmt::format("{} was started again, at {}.", self.name.to_string(), members[rank].address));
    return;
  }
  view_ = std::move(fresh);
  const View& view = view_;
  const Member own = (self.name.role == comm::Role::server ? view.servers : view.workers)[rank];
  {
    const std::lock_guard lock(mutex_);
    entered_ = true;
    all_departed_ = all_departed();
    standing_.failure = view.failure;
    standing_.ended = view.ended;
  }
  for (const auto* members : {&view.servers, &view.workers}) {
    for (const Member& other : *members) {
      if (other.id.incarnation == 0 || other.id.name == self.name) continue;
      const bool server = other.id.name.role == comm::Role::server;
      if (server || self.name.role == comm::Role::server) endpoint_.expect(other.id);
      if (server && other.up) endpoint_.connect(other.id.name, other.address);
    }
  }
  on_view_(view);
  if (!own.up) enter();
}

void Membership::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  standing_.failure = why;
}

}  // namespace loomix::kvstore
