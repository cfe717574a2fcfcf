// SPDX-License-Identifier: Apache-2.0
//
// Messages of other releases, and such as nobody should send.
#include "kvstore/cluster/messages.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <random>

#include "tests/cpp/comm/fabric.h"
#include "tests/cpp/kvstore/cluster.h"
#include "tests/cpp/kvstore/requests.h"

namespace loomix::kvstore {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

messages::ToScheduler registration(uint32_t version) {
  messages::ToScheduler message;
  message.mutable_register_()->set_version(version);
  message.mutable_register_()->set_address("inproc://worker0");
  return message;
}

// What a message of a later release may have: a number and a text that this one does not know, also in the message within.
std::string of_later_release(const google::protobuf::MessageLite& message, int inner) {
  constexpr std::string_view kMore = "\xC0\x3E\x07\xCA\x3E\x04text";  // fields 1000 and 1001
  const std::string within = {static_cast<char>(inner << 3 | 2), static_cast<char>(kMore.size())};
  return message.SerializeAsString().append(kMore).append(within).append(kMore);
}

// A cluster of two servers whose only worker says what a test wants it to.
class Messages : public StoreTest {
 protected:
  Messages()
      : scheduler_(network_.attach("inproc://scheduler"), options()),
        worker_(network_.attach("inproc://worker0"), {{comm::Role::worker, 0}, comm::new_incarnation()}, {}) {
    for (int rank = 0; rank < 2; ++rank) {
      NodeOptions node;
      node.rank = rank;
      node.scheduler = "inproc://scheduler";
      servers_.push_back(
          std::make_unique<Server>(runtime_, network_.attach(Cluster::server_address(rank)), node));
      worker_.connect({comm::Role::server, rank}, Cluster::server_address(rank));
    }
    worker_.serve(kViews, [](comm::Incoming&& incoming) { incoming.responder.reply({}); });
    worker_.connect(kScheduler, "inproc://scheduler");
  }
  static ClusterOptions options() {
    ClusterOptions options;
    options.servers = 2;
    return options;
  }
  comm::Message send(comm::NodeName to, uint32_t channel, std::string bytes,
                     std::vector<comm::Buffer> payload = {}) {
    comm::Message message;
    message.head = std::move(bytes);
    message.payload = std::move(payload);
    comm::RequestOptions request;
    request.deadline = 20s;
    return worker_.call(to, channel, std::move(message), std::move(request));
  }
  std::string refusal_of(const std::string& bytes) {
    try {
      send(kScheduler, kToScheduler, bytes);
    } catch (const NetworkError& error) {
      return error.what();
    }
    return "no error";
  }
  void enter(const std::string& bytes) {
    const auto view = decode<messages::View>(send(kScheduler, kToScheduler, bytes));
    self_.life = view.workers(0).since();
  }
  messages::Request signed_now(messages::Request request) const {
    request.set_view(scheduler_.view().number);
    return request;
  }

  comm::InprocNetwork network_;
  Scheduler scheduler_;
  std::vector<std::unique_ptr<Server>> servers_;
  comm::Endpoint worker_;
  Sender self_;
};

TEST_F(Messages, AnotherVersionIsRefused) {
  const std::string error = refusal_of(registration(kKVStoreVersion - 1).SerializeAsString());
  EXPECT_THAT(error, HasSubstr("worker 0 at inproc://worker0 speaks version"));
  EXPECT_THAT(error, HasSubstr("install the same release"));
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 0);
}

// Along the chain, too: the server behind understands what came so.
TEST_F(Messages, WhatALaterReleaseAddsIsIgnored) {
  enter(of_later_release(registration(kKVStoreVersion), 1));
  const auto say = [&](int32_t server, const messages::Request& request,
                       std::vector<comm::Buffer> payload = {}) {
    const messages::Request now = signed_now(request);
    const int kind = static_cast<int>(now.what_case());  // these are the fields' numbers
    return send({comm::Role::server, server}, kToServer, of_later_release(now, kind), std::move(payload));
  };
  const auto value = [&](int32_t server) {
    return std::string(say(server, pull_of(self_, "sw", 1)).payload.at(0).text());
  };
  say(0, join_of(self_));
  say(0, init_of(self_, "sw", DType::float32, Mode::sync, 1), {floats({0, 0})});
  say(0, push_of(self_, "sw", 1), {floats({1, 2})});
  EXPECT_EQ(value(0), floats({1, 2}).text());
  network_.kill(Cluster::server_address(0), true);
  servers_[0].reset();
  while (scheduler_.view().chains[0].front().server == 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(value(1), floats({1, 2}).text());
}

TEST_F(Messages, WhatIsWrongIsNamed) {
  testing::internal::CaptureStderr();
  EXPECT_THAT(refusal_of(""), HasSubstr("no kind that is known here"));
  messages::ToScheduler message = registration(kKVStoreVersion);
  message.mutable_register_()->set_least_epoch(-1);
  EXPECT_THAT(refusal_of(message.SerializeAsString()), HasSubstr("Register.least_epoch -1; expected 0 to"));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("a message of worker 0 was refused"));
  EXPECT_THAT(log, Not(HasSubstr("dropped")));
}

