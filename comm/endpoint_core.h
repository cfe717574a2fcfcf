// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include "comm/endpoint.h"

// What is behind an Endpoint. All state but the inbox belongs to one thread, which polls the transport; other threads post
// commands into the inbox and wake it.
//   endpoint_core.cc     the loop, commands, timers
//   endpoint_peers.cc    who is there: dialling, hello and welcome, loss
//   endpoint_send.cc     queues by priority, pieces, credit, retries
//   endpoint_receive.cc  checks, putting pieces together, repetitions, delivery
// A peer has one queue of transmissions. The first of the highest priority gives the next piece, as long as less than a
// window of bytes is on the way; so whatever is urgent waits for a window at most. Bytes on the way are counted per link:
// both ends count from zero, and each packet says how many its sender has taken. Where packets are lost, the count is set right
// after a pause without progress.
// Which requests have come is remembered until their sender has finished them: each packet says below which number it has finished
// all. Where one stays open for long, a credit tells from time to time what was finished beside it, so that a receiver's memory has
// those that are open, and no more than some thousand others.
namespace loomix::comm {

inline double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }
std::string printable(std::string_view text);  // what others say must not make lines in our log

// A message on its way out; kept until it is answered.
struct Transmission {
  Packet packet;  // header of the first piece; body: slices being sent
  std::vector<Buffer> payload;
  uint64_t total = 0;
  struct Position {
    uint64_t offset = 0;      // next byte
    size_t part = 0;          // the payload's part that it is in
    uint64_t part_begin = 0;  // offset of that part
  } position;
  int priority = 0;
  bool queued = false;
  uint64_t order = 0;
};
using TransmissionPtr = std::shared_ptr<Transmission>;

// A request that waits for its reply.
struct Outstanding {
  TransmissionPtr transmission;
  RequestOptions options;
  OnReply on_reply;
  TimePoint since, deadline, retry_at;
  Duration retry_after;
  std::string waits_for;  // as the peer says
};

// A request that has come: so that its repetitions are known.
struct Seen {
  enum class State : uint8_t { running, kept, gone } state = State::running;
  TransmissionPtr reply;                // of `kept`
  std::weak_ptr<Transmission> sending;  // of `gone`, whose payload is not ours to keep
};

// A message of several pieces on its way in.
struct Assembly {
  uint64_t number = 0;  // never used twice
  bool has_head = false;
  PacketHeader head;
  std::vector<Buffer> parts;
  std::map<uint64_t, uint64_t> there;  // begin -> end of what has come; adjacent pieces are one
  uint64_t total = 0, received = 0;
  std::vector<std::pair<uint64_t, Buffer>> apart;  // came before the head
};

struct Peer;
struct Link {
  LinkId id = 0;
  Peer* peer = nullptr;
  bool dialled = false, welcomed = false, full = false;
  uint64_t sent = 0, acknowledged = 0;  // bytes of payload, this way
  uint64_t consumed = 0, told = 0;      // the other way
  TimePoint since;
  TimePoint progress;  // last time that `acknowledged` grew, or nothing was on the way
};

struct Peer {
  NodeName name;
  uint64_t incarnation = 0;
  uint64_t expected = 0;          // the one that counts; 0: nobody has said
  std::deque<uint64_t> replaced;  // the latest that do not count any more
  std::string address;
  bool wanted = false, up = false;
  std::string refusal;           // why it will not talk to us
  std::string held_off;          // why it will not yet
  std::string unreached;         // why the last call came to nothing
  std::string unreached_before;  // the reason before, which was another one: who refuses may be gone by now
  std::string loss;              // how it went, if it went
  LinkId link = 0;               // where to send; 0: none
  LinkId dialling = 0;
  TimePoint hello_at, last_heard, last_sent, last_ping, lost_at, told_settled;
  Duration hello_every{};
  Duration round_trip{};
  std::map<std::pair<int, uint64_t>, TransmissionPtr> queue;  // by (-priority, order)
  std::map<uint64_t, Outstanding> outstanding;
  size_t overtaken = 0;  // requests that ended before older ones since it was told which
  uint64_t done_below = 0;
  std::map<uint64_t, uint64_t> settled;  // above: begin -> end of numbers of requests that are done, too
  std::map<uint64_t, Seen> seen;
  std::set<uint64_t> notices;  // the latest that came
  std::map<std::pair<PacketKind, uint64_t>, Assembly> assemblies;
  uint64_t incoming_bytes = 0;
  size_t apart = 0;
  uint64_t sent_packets = 0, sent_bytes = 0, received_packets = 0, received_bytes = 0;

