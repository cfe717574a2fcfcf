// SPDX-License-Identifier: Apache-2.0
#include "kvstore/local_store.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <future>
#include <thread>

#include "engine/trace.h"
#include "ndarray/sparse.h"
#include "symbol/executor/run_node.h"
#include "tests/cpp/kvstore/store_fixture.h"

namespace loomix::kvstore {
namespace {

using ::testing::HasSubstr;
using Floats = std::vector<float>;
using Arrays = std::vector<NDArray>;

const Key kWeight = "weight";

class LocalStoreTest : public StoreTest {
 protected:
  explicit LocalStoreTest(engine::EngineOptions options = {}) : StoreTest(options) {}
  LocalStore store_{runtime_, "device"};
};

TEST_F(LocalStoreTest, KeysOfBothKinds) {
  store_.init(Key{int64_t{3}}, filled(2, 1));
  store_.init(Key{"3"}, filled(2, 2));
  const Arrays outs = {filled(2, 0), filled(2, 0)};
  store_.pull(Key{int64_t{3}}, outs, 0);
  EXPECT_EQ(values(outs[1]), Floats(2, 1));
  store_.push(Key{"3"}, Arrays{filled(2, 5), filled(2, 6)}, 0);
  store_.pull(Key{"3"}, outs, 0);
  EXPECT_EQ(values(outs[0]), Floats(2, 11));
}

TEST_F(LocalStoreTest, TheUpdaterGetsTheSum) {
  store_.init(kWeight, filled(3, 10));
  store_.set_updater([this](const Key& key, const NDArray& merged, const NDArray& stored, int priority) {
    EXPECT_EQ(key, kWeight);
    EXPECT_EQ(priority, -4);
    RunOptions options;
    NDArray to = stored;
    NDArray* const out[] = {&to};
    options.out = out;
    run_node(runtime_, "elemwise_sub", {stored, merged}, {}, options);
  });
  for (int step = 0; step < 3; ++step) store_.push(kWeight, Arrays{filled(3, 1), filled(3, 2)}, -4);
  const Arrays outs = {filled(3, 0)};
  store_.pushpull(kWeight, Arrays{filled(3, 0.5f)}, outs, -4);
  EXPECT_EQ(values(outs[0]), Floats(3, 0.5f));
  store_.set_updater(nullptr);
  store_.push(kWeight, Arrays{filled(3, 1), filled(3, 2)}, -4);
  store_.pull(kWeight, outs, 0);
  EXPECT_EQ(values(outs[0]), Floats(3, 3));
}

TEST_F(LocalStoreTest, PushpullInPlaceAndOverOverlappingViews) {
  store_.init(kWeight, filled(4, 0));
  const Arrays both = {filled(4, 1), filled(4, 2)};
  store_.pushpull(kWeight, both, both, 0);
  EXPECT_EQ(values(both[0]), Floats(4, 3));
  EXPECT_EQ(values(both[1]), Floats(4, 3));
  const NDArray base = array({1, 2, 3, 4, 5});
  store_.pushpull(kWeight, Arrays{base.slice(0, 4)}, Arrays{base.slice(1, 5)}, 0);
  EXPECT_EQ(values(base), (Floats{1, 1, 2, 3, 4}));
}

TEST_F(LocalStoreTest, OutputsOfOtherTypes) {
  store_.init(kWeight, filled(3, 7));
  const Arrays outs = {filled(3, 0), array({0, 0, 0}, {3}, DType::float64)};
  store_.pull(kWeight, outs, 0);
  EXPECT_EQ(values(outs[1]), Floats(3, 7));
  const NDArray sparse =
      NDArray::sparse(*engine_, StorageType::row_sparse, Shape{3}, DType::float32, Device::cpu());
  store_.pull(kWeight, Arrays{sparse}, 0);
  EXPECT_EQ(values(sparse.stored_values()), Floats(3, 7));
}

TEST_F(LocalStoreTest, CompressionHasAResidualForEachDevice) {
  store_.init(kWeight, filled(1, 0));
  store_.set_compression({"2bit", 0.5f});
  const Arrays outs = {filled(1, 0)};
  const auto pushed = [&](const Arrays& arrays) {
    store_.push(kWeight, arrays, 0);
    store_.pull(kWeight, outs, 0);
    return values(outs[0])[0];
  };
  EXPECT_EQ(pushed({filled(1, 0.3f), filled(1, 0.4f)}), 0);
  EXPECT_EQ(pushed({filled(1, 0.3f), filled(1, -0.4f)}), 0.5f);
  EXPECT_EQ(pushed({filled(1, 0.3f), filled(1, -0.5f)}), -0.5f);
  LocalStore local(runtime_, "local");
  EXPECT_THROW(local.set_compression({"2bit", 0.5f}), NotImplementedError);
}

TEST_F(LocalStoreTest, MistakesNameTheKey) {
  store_.init(kWeight, filled(2, 0));
  const auto message = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message([&] { store_.push("bias", Arrays{filled(2, 0)}, 0); }),
              HasSubstr("'bias' has no value"));
  EXPECT_THAT(message([&] { store_.init(kWeight, filled(2, 0)); }),
              HasSubstr("'weight' has a value already"));
  EXPECT_THAT(message([&] { store_.push(kWeight, Arrays{filled(3, 0)}, 0); }),
              HasSubstr("'weight' has shape (2,)"));
  EXPECT_THAT(message([&] { store_.push(kWeight, Arrays{}, 0); }), HasSubstr("no value was pushed"));
  EXPECT_THAT(message([&] { store_.pull(kWeight, Arrays{filled(3, 0)}, 0); }), HasSubstr("out has (3,)"));
  EXPECT_THROW(store_.push(kWeight, Arrays{array({0, 0}, {2}, DType::int32)}, 0), TypeError);
  EXPECT_THROW(make_local_store(runtime_, "shelf"), ValueError);
}

TEST_F(LocalStoreTest, AFailedGradientSpoilsItsKeyOnly) {
  store_.init(kWeight, filled(2, 1));
  store_.init("bias", filled(2, 2));
  const NDArray broken = filled(2, 0);
  engine_->poison(broken.var(), std::make_exception_ptr(ValueError("[test] no gradient.")));
  const Arrays outs = {filled(2, 0)};
  store_.push(kWeight, Arrays{filled(2, 1), broken}, 0);
  store_.pull(kWeight, outs, 0);
  EXPECT_THROW(outs[0].wait_to_read(), ValueError);
  store_.pull("bias", outs, 0);
  EXPECT_EQ(values(outs[0]), Floats(2, 2));
  store_.push(kWeight, Arrays{filled(2, 3)}, 0);
  store_.pull(kWeight, outs, 0);
  EXPECT_EQ(values(outs[0]), Floats(2, 3));
}

struct Event {
  std::string name;
  double begin, end;
};

std::vector<Event> events(engine::Engine& engine) {
  engine.trace().stop();
  std::vector<Event> events;
  const nlohmann::json trace = nlohmann::json::parse(engine.trace().to_json());
  for (const auto& entry : trace["traceEvents"]) {
    if (entry["ph"] != "X") continue;
    events.push_back({entry["name"], entry["ts"], entry["ts"].get<double>() + entry["dur"].get<double>()});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.begin < b.begin; });
  return events;
}

