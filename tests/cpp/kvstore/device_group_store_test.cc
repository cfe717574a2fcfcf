// SPDX-License-Identifier: Apache-2.0
#include "kvstore/device_group_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/error.h"
#include "engine/device/null_device.h"
#include "kvstore/group_store.h"
#include "tests/cpp/kvstore/store_fixture.h"

namespace loomix::kvstore {
namespace {

using Arrays = std::vector<NDArray>;
using Floats = std::vector<float>;

const comm::GroupOptions kPatient{std::chrono::seconds(20), std::chrono::seconds(20)};

// What NCCL does to streams, with queues of null devices: the call returns, the work runs later, and what is cut off by the deadline
// looks finished to the device.
class QueuedGroup final : public comm::DeviceGroup {
 public:
  explicit QueuedGroup(std::unique_ptr<comm::ProcessGroup> group) : group_(std::move(group)) {}
  std::string kind() const override { return "queued"; }
  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  void all_reduce(const void* in, void* out, size_t count, DType dtype, comm::Reduction reduction,
                  void* stream) override {
    ASSERT_NE(stream, nullptr);
    static_cast<engine::NullQueue*>(stream)->enqueue([=, this] {
      try {
        comm::wait_for_call([&](comm::ProcessGroup::Done done) {
          group_->all_reduce(in, out, count, dtype, reduction, std::move(done));
        });
      } catch (const NetworkError&) {
        cut_off_ = true;
      }
    });
  }
  void broadcast(void*, size_t, int, void*) override { FAIL(); }
  void all_gather(const void*, void*, size_t, void*) override { FAIL(); }
  void reduce_scatter(const void*, void*, size_t, DType, comm::Reduction, void*) override { FAIL(); }
  void send(const void*, size_t, int, void*) override { FAIL(); }
  void receive(void*, size_t, int, void*) override { FAIL(); }
  void barrier(void*) override { FAIL(); }
  void verify() const override {
    LOOMIX_CHECK(!cut_off_, NetworkError, "[comm] rank {} waited in all_reduce.", rank());
  }

 private:
  const std::unique_ptr<comm::ProcessGroup> group_;
  std::atomic<bool> cut_off_{false};
};

DeviceGroups queued(std::vector<std::unique_ptr<comm::ProcessGroup>> groups) {
  DeviceGroups made;
  for (auto& group : groups) made.push_back(std::make_unique<QueuedGroup>(std::move(group)));
  return made;
}

class DeviceGroupStoreTest : public StoreTest {
 protected:
  ~DeviceGroupStoreTest() override { engine_->wait_all(); }  // what connects reads this test's members
  std::unique_ptr<DeviceGroupStore> make_store() {
    return std::make_unique<DeviceGroupStore>(
        runtime_, "nccl", nullptr, [this](comm::ProcessGroup* hosts, std::span<const Device> devices) {
          EXPECT_EQ(hosts, nullptr);
          ++connected_;
          return queued(comm::make_inproc_groups(static_cast<int>(devices.size()), kPatient));
        });
  }
  NDArray on(int16_t device, int64_t count, float value) {
    return copy_to(filled(count, value), Device::null(device));
  }
  Floats host_values(const NDArray& array) { return values(copy_to(array, Device::cpu())); }

