// SPDX-License-Identifier: Apache-2.0
// What every transport has to do.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <future>
#include <mutex>

#include <gtest/gtest.h>

#include "tests/cpp/comm/fabric.h"

namespace loomix::comm {
namespace {

struct Kind {
  const char* name;
  std::function<std::unique_ptr<Fabric>()> make;
};
std::vector<Kind> kinds();

class Scenarios : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Endpoint> node(NodeName name, EndpointOptions options = quick_options()) {
    return std::make_unique<Endpoint>(fabric_->attach(name.to_string()), NodeId{name, new_incarnation()},
                                      options);
  }
  const std::unique_ptr<Fabric> fabric_ = GetParam().make();
};
INSTANTIATE_TEST_SUITE_P(All, Scenarios, testing::ValuesIn(kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Scenarios, ARequestIsAnswered) {
  const auto a = node(server(0)), b = node(worker(0));
  a->serve(7, [](Incoming&& incoming) {
    EXPECT_EQ(incoming.from.name, worker(0));
    EXPECT_FALSE(incoming.repeated);
    Message reply = std::move(incoming.message);
    reply.command += 1;
    reply.head += "thanks";
    incoming.responder.reply(std::move(reply));
  });
  b->connect(server(0), a->address());
  Message message = message_of({1, -2, INT64_MIN, INT64_MAX}, {pattern(1000, 3), {}, pattern(1, 4)});
  message.command = 41;
  message.head += std::string("a\0b", 3);
  const Message reply = b->call(server(0), 7, message, within(20s, 20s));
  EXPECT_EQ(reply.command, 42u);
  EXPECT_EQ(reply.head, message.head + "thanks");
  ASSERT_EQ(reply.payload.size(), 3u);
  EXPECT_EQ(reply.payload[0].text(), message.payload[0].text());
  EXPECT_EQ(reply.payload[1].size(), 0u);
  EXPECT_EQ(reply.payload[2].text(), message.payload[2].text());
}

// One that is never answered ends at its own deadline. Beside it as many others may come as there are; each comes once.
TEST_P(Scenarios, ARequestWithoutAnAnswerStopsNoOthers) {
  EndpointOptions options = quick_options();
  options.limits.requests_in_flight = 64;
  const auto a = node(server(0), options), b = node(worker(0), options);
  std::vector<Responder> silent;
  std::atomic<int> came{0};
  a->serve(0, [&](Incoming&& incoming) {
    ++came;
    if (numbers_of(incoming.message)[0] % 500 == 0) {
      silent.push_back(std::move(incoming.responder));
    } else {
      incoming.responder.reply(std::move(incoming.message));
    }
  });
  b->connect(server(0), a->address());
  std::promise<std::string> first;
  b->request(server(0), 0, message_of({0}), within(1s, 50ms), [&](Reply&& reply) {
    try {
      std::rethrow_exception(reply.error);
    } catch (const DeadlineError& error) {
      first.set_value(error.what());
    }
  });
  b->request(server(0), 0, message_of({500}), within(60s, 50ms), [](Reply&&) {});
  constexpr int kOthers = 400;
  for (int i = 1; i <= kOthers; ++i) b->call(server(0), 0, message_of({i}), within(20s, 20s));
  EXPECT_NE(first.get_future().get().find("did not answer within 1"), std::string::npos);
  for (int i = 1; i <= kOthers; ++i) b->call(server(0), 0, message_of({i}), within(20s, 20s));
  EXPECT_EQ(came, 2 + 2 * kOthers);
  EXPECT_EQ(a->stats().refused, 0u);
  a->run([&] { silent.clear(); });
}

// Who is asked says that it waits for somebody; who asks waits on as long as it likes.
TEST_P(Scenarios, TheDeadlineBeginsAnewForOneThatWaits) {
  const auto a = node(server(0)), b = node(worker(0));
  Responder waiting;
  a->serve(0, [&](Incoming&& incoming) { waiting = std::move(incoming.responder); });
  b->connect(server(0), a->address());
  std::atomic<int> told{0};
  RequestOptions options = within(400ms, 20s);
  options.on_waiting = [&](const std::string& for_whom) {
    EXPECT_EQ(for_whom, "worker 7?");
    return Clock::now() + (++told < 8 ? 400ms : 0ms);
  };
  std::promise<std::string> ended;
  b->request(server(0), 0, {}, options, [&](Reply&& reply) {
    try {
      std::rethrow_exception(reply.error);
    } catch (const DeadlineError& error) {
      ended.set_value(error.what());
    }
  });
  const TimePoint begin = Clock::now();
  std::future<std::string> end = ended.get_future();
  while (end.wait_for(100ms) != std::future_status::ready) a->run([&] { waiting.waits("worker 7\n"); });
  EXPECT_NE(end.get().find("it waits for worker 7?"), std::string::npos);
  EXPECT_GE(Clock::now() - begin, 700ms);
  EXPECT_EQ(told, 8);
}

TEST_P(Scenarios, PayloadsOfAllSizes) {
  const auto a = node(server(0)), b = node(worker(0));
  a->serve(0, echo);
  b->connect(server(0), a->address());
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{16383}, size_t{16384}, size_t{16385}, size_t{300000}, size_t{3} << 20}) {
    SCOPED_TRACE(size);
    const Buffer sent = pattern(size, 5), tail = pattern(17, 6);
    std::vector<std::byte> place(size), rest(17);
    RequestOptions options = within(30s, 10s);
    options.into = {place, rest};
    const Message reply = b->call(server(0), 0, message_of({}, {sent, tail}), options);
    ASSERT_EQ(reply.payload.size(), 2u);
    EXPECT_EQ(reply.payload[0].text(), sent.text());
    EXPECT_EQ(reply.payload[1].text(), tail.text());
    EXPECT_TRUE(size == 0 || reply.payload[0].data() == place.data());
  }
}

