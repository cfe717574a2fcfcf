// SPDX-License-Identifier: Apache-2.0
#include "tests/cpp/kvstore/cluster.h"

#include <gmock/gmock.h>

#include <atomic>
#include <map>

#include "kvstore/cluster/push_window.h"
#include "kvstore/cluster/shards.h"

namespace loomix::kvstore {
namespace {

using ::testing::HasSubstr;
using Floats = std::vector<float>;
using Arrays = std::vector<NDArray>;

constexpr int64_t kLarge = 200'000;  // cut over the servers
const Key kSmallKey = "small";
const Key kLargeKey = int64_t{7};

// Equal in every bit; says where not, without all of the values.
::testing::AssertionResult same(const Floats& got, const Floats& expected) {
  if (got.size() != expected.size()) return ::testing::AssertionFailure() << got.size() << " values";
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] != expected[i])
      return ::testing::AssertionFailure()
             << "value " << i << " is " << got[i] << ", expected " << expected[i];
  }
  return ::testing::AssertionSuccess();
}

TEST(Shards, CoverEverythingOnce) {
  for (const int groups : {1, 2, 3, 7}) {
    for (const int64_t count : {int64_t{1}, int64_t{15}, int64_t{65'536}, int64_t{65'537}, int64_t{1'000'003},
                                int64_t{10'000'003}, int64_t{10'000'000'001}}) {
      int64_t next = 0;
      std::map<int, int64_t> slices;
      int last = -1;
      for (const Shard& shard : shards_of("skey", count, 4, groups)) {
        EXPECT_EQ(shard.begin, next);
        EXPECT_EQ(shard.begin % 16, 0);
        EXPECT_TRUE(shard.group == last || slices[shard.group] == 0) << "a group's share is one stretch";
        EXPECT_LE(++slices[shard.group], kMostSlices);
        if (count < 1'000'000'000) {
          EXPECT_LE((shard.end - shard.begin) * 4, 2 * kSliceBytes + 64);
        }
        last = shard.group;
        next = shard.end;
      }
      EXPECT_EQ(next, count);
      EXPECT_EQ(slices.size(), count * 4 <= kSmallBytes ? 1u : static_cast<size_t>(groups));
    }
  }
}

TEST_F(ClusterTest, SyncGivesEveryWorkerTheSum) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 3});
  on_workers(cluster, [&](int rank) {
    DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
    EXPECT_EQ(store.rank(), rank);
    EXPECT_EQ(store.num_workers(), 3);
    store.init(kSmallKey, filled(5, 1));
    store.init(kLargeKey, filled(kLarge, 2));
    const Arrays small = {filled(5, 0)};
    const Arrays large = {filled(kLarge, 0), filled(kLarge, 0)};
    store.pull(kSmallKey, small, 0);
    store.pull(kLargeKey, large, 0);
    EXPECT_EQ(values(small[0]), Floats(5, 1));
    EXPECT_TRUE(same(values(large[1]), Floats(kLarge, 2)));
    for (int step = 1; step <= 4; ++step) {
      const auto own = static_cast<float>(step * (rank + 1));
      store.push(kSmallKey, Arrays{filled(5, own), filled(5, own)}, 0);
      store.push(kLargeKey, Arrays{filled(kLarge, own)}, -1);
      store.pull(kSmallKey, small, 0);
      store.pull(kLargeKey, large, -1);
      EXPECT_EQ(values(small[0]), Floats(5, static_cast<float>(step * 12)));
      EXPECT_TRUE(same(values(large[0]), Floats(kLarge, static_cast<float>(step * 6))));
    }
    store.barrier();
  });
}

// Bit for bit what one process computes that adds the workers' gradients in the order of their ranks.
TEST_F(ClusterTest, OptimizersRunOnServers) {
  for (const OptimizerSpec& spec :
       {OptimizerSpec{
            "sgd", {{"learning_rate", "0.1"}, {"momentum", "0.9"}, {"wd", "0.01"}, {"lr_mult.small", "0.5"}}},
        OptimizerSpec{"adam", {{"learning_rate", "0.01"}}},
        OptimizerSpec{"sgd",
                      {{"lr_scheduler", "factor"}, {"base_lr", "0.1"}, {"step", "2"}, {"factor", "0.5"}}}}) {
    Cluster cluster(runtime_, {.servers = 2, .workers = 2});
    const auto gradient = [&](const Key& key, int rank, int step) {
      const int64_t count = key == kSmallKey ? 5 : kLarge;
      Floats items(static_cast<size_t>(count));
      for (size_t i = 0; i < items.size(); ++i)
        items[i] = std::sin(static_cast<float>(i % 1000 + static_cast<size_t>(rank * 31 + step * 7)));
      return array(items);
    };
    std::map<Key, Floats> results[2];
    on_workers(cluster, [&](int rank) {
      DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
      store.set_optimizer(spec);
      for (const Key& key : {kSmallKey, kLargeKey}) store.init(key, filled(key == kSmallKey ? 5 : kLarge, 1));
      store.barrier();
      for (const Key& key : {kSmallKey, kLargeKey}) {
        const Arrays out = {filled(key == kSmallKey ? 5 : kLarge, 0)};
        for (int step = 0; step < 5; ++step) {
          store.push(key, Arrays{gradient(key, rank, step)}, 0);
          store.pull(key, out, 0);
        }
        results[rank][key] = values(out[0]);
      }
    });
    const auto optimizer = make_optimizer(runtime_, spec);
    for (const Key& key : {kSmallKey, kLargeKey}) {
      NDArray weight = filled(key == kSmallKey ? 5 : kLarge, 1);
      OptimizerState state;
      for (int step = 0; step < 5; ++step) {
        const NDArray a = gradient(key, 0, step), b = gradient(key, 1, step);
        const Floats left = values(a), right = values(b);
        Floats sum(left.size());
        for (size_t i = 0; i < sum.size(); ++i) sum[i] = left[i] + right[i];
        optimizer->update(key, weight, array(sum), weight, state, 0);
      }
      EXPECT_TRUE(same(results[0][key], values(weight))) << spec.name;
      EXPECT_TRUE(same(results[1][key], values(weight))) << spec.name;
    }
  }
}

