// SPDX-License-Identifier: Apache-2.0
// Gradients that servers clip by the norm of all keys.
#include "kvstore/norm.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "ndarray/sparse.h"
#include "tests/cpp/kvstore/cluster.h"
#include "tests/cpp/kvstore/requests.h"

namespace loomix::kvstore {
namespace {

using Floats = std::vector<float>;
using Arrays = std::vector<NDArray>;

const OptimizerSpec kRule = {"sgd", {{"learning_rate", "0.1"}, {"momentum", "0.9"}}};
constexpr double kMost = 2;

class Norms : public ClusterTest {
 protected:
  double squares(const NDArray& array) {
    const NDArray sum = sum_of_squares(Request(runtime_, "test", Key("w"), 0), array);
    double value = 0;
    sum.copy_to_host(&value, sizeof value);
    return value;
  }
  static Floats gradient(size_t count, int rank, int step) {
    Floats items(count);
    for (size_t i = 0; i < count; ++i)
      items[i] = std::sin(static_cast<float>(i % 977 + static_cast<size_t>(rank * 31 + step * 7)));
    return items;
  }
};

TEST_F(Norms, SquaresAreAddedInAnOrderOfTheirOwn) {
  for (const int64_t count : {1, 7, 2048, 2049, 1'000'003}) {
    const Floats items = gradient(static_cast<size_t>(count), 0, 0);
    long double expected = 0;
    for (const float item : items) expected += static_cast<long double>(item) * item;
    const double first = squares(array(items));
    EXPECT_NEAR(first, static_cast<double>(expected), 1e-12 * first) << count;
    for (int again = 0; again < 5; ++again) EXPECT_EQ(squares(array(items)), first);
  }
  EXPECT_EQ(squares(array({1, -2, 3}, Shape{3}, DType::float16)), 14);
  EXPECT_EQ(squares(array({1, -2, 3}, Shape{3}, DType::float64)), 14);
  const NDArray rows = cast_storage(array({0, 0, 3, 4, 0, 0, 1, 0}, Shape{4, 2}), StorageType::row_sparse);
  EXPECT_EQ(squares(rows), 26);
}

// ---- one group, by hand -----------------------------------------------------------------------------------------

class LimitedGroup : public Norms {
 protected:
  static constexpr size_t kItems = 3001;
  static constexpr int64_t kWorkers = 3;

