// SPDX-License-Identifier: Apache-2.0
// Checks, putting pieces together, repetitions, delivery.
#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "comm/endpoint_core.h"

namespace loomix::comm {
namespace {

constexpr size_t kKeptNotices = 1024;
constexpr size_t kMaxChannels = 1024;

// Cuts the bytes of a body into parts of the given sizes, without a copy where a part lies in one buffer.
std::vector<Buffer> cut(const std::vector<uint64_t>& sizes, std::vector<Buffer>&& body) {
  if (body.size() == 1 && sizes.size() == 1) return std::move(body);
  std::vector<Buffer> parts;
  parts.reserve(sizes.size());
  size_t from = 0, used = 0;
  for (const uint64_t size : sizes) {
    if (size == 0) {
      parts.emplace_back();
      continue;
    }
    while (used == body[from].size()) ++from, used = 0;
    if (body[from].size() - used >= size) {
      parts.push_back(body[from].slice(used, size));
      used += size;
      continue;
    }
    Buffer whole = Buffer::allocate(size);
    for (size_t filled = 0; filled < size;) {
      while (used == body[from].size()) ++from, used = 0;
      const size_t bytes = std::min(size - filled, body[from].size() - used);
      std::memcpy(whole.writable() + filled, body[from].data() + used, bytes);
      filled += bytes;
      used += bytes;
    }
    parts.push_back(std::move(whole));
  }
  return parts;
}

}  // namespace

void EndpointCore::on_packet(LinkId id, Packet&& packet) {
  count(Counter::received_packets);
  const auto [found, fresh] = links_.try_emplace(id);
  Link& link = found->second;
  if (fresh) {
    link.id = id;
    link.since = link.progress = now_;
  }
  PacketHeader& header = packet.header;
  if (header.kind == PacketKind::hello) return on_hello(link, std::move(header));
  if (header.kind == PacketKind::welcome && link.dialled) return on_hello(link, std::move(header));
  if (header.kind == PacketKind::refuse) return on_refuse(link, header);
  if (!link.welcomed) {
    // A dialled peer may speak before its welcome gets here; who dials says hello first.
    if (!link.dialled) drop_link(id);
    return;
  }
  Peer& p = *link.peer;
  p.last_heard = Clock::now();
  const uint64_t bytes = packet.body_bytes();
  link.consumed += bytes;
  p.received_packets += 1;
  p.received_bytes += bytes;
  count(Counter::received_bytes, bytes);
  if (header.consumed > link.acknowledged && header.consumed <= link.sent) {
    link.acknowledged = header.consumed;
    link.progress = now_;
    if (!p.queue.empty()) to_pump_.push_back(&p);
  }
  switch (header.kind) {
    case PacketKind::request:
    case PacketKind::reply:
    case PacketKind::notice: on_message(link, std::move(packet)); break;
    case PacketKind::ping: send_control(link, {.kind = PacketKind::pong, .time = header.time}); break;
    case PacketKind::pong:
      if (header.time != 0) {
        constexpr Duration kBelievable = std::chrono::hours(1);
        const int64_t now = Clock::now().time_since_epoch().count(), then = header.time;
        if (then <= now && then >= now - kBelievable.count()) p.round_trip = Duration(now - then);
      }
      break;
    case PacketKind::bye: return lose(p, PeerState::left, "it said goodbye");
    case PacketKind::credit:
      if (header.settled) {
        if (const char* fault = settle(p, *header.settled)) return break_off(link, fault);
      }
      if (header.waiting != 0) on_waiting(p, header.waiting, header.head);
      break;
    case PacketKind::welcome: break;
    default: return break_off(link, "a packet of no known kind");
  }
  if (const auto still = links_.find(id); still != links_.end()) tell_consumed(still->second);
}

void EndpointCore::on_writable(LinkId id) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  Link& link = found->second;
  link.full = false;
  if (!link.peer) return;
  to_pump_.push_back(link.peer);
  tell_consumed(link);
}

// Not with each packet: a quarter of a window is still enough for the sender.
void EndpointCore::tell_consumed(Link& link) {
  if (link.consumed - link.told >= options_.window_bytes / 4)
    send_control(link, {.kind = PacketKind::credit});
}

