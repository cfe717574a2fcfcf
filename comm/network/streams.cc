// SPDX-License-Identifier: Apache-2.0
#include "comm/network/streams.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/error.h"

namespace loomix::comm {
namespace {

constexpr std::string_view kAnswer = "stream ";
constexpr size_t kTokenBytes = 16;
constexpr uint64_t kSealedFrom = 4096;  // smaller payloads are encrypted in no time
constexpr size_t kMaxExpected = 4096;
constexpr size_t kMaxArriving = 256;
constexpr Duration kSpeakWithin = std::chrono::seconds(10);
constexpr Duration kCheckEvery = std::chrono::milliseconds(200);

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// Empty for what is no such text.
std::string from_hex(std::string_view text, size_t bytes) {
  if (text.size() != 2 * bytes) return {};
  std::string result(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) {
    uint8_t byte = 0;
    const char* const end = text.data() + 2 * i + 2;
    if (std::from_chars(end - 2, end, byte, 16).ptr != end) return {};
    result[i] = static_cast<char>(byte);
  }
  return result;
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  // Null where it is of another family.
  in_port_t* port() {
    if (storage.ss_family == AF_INET) return &reinterpret_cast<sockaddr_in*>(&storage)->sin_port;
    if (storage.ss_family == AF_INET6) return &reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port;
    return nullptr;
  }
  Bytes host() const {
    if (storage.ss_family == AF_INET)
      return std::as_bytes(std::span(&reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr, 1));
    return std::as_bytes(std::span(&reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr, 1));
  }
};

// Small packets leave at once. Between processes of one machine nothing is to be guarded against congestion: there "reno", which
// is always to be had, moves twice the bytes of "bbr", the default of many systems, which spaces them out.
void set_up(int socket) {
  const int one = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  Address here, there;
  if (getsockname(socket, here.get(), &here.size) != 0 || getpeername(socket, there.get(), &there.size) != 0)
    return;
  constexpr std::string_view kPlain = "reno";
  if (std::ranges::equal(here.host(), there.host()))
    setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, kPlain.data(), kPlain.size());
}

}  // namespace

Streams::Streams(int epoll, const std::string& listening, bool sealed, size_t header_bytes)
    : epoll_(epoll), sealed_(sealed), header_bytes_(header_bytes) {
  if (!listening.empty()) listen(listening);
}

// Where that fails nobody hears of a port, and ZeroMQ serves.
void Streams::listen(const std::string& endpoint) {
  const size_t begin = endpoint.rfind('/') + 1;
  std::string host = endpoint.substr(begin, endpoint.rfind(':') - begin);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), "0", &wanted, &found) != 0) return;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> guard(found, freeaddrinfo);
  File socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  Address bound;
  constexpr int kBacklog = 1024;
  if (!socket || bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(socket.get(), kBacklog) != 0 || getsockname(socket.get(), bound.get(), &bound.size) != 0 ||
      !bound.port())
    return;
  port_ = ntohs(*bound.port());
  listener_ = std::move(socket);
  watch(listener_.get());
}

void Streams::watch(int file) const {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.fd = file;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, file, &event);
}

std::string Streams::answer(LinkId link) {
  // Who calls says hello until it is welcomed.
  if (const auto known = answers_.find(link); known != answers_.end()) return known->second;
  if (port_ == 0 || expected_.size() >= kMaxExpected) return {};
  const std::string token = random_bytes(kTokenBytes), key = sealed_ ? random_bytes(Seal::kKeyBytes) : "";
  std::string answer = fmt::format("{}{} {}", kAnswer, port_, to_hex(token));
  if (sealed_) answer += ' ' + to_hex(key);
  expected_[token] = {link, key};
  answers_[link] = answer;
  return answer;
}

void Streams::settle(LinkId link, std::string_view answer, int connection) {
  if (!answer.starts_with(kAnswer) || streams_.contains(link)) return;
  answer.remove_prefix(kAnswer.size());
  uint16_t port = 0;
  const char* const end = answer.data() + answer.size();
  const auto [after, fault] = std::from_chars(answer.data(), end, port);
  constexpr size_t kTokenText = 2 * kTokenBytes;
  if (fault != std::errc() || port == 0 || end - after < static_cast<ptrdiff_t>(1 + kTokenText)) return;
  const std::string token = from_hex({after + 1, kTokenText}, kTokenBytes);
  const char* const rest = after + 1 + kTokenText;
  std::optional<Seal> seal;
  if (sealed_) {
    const std::string key = rest == end
                                ? std::string()
                                : from_hex({rest + 1, static_cast<size_t>(end - rest - 1)}, Seal::kKeyBytes);
    if (key.empty()) return;
    seal.emplace(key);
  }
  Address to;
  if (token.empty() || (rest != end && !sealed_) || getpeername(connection, to.get(), &to.size) != 0 ||
      !to.port())
    return;
  *to.port() = htons(port);
  File socket(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket || (connect(socket.get(), to.get(), to.size) != 0 && errno != EINPROGRESS)) return;
  Stream& stream = keep(
      std::make_unique<Stream>(link, std::move(socket), true, std::move(seal), header_bytes_, unfinished_));
  stream.put_raw(std::as_bytes(std::span(token)));
  stream.put({}, {});
  watch(stream.file());
}

Stream& Streams::keep(std::unique_ptr<Stream> stream) {
  Stream& kept = *stream;
  by_file_[kept.file()] = &kept;
  streams_[kept.link] = std::move(stream);
  return kept;
}

