// SPDX-License-Identifier: Apache-2.0
// Tcp connections beside ZeroMQ's: packets in any portions, forged bytes, strangers and guests at their port, and their end.
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
  explicit OneEnd(bool dialled, const std::string& key = {}) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    other = File(ends[1]);
    std::optional<Seal> seal;
    if (!key.empty()) seal.emplace(key);
    stream =
        std::make_unique<Stream>(kLink, File(ends[0]), dialled, std::move(seal), kHeaderBytes, unfinished);
  }
  std::string sent() {
    std::string all;
    char bytes[4096];
    for (;;) {
      EXPECT_TRUE(stream->flush());
      const ssize_t some = ::read(other.get(), bytes, sizeof(bytes));
      if (some <= 0 && !stream->pending()) return all;
      if (some > 0) all.append(bytes, static_cast<size_t>(some));
    }
  }
  Stream::Result feed(std::string_view bytes) {
    EXPECT_EQ(::write(other.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
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
  std::string key() const { return GetParam() ? random_bytes(Seal::kKeyBytes) : std::string(); }
};
INSTANTIATE_TEST_SUITE_P(All, Streaming, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "Sealed" : "Plain"); });

TEST_P(Streaming, PacketsComeInAnyPortions) {
  std::mt19937 dice(5);
  for (int round = 0; round < 40; ++round) {
    const std::string key = this->key();
    OneEnd from(true, key), to(false, key);
    if (round % 2 == 1) to.sink.memory.resize(100000);
    std::vector<std::string> bodies;
    std::string wire;
    for (uint64_t i = 0; i < 30; ++i) {
      std::vector<Buffer> body;
      constexpr uint32_t kSizes[] = {0, 1, 50, 8192, 8193, 20000, 200000};
      for (uint32_t parts = dice() % 3; parts > 0; --parts)
        body.push_back(pattern(dice() % (kSizes[dice() % 7] + 1), dice()));
      bodies.push_back(text_of(body));
      put(*from.stream, i, body);
      if (dice() % 3 == 0) wire += from.sent();
    }
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
    EXPECT_EQ(to.sink.placed > 0, round % 2 == 1 && key.empty());
    EXPECT_EQ(to.unfinished->bytes, 0u);
  }
}

TEST_P(Streaming, WhatDoesNotFitTheConnectionWaits) {
  const std::string key = this->key();
  OneEnd from(false, key), to(true, key);
  const Buffer body = pattern(3 << 20, 3);
  put(*from.stream, 1, {body});
  EXPECT_TRUE(from.stream->flush());
  EXPECT_TRUE(from.stream->full());
  put(*from.stream, 2, {});
  const std::string wire = from.sent();
  EXPECT_FALSE(from.stream->full());
  for (size_t at = 0; at < wire.size(); at += 30000) to.feed(std::string_view(wire).substr(at, 30000));
  ASSERT_EQ(to.sink.bodies.size(), 2u);
  EXPECT_TRUE(to.sink.bodies[0] == body.text());
}

TEST_P(Streaming, WhatBreaksTheRulesEndsIt) {
  const std::string header = header_of(1);
  const auto record = [](uint32_t header_bytes, uint32_t body_bytes, std::string_view rest) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &header_bytes, 4);
    std::memcpy(bytes.data() + 4, &body_bytes, 4);
    return bytes.append(rest);
  };
  const std::string end(64, '\0');  // room for a checksum
  for (const std::string& bytes :
       {record(kHeaderBytes + 1, 0, ""), record(UINT32_MAX, UINT32_MAX, ""), record(0, 1, "x"),
        record(8, Stream::kMaxBody + 1, ""), record(8, 0, "\xff\xff\xff\xff\xff\xff\xff\xff" + end),
        record(9, 20000, "\xff\xff\xff\xff\xff\xff\xff\xff\xff")}) {
    OneEnd to(false, key());
    EXPECT_EQ(to.feed(bytes), Stream::Result::broken);
    EXPECT_TRUE(to.sink.bodies.empty());
  }
  OneEnd to(false);
  to.other = File();
  EXPECT_EQ(to.stream->read(to.codec, to.sink), Stream::Result::ended);
  put(*to.stream, 1, {});
  EXPECT_FALSE(to.stream->flush());
}

