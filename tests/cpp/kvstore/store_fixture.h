// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "ndarray/copy.h"
#include "ops/table.h"
#include "symbol/executor/runtime.h"

namespace loomix::kvstore {

// A runtime for each test.
class StoreTest : public ::testing::Test {
 protected:
  explicit StoreTest(engine::EngineOptions options = {})
      : engine_(engine::make_threaded_engine(options)), runtime_(*engine_, ops::builtin_table()) {}

  NDArray array(const std::vector<float>& items, const Shape& shape, DType dtype = DType::float32) {
    NDArray result(*engine_, shape, DType::float32, Device::cpu());
    result.copy_from_host(items.data(), static_cast<int64_t>(items.size() * sizeof(float)));
    return dtype == DType::float32 ? result : cast(result, dtype);
  }
  NDArray array(const std::vector<float>& items) {
    return array(items, Shape{static_cast<int64_t>(items.size())});
  }
  NDArray filled(int64_t count, float value) {
    return array(std::vector<float>(static_cast<size_t>(count), value));
  }
  static std::vector<float> values(const NDArray& given) {
    const NDArray array = given.dtype() == DType::float32 ? given : cast(given, DType::float32);
    std::vector<float> items(static_cast<size_t>(array.size()));
    array.copy_to_host(items.data(), array.bytes());
    return items;
  }

  std::unique_ptr<engine::Engine> engine_;
  Runtime runtime_;
};

}  // namespace loomix::kvstore