TEST_F(ClusterTest, WhoLeavesWithAnErrorWaitsForNobody) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 2, .policy = DeadWorker::wait, .deadline = 10min});
  on_workers(cluster,
             [&](int rank) { cluster.workers[static_cast<size_t>(rank)]->init(kSmallKey, filled(5, 1)); });
  DistStore& store = *cluster.workers[0];
  const Arrays out = {filled(5, 0)};
  store.push(kSmallKey, Arrays{filled(5, 1)}, 0);
  store.pull(kSmallKey, out, 0);  // the round has not the other's push
  store.leave("a mistake");
  try {
    out[0].wait_to_read();
    ADD_FAILURE() << "a round went without a worker";
  } catch (const NetworkError& error) {
    EXPECT_THAT(error.what(), HasSubstr("this worker has left: a mistake"));
  }
}

// Refuses one key, and adds gradients otherwise.
class Picky final : public Optimizer {
 public:
  explicit Picky(OptimizerSpec spec) : Optimizer(std::move(spec)) {}
  void update(const Key& key, const NDArray&, const NDArray& grad, const NDArray& out, OptimizerState& state,
              int8_t) const override {
    if (key == kSmallKey) {
      state.failure = "no " + to_text(key);
    } else {
      copy(grad, out);
    }
  }
};

TEST_F(ClusterTest, AFailedOptimizerIsToldByKeyAndServer) {
  const CodeOptimizerMaker make = [](OptimizerSpec spec) { return std::make_shared<Picky>(std::move(spec)); };
  Cluster cluster(runtime_, {.servers = 2, .workers = 1, .code = {make, make}});
  DistStore& store = *cluster.workers[0];
  store.set_optimizer({kCodeOptimizer, {{"code", "x"}}});
  const Arrays out = {filled(5, 0)};
  for (const Key& key : {kSmallKey, Key("other")}) {
    store.init(key, filled(5, 1));
    store.push(key, Arrays{filled(5, 3)}, 0);
  }
  store.pull("other", out, 0);
  EXPECT_EQ(values(out[0]), Floats(5, 3));
  for (int step = 0; step < 2; ++step) {  // it stays so
    store.pull(kSmallKey, out, 0);
    try {
      out[0].wait_to_read();
      ADD_FAILURE() << "a pull of a lost value went well";
    } catch (const NetworkError& error) {
      EXPECT_THAT(error.what(), HasSubstr("pull of key 'small'"));
      EXPECT_THAT(error.what(), HasSubstr("at inproc://server"));
      EXPECT_THAT(error.what(), HasSubstr("no 'small'"));
    }
    store.push(kSmallKey, Arrays{filled(5, 3)}, 0);
  }
}

// What one server may do is not for another of the same process.
TEST_F(ClusterTest, CodeRunsOnServersThatAllowItOnly) {
  const CodeOptimizerMaker make = [](OptimizerSpec spec) { return std::make_shared<Picky>(std::move(spec)); };
  for (const size_t allowing : {0u, 1u}) {
    std::vector<CodeOptimizerMaker> code(2);
    code[allowing] = make;
    Cluster cluster(runtime_, {.servers = 2, .workers = 1, .replicas = 1, .code = code});
    try {
      cluster.workers[0]->set_optimizer({kCodeOptimizer, {{"code", "x"}}});
      ADD_FAILURE() << "a server ran code that it may not";
    } catch (const NetworkError& error) {
      EXPECT_THAT(error.what(), HasSubstr("LOOMIX_KV_ALLOW_PICKLE"));
      EXPECT_THAT(error.what(), HasSubstr("server " + std::to_string(1 - allowing)));
    }
  }
}

TEST_F(ClusterTest, AsyncAppliesEachPushAtOnce) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 2, .type = "dist_async"});
  on_workers(cluster, [&](int rank) {
    DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
    store.set_optimizer({"sgd", {{"learning_rate", "1"}}});
    store.init(kSmallKey, filled(3, 0));
    store.barrier();
    for (int step = 0; step < 50; ++step) store.push(kSmallKey, Arrays{filled(3, -1)}, 0);
    const Arrays out = {filled(3, 0)};
    store.pull(kSmallKey, out, 0);
    EXPECT_GE(values(out[0])[0], 50);  // its own are all in
    store.barrier();
    store.pull(kSmallKey, out, 0);
    EXPECT_EQ(values(out[0]), Floats(3, 100));
  });
}

