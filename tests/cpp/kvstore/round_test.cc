// SPDX-License-Identifier: Apache-2.0
// Rounds of dist_sync at a server: pushes are added while others are still to come.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "kvstore/cluster/push_window.h"
#include "kvstore/combine.h"
#include "tests/cpp/kvstore/cluster.h"
#include "tests/cpp/kvstore/requests.h"

namespace loomix::kvstore {
namespace {

using Floats = std::vector<float>;
using Arrays = std::vector<NDArray>;

constexpr int64_t kWorkers = 6;
constexpr int64_t kItems = 3001;

class Rounds : public StoreTest {
 protected:
  static Sender sender(int64_t worker) { return {worker, 7}; }
  void begin(ShardGroup& group, DType dtype) {
    for (int64_t worker = 0; worker < kWorkers; ++worker) group.apply(join_of(sender(worker)), {});
    comm::Buffer first = comm::Buffer::allocate(static_cast<size_t>(kItems * size_of(dtype)));
    std::memset(first.writable(), 0, first.size());
    group.apply(init_of(sender(0), "sw", dtype, Mode::sync, kWorkers), {&first, 1});
  }
  // A gradient whose sums depend on their order.
  NDArray gradient(int64_t worker, int64_t number, DType dtype) {
    std::mt19937 dice(static_cast<uint32_t>(100 * number + worker));
    std::normal_distribution<float> normal;
    Floats items(static_cast<size_t>(kItems));
    for (float& item : items) item = normal(dice) * std::exp2(static_cast<float>(dice() % 12));
    const NDArray gradient = array(items, Shape{kItems}, dtype);
    gradient.wait_to_read();
    return gradient;
  }
  // The payload counts in `alive_` until nobody holds it.
  void push(ShardGroup& group, int64_t worker, int64_t number, DType dtype) {
    const NDArray array = gradient(worker, number, dtype);
    ++alive_;
    apply_push(group, push_of(sender(worker), "sw", number),
               comm::Buffer::borrow({static_cast<const std::byte*>(array.storage().data()),
                                     static_cast<size_t>(array.bytes())},
                                    [this, array] { --alive_; }));
  }
  std::string bits_of(const NDArray& array) {
    array.wait_to_read();
    return {static_cast<const char*>(array.view().data), static_cast<size_t>(array.bytes())};
  }
  std::string value(const ShardGroup& group, int64_t number) {
    return bits_of(found(group, pull_of(sender(0), "sw", number)));
  }
  // All at once, in the order of ranks.
  std::string sum(std::vector<int64_t> workers, int64_t number, DType dtype) {
    std::sort(workers.begin(), workers.end());
    std::vector<NDArray> all;
    for (const int64_t worker : workers) all.push_back(gradient(worker, number, dtype));
    const NDArray out(runtime_.engine(), Shape{kItems}, dtype, Device::cpu());
    combine(Request(runtime_, "test", Key("w"), 0), all, {&out, 1});
    return bits_of(out);
  }
  static std::vector<int64_t> everybody() {
    std::vector<int64_t> workers(kWorkers);
    std::iota(workers.begin(), workers.end(), 0);
    return workers;
  }

  std::atomic<int> alive_ = 0;
};

TEST_F(Rounds, HaveTheBitsOfOneSumWhoeverComesFirst) {
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::float64}) {
    ShardGroup group(runtime_);
    begin(group, dtype);
    std::mt19937 dice(1);
    for (int64_t number = 1; number <= 8; ++number) {
      std::vector<int64_t> order = everybody();
      std::shuffle(order.begin(), order.end(), dice);
      for (const int64_t worker : order) push(group, worker, number, dtype);
      ASSERT_TRUE(value(group, number) == sum(everybody(), number, dtype)) << name_of(dtype) << number;
    }
    EXPECT_EQ(group.held_bytes(), 0u);
  }
}

