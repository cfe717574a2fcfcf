// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/device/device_runtime.h"
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

}  // namespace
}  // namespace loomix
