// SPDX-License-Identifier: Apache-2.0
// Queues by priority, pieces, credit, retries.
#include <algorithm>

#include "comm/endpoint_core.h"

namespace loomix::comm {
namespace {

constexpr size_t kMaxSlices = 64;    // of one packet
constexpr size_t kMostOpen = 4096;   // requests in one packet that tells which are open
constexpr size_t kOvertaken = 1024;  // until the peer is told, at most

}  // namespace

void EndpointCore::check_owner() const {
  LOOMIX_CHECK(!in_child(), StateError,
               "[comm] {} belongs to the process that this one was forked from; make one of your own here.",
               address);
}

void EndpointCore::check_outgoing(const Message& message) const {
  check_owner();
  const Limits& limits = options_.limits;
  const auto check = [](const char* what, uint64_t size, uint64_t limit) {
    LOOMIX_CHECK(size <= limit, ValueError, "[comm] a message has {} {}; at most {} are allowed.", size, what,
                 limit);
  };
  check("bytes of payload", message.payload_bytes(), limits.message_bytes);
  check("payload parts", message.payload.size(), limits.frames);
  check("bytes in its head", message.head.size() + 10 * message.payload.size() + 256, limits.header_bytes);
}

TransmissionPtr EndpointCore::make_transmission(PacketKind kind, uint32_t channel, Message&& message,
                                                int priority) {
  auto transmission = std::make_shared<Transmission>();
  PacketHeader& header = transmission->packet.header;
  header.kind = kind;
  header.channel = channel;
  header.command = message.command;
  header.priority = priority;
  header.head = std::move(message.head);
  header.frames.reserve(message.payload.size());
  for (const Buffer& part : message.payload) header.frames.push_back(part.size());
  transmission->total = message.payload_bytes();
  transmission->payload = std::move(message.payload);
  transmission->priority = priority;
  return transmission;
}

void EndpointCore::request(NodeName to, Outstanding&& request) {
  count(Counter::requests);
  Peer& p = peer(to);
  const uint64_t sequence = request.transmission->packet.header.sequence;
  numbered_ = sequence + 1;
  request.retry_after = request.options.retry_after;
  request.retry_at = request.since + request.retry_after;
  const bool refused = !p.refusal.empty();
  const bool gone = !p.up && !p.loss.empty() && !request.options.survive_restart;
  const bool full = p.outstanding.size() >= options_.limits.requests_in_flight;
  const auto [position, fresh] = p.outstanding.emplace(sequence, std::move(request));
  ++outstanding_;
  if (outstanding_ == 1) timers_at_ = std::min(timers_at_, now_ + std::chrono::milliseconds(5));
  if (refused) {
    timers_at_ = now_;
  } else if (gone) {
    fail(p, position, std::make_exception_ptr(PeerLost(p.loss)));
  } else if (full) {
    fail(p, position,
         std::make_exception_ptr(
             NetworkError(fmt::format("[comm] {} requests to {} are in flight; more are not allowed.",
                                      options_.limits.requests_in_flight, p.to_string()))));
  } else {
    enqueue(p, position->second.transmission);
  }
}

void EndpointCore::notify(NodeName to, TransmissionPtr transmission) {
  numbered_ = transmission->packet.header.sequence + 1;
  const auto found = peers_.find(to);
  if (found != peers_.end() && found->second.link) enqueue(found->second, transmission);
}

void EndpointCore::cancel(uint64_t sequence) {
  for (auto& [name, p] : peers_) {
    const auto request = p.outstanding.find(sequence);
    if (request == p.outstanding.end()) continue;
    request->second.on_reply.reset();
    finish(p, request, {});
    return;
  }
}

void EndpointCore::answer(NodeId to, uint64_t sequence, int priority, Message&& message, bool failed) {
  const auto found = peers_.find(to.name);
  if (found == peers_.end() || found->second.incarnation != to.incarnation) return;
  Peer& p = found->second;
  const auto seen = p.seen.find(sequence);
  if (seen == p.seen.end() || seen->second.state != Seen::State::running) return;
  auto transmission = make_transmission(PacketKind::reply, 0, std::move(message), priority);
  PacketHeader& header = transmission->packet.header;
  header.sequence = sequence;
  header.transmission = ++replies_;
  header.failed = failed;
  seen->second.reply = transmission->total == 0 ? transmission : nullptr;
  seen->second.sending = transmission;
  seen->second.state = transmission->total == 0 ? Seen::State::kept : Seen::State::gone;
  if (p.link) enqueue(p, transmission);
}

void EndpointCore::tell_waiting(NodeId to, uint64_t sequence, std::string&& for_whom) {
  const auto found = peers_.find(to.name);
  if (found == peers_.end() || found->second.incarnation != to.incarnation || !found->second.link) return;
  send_control(links_.find(found->second.link)->second,
               {.kind = PacketKind::credit, .head = std::move(for_whom), .waiting = sequence});
}

// Which of the requests so far are open: the others are done. Told again with the next ones, so that it may get lost.
void EndpointCore::tell_settled(Peer& p) {
  if (p.outstanding.empty() || !p.link) return;
  Link& link = links_.find(p.link)->second;
  p.told_settled = now_;
  p.overtaken = 0;
  auto next = p.outstanding.begin();
  for (uint64_t from = next->first; from < numbered_;) {
    Packet packet;
    packet.header.kind = PacketKind::credit;
    Settled& settled = packet.header.settled.emplace();
    settled.from = from;
    for (; next != p.outstanding.end() && settled.open.size() < kMostOpen; ++next)
      settled.open.push_back(next->first);
    from = settled.to = next == p.outstanding.end() ? numbered_ : next->first;
    if (!send(link, packet)) return;
  }
}

void EndpointCore::enqueue(Peer& p, const TransmissionPtr& transmission) {
  if (transmission->queued) return;
  transmission->queued = true;
  transmission->order = ++order_;
  p.queue.emplace(std::pair(-transmission->priority, transmission->order), transmission);
  if (to_pump_.empty() || to_pump_.back() != &p) to_pump_.push_back(&p);
}

void EndpointCore::unqueue(Peer& p, Transmission& transmission) {
  if (!transmission.queued) return;
  transmission.queued = false;
  transmission.position = {};
  p.queue.erase(std::pair(-transmission.priority, transmission.order));
}

// Requests stay: who asked decides about them.
void EndpointCore::drop_queued(Peer& p) {
  std::vector<TransmissionPtr> dropped;
  for (auto& [key, transmission] : p.queue) {
    if (transmission->packet.header.kind != PacketKind::request) dropped.push_back(transmission);
  }
  for (const TransmissionPtr& transmission : dropped) unqueue(p, *transmission);
}

void EndpointCore::pump(Peer& p) {
  while (!p.queue.empty() && p.link) {
    Link& link = links_.find(p.link)->second;
    if (link.full) return;
    const TransmissionPtr transmission = p.queue.begin()->second;
    Transmission& t = *transmission;
    if (t.total > 0 && link.sent - link.acknowledged >= options_.window_bytes) {
      timers_at_ = std::min(timers_at_, std::max(now_, link.progress) + stall_of(p));
      return;
    }
    const bool head = t.position.offset == 0;
    Packet& piece = head ? t.packet : scratch_;
    if (!head) {
      piece.header.kind = t.packet.header.kind;
      piece.header.sequence = t.packet.header.sequence;
      piece.header.transmission = t.packet.header.transmission;
      piece.header.offset = t.position.offset;
    }
    const auto before = t.position;
    fill_piece(t, piece);
    const uint64_t bytes = t.position.offset - before.offset;
    piece.header.done_below = p.outstanding.empty() ? numbered_ : p.outstanding.begin()->first;
    const bool sent = send(link, piece);
    piece.body.clear();
    if (!sent) {
      t.position = before;
      link.full = true;
      return;
    }
    if (link.sent == link.acknowledged) link.progress = now_;
    link.sent += bytes;
    p.sent_bytes += bytes;
    count(Counter::sent_bytes, bytes);
    if (t.position.offset == t.total) unqueue(p, t);
  }
}

// Takes the next bytes; empty parts cost nothing.
void EndpointCore::fill_piece(Transmission& t, Packet& piece) {
  Transmission::Position& at = t.position;
  size_t room = options_.piece_bytes;
  while (room > 0 && at.part < t.payload.size() && piece.body.size() < kMaxSlices) {
    const Buffer& part = t.payload[at.part];
    const size_t from = at.offset - at.part_begin;
    const size_t bytes = std::min(room, part.size() - from);
    if (bytes > 0) piece.body.push_back(part.slice(from, bytes));
    at.offset += bytes;
    room -= bytes;
    if (from + bytes == part.size()) {
      at.part_begin += part.size();
      ++at.part;
    }
  }
}

bool EndpointCore::send(Link& link, Packet& packet) {
  packet.header.consumed = link.consumed;
  if (!transport_->send(link.id, packet)) return false;
  link.told = link.consumed;
  if (link.peer) {
    link.peer->last_sent = now_;
    link.peer->sent_packets += 1;
  }
  count(Counter::sent_packets);
  return true;
}

// Where the link is full it gets lost, and is said again.
void EndpointCore::send_control(Link& link, PacketHeader header) {
  Packet packet;
  packet.header = std::move(header);
  send(link, packet);
}

// After so long without progress, what is on the way is taken for lost.
Duration EndpointCore::stall_of(const Peer& p) const {
  return std::clamp<Duration>(4 * p.round_trip, std::chrono::milliseconds(10),
                              std::chrono::milliseconds(500));
}

std::string EndpointCore::why_late(const Peer& p, double waited, const std::string& waits_for) const {
  const std::string who = "[comm] " + p.to_string();
  if (!p.held_off.empty())
    return fmt::format("{} did not let {} in within {:.1f} s: {}.", who, self().name.to_string(), waited,
                       p.held_off);
  if (!waits_for.empty())
    return fmt::format("{} did not answer within {:.1f} s: it waits for {}.", who, waited, waits_for);
  if (p.incarnation != 0)
    return fmt::format("{} did not answer within {:.1f} s; last contact {:.1f} s ago.", who, waited,
                       in_seconds(now_ - p.last_heard));
  if (p.address.empty())
    return fmt::format("{} did not come within {:.1f} s, and no address of it is known; is it running?", who,
                       waited);
  return fmt::format("{} was not reached within {:.1f} s{}.", who, waited,
                     p.unreached.empty() ? "; check that it runs, its host and port" : ": " + p.unreached);
}

void EndpointCore::request_timers(Peer& p) {
  if (p.link) {
    Link& link = links_.find(p.link)->second;
    if (link.sent != link.acknowledged && now_ - link.progress >= stall_of(p)) {
      link.acknowledged = link.sent;
      link.progress = now_;
      if (!p.queue.empty()) to_pump_.push_back(&p);
    }
  }
  std::vector<uint64_t> late;
  for (auto& [sequence, request] : p.outstanding) {
    if (now_ >= request.deadline) {
      late.push_back(sequence);
    } else if (now_ >= request.retry_at) {
      request.retry_after = std::min(request.retry_after * 2, request.options.retry_after * 16);
      request.retry_at = now_ + request.retry_after;
      if (!p.link || request.transmission->queued) continue;
      request.transmission->packet.header.attempt += 1;
      count(Counter::retries);
      request.transmission->position = {};
      enqueue(p, request.transmission);
    }
  }
  for (const uint64_t sequence : late) {
    const auto request = p.outstanding.find(sequence);
    if (request == p.outstanding.end()) continue;
    const double waited = in_seconds(now_ - request->second.since);
    fail(p, request, std::make_exception_ptr(DeadlineError(why_late(p, waited, request->second.waits_for))));
  }
}

void EndpointCore::finish(Peer& p, std::map<uint64_t, Outstanding>::iterator request, Reply&& reply) {
  Outstanding done = std::move(request->second);
  const bool overtakes = request != p.outstanding.begin();
  p.outstanding.erase(request);
  --outstanding_;
  unqueue(p, *done.transmission);
  if (overtakes && ++p.overtaken >= std::min(kOvertaken, options_.limits.requests_in_flight / 8))
    tell_settled(p);
  drop_assembly(p, {PacketKind::reply, done.transmission->packet.header.sequence});
  if (done.on_reply) done.on_reply(std::move(reply));
}

void EndpointCore::fail(Peer& p, std::map<uint64_t, Outstanding>::iterator request,
                        std::exception_ptr error) {
  finish(p, request, {{p.name, p.incarnation}, {}, std::move(error)});
}

}  // namespace loomix::comm
