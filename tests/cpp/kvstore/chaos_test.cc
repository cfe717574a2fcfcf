// SPDX-License-Identifier: Apache-2.0
//
// Random schedules of kills and restarts (of the scheduler, too), of cuts, shorter and longer than the time after which a silent node
// counts as dead, of losses, repetitions and delays, by each policy. Every worker has elements of its own, to which each of its pushes
// adds one digit: values say exactly which pushes are in them, and how often.
#include <gmock/gmock.h>

#include <atomic>
#include <random>

#include "tests/cpp/kvstore/cluster.h"

namespace loomix::kvstore {
namespace {

using Arrays = std::vector<NDArray>;
using Random = std::mt19937_64;
using Pushes = std::vector<int>;  // how often each push of a worker is in a value, by number from 1 on

// Of each test. With a sanitizer a schedule takes four times as long on a loaded machine, and its order of events differs anyway.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kSchedules = 2;
constexpr auto kDeadAfter = 2000ms;
#else
constexpr int kSchedules = 8;
constexpr auto kDeadAfter = 1000ms;
#endif
constexpr int64_t kLarge = 66'000;  // cut over the servers
constexpr int kBase = 4;            // of digits: a push that is in a value twice shows
constexpr int kMostRounds = 10;     // so many are exact in float32

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
    int lost;  // a worker that dies for good; -1: none
    uint64_t seed;

    std::string name() const {
      const auto policy = std::array{"fail", "wait", "continue"}[static_cast<size_t>(setup.policy)];
      return fmt::format("seed {}: {}, {}, {} workers, {} servers", seed, setup.type, policy, setup.workers,
                         setup.servers);
    }
    bool sync() const { return setup.type == "dist_sync"; }
    // Rounds go on without workers.
    bool loose() const { return sync() && setup.policy == DeadWorker::go_on; }
  };

  static Plan plan(uint64_t seed) {
    Random random(seed);
    Plan plan{};
    plan.seed = seed;
    plan.setup.servers = pick(random, 2, 3);
    plan.setup.workers = pick(random, 2, 3);
    plan.setup.policy =
        std::array{DeadWorker::wait, DeadWorker::go_on, DeadWorker::fail}[static_cast<size_t>(seed % 3)];
    plan.setup.type =
        std::array{"dist_sync", "dist_async", "dist_ssp"}[static_cast<size_t>(pick(random, 0, 2))];
    plan.setup.staleness = pick(random, 0, 3);
    plan.setup.deadline = 30s;
    // By policy `fail` nobody comes back, so a machine that is slow for a moment must not look like a death.
    plan.setup.dead_after = plan.setup.policy == DeadWorker::fail ? 2 * kDeadAfter : kDeadAfter;
    plan.setup.return_within = 2s;
    if (pick(random, 0, 1) == 0) {
      plan.faults.loss = chance(random, 0.03);
      plan.faults.duplication = chance(random, 0.1);
      plan.faults.reordering = chance(random, 0.2);
      plan.faults.delay_most = std::chrono::microseconds(pick(random, 0, 2000));
    }
    plan.rounds = pick(random, 4, kMostRounds);
    plan.lost = plan.setup.policy != DeadWorker::wait && pick(random, 0, 3) == 0
                    ? pick(random, 0, plan.setup.workers - 1)
                    : -1;
    if (pick(random, 0, 1) == 0) {  // copies of groups take several messages
      plan.setup.limits.message_bytes = 140'000;
      plan.setup.limits.frames = 8;
    }
    return plan;
  }

  static std::vector<Key> keys() { return {Key{int64_t{0}}, Key{"one"}, Key{"large"}}; }
  static int64_t count_of(const Key& key) { return key == Key{"large"} ? kLarge : 6; }

  // What push `number` of a worker adds, with the sign of a gradient.
  NDArray update(const Plan& plan, const Key& key, int rank, int64_t number) {
    float digit = -1;
    for (int64_t i = 1; i < number; ++i) digit *= kBase;
    std::vector<float> items(static_cast<size_t>(count_of(key)), 0);
    for (auto i = static_cast<size_t>(rank); i < items.size(); i += static_cast<size_t>(plan.setup.workers))
      items[i] = digit;
    return array(items);
  }

