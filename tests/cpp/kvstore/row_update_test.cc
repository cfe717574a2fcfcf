// SPDX-License-Identifier: Apache-2.0
//
// Row-sparse keys with an optimizer: servers, which hold them dense, do what the store of one machine does with rows.
#include <cmath>
#include <map>
#include <random>

#include "kvstore/local_store.h"
#include "ndarray/sparse.h"
#include "tests/cpp/kvstore/cluster.h"

namespace loomix::kvstore {
namespace {

using Floats = std::vector<float>;
using Arrays = std::vector<NDArray>;

const OptimizerSpec kMomentum = {"sgd", {{"learning_rate", "0.5"}, {"momentum", "0.5"}, {"wd", "0.125"}}};

OptimizerSpec with(OptimizerSpec spec, const char* setting, const char* value) {
  spec.settings.emplace_back(setting, value);
  return spec;
}

class RowUpdates : public ClusterTest {
 protected:
  static constexpr int64_t kWidth = 16;
  static constexpr int kSteps = 6;
  static int64_t rows_of(const Key& key) { return key == Key{"large"} ? 9000 : 7; }  // the large one is cut
  static Shape shape_of(const Key& key) { return {rows_of(key), kWidth}; }
  static std::vector<Key> keys() { return {Key{"small"}, Key{"large"}}; }