// Null, or the rule that the packet breaks.
const char* EndpointCore::fault_of(const PacketHeader& header, uint64_t body_bytes) const {
  const Limits& limits = options_.limits;
  if (header.frames.size() > limits.frames) return "too many payload parts";
  if (header.offset != 0) {
    if (!header.frames.empty() || body_bytes == 0) return "a piece without bytes";
    if (header.offset > limits.message_bytes || body_bytes > limits.message_bytes - header.offset) {
      return "a piece beyond the limit of messages";
    }
    return nullptr;
  }
  uint64_t total = 0;
  for (const uint64_t size : header.frames) {
    if (size > limits.message_bytes - total) return "a payload beyond the limit";
    total += size;
  }
  if (body_bytes > total) return "more bytes than it announced";
  if (body_bytes == 0 && total > 0) return "a head without bytes";
  return nullptr;
}

void EndpointCore::break_off(Link& link, std::string_view fault) {
  count(Counter::refused);
  if (may_complain()) {
    log(LogLevel::warning, "[comm] {}: dropped {} over {}: {}.", address,
        link.peer ? link.peer->to_string() : "a peer", transport_->describe(link.id), fault);
  }
  drop_link(link.id);
}

bool EndpointCore::is_done(const Peer& p, uint64_t sequence) const {
  if (sequence < p.done_below) return true;
  const auto after = p.settled.upper_bound(sequence);
  return after != p.settled.begin() && std::prev(after)->second > sequence;
}

// The peer's requests with these numbers: it has their answers, or gave them up.
void EndpointCore::forget_done(Peer& p, uint64_t from, uint64_t to) {
  for (auto seen = p.seen.lower_bound(from); seen != p.seen.end() && seen->first < to;) {
    if (const TransmissionPtr& reply = seen->second.reply) unqueue(p, *reply);
    seen = p.seen.erase(seen);
  }
  for (auto part = p.assemblies.lower_bound({PacketKind::request, from});
       part != p.assemblies.end() && part->first < std::pair(PacketKind::request, to);)
    drop_assembly(p, (part++)->first);
}

// Null, or the rule that it breaks.
const char* EndpointCore::settle(Peer& p, const Settled& told) {
  const auto done = [&](uint64_t from, uint64_t to) {
    from = std::max(from, p.done_below);
    if (from >= to) return;
    forget_done(p, from, to);
    auto after = p.settled.upper_bound(from);
    if (after != p.settled.begin() && std::prev(after)->second >= from) from = (--after)->first;
    while (after != p.settled.end() && after->first <= to) {
      to = std::max(to, after->second);
      after = p.settled.erase(after);
    }
    p.settled.emplace(from, to);
  };
  uint64_t at = told.from;
  for (const uint64_t open : told.open) {
    if (open < at || open >= told.to) return "open requests that are not in their order";
    done(at, open);
    at = open + 1;
  }
  if (at > told.to) return "settled requests that end before they begin";
  done(at, told.to);
  return p.settled.size() > options_.limits.requests_in_flight + 1 ? "too many open requests" : nullptr;
}

void EndpointCore::on_waiting(Peer& p, uint64_t sequence, const std::string& for_whom) {
  const auto request = p.outstanding.find(sequence);
  if (request == p.outstanding.end() || !request->second.options.on_waiting) return;
  request->second.waits_for = printable(for_whom);
  const auto ask = request->second.options.on_waiting;
  const TimePoint deadline = ask(request->second.waits_for);
  if (const auto still = p.outstanding.find(sequence); still != p.outstanding.end())
    still->second.deadline = deadline;
}

