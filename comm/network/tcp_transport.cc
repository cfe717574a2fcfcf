// SPDX-License-Identifier: Apache-2.0
#include "comm/network/tcp_transport.h"

#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace loomix::comm {
namespace {

constexpr size_t kMaxRingBody = size_t{4} << 20;  // pieces are smaller
constexpr size_t kMaxStrangers = 256;             // at a time; more wait in the port's queue
constexpr Duration kHearStrangers = std::chrono::seconds(1);
constexpr Duration kSpeakWithin = std::chrono::seconds(10);
constexpr Duration kCheckEvery = std::chrono::milliseconds(200);
constexpr int kAtATime = 64;  // packets, before others get their turn
constexpr int kMostSleepMs = 60000;
constexpr Duration kAwake = std::chrono::microseconds(50);
constexpr Duration kSoon = 2 * kAwake;
constexpr Duration kPushedAside = std::chrono::microseconds(300);
constexpr Duration kLeastRest = std::chrono::milliseconds(20), kMostRest = std::chrono::seconds(2);
constexpr Duration kComplainEvery = std::chrono::seconds(1);
constexpr uint32_t kStreamEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
constexpr uint32_t kEnds = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

void set_option(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof(value));
}

}  // namespace

TcpTransport::TcpTransport(NetworkOptions options)
    : options_(std::move(options)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      doorbell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      local_(epoll_.get(), doorbell_.get(), options_.ring_bytes),
      names_(doorbell_.get()) {
  if (!options_.keys.empty()) tls_.emplace(options_.keys);
  watch(doorbell_.get(), EPOLLIN);
  if (!options_.listen.empty()) listen();
}

void TcpTransport::listen() {
  const Address wanted = parse_address(options_.listen);
  LOOMIX_CHECK(tls_ || options_.trusted_network || is_loopback(wanted.host), ValueError,
               "[comm] '{}' can be reached from other machines, and there are no keys; make some with "
               "`python -m loomix keys`, or declare the network trusted.",
               options_.listen);
  const SocketAddress at = SocketAddress::resolve(wanted);
  File socket(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  LOOMIX_CHECK(socket, NetworkError, "[comm] no socket to listen at {}: {}.", options_.listen,
               std::strerror(errno));
  // A node that is started again gets its port although old connections are still being forgotten.
  set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  constexpr int kBacklog = 1024;
  LOOMIX_CHECK(bind(socket.get(), at.get(), at.size()) == 0 && ::listen(socket.get(), kBacklog) == 0,
               NetworkError, "[comm] cannot listen at {}: {}.", options_.listen, std::strerror(errno));
  std::string host = options_.advertise;
  if (host.empty()) host = wanted.host == "0.0.0.0" || wanted.host == "*" ? first_outer_host() : wanted.host;
  address_ = fmt::format("tcp://{}:{}", host, SocketAddress::of_own(socket.get()).port());
  listener_ = std::move(socket);
  watch(listener_.get(), kStreamEvents);
}

void TcpTransport::watch(int file, uint32_t events) const {
  epoll_event event{};
  event.events = events;
  event.data.fd = file;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, file, &event);
}

// Small packets leave at once. Where the other machine's system confirms nothing, also not that it is there, the connection ends.
void TcpTransport::set_up(int socket) const {
  using std::chrono::duration_cast;
  const auto patience = duration_cast<std::chrono::milliseconds>(options_.dead_after).count();
  const auto seconds = duration_cast<std::chrono::seconds>(options_.dead_after).count();
  constexpr int kProbes = 3;
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(patience));
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(std::max<int64_t>(1, seconds / 2)));
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL,
             static_cast<int>(std::max<int64_t>(1, seconds / (2 * kProbes))));
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

// Between processes of one machine nothing is to be guarded against congestion: there "reno", which is always to be had, moves
// twice the bytes of "bbr", the default of many systems, which spaces them out.
void set_up_local(int socket) {
  constexpr std::string_view kPlain = "reno";
  if (std::ranges::equal(SocketAddress::of_own(socket).host(), SocketAddress::of_peer(socket).host()))
    setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, kPlain.data(), kPlain.size());
}

