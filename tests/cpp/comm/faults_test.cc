// SPDX-License-Identifier: Apache-2.0
// Losses, repetitions, late packets, kills and cuts on the in-process network.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <random>

#include <gtest/gtest.h>

#include "tests/cpp/comm/fabric.h"

namespace loomix::comm {
namespace {

class FaultsTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seeds, FaultsTest, testing::Range(0, 6));

std::unique_ptr<Endpoint> node(InprocNetwork& network, NodeName name,
                               EndpointOptions options = quick_options()) {
  return std::make_unique<Endpoint>(network.attach("inproc://" + name.to_string()),
                                    NodeId{name, new_incarnation()}, options);
}

// Each push is applied exactly once, whatever the network does, and pulls return whole values.
TEST_P(FaultsTest, NothingIsLostOrDoubled) {
  SCOPED_TRACE(GetParam());
  const Faults faults{
      .loss = 0.1, .duplication = 0.2, .reordering = 0.2, .delay_least = 0ms, .delay_most = 3ms};
  InprocNetwork network(static_cast<uint64_t>(GetParam()), faults);
  EndpointOptions options = quick_options();
  options.dead_after = 20s;  // a run of losses is no death here
  constexpr int kServers = 2, kWorkers = 3, kPushes = 60;
  std::vector<std::unique_ptr<Endpoint>> servers, workers;
  std::map<std::pair<int, int64_t>, int> applied[kServers];
  for (int s = 0; s < kServers; ++s) {
    servers.push_back(node(network, server(s), options));
    servers[s]->serve(0, [&applied, s](Incoming&& incoming) {
      if (incoming.message.command == 0) {
        ++applied[s][{incoming.from.name.rank, numbers_of(incoming.message)[0]}];
        const auto seed = static_cast<uint32_t>(numbers_of(incoming.message)[0]);
        EXPECT_EQ(incoming.message.payload[0].text(),
                  pattern(incoming.message.payload[0].size(), seed).text());
        incoming.responder.reply({});
      } else {
        const auto seed = static_cast<uint32_t>(numbers_of(incoming.message)[0]);
        incoming.responder.reply(message_of({}, {pattern(50000, seed)}));
      }
    });
  }
  std::atomic<int> answered{0}, failed{0};
  std::mt19937 dice(static_cast<uint32_t>(GetParam()));
  for (int w = 0; w < kWorkers; ++w) {
    workers.push_back(node(network, worker(w), options));
    for (int s = 0; s < kServers; ++s) workers[w]->connect(server(s), servers[s]->address());
  }
  std::vector<std::vector<std::byte>> places(kWorkers * kPushes);
  for (int i = 0; i < kPushes; ++i) {
    for (int w = 0; w < kWorkers; ++w) {
      const auto to = server(static_cast<int>(dice() % kServers));
      Message push = message_of({i}, {pattern(dice() % 40000, static_cast<uint32_t>(i))});
      workers[w]->request(to, 0, push, within(60s, 20ms), [&](Reply&& reply) {
        if (reply.error) ++failed;
        ++answered;
      });
      Message pull = message_of({i + w});
      pull.command = 1;
      auto& place = places[static_cast<size_t>(w * kPushes + i)];
      place.resize(50000);
      RequestOptions into = within(60s, 20ms);
      into.into = {place};
      workers[w]->request(to, 0, pull, into, [&, i, w](Reply&& reply) {
        if (reply.error ||
            reply.message.payload[0].text() != pattern(50000, static_cast<uint32_t>(i + w)).text()) {
          ++failed;
        }
        ++answered;
      });
    }
  }
  ASSERT_TRUE(eventually([&] { return answered == 2 * kWorkers * kPushes; }, 50s));
  EXPECT_EQ(failed, 0);
  uint64_t retries = 0, repeats = 0;
  for (const auto& w : workers) retries += w->stats().retries;
  for (const auto& s : servers) repeats += s->stats().repeats;
  servers.clear();
  size_t total = 0;
  for (const auto& counts : applied) {
    total += counts.size();
    for (const auto& [push, times] : counts) EXPECT_EQ(times, 1);
  }
  EXPECT_EQ(total, static_cast<size_t>(kWorkers * kPushes));
  EXPECT_GT(retries, 0u);
  EXPECT_GT(repeats, 0u);
}

TEST(Faults, AKilledPeerIsNamedInTime) {
  for (const bool reset : {true, false}) {
    SCOPED_TRACE(reset);
    InprocNetwork network;
    std::vector<Responder> kept;
    std::mutex mutex;
    std::vector<PeerEvent> events;
    std::atomic<bool> asked{false}, failed{false};
    std::string text;
    const auto a = node(network, server(1)), b = node(network, worker(0));
    a->serve(0, [&](Incoming&& incoming) {
      kept.push_back(std::move(incoming.responder));
      asked = true;
    });
    b->on_peer([&](const PeerEvent& event) {
      const std::lock_guard lock(mutex);
      events.push_back(event);
    });
    b->connect(server(1), a->address());
    b->request(server(1), 0, {}, within(30s), [&](Reply&& reply) {
      try {
        std::rethrow_exception(reply.error);
      } catch (const PeerLost& error) {
        text = error.what();
      }
      failed = true;
    });
    ASSERT_TRUE(eventually([&] { return asked.load(); }));
    EXPECT_FALSE(failed);
    const TimePoint killed = Clock::now();
    network.kill("inproc://server 1", reset);
    ASSERT_TRUE(eventually([&] { return failed.load(); }));
    EXPECT_LT(Clock::now() - killed, kSilence + 2s);
    EXPECT_NE(text.find("server 1 at inproc://server 1 is lost"), std::string::npos) << text;
    const auto told = [&] {
      const std::lock_guard lock(mutex);
      return events.size() == 2 && events[1].state == PeerState::lost;
    };
    EXPECT_TRUE(eventually(told));
    // Whoever asks now need not wait.
    EXPECT_THROW(b->call(server(1), 0, {}, within(30s)), PeerLost);
  }
}

TEST(Faults, ACutThatHealsSoonIsNotNoticed) {
  InprocNetwork network;
  EndpointOptions options = quick_options();
  options.dead_after = 10s;
  const auto a = node(network, server(0), options), b = node(network, worker(0), options);
  std::atomic<int> applied{0};
  a->serve(0, [&](Incoming&& incoming) {
    ++applied;
    incoming.responder.reply({});
  });
  b->connect(server(0), a->address());
  b->call(server(0), 0, {}, within(20s));
  network.cut(a->address(), b->address());
  std::atomic<int> answered{0};
  for (int i = 0; i < 10; ++i) {
    b->request(server(0), 0, message_of({}, {pattern(30000, 1)}), within(20s), [&](Reply&& reply) {
      EXPECT_FALSE(reply.error);
      ++answered;
    });
  }
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(answered, 0);
  network.heal(a->address(), b->address());
  EXPECT_TRUE(eventually([&] { return answered == 10; }));
  EXPECT_EQ(applied, 11);
}

TEST(Faults, APeerThatComesBackAfterALongCutIsTheSame) {
  InprocNetwork network;
  const auto a = node(network, server(0)), b = node(network, worker(0));
  std::atomic<int> up{0}, lost{0};
  b->on_peer([&](const PeerEvent& event) { ++(event.state == PeerState::up ? up : lost); });
  a->serve(0, echo);
  b->connect(server(0), a->address());
  b->call(server(0), 0, {}, within(20s));
  network.cut(a->address(), b->address());
  ASSERT_TRUE(eventually([&] { return lost == 1; }));
  network.heal(a->address(), b->address());
  ASSERT_TRUE(eventually([&] { return up == 2; }));
  b->call(server(0), 0, {}, within(20s));
}

// As a process that was stopped and goes on: what others sent meanwhile is not read yet, and they are not lost.
TEST(Faults, WhoDidNotRunTakesNobodyForSilent) {
  InprocNetwork network;
  EndpointOptions quick = quick_options(), patient = quick_options();
  quick.dead_after = 1s;
  patient.dead_after = 20s;
  const auto a = node(network, server(0), quick), b = node(network, worker(0), patient);
  std::atomic<int> lost{0};
  a->on_peer([&](const PeerEvent& event) { lost += event.state == PeerState::lost; });
  a->serve(0, [&](Incoming&& incoming) {
    std::this_thread::sleep_for(2s);
    incoming.responder.reply({});
  });
  b->connect(server(0), a->address());
  b->call(server(0), 0, {}, within(20s));
  b->call(server(0), 0, {}, within(20s));
  EXPECT_EQ(lost, 0);
  network.kill(b->address(), false);  // whose silence is noticed still
  EXPECT_TRUE(eventually([&] { return lost == 1; }));
}

// A peer dies without a word after it was dialled and before it answered; the link does not lead to its successor.
TEST(Faults, APeerThatDiedWhileItWasDialledIsDialledAgain) {
  struct Ear final : TransportEvents {
    bool heard = false;
    void on_packet(LinkId, Packet&&) override { heard = true; }
    void on_down(LinkId, std::string_view) override {}
    void on_writable(LinkId) override {}
  } ear;
  InprocNetwork network;
  const auto mute = network.attach("inproc://server 0");
  const auto b = node(network, worker(0));
  b->connect(server(0), mute->address());
  ASSERT_TRUE(eventually([&] {
    mute->poll(Clock::now() + 1ms, ear);
    return ear.heard;
  }));
  network.kill("inproc://server 0", false);
  const auto a = node(network, server(0));
  a->serve(0, echo);
  EXPECT_EQ(numbers_of(b->call(server(0), 0, message_of({7}), within(20s)))[0], 7);
}

// What `caller` hears that calls server 0.
std::string refusal(Endpoint& caller, const Endpoint& server_0, Duration deadline) {
  try {
    caller.connect(server(0), server_0.address());
    caller.call(server(0), 0, {}, within(deadline));
  } catch (const NetworkError& error) {
    return error.what();
  }
  return {};
}

bool hears(Endpoint& caller, const Endpoint& server_0, const std::string& words, Duration deadline = 20s) {
  return eventually([&] { return refusal(caller, server_0, deadline).find(words) != std::string::npos; },
                    30s);
}

// A slow machine's pauses are no silence.
EndpointOptions patient_options() {
  EndpointOptions options = quick_options();
  options.heartbeat_every = 1s;
  options.dead_after = 20s;
  return options;
}

// Numbers say nothing: the one that came later is the newer one.
TEST(Faults, WhoWasReplacedIsRefused) {
  for (const bool larger : {false, true}) {
    InprocNetwork network;
    const auto a = node(network, server(0));
    a->serve(0, echo);
    std::atomic<bool> told = false;
    Endpoint old(network.attach("inproc://old"), NodeId{worker(0), larger ? 7u : 5u}, quick_options());
    EXPECT_EQ(refusal(old, *a, 20s), "");
    network.cut(a->address(), "inproc://old");
    Endpoint fresh(network.attach("inproc://fresh"), NodeId{worker(0), 6}, quick_options());
    EXPECT_EQ(refusal(fresh, *a, 20s), "");
    old.on_peer([&](const PeerEvent& event) { told = told || event.state == PeerState::refused; });
    network.heal(a->address(), "inproc://old");
    EXPECT_TRUE(eventually([&] { return told.load(); }));
    EXPECT_TRUE(hears(old, *a, "worker 0 was replaced by a newer one"));
    EXPECT_EQ(refusal(fresh, *a, 20s), "");
  }
}

TEST(Faults, ASecondOfTheSameNameWaitsUntilTheFirstIsGone) {
  InprocNetwork network;
  const auto a = node(network, server(0), patient_options());
  auto first = node(network, worker(0), patient_options());
  a->serve(0, echo);
  EXPECT_EQ(refusal(*first, *a, 20s), "");
  Endpoint second(network.attach("inproc://second"), NodeId{worker(0), new_incarnation()}, patient_options());
  EXPECT_TRUE(hears(second, *a, "there is another worker 0 already", 200ms));
  EXPECT_EQ(refusal(*first, *a, 20s), "");
  first.reset();
  EXPECT_EQ(refusal(second, *a, 20s), "");
}

// Somebody knows better than the order in which they came.
TEST(Faults, WhoIsExpectedTakesTheOthersPlace) {
  InprocNetwork network;
  const auto a = node(network, server(0), patient_options());
  a->serve(0, echo);
  Endpoint one(network.attach("inproc://one"), NodeId{worker(0), 1}, patient_options());
  Endpoint two(network.attach("inproc://two"), NodeId{worker(0), 2}, patient_options());
  EXPECT_EQ(refusal(one, *a, 20s), "");
  a->expect({worker(0), 2});
  EXPECT_EQ(refusal(two, *a, 20s), "");
  EXPECT_NE(refusal(one, *a, 200ms), "");
  EXPECT_EQ(refusal(two, *a, 20s), "");
  a->expect({worker(0), 1});
  EXPECT_TRUE(eventually([&] { return refusal(one, *a, 200ms).empty(); }));
  EXPECT_TRUE(hears(two, *a, "worker 0 was replaced by a newer one"));
  EXPECT_EQ(refusal(one, *a, 20s), "");
}

TEST(Faults, MessagesWithoutAHandlerAreBounded) {
  std::atomic<int> refused{0};
  InprocNetwork network;
  EndpointOptions options = quick_options();
  options.limits.waiting_messages = 10;
  const auto a = node(network, server(0), options), b = node(network, worker(0));
  b->connect(server(0), a->address());
  for (int i = 0; i < 15; ++i) {
    b->request(server(0), 0, {}, within(20s), [&](Reply&& reply) {
      if (reply.error) ++refused;
    });
  }
  EXPECT_TRUE(eventually([&] { return refused == 5; }));
}

TEST(Faults, ClosingFailsWhatIsOutstanding) {
  InprocNetwork network;
  std::atomic<int> failed{0};
  {
    const auto b = node(network, worker(0));
    for (int i = 0; i < 5; ++i) {
      b->request(server(0), 0, {}, within(20s), [&](Reply&& reply) { failed += reply.error != nullptr; });
    }
  }
  EXPECT_EQ(failed, 5);
}

TEST(Faults, ARespondersEndpointMayBeGone) {
  InprocNetwork network;
  Responder late;
  {
    const auto a = node(network, server(0)), b = node(network, worker(0));
    std::atomic<bool> came{false};
    a->serve(0, [&](Incoming&& incoming) {
      late = std::move(incoming.responder);
      came = true;
    });
    b->connect(server(0), a->address());
    b->request(server(0), 0, {}, within(20s), [](Reply&&) {});
    ASSERT_TRUE(eventually([&] { return came.load(); }));
  }
  late.reply({});
}

TEST(Faults, AForkedChildIsToldAndEnds) {
  InprocNetwork network;
  auto a = node(network, server(0)), b = node(network, worker(0));
  a->serve(0, echo);
  b->connect(server(0), a->address());
  b->call(server(0), 0, {}, within(20s));
  const pid_t child = fork();
  if (child == 0) {
    try {
      b->call(server(0), 0, {}, within(20s));
    } catch (const StateError&) {
      b.reset();
      a.reset();
      std::_Exit(3);
    }
    std::_Exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  b->call(server(0), 0, {}, within(20s));
}

// A peer that is welcome and then sends packets with random fields.
class Hostile final : public TransportEvents {
 public:
  Hostile(InprocNetwork& network, std::string to, uint32_t seed)
      : transport_(network.attach("inproc://hostile")), to_(std::move(to)), dice_(seed) {}
  void on_packet(LinkId, Packet&& packet) override { welcomed_ |= packet.header.kind == PacketKind::welcome; }
  void on_down(LinkId, std::string_view) override { welcomed_ = false, link_ = 0; }
  void on_writable(LinkId) override {}

  void send(int packets) {
    for (int i = 0; i < packets; ++i) {
      if (link_ == 0) {
        link_ = transport_->connect(to_);
        Packet hello;
        hello.header.kind = PacketKind::hello;
        hello.header.hello =
            Hello{kProtocolVersion, 2, static_cast<int32_t>(dice_() % 3) + 10, 1, "loomix", "", ""};
        transport_->send(link_, hello);
      }
      Packet packet;
      PacketHeader& h = packet.header;
      const auto some = [&](uint64_t most) {
        return dice_() % 8 == 0 ? uint64_t{dice_()} << (dice_() % 40) : dice_() % most;
      };
      h.kind = static_cast<PacketKind>(dice_() % 11 == 10 ? 1 : dice_() % 9);
      h.failed = dice_() % 8 == 0;
      h.channel = static_cast<uint32_t>(some(3));
      h.sequence = some(50);
      h.transmission = some(50);
      h.offset = dice_() % 2 == 0 ? 0 : some(5000);
      h.done_below = some(40);
      h.consumed = some(1000);
      for (uint64_t n = dice_() % 4; n > 0; --n) h.frames.push_back(some(3000));
      h.time = static_cast<int64_t>(some(20));
      h.head = std::string(dice_() % 30, 'x');
      for (uint64_t n = dice_() % 3; n > 0; --n) packet.body.push_back(pattern(dice_() % 2000, 1));
      packet.transient = false;
      transport_->send(link_, packet);
      if (i % 64 == 0) transport_->poll(Clock::now() + 1ms, *this);
    }
  }

 private:
  std::unique_ptr<Transport> transport_;
  const std::string to_;
  std::mt19937 dice_;
  LinkId link_ = 0;
  bool welcomed_ = false;
};

TEST(Faults, APeerThatSendsNonsenseHarmsNobody) {
  InprocNetwork network;
  EndpointOptions options = quick_options();
  options.dead_after = 20s;
  options.limits.message_bytes = 1 << 20;
  const auto a = node(network, server(0), options), b = node(network, worker(0), options);
  a->serve(0, echo);
  b->connect(server(0), a->address());
  Hostile hostile(network, a->address(), 5);
  for (int round = 0; round < 20; ++round) {
    hostile.send(5000);
    b->call(server(0), 0, message_of({round}, {pattern(100000, 1)}), within(20s));
  }
  EXPECT_GT(a->stats().refused, 10u);
}

}  // namespace
}  // namespace loomix::comm