void EndpointCore::on_message(Link& link, Packet&& packet) {
  PacketHeader& header = packet.header;
  Peer& p = *link.peer;
  const uint64_t bytes = packet.body_bytes();
  if (const char* fault = fault_of(header, bytes)) return break_off(link, fault);
  if (header.done_below > p.done_below) {
    forget_done(p, 0, header.done_below);
    p.done_below = header.done_below;
    while (!p.settled.empty() && p.settled.begin()->second <= p.done_below)
      p.settled.erase(p.settled.begin());
  }
  if (header.kind == PacketKind::request) {
    if (is_done(p, header.sequence)) return;  // came late
    if (const auto seen = p.seen.find(header.sequence); seen != p.seen.end()) {
      if (seen->second.state != Seen::State::gone) {
        if (header.offset != 0) return;
        count(Counter::repeats);
        if (seen->second.reply) enqueue(p, seen->second.reply);
        return;
      }
      if (const auto reply = seen->second.sending.lock(); reply && reply->queued) return;
    } else if (p.seen.size() >=
               2 * options_.limits.requests_in_flight) {  // some are done, and it was not told yet
      return break_off(link, "too many requests at a time");
    }
  } else if (header.kind == PacketKind::reply) {
    if (!p.outstanding.contains(header.sequence)) return;
  } else if (p.notices.contains(header.sequence) ||
             (p.notices.size() >= kKeptNotices && header.sequence < *p.notices.begin())) {
    return;
  }
  uint64_t total = 0;
  for (const uint64_t size : header.frames) total += size;
  const bool passed_on = total == 0 || !packet.transient;
  if (header.offset == 0 && total == bytes && passed_on &&
      !p.assemblies.contains({header.kind, header.sequence})) {
    std::vector<Buffer> parts = cut(header.frames, std::move(packet.body));
    return deliver(p, std::move(header), std::move(parts));
  }
  assemble(link, std::move(packet));
}

void EndpointCore::assemble(Link& link, Packet&& packet) {
  Peer& p = *link.peer;
  const std::pair key(packet.header.kind, packet.header.sequence);
  auto found = p.assemblies.find(key);
  if (found != p.assemblies.end() && found->second.head.transmission != packet.header.transmission) {
    // Replies to repetitions differ; only the latest counts.
    if (found->second.head.transmission > packet.header.transmission) return;
    drop_assembly(p, key);
    found = p.assemblies.end();
  }
  if (found == p.assemblies.end()) {
    if (p.assemblies.size() >= options_.limits.requests_in_flight)
      return break_off(link, "too many messages at a time");
    found = p.assemblies.try_emplace(key).first;
    found->second.number = ++assemblies_;
    found->second.head.transmission = packet.header.transmission;
  }
  Assembly& assembly = found->second;
  const uint64_t offset = packet.header.offset;
  if (offset == 0 && !assembly.has_head) {
    if (!begin(p, assembly, std::move(packet.header)))
      return break_off(link, "more payload at a time than is allowed");
  }
  uint64_t at = offset;
  for (Buffer& piece : packet.body) {
    const uint64_t size = piece.size();
    if (assembly.has_head) {
      if (!add_piece(assembly, at, piece)) return break_off(link, "pieces that do not fit");
    } else {
      if (p.apart >= options_.limits.packets_apart ||
          p.incoming_bytes + size > options_.limits.incoming_bytes)
        return;
      ++p.apart;
      p.incoming_bytes += size;
      assembly.apart.emplace_back(at, packet.transient ? Buffer::copy_of(piece.bytes()) : std::move(piece));
    }
    at += size;
  }
  if (!assembly.has_head) return;
  for (const auto& [position, piece] : std::exchange(assembly.apart, {})) {
    --p.apart;
    p.incoming_bytes -= piece.size();
    if (!add_piece(assembly, position, piece)) return break_off(link, "pieces that do not fit");
  }
  if (assembly.received < assembly.total) return;
  PacketHeader head = std::move(assembly.head);
  std::vector<Buffer> parts = std::move(assembly.parts);
  drop_assembly(p, key);
  deliver(p, std::move(head), std::move(parts));
}

// The message is none that came before, was answered or given up.
bool EndpointCore::expects(const Peer& p, const PacketHeader& header) const {
  switch (header.kind) {
    case PacketKind::request:
      return !is_done(p, header.sequence) && !p.seen.contains(header.sequence) &&
             p.seen.size() < 2 * options_.limits.requests_in_flight;
    case PacketKind::reply: return p.outstanding.contains(header.sequence);
    case PacketKind::notice:
      return !p.notices.contains(header.sequence) &&
             (p.notices.size() < kKeptNotices || header.sequence > *p.notices.begin());
    default: return false;
  }
}

