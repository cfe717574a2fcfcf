// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/message.h"
#include "comm/transport.h"

// A node's door to the other nodes: requests with replies, deadlines and retries; news of peers that come and go.
// Handlers and callbacks run on the endpoint's own thread, one at a time: they must be short, and may call everything
// here but what blocks (call, and the destructor). No order is promised between messages.
namespace loomix::comm {

enum class PeerState : uint8_t {
  up,       // welcomed; after a `lost` or `left` it may be another incarnation
  left,     // said goodbye
  refused,  // it does not talk to this process; such as one that was replaced by another with its name, or that broke the protocol
  lost,     // silent too long, unreachable, or replaced by another incarnation
};
struct PeerEvent {
  NodeId peer;
  PeerState state;
  std::string address;  // where it was reached, as far as known
  std::string reason;   // of left and lost: a sentence with the last contact
};

// The one way to answer a request, from any thread, at any time. Dropping it unused answers with an error.
class Responder {
 public:
  Responder() noexcept = default;
  Responder(Responder&& other) noexcept
      : core_(std::move(other.core_)),
        peer_(std::exchange(other.peer_, {})),
        sequence_(other.sequence_),
        priority_(other.priority_) {}
  Responder& operator=(Responder&&) noexcept;
  ~Responder();
  void reply(Message message);
  // `code` is for programs: what the asker does about it, in the terms of the handler's protocol.
  void fail(std::string reason, uint32_t code = 0);
  // Tells who asks that the answer waits for somebody else, and for whom. Only from a handler or callback; as often as it is said
  // the asker waits anew (RequestOptions::on_waiting).
  void waits(std::string for_whom);
  explicit operator bool() const noexcept { return peer_.incarnation != 0; }  // false for a notice

 private:
  friend class EndpointCore;
  Responder(std::weak_ptr<class EndpointCore> core, NodeId peer, uint64_t sequence, int priority)
      : core_(std::move(core)), peer_(peer), sequence_(sequence), priority_(priority) {}
  void answer(Message message, bool failed);
  std::weak_ptr<class EndpointCore> core_;
  NodeId peer_;
  uint64_t sequence_ = 0;
  int priority_ = 0;
};

// A request or notice as its handler gets it. (from.incarnation, sequence) is unique, and the same in each repetition.
// A request reaches the handler once, as long as its reply had no payload: such replies are kept and sent again. One
// whose reply had a payload comes again, with `repeated`, if that reply was lost.
struct Incoming {
  NodeId from;
  uint64_t sequence = 0;
  bool repeated = false;
  Message message;
  Responder responder;
};
// What it throws is the answer.
using Handler = std::function<void(Incoming&&)>;

struct ChannelOptions {
  // Where part `frame` of a payload shall go as it arrives in pieces; an empty buffer: wherever the endpoint wants.
  // Messages of one piece are passed on as they came, without asking.
  std::function<Buffer(const NodeId& from, const Message& head, size_t frame, size_t bytes)> place;
};

struct Reply {
  NodeId from;
  Message message;
  std::exception_ptr error;  // PeerLost, DeadlineError, RemoteError; the message is empty then
};
using OnReply = engine::InlineFunction<void(Reply&&), 96>;

struct RequestOptions {
  Duration deadline = std::chrono::seconds(60);
  Duration retry_after = std::chrono::seconds(2);  // doubles each time, up to 16 times this
  int priority = 0;                                // of request and reply; higher overtakes
  bool survive_restart = false;  // sent again to a new incarnation of the peer; else fails with PeerLost
  std::vector<std::span<std::byte>>
      into;  // where the parts of the reply's payload go, if the sizes fit exactly
  // The peer lives, and says for whom the answer waits. Returns the new deadline. Without it the deadline stays.
  std::function<TimePoint(const std::string& for_whom)> on_waiting;
};

struct EndpointOptions {
  std::string cluster = "loomix";  // peers of another cluster are refused
  Duration heartbeat_every = std::chrono::milliseconds(500);
  Duration dead_after = std::chrono::seconds(5);         // of silence
  Duration reconnect_within = std::chrono::seconds(1);   // after a link broke
  Duration hello_every = std::chrono::milliseconds(50);  // until welcomed; doubles up to 8 times this
  size_t piece_bytes = size_t{256} << 10;
  size_t window_bytes =
      size_t{2} << 20;  // sent and not yet taken by the peer: what a higher priority has to wait for
  Limits limits = {};
  engine::MemoryPool* pool = nullptr;  // for payloads that arrive in pieces; null: the endpoint's own
};

struct PeerInfo {
  NodeId id;
  std::string address;
  std::string route;    // "tcp", "shared memory"; empty while there is no link
  std::string trouble;  // why the last attempt to reach it came to nothing
  bool up = false;
  double silent_s = 0;      // since the last packet
  double round_trip_s = 0;  // of the last ping
  uint64_t queued_messages = 0;
  uint64_t requests_in_flight = 0;
  uint64_t sent_packets = 0, sent_bytes = 0, received_packets = 0, received_bytes = 0;
};

struct EndpointStats {
  uint64_t sent_packets = 0, sent_bytes = 0, received_packets = 0, received_bytes = 0;
  uint64_t requests = 0, retries = 0, repeats = 0;  // repeats: requests that came again
  uint64_t refused = 0;                             // packets that broke a rule, and peers that were refused
};

class Endpoint {
 public:
  Endpoint(std::unique_ptr<Transport> transport, NodeId self, EndpointOptions options = {});
  // Says goodbye, fails what is outstanding, drops what is queued. Not from a handler or callback. In a forked child
  // it does nothing, and requests throw StateError.
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  NodeId self() const;
  void rename(NodeName name);  // once a rank is known; tells the peers
  const std::string& address() const;

