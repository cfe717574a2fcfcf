// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/reach.h"

#include "base/log.h"
#include "kvstore/cluster/messages.h"
#include "kvstore/cluster/protocol.h"

namespace loomix::kvstore {

Reach::Reach(comm::Endpoint& endpoint, comm::Duration patience) : endpoint_(endpoint), patience_(patience) {
  endpoint_.on_peer([this](const comm::PeerEvent& event) { on_peer(event); });
}

void Reach::on_peer(const comm::PeerEvent& event) {
  if (event.peer.name.role != comm::Role::server) return;
  if (event.state == comm::PeerState::up) {
    reached_[event.peer.name.rank] = event.peer.incarnation;
  } else {
    reached_.erase(event.peer.name.rank);
  }
  look();
}

void Reach::on_view(const View& view) {
  view_ = view;
  look();
}

void Reach::look_soon() {
  if (looking_) return;
  looking_ = true;
  endpoint_.after(patience_ / 4, [this] {
    looking_ = false;
    look();
  });
}

void Reach::look() {
  const comm::TimePoint now = comm::Clock::now();
  std::set<std::pair<int32_t, uint64_t>> unreached;
  bool waits = false;
  for (const Member& server : view_.servers) {
    const int32_t rank = server.id.name.rank;
    const auto reached = reached_.find(rank);
    const bool here = reached != reached_.end() && reached->second == server.id.incarnation;
    if (server.id.name == endpoint_.self().name || !server.up || here) {
      lost_.erase(rank);
    } else if (now - lost_.try_emplace(rank, now).first->second >= patience_) {
      unreached.emplace(rank, server.id.incarnation);
    } else {
      waits = true;
    }
  }
  if (waits) look_soon();
  const int64_t epoch = view_.number / kEpoch;  // a new scheduler knows nothing
  if (unreached == told_ && (epoch == told_epoch_ || told_.empty())) return;
  messages::ToScheduler message;
  messages::Unreached& tells = *message.mutable_unreached();
  tells.set_number(++tellings_);
  for (const auto& [rank, incarnation] : unreached) {
    messages::Node& server = *tells.add_servers();
    server.set_rank(rank);
    server.set_incarnation(incarnation);
    if (!told_.contains({rank, incarnation}))
      log(LogLevel::warning, "[KVStore] {} does not reach server {} at {}; the scheduler is told.",
          endpoint_.self().name.to_string(), rank, view_.servers[static_cast<size_t>(rank)].address);
  }
  told_ = std::move(unreached);
  told_epoch_ = epoch;
  comm::RequestOptions options;
  options.survive_restart = true;
  endpoint_.request(kScheduler, kToScheduler, encode(message), std::move(options),
                    [this](comm::Reply&& reply) {
                      if (!reply.error) return;
                      told_epoch_ = -1;  // it is told again
                      look_soon();
                    });
}

}  // namespace loomix::kvstore
