// SPDX-License-Identifier: Apache-2.0
//
// Random schedules of kills and restarts (of the scheduler, too), cuts, losses, repetitions and delays. Every worker pushes numbered updates; the values
// say exactly which of them are in, and how often.
#include <atomic>
#include <random>

#include "tests/cpp/kvstore/cluster.h"

namespace loomix::kvstore {
namespace {

using Arrays = std::vector<NDArray>;
using Random = std::mt19937_64;

// Of each test. With a sanitizer a schedule takes four times as long on a loaded machine, and its order of events differs anyway.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kSchedules = 2;
#else
constexpr int kSchedules = 8;
#endif
constexpr int64_t kLarge = 66'000;  // cut over the servers

int pick(Random& random, int least, int most) {
  return std::uniform_int_distribution<int>(least, most)(random);
}
double chance(Random& random, double most) { return std::uniform_real_distribution<double>(0, most)(random); }

class Chaos : public ClusterTest, public ::testing::WithParamInterface<int> {
 protected:
  struct Plan {
    Cluster::Setup setup;
    comm::Faults faults;
    int rounds;
    uint64_t seed;
  };

  static Plan plan(uint64_t seed) {
    Random random(seed);
    Plan plan{};
    plan.seed = seed;
    plan.setup.servers = pick(random, 2, 3);
    plan.setup.workers = pick(random, 2, 3);
    plan.setup.policy = DeadWorker::wait;
    plan.setup.type =
        std::array{"dist_sync", "dist_async", "dist_ssp"}[static_cast<size_t>(pick(random, 0, 2))];
    plan.setup.staleness = pick(random, 0, 3);
    plan.setup.deadline = 30s;
    if (pick(random, 0, 1) == 0) {
      plan.faults.loss = chance(random, 0.03);
      plan.faults.duplication = chance(random, 0.1);
      plan.faults.reordering = chance(random, 0.2);
      plan.faults.delay_most = std::chrono::microseconds(pick(random, 0, 2000));
    }
    plan.rounds = pick(random, 4, 10);
    if (pick(random, 0, 1) == 0) {  // copies of groups take several messages
      plan.setup.limits.message_bytes = 140'000;
      plan.setup.limits.frames = 8;
    }
    return plan;
  }

  static std::vector<Key> keys() { return {Key{int64_t{0}}, Key{"one"}, Key{"large"}}; }
  static int64_t count_of(const Key& key) { return key == Key{"large"} ? kLarge : 3; }
  // What update `number` of a worker adds: each sum of them says who is in it.
  static float update(const Plan& plan, int rank, int64_t number) {
    return static_cast<float>(number * plan.setup.workers + rank);
  }
  static float all_updates(const Plan& plan, int64_t rounds) {
    float sum = 0;
    for (int64_t number = 1; number <= rounds; ++number) {
      for (int rank = 0; rank < plan.setup.workers; ++rank) sum += update(plan, rank, number);
    }
    return sum;
  }

  void begin(Cluster& cluster, int rank) {
    DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
    store.set_optimizer({"sgd", {{"learning_rate", "1"}}});
    for (const Key& key : keys()) store.init(key, filled(count_of(key), 0));
  }

  // All elements are the same in every state that the key can be in; otherwise an update is in a part of it.
  float value_of(const NDArray& array) {
    const std::vector<float> items = values(array);
    for (const float item : items) {
      if (item != items[0])
        throw StateError("[test] the parts of a key differ: " + std::to_string(item) + " and " +
                         std::to_string(items[0]));
    }
    return items[0];
  }