TEST_P(Scenarios, PiecesGoWhereTheServerWants) {
  std::vector<std::byte> store(200000);
  auto a = node(server(0));
  const auto b = node(worker(0));
  ChannelOptions options;
  options.place = [&](const NodeId& from, const Message& head, size_t frame, size_t bytes) {
    EXPECT_EQ(from.name, worker(0));
    EXPECT_EQ(numbers_of(head), std::vector<int64_t>{9});
    EXPECT_EQ(frame, 0u);
    return bytes == store.size() ? Buffer::borrow(store) : Buffer{};
  };
  a->serve(
      0,
      [&](Incoming&& incoming) {
        EXPECT_EQ(incoming.message.payload[0].data(), store.data());
        incoming.responder.reply({});
      },
      options);
  b->connect(server(0), a->address());
  const Buffer sent = pattern(store.size(), 8);
  b->call(server(0), 0, message_of({9}, {sent}), within(20s));
  a.reset();
  EXPECT_EQ(std::memcmp(store.data(), sent.data(), sent.size()), 0);
}

TEST_P(Scenarios, BorrowedMemoryIsReleased) {
  std::atomic<int> released{0};
  {
    const auto a = node(server(0)), b = node(worker(0));
    a->serve(0, [](Incoming&& incoming) { incoming.responder.reply({}); });
    b->connect(server(0), a->address());
    std::vector<std::byte> memory(100000);
    for (int i = 0; i < 10; ++i) {
      b->call(server(0), 0, message_of({}, {Buffer::borrow(memory, [&released] { ++released; })}),
              within(20s));
    }
    EXPECT_TRUE(eventually([&] { return released == 10; }));
  }
  EXPECT_EQ(released, 10);
}

TEST_P(Scenarios, AHandlerSetLateGetsAll) {
  const auto a = node(server(0)), b = node(worker(0));
  b->connect(server(0), a->address());
  std::atomic<int> answered{0};
  for (int i = 0; i < 50; ++i) {
    b->request(server(0), 3, message_of({i}), within(20s), [&, i](Reply&& reply) {
      EXPECT_FALSE(reply.error);
      EXPECT_EQ(numbers_of(reply.message), std::vector<int64_t>{i});
      ++answered;
    });
  }
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(answered, 0);
  a->serve(3, echo);
  EXPECT_TRUE(eventually([&] { return answered == 50; }));
}

