// SPDX-License-Identifier: Apache-2.0
//
// What is read, by workers and by those who write snapshots, while a chain cannot commit.
#include <filesystem>

#include "tests/cpp/kvstore/cluster.h"

namespace loomix::kvstore {
namespace {

namespace fs = std::filesystem;

class Reads : public ClusterTest {
 protected:
  static constexpr auto kAWhile = 300ms;                // in which a message would have come
  static constexpr int64_t kCounts[] = {10, 20, 3000};  // the first two travel together, the last alone

  void TearDown() override { fs::remove_all(folder_); }
  static void cut(Cluster& cluster) {
    cluster.network.cut(Cluster::server_address(0), Cluster::server_address(1));
  }
  static void heal(Cluster& cluster) {
    cluster.network.heal(Cluster::server_address(0), Cluster::server_address(1));
  }
  void init(DistStore& store) {
    for (int64_t key = 0; key < 3; ++key) store.init(key, filled(kCounts[key], 0));
  }
  void push_all(DistStore& store, float value) {
    for (int64_t key = 0; key < 3; ++key) store.push(key, std::vector{filled(kCounts[key], value)}, 0);
  }
  std::vector<NDArray> pull_all(DistStore& store) {
    std::vector<NDArray> outs;
    for (int64_t key = 0; key < 3; ++key) {
      outs.push_back(filled(kCounts[key], -1));
      store.pull(key, {&outs.back(), 1}, 0);
    }
    return outs;
  }
  int files() const {
    int count = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
      count += entry.path().extension() == ".snapshot";
    return count;
  }

  const std::string folder_ =
      (fs::path(::testing::TempDir()) / ("reads-" + std::to_string(::getpid()))).string();
};

// A value has two buffers: rounds that come while a pull waits for its own to be committed must not show in its answer.
TEST_F(Reads, GiveTheRoundThatWasAskedFor) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 1, .dead_after = 10s});
  DistStore& store = *cluster.workers[0];
  init(store);
  push_all(store, 100);
  for (const NDArray& out : pull_all(store)) EXPECT_EQ(values(out)[0], 100);
  cut(cluster);
  std::vector<std::vector<NDArray>> rounds;
  for (int round = 1; round <= 4; ++round) {
    push_all(store, static_cast<float>(round));
    rounds.push_back(pull_all(store));
    std::this_thread::sleep_for(kAWhile / 4);
  }
  std::this_thread::sleep_for(kAWhile);
  heal(cluster);
  for (size_t round = 0; round < rounds.size(); ++round) {
    for (const NDArray& out : rounds[round]) {
      const std::vector<float> got = values(out);
      EXPECT_EQ(got, std::vector<float>(got.size(), static_cast<float>(round + 1)));
    }
  }
}

TEST_F(Reads, SnapshotsHaveWhatIsCommitted) {
  fs::create_directories(folder_);
  Cluster cluster(
      runtime_,
      {.servers = 2, .workers = 1, .dead_after = 10s, .snapshots = {.folder = folder_, .every = 2}});
  DistStore& store = *cluster.workers[0];
  init(store);
  push_all(store, 1);
  engine_->wait_all();
  cut(cluster);
  push_all(store, 2);
  std::this_thread::sleep_for(kAWhile);
  EXPECT_EQ(files(), 0);
  heal(cluster);
  const auto until = comm::Clock::now() + 10s;
  while (files() < 2 && comm::Clock::now() < until) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(files(), 2);
  engine_->wait_all();  // nobody writes any more
}

}  // namespace
}  // namespace loomix::kvstore
