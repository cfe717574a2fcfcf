// SPDX-License-Identifier: Apache-2.0
// Whatever bytes come in, a node lives on, its peers do not notice, and its memory does not grow. A million frames to each
// port: test_comm --gtest_also_run_disabled_tests --gtest_filter='*AMillionFrames'.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "comm/network/codec.h"
#include "comm/network/seal.h"
#include "tests/cpp/comm/fabric.h"

namespace loomix::comm {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kFrames = 20000;
constexpr size_t kGrowthKib = 160 << 10;  // freed memory is kept for a while
#else
constexpr int kFrames = 60000;
constexpr size_t kGrowthKib = 32 << 10;
#endif
constexpr int kFramesAConnection = 50;

std::unique_ptr<Endpoint> node(NodeName name, const NetworkOptions& options = {}) {
  EndpointOptions patient = quick_options();
  patient.dead_after = 40s;
  return std::make_unique<Endpoint>(loomix_network_module.open(options), NodeId{name, new_incarnation()},
                                    patient);
}

size_t resident_kib() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  }
  return 0;
}

std::string bare(const std::string& address) { return address.substr(0, address.find('|')); }

// A connection without ZeroMQ's help.
int dial_raw(const std::string& address) {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  const std::string endpoint = bare(address);
  to.sin_port = htons(static_cast<uint16_t>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1))));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(s, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  return s;
}

// ZeroMQ's protocol on the wire, so that it may be broken at will. First a greeting, without security or with CURVE, and
// what then comes where there is none; after that frames.
std::string greeting(bool curve = false) {
  std::string text("\xff\0\0\0\0\0\0\0\x01\x7f\x03\0", 12);
  text += curve ? "CURVE" : "NULL";
  text.resize(64, '\0');
  if (curve) return text;
  const std::string ready(
      "\x05READY\x0bSocket-Type\0\0\0\x06"
      "DEALER",
      28);
  text += '\x04';
  text += static_cast<char>(ready.size());
  return text + ready;
}

std::string on_wire(const std::string& bytes, bool more, bool command = false) {
  std::string text(1, static_cast<char>((more ? 1 : 0) | (bytes.size() > 255 ? 2 : 0) | (command ? 4 : 0)));
  for (int shift = bytes.size() > 255 ? 56 : 0; shift >= 0; shift -= 8)
    text += static_cast<char>(bytes.size() >> shift);
  return text + bytes;
}

// Where there is no security, frames before the other side's READY are an error.
void wait_for_greeting(int s, bool curve) {
  size_t left = curve ? 64 : 64 + 2 + 28;
  char bytes[128];
  while (left > 0) {
    const ssize_t some = ::recv(s, bytes, left, 0);
    if (some <= 0) return;
    left -= static_cast<size_t>(some);
  }
}

