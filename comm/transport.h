// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/buffer.h"
#include "comm/node.h"

// What a transport has to do: carry packets over links. It may lose, repeat and reorder packets; an Endpoint copes.
// Nothing here is of interest to those who send messages.
namespace loomix::comm {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = Clock::duration;

enum class PacketKind : uint8_t {
  none,     // as it is in a header that says nothing
  hello,    // who I am, and the transport's offer
  welcome,  // the answer: the same
  refuse,   // instead of a welcome: `command` is a Refusal, `head` the reason
  request,
  reply,
  notice,  // a message that asks for no reply
  credit,  // tells `consumed` and, if there is something, what becomes of requests
  ping,    // asks for a pong, so that a silent peer is told from a dead one
  pong,
  bye,  // the node leaves
};
// What the refused one does: gives up, or says hello again.
enum class Refusal : uint8_t { final, for_now };
inline constexpr uint32_t kProtocolVersion = 4;

// Who a node is. Of a packet that comes nothing of it is checked.
struct Hello {
  uint32_t version = 0, role = 0;
  int32_t rank = 0;
  uint64_t incarnation = 0;
  std::string cluster, address, offer;
};

// The sender has finished its requests with numbers from `from` on, below `to`, but for those in `open`, which grow.
struct Settled {
  uint64_t from = 0, to = 0;
  std::vector<uint64_t> open;
};

// Head of a packet. A message travels as one packet or as several pieces, each with `offset`; the first one (offset 0) has
// the description of the message, and pieces repeat only what finds it.
struct PacketHeader {
  PacketKind kind = PacketKind::none;
  bool failed = false;  // of a reply: `head` says what went wrong
  uint32_t channel = 0;
  uint32_t command = 0;
  uint64_t sequence = 0;  // the request's number, unique in the sender's incarnation
  uint64_t transmission =
      0;                // same content, same number: pieces of repeated transmissions fill each other's gaps
  uint64_t offset = 0;  // of this piece in the payload
  uint64_t done_below = 0;  // the sender has finished all its requests to this peer with lower numbers
  uint64_t consumed = 0;    // payload bytes that the sender of this packet has taken from the link so far
  uint32_t attempt = 0;     // 0 at first
  int32_t priority = 0;     // of a request: its reply takes it over
  int64_t time = 0;         // of a ping; its pong has it, too
  std::vector<uint64_t> frames = {};  // sizes of the payload's parts
  std::string head = {};
  std::optional<Hello> hello = {};
  std::optional<Settled> settled = {};  // of a credit
  uint64_t waiting = 0;  // of a credit: a request that was understood, and waits for what `head` says
};

struct Packet {
  PacketHeader header;
  std::vector<Buffer> body;  // consecutive bytes of the payload
  bool transient = false;    // of one that comes: the body's bytes are gone after on_packet()

  uint64_t body_bytes() const noexcept {
    uint64_t bytes = 0;
    for (const Buffer& part : body) bytes += part.size();
    return bytes;
  }
};

using LinkId = uint64_t;  // never used twice by one transport

// Where the rest of a packet's body goes.
struct BodyPlace {
  uint64_t message = 0;  // whose place it is; 0 at the first question
  uint64_t from = 0;     // bytes of the body that are there already
  std::vector<std::span<std::byte>> parts;
};

// What the transport tells, during poll() only.
class TransportEvents {
 public:
  virtual void on_packet(LinkId link, Packet&& packet) = 0;  // the first one of an unknown link opens it
  virtual void on_down(LinkId link, std::string_view reason) = 0;  // or it could not be made
  virtual void on_writable(LinkId link) = 0;                       // after a send() that said no
  // For transports that read bytes: where those of a body shall go, so that on_packet() with a body of just these places need not copy them.
  // What it says is true until anything else is called, so it is asked again before more is written. False at the first
  // question: nowhere, keep them; later: the place has gone, and the packet with it.
  virtual bool place(LinkId, const PacketHeader&, uint64_t /*body_bytes*/, BodyPlace&) { return false; }

 protected:
  ~TransportEvents() = default;
};

// All calls but wake() come from one thread.
class Transport {
 public:
  virtual ~Transport() = default;
  // The address at which others reach this node; empty where it only calls others.
  virtual std::string address() const = 0;
  virtual LinkId connect(
      const std::string&
          address) = 0;  // returns at once; throws ValueError for an address that it cannot read
  virtual void close(LinkId link) = 0;
  // False: the link is full, ask again at on_writable. A link that is down swallows packets.
  virtual bool send(LinkId link, const Packet& packet) = 0;
  // Waits for events until `until`, or wake(); then tells them.
  virtual void poll(TimePoint until, TransportEvents& events) = 0;
  virtual void wake() noexcept = 0;  // from any thread

  // Two nodes may find a shorter way than the link they met on: the caller's offer travels in the hello, the answer in
  // the welcome, and takes effect where it comes back. Empty strings: no offer, no interest.
  virtual std::string offer(LinkId) { return {}; }
  virtual std::string answer(LinkId, std::string_view) { return {}; }
  virtual void settle(LinkId, std::string_view) {}
  // Why who is at the other end may not have this role; empty: it may.
  virtual std::string objection(LinkId, Role) { return {}; }
  // Short, for messages to people: "tcp", "shared memory".
  virtual std::string describe(LinkId link) const = 0;
};

}  // namespace loomix::comm
