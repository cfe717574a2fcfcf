// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "tests/cpp/comm/fabric.h"

// Nodes that talk while strangers bother them, and what strangers say.
namespace loomix::comm {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int kFrames = 20000;
inline constexpr size_t kGrowthKib = 160 << 10;  // freed memory is kept for a while
#else
inline constexpr int kFrames = 60000;
inline constexpr size_t kGrowthKib = 32 << 10;
#endif

inline std::unique_ptr<Endpoint> node(NodeName name, const NetworkOptions& options = {}) {
  EndpointOptions patient = quick_options();
  patient.dead_after = 40s;
  patient.reconnect_within = kSilence;
  return std::make_unique<Endpoint>(loomix_network_module.open(options), NodeId{name, new_incarnation()},
                                    patient);
}

inline size_t resident_kib() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  }
  return 0;
}

inline uint16_t port_of(const std::string& address) {
  return static_cast<uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
}

// A connection of a stranger.
inline int dial_raw(const std::string& address) {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port_of(address));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(s, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  return s;
}

// A packet as it travels.
inline std::string record(const std::string& header, const std::string& body = {}) {
  const uint32_t sizes[2] = {static_cast<uint32_t>(header.size()), static_cast<uint32_t>(body.size())};
  return std::string(reinterpret_cast<const char*>(sizes), sizeof(sizes)) + header + body;
}

// Sends it all, as far as the other side wants it, and waits until that has seen the end.
inline void send_raw(const std::string& address, const std::string& bytes) {
  const int s = dial_raw(address);
  const timeval patience{50, 0};
  setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(s, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) break;
    at += static_cast<size_t>(sent);
  }
  ::shutdown(s, SHUT_WR);
  char rest[4096];
  ssize_t came;
  while ((came = ::recv(s, rest, sizeof(rest), 0)) > 0) {}
  EXPECT_TRUE(came == 0 || errno != EAGAIN) << "the end was not noticed";
  ::close(s);
}

class Frames {
 public:
  explicit Frames(uint32_t seed) : dice_(seed) {}
  uint32_t roll(uint32_t sides) { return dice_() % sides; }

  // One that a peer might send, with some numbers that it would not; most go with the body.
  PacketHeader header(const std::vector<std::string>& body) {
    static constexpr PacketKind kUsual[] = {PacketKind::request, PacketKind::reply, PacketKind::notice,
                                            PacketKind::credit,  PacketKind::ping,  PacketKind::pong};
    PacketHeader h;
    h.kind = roll(20) == 0 ? static_cast<PacketKind>(roll(12)) : kUsual[roll(std::size(kUsual))];
    h.failed = roll(8) == 0;
    h.channel = roll(4) == 0 ? odd32() : roll(4);
    h.command = roll(4) == 0 ? odd32() : roll(20);
    h.sequence = roll(3) == 0 ? odd() : roll(100);
    h.transmission = roll(3) == 0 ? odd() : roll(100);
    h.offset = roll(20) == 0 ? odd() : 0;
    h.done_below = roll(20) == 0 ? odd() : 0;
    h.consumed = roll(3) == 0 ? odd() : 0;
    h.attempt = roll(3);
    h.priority = static_cast<int32_t>(roll(4) == 0 ? odd32() : 0);
    for (const std::string& part : body) h.frames.push_back(part.size());
    if (roll(20) == 0) h.frames.push_back(roll(2) == 0 ? odd() : roll(200));
    h.time = roll(4) == 0 ? static_cast<int64_t>(odd()) : 0;
    h.head = bytes(roll(100));
    return h;
  }
  // Of a stranger that knows the cluster's name, or does not.
  PacketHeader hello(bool knows) {
    PacketHeader h;
    h.kind = roll(5) == 0 ? PacketKind::welcome : PacketKind::hello;
    Hello& hello = h.hello.emplace();
    hello.version = kProtocolVersion;
    hello.role = roll(5) == 0 ? odd32() : 2;
    hello.rank = static_cast<int32_t>(roll(3) == 0 ? odd32() : 100 + roll(20));
    if (hello.rank == 0) hello.rank = 1;  // the true worker's
    hello.incarnation = odd() | 1;
    hello.cluster = knows ? "loomix" : bytes(roll(10));
    hello.address = roll(5) == 0 ? bytes(roll(60)) : "tcp://127.0.0.1:1";
    hello.offer = bytes(roll(60));
    return h;
  }
  std::string bytes(size_t size) {
    std::string text(size, '\0');
    for (char& byte : text) byte = static_cast<char>(dice_());
    return text;
  }
  void mutate(std::string& text) {
    for (uint32_t n = roll(4); n > 0 && !text.empty(); --n) {
      const size_t at = roll(static_cast<uint32_t>(text.size()));
      switch (roll(4)) {
        case 0: text[at] = static_cast<char>(dice_()); break;
        case 1: text.erase(at, roll(8)); break;
        case 2: text.insert(at, bytes(roll(8))); break;
        default: text[at] = static_cast<char>(text[at] ^ (1 << roll(8)));
      }
    }
  }
  uint64_t odd() {
    static constexpr uint64_t kOdd[] = {
        0,         1, 255, 65536, 0x7fffffff, 0x80000000, uint64_t{1} << 40, INT64_MAX, uint64_t{1} << 63,
        UINT64_MAX};
    return roll(2) == 0 ? kOdd[roll(std::size(kOdd))] : (uint64_t{dice_()} << 32 | dice_()) >> roll(64);
  }
  uint32_t odd32() { return static_cast<uint32_t>(odd()); }

 private:
  std::mt19937 dice_;
};

// Two nodes that talk all the time.
class Talk {
 public:
  explicit Talk(const NetworkOptions& options)
      : server(node(comm::server(0), options)), worker(node(comm::worker(0), options)) {
    server->serve(0, [this](Incoming&& incoming) {
      if (incoming.from != worker->self()) ++strangers;
      incoming.responder.reply(std::move(incoming.message));
    });
    worker->connect(comm::server(0), server->address());
    worker->call(comm::server(0), 0, {}, within(20s));
    thread_ = std::thread([this] {
      const Buffer large = pattern(50000, 1);
      while (!ending_) {
        try {
          if (worker->call(comm::server(0), 0, message_of({}, {large}), within(20s)).payload[0].text() !=
              large.text())
            ++wrong;
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
          ++wrong;
        }
        ++calls;
        std::this_thread::sleep_for(1ms);
      }
    });
  }
  void end() {
    EXPECT_TRUE(eventually([this] { return calls > 0; }));
    ending_ = true;
    if (thread_.joinable()) thread_.join();
    worker->call(comm::server(0), 0, message_of({1}, {pattern(100000, 1)}), within(20s));
    EXPECT_EQ(wrong, 0);
  }
  ~Talk() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::atomic<int> strangers{0}, wrong{0}, calls{0};
  std::unique_ptr<Endpoint> server, worker;

 private:
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace loomix::comm