TEST_F(Rounds, KeepOnePushWhereRanksComeInOrder) {
  ShardGroup group(runtime_);
  begin(group, DType::float32);
  for (const int64_t worker : everybody()) {
    push(group, worker, 1, DType::float32);
    engine_->wait_all();
    EXPECT_LE(alive_, 1) << worker;
    EXPECT_LE(group.held_bytes(), static_cast<size_t>(kItems) * sizeof(float));
  }
  for (int64_t worker = kWorkers - 1; worker > 0; --worker) push(group, worker, 2, DType::float32);
  EXPECT_EQ(alive_, kWorkers - 1);
  EXPECT_TRUE(group.holds({"sw", 0}, 1, 2));
  push(group, 0, 2, DType::float32);
  engine_->wait_all();
  EXPECT_EQ(alive_, 0);
  EXPECT_FALSE(group.holds({"sw", 0}, 1, 2));
}

TEST_F(Rounds, GoOnInACopyWithTheSameBits) {
  for (const DType dtype : {DType::float32, DType::float16}) {
    ShardGroup group(runtime_);
    begin(group, dtype);
    for (const int64_t worker : {2, 0, 1, 4}) push(group, worker, 1, dtype);
    const GroupCopy state = copy_of(group.picture());
    ShardGroup copy(runtime_);
    copy.load(state.state, state.arrays);
    EXPECT_EQ(copy.held_bytes(), group.held_bytes());
    for (ShardGroup* const one : {&group, &copy}) {
      for (const int64_t worker : {5, 3}) push(*one, worker, 1, dtype);
      EXPECT_TRUE(value(*one, 1) == sum(everybody(), 1, dtype));
    }
  }
}

TEST_F(Rounds, EndWithoutThoseWhoLeave) {
  ShardGroup group(runtime_);
  begin(group, DType::float16);
  for (const int64_t worker : {1, 2, 3, 5}) push(group, worker, 1, DType::float16);
  for (const int64_t worker : {0, 4}) group.apply(leave_of(sender(worker)), {});
  EXPECT_TRUE(value(group, 1) == sum({1, 2, 3, 5}, 1, DType::float16));
  engine_->wait_all();
  EXPECT_EQ(alive_, 0);
  EXPECT_EQ(group.held_bytes(), 0u);
}

// Worker 0 is late. The others may be ahead, but not by more than what the server keeps.
TEST_F(ClusterTest, WhoIsAheadWaitsWhileTooMuchIsKept) {
  constexpr int64_t kCount = 6'000'000;
  constexpr double kMiB = 1 << 20;
  Cluster cluster(runtime_,
                  {.servers = 1, .workers = 3, .replicas = 1, .dead_after = 10s, .retry_after = 10s});
  for (const auto& store : cluster.workers) store->init(Key("w"), filled(kCount, 0));
  const auto sent = [&] {
    double bytes = 0;
    for (const int worker : {1, 2})
      bytes += static_cast<double>(cluster.workers[static_cast<size_t>(worker)]->traffic().sent_bytes);
    return bytes / kMiB;
  };
  const double before = sent();
  for (const int worker : {1, 2}) {
    for (int round = 0; round < 2; ++round)
      cluster.workers[static_cast<size_t>(worker)]->push(
          Key("w"), Arrays{filled(kCount, static_cast<float>(worker))}, 0);
  }
  double now = sent();
  for (int quiet = 0; quiet < 10; ++quiet) {
    std::this_thread::sleep_for(50ms);
    if (sent() != now) quiet = 0;
    now = sent();
  }
  const double windows = 2 * static_cast<double>(push_window(3)) / kMiB;
  EXPECT_GT(now - before, 4);
  EXPECT_LT(now - before, 4 + windows + 8);
  for (int round = 0; round < 2; ++round) cluster.workers[0]->push(Key("w"), Arrays{filled(kCount, 4)}, 0);
  for (const auto& store : cluster.workers) {
    const Arrays out = {filled(kCount, 0)};
    store->pull(Key("w"), out, 0);
    const Floats all = values(out[0]);
    EXPECT_EQ(std::count(all.begin(), all.end(), 7.0f), kCount);
  }
}

}  // namespace
}  // namespace loomix::kvstore
