// SPDX-License-Identifier: Apache-2.0
// Packets on connections, plain and by TLS: any portions, forged bytes, strangers and guests at the port, broken connections.
#include <fcntl.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "comm/network/codec.h"
#include "comm/network/stream.h"
#include "tests/cpp/comm/network/talk.h"

namespace loomix::comm {
namespace {

constexpr size_t kHeaderBytes = 1000;
constexpr LinkId kLink = 7;

std::string text_of(const std::vector<Buffer>& parts) {
  std::string text;
  for (const Buffer& part : parts) text += part.text();
  return text;
}

// Takes packets; bodies get places where it has some.
class Sink final : public TransportEvents {
 public:
  void on_packet(LinkId link, Packet&& packet) override {
    EXPECT_EQ(link, kLink);
    sequences.push_back(packet.header.sequence);
    if (!packet.body.empty() && packet.body[0].data() == memory.data()) ++placed;
    bodies.push_back(text_of(packet.body));
  }
  void on_down(LinkId, std::string_view) override {}
  void on_writable(LinkId) override {}
  bool place(LinkId link, const PacketHeader&, uint64_t bytes, BodyPlace& place) override {
    EXPECT_EQ(link, kLink);
    if (bytes > memory.size()) return false;
    place.message = 1;
    place.parts.clear();
    const uint64_t middle = bytes / 3;  // as if the payload had two parts
    if (place.from < middle) place.parts.emplace_back(memory.data() + place.from, middle - place.from);
    const uint64_t begin = std::max(place.from, middle);
    if (begin < bytes) place.parts.emplace_back(memory.data() + begin, bytes - begin);
    return true;
  }
  std::vector<uint64_t> sequences;
  std::vector<std::string> bodies;
  std::vector<std::byte> memory;  // empty: no places
  int placed = 0;
};

// A stream, and the other end of its connection.
struct OneEnd {
  explicit OneEnd(bool dialled, const TlsContext* tls = nullptr) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    other = File(ends[1]);
    stream = std::make_unique<Stream>(kLink, dialled, kHeaderBytes, unfinished);
    stream->use(std::make_unique<Wire>(File(ends[0]), tls, dialled));
  }
  // What lies at the other end.
  std::string there() {
    std::string all;
    char bytes[4096];
    ssize_t some;
    while ((some = ::read(other.get(), bytes, sizeof(bytes))) > 0)
      all.append(bytes, static_cast<size_t>(some));
    return all;
  }
  std::string sent() {
    std::string all;
    do {
      EXPECT_TRUE(stream->flush());
      all += there();
    } while (stream->pending());
    return all;
  }
  void put_there(std::string_view bytes) {
    EXPECT_EQ(::write(other.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  Stream::Result feed(std::string_view bytes) {
    put_there(bytes);
    Stream::Result result;
    do result = stream->read(codec, sink);
    while (result == Stream::Result::more);
    return result;
  }
  File other;
  const std::shared_ptr<Stream::Unfinished> unfinished = std::make_shared<Stream::Unfinished>();
  std::unique_ptr<Stream> stream;
  HeaderCodec codec;
  Sink sink;
};

// Two, of which one hears what the other says, if it is carried over.
struct TwoEnds {
  explicit TwoEnds(const TlsContext* tls) : from(true, tls), to(false, tls) {
    for (bool opened = false; !opened;) {
      const Wire::State first = from.stream->wire()->open();
      to.put_there(from.there());
      const Wire::State second = to.stream->wire()->open();
      from.put_there(to.there());
      opened = first == Wire::State::going && second == Wire::State::going;
      if (first == Wire::State::ended || second == Wire::State::ended) break;
    }
  }
  OneEnd from, to;
};

std::string header_of(uint64_t sequence) {
  HeaderCodec codec;
  PacketHeader header;
  header.kind = PacketKind::request;
  header.sequence = sequence;
  return codec.encode(header);
}

void put(Stream& stream, uint64_t sequence, const std::vector<Buffer>& body) {
  const std::string header = header_of(sequence);
  stream.put(std::as_bytes(std::span(header)), body);
}

class Streaming : public testing::TestWithParam<bool> {
 protected:
  Streaming() {
    if (GetParam()) context_.emplace(keys_of_all_roles());
  }
  const TlsContext* tls() const { return context_ ? &*context_ : nullptr; }

 private:
  std::optional<TlsContext> context_;
};
INSTANTIATE_TEST_SUITE_P(All, Streaming, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "Tls" : "Plain"); });

TEST_P(Streaming, PacketsComeInAnyPortions) {
  std::mt19937 dice(5);
  for (int round = 0; round < 40; ++round) {
    TwoEnds ends(tls());
    auto& [from, to] = ends;
    if (round % 2 == 1) to.sink.memory.resize(100000);
    std::vector<std::string> bodies;
    std::string wire;
    for (uint64_t i = 0; i < 30; ++i) {
      std::vector<Buffer> body;
      constexpr uint32_t kSizes[] = {0, 1, 50, 8192, 8193, 20000, 200000};
      for (uint32_t parts = i == 0 ? 0 : dice() % 3; parts > 0; --parts)
        body.push_back(pattern(dice() % (kSizes[dice() % 7] + 1), dice()));
      bodies.push_back(text_of(body));
      put(*from.stream, i, body);
      if (dice() % 3 == 0) wire += from.sent();
    }
    bodies.push_back(std::string(pattern(50000, 9).text()));
    put(*from.stream, 30, {pattern(50000, 9)});
    wire += from.sent();
    const uint32_t most = round % 4 < 2 ? 50000 : 600;
    for (size_t at = 0; at < wire.size();) {
      const std::string_view portion = std::string_view(wire).substr(at, 1 + dice() % most);
      ASSERT_EQ(to.feed(portion), Stream::Result::drained);
      at += portion.size();
    }
    ASSERT_EQ(to.sink.bodies.size(), bodies.size());
    for (size_t i = 0; i < bodies.size(); ++i) {
      EXPECT_EQ(to.sink.sequences[i], i);
      EXPECT_EQ(to.sink.bodies[i] == bodies[i], true) << i;
    }
    EXPECT_EQ(to.sink.placed > 0, round % 2 == 1);
    EXPECT_EQ(to.unfinished->bytes, 0u);
  }
}

TEST_P(Streaming, WhatDoesNotFitTheConnectionWaits) {
  TwoEnds ends(tls());
  auto& [from, to] = ends;
  const Buffer body = pattern(3 << 20, 3);
  put(*from.stream, 0, {});
  put(*from.stream, 1, {body});
  EXPECT_TRUE(from.stream->flush());
  EXPECT_TRUE(from.stream->full());
  EXPECT_TRUE(from.stream->pending());
  put(*from.stream, 2, {});
  const std::string wire = from.sent();
  EXPECT_FALSE(from.stream->full());
  for (size_t at = 0; at < wire.size(); at += 30000) to.feed(std::string_view(wire).substr(at, 30000));
  ASSERT_EQ(to.sink.bodies.size(), 3u);
  EXPECT_TRUE(to.sink.bodies[1] == body.text());
}

TEST(OneStream, WhatBreaksTheRulesEndsIt) {
  const std::string header = header_of(1), begin = std::string(Stream::kGreeting) + record(header);
  const auto sizes = [](uint32_t header_bytes, uint32_t body_bytes) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &header_bytes, 4);
    std::memcpy(bytes.data() + 4, &body_bytes, 4);
    return bytes;
  };
  const std::string no_header(9, '\xff');
  for (const std::string& bytes :
       {sizes(kHeaderBytes + 1, 0), sizes(UINT32_MAX, UINT32_MAX), sizes(0, 1) + "x", sizes(0, 0),
        sizes(8, Stream::kMaxBody + 1), sizes(9, 0) + no_header, sizes(9, 20000) + no_header}) {
    OneEnd to(false);
    EXPECT_EQ(to.feed(begin + bytes), Stream::Result::broken);
    EXPECT_EQ(to.sink.bodies.size(), 1u);
    EXPECT_EQ(to.stream->fault(), "it sent bytes that are no packet");
  }
  // Who has not said yet who it is has less room.
  OneEnd stranger(false);
  EXPECT_EQ(stranger.feed(std::string(Stream::kGreeting) + record(header, "x")), Stream::Result::broken);
  for (const auto& [bytes, fault] : std::map<std::string, std::string>{
           {"GET / HTTP/1.1", "it is no peer, or one of another version of Loomix"},
           {"\xff", "it is no peer, or one of another version of Loomix"},
           {"loomix 2", "it is no peer, or one of another version of Loomix"},
           {"\x16\x03\x01", "it has keys, and this node has none"},
           {"\x15\x03\x01", "it wants keys, and this node has none"}}) {
    OneEnd to(false);
    EXPECT_EQ(to.feed(bytes), Stream::Result::broken);
    EXPECT_EQ(to.stream->fault(), fault);
  }
  OneEnd to(false);
  to.other = File();
  EXPECT_EQ(to.stream->read(to.codec, to.sink), Stream::Result::ended);
  put(*to.stream, 1, {});
  EXPECT_FALSE(to.stream->flush());
}

