// SPDX-License-Identifier: Apache-2.0
#include "comm/endpoint_core.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>

#include "base/log.h"

namespace loomix::comm {

namespace {

// Asking the system who we are, for each message, would take as long as sending it.
uint64_t forks() {
  static std::atomic<uint64_t> count{0};
  static const int installed =
      pthread_atfork(nullptr, nullptr, [] { count.fetch_add(1, std::memory_order_relaxed); });
  LOOMIX_INTERNAL_CHECK(installed == 0);
  return count.load(std::memory_order_relaxed);
}

}  // namespace

std::string Peer::to_string() const {
  return address.empty() ? name.to_string() : fmt::format("{} at {}", name.to_string(), address);
}

EndpointCore::EndpointCore(std::unique_ptr<Transport> transport, NodeId self, EndpointOptions options)
    : address(transport->address()),
      transport_(std::move(transport)),
      options_(std::move(options)),
      pool_(options_.pool ? std::shared_ptr<engine::MemoryPool>(std::shared_ptr<void>(), options_.pool)
                          : std::make_shared<engine::MemoryPool>("comm", engine::make_host_source())),
      forks_(forks()),
      self_(self),
      now_(Clock::now()) {}

EndpointCore::~EndpointCore() = default;

void EndpointCore::start() {
  thread_ = std::thread([this] { run(); });
}

bool EndpointCore::in_child() const { return forks() != forks_; }

void EndpointCore::stop() {
  post([this] { running_ = false; });
  thread_.join();
}

NodeId EndpointCore::self() const {
  const std::lock_guard lock(inbox_mutex_);
  return self_;
}

EndpointStats EndpointCore::stats() const {
  const auto of = [this](Counter c) {
    return counters_[static_cast<size_t>(c)].load(std::memory_order_relaxed);
  };
  EndpointStats s;
  s.sent_packets = of(Counter::sent_packets);
  s.sent_bytes = of(Counter::sent_bytes);
  s.received_packets = of(Counter::received_packets);
  s.received_bytes = of(Counter::received_bytes);
  s.requests = of(Counter::requests);
  s.retries = of(Counter::retries);
  s.repeats = of(Counter::repeats);
  s.refused = of(Counter::refused);
  return s;
}

void EndpointCore::post(Command command) {
  if (in_child()) return;
  bool wake;
  {
    const std::lock_guard lock(inbox_mutex_);
    if (stopped_) return;
    inbox_.push_back(std::move(command));
    wake = std::exchange(sleeping_, false);
  }
  if (wake) transport_->wake();
}

uint64_t EndpointCore::post_numbered(Transmission& transmission, Command command) {
  bool wake;
  uint64_t sequence;
  {
    const std::lock_guard lock(inbox_mutex_);
    sequence = sequence_++;
    transmission.packet.header.sequence = transmission.packet.header.transmission = sequence;
    if (stopped_) return sequence;
    inbox_.push_back(std::move(command));
    wake = std::exchange(sleeping_, false);
  }
  if (wake) transport_->wake();
  return sequence;
}

void EndpointCore::post_and_wait(Command command) {
  if (on_own_thread()) return command();
  struct State {
    std::mutex mutex;
    std::condition_variable done_changed;
    bool done = false;
  } state;
  // Runs when the command was executed, or was dropped at the end.
  struct Signal {
    explicit Signal(State& s) : state(&s) {}
    Signal(Signal&& other) noexcept : state(std::exchange(other.state, nullptr)) {}
    ~Signal() {
      if (!state) return;
      const std::lock_guard lock(state->mutex);
      state->done = true;
      state->done_changed.notify_all();
    }
    State* state;
  };
  post([command = std::move(command), signal = Signal(state)]() mutable { command(); });
  std::unique_lock lock(state.mutex);
  state.done_changed.wait(lock, [&] { return state.done; });
}

void EndpointCore::run() {
  for (;;) {
    run_commands();
    run_commands();  // those that these have posted need not wait for a look at the links
    if (!running_) break;
    TimePoint until = next_timer();
    {
      const std::lock_guard lock(inbox_mutex_);
      sleeping_ = inbox_.empty();
      if (!sleeping_) until = TimePoint{};
    }
    const TimePoint expected = std::max(until, now_);
    transport_->poll(until, *this);
    {
      const std::lock_guard lock(inbox_mutex_);
      sleeping_ = false;
    }
    now_ = Clock::now();
    if (now_ - expected >= options_.dead_after / 2) excuse_silence(now_ - expected);
    if (now_ >= timers_at_) run_timers();
    run_delayed();
    for (size_t i = 0; i < to_pump_.size(); ++i) pump(*to_pump_[i]);
    to_pump_.clear();
  }
  for (auto& [id, link] : links_) {
    if (link.welcomed) send_control(link, {.kind = PacketKind::bye});
  }
  transport_->poll(TimePoint{}, *this);
  {
    const std::lock_guard lock(inbox_mutex_);
    stopped_ = true;
  }
  run_commands();
  const auto closed = [this](const Outstanding&) {
    return std::make_exception_ptr(NetworkError(
        fmt::format("[comm] {} was closed while it waited for a reply.", self_.name.to_string())));
  };
  for (auto& [name, peer] : peers_) fail_requests(peer, closed, true);
  peers_.clear();
  links_.clear();
  channels_.clear();
  delayed_.clear();
}

// This thread did not run for so long: the process was stopped, or the machine is busy. What others sent may still be unread, so that time
// is no silence of theirs.
void EndpointCore::excuse_silence(Duration missed) {
  for (auto& [name, peer] : peers_) peer.last_heard = std::min(now_, peer.last_heard + missed);
}

void EndpointCore::run_commands() {
  {
    const std::lock_guard lock(inbox_mutex_);
    commands_.swap(inbox_);
  }
  if (commands_.empty()) return;
  now_ = Clock::now();
  for (Command& command : commands_) {
    command();
    command.reset();
  }
  commands_.clear();
  for (size_t i = 0; i < to_pump_.size(); ++i) pump(*to_pump_[i]);
  to_pump_.clear();
}

TimePoint EndpointCore::next_timer() const {
  return delayed_.empty() ? timers_at_ : std::min(timers_at_, delayed_.begin()->first);
}

void EndpointCore::run_delayed() {
  while (!delayed_.empty() && delayed_.begin()->first <= now_) {
    Command work = std::move(delayed_.begin()->second);
    delayed_.erase(delayed_.begin());
    work();
  }
}

void EndpointCore::run_timers() {
  // Deadlines and retries are looked at rarely enough that thousands of requests cost nothing.
  const Duration step =
      std::chrono::milliseconds(outstanding_ == 0 ? 1000 : 5 + static_cast<int>(outstanding_ / 500));
  timers_at_ = now_ + std::min(step, options_.heartbeat_every / 2);
  for (auto& [name, peer] : peers_) {
    peer_timers(peer);
    request_timers(peer);
  }
}

void EndpointCore::serve(uint32_t channel, Handler handler, ChannelOptions options) {
  Channel& served = channels_[channel];
  served.handler = std::make_shared<const Handler>(std::move(handler));
  served.options = std::move(options);
  served.waiting_bytes = 0;
  std::deque<Incoming> waiting;
  waiting.swap(served.waiting);
  const auto shared = served.handler;
  for (Incoming& incoming : waiting) run_handler(shared, std::move(incoming));
}

void EndpointCore::stop_serving(uint32_t channel) {
  const auto found = channels_.find(channel);
  if (found != channels_.end()) found->second.handler.reset();
}

void EndpointCore::subscribe(uint64_t id, std::function<void(const PeerEvent&)> callback) {
  const auto shared = std::make_shared<const std::function<void(const PeerEvent&)>>(std::move(callback));
  subscribers_[id] = shared;
  for (const auto& [name, peer] : peers_) {
    if (peer.up) (*shared)({{name, peer.incarnation}, PeerState::up, peer.address, {}});
  }
}

void EndpointCore::tell(const PeerEvent& event) {
  const auto subscribers = subscribers_;
  for (const auto& [id, callback] : subscribers) {
    if (subscribers_.contains(id)) (*callback)(event);
  }
}

std::vector<PeerInfo> EndpointCore::peers() {
  std::vector<PeerInfo> all;
  for (const auto& [name, peer] : peers_) {
    PeerInfo info;
    info.id = {name, peer.incarnation};
    info.address = peer.address;
    if (peer.link) info.route = transport_->describe(peer.link);
    info.trouble = peer.held_off.empty() ? peer.unreached : peer.held_off;
    if (peer.held_off.empty() && !peer.unreached_before.empty())
      info.trouble += fmt::format("; before: {}", peer.unreached_before);
    info.up = peer.up;
    info.silent_s = peer.incarnation ? in_seconds(now_ - peer.last_heard) : 0;
    info.round_trip_s = in_seconds(peer.round_trip);
    info.queued_messages = peer.queue.size();
    info.requests_in_flight = peer.outstanding.size();
    info.sent_packets = peer.sent_packets;
    info.sent_bytes = peer.sent_bytes;
    info.received_packets = peer.received_packets;
    info.received_bytes = peer.received_bytes;
    all.push_back(std::move(info));
  }
  return all;
}

}  // namespace loomix::comm
