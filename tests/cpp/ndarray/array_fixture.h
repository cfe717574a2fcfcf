// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "ndarray/copy.h"
#include "ndarray/ndarray.h"

namespace loomix::testing_arrays {

// An engine for each test, and arrays from values and back.
class ArrayTest : public ::testing::Test {
 protected:
  ArrayTest() : engine_(engine::make_threaded_engine()) {}

  template <class T>
  NDArray array(const Shape& shape, const std::vector<T>& items) const {
    NDArray result(*engine_, shape, dtype_of<T>(), Device::cpu());
    result.copy_from_host(items.data(), static_cast<int64_t>(items.size() * sizeof(T)));
    return result;
  }
  template <class T>
  static std::vector<T> values(const NDArray& array) {
    const NDArray typed = array.dtype() == dtype_of<T>() ? array : cast(array, dtype_of<T>());
    std::vector<T> items(static_cast<size_t>(typed.size()));
    typed.copy_to_host(items.data(), typed.bytes());
    return items;
  }

  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace loomix::testing_arrays