LinkId TcpTransport::connect(const std::string& text) {
  const Address to = parse_address(text);
  LOOMIX_CHECK(tls_ || options_.trusted_network || is_loopback(to.host), ValueError,
               "[comm] {} is another machine, and this node has no keys; make some with `python -m loomix "
               "keys`, or declare the network trusted.",
               text);
  Stream& stream = add(next_link_++, true);
  if (SocketAddress address; SocketAddress::from_numbers(to, address)) {
    dial(stream, address);
  } else {
    names_.start(stream.link, to);
  }
  return stream.link;
}

Stream& TcpTransport::add(LinkId link, bool dialled) {
  return *(streams_[link] = std::make_unique<Stream>(link, dialled, options_.header_bytes, unfinished_));
}

void TcpTransport::use(Stream& stream, File socket) {
  const int file = socket.get();
  stream.use(std::make_unique<Wire>(std::move(socket), tls_ ? &*tls_ : nullptr, stream.dialled));
  by_file_[file] = &stream;
  watch(file, kStreamEvents);
}

void TcpTransport::dial(Stream& stream, const SocketAddress& to) {
  File socket(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket) set_up(socket.get());
  if (!socket || (::connect(socket.get(), to.get(), to.size()) != 0 && errno != EINPROGRESS))
    return end(stream, std::strerror(errno));
  use(stream, std::move(socket));
}

void TcpTransport::take_lookups() {
  for (const NameLookup::Found& found : names_.take()) {
    const auto stream = streams_.find(found.link);
    if (stream == streams_.end()) continue;
    if (found.fault.empty()) {
      dial(*stream->second, found.address);
    } else {
      end(*stream->second, found.fault);
    }
  }
}

void TcpTransport::close(LinkId link) {
  local_.close(link);
  const auto found = streams_.find(link);
  if (found == streams_.end()) return;
  Stream& stream = *found->second;
  if (stream.open && stream.phase == Stream::Phase::talking) stream.flush();  // such as why, or goodbye
  stream.open = false;
  by_file_.erase(stream.file());
  strangers_.erase(link);
  closed_.push_back(std::move(found->second));
  streams_.erase(found);
}

bool TcpTransport::send(LinkId link, const Packet& packet) {
  if (LocalPipe* const pipe = local_.pipe(link)) {
    const std::string& header = codec_.encode(packet.header);
    if (!pipe->writer->write(std::as_bytes(std::span(header)), packet.body)) {
      pipe->waiting = true;
      return false;
    }
    if (pipe->writer->reader_sleeps()) pipe->ring();
    return true;
  }
  const auto found = streams_.find(link);
  if (found == streams_.end()) return true;
  Stream& stream = *found->second;
  if (stream.full()) {
    stream.waiting = true;
    return false;
  }
  const bool talking = stream.phase == Stream::Phase::talking;
  if (!talking && std::exchange(stream.dirty, true)) return true;  // hello is said again until it is heard
  stream.put(std::as_bytes(std::span(codec_.encode(packet.header))), packet.body);
  if (talking && (!stream.large() || !stream.flush())) mark(stream, false);
  return true;
}

void TcpTransport::wake() noexcept {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(doorbell_.get(), &one, sizeof(one));
}

void TcpTransport::mark(Stream& stream, bool readable) {
  if (std::exchange(readable ? stream.readable : stream.dirty, true)) return;
  (readable ? readable_ : dirty_).push_back(&stream);
}

void TcpTransport::poll(TimePoint until, TransportEvents& events) {
  const bool any = move_all(events);
  tell_ended(events);
  cut_silent(Clock::now());
  sleep(any ? TimePoint{} : until, events);
}

bool TcpTransport::move_all(TransportEvents& events) {
  bool any = flush_streams(events);
  any |= read_streams(events);
  any |= read_rings(events);
  return any;
}

