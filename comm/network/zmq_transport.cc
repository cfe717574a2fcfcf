// SPDX-License-Identifier: Apache-2.0
#include "comm/network/zmq_transport.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace loomix::comm {
namespace {

constexpr size_t kMaxFrame = size_t{4} << 20;  // pieces are smaller
constexpr size_t kMaxParts = 256;              // of one packet
constexpr size_t kMaxIgnored = 65536;
constexpr std::string_view kStreamOffer = " stream";
constexpr int kAtATime = 64;           // packets, before others get their turn
constexpr size_t kKeyCharacters = 40;  // of Z85
constexpr int64_t kAlertMs = 50;
constexpr Duration kAwake = std::chrono::microseconds(50);
constexpr Duration kSoon = 2 * kAwake;
constexpr Duration kPushedAside = std::chrono::microseconds(300);
constexpr Duration kLeastRest = std::chrono::milliseconds(20), kMostRest = std::chrono::seconds(2);
constexpr Duration kComplainEvery = std::chrono::seconds(5);

struct Address {
  std::string endpoint, host, key;
};

Address parse(const std::string& text) {
  Address address;
  const size_t bar = text.find('|');
  address.endpoint = text.substr(0, bar);
  if (bar != std::string::npos) address.key = text.substr(bar + 1);
  const size_t colon = address.endpoint.rfind(':');
  LOOMIX_CHECK(text.starts_with("tcp://") && colon != std::string::npos && colon > 6 &&
                   (address.key.empty() || address.key.size() == kKeyCharacters),
               ValueError,
               "[comm] '{}' is no address; expected tcp://host:port, with keys tcp://host:port|KEY.", text);
  address.host = address.endpoint.substr(6, colon - 6);
  return address;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host == "[::1]";
}

std::string first_outer_host() {
  ifaddrs* all = nullptr;
  std::string host = "127.0.0.1";
  if (getifaddrs(&all) != 0) return host;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof(text));
    if (is_loopback(text)) continue;
    host = text;
    break;
  }
  freeifaddrs(all);
  return host;
}

}  // namespace

ZmqTransport::ZmqTransport(NetworkOptions options)
    : options_(std::move(options)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      doorbell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      local_(epoll_.get(), doorbell_.get(), options_.ring_bytes),
      accepting_(context_, ZMQ_ROUTER),
      dialling_(context_, ZMQ_ROUTER) {
  const int64_t frame = std::max<int64_t>(kMaxFrame, static_cast<int64_t>(options_.header_bytes));
  for (ZmqSocket* socket : {&accepting_, &dialling_}) socket->set_up_router(frame);
  const bool keys = !options_.keys.public_key.empty();
  if (keys) {
    LOOMIX_CHECK(options_.keys.public_key.size() == kKeyCharacters &&
                     options_.keys.secret_key.size() == kKeyCharacters,
                 ValueError, "[comm] a key has {} and {} characters; each half has {}.",
                 options_.keys.public_key.size(), options_.keys.secret_key.size(), kKeyCharacters);
    trusted_.insert(options_.trusted.begin(), options_.trusted.end());
    if (trusted_.empty()) trusted_.insert(options_.keys.public_key);
    zap_ = ZmqSocket(context_, ZMQ_REP);
    if (zmq_bind(zap_.get(), "inproc://zeromq.zap.01") != 0)
      throw_zmq_error("no place to answer who may connect");
    watch(zap_.file());
    accepting_.set(ZMQ_ZAP_DOMAIN, "loomix");
    accepting_.set(ZMQ_CURVE_SERVER, 1);
    accepting_.set(ZMQ_CURVE_SECRETKEY, options_.keys.secret_key);
    dialling_.set(ZMQ_CURVE_PUBLICKEY, options_.keys.public_key);
    dialling_.set(ZMQ_CURVE_SECRETKEY, options_.keys.secret_key);
  }
  accepting_events_ = accepting_.monitor(context_, "inproc://accepting", !keys);
  dialling_events_ = dialling_.monitor(context_, "inproc://dialling", false);
  for (const int file : {accepting_.file(), dialling_.file(), accepting_events_.file(),
                         dialling_events_.file(), doorbell_.get()}) {
    watch(file);
  }
  const std::string listening = options_.listen.empty() ? std::string() : bind();
  LOOMIX_CHECK(
      !options_.plain_payloads || (keys && options_.trusted_network), ValueError,
      "[comm] payloads travel plain beside encrypted links only: that needs keys, and a network that is "
      "declared trusted.");
  if (keys ? options_.plain_payloads : options_.streams)
    streams_.emplace(epoll_.get(), listening, keys, options_.header_bytes);
}

ZmqTransport::~ZmqTransport() {
  zmq_socket_monitor(accepting_.get(), nullptr, 0);
  zmq_socket_monitor(dialling_.get(), nullptr, 0);
}

// Where it listens, in numbers.
std::string ZmqTransport::bind() {
  const Address wanted = parse(options_.listen);
  LOOMIX_CHECK(!trusted_.empty() || options_.trusted_network || is_loopback(wanted.host), ValueError,
               "[comm] '{}' can be reached from other machines, and there are no keys; make some with "
               "`python -m loomix "
               "keys`, or declare the network trusted.",
               options_.listen);
  const std::string endpoint = accepting_.bind(wanted.endpoint);
  std::string host = options_.advertise;
  if (host.empty()) host = wanted.host == "0.0.0.0" || wanted.host == "*" ? first_outer_host() : wanted.host;
  address_ = "tcp://" + host + endpoint.substr(endpoint.rfind(':'));
  if (!trusted_.empty()) address_ += '|' + options_.keys.public_key;
  return endpoint;
}

void ZmqTransport::watch(int file) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = file;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, file, &event);
}

