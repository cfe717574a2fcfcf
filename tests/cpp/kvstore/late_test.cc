// SPDX-License-Identifier: Apache-2.0
// Workers that are there but late, and keys that are not the same everywhere.
#include <gmock/gmock.h>

#include "base/log.h"
#include "tests/cpp/kvstore/cluster.h"

namespace loomix::kvstore {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Arrays = std::vector<NDArray>;

constexpr auto kDeadline = 800ms;

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

class LateTest : public ClusterTest {
 protected:
  // The first push of worker 0, and what comes back.
  static Cluster::Setup setup() { return {.servers = 2, .workers = 2, .deadline = kDeadline}; }
  void first_round(DistStore& store, int64_t size, const NDArray& out) {
    store.push("w", Arrays{filled(size, 1)}, 0);
    store.pull("w", Arrays{out}, 0);
    out.wait_to_read();
  }
};

// A small key travels in batches, and a large one is cut over servers.
TEST_F(LateTest, AWorkerThatIsThereIsWaitedFor) {
  for (const int64_t size : {int64_t{4}, int64_t{100'000}}) {
    SCOPED_TRACE(size);
    Cluster cluster(runtime_, setup());
    on_workers(cluster, [&](int rank) {
      DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
      if (rank == 0) std::this_thread::sleep_for(2 * kDeadline);  // others wait for the first value
      store.init("w", filled(size, 0));
      if (rank == 1) std::this_thread::sleep_for(2 * kDeadline);  // and for its push
      const NDArray out = filled(size, 0);
      first_round(store, size, out);
      EXPECT_EQ(values(out)[0], 2);
      if (rank == 1) std::this_thread::sleep_for(2 * kDeadline);
      store.barrier();
    });
  }
}

TEST_F(LateTest, ItIsNamedAtTheLateDeadline) {
  Cluster::Setup own = setup();
  own.late_deadline = 2 * kDeadline;
  Cluster cluster(runtime_, own);
  for (const auto& store : cluster.workers) store->init("w", filled(4, 0));
  const auto begin = comm::Clock::now();
  const std::string error = error_of([&] { first_round(*cluster.workers[0], 4, filled(4, 0)); });
  EXPECT_THAT(error, AllOf(HasSubstr("pull of key 'w' by worker 0"),
                           HasSubstr("it waits for worker 1, which has not made push 1 of key 'w'")));
  EXPECT_GE(comm::Clock::now() - begin, 2 * kDeadline);
  EXPECT_THAT(error_of([&] { cluster.workers[0]->barrier(); }),
              HasSubstr("it waits for worker 1, which has not come to barrier 1"));
}

// Under the policy that waits for it, one that does not answer has the deadline of those.
TEST_F(LateTest, AWorkerThatDiedIsNotWaitedForSoLong) {
  Cluster::Setup own = setup();
  own.policy = DeadWorker::wait;
  Cluster cluster(runtime_, own);
  for (const auto& store : cluster.workers) store->init("w", filled(4, 0));
  cluster.kill_worker(1);
  const auto begin = comm::Clock::now();
  EXPECT_NE(error_of([&] { first_round(*cluster.workers[0], 4, filled(4, 0)); }), "no error");
  EXPECT_LT(comm::Clock::now() - begin, 4 * kDeadline);
}

TEST_F(LateTest, WorkersOfADelayedClusterWaitForTheSlowestOnly) {
  Cluster::Setup own = setup();
  own.type = "dist_ssp";
  own.staleness = 0;
  Cluster cluster(runtime_, own);
  on_workers(cluster, [&](int rank) {
    DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
    store.init("w", filled(4, 0));
    if (rank == 1) std::this_thread::sleep_for(2 * kDeadline);
    first_round(store, 4, filled(4, 0));
    store.barrier();
  });
}

// Whoever is larger: parts may be at servers that do not know the key at all.
TEST_F(LateTest, AKeyOfAnotherShapeIsRefusedAtOnce) {
  const std::pair<Shape, Shape> pairs[] = {{Shape{2, 3}, Shape{3, 2}},
                                           {Shape{4}, Shape{300'000}},
                                           {Shape{300'000}, Shape{4}},
                                           {Shape{300'000}, Shape{300'001}}};
  for (const auto& [first, second] : pairs) {
    for (const bool pulls : {false, true}) {
      SCOPED_TRACE(second.to_string());
      Cluster::Setup own = setup();
      own.deadline = 20s;
      Cluster cluster(runtime_, own);
      DistStore& store = *cluster.workers[1];
      const auto begin = comm::Clock::now();
      store.init("w", zeros(*engine_, second, DType::float32, Device::cpu()));
      const NDArray value = zeros(*engine_, second, DType::float32, Device::cpu());
      if (!pulls) store.push("w", Arrays{value}, 0);  // before the first value is there
      cluster.workers[0]->init("w", zeros(*engine_, first, DType::float32, Device::cpu()));
      const std::string error = error_of([&] {
        store.pull("w", Arrays{value}, 0);
        value.wait_to_read();
      });
      EXPECT_THAT(error, AllOf(HasSubstr(first.to_string()), HasSubstr(second.to_string()),
                               HasSubstr("at worker 0"), HasSubstr("at worker 1"), HasSubstr("key 'w'")));
      EXPECT_LT(comm::Clock::now() - begin, 10s);
    }
  }
}

TEST_F(LateTest, SoIsOneOfAnotherType) {
  Cluster cluster(runtime_, setup());
  cluster.workers[0]->init("w", filled(4, 0));
  cluster.workers[1]->init("w", zeros(*engine_, Shape{8}, DType::float16, Device::cpu()));
  const NDArray out = zeros(*engine_, Shape{8}, DType::float16, Device::cpu());
  EXPECT_THAT(error_of([&] {
                cluster.workers[1]->pull("w", Arrays{out}, 0);
                out.wait_to_read();
              }),
              AllOf(HasSubstr("(4,) and type float32"), HasSubstr("(8,) and type float16")));
}

}  // namespace
}  // namespace loomix::kvstore