  static Pushes pushes_in(float element) {
    if (!(element >= 0) || element != std::floor(element)) throw StateError("[test] no sum of pushes");
    Pushes found;
    for (auto rest = static_cast<int64_t>(element); rest > 0; rest /= kBase)
      found.push_back(static_cast<int>(rest % kBase));
    return found;
  }
  static Pushes all_of(int64_t rounds) { return Pushes(static_cast<size_t>(rounds), 1); }

  // What is in a value of each worker's pushes. Throws where one is in it twice, where a shard's value is of two moments, and, in an
  // order that is not their worker's, but where rounds go on without it.
  std::vector<Pushes> look(const Plan& plan, const Key& key, const NDArray& array, bool at_end) {
    const std::vector<float> items = values(array);
    const auto workers = static_cast<size_t>(plan.setup.workers);
    const bool alike = key != Key{"large"} ||
                       (!plan.loose() && (plan.sync() || (at_end && plan.setup.policy != DeadWorker::go_on)));
    std::vector<Pushes> found;
    for (size_t worker = 0; worker < workers; ++worker) {
      found.push_back(pushes_in(items[worker]));
      for (size_t i = worker; i < items.size(); i += workers) {
        if (items[i] == items[worker]) continue;
        if (alike) throw StateError(fmt::format("[test] elements {} and {} differ", worker, i));
        check_pushes(plan, pushes_in(items[i]));
        break;  // the others are likely to be of the same two moments
      }
      check_pushes(plan, found.back());
    }
    return found;
  }
  static void check_pushes(const Plan& plan, const Pushes& pushes) {
    for (size_t i = 0; i < pushes.size(); ++i) {
      if (pushes[i] > 1) throw StateError(fmt::format("[test] push {} is in it {} times", i + 1, pushes[i]));
      if (pushes[i] == 0 && !plan.loose()) throw StateError(fmt::format("[test] push {} is lost", i + 1));
    }
  }

  void begin(Cluster& cluster, int rank) {
    DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
    store.set_optimizer({"sgd", {{"learning_rate", "1"}}});
    for (const Key& key : keys()) store.init(key, filled(count_of(key), 0));
  }

  // A worker's program, and what it has seen.
  class Worker {
   public:
    Worker(Chaos& test, const Plan& plan, Cluster& cluster, int rank)
        : test_(test),
          plan_(plan),
          cluster_(cluster),
          rank_(rank),
          random_(plan.seed * 100 + static_cast<uint64_t>(rank)) {}

    void run() {
      test_.begin(cluster_, rank_);
      // Nobody pushes before all keys are there: a worker that came back could not tell a key that is still to come from one
      // that it has never pushed.
      store().barrier(1);
      int deaths = plan_.setup.policy != DeadWorker::fail && pick(random_, 0, 3) == 0 ? 1 : 0;
      const int last = plan_.lost == rank_ ? pick(random_, 1, plan_.rounds) : plan_.rounds + 1;
      while (store().pushes(keys()[0]) < plan_.rounds) {
        const bool ends = store().pushes(keys()[0]) + 1 >= last;
        const bool dies = ends || (deaths > 0 && pick(random_, 0, 3) == 0);
        push(dies ? pick(random_, 0, 3) : 4);
        if (dies) {
          std::this_thread::sleep_for(std::chrono::milliseconds(pick(random_, 0, 5)));
          cluster_.kill_worker(rank_, pick(random_, 0, 3) != 0);
          if (ends) return;
          --deaths;
          come_back();
        } else {
          pull(false);
        }
      }
      // Where rounds go on without workers, one that comes back late may make a round more than the others, who must not wait then.
      if (plan_.loose()) {
        pull(true);
        return leave();
      }
      store().barrier(2);
      pull(true);
      store().barrier(3);
    }