// Sends it all, as far as the other side wants it, and waits until that has seen the end.
void send_raw(const std::string& address, const std::string& bytes, const std::string& hello = {},
              bool curve = false) {
  const int s = dial_raw(address);
  const timeval patience{10, 0};
  setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (!hello.empty() && ::send(s, hello.data(), hello.size(), MSG_NOSIGNAL) > 0) wait_for_greeting(s, curve);
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(s, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) break;
    at += static_cast<size_t>(sent);
  }
  ::shutdown(s, SHUT_WR);
  char rest[4096];
  while (::recv(s, rest, sizeof(rest), 0) > 0) {}
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
    for (uint32_t n = roll(4); n > 0; --n) h.fields.push_back(static_cast<int64_t>(odd()));
    for (uint32_t n = roll(4); n > 0; --n) h.texts.push_back(bytes(roll(100)));
    return h;
  }
  // Of a stranger that knows the cluster's name, or does not.
  PacketHeader hello(bool knows) {
    PacketHeader h;
    h.kind = roll(5) == 0 ? PacketKind::welcome : PacketKind::hello;
    h.fields = {kProtocolVersion, roll(5) == 0 ? static_cast<int64_t>(odd()) : 2,
                roll(3) == 0 ? static_cast<int64_t>(odd()) : 100 + roll(20), static_cast<int64_t>(odd() | 1)};
    if (h.fields[2] == 0) h.fields[2] = 1;  // the true worker's
    h.texts = {knows ? "loomix" : bytes(roll(10)), roll(5) == 0 ? bytes(roll(60)) : "tcp://127.0.0.1:1",
               bytes(roll(60))};
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

// Sends `count` frames to a port, over many connections.
void pester(const std::string& address, int count, uint32_t seed) {
  Frames frames(seed);
  HeaderCodec codec;
  for (int sent = 0; sent < count;) {
    enum : uint32_t { random, handshake, stranger, guest };
    const uint32_t manner = frames.roll(4);
    const std::string hello = greeting(manner == handshake);
    std::string stream;
    const auto send = [&](const std::string& bytes, bool more, bool command = false) {
      stream += on_wire(bytes, more, command);
      ++sent;
    };
    if (manner >= stranger) send(codec.encode(frames.hello(manner == guest)), false);
    for (int i = 0; i < kFramesAConnection; ++i) {
      if (manner == handshake) {
        static const std::string kHead("\x05HELLO\x01\0", 8);
        std::string command =
            frames.roll(2) == 0 ? kHead + frames.bytes(192) : frames.bytes(frames.roll(300));
        if (frames.roll(2) == 0) frames.mutate(command);
        send(command, false, frames.roll(10) != 0);
        continue;
      }
      std::vector<std::string> body;
      for (uint32_t n = frames.roll(2) * frames.roll(4); n > 0; --n)
        body.push_back(frames.bytes(1 + frames.roll(300)));
      std::string bytes;
      if (manner == random) {
        bytes = frames.bytes(frames.roll(300));
      } else {
        bytes = codec.encode(frames.roll(50) == 0 ? frames.hello(false) : frames.header(body));
        if (frames.roll(30) == 0) frames.mutate(bytes);
      }
      // A mutation may not make the true worker's name: who knows the cluster's is no stranger.
      PacketHeader made;
      if (codec.decode(std::as_bytes(std::span(bytes)), made) && made.fields.size() > 2 &&
          made.fields[2] == 0)
        continue;
      send(bytes, !body.empty());
      for (size_t n = 0; n < body.size(); ++n) send(body[n], n + 1 < body.size());
    }
    if (frames.roll(20) == 0) frames.mutate(stream);
    send_raw(address, stream, hello, manner == handshake);
  }
}

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
    ending_ = true;
    if (thread_.joinable()) thread_.join();
    worker->call(comm::server(0), 0, message_of({1}, {pattern(100000, 1)}), within(20s));
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(calls, 0);
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

void pester_all(const NetworkOptions& options, int count) {
  Talk talk(options);
  const bool keys = !options.keys.public_key.empty();
  const auto all = [&](int frames, uint32_t seed) {
    for (const std::string& address : {talk.server->address(), talk.worker->address()})
      pester(address, frames, seed++);
  };
  all(kFrames / 4, 1);  // so that all memory that is kept is there
  const size_t before = resident_kib();
  all(count, 10);
  talk.end();
  EXPECT_LT(resident_kib(), before + kGrowthKib);
  if (keys) {
    EXPECT_EQ(talk.strangers, 0);
  } else {
#ifndef __SANITIZE_THREAD__  // a slow node hears that a connection has ended before it gets to what came
    EXPECT_GT(talk.strangers, 0);
#endif
    EXPECT_GT(talk.server->stats().refused, 0u);
  }
}

TEST(Fuzz, FramesToEachPort) { pester_all({}, kFrames / 2); }
TEST(Fuzz, FramesToEachPortWithKeys) {
  NetworkOptions options;
  options.keys = loomix_network_module.new_keys();
  pester_all(options, kFrames / 4);
}
TEST(Fuzz, DISABLED_AMillionFrames) {
  pester_all({}, 1000000);
  NetworkOptions options;
  options.keys = loomix_network_module.new_keys();
  pester_all(options, 1000000);
}

TEST(Fuzz, RandomBytesOnThePort) {
  Talk talk({});
  Frames frames(11);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = frames.bytes(frames.roll(2000));
    if (i % 3 == 0) bytes.insert(0, greeting().substr(0, 16));
    if (i % 3 == 1) bytes.insert(0, greeting());
    send_raw(talk.server->address(), bytes);
  }
  talk.end();
}

// ZeroMQ hands a message over only when its last frame has come.
TEST(Fuzz, AMessageWithoutEndIsCut) {
  Talk talk({});
  const size_t before = resident_kib();
  const int s = dial_raw(talk.server->address());
  // Where the server closes while its window is shut, the sender's system finds out late.
  const timeval patience{5, 0};
  setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const std::string hello = greeting();
  ASSERT_EQ(::send(s, hello.data(), hello.size(), MSG_NOSIGNAL), static_cast<ssize_t>(hello.size()));
  wait_for_greeting(s, false);
  constexpr size_t kFrame = 1 << 20;
  std::string frame("\x03\0\0\0\0\0\x10\0\0", 9);  // more, long, 1 MiB
  frame.resize(9 + kFrame, 'x');
  constexpr size_t kMost = size_t{4} << 30;
  size_t sent = 0;
  for (bool open = true; open && sent < kMost; sent += frame.size()) {
    for (size_t at = 0; open && at < frame.size();) {
      const ssize_t some = ::send(s, frame.data() + at, frame.size() - at, MSG_NOSIGNAL);
      open = some > 0;
      if (open) at += static_cast<size_t>(some);
    }
  }
  EXPECT_GT(sent, size_t{32} << 20);  // and was understood until then
  EXPECT_LT(sent, kMost);             // it was cut
  ::close(s);
  talk.end();
  EXPECT_TRUE(eventually([&] { return resident_kib() < before + (512 << 10); }));
}

