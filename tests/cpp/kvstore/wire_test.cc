// SPDX-License-Identifier: Apache-2.0
//
// What travels between machines: fewer bytes, the same sums. And what servers say to wrong messages.
#include <gmock/gmock.h>

#include "ndarray/sparse.h"
#include "tests/cpp/kvstore/cluster.h"

namespace loomix::kvstore {
namespace {

using ::testing::HasSubstr;
using Arrays = std::vector<NDArray>;
using Floats = std::vector<float>;

constexpr int64_t kLarge = 200'000;  // cut over the servers
const Key kKey = "weight";

class Wire : public ClusterTest {
 protected:
  DistStore& worker(Cluster& cluster, int rank) { return *cluster.workers[static_cast<size_t>(rank)]; }

  // Bytes that worker 0 sends for one push of all workers; `out` gets the value.
  uint64_t bytes_of_push(Cluster& cluster, const Arrays& devices, const NDArray& out) {
    const uint64_t before = worker(cluster, 0).traffic().sent_bytes;
    for (const auto& store : cluster.workers) store->push(kKey, devices, 0);
    worker(cluster, 0).pull(kKey, {&out, 1}, 0);
    out.wait_to_read();
    return worker(cluster, 0).traffic().sent_bytes - before;
  }

  NDArray rows(const std::vector<int64_t>& ids, float value, const Shape& shape) {
    const auto count = static_cast<int64_t>(ids.size());
    NDArray array(*engine_, Shape{count}, DType::int64, Device::cpu());
    array.copy_from_host(ids.data(), array.bytes());
    NDArray values =
        this->array(Floats(static_cast<size_t>(count * shape[1]), value), Shape{count, shape[1]});
    return make_row_sparse(values, array, shape);
  }
};

TEST_F(Wire, OnlyTheSumOfTheDevicesLeavesTheMachine) {
  Cluster cluster(runtime_, {.servers = 2, .workers = 1, .retry_after = 20s});
  worker(cluster, 0).init(kKey, filled(kLarge, 0));
  const NDArray gradient = filled(kLarge, 1);
  const NDArray out = filled(kLarge, 0);
  const uint64_t one = bytes_of_push(cluster, {gradient}, out);
  const uint64_t four = bytes_of_push(cluster, {gradient, gradient, gradient, gradient}, out);
  EXPECT_EQ(one, kLarge * sizeof(float));
  EXPECT_EQ(four, one);  // a quarter of what four workers would send
  EXPECT_EQ(values(out), Floats(kLarge, 4));
}

TEST_F(Wire, CompressedGradientsAreSmallAndNothingIsLostForGood) {
  const NDArray gradient = filled(kLarge, 0.375f);
  for (const auto& [type, bytes] : std::vector<std::pair<std::string, uint64_t>>{
           {"fp16", kLarge * 2}, {"2bit", kLarge / 4}, {"topk", kLarge / 100 * 8}}) {
    Cluster cluster(runtime_, {.servers = 2, .workers = 2, .retry_after = 20s});
    CompressionParams params{type};
    on_workers(cluster, [&](int rank) {
      DistStore& store = worker(cluster, rank);
      store.set_compression(params);
      store.init(kKey, filled(kLarge, 0));
      store.barrier();
    });
    const NDArray out = filled(kLarge, 0);
    EXPECT_EQ(bytes_of_push(cluster, {gradient}, out), bytes) << type;
    const Floats first = values(out);
    bytes_of_push(cluster, {gradient}, out);
    const Floats second = values(out);
    if (type == "fp16") {
      EXPECT_EQ(first, Floats(kLarge, 0.75f));
    } else if (type == "2bit") {  // 0.375 is kept, 0.75 gives 0.5
      EXPECT_EQ(first, Floats(kLarge, 0));
      EXPECT_EQ(second, Floats(kLarge, 1));
    } else {
      const auto sent = [](const Floats& all, float value) {
        return std::count(all.begin(), all.end(), value);
      };
      EXPECT_EQ(sent(first, 0.75f), kLarge / 100);
      EXPECT_EQ(sent(second, 1.5f), kLarge / 100);  // what was kept is larger, so it goes first
      bool both = false;
      for (size_t i = 0; i < first.size(); ++i) both |= first[i] != 0 && second[i] != 0;
      EXPECT_FALSE(both);
    }
  }
}

// Chains pass on what came, so a server that died with compressed pushes of an open round is no loss.
TEST_F(Wire, CompressedPushesSurviveAServer) {
  for (const std::string type : {"fp16", "2bit", "topk"}) {
    Cluster cluster(runtime_, {.servers = 2, .workers = 2});
    CompressionParams params{type};
    params.ratio = 1;
    for (const auto& store : cluster.workers) {
      store->set_compression(params);
      store->init(kKey, filled(kLarge, 0));
    }
    worker(cluster, 0).push(kKey, Arrays{filled(kLarge, 0.5f)}, 0);
    while (worker(cluster, 0).traffic().sent_bytes < static_cast<uint64_t>(kLarge) / 4)
      std::this_thread::sleep_for(1ms);
    const auto life = [&] { return cluster.scheduler->view().servers[0].id.incarnation; };
    const uint64_t before = life();
    cluster.kill_server(0);
    cluster.start_server(0);
    while (life() == before) std::this_thread::sleep_for(1ms);
    ASSERT_TRUE(cluster.wait_until_whole());
    cluster.kill_server(1);
    worker(cluster, 1).push(kKey, Arrays{filled(kLarge, 0.5f)}, 0);
    const Arrays out = {filled(kLarge, 0)};
    worker(cluster, 1).pull(kKey, out, 0);
    EXPECT_EQ(values(out[0]), Floats(kLarge, 1)) << type;
  }
}

TEST_F(Wire, RowsTravelAlone) {
  const Shape shape{3000, 40};
  Cluster cluster(runtime_, {.servers = 3, .workers = 2, .retry_after = 20s});
  const NDArray first_value = array(Floats(3000 * 40, 1), shape);
  for (const auto& store : cluster.workers) {
    store->set_optimizer({"sgd", {{"learning_rate", "1"}}});
    store->init(kKey, cast_storage(first_value, StorageType::row_sparse));
    EXPECT_EQ(store->stype(kKey), StorageType::row_sparse);
  }
  const uint64_t before = worker(cluster, 0).traffic().sent_bytes;
  worker(cluster, 0).push(kKey, Arrays{rows({0, 1500, 2999}, -1, shape)}, 0);
  engine_->wait_all();
  EXPECT_EQ(worker(cluster, 0).traffic().sent_bytes - before, 3 * (sizeof(int64_t) + 40 * sizeof(float)));
  worker(cluster, 1).push(kKey, Arrays{rows({7, 1500}, -2, shape)}, 0);

  const Arrays out = {
      NDArray::sparse(*engine_, StorageType::row_sparse, shape, DType::float32, Device::cpu())};
  const Arrays ids = {array({2999, 1500, 8, 1500, 7})};
  worker(cluster, 1).row_sparse_pull(kKey, out, ids, 0);
  const NDArray dense = cast_storage(out[0], StorageType::dense);
  const Floats all = values(dense);
  EXPECT_EQ(out[0].storage().count(), 4);
  const auto row = [&](size_t id) {
    return Floats(all.begin() + static_cast<int64_t>(id) * 40,
                  all.begin() + static_cast<int64_t>(id + 1) * 40);
  };
  EXPECT_EQ(row(2999), Floats(40, 2));
  EXPECT_EQ(row(1500), Floats(40, 4));
  EXPECT_EQ(row(7), Floats(40, 3));
  EXPECT_EQ(row(8), Floats(40, 1));
  EXPECT_EQ(row(0), Floats(40, 0));  // was not asked for

  worker(cluster, 0).row_sparse_pull(kKey, out, Arrays{array({3000})}, 0);
  EXPECT_THROW(out[0].wait_to_read(), IndexError);
}

// ---- mistakes ------------------------------------------------------------------------------------------------------

template <class F>
std::string error_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(Wire, AFirstValueOfAnotherShapeOrTypeIsRefused) {
  Cluster cluster(runtime_, {.servers = 1, .workers = 2, .policy = DeadWorker::wait, .deadline = 20s});
  worker(cluster, 0).init(kKey, filled(3, 0));
  // Worker 0 was started again with another network.
  for (const NDArray& other : {filled(4, 0), cast(filled(3, 0), DType::float64)}) {
    cluster.kill_worker(0);
    cluster.start_worker(0);
    const std::string error = error_of([&] { worker(cluster, 0).init(kKey, other); });
    EXPECT_THAT(error, HasSubstr("'weight'"));
    EXPECT_THAT(error, HasSubstr("worker 0"));
    EXPECT_THAT(error, HasSubstr("inproc://server0"));
    EXPECT_THAT(error, HasSubstr("3 elements of float32"));
  }
}

TEST_F(Wire, AWorkerWithAnotherShapeIsRefusedAtItsPush) {
  Cluster cluster(runtime_, {.servers = 1, .workers = 2, .deadline = 20s});
  worker(cluster, 0).init(kKey, filled(3, 0));
  worker(cluster, 1).init(kKey, filled(4, 0));
  const NDArray gradient = filled(4, 0);
  worker(cluster, 1).push(kKey, Arrays{gradient}, 0);
  const std::string error = error_of([&] { engine_->wait_all(); });
  EXPECT_THAT(error, HasSubstr("push of key 'weight' by worker 1"));
  EXPECT_THAT(error, HasSubstr("inproc://server0"));
  EXPECT_THAT(error, HasSubstr("(3,) and type float32 at worker 0"));
  EXPECT_THAT(error, HasSubstr("(4,) and type float32 at worker 1"));
}

TEST_F(Wire, BeforeTheFirstValueErrorsNameWhatIsMissing) {
  Cluster cluster(runtime_, {.servers = 1, .workers = 2, .deadline = 1s, .late_deadline = 2s});
  EXPECT_THAT(error_of([&] { worker(cluster, 1).push(kKey, Arrays{filled(3, 0)}, 0); }),
              HasSubstr("key 'weight' has no value at worker 1; call init first"));
  worker(cluster, 1).init(kKey, filled(3, 0));  // but worker 0 never does
  const NDArray out = filled(3, 0);
  worker(cluster, 1).pull(kKey, {&out, 1}, 0);
  const std::string error = error_of([&] { out.wait_to_read(); });
  EXPECT_THAT(error, HasSubstr("pull of key 'weight' by worker 1"));
  EXPECT_THAT(error, HasSubstr("server 0"));
  EXPECT_THAT(error, HasSubstr("worker 0, which has not given key 'weight' its first value"));
}

TEST_F(Wire, ARankOutOfRangeIsNamed) {
  comm::InprocNetwork network;
  ClusterOptions options;
  const Scheduler scheduler(network.attach("inproc://scheduler"), options);
  NodeOptions node;
  node.rank = 5;
  node.scheduler = "inproc://scheduler";
  node.deadline = 20s;
  const std::string error =
      error_of([&] { DistStore(runtime_, "dist_sync", 0, network.attach("inproc://worker5"), node); });
  EXPECT_THAT(error, HasSubstr("worker 5"));
  EXPECT_THAT(error, HasSubstr("inproc://scheduler"));
  EXPECT_THAT(error, HasSubstr("none of 1 servers and 1 workers"));
}

}  // namespace
}  // namespace loomix::kvstore