  // Where `peer` is; calls it at once, and again as long as it is wanted. Peers that call here need no address.
  void connect(NodeName peer, std::string address);
  // Which incarnation of a peer counts, as somebody says who knows. It takes the place of any other; the one that was expected before
  // it is refused. Without such news the first that comes stays, and whoever takes its place when it is gone is the newer one.
  void expect(NodeId peer);
  // Its requests in flight fail with PeerLost; it is not called again.
  void forget(NodeName peer);
  // It broke the protocol of a channel, by a reply, say. As with packets that break a rule, its connection ends. It is told why, so
  // all its calls here end with an error, and it does not call again on its own.
  void cut_off(NodeId peer, std::string why);
  // News of peers; those that are up already are told at once. Returns a number for off_peer().
  uint64_t on_peer(std::function<void(const PeerEvent&)> callback);
  void off_peer(uint64_t subscription);  // after it the callback is not running, unless called from it
  std::vector<PeerInfo> peers() const;
  EndpointStats stats() const;
  // Runs `look` on the endpoint's thread, where handlers and callbacks run, and waits for it.
  void run(const std::function<void()>& look) const;
  // Runs `work` there soon, after the messages that came with those which are handled now; never, once the endpoint has ended.
  void post(engine::InlineFunction<void(), 64> work);
  // The same, when the time has passed.
  void after(Duration delay, engine::InlineFunction<void(), 64> work);

  // May be called after messages came: up to Limits::waiting_* wait for their handler. Takes the place of an earlier one.
  void serve(uint32_t channel, Handler handler, ChannelOptions options = {});
  void stop_serving(uint32_t channel);  // after it the handler is not running, unless called from it

  // The payload must not change before `on_reply` is called. A peer that is not known yet is waited for.
  uint64_t request(NodeName to, uint32_t channel, Message message, RequestOptions options, OnReply on_reply);
  // Waits for the reply and throws its error.
  Message call(NodeName to, uint32_t channel, Message message, RequestOptions options = {});
  void notify(NodeName to, uint32_t channel, Message message, int priority = 0);  // at most once
  void cancel(uint64_t request);  // its callback is not called any more, but if it already runs

 private:
  std::shared_ptr<class EndpointCore> core_;
};

}  // namespace loomix::comm