// Pieces of messages that are being put together go to their places at once. What is not as usual gets none, and is looked
// at when it is there.
bool EndpointCore::place(LinkId id, const PacketHeader& header, uint64_t bytes, BodyPlace& place) {
  const auto known = links_.find(id);
  if (known == links_.end() || !known->second.welcomed) return false;
  Link& link = known->second;
  Peer& p = *link.peer;
  const std::pair key(header.kind, header.sequence);
  auto found = p.assemblies.find(key);
  if (place.message == 0) {
    if (found == p.assemblies.end()) {
      if (header.offset != 0 || !expects(p, header) || fault_of(header, bytes) != nullptr ||
          p.assemblies.size() >= options_.limits.requests_in_flight)
        return false;
      found = p.assemblies.try_emplace(key).first;
      found->second.number = ++assemblies_;
      if (!begin(p, found->second, PacketHeader(header))) {
        p.assemblies.erase(found);
        return false;
      }
    }
    const Assembly& assembly = found->second;
    const uint64_t end = header.offset + bytes;
    if (!assembly.has_head || assembly.head.transmission != header.transmission || bytes > assembly.total ||
        header.offset > assembly.total - bytes)
      return false;
    const auto after = assembly.there.lower_bound(end);
    if (after != assembly.there.begin() && std::prev(after)->second > header.offset) return false;
    place.message = assembly.number;
  } else if (found == p.assemblies.end() || found->second.number != place.message) {
    link.consumed += bytes;
    return false;
  }
  place.parts.clear();
  uint64_t begin = 0, at = header.offset + place.from;
  const uint64_t end = header.offset + bytes;
  for (Buffer& part : found->second.parts) {
    if (at == end) break;
    if (at < begin + part.size()) {
      const uint64_t some = std::min(end, begin + part.size()) - at;
      place.parts.emplace_back(part.writable() + (at - begin), some);
      at += some;
    }
    begin += part.size();
  }
  return true;
}

// Finds the places of the payload's parts.
bool EndpointCore::begin(Peer& p, Assembly& assembly, PacketHeader&& head) {
  uint64_t total = 0;
  for (const uint64_t size : head.frames) total += size;
  if (p.incoming_bytes + total > options_.limits.incoming_bytes) return false;
  assembly.parts.resize(head.frames.size());
  if (head.kind == PacketKind::reply) {
    const auto& into = p.outstanding.find(head.sequence)->second.options.into;
    bool fits = into.size() == head.frames.size();
    for (size_t i = 0; fits && i < into.size(); ++i) fits = into[i].size() == head.frames[i];
    for (size_t i = 0; fits && i < into.size(); ++i) assembly.parts[i] = Buffer::borrow(into[i]);
  } else if (const auto channel = channels_.find(head.channel);
             channel != channels_.end() && channel->second.options.place) {
    Message description;
    description.command = head.command;
    description.head = head.head;
    for (size_t i = 0; i < head.frames.size(); ++i) {
      Buffer place = channel->second.options.place({p.name, p.incarnation}, description, i, head.frames[i]);
      if (place.size() == head.frames[i]) assembly.parts[i] = std::move(place);
    }
  }
  for (size_t i = 0; i < head.frames.size(); ++i) {
    if (assembly.parts[i].size() != head.frames[i])
      assembly.parts[i] = Buffer::allocate(head.frames[i], pool_);
  }
  assembly.total = total;
  p.incoming_bytes += total;
  assembly.has_head = true;
  assembly.head = std::move(head);
  return true;
}

// False if it overlaps others in part, or ends outside. Repetitions are fine.
bool EndpointCore::add_piece(Assembly& assembly, uint64_t offset, const Buffer& piece) {
  const uint64_t size = piece.size(), end = offset + size;
  if (size == 0) return true;
  if (offset >= assembly.total || size > assembly.total - offset) return false;
  auto& there = assembly.there;
  auto after = there.upper_bound(offset);
  const auto before = after == there.begin() ? there.end() : std::prev(after);
  if (before != there.end() && before->second > offset) return before->second >= end;
  if (after != there.end() && after->first < end) return false;
  const bool joins_after = after != there.end() && after->first == end;
  const uint64_t new_end = joins_after ? after->second : end;
  if (joins_after) after = there.erase(after);
  if (before != there.end() && before->second == offset) {
    before->second = new_end;
  } else {
    there.emplace_hint(after, offset, new_end);
  }
  assembly.received += size;
  uint64_t begin = 0;
  const std::byte* from = piece.data();
  uint64_t at = offset, left = size;
  for (Buffer& part : assembly.parts) {
    if (left == 0) break;
    if (at < begin + part.size()) {
      const uint64_t bytes = std::min(left, begin + part.size() - at);
      std::byte* const to = part.writable() + (at - begin);
      if (to != from) std::memcpy(to, from, bytes);
      from += bytes;
      at += bytes;
      left -= bytes;
    }
    begin += part.size();
  }
  return true;
}

