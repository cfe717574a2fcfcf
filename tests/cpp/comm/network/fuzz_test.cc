// SPDX-License-Identifier: Apache-2.0
// Whatever bytes come in, a node lives on, its peers do not notice, and its memory does not grow. A million frames to each
// port: test_comm --gtest_also_run_disabled_tests --gtest_filter='*AMillionFrames'.
#include "comm/network/codec.h"
#include "tests/cpp/comm/network/talk.h"

namespace loomix::comm {
namespace {

constexpr int kFramesAConnection = 50;

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

}  // namespace
}  // namespace loomix::comm