    std::vector<std::vector<Pushes>> last_seen;  // by key and worker

   private:
    // As a process ends. A scheduler that is just away hears it from the servers.
    void leave() {
      try {
        store().leave("");
      } catch (const NetworkError&) {}
      cluster_.workers[static_cast<size_t>(rank_)].reset();
    }

    DistStore& store() { return *cluster_.workers[static_cast<size_t>(rank_)]; }

    void push(int keys_before_death) {
      for (const Key& key : keys()) {
        if (keys_before_death-- == 0) return;
        store().push(key, Arrays{test_.update(plan_, key, rank_, store().pushes(key) + 1)}, 0);
      }
    }

    void come_back() {
      cluster_.start_worker(rank_);
      test_.begin(cluster_, rank_);
      const int64_t pushes = store().pushes(keys()[0]);
      if (plan_.loose()) return;
      for (const Key& key : keys()) {
        if (store().pushes(key) != pushes) throw StateError("[test] the keys are at different rounds");
      }
    }

    void pull(bool at_end) {
      std::vector<std::vector<Pushes>> seen;
      for (const Key& key : keys()) {
        const Arrays out = {test_.filled(count_of(key), 0)};
        store().pull(key, out, 0);
        seen.push_back(test_.look(plan_, key, out[0], at_end));
        check(seen.back(), store().pushes(key), at_end);
      }
      for (size_t key = 0; key < last_seen.size() && key < 2; ++key) {  // keys of one shard each
        for (size_t worker = 0; worker < seen[key].size(); ++worker) check_forwards(key, worker, seen);
      }
      last_seen = std::move(seen);
    }

    void check(const std::vector<Pushes>& seen, int64_t pushed, bool at_end) const {
      if (plan_.loose()) return;
      for (size_t worker = 0; worker < seen.size(); ++worker) {
        const auto there = static_cast<int64_t>(seen[worker].size());
        const bool own = static_cast<int>(worker) == rank_;
        const bool counts = plan_.setup.policy != DeadWorker::go_on;
        int64_t least = own ? pushed : 0;
        if (plan_.setup.type == "dist_ssp" && counts) least = std::max(least, pushed - plan_.setup.staleness);
        if (plan_.sync() || (at_end && counts)) least = pushed;
        if (there < least || (plan_.sync() && there > pushed)) {
          throw StateError(fmt::format("[test] worker {} after push {} sees {} pushes of worker {}", rank_,
                                       pushed, there, worker));
        }
      }
    }

    void check_forwards(size_t key, size_t worker, const std::vector<std::vector<Pushes>>& seen) const {
      const Pushes& before = last_seen[key][worker];
      const Pushes& now = seen[key][worker];
      for (size_t i = 0; i < before.size(); ++i) {
        if (before[i] > (i < now.size() ? now[i] : 0))
          throw StateError(fmt::format("[test] push {} of worker {} was there before", i + 1, worker));
      }
    }