TEST(OneStream, ForgedBytesAreShownToNobody) {
  const std::string key = random_bytes(Seal::kKeyBytes);
  OneEnd from(true, key);
  put(*from.stream, 1, {pattern(100, 1)});
  put(*from.stream, 2, {pattern(20000, 2)});
  put(*from.stream, 3, {});
  const std::string wire = from.sent();
  Frames frames(3);
  for (int i = 0; i < 300; ++i) {
    std::string forged = wire;
    const size_t at = i < 64 ? static_cast<size_t>(i) : frames.roll(static_cast<uint32_t>(wire.size()));
    forged[at] = static_cast<char>(forged[at] ^ (1 << frames.roll(8)));
    OneEnd to(false, key);
    to.feed(forged);
    EXPECT_LT(to.sink.bodies.size(), 3u);
    for (size_t n = 0; n < to.sink.bodies.size(); ++n)
      EXPECT_TRUE(to.sink.bodies[n] == pattern(n == 0 ? 100 : 20000, static_cast<uint32_t>(n) + 1).text());
  }
  // Nor those that go the other way, or come again.
  OneEnd back(true, key), again(false, key);
  EXPECT_EQ(back.feed(wire), Stream::Result::broken);
  EXPECT_EQ(again.feed(wire), Stream::Result::drained);
  EXPECT_EQ(again.feed(wire), Stream::Result::broken);
  EXPECT_EQ(again.sink.bodies.size(), 3u);
}

TEST(OneStream, APlaceThatHasGoneIsNotWrittenTo) {
  OneEnd from(true), to(false);
  put(*from.stream, 1, {pattern(60000, 1)});
  put(*from.stream, 2, {pattern(10, 2)});
  const std::string wire = from.sent();
  to.sink.memory.resize(60000);
  to.feed(wire.substr(0, 40000));
  const std::vector<std::byte> gone = std::exchange(to.sink.memory, {});
  EXPECT_EQ(to.feed(wire.substr(40000)), Stream::Result::drained);
  EXPECT_EQ(to.sink.sequences, std::vector<uint64_t>{2});
  EXPECT_EQ(gone.back(), std::byte{0});
}

// Between nodes.

NetworkOptions over_tcp() {
  NetworkOptions options;
  options.shared_memory = false;
  return options;
}

NetworkOptions plain_payloads() {
  NetworkOptions options = over_tcp();
  options.keys = loomix_network_module.new_keys();
  options.trusted_network = options.plain_payloads = true;
  return options;
}

bool has_stream(const Endpoint& endpoint) {
  const auto peers = endpoint.peers();
  return !peers.empty() && (peers[0].route == "tcp with keys, plain payloads" || peers[0].route == "tcp");
}

bool both_have_streams(const Talk& talk) {
  return eventually([&] { return has_stream(*talk.worker) && has_stream(*talk.server); });
}

void expect_whole(Endpoint& from, size_t bytes) {
  const Buffer large = pattern(bytes, 5);
  EXPECT_TRUE(from.call(server(0), 0, message_of({}, {large}), within(20s)).payload[0].text() ==
              large.text());
}

TEST(Streams, PayloadsAreWholeBothWays) {
  Talk talk(over_tcp());
  ASSERT_TRUE(both_have_streams(talk));
  expect_whole(*talk.worker, 3 << 20);
  talk.end();
  // Who does not want them is talked to as ever.
  NetworkOptions without = over_tcp();
  without.streams = false;
  const auto other = node(worker(3), without);
  other->connect(server(0), talk.server->address());
  expect_whole(*other, 3 << 20);
  EXPECT_EQ(other->peers()[0].route, "tcp by ZeroMQ");
}

TEST(Streams, PlainPayloadsAreWholeBothWays) {
  NetworkOptions options = plain_payloads();
  Talk talk(options);
  ASSERT_TRUE(both_have_streams(talk));
  expect_whole(*talk.worker, 3 << 20);
  talk.end();
  options.plain_payloads = false;
  const auto other = node(worker(3), options);
  other->connect(server(0), talk.server->address());
  expect_whole(*other, 3 << 20);
  EXPECT_EQ(other->peers()[0].route, "tcp with keys");
  options.keys = {};
  options.plain_payloads = true;
  EXPECT_THROW(loomix_network_module.open(options), ValueError);
}