TEST_F(ClusterTest, AWorkerThatWasStartedAgainPassesPositionsThatOthersHavePassed) {
  Cluster cluster(runtime_, {.servers = 1, .workers = 2, .policy = DeadWorker::wait, .patience = 10s});
  const auto begin = [&](int rank) {
    DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
    store.init(kSmallKey, filled(3, 0));
    store.barrier(1);
  };
  const auto step = [&](int rank) {
    DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
    store.push(kSmallKey, Arrays{filled(3, 1)}, 0);
    const Arrays out = {filled(3, 0)};
    store.pull(kSmallKey, out, 0);
    EXPECT_EQ(values(out[0]), Floats(3, 2));
  };
  on_workers(cluster, begin);
  auto other = std::async(std::launch::async, [&] { step(0); });
  cluster.kill_worker(1);
  cluster.start_worker(1);
  begin(1);
  step(1);
  other.get();
  auto second = std::async(std::launch::async, [&] { cluster.workers[0]->barrier(2); });
  EXPECT_EQ(second.wait_for(100ms), std::future_status::timeout);
  cluster.workers[1]->barrier(2);
  second.get();
  cluster.workers[0]->barrier(1);  // long passed
  auto third = std::async(std::launch::async, [&] { cluster.workers[0]->barrier(); });
  EXPECT_EQ(third.wait_for(100ms), std::future_status::timeout);
  cluster.workers[1]->barrier(3);
  third.get();
  EXPECT_THROW(cluster.workers[0]->barrier(0), ValueError);
}

TEST_F(ClusterTest, ABarrierWaitsForWhatWasPushed) {
  Cluster cluster(runtime_, {.servers = 1, .workers = 1, .patience = 10s});
  DistStore& store = *cluster.workers[0];
  store.init(kSmallKey, filled(3, 0));
  cluster.network.cut(Cluster::worker_address(0), Cluster::server_address(0));
  store.push(kSmallKey, Arrays{filled(3, 1)}, 0);
  auto barrier = std::async(std::launch::async, [&] { store.barrier(); });
  EXPECT_EQ(barrier.wait_for(200ms), std::future_status::timeout);
  cluster.network.heal(Cluster::worker_address(0), Cluster::server_address(0));
  barrier.get();
}

// Pushes of many rounds at once, of which the window lets few go, the urgent ones first. They need those before them.
TEST_F(ClusterTest, AFullWindowOfPushesGoesOn) {
  constexpr int64_t kCount = 1'500'000;
  constexpr int kKeys = 4, kRounds = 6;
  static_assert(kKeys * kRounds * kCount * sizeof(float) > 8 * kPushWindow);
  const comm::Faults slow{.delay_least = 5ms, .delay_most = 10ms};
  Cluster cluster(runtime_, {.servers = 2, .workers = 2, .replicas = 1, .deadline = 50s}, 1, slow);
  on_workers(cluster, [&](int rank) {
    DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
    for (int64_t key = 0; key < kKeys; ++key) store.init(Key{key}, filled(kCount, 0));
    store.set_optimizer({"sgd", {{"learning_rate", "1"}}});
    store.barrier();
    for (int round = 1; round <= kRounds; ++round) {
      for (int64_t key = 0; key < kKeys; ++key) {
        const int priority = (round * 7 + static_cast<int>(key) * 5) % 6;  // later rounds overtake
        store.push(Key{key}, Arrays{filled(kCount, static_cast<float>(-round - rank))}, priority);
      }
    }
    for (int64_t key = 0; key < kKeys; ++key) {
      const Arrays out = {filled(kCount, 0)};
      store.pull(Key{key}, out, 0);
      EXPECT_TRUE(same(values(out[0]), Floats(kCount, kRounds * (kRounds + 1) + kRounds)));
    }
    store.barrier();
  });
}

TEST_F(ClusterTest, NobodyRunsAheadOfTheBound) {
  constexpr int kStaleness = 2;
  constexpr int kSteps = 12;
  Cluster cluster(runtime_, {.servers = 1, .workers = 3, .type = "dist_ssp", .staleness = kStaleness});
  std::atomic<int> pushed[3] = {};
  std::atomic<bool> ran_ahead = false;
  on_workers(cluster, [&](int rank) {
    DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
    store.set_optimizer({"sgd", {{"learning_rate", "1"}}});
    store.init(kSmallKey, filled(3, 0));
    store.barrier();
    const Arrays out = {filled(3, 0)};
    for (int step = 1; step <= kSteps; ++step) {
      // The straggler waits until somebody is ahead.
      const auto until = comm::Clock::now() + (rank == 0 && step > kStaleness ? 10s : 0s);
      while (!ran_ahead && comm::Clock::now() < until) std::this_thread::sleep_for(1ms);
      ++pushed[rank];
      store.push(kSmallKey, Arrays{filled(3, -1)}, 0);
      store.pull(kSmallKey, out, 0);
      const float seen = values(out[0])[0];
      // Everybody's pushes up to step - staleness are in the value, and its own.
      EXPECT_GE(seen, static_cast<float>(step + 2 * std::max(step - kStaleness, 0)));
      for (const std::atomic<int>& other : pushed) EXPECT_GE(other.load(), step - kStaleness);
      if (pushed[0].load() < step) ran_ahead = true;
    }
  });
  EXPECT_TRUE(ran_ahead);  // but it is no lockstep
}

