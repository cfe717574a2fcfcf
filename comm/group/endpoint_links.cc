// SPDX-License-Identifier: Apache-2.0
// Ranks that talk by an Endpoint. A post is a request, and numbered, as requests come in any order. A body is asked for by who has a
// place for it, and comes as the reply; it stays where it is until its receiver has said that it is there, since a reply may have to be
// sent again. The endpoint's thread puts what happens into a box, which the thread of the groups empties.
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/group/node.h"
#include "comm/network_group.h"

namespace loomix::comm {
namespace {

constexpr auto kLastWords = std::chrono::milliseconds(1500);  // in which other ranks hear why
constexpr size_t kMostAtOnce = size_t{256} << 20;             // bytes of one reply
// Requests end with their peer, or with its silence; what it takes to send much is not known here.
constexpr auto kForEver = std::chrono::hours(24);
constexpr auto kBodyRetry = std::chrono::seconds(10);

enum Channel : uint32_t { kMeet = 1, kPost, kBody, kGot };

struct MeetHead {
  int32_t rank = 0, size = 0;
};
struct BodyHead {
  uint64_t number = 0, offset = 0, bytes = 0;
};

template <class Head>
std::string to_text(const Head& head, std::string_view rest = {}) {
  std::string text(reinterpret_cast<const char*>(&head), sizeof head);
  return text += rest;
}

template <class Head>
std::pair<Head, std::string_view> from_text(const Incoming& incoming) {
  const std::string& text = incoming.message.head;
  LOOMIX_CHECK(text.size() >= sizeof(Head), ProtocolError, "[comm] a message of a group with {} bytes.",
               text.size());
  std::pair<Head, std::string_view> both{{}, std::string_view(text).substr(sizeof(Head))};
  std::memcpy(&both.first, text.data(), sizeof(Head));
  return both;
}

Message message_of(uint32_t channel, std::string head, std::vector<Buffer> payload = {}) {
  Message message;
  message.command = channel;
  message.head = std::move(head);
  message.payload = std::move(payload);
  return message;
}

NodeName name_of_rank(int rank) { return {Role::worker, rank}; }

class EndpointLinks final : public GroupLinks {
 public:
  EndpointLinks(std::unique_ptr<Transport> transport, const Meeting& meeting, const EndpointOptions& options,
                Duration within)
      : rank_(meeting.rank),
        size_(meeting.size),
        box_(std::make_shared<Box>()),
        in_(static_cast<size_t>(size_)),
        next_(static_cast<size_t>(size_)),
        endpoint_(std::make_unique<Endpoint>(
            std::move(transport), NodeId{name_of_rank(rank_), new_incarnation()}, for_groups(options))) {
    serve<uint64_t>(kPost, &EndpointLinks::on_post);
    serve<BodyHead>(kBody, &EndpointLinks::on_asked);
    serve<uint64_t>(kGot, &EndpointLinks::on_got);
    std::vector<std::string> addresses =
        rank_ == 0 ? receive_all(within) : call_first(meeting.address, within);
    // Each calls those before it, so there is one link for two.
    for (int other = 1; other < rank_; ++other)
      endpoint_->connect(name_of_rank(other), addresses[static_cast<size_t>(other)]);
    endpoint_->on_peer([this](const PeerEvent& event) { on_peer(event); });
  }
  // The endpoint goes before all other members, and is there for its own callbacks until it has ended. Then nobody writes to places.
  ~EndpointLinks() override { flush(); }
  std::string kind() const override { return "network"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void post(int to, std::string message) override {
    {
      const std::lock_guard lock(box_->mutex);
      ++box_->posts;
    }
    request(to, message_of(kPost, to_text(++next_[static_cast<size_t>(to)], message)), {},
            [box = box_](Reply&&) {  // who is lost is told of by on_peer()
              const std::lock_guard lock(box->mutex);
              if (--box->posts == 0) box->changed.notify_all();
            });
  }
  void send(int to, uint64_t number, std::span<const std::byte> body, Finished finished) override {
    auto outgoing = std::make_shared<Outgoing>(box_, std::move(finished), body);
    std::vector<Asked> asked;
    {
      const std::lock_guard lock(mutex_);
      bodies_[{to, number}] = outgoing;
      const auto waiting = asked_.find({to, number});
      if (waiting == asked_.end()) return;
      asked = std::move(waiting->second);
      asked_.erase(waiting);
    }
    for (Asked& one : asked) answer(outgoing, one);
  }
  void receive(int from, uint64_t number, std::span<std::byte> place, Finished finished) override {
    const auto left = std::make_shared<std::atomic<size_t>>((place.size() + kMostAtOnce - 1) / kMostAtOnce);
    const auto ending = std::make_shared<Finished>(std::move(finished));
    for (size_t at = 0; at < place.size(); at += kMostAtOnce) {
      const size_t bytes = std::min(kMostAtOnce, place.size() - at);
      RequestOptions options;
      options.retry_after = kBodyRetry;
      options.into = {place.subspan(at, bytes)};
      request(from, message_of(kBody, to_text(BodyHead{number, at, bytes})), std::move(options),
              [this, from, number, left, ending](Reply&& reply) {
                // What failed is not counted: the call ends with its group, and the callable with this one.
                if (reply.error || --*left > 0) return;
                request(from, message_of(kGot, to_text(number)), {}, [](Reply&&) {});
                box_->put({.finished = std::move(*ending)});
              });
    }
  }

  bool poll(LinkEvents& events) override {
    std::deque<Event> came;
    {
      const std::lock_guard lock(box_->mutex);
      came.swap(box_->events);
      box_->woken = false;
    }
    for (Event& event : came) {
      if (event.finished) event.finished();
      else if (event.is_lost) events.on_lost(event.from, event.message);
      else events.on_post(event.from, std::move(event.message));
    }
    return !came.empty();
  }
  bool busy() const override { return false; }  // the endpoint's thread tells
  void wait(std::chrono::microseconds at_most, bool) override {
    std::unique_lock lock(box_->mutex);
    box_->changed.wait_for(lock, at_most, [&] { return box_->woken || !box_->events.empty(); });
  }
  void wake() noexcept override {
    const std::lock_guard lock(box_->mutex);
    box_->woken = true;
    box_->changed.notify_all();
  }
  void flush() override {
    const auto until = GroupClock::now() + kLastWords;
    std::unique_lock lock(box_->mutex);
    while (box_->posts > 0 && box_->changed.wait_until(lock, until) != std::cv_status::timeout) {}
  }
  void abort(const std::string& why) override {
    fmt::print(stderr, "{} Rank {} ends.\n", why, rank_);  // at exit: logs may be gone
    std::fflush(stderr);
    std::_Exit(1);
  }

 private:
  struct Event {
    int from = -1;
    std::string message = {};
    bool is_lost = false;
    Finished finished = {};
  };
  struct Box {
    std::mutex mutex;  // guards the next three
    std::deque<Event> events;
    bool woken = false;
    size_t posts = 0;  // that are not answered yet
    std::condition_variable changed;
    void put(Event event) {
      const std::lock_guard lock(mutex);
      events.push_back(std::move(event));
      changed.notify_all();
    }
  };
  // A body that others may ask for. It goes when its receiver has it and nothing that borrows it is left.
  struct Outgoing {
    Outgoing(std::shared_ptr<Box> to, Finished after, std::span<const std::byte> memory)
        : box(std::move(to)), finished(std::move(after)), body(memory) {}
    ~Outgoing() { box->put({.finished = std::move(finished)}); }
    const std::shared_ptr<Box> box;
    Finished finished;
    const std::span<const std::byte> body;
  };
  struct Asked {
    BodyHead what;
    Responder responder;
  };
  struct FromPeer {  // posts that came before earlier ones
    uint64_t next = 1;
    std::map<uint64_t, std::string> early;
  };
  using Name = std::pair<int, uint64_t>;  // rank, number

  static EndpointOptions for_groups(EndpointOptions options) {
    // All of it goes to places that this rank has named.
    options.limits.incoming_bytes = uint64_t{1} << 60;
    options.limits.requests_in_flight = size_t{1} << 24;
    return options;
  }

  void request(int to, Message message, RequestOptions options, OnReply on_reply) {
    options.deadline = kForEver;
    const uint32_t channel = message.command;
    endpoint_->request(name_of_rank(to), channel, std::move(message), std::move(options),
                       std::move(on_reply));
  }

  template <class Head>
  void serve(uint32_t channel,
             void (EndpointLinks::*handler)(int, const Head&, std::string_view, Responder&&)) {
    endpoint_->serve(channel, [this, handler](Incoming&& incoming) {
      const int from = incoming.from.name.rank;
      LOOMIX_CHECK(incoming.from.name.role == Role::worker && from >= 0 && from < size_, ProtocolError,
                   "[comm] {} is no rank of a job of {}.", incoming.from.name.to_string(), size_);
      const auto [head, rest] = from_text<Head>(incoming);
      (this->*handler)(from, head, rest, std::move(incoming.responder));
    });
  }

  void on_post(int from, const uint64_t& number, std::string_view text, Responder&& responder) {
    responder.reply({});
    FromPeer& peer = in_[static_cast<size_t>(from)];
    if (number < peer.next) return;
    peer.early.emplace(number, text);
    while (!peer.early.empty() && peer.early.begin()->first == peer.next) {
      box_->put({.from = from, .message = std::move(peer.early.begin()->second)});
      peer.early.erase(peer.early.begin());
      ++peer.next;
    }
  }

  void on_asked(int from, const BodyHead& what, std::string_view, Responder&& responder) {
    Asked asked{what, std::move(responder)};
    std::shared_ptr<Outgoing> body;
    {
      const std::lock_guard lock(mutex_);
      const auto found = bodies_.find({from, what.number});
      if (found == bodies_.end()) {  // its post overtook it here
        asked_[{from, what.number}].push_back(std::move(asked));
        return;
      }
      body = found->second;
    }
    answer(body, asked);
  }

  static void answer(const std::shared_ptr<Outgoing>& body, Asked& asked) {
    const BodyHead& what = asked.what;
    if (what.offset > body->body.size() || what.bytes > body->body.size() - what.offset)
      return asked.responder.fail("it has not so many bytes");
    asked.responder.reply(
        message_of(kBody, {}, {Buffer::borrow(body->body.subspan(what.offset, what.bytes), [body] {})}));
  }

  void on_got(int from, const uint64_t& number, std::string_view, Responder&& responder) {
    responder.reply({});
    std::shared_ptr<Outgoing> gone;
    const std::lock_guard lock(mutex_);
    const auto found = bodies_.find({from, number});
    if (found == bodies_.end()) return;
    gone = std::move(found->second);
    bodies_.erase(found);
  }

  void on_peer(const PeerEvent& event) {
    if (event.state == PeerState::up || event.peer.name.role != Role::worker) return;
    const int rank = event.peer.name.rank;
    if (rank < 0 || rank >= size_) return;
    box_->put(
        {.from = rank, .message = fmt::format("rank {} was lost: {}", rank, event.reason), .is_lost = true});
  }

  // ---- meeting ------------------------------------------------------------------------------------------------------

  // Rank 0: the addresses of all that call.
  std::vector<std::string> receive_all(Duration within) {
    struct Callers {
      std::mutex mutex;
      std::condition_variable changed;
      std::map<int, std::string> addresses;
      std::vector<Responder> waiting;
    };
    const auto callers = std::make_shared<Callers>();
    const auto all = static_cast<size_t>(size_ - 1);
    endpoint_->serve(kMeet, [callers, size = size_](Incoming&& incoming) {
      const auto [head, address] = from_text<MeetHead>(incoming);
      if (head.size != size || head.rank <= 0 || head.rank >= size || head.rank != incoming.from.name.rank)
        return incoming.responder.fail(fmt::format(
            "rank {} was started as one of {} ranks, and rank 0 as one of {}", head.rank, head.size, size));
      const std::lock_guard lock(callers->mutex);
      callers->addresses[head.rank] = address;
      callers->waiting.push_back(std::move(incoming.responder));
      callers->changed.notify_all();
    });
    std::unique_lock lock(callers->mutex);
    callers->changed.wait_for(lock, within, [&] { return callers->addresses.size() == all; });
    if (callers->addresses.size() < all) {
      std::string missing;
      for (int rank = 1; rank < size_; ++rank) {
        if (!callers->addresses.contains(rank))
          missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
      }
      const std::string why =
          fmt::format("of {} ranks these did not come to {} within {:.1f} s: {}", size_, endpoint_->address(),
                      std::chrono::duration<double>(within).count(), missing);
      for (Responder& one : callers->waiting) one.fail(why);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // so that they hear it
      throw NetworkError("[comm] " + why + ".");
    }
    std::vector<std::string> addresses{endpoint_->address()};
    std::string text;
    for (const auto& [rank, address] : callers->addresses) {
      addresses.push_back(address);
      text += address + '\n';
    }
    for (Responder& one : callers->waiting) one.reply(message_of(kMeet, text));
    return addresses;
  }

  std::vector<std::string> call_first(const std::string& first, Duration within) {
    endpoint_->connect(name_of_rank(0), first);
    RequestOptions options;
    options.deadline = within + std::chrono::seconds(1);  // rank 0 knows best who is missing
    options.survive_restart = true;
    std::string text;
    try {
      text = endpoint_
                 ->call(name_of_rank(0), kMeet,
                        message_of(kMeet, to_text(MeetHead{rank_, size_}, endpoint_->address())), options)
                 .head;
    } catch (const NetworkError& error) {
      throw NetworkError(fmt::format("[comm] rank {} of {} has not met the others at rank 0, {}: {}", rank_,
                                     size_, first, error.what()));
    }
    std::vector<std::string> addresses{first};
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      addresses.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    LOOMIX_CHECK(addresses.size() == static_cast<size_t>(size_), NetworkError,
                 "[comm] rank 0 named {} ranks; expected {}.", addresses.size(), size_);
    return addresses;
  }

  const int rank_, size_;
  const std::shared_ptr<Box> box_;
  std::mutex mutex_;  // guards the next two
  std::map<Name, std::shared_ptr<Outgoing>> bodies_;
  std::map<Name, std::vector<Asked>> asked_;  // for bodies that are not there yet
  std::vector<FromPeer> in_;                  // of the endpoint's thread
  std::vector<uint64_t> next_;                // number of the last post to each rank
  std::unique_ptr<Endpoint> endpoint_;
};

std::unique_ptr<GroupLinks> meet(std::unique_ptr<Transport> transport, const Meeting& meeting,
                                 const GroupOptions& options, const EndpointOptions& endpoint) {
  LOOMIX_CHECK(meeting.size > 0 && meeting.rank >= 0 && meeting.rank < meeting.size, ValueError,
               "[comm] rank {} of {}; expected 0 to {}.", meeting.rank, meeting.size, meeting.size - 1);
  return std::make_unique<EndpointLinks>(std::move(transport), meeting, endpoint, options.deadline);
}

class Process {
 public:
  Process(const std::function<NetworkRank()>& who, const GroupOptions& options) {
    NetworkRank rank = who();
    node_ =
        std::make_shared<GroupNode>(meet(std::move(rank.transport), rank.meeting, options, rank.endpoint));
  }
  ~Process() {
    if (getpid() == pid_) node_->end_process(kLastWords);
    else static_cast<void>(std::make_unique<std::shared_ptr<GroupNode>>(std::move(node_)).release());
  }
  std::unique_ptr<ProcessGroup> group(const GroupOptions& options) { return node_->world(options); }

 private:
  const pid_t pid_ = getpid();
  std::shared_ptr<GroupNode> node_;
};

}  // namespace

std::unique_ptr<ProcessGroup> make_network_group(std::unique_ptr<Transport> transport, const Meeting& meeting,
                                                 const GroupOptions& options,
                                                 const EndpointOptions& endpoint) {
  return std::make_shared<GroupNode>(meet(std::move(transport), meeting, options, endpoint))->world(options);
}

std::unique_ptr<ProcessGroup> make_network_group(const std::function<NetworkRank()>& who,
                                                 const GroupOptions& options) {
  static Process process(who, options);
  return process.group(options);
}

}  // namespace loomix::comm