TEST_P(Scenarios, TwoCustomersInAProcess) {
  const auto a = node(server(0)), b = node(worker(0));
  a->serve(1, [](Incoming&& i) { i.responder.reply(message_of({numbers_of(i.message)[0] + 100})); });
  a->serve(2, [](Incoming&& i) { i.responder.reply(message_of({numbers_of(i.message)[0] + 200})); });
  b->connect(server(0), a->address());
  std::vector<std::thread> customers;
  for (int channel = 1; channel <= 2; ++channel) {
    customers.emplace_back([&, channel] {
      for (int i = 0; i < 100; ++i) {
        const Message reply = b->call(server(0), channel, message_of({i}), within(20s));
        ASSERT_EQ(numbers_of(reply), std::vector<int64_t>{i + 100 * channel});
      }
    });
  }
  for (auto& customer : customers) customer.join();
  a->stop_serving(1);
  RequestOptions soon = within(100ms, 1s);
  EXPECT_THROW(b->call(server(0), 1, message_of({1}), soon), DeadlineError);
}

TEST_P(Scenarios, AHundredRequestsToEveryNodeWithExactCounts) {
  constexpr int kNodes = 5, kRequests = 100;
  std::vector<std::unique_ptr<Endpoint>> nodes;
  std::vector<std::atomic<int>> handled(kNodes);
  std::atomic<int> answered{0}, failed{0};
  for (int i = 0; i < kNodes; ++i) {
    nodes.push_back(node(server(i)));
    nodes[i]->serve(0, [&handled, i](Incoming&& incoming) {
      ++handled[i];
      incoming.responder.reply(message_of({i}));
    });
  }
  for (int i = 0; i < kNodes; ++i) {
    for (int j = 0; j < kNodes; ++j) {
      if (i != j) nodes[i]->connect(server(j), nodes[j]->address());
    }
  }
  for (int i = 0; i < kNodes; ++i) {
    for (int r = 0; r < kRequests; ++r) {
      for (int j = 0; j < kNodes; ++j) {
        if (i == j) continue;
        nodes[i]->request(server(j), 0, message_of({r}), within(30s), [&, j](Reply&& reply) {
          if (reply.error || numbers_of(reply.message) != std::vector<int64_t>{j}) ++failed;
          ++answered;
        });
      }
    }
  }
  EXPECT_TRUE(eventually([&] { return answered == kNodes * (kNodes - 1) * kRequests; }, 30s));
  EXPECT_EQ(failed, 0);
  for (int i = 0; i < kNodes; ++i) EXPECT_EQ(handled[i], (kNodes - 1) * kRequests);
}

TEST_P(Scenarios, BothWaysOverOneLink) {
  const auto a = node(server(0)), b = node(worker(0));
  a->serve(0, echo);
  b->serve(0, echo);
  b->connect(server(0), a->address());
  b->call(server(0), 0, message_of({1}), within(20s));
  EXPECT_EQ(numbers_of(a->call(worker(0), 0, message_of({2}), within(20s))), std::vector<int64_t>{2});
}

TEST_P(Scenarios, HandlersFailuresTravel) {
  const auto a = node(server(0)), b = node(worker(0));
  a->serve(0, [](Incoming&& incoming) {
    if (incoming.message.command == 0) throw ValueError("[test] no such thing.");
    if (incoming.message.command == 1) return;  // drops it
    incoming.responder.fail("not today", 7);
  });
  b->connect(server(0), a->address());
  for (const auto& [command, text, code] :
       {std::tuple(0u, "no such thing", 0u), {1u, "without an answer", 0u}, {2u, "not today", 7u}}) {
    Message message;
    message.command = command;
    try {
      b->call(server(0), 0, message, within(20s));
      FAIL();
    } catch (const RemoteError& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("server 0 at "), std::string::npos) << error.what();
      EXPECT_EQ(error.code(), code);
    }
  }
}