TEST_F(ClusterTest, MistakesAreNamed) {
  Cluster cluster(runtime_, {.servers = 1, .workers = 1});
  DistStore& store = *cluster.workers[0];
  store.init(kSmallKey, filled(3, 0));
  const auto message = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message([&] { store.push("other", Arrays{filled(3, 0)}, 0); }),
              HasSubstr("'other' has no value"));
  EXPECT_THAT(message([&] { store.push(kSmallKey, Arrays{filled(4, 0)}, 0); }),
              HasSubstr("'small' has shape (3,)"));
  EXPECT_THAT(message([&] { store.set_optimizer({"magic", {}}); }), HasSubstr("'magic'"));
  EXPECT_THAT(message([&] { store.set_optimizer({"sgd", {{"speed", "1"}}}); }), HasSubstr("speed"));
  EXPECT_THROW(store.set_updater([](const Key&, const NDArray&, const NDArray&, int) {}),
               NotImplementedError);
}

TEST_F(ClusterTest, AMissingNodeIsNoticedAtTheStart) {
  comm::InprocNetwork network;
  ClusterOptions options;
  options.complete_within = 300ms;
  const Scheduler scheduler(network.attach("inproc://scheduler"), options);
  NodeOptions node;
  node.scheduler = "inproc://scheduler";
  node.deadline = 300ms;
  try {
    DistStore(runtime_, "dist_sync", 0, network.attach("inproc://worker0"), node);
    FAIL();
  } catch (const NetworkError& error) {
    EXPECT_THAT(error.what(), HasSubstr("server 0 did not come within 0.3 s"));
  }
  EXPECT_THAT(scheduler.standing().failure, HasSubstr("server 0"));
}

TEST_F(ClusterTest, RanksAreGivenOnce) {
  comm::InprocNetwork network;
  ClusterOptions options;
  options.workers = 2;
  const Scheduler scheduler(network.attach("inproc://scheduler"), options);
  NodeOptions node;
  node.scheduler = "inproc://scheduler";
  const auto ask = [&](const char* own) {
    return ask_for_rank(network.attach(own), comm::Role::worker, node);
  };
  EXPECT_EQ(ask("inproc://a"), 0);
  EXPECT_EQ(ask("inproc://b"), 1);
  EXPECT_THROW(ask("inproc://c"), NetworkError);
}

TEST_F(ClusterTest, ItEndsWhenAllWorkersHaveLeft) {
  Cluster cluster(runtime_, {.servers = 1, .workers = 2});
  cluster.workers[0]->leave("");
  EXPECT_FALSE(cluster.scheduler->standing().ended);
  cluster.workers[1]->leave("");
  const auto until = comm::Clock::now() + 10s;
  while (!cluster.servers[0]->standing().ended && comm::Clock::now() < until)
    std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(cluster.servers[0]->standing().ended);
  cluster.servers[0].reset();
  while (!cluster.scheduler->standing().ended && comm::Clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(cluster.scheduler->standing().ended);
  EXPECT_EQ(cluster.scheduler->standing().failure, "");
}

TEST_F(ClusterTest, AWorkerThatFailsSaysWhy) {
  Cluster cluster(runtime_, {.servers = 1, .workers = 2});
  cluster.workers[0]->leave("out of luck");
  EXPECT_THAT(cluster.scheduler->standing().failure, HasSubstr("worker 0 at"));
  EXPECT_THAT(cluster.scheduler->standing().failure, HasSubstr("out of luck"));
  EXPECT_THROW(cluster.workers[1]->barrier(), NetworkError);
}

// ---- what dies ------------------------------------------------------------------------------------------------------

// Rounds of two workers, with something happening before some of them; the sums stay exact.
class Survival : public ClusterTest {
 protected:
  void run(Cluster& cluster, int rounds, const std::function<void(int)>& before_round) {
    for (size_t rank = 0; rank < cluster.workers.size(); ++rank) {
      DistStore& store = *cluster.workers[rank];
      store.set_optimizer({"sgd", {{"learning_rate", "1"}, {"momentum", "0.5"}}});
      for (const Key& key : {kSmallKey, kLargeKey}) store.init(key, filled(key == kSmallKey ? 5 : kLarge, 0));
    }
    double weight = 0, momentum = 0;
    for (int round = 1; round <= rounds; ++round) {
      before_round(round);
      double sum = 0;
      for (size_t rank = 0; rank < cluster.workers.size(); ++rank) {
        const auto own = static_cast<float>(rank + 1);
        sum += own;
        for (const Key& key : {kSmallKey, kLargeKey})
          cluster.workers[rank]->push(key, Arrays{filled(key == kSmallKey ? 5 : kLarge, own)}, 0);
      }
      momentum = 0.5 * momentum - sum;
      weight += momentum;
      for (const auto& store : cluster.workers) {
        for (const Key& key : {kSmallKey, kLargeKey}) {
          const int64_t count = key == kSmallKey ? 5 : kLarge;
          const Arrays out = {filled(count, 0)};
          store->pull(key, out, 0);
          ASSERT_TRUE(same(values(out[0]), Floats(static_cast<size_t>(count), static_cast<float>(weight))))
              << "round " << round;
        }
      }
    }
  }
};

TEST_F(Survival, AServerMayDie) {
  for (const bool reset : {true, false}) {
    Cluster cluster(runtime_, {.servers = 3, .workers = 2});
    run(cluster, 8, [&](int round) {
      if (round == 4) cluster.kill_server(1, reset);
    });
  }
}

TEST_F(Survival, EveryServerMayDieOneAfterTheOther) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 2});
  run(cluster, 10, [&](int round) {
    if (round % 2 == 0) {
      cluster.kill_server(round / 2 % 2);
      cluster.start_server(round / 2 % 2);
    } else {
      ASSERT_TRUE(cluster.wait_until_whole()) << round;
    }
  });
}

