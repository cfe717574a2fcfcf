// SPDX-License-Identifier: Apache-2.0
//
// Small pushes and pulls that travel together: each keeps its number, its outcome and its error.
#include "kvstore/cluster/batch.h"

#include <gmock/gmock.h>

#include <random>

#include "tests/cpp/kvstore/cluster.h"

namespace loomix::kvstore {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Arrays = std::vector<NDArray>;
using Floats = std::vector<float>;

constexpr int kKeys = 200;

comm::Buffer floats(const Floats& items) { return comm::Buffer::copy_of(std::as_bytes(std::span(items))); }

comm::Message push_of(const std::string& key, int64_t number, const Floats& items) {
  comm::Message message;
  message.command = kPush;
  message.fields = {0, 0, 0, 0, 0, number, 0, 0};
  message.texts = {"s" + key};
  message.payload = {floats(items)};
  return message;
}

comm::Message pull_of(const std::string& key, int64_t number) {
  comm::Message message;
  message.command = kPull;
  message.fields = {0, 0, 0, 0, 0, number};
  message.texts = {"s" + key};
  return message;
}

comm::Message batch_of(const std::vector<comm::Message>& items) {
  std::vector<const comm::Message*> all;
  for (const comm::Message& item : items) all.push_back(&item);
  comm::Message batch = gather(all);
  if (batch.command == kPushes) join_payload(batch);
  return batch;
}

TEST(Batch, GivesBackWhatWasGathered) {
  const std::vector<comm::Message> pushes = {push_of("a", 1, {1}), push_of("b", 7, {}),
                                             push_of("a", 2, {2, 3})};
  for (const auto& items : {pushes, std::vector{pull_of("a", 1), pull_of("b", 5)}}) {
    const std::vector<comm::Message> back = items_of(batch_of(items));
    ASSERT_EQ(back.size(), items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      EXPECT_EQ(back[i].command, items[i].command);
      EXPECT_EQ(back[i].fields, items[i].fields);
      EXPECT_EQ(back[i].texts, items[i].texts);
      ASSERT_EQ(back[i].payload.size(), items[i].payload.size());
      if (!items[i].payload.empty()) {
        EXPECT_EQ(back[i].payload[0].text(), items[i].payload[0].text());
      }
    }
  }
}

TEST(Batch, LimitsOfMessagesAreItsOwn) {
  const BatchLimits usual = BatchLimits::within({});
  EXPECT_EQ(usual.items, kBatchItems);
  EXPECT_EQ(usual.bytes, kBatchBytes);
  const auto items_within = [](auto change) {
    comm::Limits limits;
    change(limits);
    return BatchLimits::within(limits).items;
  };
  EXPECT_EQ(items_within([](comm::Limits& limits) { limits.texts = 7; }), 7u);
  EXPECT_EQ(items_within([](comm::Limits& limits) { limits.fields = 66; }), 10u);
  EXPECT_EQ(items_within([](comm::Limits& limits) { limits.fields = 8; }), 1u);
  EXPECT_EQ(items_within([](comm::Limits& limits) { limits.header_bytes = 0; }), 1u);
  // As many items as that with the longest keys, and what an entry of a chain has besides, fit into a header.
  for (const size_t bytes : {4000, 10'000, 50'000}) {
    const size_t items = items_within([&](comm::Limits& limits) { limits.header_bytes = bytes; });
    const comm::Message batch =
        batch_of(std::vector<comm::Message>(items, push_of(std::string(kLongKey - 1, 'k'), 1, {1})));
    size_t size = 10 * (batch.fields.size() + 10 + batch.payload.size()) + 256;  // as an endpoint counts
    for (const std::string& text : batch.texts) size += text.size() + 10;
    EXPECT_LE(size, bytes);
    EXPECT_GT(items, bytes / 500);
  }
  comm::Limits low;
  low.message_bytes = 1000;
  EXPECT_EQ(BatchLimits::within(low).bytes, 1000u);
}

TEST(Batch, OthersAreRefused) {
  const comm::Message good = batch_of({push_of("a", 1, {1, 2}), push_of("b", 1, {3})});
  std::mt19937_64 random(7);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    comm::Message bad = good;
    switch (random() % 5) {
      case 0: bad.fields.resize(random() % (2 * bad.fields.size())); break;
      case 1: bad.fields[4 + random() % (bad.fields.size() - 4)] = static_cast<int64_t>(random()); break;
      case 2: bad.texts.resize(random() % (2 * kBatchItems)); break;
      case 3: bad.payload.resize(random() % 3); break;
      default: bad.payload[0] = bad.payload[0].slice(0, random() % bad.payload[0].size());
    }
    try {
      for (const comm::Message& item : items_of(bad)) ASSERT_LE(item.payload_bytes(), bad.payload_bytes());
    } catch (const NetworkError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

// A scheduler, servers, and a worker that says what the test wants it to.
class BatchServer : public ClusterTest {
 protected:
  void start(int count) {
    ClusterOptions options;
    options.servers = count;
    options.workers = 1;
    options.retry_after = 20ms;
    scheduler_ = std::make_unique<Scheduler>(network_.attach("inproc://scheduler"), options);
    for (int rank = 0; rank < count; ++rank) {
      servers_.push_back(std::make_unique<Server>(
          runtime_, network_.attach("inproc://server" + std::to_string(rank)), node(rank)));
    }
    client_ = std::make_unique<ClusterClient>(network_.attach("inproc://worker0"), node(0));
  }
  static NodeOptions node(int rank) {
    NodeOptions options;
    options.rank = rank;
    options.scheduler = "inproc://scheduler";
    options.deadline = 30s;
    options.retry_after = 20ms;
    return options;
  }
  comm::Message call(comm::Message message) {
    ClusterClient::Call call;
    message.fields.resize(std::max<size_t>(message.fields.size(), 4));
    call.message = std::move(message);
    call.what = "a batch";
    return client_->call_and_wait(std::move(call));
  }
  void begin() {
    comm::Message optimizer;
    optimizer.command = kSetOptimizer;
    optimizer.texts = {"sgd", "learning_rate", "1"};
    call(optimizer);
    for (const char* const key : {"a", "b", "c"}) {
      comm::Message init;
      init.command = kInit;
      init.fields = {0, 0, 0, 0, 0, static_cast<int64_t>(DType::float32), static_cast<int64_t>(Mode::async),
                     0, 1};
      init.texts = {std::string("s") + key};
      init.payload = {floats({0, 0})};
      call(init);
    }
  }
  static Floats values_in(const comm::Message& answer) {
    const std::string_view bytes = answer.payload.at(0).text();
    Floats items(bytes.size() / sizeof(float));
    std::copy_n(bytes.data(), items.size() * sizeof(float), reinterpret_cast<char*>(items.data()));
    return items;
  }

  comm::InprocNetwork network_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::unique_ptr<ClusterClient> client_;
};

TEST_F(BatchServer, JudgesEachItemByItself) {
  for (const int servers : {1, 2}) {  // with and without a chain
    client_.reset();
    servers_.clear();
    start(servers);
    begin();
    const comm::Message batch = batch_of({
        push_of("a", 1, {1, 2}),
        push_of("b", 1, {1, 2, 3}),  // of another size
        push_of("c", 2, {1, 1}),     // the first is missing
        push_of("none", 1, {1, 1}),
        push_of("a", 1, {1, 2}),  // again
        push_of("a", 2, {1, 2}),
        push_of("b", 1, {5, 5}),
    });
    for (int time = 0; time < 3; ++time)  // as requests of their own, which nobody else tells apart
      EXPECT_THAT(call(batch).fields, ElementsAre(0, kAlone, kAlone, kAlone, 0, 0, 0));
    const comm::Message answer =
        call(batch_of({pull_of("a", 2), pull_of("none", 0), pull_of("b", 1), pull_of("c", 9)}));
    EXPECT_THAT(answer.fields, ElementsAre(8, kNotYet, 8, kNotYet));
    EXPECT_THAT(values_in(answer), ElementsAre(-2, -4, 0, 0, -5, -5));
  }
}

// What is in the chain of a batch's head is at the place behind, too.
TEST_F(BatchServer, ABatchSurvivesItsHead) {
  start(2);
  begin();
  const comm::Message batch =
      batch_of({push_of("a", 1, {1, 2}), push_of("c", 3, {9, 9}), push_of("b", 1, {3, 4})});
  EXPECT_THAT(call(batch).fields, ElementsAre(0, kAlone, 0));
  network_.kill("inproc://server0", true);
  servers_[0].reset();
  EXPECT_THAT(call(batch).fields, ElementsAre(0, kAlone, 0));
  const comm::Message answer = call(batch_of({pull_of("a", 1), pull_of("b", 1), pull_of("c", 0)}));
  EXPECT_THAT(values_in(answer), ElementsAre(-1, -2, 0, 0, -3, -4, 0, 0, 0, 0));
}

TEST_F(BatchServer, PullsThatHaveToWaitAreAnsweredWhenOneCanBe) {
  start(1);
  begin();
  std::promise<comm::Message> promise;
  ClusterClient::Call pulls;
  pulls.message = batch_of({pull_of("a", 1), pull_of("b", 1)});
  pulls.done = [&](comm::Message message, const std::exception_ptr&) {
    promise.set_value(std::move(message));
  };
  client_->call(std::move(pulls));
  std::future<comm::Message> future = promise.get_future();
  EXPECT_EQ(future.wait_for(20ms), std::future_status::timeout);
  call(batch_of({push_of("b", 1, {1, 2})}));
  ASSERT_EQ(future.wait_for(30s), std::future_status::ready);
  const comm::Message answer = future.get();
  EXPECT_THAT(answer.fields, ElementsAre(kNotYet, 8));
  EXPECT_THAT(values_in(answer), ElementsAre(-1, -2));
}

class SmallKeys : public ClusterTest {
 protected:
  // Every worker pushes its step times 1, 2, ... to all keys and sees the sums. Returns the requests of worker 0.
  uint64_t run(Cluster& cluster, int steps, const std::function<void(int step)>& between = {}) {
    const auto workers = static_cast<int>(cluster.workers.size());
    on_workers(cluster, [&](int rank) {
      DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
      for (int64_t key = 0; key < kKeys; ++key) store.init(key, filled(5, 0));
      store.barrier();
    });
    const uint64_t before = cluster.workers[0]->traffic().requests;
    on_workers(cluster, [&](int rank) {
      DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
      std::vector<Arrays> outs;
      for (int64_t key = 0; key < kKeys; ++key) outs.push_back({filled(5, 0)});
      for (int step = 1; step <= steps; ++step) {
        if (rank == 0 && between) between(step);
        for (int64_t key = kKeys; key-- > 0;) {
          const auto priority = static_cast<int>(-key);
          store.push(key, Arrays{filled(5, static_cast<float>((key + step) * (rank + 1)))}, priority);
          store.pull(key, outs[static_cast<size_t>(key)], priority);
        }
        const int64_t all = workers * (workers + 1) / 2;
        for (int64_t key = 0; key < kKeys; ++key)
          ASSERT_EQ(values(outs[static_cast<size_t>(key)][0]),
                    Floats(5, static_cast<float>((key + step) * all)));
      }
      store.barrier();
    });
    return cluster.workers[0]->traffic().requests - before;
  }
};

TEST_F(SmallKeys, TravelTogether) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 2, .deadline = 40s, .retry_after = 20s});
  // How many wait when the endpoint's thread gets to them is chance; that it is never more than one is not.
  constexpr int kSteps = 20;
  EXPECT_LT(run(cluster, kSteps), uint64_t{2} * kKeys * kSteps);
}