class OneCommunicationThread : public LocalStoreTest {
 protected:
  static engine::EngineOptions options() {
    engine::EngineOptions options;
    options.workers = 2;
    options.io_workers = 1;
    options.inline_cost_ns = 0;
    return options;
  }
  OneCommunicationThread() : LocalStoreTest(options()) {}
};

// Backward computes the last layer's gradient first; each is pushed as soon as it is there, while those before it are
// still computed.
TEST_F(OneCommunicationThread, PushesOverlapBackward) {
  constexpr int kLayers = 5;
  std::vector<Arrays> gradients;
  for (int64_t k = 0; k < kLayers; ++k) {
    store_.init(Key{k}, filled(1000, 0));
    gradients.push_back({filled(1000, 0), filled(1000, 0)});
  }
  engine_->wait_all();
  engine_->trace().start();
  for (int k = kLayers - 1; k >= 0; --k) {
    ArrayTags tags;
    if (k + 1 < kLayers) tags.read(gradients[static_cast<size_t>(k) + 1][0]);
    for (const NDArray& gradient : gradients[static_cast<size_t>(k)]) tags.write(gradient);
    engine::TaskInfo info;
    info.describe.name = [](const void*) { return "backward"; };
    engine_->push(std::move(info), tags.tags(),
                  [](engine::RunContext&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  }
  for (int64_t k = 0; k < kLayers; ++k)
    store_.push(Key{k}, gradients[static_cast<size_t>(k)], static_cast<int>(-k));
  engine_->wait_all();

  std::vector<Event> backward, push;
  for (const Event& event : events(*engine_)) {
    if (event.name == "backward") backward.push_back(event);
    if (event.name == "kvstore_push") push.push_back(event);
  }
  ASSERT_EQ(backward.size(), kLayers);
  ASSERT_EQ(push.size(), kLayers);
  for (size_t i = 0; i < kLayers; ++i) {
    EXPECT_GE(push[i].begin, backward[i].end);
    EXPECT_TRUE(i + 1 == kLayers || push[i].begin < backward[i + 1].end) << i;
  }
}

TEST_F(OneCommunicationThread, LargerPrioritiesGoFirst) {
  std::vector<Key> keys;
  for (int64_t k = 0; k < 100; ++k) keys.emplace_back(k);
  const NDArray ready = filled(4, 1);
  std::vector<int> order;
  engine_->wait_all();
  for (const Key& key : keys) store_.init(key, ready);
  engine_->wait_all();
  std::promise<void> gate;
  engine::TaskInfo info;
  info.lane = engine::Lane::communicate;
  const engine::VarRef var = engine_->new_var();
  engine_->push(std::move(info), std::vector<engine::Tag>{{var.get(), engine::Access::write}},
                [opened = gate.get_future().share()](engine::RunContext&) { opened.wait(); });
  engine_->trace().start();
  const char* const names[] = {"kvstore_push", "kvstore_pull", "kvstore_pushpull"};
  const Arrays out = {filled(4, 0)};
  store_.push(keys[70], Arrays{ready}, -70);
  store_.pull(keys[1], out, -1);
  store_.pushpull(keys[0], Arrays{ready}, Arrays{filled(4, 0)}, 2);
  gate.set_value();
  engine_->wait_all();
  std::vector<std::string> ran;
  for (const Event& event : events(*engine_)) {
    if (std::find(std::begin(names), std::end(names), event.name) != std::end(names))
      ran.push_back(event.name);
  }
  EXPECT_EQ(ran, (std::vector<std::string>{"kvstore_pushpull", "kvstore_pull", "kvstore_push"}));
}

}  // namespace
}  // namespace loomix::kvstore
