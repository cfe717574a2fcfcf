// SPDX-License-Identifier: Apache-2.0
#include "comm/network/codec.h"

#include <utility>

namespace loomix::comm {

const std::string& HeaderCodec::encode(const PacketHeader& header) {
  wire::Header& m = message_;
  m.Clear();
  m.set_kind(static_cast<wire::Kind>(header.kind));
  m.set_failed(header.failed);
  m.set_channel(header.channel);
  m.set_command(header.command);
  m.set_sequence(header.sequence);
  m.set_transmission(header.transmission);
  m.set_offset(header.offset);
  m.set_done_below(header.done_below);
  m.set_consumed(header.consumed);
  m.set_attempt(header.attempt);
  m.set_priority(header.priority);
  m.mutable_frames()->Add(header.frames.begin(), header.frames.end());
  m.set_head(header.head);
  m.set_time(header.time);
  if (header.hello) {
    wire::Hello& hello = *m.mutable_hello();
    hello.set_version(header.hello->version);
    hello.set_role(header.hello->role);
    hello.set_rank(header.hello->rank);
    hello.set_incarnation(header.hello->incarnation);
    hello.set_cluster(header.hello->cluster);
    hello.set_address(header.hello->address);
    hello.set_offer(header.hello->offer);
  }
  m.set_waiting(header.waiting);
  if (header.settled) {
    wire::Settled& settled = *m.mutable_settled();
    settled.set_from(header.settled->from);
    settled.set_to(header.settled->to);
    uint64_t before = header.settled->from;
    for (const uint64_t open : header.settled->open) settled.add_open(open - std::exchange(before, open));
  }
  m.SerializeToString(&bytes_);
  return bytes_;
}

bool HeaderCodec::decode(Bytes bytes, PacketHeader& header) {
  wire::Header& m = message_;
  if (!m.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !wire::Kind_IsValid(m.kind()))
    return false;
  header.kind = static_cast<PacketKind>(m.kind());
  header.failed = m.failed();
  header.channel = m.channel();
  header.command = m.command();
  header.sequence = m.sequence();
  header.transmission = m.transmission();
  header.offset = m.offset();
  header.done_below = m.done_below();
  header.consumed = m.consumed();
  header.attempt = m.attempt();
  header.priority = m.priority();
  header.frames.assign(m.frames().begin(), m.frames().end());
  header.head = m.head();
  header.time = m.time();
  header.hello.reset();
  if (m.has_hello()) {
    const wire::Hello& hello = m.hello();
    header.hello = {hello.version(), hello.role(),    hello.rank(), hello.incarnation(),
                    hello.cluster(), hello.address(), hello.offer()};
  }
  header.waiting = m.waiting();
  header.settled.reset();
  if (m.has_settled()) {
    const wire::Settled& settled = m.settled();
    header.settled = {settled.from(), settled.to(), {}};
    uint64_t open = settled.from();
    for (const uint64_t distance : settled.open()) header.settled->open.push_back(open += distance);
  }
  return true;
}

}  // namespace loomix::comm
