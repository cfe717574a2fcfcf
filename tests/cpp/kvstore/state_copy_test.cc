// SPDX-License-Identifier: Apache-2.0
//
// States that exceed what a message may have: cut to pieces, and on their way through a cluster whose limits are low.
#include <gmock/gmock.h>

#include <filesystem>
#include <random>

#include "kvstore/cluster/state_pieces.h"
#include "tests/cpp/kvstore/cluster.h"
#include "tests/cpp/kvstore/requests.h"

namespace loomix::kvstore {
namespace {

using ::testing::HasSubstr;
using Arrays = std::vector<NDArray>;

std::string bytes_of(size_t item, size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(item * 31 + i);
  return bytes;
}

TEST(StatePieces, EverythingComesOnceAndWithinTheLimits) {
  std::mt19937_64 random(3);
  const auto up_to = [&](size_t most) { return static_cast<size_t>(random() % (most + 1)); };
  for (int round = 0; round < 200; ++round) {
    const PieceLimits limits{1 + up_to(200), 1 + up_to(7)};
    std::vector<comm::Buffer> items;
    for (size_t i = 1 + up_to(50); i > 0; --i)
      items.push_back(comm::Buffer::copy_of(bytes_of(i, up_to(up_to(3) == 0 ? 1000 : 60))));
    std::vector<size_t> sizes;
    for (const comm::Buffer& item : items) sizes.push_back(item.size());

    StateBuilder builder;
    for (const PiecePlan& plan : plan_pieces(sizes, limits)) {
      std::vector<comm::Buffer> parts;
      size_t bytes = 0;
      for (const PiecePlan::Part& part : plan.parts) {
        parts.push_back(items[part.item].slice(part.begin, part.end - part.begin));
        bytes += parts.back().size();
      }
      EXPECT_LE(bytes, limits.bytes);
      EXPECT_LE(parts.size(), limits.parts);
      EXPECT_FALSE(parts.empty());
      builder.add(std::move(parts), plan.goes_on);
    }
    const std::vector<comm::Buffer> built = builder.take();
    ASSERT_EQ(built.size(), items.size());
    for (size_t i = 0; i < built.size(); ++i) EXPECT_EQ(built[i].text(), items[i].text());
  }
}

TEST(StatePieces, WhatIsIncompleteIsRefused) {
  EXPECT_THROW(StateBuilder().take(), NetworkError);
  StateBuilder builder;
  builder.add({comm::Buffer::copy_of("whole"), comm::Buffer::copy_of("begun")}, true);
  EXPECT_THROW(builder.take(), NetworkError);
}

// Keys whose state is many times what a message may have; the shard of one nearly fills it.
class StateCopy : public ClusterTest {
 protected:
  static constexpr int kKeys = 40;
  static constexpr int64_t kCount = 2100;  // too large to travel with others

  static Cluster::Setup setup(int servers = 2, int replicas = 2) {
    Cluster::Setup setup{.servers = servers, .workers = 2, .replicas = replicas, .policy = DeadWorker::wait};
    setup.deadline = 40s;
    setup.dead_after = 5s;  // who is slow must not look dead: the last one that has the state is killed here
    setup.limits.message_bytes = kCount * 4 + 100;
    setup.limits.frames = 4;
    setup.limits.header_bytes = 6000;
    return setup;
  }
  static Key key(int i) { return fmt::format("key{}", i); }

  void begin(Cluster& cluster, int rank) {
    DistStore& store = *cluster.workers[static_cast<size_t>(rank)];
    store.set_optimizer({"sgd", {{"learning_rate", "1"}, {"momentum", "0.5"}}});
    for (int i = 0; i < kKeys; ++i) store.init(key(i), filled(kCount, 0));
  }
  void begin(Cluster& cluster) {
    for (int rank = 0; rank < 2; ++rank) begin(cluster, rank);
  }
  void push(Cluster& cluster) {
    for (int rank = 0; rank < 2; ++rank) {
      for (int i = 0; i < kKeys; ++i) {
        cluster.workers[static_cast<size_t>(rank)]->push(
            key(i), Arrays{filled(kCount, static_cast<float>(i * (rank + 1)))}, 0);
      }
    }
    ++rounds_;
  }
  // What `rounds_` rounds make of weights and momenta; the first twenty are exact.
  void check(Cluster& cluster) {
    double weight = 0, momentum = 0;  // per unit of the key's gradient
    for (int round = 0; round < rounds_; ++round) weight += momentum = 0.5 * momentum - 3;
    for (const auto& store : cluster.workers) {
      for (int i = 0; i < kKeys; ++i) {
        const Arrays out = {filled(kCount, 0)};
        store->pull(key(i), out, 0);
        const auto expected = static_cast<float>(weight * i);
        for (const float value : values(out[0]))
          ASSERT_FLOAT_EQ(value, expected) << i << ", round " << rounds_;
      }
    }
  }
  void round(Cluster& cluster) {
    push(cluster);
    check(cluster);
  }
  static void pause(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }

  int rounds_ = 0;
};

TEST_F(StateCopy, GoesToAServerThatWasStartedAgain) {
  Cluster cluster(runtime_, setup());
  begin(cluster);
  round(cluster);
  round(cluster);
  cluster.kill_server(1);
  cluster.start_server(1);
  round(cluster);  // while it is on its way; and it cannot end before the scheduler knows
  ASSERT_TRUE(cluster.wait_until_whole());
  cluster.kill_server(0);  // now the copies are all there is
  round(cluster);
  cluster.start_server(0);
  round(cluster);
  ASSERT_TRUE(cluster.wait_until_whole());
  round(cluster);
  EXPECT_EQ(cluster.scheduler->standing().failure, "");
}

// The one that has the state does not wait for the other, which cannot be reached at first.
TEST_F(StateCopy, NobodyWaitsForIt) {
  Cluster::Setup patient = setup();
  patient.dead_after = 60s;  // links of the killed break at once
  Cluster cluster(runtime_, patient);
  begin(cluster);
  round(cluster);
  const auto incarnation = [&] { return cluster.scheduler->view().servers[1].id; };
  const comm::NodeId before = incarnation();
  cluster.kill_server(1);
  cluster.network.cut(Cluster::server_address(0), Cluster::server_address(1));
  cluster.start_server(1);
  while (incarnation() == before) pause(1);
  for (int i = 0; i < 3; ++i) round(cluster);
  engine_->wait_all();  // workers have the memory of their gradients back
  EXPECT_FALSE(cluster.whole());
  cluster.network.heal(Cluster::server_address(0), Cluster::server_address(1));
  round(cluster);
  ASSERT_TRUE(cluster.wait_until_whole());
  cluster.kill_server(0);
  round(cluster);
  EXPECT_EQ(cluster.scheduler->standing().failure, "");
}

// Each piece takes so long that all of them take longer than a call may.
TEST_F(StateCopy, MayTakeLongerThanADeadline) {
  Cluster::Setup hasty = setup();
  hasty.deadline = 8s;
  hasty.retry_after = 2s;
  hasty.dead_after = 60s;
  Cluster cluster(runtime_, hasty);
  begin(cluster);
  round(cluster);
  const comm::NodeId before = cluster.scheduler->view().servers[1].id;
  cluster.network.set_faults(Cluster::server_address(0), Cluster::server_address(1),
                             {.delay_least = 200ms, .delay_most = 200ms});
  cluster.kill_server(1);
  cluster.start_server(1);
  while (cluster.scheduler->view().servers[1].id == before) pause(1);
  const auto begun = comm::Clock::now();
  int while_it_came = 0;
  for (; !cluster.whole(); ++while_it_came) {
    round(cluster);
    pause(250);  // or the log has all that it may have
  }
  const std::chrono::duration<double> took = comm::Clock::now() - begun;
  EXPECT_GT(took, hasty.deadline);
  RecordProperty("seconds", std::to_string(took.count()));
  EXPECT_GT(while_it_came, 3);
  cluster.network.set_faults(Cluster::server_address(0), Cluster::server_address(1), {});
  cluster.kill_server(0);
  round(cluster);
  EXPECT_EQ(cluster.scheduler->standing().failure, "");
}

// Acknowledgements of one copy are lost with it, and that is said.
TEST_F(StateCopy, IsTheOnlyOneWhenItsSenderDies) {
  Cluster::Setup patient = setup();
  patient.dead_after = 60s;
  Cluster cluster(runtime_, patient);
  begin(cluster);
  const comm::NodeId before = cluster.scheduler->view().servers[1].id;
  cluster.kill_server(1);
  cluster.network.cut(Cluster::server_address(0), Cluster::server_address(1));
  cluster.start_server(1);
  while (cluster.scheduler->view().servers[1].id == before) pause(1);
  round(cluster);
  cluster.kill_server(0);
  cluster.start_server(0);
  const auto until = comm::Clock::now() + 30s;
  while (cluster.scheduler->standing().failure.empty() && comm::Clock::now() < until) pause(1);
  EXPECT_THAT(cluster.scheduler->standing().failure,
              HasSubstr("no other server has the values of its group"));
}

TEST_F(StateCopy, AWorkerThatWasStartedAgainHearsOfAllShards) {
  Cluster cluster(runtime_, setup());
  begin(cluster);
  round(cluster);
  round(cluster);
  cluster.kill_worker(1);
  cluster.start_worker(1);
  begin(cluster, 1);
  for (int i = 0; i < kKeys; ++i) EXPECT_EQ(cluster.workers[1]->pushes(key(i)), 2);
  round(cluster);
}

// What happens in the middle of it; the network makes it last, loses and repeats.
class DisturbedCopy : public StateCopy, public ::testing::WithParamInterface<int> {
 protected:
  static comm::Faults faults() {
    comm::Faults faults;
    faults.loss = 0.02;
    faults.duplication = 0.1;
    faults.reordering = 0.2;
    faults.delay_most = 1ms;
    return faults;
  }
  void run(int servers, int replicas, const std::function<void(Cluster&, int pause)>& disturb) {
    std::mt19937_64 random(static_cast<uint64_t>(GetParam()));
    Cluster cluster(runtime_, setup(servers, replicas), static_cast<uint64_t>(GetParam()), faults());
    begin(cluster);
    round(cluster);
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(cluster.wait_until_whole());
      cluster.kill_server(1);
      cluster.start_server(1);
      push(cluster);
      pause(static_cast<int>(random() % 40));
      disturb(cluster, static_cast<int>(random() % 20));
      round(cluster);  // which cannot end before the scheduler knows
    }
    ASSERT_TRUE(cluster.wait_until_whole());
    cluster.kill_server(0);
    round(cluster);
    EXPECT_EQ(cluster.scheduler->standing().failure, "");
  }
};

TEST_P(DisturbedCopy, TheReceiverDies) {
  run(2, 2, [](Cluster& cluster, int milliseconds) {
    cluster.kill_server(1);
    pause(milliseconds);
    cluster.start_server(1);
  });
}

// The head sends then what the second place had begun to.
TEST_P(DisturbedCopy, TheSenderDies) {
  run(3, 3, [](Cluster& cluster, int milliseconds) {
    cluster.kill_server(0);
    pause(milliseconds);
    cluster.start_server(0);
  });
}

TEST_P(DisturbedCopy, ThereAreNewViews) {
  run(2, 2, [](Cluster& cluster, int milliseconds) {
    cluster.kill_scheduler();
    pause(milliseconds);
    cluster.start_scheduler();
    cluster.network.cut(Cluster::server_address(0), Cluster::server_address(1));
    pause(milliseconds);
    cluster.network.heal(Cluster::server_address(0), Cluster::server_address(1));
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, DisturbedCopy, ::testing::Range(0, 2));

// Neither pieces nor files on disk have a limit of arrays.
TEST_F(StateCopy, AFileHasAsManyArraysAsThereAre) {
  constexpr int kMany = 6000;
  ShardGroup group(runtime_);
  group.apply(join_of({0, 7}), {});
  for (int i = 0; i < kMany; ++i) {
    const comm::Buffer first = floats({static_cast<float>(i)});
    group.apply(init_of({0, 7}, fmt::format("skey{}", i), DType::float32, Mode::sync, 1), {&first, 1});
  }
  const ShardGroup::Picture picture = group.picture();
  ASSERT_GT(picture.arrays.size(), static_cast<size_t>(kMany));
  for (const NDArray& array : picture.arrays) array.wait_to_read();
  const std::string folder = ::testing::TempDir() + "/loomix_many_arrays";
  std::filesystem::create_directories(folder);
  const SnapshotName name = {.groups = 1, .workers = 1, .group = 0, .round = 1};
  EXPECT_TRUE(write_snapshot(folder, name, picture));
  ShardGroup again(runtime_);
  const GroupCopy read = read_snapshot(folder, name);
  again.load(read.state, read.arrays);
  std::filesystem::remove_all(folder);
  for (int i = 0; i < kMany; i += 599) {
    EXPECT_EQ(values(found(again, pull_of({0, 7}, fmt::format("skey{}", i), 0))),
              std::vector<float>{static_cast<float>(i)});
  }
}

TEST_F(StateCopy, WhatFitsInNoMessageIsNamedAtOnce) {
  Cluster cluster(runtime_, setup(1, 1));
  try {
    cluster.workers[0]->init("wide", filled(kCount + 100, 0));
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_THAT(error.what(), HasSubstr("init of key 'wide'"));
    EXPECT_THAT(error.what(), HasSubstr("at most 8500"));
  }
  OptimizerSpec many{"sgd", {{"learning_rate", "1"}}};
  for (int i = 0; i < 500; ++i) many.settings.emplace_back("lr_mult." + std::to_string(i), "2");
  try {
    cluster.workers[0]->set_optimizer(many);
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_THAT(error.what(), HasSubstr("setting optimizer 'sgd'"));
    EXPECT_THAT(error.what(), HasSubstr("bytes in its head; at most 6000"));
  }
  comm::InprocNetwork network;
  ClusterOptions options;
  options.workers = 5000;
  try {
    const Scheduler scheduler(network.attach("inproc://scheduler"), options);
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_THAT(error.what(), HasSubstr("5000 workers"));
  }
}

}  // namespace
}  // namespace loomix::kvstore