// They cost who sends them an answer. The cluster is there as before.
TEST_F(Messages, InventedOnesHarmNobody) {
  enter(registration(kKVStoreVersion).SerializeAsString());
  const comm::NodeName server{comm::Role::server, 0};
  send(server, kToServer, signed_now(join_of(self_)).SerializeAsString());
  const messages::Request init = init_of(self_, "sw", DType::float32, Mode::async, 1);
  send(server, kToServer, signed_now(init).SerializeAsString(), {floats({0, 0})});
  messages::Request pushes = push_of(self_, "sw", 1), pulls = pull_of(self_, "sw", 0);
  pushes.mutable_push()->set_bytes(8);
  *pushes.mutable_pushes()->add_items() = push_of(self_, "sw", 1).push();
  *pulls.mutable_pulls()->add_items() = pull_of(self_, "sw", 1).pull();
  const std::vector<std::pair<uint32_t, std::string>> good = {
      {kToServer, signed_now(init).SerializeAsString()},
      {kToServer, signed_now(push_of(self_, "sw", 1)).SerializeAsString()},
      {kToServer, signed_now(pushes).SerializeAsString()},
      {kToServer, signed_now(pulls).SerializeAsString()},
      {kToServer, signed_now(optimizer_of(self_, {"sgd", {{"momentum", "0.5"}}})).SerializeAsString()},
      {kToScheduler, registration(kKVStoreVersion).SerializeAsString()}};
  std::mt19937_64 dice(3);
  std::vector<uint64_t> waiting;
  for (int i = 0; i < 3000; ++i) {
    const auto& [channel, bytes] = good[dice() % good.size()];
    comm::Message bad;
    bad.head = bytes;
    const size_t kept = channel == kToScheduler ? 1 : 0;  // or it might be a goodbye
    for (uint64_t changes = 1 + dice() % 3; changes > 0; --changes)
      bad.head[kept + dice() % (bad.head.size() - kept)] = static_cast<char>(dice());
    if (dice() % 4 == 0) bad.head.resize(kept + dice() % (bad.head.size() - kept));
    const bool readable = channel == kToServer ? messages::Request().ParseFromString(bad.head)
                                               : messages::ToScheduler().ParseFromString(bad.head);
    if (!readable) continue;  // it would cost the connection
    for (uint64_t parts = dice() % 3; parts > 0; --parts) bad.payload.push_back(floats({1, 2}));
    waiting.push_back(worker_.request(channel == kToServer ? server : kScheduler, channel, std::move(bad), {},
                                      [](comm::Reply&&) {}));
  }
  messages::Request pull = pull_of(self_, "sw", 0);
  const comm::Message answer = send(server, kToServer, signed_now(pull).SerializeAsString());
  EXPECT_EQ(answer.payload.at(0).size(), 8u);
  for (const uint64_t request : waiting) worker_.cancel(request);
}

// ---- what cannot be read -------------------------------------------------------------------------------------------

constexpr auto kRubbish = "\x0A\x7F";
constexpr auto kNoMessage = "2 bytes came that are no message loomix.kvstore.messages.";

// A cluster of a server, a worker as all are, and another one that says what the test wants it to.
class Unreadable : public StoreTest, public testing::WithParamInterface<bool> {
 protected:
  Unreadable() : fabric_(make_fabric()), scheduler_(fabric_->attach("scheduler"), options()) {
    NodeOptions node;
    node.scheduler = scheduler_.address();
    node.deadline = 20s;
    server_.emplace(runtime_, fabric_->attach("server"), node);
    bad_.emplace(fabric_->attach("bad"), comm::NodeId{kBad, comm::new_incarnation()}, quick());
    bad_->serve(kViews, [this](comm::Incoming&& incoming) {
      comm::Message answer;
      if (answers_badly_) answer.head = kRubbish;
      incoming.responder.reply(std::move(answer));
    });
    auto good = std::async(std::launch::async, [this, node] {
      good_ = std::make_unique<DistStore>(runtime_, "dist_async", 0, fabric_->attach("good"), node);
    });
    enter();
    good.get();
    good_->init(kKey, filled(2, 0));
  }
  static std::unique_ptr<comm::Fabric> make_fabric() {
    if (GetParam()) return std::make_unique<comm::NetworkFabric>(false);
    return std::make_unique<comm::InprocFabric>();
  }
  static ClusterOptions options() {
    ClusterOptions options;
    options.workers = 2;
    options.policy = DeadWorker::go_on;
    options.endpoint = quick();
    return options;
  }
  static comm::EndpointOptions quick() { return comm::quick_options(); }

