// SPDX-License-Identifier: Apache-2.0
// Whatever bytes come in, a node lives on, its peers do not notice, and its memory does not grow. A million frames to each
// port: test_comm --gtest_also_run_disabled_tests --gtest_filter='*AMillionFrames'.
#include "comm/network/codec.h"
#include "comm/network/stream.h"
#include "tests/cpp/comm/network/talk.h"

namespace loomix::comm {
namespace {

constexpr int kFramesAConnection = 50;

// What a node with keys says first.
std::string tls_hello() {
  static const std::string hello = [] {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    const File other(ends[1]);
    const TlsContext tls(keys_of_all_roles());
    Wire wire(File(ends[0]), &tls, true);
    EXPECT_EQ(wire.open(), Wire::State::blocked);
    char bytes[4096];
    const ssize_t size = ::read(other.get(), bytes, sizeof(bytes));
    EXPECT_GT(size, 100);
    return std::string(bytes, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  }();
  return hello;
}

// A record of TLS: of the handshake, an alert, or data.
std::string tls_record(Frames& frames) {
  const std::string bytes = frames.bytes(frames.roll(300));
  std::string record{static_cast<char>(20 + frames.roll(4)), '\3', '\3', static_cast<char>(bytes.size() >> 8),
                     static_cast<char>(bytes.size())};
  return record + bytes;
}

// Sends `count` frames to a port, over many connections.
void pester(const std::string& address, int count, uint32_t seed) {
  Frames frames(seed);
  HeaderCodec codec;
  for (int sent = 0; sent < count; sent += kFramesAConnection) {
    enum : uint32_t { random, tls, stranger, guest };
    const uint32_t manner = frames.roll(4);
    std::string stream;
    if (manner == tls) {
      stream = tls_hello();
      if (frames.roll(2) == 0) frames.mutate(stream);
    } else if (manner >= stranger) {
      stream = std::string(Stream::kGreeting) + record(codec.encode(frames.hello(manner == guest)));
    }
    for (int i = 0; i < kFramesAConnection; ++i) {
      if (manner == random) stream += frames.bytes(frames.roll(300));
      if (manner == tls) stream += tls_record(frames);
      if (manner < stranger) continue;
      std::string body;
      if (frames.roll(2) == 0) body = frames.bytes(1 + frames.roll(900));
      std::string header =
          codec.encode(frames.roll(50) == 0
                           ? frames.hello(false)
                           : frames.header(body.empty() ? std::vector<std::string>() : std::vector{body}));
      if (frames.roll(30) == 0) frames.mutate(header);
      // A mutation may not make the true worker's name: who knows the cluster's is no stranger.
      PacketHeader made;
      if (codec.decode(std::as_bytes(std::span(header)), made) && made.hello && made.hello->rank == 0)
        continue;
      stream += record(header, body);
    }
    if (frames.roll(20) == 0) frames.mutate(stream);
    send_raw(address, stream);
  }
}

void pester_all(const NetworkOptions& options, int count) {
  Talk talk(options);
  const auto all = [&](int frames, uint32_t seed) {
    for (const std::string& address : {talk.server->address(), talk.worker->address()})
      pester(address, frames, seed++);
  };
  all(kFrames / 4, 1);  // so that all memory that is kept is there
  const size_t before = resident_kib();
  all(count, 10);
  talk.end();
  EXPECT_LT(resident_kib(), before + kGrowthKib);
  if (!options.keys.empty()) {
    EXPECT_EQ(talk.strangers, 0);
    EXPECT_EQ(talk.server->stats().refused, 0u);
  } else {
    EXPECT_GT(talk.strangers, 0);
    EXPECT_GT(talk.server->stats().refused, 0u);
  }
}

NetworkOptions with_keys() {
  NetworkOptions options;
  options.keys = keys_of_all_roles();
  return options;
}

TEST(Fuzz, FramesToEachPort) { pester_all({}, kFrames / 2); }
TEST(Fuzz, FramesToEachPortWithKeys) { pester_all(with_keys(), kFrames / 4); }
TEST(Fuzz, DISABLED_AMillionFrames) { pester_all({}, 1000000); }
TEST(Fuzz, DISABLED_AMillionFramesWithKeys) { pester_all(with_keys(), 1000000); }

TEST(Fuzz, RandomBytesOnThePort) {
  Talk talk({});
  Frames frames(11);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = frames.bytes(frames.roll(2000));
    if (i % 3 == 0) bytes.insert(0, Stream::kGreeting.substr(0, 4));
    if (i % 3 == 1) bytes.insert(0, Stream::kGreeting);
    send_raw(talk.server->address(), bytes);
  }
  talk.end();
}

}  // namespace
}  // namespace loomix::comm