  static Sender sender(int64_t worker) { return {worker, 7}; }
  static messages::Request limit(double most, std::vector<int64_t> shards,
                                 std::map<std::string, int64_t> keys) {
    NormLimit said;
    said.most = most;
    said.shards = std::move(shards);
    said.keys = std::move(keys);
    messages::Request request = request_of(sender(0));
    said.write(*request.mutable_norm_limit());
    return request;
  }
  static messages::Request norm(int64_t round, const std::vector<double>& parts) {
    messages::Request request;
    request.mutable_norm()->set_round(round);
    for (const double part : parts) request.mutable_norm()->add_squares(part);
    return request;
  }
  void begin(ShardGroup& group) {
    for (int64_t worker = 0; worker < kWorkers; ++worker) group.apply(join_of(sender(worker)), {});
    const comm::Buffer zeros = floats(Floats(kItems, 0));
    for (const char* key : {"sa", "sb", "sfree"})
      group.apply(init_of(sender(0), key, DType::float32, Mode::sync, kWorkers), {&zeros, 1});
  }
  static Floats gradient_of(int64_t worker, int64_t number, const std::string& key) {
    return gradient(kItems, static_cast<int>(worker + 10 * (key == "sb")), static_cast<int>(number));
  }
  static void push(ShardGroup& group, int64_t worker, int64_t number, const std::string& key) {
    apply_push(group, push_of(sender(worker), key, number), floats(gradient_of(worker, number, key)));
  }
  static bool is_there(const ShardGroup& group, int64_t number, const std::string& key) {
    const messages::Request pull = pull_of(sender(0), key, number);
    return group.find(pull, pull.pull()).has_value();
  }
  NDArray array_at(const ShardGroup& group, int64_t number, const std::string& key) {
    return found(group, pull_of(sender(0), key, number));
  }
  Floats value(const ShardGroup& group, int64_t number, const std::string& key) {
    return values(array_at(group, number, key));
  }
  static Floats sum_of_gradients(int64_t number, const std::string& key) {
    Floats sum(kItems);
    for (int64_t worker = 0; worker < kWorkers; ++worker) {
      const Floats part = gradient_of(worker, number, key);
      for (size_t i = 0; i < kItems; ++i) sum[i] += part[i];
    }
    return sum;
  }
  double sum_of(const ShardGroup& group) {
    const std::vector<NDArray> squares = group.squares_of_next_round(0).value();
    double sum = 0;
    for (const NDArray& square : squares) {
      double one = 0;
      square.copy_to_host(&one, sizeof one);
      sum += one;
    }
    return sum;
  }
  static void load_copy(ShardGroup& copy, const ShardGroup& group) {
    const GroupCopy state = copy_of(group.picture());
    copy.load(state.state, state.arrays);
  }
};

TEST_F(LimitedGroup, ARoundIsOverWhenItsNormIsKnown) {
  ShardGroup group(runtime_);
  begin(group);
  group.apply(limit(kMost, {2, 1}, {{"sa", 1}, {"sb", 1}}), {});
  for (int64_t worker = kWorkers - 1; worker >= 0; --worker) {
    for (const char* key : {"sa", "sb", "sfree"}) {
      EXPECT_EQ(group.squares_of_next_round(0).has_value(), worker == 0 && std::string(key) == "sfree");
      push(group, worker, 1, key);
    }
  }
  EXPECT_TRUE(is_there(group, 1, "sfree"));
  EXPECT_FALSE(is_there(group, 1, "sa"));
  for (int64_t worker = 0; worker < kWorkers; ++worker) push(group, worker, 2, "sa");  // ahead
  const double own = sum_of(group);
  ShardGroup copy(runtime_);  // made while the norm is not known
  load_copy(copy, group);
  EXPECT_EQ(sum_of(copy), own);
  const double scale = kMost / (std::sqrt(own + 100.0) + 1e-8);
  for (ShardGroup* const one : {&group, &copy}) {
    one->apply(norm(2, {own, 100.0}), {});  // of no round that is here
    EXPECT_FALSE(is_there(*one, 1, "sa"));
    EXPECT_THROW(one->apply(norm(1, {own}), {}), NetworkError);
    one->apply(norm(1, {own, 100.0}), {});
    one->apply(norm(1, {own, 1e9}), {});  // once more
    EXPECT_EQ(one->norm_limit().round, 1);
    for (const char* key : {"sa", "sb"}) {
      Floats expected = sum_of_gradients(1, key);
      for (float& item : expected) item *= static_cast<float>(scale);
      EXPECT_EQ(value(*one, 1, key), expected) << key;
    }
    EXPECT_FALSE(is_there(*one, 2, "sa"));
    EXPECT_FALSE(one->squares_of_next_round(0).has_value());  // "sb" is missing
  }
}

TEST_F(LimitedGroup, NothingIsAddedToARoundThatOthersKnow) {
  ShardGroup group(runtime_);
  begin(group);
  group.apply(limit(kMost, {2}, {{"sa", 1}, {"sb", 1}}), {});
  for (int64_t worker = 0; worker < 2; ++worker) {
    for (const char* key : {"sa", "sb"}) push(group, worker, 1, key);
  }
  group.apply(leave_of(sender(2)), {});
  const double own = sum_of(group);
  const Sender back = {2, 8};
  group.apply(join_of(back), {});
  const messages::Request late = push_of(back, "sa", 1);
  const comm::Buffer bytes = floats(gradient_of(2, 1, "sa"));
  EXPECT_EQ(group.check(late, {&bytes, 1}).verdict, ShardGroup::Verdict::again);
  ShardGroup copy(runtime_);
  load_copy(copy, group);
  for (ShardGroup* const one : {&group, &copy}) {
    EXPECT_EQ(sum_of(*one), own);
    one->apply(norm(1, {own}), {});
    ASSERT_TRUE(is_there(*one, 1, "sa"));
    EXPECT_NEAR(std::sqrt(squares(array_at(*one, 1, "sa")) + squares(array_at(*one, 1, "sb"))), kMost, 1e-5);
  }
}

TEST_F(LimitedGroup, ALimitIsSetOnceAndBeforePushes) {
  ShardGroup group(runtime_);
  begin(group);
  const messages::Request first = limit(kMost, {2}, {{"sa", 1}, {"sb", 1}});
  EXPECT_EQ(group.check(first, {}).verdict, ShardGroup::Verdict::apply);
  group.apply(first, {});
  EXPECT_EQ(group.check(first, {}).verdict, ShardGroup::Verdict::again);
  for (const messages::Request& other :
       {limit(3, {2}, {{"sa", 1}, {"sb", 1}}), limit(kMost, {1}, {{"sa", 1}})}) {
    const ShardGroup::Check check = group.check(other, {});
    EXPECT_EQ(check.verdict, ShardGroup::Verdict::refuse);
    EXPECT_NE(check.reason.find("is limited to 2 already"), std::string::npos) << check.reason;
  }
  ShardGroup later(runtime_);
  begin(later);
  push(later, 1, 1, "sb");
  const ShardGroup::Check check = later.check(first, {});
  EXPECT_EQ(check.verdict, ShardGroup::Verdict::refuse);
  EXPECT_NE(check.reason.find("key 'b' has been pushed to"), std::string::npos) << check.reason;
  for (const messages::Request& wrong :
       {limit(kMost, {3}, {{"sa", 1}}), limit(kMost, {}, {}), limit(-1, {1}, {{"sa", 1}}),
        limit(std::numeric_limits<double>::quiet_NaN(), {1}, {{"sa", 1}}), limit(kMost, {0}, {{"sa", 0}})})
    EXPECT_THROW(later.check(wrong, {}), NetworkError);
}

TEST_F(LimitedGroup, ANormThatIsNoNumberClipsNothing) {
  ShardGroup group(runtime_);
  begin(group);
  group.apply(limit(kMost, {1}, {{"sa", 1}}), {});
  for (int64_t worker = 0; worker < kWorkers; ++worker) push(group, worker, 1, "sa");
  group.apply(norm(1, {std::numeric_limits<double>::infinity()}), {});
  EXPECT_EQ(value(group, 1, "sa"), sum_of_gradients(1, "sa"));
}

// ---- clusters ---------------------------------------------------------------------------------------------------

// Keys in both groups, one of them cut.
const std::vector<std::pair<Key, size_t>> kKeys = {
    {Key("w"), 100'000}, {Key("b"), 5}, {Key("c"), 7}, {Key(3), 11}};

class NormCluster : public Norms {
 protected:
  struct Reference {
    NDArray weight;
    OptimizerState state;
  };
  // What one process makes of the sums.
  void begin() {
    optimizer_ = make_optimizer(runtime_, kRule);
    for (const auto& [key, count] : kKeys) expected_[key] = {filled(static_cast<int64_t>(count), 1), {}};
  }
  void step_alone(int workers, int step) {
    std::map<Key, Floats> sums;
    double all = 0;
    for (const auto& [key, count] : kKeys) {
      Floats& sum = sums[key];
      sum.resize(count);
      for (int rank = 0; rank < workers; ++rank) {
        const Floats part = gradient(count, rank, step);
        for (size_t i = 0; i < count; ++i) sum[i] += part[i];
      }
      for (const float item : sum) all += static_cast<double>(item) * item;
    }
    const double scale = std::min(1.0, kMost / (std::sqrt(all) + 1e-8));
    for (auto& [key, sum] : sums) {
      for (float& item : sum) item *= static_cast<float>(scale);
      Reference& one = expected_[key];
      optimizer_->update(key, one.weight, array(sum), one.weight, one.state, 0);
    }
  }
  void run(Cluster& cluster, int steps, const std::function<void(int)>& before_step) {
    begin();
    for (const auto& store : cluster.workers) {
      store->set_optimizer(kRule);
      for (const auto& [key, count] : kKeys) store->init(key, filled(static_cast<int64_t>(count), 1));
    }
    std::vector<Key> keys;
    for (const auto& [key, count] : kKeys) keys.push_back(key);
    for (const auto& store : cluster.workers) store->limit_norm(kMost, keys);
    for (int step = 1; step <= steps; ++step) {
      before_step(step);
      for (size_t rank = 0; rank < cluster.workers.size(); ++rank) {
        for (const auto& [key, count] : kKeys)
          cluster.workers[rank]->push(key, Arrays{array(gradient(count, static_cast<int>(rank), step))}, 0);
      }
      step_alone(static_cast<int>(cluster.workers.size()), step);
      for (const auto& store : cluster.workers) {
        for (const auto& [key, count] : kKeys) {
          const Arrays out = {filled(static_cast<int64_t>(count), 0)};
          store->pull(key, out, 0);
          ASSERT_EQ(values(out[0]), values(expected_[key].weight))
              << "step " << step << ", key " << to_text(key);
        }
      }
    }
  }

  std::shared_ptr<const Optimizer> optimizer_;
  std::map<Key, Reference> expected_;
};

TEST_F(NormCluster, ClipsAsOneProcessDoes) {
  for (const int servers : {1, 2, 3}) {
    Cluster cluster(runtime_, {.servers = servers, .workers = 3});
    run(cluster, 5, [](int) {});
  }
}

TEST_F(NormCluster, SurvivesServers) {
  Cluster cluster(runtime_, {.servers = 3, .workers = 2});
  run(cluster, 12, [&](int step) {
    if (step % 3 == 0) {
      cluster.kill_server(step / 3 % 3);
      cluster.start_server(step / 3 % 3);
    } else if (step % 3 == 2) {
      ASSERT_TRUE(cluster.wait_until_whole()) << step;
    }
  });
}

// The head that had found the sum of its group dies when the other group's pushes are still to come.
TEST_F(NormCluster, AServerMayDieWhileOthersWaitForIt) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 2});
  run(cluster, 6, [&](int step) {
    if (step == 3) cluster.kill_server(0);
    if (step == 4) cluster.start_server(0);
    if (step == 5) {
      ASSERT_TRUE(cluster.wait_until_whole());
      cluster.kill_server(1);
    }
  });
}

TEST_F(NormCluster, MistakesAreNamed) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 1});
  DistStore& store = *cluster.workers[0];
  store.init(Key("w"), filled(3, 0));
  const std::vector<Key> known = {Key("w")}, unknown = {Key("w"), Key("x")};
  EXPECT_THROW(store.limit_norm(0, known), ValueError);
  EXPECT_THROW(store.limit_norm(std::nan(""), known), ValueError);
  EXPECT_THROW(store.limit_norm(1, {}), ValueError);
  EXPECT_THROW(store.limit_norm(1, unknown), KeyError);
  store.limit_norm(1, known);
  EXPECT_THROW(store.limit_norm(2, known), NetworkError);
  Cluster other(runtime_, {.servers = 1, .workers = 1, .type = "dist_async"});
  other.workers[0]->init(Key("w"), filled(3, 0));
  EXPECT_THROW(other.workers[0]->limit_norm(1, known), ValueError);
}

}  // namespace
}  // namespace loomix::kvstore