// Of this process only: other tests run beside it.
std::set<uint16_t> listening_ports() {
  std::set<unsigned long> own;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed_since;
    const std::string what = std::filesystem::read_symlink(file.path(), closed_since).string();
    unsigned long inode = 0;
    if (std::sscanf(what.c_str(), "socket:[%lu]", &inode) == 1) own.insert(inode);
  }
  std::set<uint16_t> ports;
  std::ifstream file("/proc/self/net/tcp");
  for (std::string line; std::getline(file, line);) {
    unsigned port = 0, state = 0;
    unsigned long inode = 0;
    const int found = std::sscanf(
        line.c_str(), " %*d: 0100007F:%X %*X:%*X %X %*X:%*X %*X:%*X %*X %*d %*d %lu", &port, &state, &inode);
    if (found == 3 && state == 10 && own.contains(inode)) ports.insert(static_cast<uint16_t>(port));
  }
  return ports;
}

std::string at_port(uint16_t port) { return fmt::format("tcp://127.0.0.1:{}", port); }

// The ports that came with a talk and are not ZeroMQ's.
std::set<uint16_t> stream_ports(const Talk& talk, const std::set<uint16_t>& before) {
  std::set<uint16_t> ports;
  for (const uint16_t port : listening_ports()) {
    const std::string address = at_port(port);
    if (!before.contains(port) && bare(talk.server->address()) != address &&
        bare(talk.worker->address()) != address)
      ports.insert(port);
  }
  return ports;
}