TEST_P(Scenarios, WorkMayComeLater) {
  const auto a = node(server(0));
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::pair<int, TimePoint>> ran;
  const auto note = [&](int what) {
    const std::lock_guard lock(mutex);
    ran.emplace_back(what, Clock::now());
    changed.notify_all();
  };
  const TimePoint start = Clock::now();
  a->after(60ms, [&] { note(60); });
  a->after(20ms, [&] {
    note(20);
    a->after(20ms, [&] { note(40); });  // from its own thread
  });
  a->after(1h, [&] { note(-1); });  // goes away with the endpoint
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, 20s, [&] { return ran.size() == 3; }));
  for (size_t i = 0; i < 3; ++i) {
    const int expected = 20 * static_cast<int>(i + 1);
    EXPECT_EQ(ran[i].first, expected);
    EXPECT_GE(ran[i].second - start, std::chrono::milliseconds(expected));
  }
}

TEST_P(Scenarios, UrgentMessagesOvertake) {
  const auto a = node(server(0)), b = node(worker(0));
  std::mutex mutex;
  std::vector<int64_t> order;
  a->serve(0, [&](Incoming&& incoming) {
    const std::lock_guard lock(mutex);
    order.push_back(numbers_of(incoming.message)[0]);
    incoming.responder.reply({});
  });
  b->connect(server(0), a->address());
  b->call(server(0), 0, message_of({-1}), within(20s));
  constexpr int kLarge = 8;
  const Buffer large = pattern(4 << 20, 1), urgent = pattern(100000, 1);
  std::atomic<int> done{0};
  RequestOptions options = within(60s, 30s);
  for (int i = 0; i < kLarge; ++i) {
    options.priority = 0;
    b->request(server(0), 0, message_of({i}, {large}), options, [&](Reply&&) { ++done; });
  }
  options.priority = 5;
  b->request(server(0), 0, message_of({100}, {urgent}), options, [&](Reply&&) { ++done; });
  ASSERT_TRUE(eventually([&] { return done == kLarge + 1; }, 60s));
  const std::lock_guard lock(mutex);
  // It came after 32 MiB in the program, and has waited for a window of 64 KiB and a message in the making at most.
  const auto at = std::find(order.begin(), order.end(), 100) - order.begin();
  EXPECT_LE(at, 3);
}

TEST_P(Scenarios, PeersThatLeaveAreNamed) {
  std::mutex mutex;
  std::vector<PeerEvent> events;
  const auto a = node(server(0));
  a->on_peer([&](const PeerEvent& event) {
    const std::lock_guard lock(mutex);
    events.push_back(event);
  });
  NodeId first;
  {
    const auto b = node(worker(4));
    first = b->self();
    a->serve(0, echo);
    b->connect(server(0), a->address());
    b->call(server(0), 0, {}, within(20s));
  }
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return events.size() >= 2;
  }));
  EXPECT_EQ(events[0].state, PeerState::up);
  EXPECT_EQ(events[0].peer, first);
  EXPECT_NE(events[1].state, PeerState::up);
  EXPECT_EQ(events[1].peer, first);
  EXPECT_NE(events[1].reason.find("worker 4"), std::string::npos) << events[1].reason;
}

TEST_P(Scenarios, AnotherClusterIsRefused) {
  EndpointOptions other = quick_options();
  other.cluster = "elsewhere";
  const auto a = node(server(0)), b = node(worker(0), other);
  b->connect(server(0), a->address());
  try {
    b->call(server(0), 0, {}, within(20s));
    FAIL();
  } catch (const NetworkError& error) {
    EXPECT_NE(std::string(error.what()).find("cluster 'elsewhere'"), std::string::npos) << error.what();
  }
}

TEST_P(Scenarios, TheWrongRankBehindAnAddressIsNamed) {
  const auto a = node(server(3)), b = node(worker(0));
  b->connect(server(1), a->address());
  try {
    b->call(server(1), 0, {}, within(20s));
    FAIL();
  } catch (const NetworkError& error) {
    EXPECT_NE(std::string(error.what()).find("is server 3, not server 1"), std::string::npos) << error.what();
  }
}

TEST_P(Scenarios, NobodyThere) {
  const auto a = node(server(0));
  const std::string address = a->address();
  auto transport = fabric_->attach("nobody");
  const std::string unused = transport->address();
  transport.reset();
  a->connect(server(9), unused);
  try {
    a->call(server(9), 0, {}, within(200ms));
    FAIL();
  } catch (const DeadlineError& error) {
    EXPECT_NE(std::string(error.what()).find("server 9 at " + unused), std::string::npos) << error.what();
  }
  try {
    a->call(worker(8), 0, {}, within(100ms));
    FAIL();
  } catch (const DeadlineError& error) {
    EXPECT_NE(std::string(error.what()).find("worker 8 did not come"), std::string::npos) << error.what();
  }
}