LinkId ZmqTransport::connect(const std::string& text) {
  const Address to = parse(text);
  if (trusted_.empty()) {
    LOOMIX_CHECK(to.key.empty(), ValueError, "[comm] {} has a key, and this node has none.", text);
    LOOMIX_CHECK(
        options_.trusted_network || is_loopback(to.host), ValueError,
        "[comm] {} is another machine, and this node has no keys; make some with `python -m loomix keys`, or "
        "declare the network trusted.",
        text);
  } else {
    LOOMIX_CHECK(!to.key.empty(), ValueError,
                 "[comm] {} has no key, and this node has one; both sides need keys.", text);
    dialling_.set(ZMQ_CURVE_SERVERKEY, to.key);
  }
  const LinkId link = next_link_++;
  const std::string id = fmt::format("link-{}", link);
  look_ = true;
  dialling_.set(ZMQ_CONNECT_ROUTING_ID, id);
  LOOMIX_CHECK(zmq_connect(dialling_.get(), to.endpoint.c_str()) == 0, ValueError,
               "[comm] cannot call {}: {}.", text, zmq_strerror(zmq_errno()));
  routes_[link] = {.dialled = true, .id = id, .endpoint = to.endpoint, .file = -1};
  by_id_[1][id] = link;
  return link;
}

void ZmqTransport::close(LinkId link) {
  const auto found = routes_.find(link);
  if (found == routes_.end()) return;
  Packet end;  // of kind none: tells the other end
  send_frames(found->second, end);
  local_.close(link);
  if (streams_) streams_->close(link);
  const Route route = std::move(found->second);
  routes_.erase(found);
  by_id_[route.dialled].erase(route.id);
  if (const auto file = by_file_.find(route.file); file != by_file_.end() && file->second == link)
    by_file_.erase(file);
  if (route.dialled) {
    zmq_disconnect(dialling_.get(), route.endpoint.c_str());
    return;
  }
  if (ignored_.insert(route.id).second) ignored_order_.push_back(route.id);
  if (ignored_order_.size() > kMaxIgnored) {
    ignored_.erase(ignored_order_.front());
    ignored_order_.pop_front();
  }
}

bool ZmqTransport::send(LinkId link, const Packet& packet) {
  const auto found = routes_.find(link);
  if (found == routes_.end()) return true;
  if (LocalPipe* const pipe = local_.pipe(link)) {
    const std::string& header = codec_.encode(packet.header);
    if (!pipe->writer->write(std::as_bytes(std::span(header)), packet.body)) {
      pipe->waiting = true;
      return false;
    }
    if (pipe->writer->reader_sleeps()) pipe->ring();
    return true;
  }
  if (streams_ && streams_->wants(link, packet)) return streams_->send(link, packet, codec_);
  send_frames(found->second, packet);
  return true;
}