void bother_as_stranger(const NetworkOptions& options) {
  const std::set<uint16_t> before = listening_ports();
  Talk talk(options);
  ASSERT_TRUE(both_have_streams(talk));
  const std::set<uint16_t> ports = stream_ports(talk, before);
  EXPECT_GE(ports.size(), 2u);
  Frames frames(4);
  std::vector<File> silent;
  for (const uint16_t port : ports) {
    for (int i = 0; i < 300; ++i) {
      File stranger(dial_raw(at_port(port)));
      const std::string bytes = frames.bytes(frames.roll(2) == 0 ? frames.roll(16) : frames.roll(5000));
      [[maybe_unused]] const ssize_t sent = ::send(stranger.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (bytes.size() < 16) silent.push_back(std::move(stranger));
    }
  }
  // Others get their streams in the meantime.
  const auto late = node(worker(9), options);
  late->connect(server(0), talk.server->address());
  EXPECT_TRUE(eventually([&] { return has_stream(*late); }));
  expect_whole(*late, 100000);
  talk.end();
  EXPECT_EQ(talk.server->stats().refused, 0u);
}

TEST(Streams, StrangersAreNotHeard) { bother_as_stranger(over_tcp()); }
TEST(Streams, StrangersAreNotHeardWhereThereAreKeys) { bother_as_stranger(plain_payloads()); }

// One who knows the cluster's name, says hello and gets a token.
class Guest final : public TransportEvents {
 public:
  explicit Guest(std::string address)
      : address_(std::move(address)), transport_(loomix_network_module.open(over_tcp())) {}
  void on_packet(LinkId link, Packet&& packet) override {
    if (packet.header.kind == PacketKind::welcome && packet.header.texts.size() == 3)
      answers_[link] = packet.header.texts[2];
  }
  void on_down(LinkId, std::string_view) override {}
  void on_writable(LinkId) override {}
  void hang_up() {
    for (const LinkId link : std::exchange(links_, {})) transport_->close(link);
    transport_->poll(TimePoint{}, *this);
  }
  // A connection on which the token was said.
  File dial(int64_t rank) {
    LinkId link = 0;
    const auto answered = [&] {
      transport_->poll(Clock::now() + 1ms, *this);
      return answers_.contains(link);
    };
    for (int i = 0; i < 3 && !answers_.contains(link); ++i) {  // one that was not heard in time is cut
      links_.push_back(link = transport_->connect(address_));
      Packet hello;
      hello.header.kind = PacketKind::hello;
      hello.header.fields = {kProtocolVersion, 2, rank, static_cast<int64_t>(new_incarnation())};
      hello.header.texts = {"loomix", "tcp://127.0.0.1:1", " stream"};
      transport_->send(link, hello);
      eventually(answered, 5s);
    }
    EXPECT_TRUE(answers_.contains(link));
    char word[8] = {}, token[33] = {};
    unsigned port = 0;
    EXPECT_EQ(std::sscanf(answers_[link].c_str(), "%7s %u %32s", word, &port, token), 3) << answers_[link];
    File connection(dial_raw(at_port(static_cast<uint16_t>(port))));
    std::string bytes;
    for (size_t i = 0; i < 32; i += 2)
      bytes += static_cast<char>(std::stoul(std::string(token + i, 2), nullptr, 16));
    bytes.resize(bytes.size() + 8, '\0');  // a record that says that we are there
    EXPECT_EQ(::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 24);
    return connection;
  }

 private:
  const std::string address_;
  const std::unique_ptr<Transport> transport_;
  std::map<LinkId, std::string> answers_;
  std::vector<LinkId> links_;
};

// One that sends packets as a peer might, with some numbers that it would not, and breaks off somewhere; how many.
int visit(Guest& guest, Frames& frames, HeaderCodec& codec) {
  const File connection = guest.dial(100 + frames.roll(20));
  std::string wire;
  int sent = 0;
  for (; sent < 60; ++sent) {
    std::vector<std::string> body;
    if (frames.roll(2) == 0)
      body.push_back(frames.bytes(1 + frames.roll(frames.roll(20) == 0 ? 60000 : 300)));
    std::string header = codec.encode(frames.header(body));
    if (frames.roll(100) == 0) frames.mutate(header);
    PacketHeader made;
    if (codec.decode(std::as_bytes(std::span(header)), made) && made.kind == PacketKind::hello) continue;
    uint32_t sizes[2] = {static_cast<uint32_t>(header.size()),
                         static_cast<uint32_t>(body.empty() ? 0 : body[0].size())};
    if (frames.roll(200) == 0) sizes[frames.roll(2)] = frames.odd32();
    wire.append(reinterpret_cast<const char*>(sizes), sizeof(sizes)).append(header);
    if (!body.empty()) wire += body[0];
  }
  wire.resize(wire.size() - frames.roll(2) * frames.roll(1000));
  ::send(connection.get(), wire.data(), wire.size(), MSG_NOSIGNAL);
  ::shutdown(connection.get(), SHUT_WR);
  const timeval patience{50, 0};
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  char rest[4096];
  ssize_t came;
  while ((came = ::recv(connection.get(), rest, sizeof(rest), 0)) > 0) {}
  EXPECT_TRUE(came == 0 || errno != EAGAIN) << "the end was not noticed";
  return sent;
}

void let_guests_in(int count) {
  Talk talk(over_tcp());
  ASSERT_TRUE(both_have_streams(talk));
  const auto all = [&](int packets, uint32_t seed) {
    for (const std::string& address : {talk.server->address(), talk.worker->address()}) {
      Guest guest(address);
      Frames frames(seed++);
      HeaderCodec codec;
      for (int sent = 0; sent < packets; guest.hang_up()) sent += visit(guest, frames, codec);
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
  ASSERT_TRUE(both_have_streams(talk));
  Guest guest(talk.server->address());
  HeaderCodec codec;
  PacketHeader header;
  header.kind = PacketKind::credit;  // has no place
  const std::string bytes = codec.encode(header);
  const uint32_t sizes[2] = {static_cast<uint32_t>(bytes.size()), Stream::kMaxBody};
  std::string wire(reinterpret_cast<const char*>(sizes), sizeof(sizes));
  wire += bytes;
  wire.resize(wire.size() + Stream::kMaxBody - 1);
  std::vector<File> connections;
  [[maybe_unused]] const size_t before = resident_kib();
  for (int i = 0; i < 60; ++i) {
    connections.push_back(guest.dial(100 + i));
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
#ifndef __SANITIZE_THREAD__  // it keeps as much again for itself
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
  const std::set<uint16_t> before = listening_ports();
  Talk talk(options);
  ASSERT_TRUE(both_have_streams(talk));
  const std::set<uint16_t> ports = stream_ports(talk, before);
  std::mutex mutex;
  std::set<int64_t> counted;
  std::atomic<int> repeated{0}, answered{0}, failed{0};
  talk.server->serve(1, [&](Incoming&& incoming) {
    {
      const std::lock_guard lock(mutex);
      if (!counted.insert(incoming.message.fields[0]).second) ++repeated;
    }
    incoming.responder.reply({});
  });
  const Buffer large = pattern(400000, 2);
  int64_t sent = 0;
  int broken = 0;
  for (int round = 0; round < 8; ++round) {
    ASSERT_TRUE(both_have_streams(talk));
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
TEST(Streams, SealedOnesThatBreakAreMadeAnew) { break_again_and_again(plain_payloads()); }

// Where a request is given up, its reply's memory is its owner's again at once.
TEST(Streams, MemoryThatWasTakenBackIsNotWrittenTo) {
  Talk talk(over_tcp());
  ASSERT_TRUE(both_have_streams(talk));
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