TEST_P(Scenarios, ARankGivenLater) {
  const auto a = node(kScheduler), b = node({Role::worker, -12});
  a->serve(0, echo);
  b->serve(0, echo);
  b->connect(kScheduler, a->address());
  b->call(kScheduler, 0, {}, within(20s));
  b->rename(worker(2));
  EXPECT_EQ(numbers_of(a->call(worker(2), 0, message_of({5}), within(20s))), std::vector<int64_t>{5});
  EXPECT_EQ(numbers_of(b->call(kScheduler, 0, message_of({6}), within(20s))), std::vector<int64_t>{6});
}

TEST_P(Scenarios, ARestartedPeerIsAnotherIncarnation) {
  auto a = node(server(0));
  const auto b = node(worker(0));
  a->serve(0, echo);
  b->connect(server(0), a->address());
  b->call(server(0), 0, {}, within(20s));
  a->serve(0, [](Incoming&& incoming) {
    static std::vector<Responder> never;
    never.push_back(std::move(incoming.responder));
  });
  std::atomic<int> lost{0}, answered{0};
  b->request(server(0), 0, {}, within(20s), [&](Reply&& reply) {
    try {
      std::rethrow_exception(reply.error);
    } catch (const PeerLost&) {
      ++lost;
    }
  });
  RequestOptions tough = within(20s);
  tough.survive_restart = true;
  b->request(server(0), 0, message_of({3}), tough, [&](Reply&& reply) {
    EXPECT_FALSE(reply.error);
    ++answered;
  });
  std::this_thread::sleep_for(30ms);
  a.reset();
  EXPECT_TRUE(eventually([&] { return lost == 1; }));
  EXPECT_EQ(answered, 0);
  a = node(server(0));
  a->serve(0, echo);
  b->connect(server(0), a->address());
  EXPECT_TRUE(eventually([&] { return answered == 1; }));
}

TEST_P(Scenarios, WrongCallsAreTold) {
  const auto a = node(server(0)), b = node(worker(0));
  EndpointOptions small = quick_options();
  small.limits.message_bytes = 1000;
  const auto c = node(worker(1), small);
  EXPECT_THROW(c->call(server(0), 0, message_of({}, {pattern(1001, 1)})), ValueError);
  std::atomic<bool> thrown{false};
  a->serve(0, [&](Incoming&& incoming) {
    try {
      a->call(worker(0), 0, {});
    } catch (const StateError&) {
      thrown = true;
    }
    incoming.responder.reply({});
    EXPECT_THROW(incoming.responder.reply({}), StateError);
  });
  b->connect(server(0), a->address());
  b->call(server(0), 0, {}, within(20s));
  EXPECT_TRUE(thrown);
  // A peer that sends more than is allowed here is dropped, and nothing else is harmed.
  c->serve(0, echo);
  b->connect(worker(1), c->address());
  EXPECT_THROW(b->call(worker(1), 0, message_of({}, {pattern(5000, 1)}), within(2s)), NetworkError);
  EXPECT_GT(c->stats().refused, 0u);
  b->call(server(0), 0, {}, within(20s));
}

std::string text_of(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const NetworkError& problem) {
    return problem.what();
  }
  return {};
}