TEST(Fuzz, PlainAndForeignPeersAreRefusedWhereThereAreKeys) {
  NetworkOptions keys, others, plain;
  keys.keys = loomix_network_module.new_keys();
  others.keys = loomix_network_module.new_keys();
  const auto a = node(server(0), keys);
  std::atomic<int> handled{0};
  a->serve(0, [&](Incoming&& incoming) {
    ++handled;
    incoming.responder.reply({});
  });
  const std::string bare_address = bare(a->address());
  const auto foreign = node(worker(1), others), naked = node(worker(2), plain),
             friendly = node(worker(0), keys);
  foreign->connect(server(0), a->address());
  naked->connect(server(0), bare_address);
  friendly->connect(server(0), a->address());
  EXPECT_THROW(foreign->call(server(0), 0, {}, within(500ms)), DeadlineError);
  EXPECT_THROW(naked->call(server(0), 0, {}, within(500ms)), DeadlineError);
  friendly->call(server(0), 0, {}, within(20s));
  EXPECT_EQ(handled, 1);
  // The address must have a key where this node has one, and beyond loopback both must.
  friendly->connect(server(5), bare_address);
  EXPECT_THROW(friendly->call(server(5), 0, {}, within(20s)), NetworkError);
  naked->connect(server(6), "tcp://192.0.2.1:4000");
  EXPECT_THROW(naked->call(server(6), 0, {}, within(20s)), NetworkError);
  plain.listen = "tcp://0.0.0.0:*";
  EXPECT_THROW(loomix_network_module.open(plain), ValueError);
}

// Payloads beside the encrypted link.

NetworkOptions plain_payloads() {
  NetworkOptions options;
  options.keys = loomix_network_module.new_keys();
  options.trusted_network = options.plain_payloads = true;
  options.shared_memory = false;
  return options;
}

bool takes_plain(const Endpoint& endpoint) {
  const auto peers = endpoint.peers();
  return !peers.empty() && peers[0].route == "tcp with keys, plain payloads";
}

TEST(PlainPayloads, AreWholeBothWays) {
  NetworkOptions options = plain_payloads();
  Talk talk(options);
  ASSERT_TRUE(eventually([&] { return takes_plain(*talk.worker) && takes_plain(*talk.server); }));
  const Buffer large = pattern(3 << 20, 5);
  EXPECT_EQ(talk.worker->call(server(0), 0, message_of({}, {large}), within(20s)).payload[0].text(),
            large.text());
  talk.end();
  // Who does not want it is talked to as ever.
  options.plain_payloads = false;
  const auto other = node(worker(3), options);
  other->connect(server(0), talk.server->address());
  EXPECT_EQ(other->call(server(0), 0, message_of({}, {large}), within(20s)).payload[0].text(), large.text());
  EXPECT_EQ(other->peers()[0].route, "tcp with keys");
  options.keys = {};
  options.plain_payloads = true;
  EXPECT_THROW(loomix_network_module.open(options), ValueError);
}

std::set<uint16_t> listening_ports() {
  std::set<uint16_t> ports;
  std::ifstream file("/proc/self/net/tcp");
  for (std::string line; std::getline(file, line);) {
    unsigned port = 0, state = 0;
    if (std::sscanf(line.c_str(), " %*d: 0100007F:%X %*X:%*X %X", &port, &state) == 2 && state == 10)
      ports.insert(static_cast<uint16_t>(port));
  }
  return ports;
}

TEST(PlainPayloads, StrangersAreNotHeard) {
  const std::set<uint16_t> before = listening_ports();
  Talk talk(plain_payloads());
  ASSERT_TRUE(eventually([&] { return takes_plain(*talk.worker) && takes_plain(*talk.server); }));
  int ports = 0;
  for (const uint16_t port : listening_ports()) {
    if (before.contains(port)) continue;
    ++ports;
    pester(fmt::format("tcp://127.0.0.1:{}", port), kFrames / 20, port);
  }
  EXPECT_GE(ports, 4);
  talk.end();
  EXPECT_EQ(talk.strangers, 0);
}

TEST(Seal, NoticesEveryChange) {
  const std::string key = random_bytes(Seal::kKeyBytes);
  Seal ours(key), theirs(key), foreign(random_bytes(Seal::kKeyBytes));
  std::string header = "header";
  const auto bytes = [&] { return std::as_bytes(std::span(header)); };
  std::vector<Buffer> body = {pattern(1000, 1), pattern(3, 2)};
  const Seal::Tag tag = ours.sign(true, 7, bytes(), body);
  EXPECT_TRUE(theirs.fits(tag, true, 7, bytes(), body));
  EXPECT_FALSE(theirs.fits(tag, false, 7, bytes(), body));
  EXPECT_FALSE(theirs.fits(tag, true, 8, bytes(), body));
  EXPECT_FALSE(foreign.fits(tag, true, 7, bytes(), body));
  body[0].writable()[999] ^= std::byte{1};
  EXPECT_FALSE(theirs.fits(tag, true, 7, bytes(), body));
  body[0].writable()[999] ^= std::byte{1};
  // The same bytes, parted elsewhere between header and body.
  header += static_cast<char>(body[0].data()[0]);
  body[0] = body[0].slice(1, 999);
  EXPECT_FALSE(theirs.fits(tag, true, 7, bytes(), body));
}

}  // namespace
}  // namespace loomix::comm
