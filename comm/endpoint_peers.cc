// SPDX-License-Identifier: Apache-2.0
// Who is there: dialling, hello and welcome, loss.
#include <algorithm>

#include "base/log.h"
#include "comm/endpoint_core.h"

namespace loomix::comm {
namespace {

constexpr size_t kMaxPeers = 65536;
constexpr Duration kComplainEvery = std::chrono::seconds(1);
constexpr size_t kMaxAddress = 256;
constexpr size_t kKeptReplaced = 32;
constexpr int kSilentHeartbeats = 3;  // then another incarnation may come instead

void note_replaced(Peer& p, uint64_t incarnation) {
  p.replaced.push_back(incarnation);
  if (p.replaced.size() > kKeptReplaced) p.replaced.pop_front();
}

bool is_plain(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

std::string printable(std::string_view text) {
  std::string shown(text.substr(0, 512));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return !is_plain(c); }, '?');
  return shown;
}

// Peers' faults are not a way to fill our log.
bool EndpointCore::may_complain() {
  if (now_ - complained_ < kComplainEvery) return false;
  complained_ = now_;
  return true;
}

Peer& EndpointCore::peer(NodeName name) {
  const auto [found, fresh] = peers_.try_emplace(name);
  if (fresh) {
    found->second.name = name;
    found->second.last_heard = found->second.last_sent = now_;
  }
  return found->second;
}

void EndpointCore::connect(NodeName name, std::string address) {
  Peer& p = peer(name);
  if (p.wanted && p.address == address && p.refusal.empty()) return;
  if (p.dialling) drop_link(p.dialling);
  p.address = std::move(address);
  p.wanted = true;
  p.refusal.clear();
  p.hello_every = options_.hello_every;
  if (!p.up) dial(p);
  timers_at_ = now_;
}

void EndpointCore::expect(NodeId id) {
  Peer& p = peer(id.name);
  if (p.expected == id.incarnation) return;
  const uint64_t before = std::exchange(p.expected, id.incarnation);
  std::erase(p.replaced, id.incarnation);
  if (before != 0) note_replaced(p, before);
  // One that nobody has spoken of may be newer still: it is not refused when it comes again.
  if (p.up && p.incarnation != id.incarnation) lose(p, PeerState::lost, "it was replaced by another process");
}

void EndpointCore::forget(NodeName name) {
  const auto found = peers_.find(name);
  if (found == peers_.end()) return;
  Peer& p = found->second;
  p.wanted = false;
  for (const LinkId link : links_of(p)) send_control(links_[link], {.kind = PacketKind::bye});
  if (p.up) {
    lose(p, PeerState::left, "it was forgotten here");
  } else {
    fail_requests(
        p,
        [&p](const Outstanding&) {
          return std::make_exception_ptr(
              PeerLost(fmt::format("[comm] {} was forgotten here.", p.to_string())));
        },
        true);
  }
  if (p.dialling) drop_link(p.dialling);
}

void EndpointCore::cut_off(NodeId id, const std::string& why) {
  const auto found = peers_.find(id.name);
  if (found == peers_.end() || found->second.incarnation != id.incarnation) return;
  for (const LinkId link : links_of(found->second)) {
    send_refusal(links_[link], Refusal::final, why);
    break_off(links_[link], why);
  }
}

void EndpointCore::rename(NodeName name) {
  {
    const std::lock_guard lock(inbox_mutex_);
    self_.name = name;
  }
  for (auto& [id, link] : links_) {
    if (link.welcomed) send_hello(link, PacketKind::hello, {});
  }
}

void EndpointCore::dial(Peer& p) {
  // Whoever was there may have gone without a word: such a link stays silent even when its successor listens.
  if (p.dialling && now_ - links_[p.dialling].since >= options_.dead_after) drop_link(p.dialling);
  try {
    if (!p.dialling) {
      p.dialling = transport_->connect(p.address);
      links_[p.dialling] = {.id = p.dialling, .peer = &p, .dialled = true, .since = now_, .progress = now_};
    }
  } catch (const Error& error) {
    p.wanted = false;
    p.refusal = error.what();
    log(LogLevel::error, error.what());
    return;
  }
  send_hello(links_[p.dialling], PacketKind::hello, transport_->offer(p.dialling));
  p.hello_at = now_ + p.hello_every;
  p.hello_every = std::min(p.hello_every * 2, options_.hello_every * 8);
}

void EndpointCore::send_hello(Link& link, PacketKind kind, std::string offer) {
  const NodeId me = self();
  send_control(link, {.kind = kind,
                      .hello = Hello{kProtocolVersion, static_cast<uint32_t>(me.name.role), me.name.rank,
                                     me.incarnation, options_.cluster, address, std::move(offer)}});
}

void EndpointCore::send_refusal(Link& link, Refusal kind, std::string reason) {
  send_control(
      link, {.kind = PacketKind::refuse, .command = static_cast<uint32_t>(kind), .head = std::move(reason)});
}

// Hello or welcome: they differ in who dialled, and in that a hello is answered.
void EndpointCore::on_hello(Link& link, PacketHeader&& header) {
  const bool welcome = header.kind == PacketKind::welcome;
  const auto refuse = [&](std::string reason) {
    count(Counter::refused);
    if (!welcome) send_refusal(link, Refusal::final, reason);
    if (may_complain())
      log(LogLevel::warning, "[comm] {}: refused a peer over {}: {}.", address, transport_->describe(link.id),
          reason);
    Peer* const dialled = link.dialled ? link.peer : nullptr;
    drop_link(link.id);
    if (dialled) {
      dialled->refusal = std::move(reason);
      dialled->wanted = false;
    }
  };
  if (!header.hello) return break_off(link, "a hello that does not say who it is");
  const Hello& hello = *header.hello;
  if (hello.version != kProtocolVersion) {
    return refuse(fmt::format("it speaks version {} of the protocol; {} speaks {}", hello.version,
                              self().name.to_string(), kProtocolVersion));
  }
  if (hello.address.size() > kMaxAddress ||
      !std::all_of(hello.address.begin(), hello.address.end(), is_plain))
    return break_off(link, "an address that is none");
  // Whose name is a secret of the cluster must not hear it here.
  if (hello.cluster != options_.cluster) {
    return refuse(fmt::format("it belongs to cluster '{}', which is not that of {}",
                              printable(hello.cluster.substr(0, 64)), self().name.to_string()));
  }
  if (hello.role > static_cast<uint32_t>(Role::worker)) return break_off(link, "a role that does not exist");
  const NodeId id{{static_cast<Role>(hello.role), hello.rank}, hello.incarnation};
  if (std::string objection = transport_->objection(link.id, id.name.role); !objection.empty())
    return refuse(std::move(objection));
  if (link.dialled && !link.welcomed && link.peer->name != id.name) {
    return refuse(fmt::format("{} is {}, not {}", link.peer->address, id.name.to_string(),
                              link.peer->name.to_string()));
  }
  if (const auto known = peers_.find(id.name); known != peers_.end()) {
    const Peer& p = known->second;
    const std::string where = p.address.empty() ? "" : " at " + p.address;
    if (std::find(p.replaced.begin(), p.replaced.end(), id.incarnation) != p.replaced.end())
      return refuse(fmt::format("{} was replaced by a newer one{}", id.name.to_string(), where));
    if (is_taken(p, id.incarnation)) {
      if (!welcome)
        send_refusal(link, Refusal::for_now,
                     fmt::format("there is another {} already{}", id.name.to_string(), where));
      return;
    }
  }
  if (!admit(link, id, hello.address)) return refuse("there are too many peers");
  Peer& p = *link.peer;
  if (welcome) {
    transport_->settle(link.id, hello.offer);
  } else {
    send_hello(link, PacketKind::welcome, transport_->answer(link.id, hello.offer));
  }
  link.welcomed = true;
  if (p.dialling == link.id) p.dialling = 0;
  take_link(p, link);
}

// Another incarnation is there and talks. It stays, unless the one that comes is known to be the one that counts.
bool EndpointCore::is_taken(const Peer& p, uint64_t incarnation) const {
  return p.up && p.link != 0 && p.incarnation != incarnation && p.expected != incarnation &&
         now_ - p.last_heard < kSilentHeartbeats * options_.heartbeat_every;
}

// Gives the link its peer, after a renaming or restart if need be.
bool EndpointCore::admit(Link& link, NodeId id, const std::string& where) {
  if (link.peer && link.welcomed && link.peer->name != id.name && link.peer->incarnation == id.incarnation) {
    if (const auto taken = peers_.find(id.name); taken != peers_.end()) {
      Peer& old = taken->second;
      old.wanted = false;
      if (old.up) lose(old, PeerState::lost, "it was replaced by another process");
      if (old.dialling) drop_link(old.dialling);
      for (auto& [key, transmission] : old.queue) transmission->queued = false;
      link.peer->outstanding.merge(old.outstanding);
      std::erase(to_pump_, &old);
      peers_.erase(taken);
    }
    auto node = peers_.extract(link.peer->name);
    tell({{node.key(), id.incarnation}, PeerState::left, node.mapped().address, "it has a new name"});
    node.key() = node.mapped().name = id.name;
    link.peer = &peers_.insert(std::move(node)).position->second;
    link.peer->up = false;
  } else {
    if (!peers_.contains(id.name) && peers_.size() >= kMaxPeers) return false;
    link.peer = &peer(id.name);
  }
  Peer& p = *link.peer;
  if (p.incarnation != id.incarnation) {
    if (p.up) lose(p, PeerState::lost, "it was replaced by another process");
    if (p.incarnation != 0 && p.expected == 0) note_replaced(p, p.incarnation);
    p.incarnation = id.incarnation;
    p.done_below = 0;
    p.settled.clear();
    p.seen.clear();
    p.notices.clear();
    drop_queued(p);
  }
  if (!where.empty() && !p.wanted) p.address = where;
  return true;
}

void EndpointCore::take_link(Peer& p, Link& link) {
  const bool fresh = p.link != link.id || !p.up;
  p.link = link.id;
  p.last_heard = now_;
  p.refusal.clear();
  p.held_off.clear();
  p.unreached.clear();
  p.unreached_before.clear();
  if (!p.up) {
    p.up = true;
    tell({{p.name, p.incarnation}, PeerState::up, p.address, {}});
  }
  if (!fresh) return;
  // What was on its way over an earlier link may be lost.
  for (auto& [sequence, request] : p.outstanding) {
    request.transmission->position = {};
    enqueue(p, request.transmission);
  }
  to_pump_.push_back(&p);
}

void EndpointCore::on_refuse(Link& link, const PacketHeader& header) {
  if (!link.peer) return;
  Peer& p = *link.peer;
  std::string reason = header.head.empty() ? "no reason was given" : printable(header.head);
  if (header.command ==
      static_cast<uint32_t>(Refusal::for_now)) {  // the hello is said again until its time has come
    if (!link.welcomed) p.held_off = std::move(reason);
    return;
  }
  p.refusal = std::move(reason);
  p.wanted = false;
  if (!link.welcomed || may_complain())
    log(LogLevel::error, "[comm] {} refused {}: {}.", p.to_string(), self().name.to_string(), p.refusal);
  const LinkId id = link.id;
  if (link.welcomed) drop_all(p);
  drop_link(id);
  tell({{p.name, p.incarnation}, PeerState::refused, p.address, p.refusal});
  fail_refused(p);  // at once: who refused may say hello in the next packet, and has dropped these requests
}

void EndpointCore::drop_link(LinkId id) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  Peer* const p = found->second.peer;
  const bool lasted = now_ - found->second.since >= options_.heartbeat_every;
  links_.erase(found);
  transport_->close(id);
  if (!p) return;
  if (p->dialling == id) p->dialling = 0;
  if (p->link == id) {
    p->link = 0;
    p->lost_at = now_ + options_.reconnect_within;
    for (auto& [other, link] : links_) {
      if (link.peer == p && link.welcomed) p->link = other;
    }
    if (p->link) {
      for (auto& [key, transmission] : p->queue) transmission->position = {};
      to_pump_.push_back(p);
    }
    // A link that breaks as soon as it is made is not made again at once.
    if (lasted) p->hello_every = options_.hello_every;
    p->hello_at = lasted ? now_ : now_ + p->hello_every;
    timers_at_ = now_;
  }
}