// Where one thing follows the other, sleeping and being woken takes longer than they do: so once something came soon, the
// next is waited for awake, for a moment. Where others want the processor, it sleeps: who is woken gets it sooner than who
// gave way.
int TcpTransport::wait(std::span<epoll_event> ready, int timeout) {
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
void TcpTransport::rest(TimePoint now) {
  rest_ = now - rested_ < rest_ ? std::min(2 * rest_, kMostRest) : kLeastRest;
  rested_ = now + rest_;
}

void TcpTransport::sleep(TimePoint until, TransportEvents& events) {
  bool more = !ended_.empty();
  for (LocalPipe* const pipe : local_.ready()) more |= pipe->reader->about_to_sleep();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  epoll_event ready[32];
  const int count = wait(ready, more ? 0 : static_cast<int>(std::clamp<int64_t>(left, 0, kMostSleepMs)));
  for (LocalPipe* const pipe : local_.ready()) pipe->reader->awake();
  std::vector<LinkId> ended_pipes;
  for (int i = 0; i < count; ++i) {
    const int file = ready[i].data.fd;
    if (file == doorbell_.get()) {
      on_doorbell();
    } else if (file == listener_.get()) {
      accept();
    } else if (const auto known = by_file_.find(file); known != by_file_.end()) {
      on_stream(*known->second, ready[i].events);
    } else {
      local_.on_file(file, ended_pipes);
    }
  }
  for (const LinkId link : ended_pipes) ended_.push_back({link, "its process has ended"});
  move_all(events);
  tell_ended(events);
}

void TcpTransport::on_doorbell() {
  uint64_t rings;
  [[maybe_unused]] const ssize_t read = ::read(doorbell_.get(), &rings, sizeof(rings));
  take_lookups();
}

void TcpTransport::accept() {
  while (listener_) {
    if (strangers_.size() >= kMaxStrangers) make_room();
    if (strangers_.size() >= kMaxStrangers) return;  // cut_silent() calls again
    File socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    set_up(socket.get());
    set_up_local(socket.get());
    Stream& stream = add(next_link_++, false);
    strangers_[stream.link] = Clock::now();
    use(stream, std::move(socket));
    stream.phase = Stream::Phase::securing;
    secure(stream);
  }
}

// The one that came first goes, if it had time to say who it is.
void TcpTransport::make_room() {
  const auto first = std::ranges::min_element(strangers_, {}, [](const auto& entry) { return entry.second; });
  if (Clock::now() - first->second < kHearStrangers) return;
  complain("a connection that said nothing was cut, since others wait");
  close(first->first);
}

void TcpTransport::cut_silent(TimePoint now) {
  if (now - checked_ < kCheckEvery) return;
  checked_ = now;
  std::vector<LinkId> silent;
  for (const auto& [link, since] : strangers_) {
    if (now - since > kSpeakWithin) silent.push_back(link);
  }
  for (const LinkId link : silent) close(link);
  if (!silent.empty()) complain("connections that said nothing were cut");
  accept();  // those for which there was no room, or no file
}

void TcpTransport::on_stream(Stream& stream, uint32_t events) {
  if ((events & kEnds) != 0) stream.ending = true;
  if (stream.phase == Stream::Phase::calling) {
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(stream.file(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return end(stream, std::strerror(error));
    if ((events & EPOLLOUT) == 0) return;
    set_up_local(stream.file());
    stream.phase = Stream::Phase::securing;
  }
  if (stream.phase == Stream::Phase::securing) secure(stream);
  if (!stream.open || stream.phase != Stream::Phase::talking) return;
  if ((events & (EPOLLIN | kEnds)) != 0) mark(stream, true);
  if ((events & EPOLLOUT) != 0 && stream.pending()) mark(stream, false);
}

void TcpTransport::secure(Stream& stream) {
  switch (stream.wire()->open()) {
    case Wire::State::blocked: return;
    case Wire::State::ended: return end(stream, stream.wire()->fault());
    case Wire::State::going: break;
  }
  stream.phase = Stream::Phase::talking;
  stream.dirty = false;
  mark(stream, false);
  mark(stream, true);
}

bool TcpTransport::flush_streams(TransportEvents& events) {
  if (!closed_.empty()) {
    const auto is_closed = [](const Stream* stream) { return !stream->open; };
    std::erase_if(dirty_, is_closed);
    std::erase_if(readable_, is_closed);
    closed_.clear();
  }
  bool told = false;
  looked_at_.clear();
  looked_at_.swap(dirty_);
  for (Stream* const stream : looked_at_) {
    stream->dirty = false;
    if (!stream->open) continue;
    if (!stream->flush()) {
      // What the other side said last, such as why, may still be there.
      stream->ending = true;
      mark(*stream, true);
    } else if (!stream->pending() && std::exchange(stream->waiting, false)) {
      told = true;
      events.on_writable(stream->link);
    }
  }
  return told;
}

bool TcpTransport::read_streams(TransportEvents& events) {
  if (readable_.empty()) return false;
  looked_at_.clear();
  looked_at_.swap(readable_);
  for (Stream* const stream : looked_at_) {
    stream->readable = false;
    if (!stream->open) continue;
    const bool was_heard = stream->heard;
    const Stream::Result result = stream->read(codec_, events);
    if (!was_heard && stream->heard) strangers_.erase(stream->link);
    switch (result) {
      case Stream::Result::drained: break;
      case Stream::Result::more: mark(*stream, true); break;
      case Stream::Result::ended:
      case Stream::Result::broken: end(*stream, stream->fault()); break;
    }
  }
  return true;
}

// Told after all else was read: what a peer said last, such as goodbye, may lie in another place than the news of its end.
void TcpTransport::end(Stream& stream, std::string reason) {
  if (!stream.open) return;
  if (!reason.empty() && (!stream.dialled || stream.heard))
    complain(fmt::format("refused {}: {}", SocketAddress::of_peer(stream.file()).to_string(), reason));
  if (reason.empty() && stream.dialled && !stream.heard) {
    reason =
        tls_ ? "it hung up; it may have no keys" : "it hung up; it may want keys, and this node has none";
  } else if (reason.empty()) {
    reason = "the connection broke";
  }
  ended_.push_back({stream.link, std::move(reason)});
}

void TcpTransport::tell_ended(TransportEvents& events) {
  for (const auto& [link, reason] : std::exchange(ended_, {})) {
    if (!streams_.contains(link)) continue;
    close(link);
    events.on_down(link, reason);
  }
}

bool TcpTransport::read_rings(TransportEvents& events) {
  bool any = false;
  const std::vector<LocalPipe*>& ready = local_.ready();
  for (size_t i = 0; i < ready.size();) {
    LocalPipe* const pipe = ready[i];
    read_ring(*pipe, events, any);
    if (i < ready.size() && ready[i] == pipe) ++i;  // else it was closed, and the next is in its place
  }
  return any;
}

void TcpTransport::read_ring(LocalPipe& pipe, TransportEvents& events, bool& any) {
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
        body.size() > kMaxRingBody || !codec_.decode(std::as_bytes(std::span(header_)), packet.header)) {
      complain("shared memory held no packet; its writer is dropped");
      ended_.push_back({link, "it broke the shared memory"});
      return;
    }
    packet.transient = true;
    if (!body.empty()) packet.body.push_back(Buffer::borrow(body));
    events.on_packet(link, std::move(packet));
    if (LocalPipe* const after = local_.pipe(link); after && after->reader->done()) after->ring();
  }
}

std::string TcpTransport::offer(LinkId) { return options_.shared_memory ? local_.offer() : std::string(); }
std::string TcpTransport::answer(LinkId link, std::string_view offer) {
  return options_.shared_memory && !offer.empty() ? local_.answer(link, offer) : std::string();
}
void TcpTransport::settle(LinkId link, std::string_view answer) {
  if (options_.shared_memory && !answer.empty()) local_.settle(link, answer);
}

std::string TcpTransport::objection(LinkId link, Role role) {
  const auto found = streams_.find(link);
  if (!tls_ || found == streams_.end()) return {};
  const std::vector<Role>& roles = found->second->wire()->roles();
  if (std::ranges::find(roles, role) != roles.end()) return {};
  std::string all;
  for (const Role one : roles) all += fmt::format("{}{}", all.empty() ? "" : ", ", name_of(one));
  return fmt::format("it calls itself a {}, and its certificate is for {}", name_of(role),
                     all.empty() ? "no role" : all);
}

std::string TcpTransport::describe(LinkId link) const {
  if (const_cast<LocalPeers&>(local_).pipe(link)) return "shared memory";
  return tls_ ? "tcp with TLS" : "tcp";
}

void TcpTransport::complain(const std::string& what) {
  const TimePoint now = Clock::now();
  if (now - complained_ < kComplainEvery) return;
  complained_ = now;
  log(LogLevel::warning, "[comm] {}: {}.", address_, what);
}

}  // namespace loomix::comm

extern "C" [[gnu::visibility("default")]] const loomix::comm::NetworkModule loomix_network_module;
const loomix::comm::NetworkModule loomix_network_module = {
    loomix::comm::kNetworkModuleVersion,
    [](loomix::comm::NetworkOptions options) -> std::unique_ptr<loomix::comm::Transport> {
      return std::make_unique<loomix::comm::TcpTransport>(std::move(options));
    },
    loomix::comm::make_keys,
};