// A node that was slow for a moment does not know that it was given up, and is told nothing.
TEST_F(Survival, WhomOnlyTheSchedulerLostIsBack) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 2, .policy = DeadWorker::wait, .patience = 3s});
  run(cluster, 6, [&](int round) {
    if (round != 3) return;
    for (const std::string& node : {Cluster::server_address(1), Cluster::worker_address(1)})
      cluster.network.cut(node, "inproc://scheduler");
    const auto lost = [&] {
      const View view = cluster.scheduler->view();
      return !view.servers[1].up && !view.workers[1].up;
    };
    while (!lost()) std::this_thread::sleep_for(1ms);
    for (const std::string& node : {Cluster::server_address(1), Cluster::worker_address(1)})
      cluster.network.heal(node, "inproc://scheduler");
    ASSERT_TRUE(cluster.wait_until_whole());
  });
  EXPECT_TRUE(cluster.scheduler->view().workers[1].up);
}

// Whoever is left tells a new scheduler what was; then it can do all that the first one could.
TEST_F(Survival, TheSchedulerMayBeStartedAgain) {
  for (const bool reset : {true, false}) {
    Cluster cluster(runtime_, {.servers = 2, .workers = 2});
    on_workers(cluster, [&](int rank) { cluster.workers[static_cast<size_t>(rank)]->barrier(); });
    run(cluster, 8, [&](int round) {
      if (round == 2) cluster.kill_scheduler(reset);
      if (round == 4) cluster.start_scheduler();
      if (round == 5) {
        ASSERT_TRUE(cluster.wait_until_whole());
        cluster.kill_server(1);
        cluster.start_server(1);
      }
      if (round == 7) {
        ASSERT_TRUE(cluster.wait_until_whole());
      }
    });
    on_workers(cluster, [&](int rank) { cluster.workers[static_cast<size_t>(rank)]->barrier(); });
  }
}

// The scheduler dies when one of two workers has heard that both were at the barrier. The next one begins before that worker is back,
// or that worker dies, too.
TEST_F(Survival, ABarrierThatOneHasPassedIsPassed) {
  const std::string scheduler = "inproc://scheduler";
  for (const bool dies : {false, true}) {
    Cluster cluster(runtime_, {.servers = 1,
                               .workers = 2,
                               .replicas = 1,
                               .policy = DeadWorker::wait,
                               .dead_after = 5s,
                               .return_within = 300ms});
    const auto at_barrier = [&](size_t rank) {
      return std::async(std::launch::async, [&cluster, rank] { cluster.workers[rank]->barrier(); });
    };
    auto first = at_barrier(0);
    std::this_thread::sleep_for(500ms);  // it has arrived by then, as a rule
    cluster.network.cut(scheduler, Cluster::worker_address(0));
    cluster.workers[1]->barrier();
    cluster.network.cut(scheduler, Cluster::worker_address(1));
    cluster.kill_scheduler();
    if (dies) cluster.kill_worker(1);
    cluster.network.heal(scheduler, Cluster::worker_address(0));
    cluster.start_scheduler();
    const auto until = comm::Clock::now() + 20s;
    while (cluster.scheduler->view().number == 0 && comm::Clock::now() < until)
      std::this_thread::sleep_for(10ms);
    cluster.network.heal(scheduler, Cluster::worker_address(1));
    if (dies) cluster.start_worker(1);
    ASSERT_EQ(first.wait_for(20s), std::future_status::ready);
    auto second = at_barrier(1);
    EXPECT_EQ(second.wait_for(200ms), std::future_status::timeout) << "the other is not there";
    cluster.workers[0]->barrier();
    second.get();
  }
}

TEST_F(Survival, AServerMayDieWhileThereIsNoScheduler) {
  Cluster cluster(runtime_, {.servers = 3, .workers = 2, .return_within = 300ms});
  run(cluster, 6, [&](int round) {
    if (round == 2) cluster.kill_scheduler();
    if (round == 3) {
      cluster.kill_server(1);
      cluster.start_scheduler();
    }
  });
  EXPECT_FALSE(cluster.scheduler->view().servers[1].up);
}