bool ZmqTransport::send_frames(const Route& route, const Packet& packet) {
  ZmqSocket& socket = route.dialled ? dialling_ : accepting_;
  look_ = true;
  const std::string& header = codec_.encode(packet.header);
  // The connection may be gone: then the packet is lost, and news of that is on its way.
  if (!send_part(socket, std::as_bytes(std::span(route.id)), true)) return false;
  if (!send_part(socket, std::as_bytes(std::span(header)), !packet.body.empty())) return false;
  for (size_t i = 0; i < packet.body.size(); ++i) {
    if (!send_part(socket, packet.body[i], i + 1 < packet.body.size())) return false;
  }
  return true;
}

void ZmqTransport::wake() noexcept {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(doorbell_.get(), &one, sizeof(one));
}

void ZmqTransport::poll(TimePoint until, TransportEvents& events) {
  bool any = receive_all(events);
  any |= read_streams(events);
  any |= read_rings(events);
  end_broken(events);
  guard(Clock::now());
  sleep(any ? TimePoint{} : until, events);
}

bool ZmqTransport::receive_all(TransportEvents& events) {
  if (!std::exchange(look_, false)) return false;
  const bool any = receive(accepting_, false, events);
  look_ = receive(dialling_, true, events) || any;
  return look_;
}

bool ZmqTransport::read_streams(TransportEvents& events) {
  if (!streams_) return false;
  bool any = streams_->flush(events, ended_streams_);
  any |= streams_->read(codec_, events, ended_streams_);
  return end_streams(events) || any;
}

bool ZmqTransport::end_streams(TransportEvents& events) {
  if (ended_streams_.empty()) return false;
  for (const auto& [link, reason] : std::exchange(ended_streams_, {})) go_down(link, reason, events);
  return true;
}

// Where one thing follows the other, sleeping and being woken takes longer than they do: so once something came soon, the
// next is waited for awake, for a moment. Where others want the processor, it sleeps: who is woken gets it sooner than who
// gave way.
int ZmqTransport::wait(std::span<epoll_event> ready, int timeout) {
  const auto look = [&](int limit) {
    return epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), limit);
  };
  if (timeout == 0) return look(0);
  const TimePoint begin = Clock::now();
  if (lively_ && begin >= rested_) {
    for (TimePoint last = begin, now = begin; now - begin < kAwake; last = now) {
      if (const int count = look(0); count != 0) return count;
      sched_yield();
      now = Clock::now();
      if (now - last >= kPushedAside) rest(now);
    }
  }
  const int count = look(timeout);
  lively_ = count > 0 && Clock::now() - begin < kSoon;
  return count;
}

// Longer each time, where others go on.
void ZmqTransport::rest(TimePoint now) {
  rest_ = now - rested_ < rest_ ? std::min(2 * rest_, kMostRest) : kLeastRest;
  rested_ = now + rest_;
}

void ZmqTransport::sleep(TimePoint until, TransportEvents& events) {
  bool more = false;
  for (LocalPipe* const pipe : local_.ready()) more |= pipe->reader->about_to_sleep();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  epoll_event ready[32];
  const int timeout =
      more ? 0 : static_cast<int>(std::clamp<int64_t>(left, 0, guard_.alert() ? kAlertMs : 60000));
  const int count = wait(ready, timeout);
  for (LocalPipe* const pipe : local_.ready()) pipe->reader->awake();
  std::vector<LinkId> ended;
  for (int i = 0; i < count; ++i) {
    const int file = ready[i].data.fd;
    if (file == doorbell_.get()) {
      uint64_t rings;
      [[maybe_unused]] const ssize_t read = ::read(file, &rings, sizeof(rings));
    } else if (file == accepting_events_.file()) {
      read_monitor(accepting_events_, false);
    } else if (file == dialling_events_.file()) {
      read_monitor(dialling_events_, true);
    } else if (zap_.get() && file == zap_.file()) {
      answer_who_may_connect();
    } else if ((!streams_ || !streams_->on_file(file, ready[i].events)) && !local_.on_file(file, ended)) {
      look_ = true;
    }
  }
  receive_all(events);
  read_streams(events);
  read_rings(events);
  end_broken(events);
  for (const LinkId link : ended) go_down(link, "its process has ended", events);
}

// After all else was read: what a peer said last, such as goodbye, lies in another place than the news of its end.
void ZmqTransport::end_broken(TransportEvents& events) {
  for (const auto& [link, reason] : std::exchange(broken_, {})) go_down(link, reason, events);
}