void Streams::close(LinkId link) {
  std::erase_if(expected_, [link](const auto& entry) { return entry.second.link == link; });
  answers_.erase(link);
  const auto found = streams_.find(link);
  if (found == streams_.end()) return;
  found->second->open = false;
  by_file_.erase(found->second->file());
  closed_.push_back(std::move(found->second));
  streams_.erase(found);
}

bool Streams::uses(LinkId link) const {
  const auto found = streams_.find(link);
  return found != streams_.end() && found->second->heard;
}

bool Streams::wants(LinkId link, const Packet& packet) const {
  if (!uses(link)) return false;
  switch (packet.header.kind) {
    case PacketKind::none:
    case PacketKind::hello:
    case PacketKind::welcome:
    case PacketKind::refuse: return false;
    default: return !sealed_ || packet.body_bytes() >= kSealedFrom;
  }
}

bool Streams::send(LinkId link, const Packet& packet, HeaderCodec& codec) {
  Stream& stream = *streams_.at(link);
  if (stream.full()) {
    stream.waiting = true;
    return false;
  }
  stream.put(std::as_bytes(std::span(codec.encode(packet.header))), packet.body);
  if (!stream.large() || !stream.flush()) mark(stream, false);
  return true;
}

void Streams::mark(Stream& stream, bool readable) {
  if (std::exchange(readable ? stream.readable : stream.dirty, true)) return;
  (readable ? readable_ : dirty_).push_back(&stream);
}

bool Streams::on_file(int file, uint32_t events) {
  if (listener_ && file == listener_.get()) {
    accept();
    return true;
  }
  const bool stranger = arriving_.contains(file);
  if (stranger) hear(file);
  const auto known = by_file_.find(file);
  if (known == by_file_.end()) return stranger;
  Stream& stream = *known->second;
  constexpr uint32_t kEnds = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  if (stream.dialled && !stream.connected) {
    if ((events & kEnds) == 0 && (events & EPOLLOUT) != 0) {
      stream.connected = true;
      set_up(file);
    }
  }
  if ((events & kEnds) != 0) stream.ending = true;
  if ((events & (EPOLLIN | kEnds)) != 0) mark(stream, true);
  if ((events & EPOLLOUT) != 0 && stream.pending()) mark(stream, false);
  return true;
}

void Streams::accept() {
  while (listener_) {
    File socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    if (arriving_.size() >= kMaxArriving) {
      arriving_.erase(
          std::ranges::min_element(arriving_, {}, [](const auto& entry) { return entry.second.since; }));
    }
    const int file = socket.get();
    arriving_[file] = {std::move(socket), {}, Clock::now()};
    watch(file);
  }
}

void Streams::hear(int file) {
  Arriving& stranger = arriving_.at(file);
  char bytes[kTokenBytes];
  const ssize_t came = recv(file, bytes, kTokenBytes - stranger.said.size(), MSG_DONTWAIT);
  if (came < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (came > 0) stranger.said.append(bytes, static_cast<size_t>(came));
  if (came > 0 && stranger.said.size() < kTokenBytes) return;
  const auto expected = expected_.find(stranger.said);
  if (expected != expected_.end()) {
    const auto [link, key] = expected->second;
    expected_.erase(expected);
    std::optional<Seal> seal;
    if (sealed_) seal.emplace(key);
    set_up(file);
    Stream& stream = keep(std::make_unique<Stream>(link, std::move(stranger.socket), false, std::move(seal),
                                                   header_bytes_, unfinished_));
    stream.put({}, {});
    mark(stream, false);
    mark(stream, true);
  }
  arriving_.erase(file);
}

bool Streams::flush(TransportEvents& events, std::vector<Ended>& ended) {
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
    if (!stream->flush()) {
      drop(*stream, "the connection broke", ended);
    } else if (!stream->pending() && std::exchange(stream->waiting, false)) {
      told = true;
      events.on_writable(stream->link);
    }
  }
  return told;
}

bool Streams::read(HeaderCodec& codec, TransportEvents& events, std::vector<Ended>& ended) {
  if (readable_.empty()) return false;
  looked_at_.clear();
  looked_at_.swap(readable_);
  for (Stream* const stream : looked_at_) {
    stream->readable = false;
    if (!stream->open) continue;
    switch (stream->read(codec, events)) {
      case Stream::Result::drained: break;
      case Stream::Result::more: mark(*stream, true); break;
      case Stream::Result::ended: drop(*stream, "the connection broke", ended); break;
      case Stream::Result::broken: drop(*stream, "it sent bytes that are no packet", ended); break;
    }
  }
  return true;
}

// One that was never in use is not missed.
void Streams::drop(Stream& stream, std::string_view reason, std::vector<Ended>& ended) {
  if (!stream.open) return;
  if (stream.heard) {
    ended.push_back({stream.link, reason});
  } else {
    close(stream.link);
  }
}

int Streams::check(TimePoint now) {
  if (now - checked_ < kCheckEvery) return 0;
  checked_ = now;
  accept();  // those for which this process had no file left
  const auto late = [now](TimePoint since) { return now - since > kSpeakWithin; };
  const size_t strangers =
      std::erase_if(arriving_, [&](const auto& entry) { return late(entry.second.since); });
  std::vector<LinkId> silent;
  for (const auto& [link, stream] : streams_) {
    if (!stream->heard && late(stream->since)) silent.push_back(link);
  }
  for (const LinkId link : silent) close(link);
  return static_cast<int>(strangers);
}

}  // namespace loomix::comm