TEST_F(SmallKeys, KeepToLoweredLimits) {
  comm::Limits limits;
  limits.message_bytes = 1000;
  limits.fields = 64;
  limits.texts = 10;
  Cluster cluster(runtime_,
                  {.servers = 2, .workers = 2, .deadline = 40s, .retry_after = 20s, .limits = limits});
  constexpr int kSteps = 10;
  EXPECT_LT(run(cluster, kSteps), uint64_t{2} * kKeys * kSteps);
}

TEST_F(SmallKeys, AreExactWhateverTheNetworkDoes) {
  comm::Faults faults;
  faults.loss = faults.duplication = faults.reordering = 0.05;
  faults.delay_most = 1ms;
  Cluster cluster(runtime_, {.servers = 2, .workers = 3, .deadline = 40s}, 11, faults);
  run(cluster, 5);
}

TEST_F(SmallKeys, SurviveAServer) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 2, .deadline = 40s});
  run(cluster, 6, [&](int step) {
    if (step == 3) cluster.kill_server(0);
  });
}

TEST_F(SmallKeys, OneThatIsRefusedFailsAlone) {
  constexpr int64_t kOdd = 7;
  Cluster cluster(runtime_, {.servers = 1, .workers = 2, .type = "dist_async", .deadline = 30s});
  for (int64_t key = 0; key < kKeys; ++key) {
    cluster.workers[0]->init(key, filled(3, 0));
    cluster.workers[1]->init(key, filled(key == kOdd ? 4 : 3, 0));
  }
  std::vector<Arrays> outs;
  for (int64_t key = 0; key < kKeys; ++key) {
    outs.push_back({filled(key == kOdd ? 4 : 3, 0)});
    cluster.workers[1]->push(key, Arrays{filled(key == kOdd ? 4 : 3, static_cast<float>(key))}, 0);
    if (key != kOdd) cluster.workers[1]->pull(key, outs.back(), 0);
  }
  for (int64_t key = 0; key < kKeys; ++key) {
    if (key == kOdd) continue;
    EXPECT_EQ(values(outs[static_cast<size_t>(key)][0]), Floats(3, static_cast<float>(key)));
  }
  try {
    engine_->wait_all();
    ADD_FAILURE() << "no error";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("push of key 7 by worker 1"));
    EXPECT_THAT(error.what(), HasSubstr("inproc://server0"));
    EXPECT_THAT(error.what(), HasSubstr("16 bytes"));
  }
}

}  // namespace
}  // namespace loomix::kvstore