  // Every worker has other rows, now and then none; some rows nobody has.
  NDArray gradient(const Key& key, int rank, int step) {
    std::mt19937_64 random(static_cast<uint64_t>(rows_of(key) * 1000 + step * 10 + rank));
    Floats ids, items;
    for (int64_t row = 0; row < rows_of(key) && (step != 2 || rank == 0); ++row) {
      if (row % 7 == 3 || random() % 3 != 0) continue;
      ids.push_back(static_cast<float>(row));
      for (int64_t i = 0; i < kWidth; ++i) items.push_back(static_cast<float>(random() % 64) / 32 - 1);
    }
    if (ids.empty())
      return NDArray::sparse(*engine_, StorageType::row_sparse, shape_of(key), DType::float32, Device::cpu());
    const auto count = static_cast<int64_t>(ids.size());
    return make_row_sparse(array(items, Shape{count, kWidth}), cast(array(ids), DType::int64), shape_of(key));
  }
  NDArray first(const Key& key) {
    Floats items(static_cast<size_t>(shape_of(key).size()));
    for (size_t i = 0; i < items.size(); ++i) items[i] = static_cast<float>(i % 5) - 2;
    return cast_storage(array(items, shape_of(key)), StorageType::row_sparse);
  }
  Floats all_rows(KVStore& store, const Key& key) {
    Floats ids(static_cast<size_t>(rows_of(key)));
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<float>(i);
    const NDArray out =
        NDArray::sparse(*engine_, StorageType::row_sparse, shape_of(key), DType::float32, Device::cpu());
    store.row_sparse_pull(key, Arrays{out}, Arrays{array(ids)}, 0);
    return values(cast_storage(out, StorageType::dense));
  }
  // What one machine makes of it whose devices have the workers' gradients.
  std::map<Key, Floats> on_one_machine(const OptimizerSpec& spec, int workers) {
    const auto optimizer = make_optimizer(runtime_, spec);
    std::map<Key, OptimizerState> states;
    const auto store = make_local_store(runtime_, "local");
    store->set_updater([&](const Key& key, const NDArray& merged, const NDArray& stored, int priority) {
      optimizer->update(key, stored, merged, stored, states[key], static_cast<int8_t>(priority));
    });
    std::map<Key, Floats> result;
    for (const Key& key : keys()) {
      store->init(key, first(key));
      for (int step = 0; step < kSteps; ++step) {
        Arrays given;
        for (int rank = 0; rank < workers; ++rank) given.push_back(gradient(key, rank, step));
        store->push(key, given, 0);
      }
      result[key] = all_rows(*store, key);
    }
    return result;
  }
  // `between` runs after half of the steps.
  std::map<Key, Floats> on_servers(const OptimizerSpec& spec, const Cluster::Setup& setup,
                                   const std::function<void(Cluster&)>& between = {}) {
    Cluster cluster(runtime_, setup);
    for (auto& store : cluster.workers) {
      store->set_optimizer(spec);
      for (const Key& key : keys()) store->init(key, first(key));
    }
    for (int step = 0; step < kSteps; ++step) {
      if (step == kSteps / 2 && between) between(cluster);
      for (size_t rank = 0; rank < cluster.workers.size(); ++rank) {
        for (const Key& key : keys())
          cluster.workers[rank]->push(key, Arrays{gradient(key, static_cast<int>(rank), step)}, 0);
      }
    }
    std::map<Key, Floats> result;
    for (const Key& key : keys()) result[key] = all_rows(*cluster.workers.back(), key);
    return result;
  }
  static void expect_same(const std::map<Key, Floats>& got, const std::map<Key, Floats>& expected) {
    for (const auto& [key, items] : expected) {
      const Floats& own = got.at(key);
      ASSERT_EQ(own.size(), items.size());
      for (size_t i = 0; i < items.size(); ++i)
        ASSERT_NEAR(own[i], items[i], 1e-5 * (1 + std::fabs(items[i]))) << to_text(key) << ", item " << i;
    }
  }
};

TEST_F(RowUpdates, ServersDoWhatOneMachineDoes) {
  const OptimizerSpec adam = {"adam", {{"learning_rate", "0.5"}, {"wd", "0.1"}}};
  const OptimizerSpec all[] = {
      {"sgd", {{"learning_rate", "0.5"}, {"wd", "0.125"}}},
      kMomentum,
      with(kMomentum, "lazy_update", "False"),
      adam,
      with(adam, "lazy_update", "False"),
      {"ftrl", {{"learning_rate", "0.5"}, {"wd", "0.1"}}},
      {"nag", {{"learning_rate", "0.1"}, {"momentum", "0.5"}, {"wd", "0.1"}}},
      {"rmsprop", {{"learning_rate", "0.1"}, {"wd", "0.1"}}},
  };
  for (const OptimizerSpec& spec : all) {
    SCOPED_TRACE(spec.name + (spec.settings.back().first == "lazy_update" ? ", not lazy" : ""));
    expect_same(on_servers(spec, {.servers = 2, .workers = 3}), on_one_machine(spec, 3));
  }
}

// The rule itself, written out: rows that no worker has stay as they are, and so does their momentum.
TEST_F(RowUpdates, RowsThatNobodyHasStayAsTheyAre) {
  for (const bool lazy : {true, false}) {
    const Key key = "small";
    Floats weight = values(cast_storage(first(key), StorageType::dense));
    Floats momentum(weight.size(), 0.0F);
    for (int step = 0; step < kSteps; ++step) {
      Floats sum(weight.size(), 0.0F);
      std::vector<bool> has(static_cast<size_t>(rows_of(key)), !lazy);
      for (int rank = 0; rank < 2; ++rank) {
        const NDArray grad = gradient(key, rank, step);
        const Floats own = values(cast_storage(grad, StorageType::dense));
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
        for (int64_t row = 0; row < grad.storage().count(); ++row)
          has[static_cast<size_t>(grad.storage().indices()[row])] = true;
      }
      for (size_t i = 0; i < weight.size(); ++i) {
        if (!has[i / kWidth]) continue;
        momentum[i] = 0.5F * momentum[i] - 0.5F * (sum[i] + 0.125F * weight[i]);
        weight[i] += momentum[i];
      }
    }
    const OptimizerSpec spec = with(kMomentum, "lazy_update", lazy ? "True" : "False");
    const Floats got = on_servers(spec, {.servers = 1, .workers = 2, .replicas = 1}).at(key);
    for (size_t i = 0; i < weight.size(); ++i) ASSERT_NEAR(got[i], weight[i], 1e-5) << lazy << ", item " << i;
    const Floats begin = values(cast_storage(first(key), StorageType::dense));
    for (size_t i = 3 * kWidth; i < 4 * kWidth; ++i) EXPECT_EQ(got[i] == begin[i], lazy || begin[i] == 0);
  }
}

TEST_F(RowUpdates, CopiesGoOnFromTheSameStates) {
  const auto all_die = [](Cluster& cluster) {
    for (int rank = 0; rank < 2; ++rank) {
      const auto incarnation = [&] {
        return cluster.scheduler->view().servers[static_cast<size_t>(rank)].id;
      };
      ASSERT_TRUE(cluster.wait_until_whole());
      const comm::NodeId before = incarnation();
      cluster.kill_server(rank);
      cluster.start_server(rank);
      while (incarnation() == before) std::this_thread::sleep_for(1ms);
    }
    ASSERT_TRUE(cluster.wait_until_whole());
  };
  const Cluster::Setup setup = {
      .servers = 2, .workers = 2, .policy = DeadWorker::wait, .deadline = 40s, .dead_after = 5s};
  expect_same(on_servers(kMomentum, setup, all_die), on_one_machine(kMomentum, 2));
}

TEST_F(RowUpdates, EachAsynchronousPushChangesItsRows) {
  const Cluster::Setup setup = {.servers = 2, .workers = 1, .type = "dist_async"};
  expect_same(on_servers(kMomentum, setup), on_one_machine(kMomentum, 1));
}

}  // namespace
}  // namespace loomix::kvstore
