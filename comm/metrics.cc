// SPDX-License-Identifier: Apache-2.0
#include "comm/metrics.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "comm/endpoint.h"

namespace loomix::comm {
namespace {

constexpr size_t kMostReaders = 16;
constexpr size_t kMostRequest = 8192;
constexpr auto kPatience = std::chrono::seconds(5);

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string response(std::string_view status, std::string_view type, std::string_view body) {
  return fmt::format("HTTP/1.0 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                     status, type, body.size(), body);
}

}  // namespace

MetricsText& MetricsText::family(std::string_view name, std::string_view help, std::string_view kind) {
  name_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
  return *this;
}

MetricsText& MetricsText::value(double number, Labels labels) {
  text_ += name_;
  char before = '{';
  for (const auto& [label, text] : labels) {
    text_ += fmt::format("{}{}={}", before, label, quoted(text));
    before = ',';
  }
  if (labels.size() > 0) text_ += '}';
  text_ += fmt::format(" {:.15g}\n", number);
  return *this;
}

void add_endpoint_metrics(MetricsText& metrics, const Endpoint& endpoint) {
  const EndpointStats stats = endpoint.stats();
  const auto whole = [&](const char* name, const char* help, uint64_t value) {
    metrics.counter(name, help).value(static_cast<double>(value));
  };
  whole("loomix_requests_total", "Requests made.", stats.requests);
  whole("loomix_retries_total", "Requests sent again because no answer had come.", stats.retries);
  whole("loomix_repeats_total", "Requests that came again.", stats.repeats);
  whole("loomix_refused_total", "Packets that broke a rule, and peers that were refused.", stats.refused);
  const std::vector<PeerInfo> peers = endpoint.peers();
  struct Family {
    const char* name;
    const char* help;
    bool counts;
    double (*of)(const PeerInfo&);
  };
  static constexpr Family kFamilies[] = {
      {"loomix_peer_up", "1 while the peer is there.", false,
       [](const PeerInfo& p) { return p.up ? 1.0 : 0.0; }},
      {"loomix_peer_sent_bytes_total", "Payload sent to the peer.", true,
       [](const PeerInfo& p) { return static_cast<double>(p.sent_bytes); }},
      {"loomix_peer_received_bytes_total", "Payload received from the peer.", true,
       [](const PeerInfo& p) { return static_cast<double>(p.received_bytes); }},
      {"loomix_peer_sent_messages_total", "Packets sent to the peer.", true,
       [](const PeerInfo& p) { return static_cast<double>(p.sent_packets); }},
      {"loomix_peer_received_messages_total", "Packets received from the peer.", true,
       [](const PeerInfo& p) { return static_cast<double>(p.received_packets); }},
      {"loomix_peer_queued_messages", "Messages that wait to be sent to the peer.", false,
       [](const PeerInfo& p) { return static_cast<double>(p.queued_messages); }},
      {"loomix_peer_requests_in_flight", "Requests to the peer without an answer yet.", false,
       [](const PeerInfo& p) { return static_cast<double>(p.requests_in_flight); }},
      {"loomix_peer_silent_seconds", "Time since the peer was heard last; a heartbeat asks a silent one.",
       false, [](const PeerInfo& p) { return p.silent_s; }},
      {"loomix_peer_round_trip_seconds", "Of the last heartbeat.", false,
       [](const PeerInfo& p) { return p.round_trip_s; }},
  };
  for (const Family& family : kFamilies) {
    family.counts ? metrics.counter(family.name, family.help) : metrics.gauge(family.name, family.help);
    for (const PeerInfo& peer : peers) {
      metrics.value(family.of(peer), {{"peer", peer.id.name.to_string()},
                                      {"route", peer.route.empty() ? "none" : peer.route}});
    }
  }
}

class MetricsServer::Loop {
 public:
  Loop(const std::string& host, uint16_t port, std::function<std::string()> make_text)
      : make_text_(std::move(make_text)) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    const std::string service = std::to_string(port);
    const int unknown = getaddrinfo(host.c_str(), service.c_str(), &hints, &found);
    LOOMIX_CHECK(unknown == 0, NetworkError, "[metrics] cannot find the host '{}': {}.", host,
                 gai_strerror(unknown));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> freed(found, freeaddrinfo);
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int yes = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(listener_, found->ai_addr, found->ai_addrlen) != 0 || listen(listener_, 16) != 0) {
      const int reason = errno;
      close(listener_);
      throw NetworkError(
          fmt::format("[metrics] cannot listen at {}:{}: {}.", host, port, std::strerror(reason)));
    }
    sockaddr_in bound{};
    socklen_t size = sizeof(bound);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &size);
    port_ = ntohs(bound.sin_port);
    stop_ = eventfd(0, EFD_CLOEXEC);
    thread_ = std::thread([this] { run(); });
  }
  ~Loop() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_, &one, sizeof(one));
    thread_.join();
    for (const Reader& reader : readers_) close(reader.file);
    close(listener_);
    close(stop_);
  }
  uint16_t port() const { return port_; }

 private:
  struct Reader {
    int file;
    std::chrono::steady_clock::time_point until;
    std::string request = {}, answer = {};
    size_t sent = 0;
    bool done = false;
  };

  void run() {
    for (;;) {
      std::vector<pollfd> files = {{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
      for (const Reader& reader : readers_)
        files.push_back({reader.file, static_cast<short>(reader.answer.empty() ? POLLIN : POLLOUT), 0});
      poll(files.data(), files.size(), readers_.empty() ? -1 : 1000);
      if (files[0].revents != 0) return;
      const auto now = std::chrono::steady_clock::now();
      for (size_t i = 0; i < readers_.size(); ++i) {
        if (files[i + 2].revents != 0) serve(readers_[i]);
        readers_[i].done |= now >= readers_[i].until;
      }
      std::erase_if(readers_, [](const Reader& reader) {
        if (reader.done) close(reader.file);
        return reader.done;
      });
      if (files[1].revents != 0) accept_one(now);
    }
  }

  void accept_one(std::chrono::steady_clock::time_point now) {
    const int file = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (file < 0) {
      if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      return;
    }
    if (readers_.size() < kMostReaders) {
      readers_.push_back({.file = file, .until = now + kPatience});
    } else {
      close(file);
    }
  }

  void serve(Reader& reader) {
    if (reader.answer.empty()) {
      char bytes[2048];
      const ssize_t count = recv(reader.file, bytes, sizeof(bytes), 0);
      if (count <= 0) {
        reader.done = count == 0 || (errno != EAGAIN && errno != EINTR);
        return;
      }
      reader.request.append(bytes, static_cast<size_t>(count));
      const bool whole = reader.request.find("\r\n\r\n") != std::string::npos ||
                         reader.request.find("\n\n") != std::string::npos;
      if (!whole && reader.request.size() < kMostRequest) return;
      reader.answer = answer_to(whole ? reader.request.substr(0, reader.request.find_first_of("\r\n")) : "");
    }
    const ssize_t count = send(reader.file, reader.answer.data() + reader.sent,
                               reader.answer.size() - reader.sent, MSG_NOSIGNAL);
    if (count < 0) {
      reader.done = errno != EAGAIN && errno != EINTR;
      return;
    }
    reader.sent += static_cast<size_t>(count);
    if (reader.sent < reader.answer.size()) return;
    shutdown(reader.file, SHUT_WR);
    reader.done = true;
  }

  std::string answer_to(const std::string& line) {
    const size_t space = line.find(' ');
    const std::string method = line.substr(0, space);
    std::string path =
        space == std::string::npos ? "" : line.substr(space + 1, line.find(' ', space + 1) - space - 1);
    path = path.substr(0, path.find('?'));
    if (method != "GET") return response("400 Bad Request", "text/plain", "only GET is understood\n");
    if (path != "/metrics" && path != "/") return response("404 Not Found", "text/plain", "see /metrics\n");
    try {
      return response("200 OK", "text/plain; version=0.0.4; charset=utf-8", make_text_());
    } catch (const std::exception& error) {
      return response("500 Internal Server Error", "text/plain", error.what());
    }
  }

  const std::function<std::string()> make_text_;
  int listener_ = -1, stop_ = -1;
  uint16_t port_ = 0;
  std::vector<Reader> readers_;
  std::thread thread_;
};

MetricsServer::MetricsServer(const std::string& host, uint16_t port, std::function<std::string()> make_text)
    : loop_(std::make_unique<Loop>(host, port, std::move(make_text))) {}
MetricsServer::~MetricsServer() = default;
uint16_t MetricsServer::port() const { return loop_->port(); }

}  // namespace loomix::comm