    Chaos& test_;
    const Plan& plan_;
    Cluster& cluster_;
    const int rank_;
    Random random_;
  };

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
      const int what = pick(random, 0, 7);
      if (what == 0) {
        cluster.kill_scheduler(pick(random, 0, 3) != 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(pick(random, 0, 20)));
        cluster.start_scheduler();
        --events;
      } else if (what <= 4) {
        events -= cut(plan, cluster, random, noticed());
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

  // Two nodes from each other, some for longer than a node may be silent. True: it was done.
  static bool cut(const Plan& plan, Cluster& cluster, Random& random, bool may_be_long) {
    const int rank = pick(random, 0, plan.setup.servers - 1);
    const std::string server = Cluster::server_address(rank);
    const std::string worker = Cluster::worker_address(pick(random, 0, plan.setup.workers - 1));
    const std::string next = Cluster::server_address((rank + 1) % plan.setup.servers);
    const std::string scheduler = "inproc://scheduler";
    const std::array pairs = {std::pair(server, worker), std::pair(server, next),
                              std::pair(server, scheduler), std::pair(worker, scheduler)};
    const auto& [one, other] = pairs[static_cast<size_t>(pick(random, 0, 3))];
    const bool long_one = pick(random, 0, 3) == 0;
    // By policy `fail` a worker must not be lost; and what has no copy must not be cut off.
    if (long_one && (!may_be_long || !cluster.whole() ||
                     (plan.setup.policy == DeadWorker::fail && one == worker && other == scheduler)))
      return false;
    const auto least = long_one ? std::chrono::duration_cast<std::chrono::milliseconds>(plan.setup.dead_after)
                                : std::chrono::milliseconds(1);
    const auto most = long_one ? least + 250ms : std::chrono::milliseconds(40);
    const int time = pick(random, static_cast<int>(least.count()), static_cast<int>(most.count()));
    cluster.network.cut(one, other);
    std::this_thread::sleep_for(std::chrono::milliseconds(time));
    cluster.network.heal(one, other);
    return true;
  }

  // Whoever was there all the time has all its pushes in every worker's last value. Beyond dist_sync others may read earlier where
  // workers come and go.
  static void check_end(const Plan& plan, const View& first, const View& last,
                        const std::vector<Worker>& workers) {
    if (plan.setup.policy == DeadWorker::go_on ? !plan.sync() : plan.lost >= 0) return;
    for (size_t reader = 0; reader < workers.size(); ++reader) {
      if (static_cast<int>(reader) == plan.lost) continue;
      for (size_t rank = 0; rank < first.workers.size(); ++rank) {
        if (first.workers[rank].since != last.workers[rank].since || static_cast<int>(rank) == plan.lost)
          continue;
        for (const std::vector<Pushes>& key : workers[reader].last_seen)
          EXPECT_GE(key[rank], all_of(plan.rounds)) << "of worker " << rank << " at worker " << reader;
      }
    }
  }

  void run(const Plan& plan) {
    SCOPED_TRACE(plan.name());
    Cluster cluster(runtime_, plan.setup, plan.seed, plan.faults);
    const View first = cluster.scheduler->view();
    std::atomic<bool> over = false;
    auto trouble = std::async(std::launch::async, [&] { disturb(plan, cluster, over); });
    std::vector<Worker> workers;
    for (int rank = 0; rank < plan.setup.workers; ++rank) workers.emplace_back(*this, plan, cluster, rank);
    on_workers(cluster, [&](int rank) {
      const bool fails = plan.lost >= 0 && plan.lost != rank && plan.setup.policy == DeadWorker::fail;
      try {
        workers[static_cast<size_t>(rank)].run();
        EXPECT_FALSE(fails) << "worker " << rank << " goes on without worker " << plan.lost;
      } catch (const NetworkError& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr(fmt::format("worker {}", plan.lost)));
        EXPECT_TRUE(fails) << "worker " << rank << ", " << plan.name();
      } catch (const std::exception& error) {
        ADD_FAILURE() << plan.name() << ", worker " << rank << ": " << error.what();
      }
    });
    over = true;
    trouble.get();
    check_end(plan, first, cluster.scheduler->view(), workers);
  }
};

TEST_P(Chaos, NoUpdateIsLostOrDoubled) {
  for (int i = 0; i < kSchedules && !HasFailure(); ++i)
    run(plan(static_cast<uint64_t>(GetParam() * kSchedules + i)));
}
INSTANTIATE_TEST_SUITE_P(Schedules, Chaos, ::testing::Range(0, 25));

// With those above 2,000, for .ci/long.
class LongChaos : public Chaos {};
TEST_P(LongChaos, NoUpdateIsLostOrDoubled) {
  for (int i = 0; i < 200; ++i) run(plan(static_cast<uint64_t>(GetParam() * 200 + i)));
}
INSTANTIATE_TEST_SUITE_P(DISABLED_Schedules, LongChaos, ::testing::Range(1, 10));

}  // namespace
}  // namespace loomix::kvstore