TEST(OneStream, ForgedBytesAreShownToNobody) {
  const TlsContext tls(keys_of_all_roles());
  Frames frames(3);
  for (int i = 0; i < 100; ++i) {
    TwoEnds ends(&tls);
    auto& [from, to] = ends;
    put(*from.stream, 0, {});
    put(*from.stream, 1, {pattern(100, 1)});
    std::string wire = from.sent();
    put(*from.stream, 2, {pattern(20000, 2)});
    wire += from.sent();
    const size_t at = i < 30 ? static_cast<size_t>(i) : frames.roll(static_cast<uint32_t>(wire.size()));
    wire[at] = static_cast<char>(wire[at] ^ (1 << frames.roll(8)));
    to.feed(wire);
    EXPECT_LT(to.sink.bodies.size(), 3u);
    for (size_t n = 1; n < to.sink.bodies.size(); ++n)
      EXPECT_TRUE(to.sink.bodies[n] == pattern(100, 1).text());
  }
  // Nor those that come again.
  TwoEnds ends(&tls);
  auto& [from, to] = ends;
  put(*from.stream, 0, {});
  const std::string wire = from.sent();
  EXPECT_EQ(to.feed(wire), Stream::Result::drained);
  EXPECT_EQ(to.feed(wire), Stream::Result::ended);
  EXPECT_EQ(to.sink.bodies.size(), 1u);
}