// It is what has to be looked for, not the servers that ended for want of it.
TEST_F(Survival, ASchedulerThatStaysAwayIsNamed) {
  Cluster cluster(runtime_, {.servers = 1, .workers = 1, .replicas = 1, .deadline = 5s});
  DistStore& store = *cluster.workers[0];
  store.init(kSmallKey, filled(2, 0));
  cluster.kill_scheduler();
  cluster.kill_server(0);
  std::string said;
  const auto until = comm::Clock::now() + 40s;
  while (said.find("the scheduler at inproc://scheduler was lost") == std::string::npos) {
    ASSERT_LT(comm::Clock::now(), until) << said;
    const Arrays out = {filled(2, 0)};
    store.pull(kSmallKey, out, 0);
    try {
      out[0].wait_to_read();
      FAIL();
    } catch (const NetworkError& error) {
      said = error.what();
    }
  }
}

// What was pushed ahead does not wait for one deadline after the other.
TEST_F(Survival, WhatIsAheadEndsTogetherWhenNobodyIsThere) {
  Cluster cluster(runtime_, {.servers = 1, .workers = 1, .deadline = 1s});
  DistStore& store = *cluster.workers[0];
  for (const Key& key : {kSmallKey, kLargeKey}) store.init(key, filled(key == kSmallKey ? 5 : kLarge, 0));
  cluster.kill_scheduler();
  cluster.kill_server(0);
  const comm::TimePoint begin = comm::Clock::now();
  const Arrays small = {filled(5, 0)}, large = {filled(kLarge, 0)};
  for (int round = 0; round < 20; ++round) {
    store.push(kSmallKey, Arrays{filled(5, 1)}, 0);
    store.push(kLargeKey, Arrays{filled(kLarge, 1)}, 0);
    store.pull(kSmallKey, small, 0);
    store.pull(kLargeKey, large, 0);
  }
  EXPECT_THROW(small[0].wait_to_read(), NetworkError);
  EXPECT_THROW(large[0].wait_to_read(), NetworkError);
  EXPECT_LT(comm::Clock::now() - begin, 10s);
}

// A worker ends while it joins again: that is no error.
TEST_F(Survival, WhoEndsWhileItJoinsAgainSaysNothing) {
  Cluster cluster(runtime_, {.servers = 1, .workers = 2, .policy = DeadWorker::go_on});
  for (const auto& store : cluster.workers) store->init(kSmallKey, filled(5, 0));
  const std::string paused = Cluster::worker_address(1), server = Cluster::server_address(0);
  testing::internal::CaptureStderr();
  for (const std::string& other : {std::string("inproc://scheduler"), server})
    cluster.network.cut(paused, other);
  while (cluster.scheduler->view().workers[1].up) std::this_thread::sleep_for(1ms);
  cluster.network.heal(paused, "inproc://scheduler");
  while (!cluster.scheduler->view().workers[1].up) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(200ms);  // it hears of its new life, and cannot join
  cluster.workers[1].reset();
  cluster.network.heal(paused, server);
  cluster.workers[0]->leave("");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), ::testing::Not(HasSubstr("cannot join again")));
}

TEST_F(Survival, AWorkerThatDiedWithTheSchedulerIsNamed) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 2, .return_within = 300ms});
  for (const auto& store : cluster.workers) store->init(kSmallKey, filled(2, 0));
  cluster.kill_scheduler();
  cluster.kill_worker(1);
  cluster.start_scheduler();
  cluster.workers[0]->push(kSmallKey, Arrays{filled(2, 1)}, 0);
  const Arrays out = {filled(2, 0)};
  cluster.workers[0]->pull(kSmallKey, out, 0);
  try {
    out[0].wait_to_read();
    FAIL();
  } catch (const NetworkError& error) {
    EXPECT_THAT(error.what(), HasSubstr("worker 1"));
    EXPECT_THAT(error.what(), HasSubstr("scheduler was started anew"));
  }
}

// Two servers are cut off from each other, and both are there for everybody else.
TEST_F(Survival, TwoServersMayBeCutOffFromEachOther) {
  for (const int servers : {2, 3}) {
    Cluster cluster(runtime_, {.servers = servers, .workers = 2, .dead_after = 1s});
    const auto copies = [&] {
      size_t least = 9;
      for (const Chain& chain : cluster.scheduler->view().chains) {
        const auto has = [](const Link& link) { return link.synchronised; };
        least = std::min(least, static_cast<size_t>(std::count_if(chain.begin(), chain.end(), has)));
      }
      return least;
    };
    run(cluster, 10, [&](int round) {
      if (round == 3) cluster.network.cut(Cluster::server_address(0), Cluster::server_address(1));
      if (round == 6) {  // with two servers nobody is left who could have the other copy
        EXPECT_EQ(copies(), servers == 2 ? 1u : 2u);
        for (const Member& server : cluster.scheduler->view().servers) EXPECT_TRUE(server.up);
        cluster.network.heal(Cluster::server_address(0), Cluster::server_address(1));
        ASSERT_TRUE(cluster.wait_until_whole());
      }
      if (round == 8) {
        cluster.kill_server(0);
        cluster.start_server(0);
        ASSERT_TRUE(cluster.wait_until_whole());
      }
    });
  }
}