void ZmqTransport::go_down(LinkId link, std::string_view reason, TransportEvents& events) {
  if (!routes_.contains(link)) return;
  local_.close(link);
  events.on_down(link, reason);
}

bool ZmqTransport::receive(ZmqSocket& socket, bool dialled, TransportEvents& events) {
  for (int i = 0; i < kAtATime; ++i) {
    std::string id;
    std::vector<Buffer> frames;
    int file = -1;
    if (!receive_message(socket, kMaxParts, id, frames, file)) return i > 0;
    on_frames(dialled, id, std::move(frames), file, events);
  }
  return true;
}

void ZmqTransport::on_frames(bool dialled, const std::string& id, std::vector<Buffer>&& frames, int file,
                             TransportEvents& events) {
  if (!dialled && ignored_.contains(id)) return;
  const auto known = by_id_[dialled].find(id);
  if (known == by_id_[dialled].end() && dialled) return;  // hung up
  Packet packet;
  if (frames.empty() || frames[0].size() > options_.header_bytes ||
      !codec_.decode(frames[0].bytes(), packet.header)) {
    complain("bytes that are no packet came; their sender is ignored");
    if (known != by_id_[dialled].end())
      return go_down(known->second, "it sent bytes that are no packet", events);
    if (ignored_.insert(id).second) ignored_order_.push_back(id);
    guard_.cut(file);
    return;
  }
  if (!dialled) guard_.message_from(file);
  LinkId link;
  if (known == by_id_[dialled].end()) {
    link = next_link_++;
    by_id_[0][id] = link;
    routes_[link].id = id;
  } else {
    link = known->second;
  }
  Route& route = routes_[link];
  if (route.file != file) {
    route.file = file;
    by_file_[file] = link;
  }
  if (packet.header.kind == PacketKind::none) {
    broken_.emplace_back(link, "the other end closed it");
    return;
  }
  packet.body.assign(std::make_move_iterator(frames.begin() + 1), std::make_move_iterator(frames.end()));
  events.on_packet(link, std::move(packet));
}

bool ZmqTransport::read_rings(TransportEvents& events) {
  bool any = false;
  const std::vector<LocalPipe*>& ready = local_.ready();
  for (size_t i = 0; i < ready.size();) {
    LocalPipe* const pipe = ready[i];
    read_ring(*pipe, events, any);
    if (i < ready.size() && ready[i] == pipe) ++i;  // else it was closed, and the next is in its place
  }
  return any;
}

void ZmqTransport::read_ring(LocalPipe& pipe, TransportEvents& events, bool& any) {
  const LinkId link = pipe.link;
  if (pipe.waiting && pipe.writer->room()) {
    pipe.waiting = false;
    any = true;
    events.on_writable(link);
  }
  for (int i = 0; i < kAtATime; ++i) {
    LocalPipe* const still = local_.pipe(link);
    if (!still) return;
    Bytes header, body;
    const RingReader::Result result = still->reader->next(header, body);
    if (result == RingReader::Result::none) return;
    any = true;
    // Decoded from a copy: the other side could change the bytes in the meantime.
    header_.assign(reinterpret_cast<const char*>(header.data()),
                   std::min(header.size(), options_.header_bytes));
    Packet packet;
    if (result == RingReader::Result::broken || header.size() > options_.header_bytes ||
        body.size() > kMaxFrame || !codec_.decode(std::as_bytes(std::span(header_)), packet.header)) {
      complain("shared memory held no packet; its writer is dropped");
      return go_down(link, "it broke the shared memory", events);
    }
    packet.transient = true;
    if (!body.empty()) packet.body.push_back(Buffer::borrow(body));
    events.on_packet(link, std::move(packet));
    if (LocalPipe* const after = local_.pipe(link); after && after->reader->done()) after->ring();
  }
}

