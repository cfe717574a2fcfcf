// SPDX-License-Identifier: Apache-2.0
//
// Small pushes and pulls that travel together: each keeps its number, its outcome and its error.
#include "kvstore/cluster/batch.h"

#include <gmock/gmock.h>

#include <random>

#include "tests/cpp/kvstore/cluster.h"
#include "tests/cpp/kvstore/requests.h"

namespace loomix::kvstore {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Arrays = std::vector<NDArray>;
using Floats = std::vector<float>;

constexpr int kKeys = 200;

struct Item {
  std::string key;
  int64_t number;
  Floats values = {};
};

struct Batch {
  messages::Request request;
  std::vector<comm::Buffer> payload;
};

Batch pushes_of(const std::vector<Item>& items) {
  Batch batch;
  std::vector<comm::Buffer> parts;
  for (const Item& item : items) {
    parts.push_back(floats(item.values));
    messages::Push& push = *batch.request.mutable_pushes()->add_items();
    push.set_key("s" + item.key);
    push.set_number(item.number);
    push.set_bytes(parts.back().size());
  }
  batch.payload = {join_parts(parts)};
  return batch;
}

Batch pulls_of(const std::vector<Item>& items) {
  Batch batch;
  for (const Item& item : items) {
    messages::Pull& pull = *batch.request.mutable_pulls()->add_items();
    pull.set_key("s" + item.key);
    pull.set_number(item.number);
  }
  return batch;
}

std::vector<int64_t> outcomes_in(const comm::Message& answer) {
  const auto outcomes = decode<messages::Outcomes>(answer);
  return {outcomes.items().begin(), outcomes.items().end()};
}

TEST(Batch, GivesBackWhatWasGathered) {
  const std::vector<Floats> values = {{1}, {}, {2, 3}};
  const Batch batch = pushes_of({{"a", 1, values[0]}, {"b", 7, values[1]}, {"a", 2, values[2]}});
  const std::vector<comm::Buffer> parts = parts_of(batch.request.pushes(), batch.payload);
  ASSERT_EQ(parts.size(), values.size());
  for (size_t i = 0; i < parts.size(); ++i) EXPECT_EQ(parts[i].text(), floats(values[i]).text());
}

TEST(Batch, LimitsOfMessagesAreItsOwn) {
  const BatchLimits usual = BatchLimits::within({});
  EXPECT_EQ(usual.items, kBatchItems);
  EXPECT_EQ(usual.bytes, kBatchBytes);
  const auto items_within = [](size_t header_bytes) {
    comm::Limits limits;
    limits.header_bytes = header_bytes;
    return BatchLimits::within(limits).items;
  };
  EXPECT_EQ(items_within(0), 1u);
  // As many items as that with the longest keys, and what an entry of a chain has besides, fit into a header.
  for (const size_t bytes : {4000, 10'000, 50'000}) {
    Batch batch;
    for (size_t i = 0; i < items_within(bytes); ++i) {
      messages::Push& push = *batch.request.mutable_pushes()->add_items();
      push.set_key(std::string(kLongKey, 'k'));
      push.set_part(INT64_MAX);
      push.set_number(INT64_MAX);
      push.set_bytes(kSmallItem);
      Packing{Packing::Form::rows, -1}.write(*push.mutable_packing());
    }
    messages::InChain entry;
    entry.set_view(INT64_MAX);
    entry.mutable_append()->set_index(INT64_MAX);
    entry.mutable_append()->set_request(batch.request.SerializeAsString());
    EXPECT_LE(entry.ByteSizeLong() + 10 + 256, bytes);  // as an endpoint counts
    EXPECT_GT(items_within(bytes), bytes / 500);
  }
  comm::Limits low;
  low.message_bytes = 1000;
  EXPECT_EQ(BatchLimits::within(low).bytes, 1000u);
}

TEST(Batch, OthersAreRefused) {
  const Batch good = pushes_of({{"a", 1, {1, 2}}, {"b", 1, {3}}});
  EXPECT_THROW(parts_of({}, good.payload), NetworkError);
  EXPECT_THROW(parts_of(good.request.pushes(), {}), NetworkError);
  EXPECT_THROW(parts_of(pushes_of(std::vector<Item>(kBatchItems + 1)).request.pushes(), good.payload),
               NetworkError);
  std::mt19937_64 random(7);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    Batch bad = good;
    messages::Push& push = *bad.request.mutable_pushes()->mutable_items(static_cast<int>(random() % 2));
    if (random() % 2 == 0) {
      push.set_bytes(random() % 2 == 0 ? random() : random() % 30);
    } else {
      bad.payload[0] = bad.payload[0].slice(0, random() % bad.payload[0].size());
    }
    try {
      for (const comm::Buffer& part : parts_of(bad.request.pushes(), bad.payload))
        ASSERT_LE(part.size(), bad.payload[0].size());
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
  comm::Message call(Batch batch) { return client_->call_and_wait(call_of(std::move(batch))); }
  static ClusterClient::Call call_of(Batch batch) {
    ClusterClient::Call call;
    call.request = std::move(batch.request);
    call.payload = std::move(batch.payload);
    call.what = "a batch";
    return call;
  }
  void begin() {
    call({optimizer_of({}, {"sgd", {{"learning_rate", "1"}}}), {}});
    for (const char* const key : {"sa", "sb", "sc"})
      call({init_of({}, key, DType::float32, Mode::async, 1), {floats({0, 0})}});
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
    const Batch batch = pushes_of({
        {"a", 1, {1, 2}},
        {"b", 1, {1, 2, 3}},  // of another size
        {"c", 2, {1, 1}},     // the first is missing
        {"none", 1, {1, 1}},
        {"a", 1, {1, 2}},  // again
        {"a", 2, {1, 2}},
        {"b", 1, {5, 5}},
    });
    for (int time = 0; time < 3; ++time)  // as requests of their own, which nobody else tells apart
      EXPECT_THAT(outcomes_in(call(batch)), ElementsAre(0, kAlone, kAlone, kAlone, 0, 0, 0));
    const comm::Message answer = call(pulls_of({{"a", 2}, {"none", 0}, {"b", 1}, {"c", 9}}));
    EXPECT_THAT(outcomes_in(answer), ElementsAre(8, kNotYet, 8, kNotYet));
    EXPECT_THAT(values_in(answer), ElementsAre(-2, -4, 0, 0, -5, -5));
  }
}

// What is in the chain of a batch's head is at the place behind, too.
TEST_F(BatchServer, ABatchSurvivesItsHead) {
  start(2);
  begin();
  const Batch batch = pushes_of({{"a", 1, {1, 2}}, {"c", 3, {9, 9}}, {"b", 1, {3, 4}}});
  EXPECT_THAT(outcomes_in(call(batch)), ElementsAre(0, kAlone, 0));
  network_.kill("inproc://server0", true);
  servers_[0].reset();
  EXPECT_THAT(outcomes_in(call(batch)), ElementsAre(0, kAlone, 0));
  const comm::Message answer = call(pulls_of({{"a", 1}, {"b", 1}, {"c", 0}}));
  EXPECT_THAT(values_in(answer), ElementsAre(-1, -2, 0, 0, -3, -4, 0, 0, 0, 0));
}

TEST_F(BatchServer, PullsThatHaveToWaitAreAnsweredWhenOneCanBe) {
  start(1);
  begin();
  std::promise<comm::Message> promise;
  ClusterClient::Call pulls = call_of(pulls_of({{"a", 1}, {"b", 1}}));
  pulls.done = [&](comm::Message message, const std::exception_ptr&) {
    promise.set_value(std::move(message));
  };
  client_->call(std::move(pulls));
  std::future<comm::Message> future = promise.get_future();
  EXPECT_EQ(future.wait_for(20ms), std::future_status::timeout);
  call(pushes_of({{"b", 1, {1, 2}}}));
  ASSERT_EQ(future.wait_for(30s), std::future_status::ready);
  const comm::Message answer = future.get();
  EXPECT_THAT(outcomes_in(answer), ElementsAre(kNotYet, 8));
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
  limits.header_bytes = 6000;
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
    EXPECT_THAT(error.what(), HasSubstr("of shape (4,) and type float32 at worker 1"));
  }
}

}  // namespace
}  // namespace loomix::kvstore