  void work(const Plan& plan, Cluster& cluster, int rank) {
    Random random(plan.seed * 100 + static_cast<uint64_t>(rank));
    begin(cluster, rank);
    // Nobody pushes before all keys are there: a worker that came back could not tell a key that is still to come from one
    // that it has never pushed.
    cluster.workers[static_cast<size_t>(rank)]->barrier();
    int deaths = pick(random, 0, 3) == 0 ? 1 : 0;
    for (int64_t round = 1; round <= plan.rounds;) {
      auto& store = cluster.workers[static_cast<size_t>(rank)];
      const bool dies = deaths > 0 && pick(random, 0, 3) == 0;
      const int pushed_before_death = pick(random, 0, 3);
      int pushed = 0;
      for (const Key& key : keys()) {
        if (dies && pushed++ == pushed_before_death) break;
        store->push(key, Arrays{filled(count_of(key), -update(plan, rank, round))}, 0);
      }
      if (dies) {
        --deaths;
        std::this_thread::sleep_for(std::chrono::milliseconds(pick(random, 0, 5)));
        cluster.kill_worker(rank, pick(random, 0, 3) != 0);
        cluster.start_worker(rank);
        begin(cluster, rank);
        round = store->pushes(keys()[0]) + 1;
        for (const Key& key : keys()) ASSERT_EQ(store->pushes(key), round - 1) << "seed " << plan.seed;
        continue;
      }
      for (const Key& key : keys()) {
        const Arrays out = {filled(count_of(key), 0)};
        store->pull(key, out, 0);
        if (plan.setup.type == "dist_sync") {
          ASSERT_EQ(value_of(out[0]), all_updates(plan, round))
              << "seed " << plan.seed << ", round " << round;
        } else {
          out[0].wait_to_read();
        }
      }
      ++round;
    }
    cluster.workers[static_cast<size_t>(rank)]->barrier();
    for (const Key& key : keys()) {
      const Arrays out = {filled(count_of(key), 0)};
      cluster.workers[static_cast<size_t>(rank)]->pull(key, out, 0);
      ASSERT_EQ(value_of(out[0]), all_updates(plan, plan.rounds)) << "seed " << plan.seed;
    }
    cluster.workers[static_cast<size_t>(rank)]->barrier();
  }

  // Kills and cuts until told to stop; never the last place that has a group's state.
  void disturb(const Plan& plan, Cluster& cluster, const std::atomic<bool>& over) {
    Random random(plan.seed * 100 + 99);
    std::vector<uint64_t> killed(static_cast<size_t>(plan.setup.servers));  // incarnations
    const auto noticed = [&] {
      const View view = cluster.scheduler->view();
      for (size_t rank = 0; rank < killed.size(); ++rank) {
        if (view.servers[rank].id.incarnation == killed[rank]) return false;
      }
      return true;
    };
    int events = pick(random, 1, 6);
    while (!over && events > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(pick(random, 0, 30)));
      const int rank = pick(random, 0, plan.setup.servers - 1);
      const int what = pick(random, 0, 6);
      if (what == 0) {
        cluster.kill_scheduler(pick(random, 0, 3) != 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(pick(random, 0, 20)));
        cluster.start_scheduler();
        --events;
      } else if (what <= 2) {
        const std::string server = Cluster::server_address(rank);
        const std::string other = pick(random, 0, 1) == 0
                                      ? Cluster::worker_address(pick(random, 0, plan.setup.workers - 1))
                                      : Cluster::server_address((rank + 1) % plan.setup.servers);
        cluster.network.cut(server, other);
        std::this_thread::sleep_for(std::chrono::milliseconds(pick(random, 1, 40)));
        cluster.network.heal(server, other);
        --events;
      } else if (noticed() && cluster.whole()) {
        killed[static_cast<size_t>(rank)] =
            cluster.scheduler->view().servers[static_cast<size_t>(rank)].id.incarnation;
        cluster.kill_server(rank, pick(random, 0, 3) != 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(pick(random, 0, 20)));
        cluster.start_server(rank);
        --events;
      }
    }
  }
};

TEST_P(Chaos, NoUpdateIsLostOrDoubled) {
  for (int i = 0; i < kSchedules; ++i) {
    const Plan given = plan(static_cast<uint64_t>(GetParam() * kSchedules + i));
    SCOPED_TRACE("seed " + std::to_string(given.seed) + " " + given.setup.type);
    Cluster cluster(runtime_, given.setup, given.seed, given.faults);
    std::atomic<bool> over = false;
    auto trouble = std::async(std::launch::async, [&] { disturb(given, cluster, over); });
    try {
      on_workers(cluster, [&](int rank) { work(given, cluster, rank); });
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    over = true;
    trouble.get();
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, Chaos, ::testing::Range(0, 25));

}  // namespace
}  // namespace loomix::kvstore