void ZmqTransport::read_monitor(ZmqSocket& monitor, bool dialled) {
  SocketEvent event;
  while (receive_event(monitor, event)) {
    if (event.kind == ZMQ_EVENT_ACCEPTED) {
      guard_.accepted(event.value);
      continue;
    }
    if (event.kind != ZMQ_EVENT_DISCONNECTED) {
      const char* const what =
          event.kind == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL
              ? "broke off its handshake (it ended, has other keys or none, or is no peer at all)"
              : "was refused: its handshake failed (wrong keys, none, or no peer at all)";
      complain(fmt::format("a peer {} {} {}", dialled ? "called at" : "that came to", event.endpoint, what));
      continue;
    }
    if (!dialled) guard_.gone(event.value);
    const auto found = by_file_.find(event.value);
    if (found == by_file_.end()) continue;
    const LinkId link = found->second;
    const auto route = routes_.find(link);
    if (route == routes_.end() || route->second.dialled != dialled) continue;
    by_file_.erase(found);
    broken_.emplace_back(link, "the connection broke");
    look_ = true;
  }
}

void ZmqTransport::guard(TimePoint now) {
  int cut = guard_.check(now);
  if (streams_) cut += streams_->check(now);
  if (cut > 0) complain("connections that sent no packets were cut");
}

void ZmqTransport::answer_who_may_connect() {
  for (;;) {
    std::vector<std::string> request;
    ZmqFrame first;
    if (!first.receive(zap_)) return;
    request.emplace_back(first.text());
    for (bool more = first.more(); more;) {
      ZmqFrame next;
      if (!next.receive(zap_)) break;
      more = next.more();
      request.emplace_back(next.text());
    }
    bool good = request.size() == 7 && request[5] == "CURVE" && request[6].size() == 32;
    if (good) {
      char key[kKeyCharacters + 1];
      zmq_z85_encode(key, reinterpret_cast<const uint8_t*>(request[6].data()), 32);
      good = trusted_.contains(key);
    }
    const std::string id = request.size() > 1 ? request[1] : std::string();
    const std::string_view parts[] = {"1.0", id, good ? "200" : "400", good ? "OK" : "not trusted", "", ""};
    for (size_t i = 0; i < std::size(parts); ++i) {
      send_part(zap_, std::as_bytes(std::span(parts[i])), i + 1 < std::size(parts));
    }
  }
}

// An offer has a word for each shorter way: the machine's name, for shared memory, and whether a stream is wanted.
std::string ZmqTransport::offer(LinkId) {
  std::string offer = options_.shared_memory ? local_.offer() : std::string();
  if (streams_) offer += kStreamOffer;
  return offer;
}
std::string ZmqTransport::answer(LinkId link, std::string_view offer) {
  const bool stream = offer.ends_with(kStreamOffer);
  if (stream) offer.remove_suffix(kStreamOffer.size());
  std::string answer;
  if (options_.shared_memory && !offer.empty()) answer = local_.answer(link, offer);
  return answer.empty() && stream && streams_ ? streams_->answer(link) : answer;
}
void ZmqTransport::settle(LinkId link, std::string_view answer) {
  const auto route = routes_.find(link);
  if (answer.empty() || route == routes_.end()) return;
  if (streams_) streams_->settle(link, answer, route->second.file);
  if (options_.shared_memory) local_.settle(link, answer);
}

std::string ZmqTransport::describe(LinkId link) const {
  if (const_cast<LocalPeers&>(local_).pipe(link)) return "shared memory";
  const bool stream = streams_ && streams_->uses(link);
  if (!trusted_.empty()) return stream ? "tcp with keys, plain payloads" : "tcp with keys";
  return stream ? "tcp" : "tcp by ZeroMQ";
}

void ZmqTransport::complain(const std::string& what) {
  const TimePoint now = Clock::now();
  if (now - complained_ < kComplainEvery) return;
  complained_ = now;
  log(LogLevel::warning, "[comm] {}: {}.", address_.substr(0, address_.find('|')), what);
}

namespace {

KeyPair make_keys() {
  char public_key[kKeyCharacters + 1], secret_key[kKeyCharacters + 1];
  if (zmq_curve_keypair(public_key, secret_key) != 0) throw_zmq_error("no keys can be made");
  return {public_key, secret_key};
}

}  // namespace
}  // namespace loomix::comm

extern "C" [[gnu::visibility("default")]] const loomix::comm::NetworkModule loomix_network_module;
const loomix::comm::NetworkModule loomix_network_module = {
    loomix::comm::kNetworkModuleVersion,
    [](loomix::comm::NetworkOptions options) -> std::unique_ptr<loomix::comm::Transport> {
      return std::make_unique<loomix::comm::ZmqTransport>(std::move(options));
    },
    [] { return loomix::comm::make_keys(); },
};