  // Also where it was cut off.
  void enter() {
    EXPECT_TRUE(comm::eventually([&] {
      bad_->connect(kScheduler, scheduler_.address());
      comm::Message message = encode(registration(kKVStoreVersion));
      return outcome(send(kScheduler, kToScheduler, std::move(message))) == "no error";
    }));
  }
  std::future<std::string> send(comm::NodeName to, uint32_t channel, comm::Message message) {
    auto promise = std::make_shared<std::promise<std::string>>();
    comm::RequestOptions request;
    request.deadline = 60s;
    bad_->request(to, channel, std::move(message), std::move(request), [promise](comm::Reply&& reply) {
      promise->set_value(reply.error ? text_of(reply.error) : "no error");
    });
    return promise->get_future();
  }
  static std::string outcome(std::future<std::string> sent) { return sent.get(); }

  void expect_that_the_good_one_goes_on() {
    good_->push(kKey, std::vector<NDArray>{filled(2, 1)}, 0);
    const NDArray out = filled(2, 0);
    good_->pull(kKey, {&out, 1}, 0);
    EXPECT_NO_THROW(out.wait_to_read());
  }
  void expect_that_rubbish_cuts(comm::NodeName at, uint32_t channel, std::future<std::string> waiting) {
    comm::Message rubbish;
    rubbish.head = kRubbish;
    testing::internal::CaptureStderr();
    EXPECT_THAT(outcome(send(at, channel, std::move(rubbish))), HasSubstr(kNoMessage));
    EXPECT_THAT(outcome(std::move(waiting)), HasSubstr(kNoMessage));
    expect_that_the_good_one_goes_on();
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr("dropped worker 1"));
    EXPECT_THAT(log, HasSubstr(kNoMessage));
  }

  static constexpr comm::NodeName kBad{comm::Role::worker, 1}, kServer{comm::Role::server, 0};
  const Key kKey = "w";
  std::atomic<bool> answers_badly_{false};
  const std::unique_ptr<comm::Fabric> fabric_;
  Scheduler scheduler_;
  std::optional<Server> server_;
  std::unique_ptr<DistStore> good_;
  std::optional<comm::Endpoint> bad_;
};

TEST_P(Unreadable, RequestsToAServerCutTheirSenderOff) {
  bad_->connect(kServer, scheduler_.view().servers[0].address);
  messages::Request pull = pull_of({1, scheduler_.view().workers[1].since}, "snone", 0);  // waits for a value
  pull.set_view(scheduler_.view().number);
  expect_that_rubbish_cuts(kServer, kToServer, send(kServer, kToServer, encode(pull)));
}

TEST_P(Unreadable, RequestsToTheSchedulerCutTheirSenderOff) {
  messages::ToScheduler barrier;
  barrier.mutable_barrier()->set_number(1);
  expect_that_rubbish_cuts(kScheduler, kToScheduler, send(kScheduler, kToScheduler, encode(barrier)));
  enter();  // it may come again
}

TEST_P(Unreadable, AnswersCutTheirSenderOff) {
  std::atomic<bool> refused{false};
  const uint64_t events = bad_->on_peer([&](const comm::PeerEvent& event) {
    refused = refused || (event.peer.name == kScheduler && event.state == comm::PeerState::refused);
  });
  answers_badly_ = true;
  bad_->forget(kScheduler);
  EXPECT_TRUE(comm::eventually([&] { return !scheduler_.view().workers[1].up; }));
  enter();  // it is told of a view in which it is up
  EXPECT_TRUE(comm::eventually([&] { return refused.load(); }));
  bad_->off_peer(events);
  expect_that_the_good_one_goes_on();
}

INSTANTIATE_TEST_SUITE_P(Transports, Unreadable, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Tcp" : "Inproc"; });

}  // namespace
}  // namespace loomix::kvstore