// The one that fewer others reach goes, also if it is the head.
TEST_F(Survival, AServerThatNoOtherReachesLeavesAllChains) {
  Cluster cluster(runtime_, {.servers = 4, .workers = 1, .dead_after = 2s});
  run(cluster, 6, [&](int round) {
    if (round != 3) return;
    for (int other = 1; other < 4; ++other)
      cluster.network.cut(Cluster::server_address(0), Cluster::server_address(other));
    const auto in_a_chain = [&] {
      const View view = cluster.scheduler->view();
      for (size_t group = 0; group < view.chains.size(); ++group) {
        if (view.position(group, 0) >= 0) return true;
      }
      return false;
    };
    const auto until = comm::Clock::now() + 20s;
    while (in_a_chain() && comm::Clock::now() < until) std::this_thread::sleep_for(1ms);
    EXPECT_FALSE(in_a_chain());
    EXPECT_TRUE(cluster.scheduler->view().servers[0].up);
    ASSERT_TRUE(cluster.wait_until_whole());
  });
}

// A new scheduler hears of it, too.
TEST_F(Survival, ServersThatAreCutOffOutliveTheScheduler) {
  Cluster cluster(runtime_, {.servers = 3, .workers = 1, .dead_after = 1s, .return_within = 300ms});
  run(cluster, 8, [&](int round) {
    if (round == 2) cluster.network.cut(Cluster::server_address(0), Cluster::server_address(1));
    if (round == 4) {
      cluster.kill_scheduler();
      cluster.start_scheduler();
      ASSERT_TRUE(cluster.wait_until_whole());
      std::this_thread::sleep_for(500ms);  // in which it hears what servers have to say
      cluster.kill_server(2);
    }
  });
  for (const Chain& chain : cluster.scheduler->view().chains) EXPECT_EQ(chain.size(), 1u);
}

TEST_F(Survival, AWorkerMayComeBack) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 2, .policy = DeadWorker::wait});
  run(cluster, 6, [&](int round) {
    if (round != 4) return;
    cluster.kill_worker(1);
    cluster.start_worker(1);
    DistStore& store = *cluster.workers[1];
    for (const Key& key : {kSmallKey, kLargeKey}) {
      store.init(key, filled(key == kSmallKey ? 5 : kLarge, 99));
      EXPECT_EQ(store.pushes(key), 3);
    }
  });
}

// It died in the middle of a round, between two keys; what it sends again is known, and it sees the values of that round.
TEST_F(Survival, AWorkerRepeatsItsLastRound) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 2, .policy = DeadWorker::wait});
  run(cluster, 6, [&](int round) {
    if (round != 4) return;
    // Both push the small key; the round of it is complete, that of the large one is not.
    cluster.workers[0]->push(kSmallKey, Arrays{filled(5, 1)}, 0);
    cluster.workers[1]->push(kSmallKey, Arrays{filled(5, 2)}, 0);
    const Arrays now = {filled(5, 0)};
    cluster.workers[0]->pull(kSmallKey, now, 0);
    const Floats after = values(now[0]);
    for (int rank = 0; rank < 2; ++rank) {
      cluster.kill_worker(rank);
    }
    std::vector<std::future<void>> starting;
    for (int rank = 0; rank < 2; ++rank)
      starting.push_back(std::async(std::launch::async, [&, rank] { cluster.start_worker(rank); }));
    for (auto& one : starting) one.get();
    for (const auto& store : cluster.workers) {
      for (const Key& key : {kSmallKey, kLargeKey}) {
        store->init(key, filled(key == kSmallKey ? 5 : kLarge, 99));
        EXPECT_EQ(store->pushes(key), 3);
      }
      const Arrays before = {filled(5, 0)};
      store->pull(kSmallKey, before, 0);
      EXPECT_NE(values(before[0]), after);
    }
  });
}

TEST_F(Survival, OthersGoOnWithoutADeadWorker) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 2, .policy = DeadWorker::go_on});
  for (const auto& store : cluster.workers) store->init(kSmallKey, filled(2, 0));
  cluster.workers[0]->push(kSmallKey, Arrays{filled(2, 1)}, 0);
  const Arrays out = {filled(2, 0)};
  cluster.workers[0]->pull(kSmallKey, out, 0);
  cluster.kill_worker(1);
  EXPECT_EQ(values(out[0]), Floats(2, 1));
  cluster.workers[0]->barrier();
}