// Records of TLS that are as long as one that announces another key, and no other is here.
int announcements(std::string_view wire) {
  constexpr size_t kHead = 5, kAnnouncement = 22;
  int count = 0;
  while (wire.size() >= kHead) {
    const size_t size = static_cast<uint8_t>(wire[3]) * 256u + static_cast<uint8_t>(wire[4]);
    count += size == kAnnouncement;
    wire.remove_prefix(std::min(kHead + size, wire.size()));
  }
  return count;
}

TEST(OneStream, KeysChange) {
  const TlsContext tls(keys_of_all_roles());
  TwoEnds ends(&tls);
  auto& [from, to] = ends;
  put(*from.stream, 0, {});
  put(*from.stream, 1, {pattern(30000, 1)});
  std::string wire = from.sent();
  EXPECT_EQ(announcements(wire), 0);
  from.stream->wire()->rekey_after = 1;
  put(*from.stream, 2, {pattern(30000, 2)});
  const std::string later = from.sent();
  EXPECT_GE(announcements(later), 1);
  wire += later;
  for (size_t at = 0; at < wire.size(); at += 20000) to.feed(std::string_view(wire).substr(at, 20000));
  ASSERT_EQ(to.sink.bodies.size(), 3u);
  EXPECT_TRUE(to.sink.bodies[2] == pattern(30000, 2).text());
}

TEST(OneStream, APlaceThatHasGoneIsNotWrittenTo) {
  OneEnd from(true), to(false);
  put(*from.stream, 0, {});
  put(*from.stream, 1, {pattern(60000, 1)});
  put(*from.stream, 2, {pattern(10, 2)});
  const std::string wire = from.sent();
  to.sink.memory.resize(60000);
  to.feed(wire.substr(0, 40000));
  const std::vector<std::byte> gone = std::exchange(to.sink.memory, {});
  EXPECT_EQ(to.feed(wire.substr(40000)), Stream::Result::drained);
  EXPECT_EQ(to.sink.sequences, (std::vector<uint64_t>{0, 2}));
  EXPECT_EQ(gone.back(), std::byte{0});
}

// Between nodes.

NetworkOptions over_tcp() {
  NetworkOptions options;
  options.shared_memory = false;
  return options;
}

NetworkOptions by_tls() {
  NetworkOptions options = over_tcp();
  options.keys = keys_of_all_roles();
  return options;
}

void expect_whole(Endpoint& from, size_t bytes) {
  const Buffer large = pattern(bytes, 5);
  EXPECT_TRUE(from.call(server(0), 0, message_of({}, {large}), within(20s)).payload[0].text() ==
              large.text());
}