void EndpointCore::on_down(LinkId id, std::string_view reason) {
  const auto found = links_.find(id);
  if (found != links_.end() && found->second.dialled && !found->second.welcomed) {
    Peer& p = *found->second.peer;
    if (p.unreached != reason) p.unreached_before = std::exchange(p.unreached, std::string(reason));
  }
  drop_link(id);
}

std::vector<LinkId> EndpointCore::links_of(const Peer& p) const {
  std::vector<LinkId> all;
  for (const auto& [id, link] : links_) {
    if (link.peer == &p && link.welcomed) all.push_back(id);
  }
  return all;
}

// Its links, and what is on its way to it and from it.
void EndpointCore::drop_all(Peer& p) {
  p.up = false;
  for (const LinkId id : links_of(p)) drop_link(id);
  while (!p.assemblies.empty()) drop_assembly(p, p.assemblies.begin()->first);
  drop_queued(p);
}

// The peer's links go, requests that do not survive it fail, and subscribers are told.
void EndpointCore::lose(Peer& p, PeerState state, const std::string& reason) {
  const std::string text =
      fmt::format("[comm] {} {}: {}; last contact {:.1f} s ago.", p.to_string(),
                  state == PeerState::left ? "has left" : "is lost", reason, in_seconds(now_ - p.last_heard));
  drop_all(p);
  p.loss = text;
  fail_requests(
      p, [&text](const Outstanding&) { return std::make_exception_ptr(PeerLost(text)); }, false);
  tell({{p.name, p.incarnation}, state, p.address, text});
}

