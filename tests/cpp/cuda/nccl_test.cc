// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <future>
#include <optional>

#include "base/error.h"
#include "comm/device_group.h"
#include "engine/device/device_runtime.h"
#include "tests/cpp/comm/collectives.h"

namespace loomix::comm {
namespace {

// A group of devices that takes memory of hosts.
class ThroughDevice final : public DeviceGroup {
 public:
  ThroughDevice(DeviceGroup& group, engine::Engine& engine, Device device)
      : group_(group),
        memory_(engine.device(device).memory(MemoryKind::device)),
        queue_(*engine.device(device).queue(engine::Lane::communicate)) {}
  std::string kind() const override { return group_.kind(); }
  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  void all_reduce(const void* in, void* out, size_t count, DType dtype, Reduction reduction, void*) override {
    const size_t bytes = count * static_cast<size_t>(size_of(dtype));
    run(in, bytes, out, bytes, [&](const void* from, void* to) {
      group_.all_reduce(from, to, count, dtype, reduction, queue_.native());
    });
  }
  void broadcast(void* data, size_t bytes, int root, void*) override {
    run(data, bytes, data, bytes, [&](const void* from, void* to) {
      queue_.copy(to, from, bytes);
      group_.broadcast(to, bytes, root, queue_.native());
    });
  }
  void all_gather(const void* in, void* out, size_t bytes, void*) override {
    run(in, bytes, out, bytes * static_cast<size_t>(size()),
        [&](const void* from, void* to) { group_.all_gather(from, to, bytes, queue_.native()); });
  }
  void reduce_scatter(const void* in, void* out, size_t count, DType dtype, Reduction reduction,
                      void*) override {
    const size_t bytes = count * static_cast<size_t>(size_of(dtype));
    run(in, bytes * static_cast<size_t>(size()), out, bytes, [&](const void* from, void* to) {
      group_.reduce_scatter(from, to, count, dtype, reduction, queue_.native());
    });
  }
  void send(const void* data, size_t bytes, int to, void*) override {
    run(data, bytes, nullptr, 0,
        [&](const void* from, void*) { group_.send(from, bytes, to, queue_.native()); });
  }
  void receive(void* data, size_t bytes, int from, void*) override {
    run(nullptr, 0, data, bytes,
        [&](const void*, void* to) { group_.receive(to, bytes, from, queue_.native()); });
  }
  void barrier(void*) override {
    run(nullptr, 0, nullptr, 0, [&](const void*, void*) { group_.barrier(queue_.native()); });
  }
  void verify() const override { group_.verify(); }

 private:
  void run(const void* in, size_t in_bytes, void* out, size_t out_bytes,
           const std::function<void(const void*, void*)>& call) {
    void* const from = memory_.allocate(in_bytes);
    void* const to = memory_.allocate(out_bytes);
    std::exception_ptr error;
    try {
      if (in_bytes > 0) queue_.copy(from, in, in_bytes);
      call(from, to);
      if (out_bytes > 0) queue_.copy(out, to, out_bytes);
    } catch (...) {
      error = std::current_exception();
    }
    const engine::TokenRef done = queue_.record();
    done->wait();
    memory_.free(from, in_bytes);
    memory_.free(to, out_bytes);
    if (error) std::rethrow_exception(error);
    if (done->error()) std::rethrow_exception(done->error());
    group_.verify();
  }