TEST(Streams, PayloadsAreWholeBothWays) {
  for (const NetworkOptions& options : {over_tcp(), by_tls()}) {
    Talk talk(options);
    expect_whole(*talk.worker, 3 << 20);
    EXPECT_EQ(talk.worker->peers()[0].route, options.keys.empty() ? "tcp" : "tcp with TLS");
    talk.end();
  }
}

void bother_as_stranger(const NetworkOptions& options) {
  Talk talk(options);
  Frames frames(4);
  std::vector<File> silent;
  for (const std::string& address : {talk.server->address(), talk.worker->address()}) {
    for (int i = 0; i < 300; ++i) {
      File stranger(dial_raw(address));
      const std::string bytes = frames.bytes(frames.roll(2) == 0 ? frames.roll(8) : frames.roll(5000));
      [[maybe_unused]] const ssize_t sent = ::send(stranger.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (bytes.size() < 8) silent.push_back(std::move(stranger));
    }
  }
  // Others are let in in the meantime.
  const auto late = node(worker(9), options);
  late->connect(server(0), talk.server->address());
  expect_whole(*late, 100000);
  talk.end();
  EXPECT_EQ(talk.server->stats().refused, 0u);
}

TEST(Streams, StrangersAreNotHeard) { bother_as_stranger(over_tcp()); }
TEST(Streams, StrangersAreNotHeardWhereThereAreKeys) { bother_as_stranger(by_tls()); }

// What one says first who knows the cluster's name.
std::string begin_as_guest(int32_t rank, HeaderCodec& codec) {
  PacketHeader hello;
  hello.kind = PacketKind::hello;
  hello.hello = Hello{kProtocolVersion, 2, rank, new_incarnation(), "loomix", "tcp://127.0.0.1:1", ""};
  return std::string(Stream::kGreeting) + record(codec.encode(hello));
}

// One that sends packets as a peer might, with some numbers that it would not, and breaks off somewhere; how many.
int visit(const std::string& address, Frames& frames, HeaderCodec& codec) {
  std::string wire = begin_as_guest(100 + static_cast<int32_t>(frames.roll(20)), codec);
  int sent = 0;
  for (; sent < 60; ++sent) {
    std::string body;
    if (frames.roll(2) == 0) body = frames.bytes(1 + frames.roll(frames.roll(20) == 0 ? 60000 : 300));
    std::string header =
        codec.encode(frames.header(body.empty() ? std::vector<std::string>() : std::vector{body}));
    if (frames.roll(100) == 0) frames.mutate(header);
    PacketHeader made;
    if (codec.decode(std::as_bytes(std::span(header)), made) && made.kind == PacketKind::hello) continue;
    std::string bytes = record(header, body);
    if (frames.roll(200) == 0) {
      const uint32_t odd = frames.odd32();
      std::memcpy(bytes.data() + 4 * frames.roll(2), &odd, sizeof(odd));
    }
    wire += bytes;
  }
  wire.resize(wire.size() - frames.roll(2) * frames.roll(1000));
  send_raw(address, wire);
  return sent;
}

void let_guests_in(int count) {
  Talk talk(over_tcp());
  const auto all = [&](int packets, uint32_t seed) {
    for (const std::string& address : {talk.server->address(), talk.worker->address()}) {
      Frames frames(seed++);
      HeaderCodec codec;
      for (int sent = 0; sent < packets;) sent += visit(address, frames, codec);
    }
  };
  all(count / 2, 21);  // so that all memory that is kept is there
  const size_t before = resident_kib();
  all(count, 31);
  talk.end();
  EXPECT_LT(resident_kib(), before + kGrowthKib);
  EXPECT_GT(talk.strangers, 0);
  EXPECT_GT(talk.server->stats().refused, 0u);
}

TEST(Streams, GuestsMayNotHarm) { let_guests_in(kFrames / 10); }
TEST(Streams, DISABLED_AMillionFrames) { let_guests_in(1000000); }

// Bodies without end, in part: each holds little, and all together no more than is allowed.
TEST(Streams, GuestsMayNotFillTheMemory) {
  Talk talk(over_tcp());
  HeaderCodec codec;
  PacketHeader header;
  header.kind = PacketKind::credit;  // has no place
  std::string endless = record(codec.encode(header), std::string(Stream::kMaxBody, 'x'));
  endless.pop_back();
  std::vector<File> connections;
  [[maybe_unused]] const size_t before = resident_kib();
  for (int i = 0; i < 60; ++i) {
    connections.emplace_back(dial_raw(talk.server->address()));
    const std::string wire = begin_as_guest(100 + i, codec) + endless;
    const timeval patience{5, 0};
    setsockopt(connections.back().get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    ::send(connections.back().get(), wire.data(), wire.size(), MSG_NOSIGNAL);
  }
  const auto still_open = [&] {
    int open = 0;
    for (const File& connection : connections) {
      char byte;
      while (::recv(connection.get(), &byte, 1, MSG_DONTWAIT) > 0) {}
      open += ::recv(connection.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
    }
    return open;
  };
  EXPECT_TRUE(eventually([&] { return still_open() <= 32; }));
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // they keep for a while what is freed
  EXPECT_TRUE(eventually([&] { return resident_kib() < before + (160 << 10) + kGrowthKib; }));
#endif
  talk.end();
}

// Ends all connections of this process to the given ports.
int break_connections(const std::set<uint16_t>& ports) {
  int broken = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int file = std::stoi(entry.path().filename().string());
    sockaddr_in there{};
    socklen_t size = sizeof(there);
    if (getpeername(file, reinterpret_cast<sockaddr*>(&there), &size) == 0 && there.sin_family == AF_INET &&
        ports.contains(ntohs(there.sin_port)))
      broken += ::shutdown(file, SHUT_RDWR) == 0;
  }
  return broken;
}

void break_again_and_again(const NetworkOptions& options) {
  Talk talk(options);
  const std::set<uint16_t> ports = {port_of(talk.server->address())};
  std::mutex mutex;
  std::set<int64_t> counted;
  std::atomic<int> repeated{0}, answered{0}, failed{0};
  talk.server->serve(1, [&](Incoming&& incoming) {
    {
      const std::lock_guard lock(mutex);
      if (!counted.insert(numbers_of(incoming.message)[0]).second) ++repeated;
    }
    incoming.responder.reply({});
  });
  const Buffer large = pattern(400000, 2);
  int64_t sent = 0;
  int broken = 0;
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 20; ++i, ++sent) {
      talk.worker->request(server(0), 1, message_of({sent}, {large}), within(30s), [&](Reply&& reply) {
        failed += reply.error != nullptr;
        ++answered;
      });
    }
    broken += break_connections(ports);
    EXPECT_TRUE(eventually([&] { return answered == sent; }, 30s));
  }
  talk.server->stop_serving(1);
  EXPECT_GE(broken, 8);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(repeated, 0);
  EXPECT_EQ(counted.size(), static_cast<size_t>(sent));
  talk.end();
}