// It was silent for a while, and the others went on. Once it is back they wait for it again, and all its pushes count.
TEST_F(Survival, AWorkerThatPausedCountsAgain) {
  for (const auto& [type, staleness] : {std::pair("dist_sync", 0), {"dist_ssp", 2}}) {
    Cluster cluster(
        runtime_,
        {.servers = 2, .workers = 2, .policy = DeadWorker::go_on, .type = type, .staleness = staleness});
    const bool sync = staleness == 0;
    DistStore &first = *cluster.workers[0], &second = *cluster.workers[1];
    for (const auto& store : cluster.workers) {
      if (!sync) store->set_optimizer({"sgd", {{"learning_rate", "1"}}});
      for (const Key& key : {kSmallKey, kLargeKey})
        store->init(key, filled(key == kSmallKey ? 5 : kLarge, 0));
    }
    const auto push = [&](DistStore& store, float value) {
      for (const Key& key : {kSmallKey, kLargeKey})
        store.push(key, Arrays{filled(key == kSmallKey ? 5 : kLarge, value)}, 0);
    };
    const auto pull = [&](DistStore& store) {
      const Arrays small = {filled(5, 0)}, large = {filled(kLarge, 0)};
      store.pull(kSmallKey, small, 0);
      store.pull(kLargeKey, large, 0);
      const Floats parts = values(large[0]);
      const bool alike = std::count(parts.begin(), parts.end(), parts[0]) == kLarge;
      return std::pair(values(small[0])[0], alike ? parts[0] : 0);  // groups may be a round apart
    };
    const auto step = [&](DistStore& store, float value) {
      push(store, value);
      return pull(store);
    };
    push(second, 10);
    step(first, 1);
    pull(second);
    const std::string paused = Cluster::worker_address(1);
    const std::string others[] = {"inproc://scheduler", Cluster::server_address(0),
                                  Cluster::server_address(1)};
    for (const std::string& other : others) cluster.network.cut(paused, other);
    push(second, 10);  // on its way all the while
    while (cluster.scheduler->view().workers[1].up) std::this_thread::sleep_for(1ms);
    for (int i = 0; i < 3; ++i) step(first, 1);
    for (const std::string& other : others) cluster.network.heal(paused, other);
    while (!cluster.scheduler->view().workers[1].up) std::this_thread::sleep_for(1ms);
    if (!sync) {  // every push counts once, late or not
      on_workers(cluster, [&](int rank) {
        DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
        for (int i = 0; i < 3; ++i) step(store, rank == 0 ? 1 : 10);
        store.barrier();
        EXPECT_EQ(pull(store), std::pair(-57.0f, -57.0f));
      });
      continue;
    }
    // It hears how far the others are before its next push, so a program that counts steps makes none too many.
    const auto until = comm::Clock::now() + 20s;
    while (second.pushes(kSmallKey) < first.pushes(kSmallKey) && comm::Clock::now() < until)
      std::this_thread::sleep_for(1ms);
    EXPECT_EQ(second.pushes(kSmallKey), 4);
    EXPECT_EQ(second.pushes(kLargeKey), 4);
    std::atomic<bool> over = false;
    auto working = std::async(std::launch::async, [&] {
      while (!over) step(second, 10);
    });
    for (int together = 0; together < 5;) {
      together = step(first, 1) == std::pair(11.0f, 11.0f) ? together + 1 : 0;
      if (comm::Clock::now() > until) {
        ADD_FAILURE() << "its pushes do not count";
        break;
      }
    }
    over = true;
    first.leave("");  // or the other one waits for its next push
    working.get();
  }
}

TEST_F(Survival, ADeadWorkerIsNamed) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 2, .policy = DeadWorker::fail});
  for (const auto& store : cluster.workers) store->init(kSmallKey, filled(2, 0));
  cluster.workers[0]->push(kSmallKey, Arrays{filled(2, 1)}, 0);
  const Arrays out = {filled(2, 0)};
  cluster.workers[0]->pull(kSmallKey, out, 0);
  cluster.kill_worker(1);
  try {
    out[0].wait_to_read();
    FAIL();
  } catch (const NetworkError& error) {
    EXPECT_THAT(error.what(), HasSubstr("worker 1"));
    EXPECT_THAT(error.what(), HasSubstr("'small'"));
  }
  EXPECT_THROW(cluster.workers[0]->barrier(), NetworkError);
}

// Who ended before would look to the others as if all were done.
TEST_F(Survival, ASchedulerWaitsUntilAllHaveHeardOfAFailure) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 2, .policy = DeadWorker::fail, .dead_after = 5s});
  const std::string server = Cluster::server_address(0);
  cluster.network.cut("inproc://scheduler", server);
  cluster.kill_worker(1);
  while (cluster.scheduler->standing().failure.empty()) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(cluster.scheduler->standing().told);
  cluster.network.heal("inproc://scheduler", server);
  const auto until = comm::Clock::now() + 10s;
  while (!cluster.scheduler->standing().told && comm::Clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(cluster.scheduler->standing().told);
  EXPECT_THAT(cluster.servers[0]->standing().failure, HasSubstr("worker 1"));
}

TEST_F(Survival, AValueThatNobodyHasIsAnError) {
  Cluster cluster(runtime_, {.servers = 1, .workers = 1, .deadline = 1s});
  DistStore& store = *cluster.workers[0];
  store.init(kSmallKey, filled(2, 0));
  cluster.kill_server(0);
  const Arrays out = {filled(2, 0)};
  store.pull(kSmallKey, out, 0);
  EXPECT_THROW(out[0].wait_to_read(), NetworkError);
  cluster.start_server(0);
  store.pull(kSmallKey, out, 0);
  try {
    out[0].wait_to_read();
    FAIL();
  } catch (const NetworkError& error) {
    EXPECT_THAT(error.what(), HasSubstr("server 0 was started again"));
  }
}

}  // namespace
}  // namespace loomix::kvstore