  DeviceGroup& group_;
  engine::MemoryPool& memory_;
  engine::DeviceQueue& queue_;
};

class NcclGroup : public testing::Test {
 protected:
  void SetUp() override {
    if (engine::count_gpus() == 0) GTEST_SKIP() << "no GPU, nor a stand-in for one";
  }
  static std::vector<Device> devices(int count) {
    std::vector<Device> all;
    for (int i = 0; i < count; ++i) all.push_back(Device::gpu(static_cast<int16_t>(i)));
    return all;
  }
  void on_all(const std::vector<std::unique_ptr<DeviceGroup>>& groups,
              const std::function<void(DeviceGroup&)>& body) {
    std::vector<std::future<void>> ranks;
    for (size_t i = 0; i < groups.size(); ++i) {
      ranks.push_back(std::async(std::launch::async, [&, i] {
        ThroughDevice group(*groups[i], *engine_, Device::gpu(static_cast<int16_t>(i)));
        body(group);
      }));
    }
    for (auto& rank : ranks) rank.get();
  }
  const std::unique_ptr<engine::Engine> engine_ = engine::make_threaded_engine({.workers = 1});
};

TEST_F(NcclGroup, Collectives) {
  const int all = engine::count_gpus();
  for (int size = 1; size <= all; ++size) {
    const auto groups = make_nccl_groups(make_nccl_id(), 0, size, devices(size));
    ASSERT_EQ(groups.size(), static_cast<size_t>(size));
    EXPECT_EQ(groups.back()->kind(), "nccl");
    EXPECT_EQ(groups.back()->rank(), size - 1);
    on_all(groups, check_group<DeviceGroup>);
  }
}

TEST_F(NcclGroup, ManyCallsAreUnderWayAtOnce) {
  constexpr size_t kCalls = 60, kCount = 10'000;
  const int all = engine::count_gpus();
  const auto groups = make_nccl_groups(make_nccl_id(), 0, all, devices(all));
  std::vector<std::future<void>> ranks;
  for (size_t rank = 0; rank < groups.size(); ++rank) {
    ranks.push_back(std::async(std::launch::async, [&, rank] {
      engine::DeviceRuntime& device = engine_->device(Device::gpu(static_cast<int16_t>(rank)));
      engine::MemoryPool& memory = device.memory(MemoryKind::device);
      engine::DeviceQueue& queue = *device.queue(engine::Lane::communicate);
      queue.enter_thread();
      std::vector<float> values(kCount, 1.0F);
      auto* const data = static_cast<float*>(memory.allocate(kCount * sizeof(float)));
      queue.copy(data, values.data(), kCount * sizeof(float));
      for (size_t i = 0; i < kCalls; ++i) {
        groups[rank]->all_reduce(data, data, kCount, DType::float32,
                                 i % 2 == 0 ? Reduction::sum : Reduction::minimum, queue.native());
      }
      queue.copy(values.data(), data, kCount * sizeof(float));
      queue.record()->wait();
      groups[rank]->verify();
      memory.free(data, kCount * sizeof(float));
      float expected = 1;
      for (size_t i = 0; i < kCalls; i += 2) expected *= static_cast<float>(all);
      EXPECT_FLOAT_EQ(values.front(), expected);
      EXPECT_FLOAT_EQ(values.back(), expected);
    }));
  }
  for (auto& rank : ranks) rank.get();
}

TEST_F(NcclGroup, ARankThatStaysAwayIsNoticed) {
  if (engine::count_gpus() < 2) GTEST_SKIP() << "needs 2 GPUs";
  const auto groups = make_nccl_groups(make_nccl_id(), 0, 2, devices(2), std::chrono::milliseconds(700));
  on_all(groups, [](DeviceGroup& group) {
    group.barrier();
    if (group.rank() == 1) return;
    EXPECT_THROW(group.barrier(), NetworkError);
    try {
      group.barrier();
      ADD_FAILURE() << "of no more use";
    } catch (const NetworkError& error) {
      EXPECT_NE(std::string(error.what()).find("rank 0 of 2 waited 0.7 s in barrier"), std::string::npos)
          << error.what();
    }
  });
}

TEST_F(NcclGroup, ARankThatDoesNotConnectIsNoticed) {
  const auto one = devices(1);
  EXPECT_THROW(make_nccl_groups(make_nccl_id(), 0, 2, one, std::chrono::milliseconds(300)), NetworkError);
  EXPECT_THROW(make_nccl_groups("short", 0, 1, one), ValueError);
}

}  // namespace
}  // namespace loomix::comm