TEST(Streams, OnesThatBreakAreMadeAnewAndNothingIsLost) { break_again_and_again(over_tcp()); }
TEST(Streams, SecureOnesThatBreakAreMadeAnew) { break_again_and_again(by_tls()); }

// Where a request is given up, its reply's memory is its owner's again at once.
void take_memory_back(const NetworkOptions& options_of_both) {
  Talk talk(options_of_both);
  const Buffer large = pattern(2 << 20, 3);
  talk.server->serve(2, [&](Incoming&& incoming) { incoming.responder.reply(message_of({}, {large})); });
  int given_up = 0;
  for (int i = 0; i < 30; ++i) {
    auto memory = std::make_unique<std::vector<std::byte>>(large.size());
    RequestOptions options = within(20s);
    options.into = {*memory};
    std::atomic<bool> ended{false};
    const uint64_t request = talk.worker->request(server(0), 2, {}, options, [&](Reply&&) { ended = true; });
    std::this_thread::sleep_for(std::chrono::microseconds(50 * i));
    talk.worker->cancel(request);
    talk.worker->run([] {});
    given_up += !ended;
    memory.reset();  // the address sanitizer sees who writes to it now
    if (i % 10 == 0) expect_whole(*talk.worker, 1000);
  }
  talk.server->stop_serving(2);
  EXPECT_GT(given_up, 0);
  talk.end();
}

TEST(Streams, MemoryThatWasTakenBackIsNotWrittenTo) { take_memory_back(over_tcp()); }
TEST(Streams, MemoryThatWasTakenBackIsNotWrittenToByTls) { take_memory_back(by_tls()); }

}  // namespace
}  // namespace loomix::comm
