// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "engine/trace.h"
#include "ndarray/copy.h"
#include "tests/cpp/ndarray/array_fixture.h"

namespace loomix {
namespace {

class Gpu : public testing_arrays::ArrayTest {
 protected:
  void SetUp() override {
    if (engine::count_gpus() == 0) GTEST_SKIP() << "no GPU, nor a stand-in for one";
  }
};

TEST_F(Gpu, ArraysTravelThroughAllDevices) {
  std::vector<float> items(200'001);
  for (size_t i = 0; i < items.size(); ++i) items[i] = static_cast<float>(i % 1000);
  NDArray at = array<float>({200'001}, items);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < engine::count_gpus(); ++i) at = copy_to(at, Device::gpu(static_cast<int16_t>(i)));
  }
  EXPECT_EQ(at.device().type, DeviceType::gpu);
  EXPECT_EQ(values<float>(copy_to(at, Device::cpu())), items);
  EXPECT_EQ(values<float>(copy_to(zeros(*engine_, Shape{5}, DType::float32, Device::gpu()), Device::cpu())),
            std::vector<float>(5, 0));
}

TEST_F(Gpu, PinnedArraysLieInPageLockedMemory) {
  const Device pinned{DeviceType::cpu_pinned, 0};
  const std::vector<float> items(10'000, 3);
  const NDArray held = copy_to(array<float>({10'000}, items), pinned);
  EXPECT_EQ(held.storage().kind(), MemoryKind::pinned);
  EXPECT_EQ(copy_to(held, Device::cpu()).storage().kind(), MemoryKind::host);
  EXPECT_EQ(values<float>(copy_to(copy_to(held, Device::gpu()), Device::cpu())), items);
}

TEST_F(Gpu, MissingDevicesAreNamed) {
  const auto missing = static_cast<int16_t>(engine::count_gpus());
  try {
    copy_to(array<float>({1}, {1}), Device::gpu(missing));
    ADD_FAILURE() << "there is none";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("gpu(" + std::to_string(missing) + ")"), std::string::npos);
  }
}

struct Name : RefCounted {
  explicit Name(const char* text) : name(text) {}
  const char* const name;
};
engine::TaskInfo on_gpu(const char* name) {
  const auto text = [](const void* context) {
    return static_cast<const Name*>(static_cast<const RefCounted*>(context))->name;
  };
  return {.device = Device::gpu(), .describe = {.name = text, .context = make_ref<Name>(name)}};
}

// What the host's clock says at both ends of work on the device.
struct Work {
  int64_t begin = 0, end = 0;
  static void run(void* self) {
    auto& work = *static_cast<Work*>(self);
    work.begin = engine::Trace::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(80));
    work.end = engine::Trace::now();
  }
};

class GpuTimes : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    try {
      call<long()>("loomix_standin_times");
    } catch (const DeviceError&) {
      GTEST_SKIP() << "asks the stand-in";
    }
  }
  template <class Fn>
  Fn* call(const char* name) const {
    return reinterpret_cast<Fn*>(engine::load_module_symbol("loomix_cuda", name, "It is no stand-in"));
  }
  void push(const char* name, engine::Work work) {
    const engine::Tag tag{order_.get(), engine::Access::write};
    engine_->push(on_gpu(name), {&tag, 1}, std::move(work));
  }
  void push_slow(const char* name, Work& work) {
    using Launch = int(void*, void (*)(void*), void*);
    push(name, [launch = call<Launch>("cudaLaunchHostFunc"), &work](engine::RunContext& context) {
      launch(context.stream, Work::run, &work);
    });
  }
  // Of the trace until now, after all work.
  std::vector<nlohmann::json> device_events() {
    engine_->wait_all();
    engine_->trace().stop();
    std::vector<nlohmann::json> found;
    const auto trace = nlohmann::json::parse(engine_->trace().to_json());
    for (const auto& event : trace["traceEvents"]) {
      if (event.value("cat", "") == "device") found.push_back(event);
    }
    return found;
  }

  const engine::VarRef order_ = engine_->new_var();
};

TEST_F(GpuTimes, LieWhereTheDeviceWorkedOnTheHostsTimeline) {
  constexpr int64_t kNear = 40'000'000;  // the stand-in's streams are threads
  Work first, second;
  engine_->trace().start();
  push_slow("first", first);
  push_slow("second", second);
  push("short", [](engine::RunContext&) {});
  const int64_t pushed = engine::Trace::now();
  const std::vector<nlohmann::json> events = device_events();
  const auto origin =
      nlohmann::json::parse(engine_->trace().to_json())["otherData"]["origin_ns"].get<int64_t>();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_LT(pushed, first.end);  // nothing waited
  const char* const names[] = {"first", "second", "short"};
  double ended = 0;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(events[i]["name"], names[i]);
    EXPECT_EQ(events[i]["tid"], events[0]["tid"]);
    EXPECT_GE(events[i]["ts"].get<double>(), ended - 1e-3);
    ended = events[i]["ts"].get<double>() + events[i]["dur"].get<double>();
  }
  for (const auto& [work, event] : {std::pair(first, events[0]), std::pair(second, events[1])}) {
    const auto begin = origin + static_cast<int64_t>(event["ts"].get<double>() * 1000);
    EXPECT_NEAR(static_cast<double>(begin), static_cast<double>(work.begin), kNear);
    EXPECT_NEAR(event["dur"].get<double>() * 1000, static_cast<double>(work.end - work.begin), kNear);
  }
  EXPECT_LT(events[2]["dur"].get<double>(), kNear / 1000);
}

TEST_F(GpuTimes, AreNotAskedForWhileNothingIsTraced) {
  auto* const times = call<long()>("loomix_standin_times");
  const long before = times();
  push("untraced", [](engine::RunContext&) {});
  engine_->wait_all();
  EXPECT_EQ(times(), before);
  engine_->trace().start();
  push("traced", [](engine::RunContext&) {});
  EXPECT_EQ(device_events().size(), 1u);
  EXPECT_GE(times(), before + 2);
}

TEST_F(GpuTimes, OfWorkFromBeforeTheTraceAreLeftOut) {
  Work work;
  engine_->trace().start();
  push_slow("before", work);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  engine_->trace().start();
  push("after", [](engine::RunContext&) {});
  const std::vector<nlohmann::json> events = device_events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["name"], "after");
}

}  // namespace
}  // namespace loomix