  std::string to_string() const;  // "server 1 at tcp://…"
};

class EndpointCore final : public TransportEvents, public std::enable_shared_from_this<EndpointCore> {
 public:
  using Command = engine::InlineFunction<void(), 64>;

  EndpointCore(std::unique_ptr<Transport> transport, NodeId self, EndpointOptions options);
  ~EndpointCore();
  void start();
  void stop();
  // A forked child has the object, but neither its thread nor its connections.
  bool in_child() const;

  // From any thread.
  void post(Command command);
  // Numbers the transmission; numbers grow in the order in which the commands run.
  uint64_t post_numbered(Transmission& transmission, Command command);
  void post_and_wait(Command command);
  bool on_own_thread() const { return std::this_thread::get_id() == thread_.get_id(); }
  uint64_t next_subscription() { return subscriptions_.fetch_add(1, std::memory_order_relaxed); }
  NodeId self() const;
  const std::string address;
  EndpointStats stats() const;

  // Commands; on the own thread.
  void connect(NodeName name, std::string address);
  void expect(NodeId id);
  void forget(NodeName name);
  void cut_off(NodeId id, const std::string& why);
  void rename(NodeName name);
  void serve(uint32_t channel, Handler handler, ChannelOptions options);
  void stop_serving(uint32_t channel);
  void subscribe(uint64_t id, std::function<void(const PeerEvent&)> callback);
  void run_at(TimePoint at, Command work) { delayed_.emplace(at, std::move(work)); }
  void unsubscribe(uint64_t id) { subscribers_.erase(id); }
  void request(NodeName to, Outstanding&& request);
  void notify(NodeName to, TransmissionPtr transmission);
  void cancel(uint64_t sequence);
  void answer(NodeId peer, uint64_t sequence, int priority, Message&& message, bool failed);
  void tell_waiting(NodeId peer, uint64_t sequence, std::string&& for_whom);
  std::vector<PeerInfo> peers();

  static TransmissionPtr make_transmission(PacketKind kind, uint32_t channel, Message&& message,
                                           int priority);
  void check_outgoing(const Message& message) const;
  void check_owner() const;  // throws StateError in a forked child

 private:
  struct Channel {
    std::shared_ptr<const Handler> handler;  // shared with the call that runs it
    ChannelOptions options;
    std::deque<Incoming> waiting;
    uint64_t waiting_bytes = 0;
  };
  enum class Counter {
    sent_packets,
    sent_bytes,
    received_packets,
    received_bytes,
    requests,
    retries,
    repeats,
    refused,
    count
  };
  void count(Counter counter, uint64_t by = 1) {
    counters_[static_cast<size_t>(counter)].fetch_add(by, std::memory_order_relaxed);
  }

  void run();
  void run_commands();
  void excuse_silence(Duration missed);
  void run_timers();
  void run_delayed();
  TimePoint next_timer() const;

  void on_packet(LinkId link, Packet&& packet) override;
  void on_down(LinkId link, std::string_view reason) override;
  void on_writable(LinkId link) override;
  bool place(LinkId link, const PacketHeader& header, uint64_t body_bytes, BodyPlace& place) override;

