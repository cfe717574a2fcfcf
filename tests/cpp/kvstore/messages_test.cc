// SPDX-License-Identifier: Apache-2.0
//
// Messages of other releases, and such as nobody should send.
#include "kvstore/cluster/messages.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "tests/cpp/kvstore/cluster.h"
#include "tests/cpp/kvstore/requests.h"

namespace loomix::kvstore {
namespace {

using ::testing::HasSubstr;

constexpr comm::NodeName kScheduler{comm::Role::scheduler, 0};

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
  EXPECT_THAT(refusal_of("\x0A\x7F"),
              HasSubstr("2 bytes came that are no message loomix.kvstore.messages.ToScheduler"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("a message of worker 0 was refused"));
  EXPECT_THAT(refusal_of(""), HasSubstr("no kind that is known here"));
  messages::ToScheduler message = registration(kKVStoreVersion);
  message.mutable_register_()->set_least_epoch(-1);
  EXPECT_THAT(refusal_of(message.SerializeAsString()), HasSubstr("Register.least_epoch -1; expected 0 to"));
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
    for (uint64_t parts = dice() % 3; parts > 0; --parts) bad.payload.push_back(floats({1, 2}));
    waiting.push_back(worker_.request(channel == kToServer ? server : kScheduler, channel, std::move(bad), {},
                                      [](comm::Reply&&) {}));
  }
  messages::Request pull = pull_of(self_, "sw", 0);
  const comm::Message answer = send(server, kToServer, signed_now(pull).SerializeAsString());
  EXPECT_EQ(answer.payload.at(0).size(), 8u);
  for (const uint64_t request : waiting) worker_.cancel(request);
}

}  // namespace
}  // namespace loomix::kvstore