// `all`, or those that are bound to one incarnation.
void EndpointCore::fail_requests(Peer& p, const std::function<std::exception_ptr(const Outstanding&)>& error,
                                 bool all) {
  std::vector<uint64_t> failed;
  for (const auto& [sequence, request] : p.outstanding) {
    if (all || !request.options.survive_restart) failed.push_back(sequence);
  }
  for (const uint64_t sequence : failed) {
    const auto request = p.outstanding.find(sequence);
    if (request == p.outstanding.end()) continue;  // cancelled by a callback
    fail(p, request, error(request->second));
  }
}

void EndpointCore::fail_refused(Peer& p) {
  const std::string text =
      fmt::format("[comm] {} and {} do not talk: {}.", p.to_string(), self().name.to_string(), p.refusal);
  fail_requests(
      p, [&text](const Outstanding&) { return std::make_exception_ptr(NetworkError(text)); }, true);
}

void EndpointCore::peer_timers(Peer& p) {
  if (!p.refusal.empty() && !p.outstanding.empty()) fail_refused(p);
  if (p.up && p.link == 0 && now_ >= p.lost_at) {
    lose(p, PeerState::lost, "the connection broke and did not come back");
  } else if (p.up && now_ - p.last_heard >= options_.dead_after) {
    lose(p, PeerState::lost, "it is silent");
  }
  if (p.wanted && p.link == 0) {
    if (now_ >= p.hello_at) dial(p);
    timers_at_ = std::min(timers_at_, p.hello_at);
  }
  if (p.link != 0) {
    const Duration quiet = std::min(now_ - p.last_ping, std::max(now_ - p.last_sent, now_ - p.last_heard));
    if (quiet >= options_.heartbeat_every) {
      p.last_ping = now_;
      send_control(links_[p.link], {.kind = PacketKind::ping, .time = now_.time_since_epoch().count()});
    }
    if (p.overtaken > 0 && now_ - p.told_settled >= options_.heartbeat_every) tell_settled(p);
  }
}

}  // namespace loomix::comm