  Peer& peer(NodeName name);
  void dial(Peer& peer);
  void send_hello(Link& link, PacketKind kind, std::string offer);
  void on_hello(Link& link, PacketHeader&& header);
  void on_refuse(Link& link, const PacketHeader& header);
  bool is_taken(const Peer& peer, uint64_t incarnation) const;
  bool admit(Link& link, NodeId id, const std::string& address);
  void take_link(Peer& peer, Link& link);
  void drop_link(LinkId id);
  std::vector<LinkId> links_of(const Peer& peer) const;
  void drop_all(Peer& peer);
  void lose(Peer& peer, PeerState state, const std::string& reason);
  void fail_requests(Peer& peer, const std::function<std::exception_ptr(const Outstanding&)>& error,
                     bool all);
  void fail_refused(Peer& p);  // all its requests, since it does not talk to this process
  void tell(const PeerEvent& event);
  bool may_complain();
  void peer_timers(Peer& peer);

  void enqueue(Peer& peer, const TransmissionPtr& transmission);
  void unqueue(Peer& peer, Transmission& transmission);
  void drop_queued(Peer& peer);
  void pump(Peer& peer);
  void fill_piece(Transmission& transmission, Packet& piece);
  bool send(Link& link, Packet& packet);
  void tell_consumed(Link& link);
  void send_control(Link& link, PacketHeader header);
  void send_refusal(Link& link, Refusal kind, std::string reason);
  void request_timers(Peer& peer);
  std::string why_late(const Peer& peer, double waited, const std::string& waits_for) const;
  Duration stall_of(const Peer& peer) const;
  void finish(Peer& peer, std::map<uint64_t, Outstanding>::iterator request, Reply&& reply);
  void fail(Peer& peer, std::map<uint64_t, Outstanding>::iterator request, std::exception_ptr error);
  void tell_settled(Peer& peer);

  bool is_done(const Peer& peer, uint64_t sequence) const;
  void forget_done(Peer& peer, uint64_t from, uint64_t to);
  const char* settle(Peer& peer, const Settled& told);
  void on_waiting(Peer& peer, uint64_t sequence, const std::string& for_whom);
  const char* fault_of(const PacketHeader& header, uint64_t body_bytes) const;
  void break_off(Link& link, std::string_view fault);
  void on_message(Link& link, Packet&& packet);
  void assemble(Link& link, Packet&& packet);
  bool expects(const Peer& peer, const PacketHeader& header) const;
  bool begin(Peer& peer, Assembly& assembly, PacketHeader&& head);
  bool add_piece(Assembly& assembly, uint64_t offset, const Buffer& piece);
  void drop_assembly(Peer& peer, std::pair<PacketKind, uint64_t> key);
  void deliver(Peer& peer, PacketHeader&& head, std::vector<Buffer>&& parts);
  void deliver_reply(Peer& peer, PacketHeader&& head, std::vector<Buffer>&& parts);
  void run_handler(const std::shared_ptr<const Handler>& handler, Incoming&& incoming);

  const std::unique_ptr<Transport> transport_;
  const EndpointOptions options_;
  const std::shared_ptr<engine::MemoryPool>
      pool_;  // buffers that outlive the endpoint keep its own one alive
  std::thread thread_;
  const uint64_t forks_;  // of this process and those before it, at first
  std::atomic<uint64_t> subscriptions_{1};

  mutable std::mutex inbox_mutex_;  // guards these five
  uint64_t sequence_ = 1;
  std::vector<Command> inbox_;
  bool sleeping_ = false;
  bool stopped_ = false;
  NodeId self_;

  std::vector<Command> commands_;
  std::map<NodeName, Peer> peers_;
  std::unordered_map<LinkId, Link> links_;
  std::unordered_map<uint32_t, Channel> channels_;
  std::map<uint64_t, std::shared_ptr<const std::function<void(const PeerEvent&)>>> subscribers_;
  std::multimap<TimePoint, Command> delayed_;
  std::vector<Peer*> to_pump_;
  uint64_t order_ = 0;
  uint64_t replies_ = 0;
  uint64_t assemblies_ = 0;
  uint64_t numbered_ = 1;  // all requests below have been seen by the own thread
  size_t outstanding_ = 0;
  bool running_ = true;
  TimePoint now_;
  TimePoint timers_at_;
  TimePoint complained_;
  Packet scratch_;
  std::atomic<uint64_t> counters_[static_cast<size_t>(Counter::count)] = {};
};

}  // namespace loomix::comm