  std::atomic<int> connected_{0};
};

TEST_F(DeviceGroupStoreTest, DevicesAddUpAndEachKeepsTheSum) {
  constexpr int64_t kCount = 3001;
  const auto store = make_store();
  EXPECT_EQ(store->num_workers(), 1);
  for (const char* key : {"a", "b"}) store->init(key, filled(kCount, 5));
  const Arrays before = {on(2, kCount, 0), filled(kCount, 0)};
  store->pull("a", before, 0);
  EXPECT_EQ(host_values(before[0]), Floats(kCount, 5));
  EXPECT_EQ(host_values(before[1]), Floats(kCount, 5));
  for (int round = 1; round <= 20; ++round) {
    const auto times = static_cast<float>(round);
    for (const char* key : {"a", "b"}) {
      const float own = key[0] == 'a' ? 1.F : 100.F;
      store->push(key, Arrays{on(0, kCount, own), on(1, kCount, own * times), on(2, kCount, own)}, -round);
      const Arrays outs = {on(1, kCount, 0), on(2, kCount, 0), filled(kCount, 0)};
      store->pull(key, outs, -round);
      for (const NDArray& out : outs) EXPECT_EQ(host_values(out), Floats(kCount, own * (2 + times)));
    }
  }
  EXPECT_EQ(connected_, 1);
  store->barrier();
}

TEST_F(DeviceGroupStoreTest, AnUpdaterChangesTheValueOfTheFirstDevice) {
  const auto store = make_store();
  store->init(3, filled(10, 1));
  int calls = 0;
  store->set_updater([&](const Key& key, const NDArray& sum, const NDArray& stored, int priority) {
    ++calls;
    EXPECT_EQ(to_text(key), "3");
    EXPECT_EQ(priority, -7);
    EXPECT_EQ(sum.device(), Device::null(0));
    EXPECT_EQ(stored.device(), Device::null(0));
    EXPECT_EQ(host_values(stored), Floats(10, calls == 1 ? 1 : 5));
    copy(sum, stored);
  });
  for (int round = 0; round < 2; ++round) {
    store->push(3, Arrays{on(0, 10, 2), on(1, 10, 3)}, -7);
    const Arrays outs = {on(0, 10, 0), on(1, 10, 0)};
    store->pull(3, outs, 0);
    for (const NDArray& out : outs) EXPECT_EQ(host_values(out), Floats(10, 5));
  }
  EXPECT_EQ(calls, 2);
  store->set_updater(nullptr);
  store->pushpull(3, Arrays{on(0, 10, 1), on(1, 10, 1)}, Arrays{on(1, 10, 0)}, 0);
  const Arrays out = {on(1, 10, 0)};
  store->pull(3, out, 0);
  EXPECT_EQ(host_values(out[0]), Floats(10, 2));
}

TEST_F(DeviceGroupStoreTest, AFailedGradientSpoilsItsKeyAlone) {
  const auto store = make_store();
  for (int key : {0, 1}) store->init(key, filled(4, 0));
  const NDArray bad = on(1, 4, 1);
  engine_->poison(bad.var(), std::make_exception_ptr(ValueError("[test] no gradient.")));
  store->push(0, Arrays{on(0, 4, 1), bad}, 0);
  store->push(1, Arrays{on(0, 4, 1), on(1, 4, 1)}, 0);
  const Arrays outs = {filled(4, 0), filled(4, 0)};
  store->pull(0, {outs.data(), 1}, 0);
  store->pull(1, {outs.data() + 1, 1}, 0);
  EXPECT_THROW(outs[0].wait_to_read(), ValueError);
  EXPECT_EQ(values(outs[1]), Floats(4, 2));
  store->push(0, Arrays{on(0, 4, 1), on(1, 4, 1)}, 0);
  store->pull(0, {outs.data(), 1}, 0);
  EXPECT_EQ(values(outs[0]), Floats(4, 2));
}

TEST_F(DeviceGroupStoreTest, WhatWasCutOffIsNoValue) {
  // A ring of three of which only two ever call.
  auto groups = comm::make_inproc_groups(3, {std::chrono::milliseconds(200), std::chrono::milliseconds(200)});
  groups.pop_back();
  DeviceGroupStore store(runtime_, "nccl", nullptr, [&](comm::ProcessGroup*, std::span<const Device>) {
    return queued(std::move(groups));
  });
  store.init("w", filled(4, 1));
  store.push("w", Arrays{on(0, 4, 1), on(1, 4, 1)}, 0);
  const Arrays out = {on(1, 4, 0)};
  store.pull("w", out, 0);
  EXPECT_THROW(out[0].wait_to_read(), NetworkError);
}

TEST_F(DeviceGroupStoreTest, DevicesThatDoNotConnectAreAnError) {
  DeviceGroupStore store(runtime_, "nccl", nullptr,
                         [](comm::ProcessGroup*, std::span<const Device>) -> DeviceGroups {
                           throw NetworkError("[comm] other ranks did not come.");
                         });
  store.init("w", filled(4, 1));
  store.push("w", Arrays{on(0, 4, 1)}, 0);
  const Arrays out = {filled(4, 0)};
  store.pull("w", out, 0);
  EXPECT_THROW(out[0].wait_to_read(), NetworkError);
}

TEST_F(DeviceGroupStoreTest, MistakesAreNamed) {
  const auto store = make_store();
  store->init("w", filled(4, 1));
  EXPECT_THROW(store->init("w", filled(4, 1)), ValueError);
  EXPECT_THROW(store->push("v", Arrays{on(0, 4, 0)}, 0), KeyError);
  EXPECT_THROW(store->push("w", Arrays{on(0, 5, 0)}, 0), ShapeError);
  EXPECT_THROW(store->push("w", Arrays{filled(4, 0)}, 0), ValueError) << "a host";
  EXPECT_THROW(store->push("w", Arrays{on(0, 4, 0), on(0, 4, 0)}, 0), ValueError) << "a device twice";
  EXPECT_THROW(store->pull("w", Arrays{on(0, 5, 0)}, 0), ShapeError);
  EXPECT_THROW(store->set_compression({}), NotImplementedError);
  EXPECT_THROW(store->row_sparse_pull("w", {}, {}, 0), NotImplementedError);
  store->push("w", Arrays{on(0, 4, 0), on(1, 4, 0)}, 0);
  try {
    store->push("w", Arrays{on(1, 4, 0), on(0, 4, 0)}, 0);
    ADD_FAILURE() << "other devices than before";
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("null(1), null(0)"), std::string::npos);
  }
  EXPECT_EQ(store->stype("w"), StorageType::dense);
  EXPECT_THROW(store->stype("v"), KeyError);
}

// Two processes of two devices and of one.
TEST(DeviceGroupStores, ProcessesAddUpTheirDevices) {
  auto hosts = comm::make_inproc_groups(2, kPatient);
  auto all = comm::make_inproc_groups(3, kPatient);
  std::vector<std::vector<std::unique_ptr<comm::ProcessGroup>>> parts(2);
  for (size_t i = 0; i < 3; ++i) parts[i / 2].push_back(std::move(all[i]));
  std::vector<std::future<void>> ranks;
  for (size_t rank = 0; rank < 2; ++rank) {
    ranks.push_back(std::async(std::launch::async, [&, rank] {
      const auto engine = engine::make_threaded_engine({});
      Runtime runtime(*engine, ops::builtin_table());
      const auto filled = [&](float value) {
        NDArray result(*engine, Shape{6}, DType::float32, Device::cpu());
        const Floats items(6, value);
        result.copy_from_host(items.data(), result.bytes());
        return result;
      };
      DeviceGroupStore store(runtime, "dist_nccl", std::move(hosts[rank]),
                             [&](comm::ProcessGroup* group, std::span<const Device>) {
                               EXPECT_EQ(group->rank(), static_cast<int>(rank));
                               return queued(std::move(parts[rank]));
                             });
      store.init("w", filled(static_cast<float>(rank) + 8));
      const NDArray out = filled(0);
      const auto pulled = [&] {
        store.pull("w", {&out, 1}, 0);
        Floats items(6);
        out.copy_to_host(items.data(), out.bytes());
        return items;
      };
      EXPECT_EQ(pulled(), Floats(6, 8)) << "the first value of rank 0 counts";
      for (int round = 1; round <= 10; ++round) {
        Arrays values;
        for (int16_t device = 0; device < (rank == 0 ? 2 : 1); ++device)
          values.push_back(copy_to(filled(static_cast<float>(round)), Device::null(device)));
        store.push("w", values, 0);
        EXPECT_EQ(pulled(), Floats(6, 3 * static_cast<float>(round)));
        store.barrier();
      }
    }));
  }
  for (auto& one : ranks) one.get();
}

}  // namespace
}  // namespace loomix::kvstore