TEST_P(Scenarios, WhoBreaksTheProtocolOfAChannelIsCutOff) {
  constexpr auto kWhy = "3 bytes came that are no message";
  const auto a = node(server(0)), b = node(worker(0)), c = node(worker(1));
  std::vector<Responder> kept;
  a->serve(0, echo);
  a->serve(1, [&](Incoming&&) -> void { throw ProtocolError(kWhy); });
  a->serve(2, [&](Incoming&& incoming) { kept.push_back(std::move(incoming.responder)); });
  std::atomic<int> ups{0}, others{0}, refusals{0};
  c->on_peer([&](const PeerEvent& event) { ++(event.state == PeerState::up ? ups : others); });
  b->on_peer([&](const PeerEvent& event) { refusals += event.state == PeerState::refused; });
  b->connect(server(0), a->address());
  c->connect(server(0), a->address());
  b->call(server(0), 0, {}, within(20s));
  c->call(server(0), 0, {}, within(20s));
  std::promise<std::string> waiting;
  b->request(server(0), 2, {}, within(60s, 60s),
             [&](Reply&& reply) { waiting.set_value(text_of(reply.error)); });
  EXPECT_TRUE(eventually([&] {
    bool there = false;
    a->run([&] { there = !kept.empty(); });
    return there;
  }));
  testing::internal::CaptureStderr();
  std::string error;
  try {
    b->call(server(0), 1, {}, within(60s, 60s));
  } catch (const NetworkError& problem) {
    error = problem.what();
  }
  EXPECT_NE(error.find(kWhy), std::string::npos) << error;
  const std::string of_waiting = waiting.get_future().get();
  EXPECT_NE(of_waiting.find(kWhy), std::string::npos) << of_waiting;
  a->run([] {});  // what it had to say it has said: that it drops the link comes after the refusal
  const std::string log = testing::internal::GetCapturedStderr();
  const size_t dropped = log.find("dropped worker 0");
  EXPECT_NE(dropped, std::string::npos) << log;
  EXPECT_EQ(log.find("dropped", dropped + 1), std::string::npos) << log;
  EXPECT_NE(log.find(kWhy, dropped), std::string::npos) << log;
  EXPECT_TRUE(eventually([&] { return refusals == 1; }));
  EXPECT_EQ(a->stats().refused, 1u);
  c->call(server(0), 0, {}, within(20s));
  EXPECT_EQ(ups, 1);
  EXPECT_EQ(others, 0);
  b->connect(server(0), a->address());  // it may come again
  b->call(server(0), 0, {}, within(20s));
}

// Who was called, and not who called.
TEST_P(Scenarios, WhoBreaksTheProtocolByAReplyIsCutOff) {
  const auto a = node(server(0)), b = node(worker(0)), c = node(worker(1));
  a->serve(0, echo);
  a->serve(1, echo);
  std::atomic<bool> came{false};
  b->serve(2, [&, kept = std::make_shared<std::vector<Responder>>()](Incoming&& incoming) {
    kept->push_back(std::move(incoming.responder));
    came = true;
  });
  b->connect(server(0), a->address());
  c->connect(server(0), a->address());
  b->call(server(0), 0, {}, within(20s));
  std::promise<std::string> waiting;
  a->request(worker(0), 2, {}, within(60s, 60s),
             [&](Reply&& reply) { waiting.set_value(text_of(reply.error)); });
  EXPECT_TRUE(eventually([&] { return came.load(); }));
  b->request(server(0), 1, {}, within(20s),
             [&](Reply&& reply) { b->cut_off(reply.from, "an answer that is none"); });
  const std::string of_waiting = waiting.get_future().get();
  EXPECT_NE(of_waiting.find("an answer that is none"), std::string::npos) << of_waiting;
  b->run([] {});
  EXPECT_EQ(b->stats().refused, 1u);
  c->call(server(0), 0, {}, within(20s));
}

// Threads may wait awake where messages follow each other, and only there.
TEST_P(Scenarios, IdleNodesSleep) {
  const auto a = node(server(0)), b = node(worker(0));
  a->serve(0, echo);
  b->connect(server(0), a->address());
  for (int i = 0; i < 200; ++i) b->call(server(0), 0, {}, within(20s));
  const auto busy = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  const auto before = busy();
  std::this_thread::sleep_for(400ms);
  EXPECT_LT(busy() - before, 200ms);
}

std::vector<Kind> kinds() {
  std::vector<Kind> all = {{"Inproc", [] { return std::make_unique<InprocFabric>(); }}};
  if (!has_network()) return all;
  all.push_back({"Tcp", [] { return std::make_unique<NetworkFabric>(false); }});
  all.push_back({"Tls", [] { return std::make_unique<NetworkFabric>(false, true); }});
  all.push_back({"SharedMemory", [] { return std::make_unique<NetworkFabric>(true); }});
  return all;
}

}  // namespace
}  // namespace loomix::comm