void EndpointCore::drop_assembly(Peer& p, std::pair<PacketKind, uint64_t> key) {
  const auto found = p.assemblies.find(key);
  if (found == p.assemblies.end()) return;
  p.incoming_bytes -= found->second.total;
  for (const auto& [offset, piece] : found->second.apart) {
    --p.apart;
    p.incoming_bytes -= piece.size();
  }
  p.assemblies.erase(found);
}

void EndpointCore::deliver(Peer& p, PacketHeader&& head, std::vector<Buffer>&& parts) {
  if (head.kind == PacketKind::reply) return deliver_reply(p, std::move(head), std::move(parts));
  Incoming incoming;
  incoming.from = {p.name, p.incarnation};
  incoming.sequence = head.sequence;
  if (head.kind == PacketKind::request) {
    const auto [seen, fresh] = p.seen.try_emplace(head.sequence);
    incoming.repeated = !fresh;
    if (!fresh) count(Counter::repeats);
    seen->second = {};
    incoming.responder = Responder(weak_from_this(), incoming.from, head.sequence, head.priority);
  } else {
    p.notices.insert(head.sequence);
    if (p.notices.size() > kKeptNotices) p.notices.erase(p.notices.begin());
  }
  incoming.message.command = head.command;
  incoming.message.head = std::move(head.head);
  incoming.message.payload = std::move(parts);

  if (!channels_.contains(head.channel) && channels_.size() >= kMaxChannels) return;
  Channel& channel = channels_[head.channel];
  if (const auto handler = channel.handler) return run_handler(handler, std::move(incoming));
  const uint64_t bytes = incoming.message.payload_bytes();
  if (channel.waiting.size() >= options_.limits.waiting_messages ||
      channel.waiting_bytes + bytes > options_.limits.waiting_bytes) {
    if (incoming.responder)
      incoming.responder.fail(fmt::format("nobody serves channel {} here", head.channel));
    return;
  }
  channel.waiting_bytes += bytes;
  channel.waiting.push_back(std::move(incoming));
}

void EndpointCore::run_handler(const std::shared_ptr<const Handler>& handler, Incoming&& incoming) {
  const NodeId from = incoming.from;
  try {
    (*handler)(std::move(incoming));
  } catch (const ProtocolError& error) {
    if (incoming.responder) incoming.responder.fail(error.what());
    cut_off(from, error.what());
  } catch (const std::exception& error) {
    if (incoming.responder) incoming.responder.fail(error.what());
    if (may_complain())
      log(LogLevel::error, "[comm] {}: a message of {} was refused: {}", address, from.name.to_string(),
          error.what());
  }
}

void EndpointCore::deliver_reply(Peer& p, PacketHeader&& head, std::vector<Buffer>&& parts) {
  const auto request = p.outstanding.find(head.sequence);
  if (head.failed) {
    const std::string why = head.head.empty() ? "no reason was given" : head.head;
    return fail(p, request,
                std::make_exception_ptr(
                    RemoteError(fmt::format("[comm] {} answered: {}", p.to_string(), why), head.command)));
  }
  const auto& into = request->second.options.into;
  bool fits = into.size() == parts.size();
  for (size_t i = 0; fits && i < into.size(); ++i) fits = into[i].size() == parts[i].size();
  for (size_t i = 0; fits && i < into.size(); ++i) {
    if (parts[i].empty() || parts[i].data() == into[i].data()) continue;
    std::memcpy(into[i].data(), parts[i].data(), into[i].size());
    parts[i] = Buffer::borrow(into[i]);
  }
  finish(p, request,
         {{p.name, p.incarnation}, {head.command, std::move(head.head), std::move(parts)}, nullptr});
}

}  // namespace loomix::comm
