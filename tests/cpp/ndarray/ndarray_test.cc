// SPDX-License-Identifier: Apache-2.0
#include "ndarray/ndarray.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "base/error.h"
#include "engine/device/null_device.h"
#include "ndarray/array_origin.h"
#include "ndarray/copy.h"
#include "tests/cpp/ndarray/array_fixture.h"

namespace loomix {
namespace {

using testing_arrays::ArrayTest;

TEST_F(ArrayTest, KeepsWhatIsCopiedIn) {
  const NDArray a = array<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(a.shape(), (Shape{2, 3}));
  EXPECT_EQ(values<float>(a), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.view().data) % 64, 0u);
}

TEST_F(ArrayTest, ViewsShareMemory) {
  const NDArray a = array<float>({3, 2}, {0, 1, 2, 3, 4, 5});
  const NDArray row = a.at(1);
  fill(row, 9);
  fill(a.reshape({6}).slice(5, 6), 7);
  EXPECT_EQ(values<float>(a), (std::vector<float>{0, 1, 9, 9, 4, 7}));
  EXPECT_EQ(&row.var(), &a.var());
  EXPECT_FALSE(row.covers_storage());
  EXPECT_TRUE(a.reshape({6}).covers_storage());
  EXPECT_TRUE(row.overlaps(a));
  EXPECT_FALSE(row.overlaps(a.at(0)));
}

TEST_F(ArrayTest, RefusesBadViews) {
  const NDArray a = array<float>({3, 2}, {0, 1, 2, 3, 4, 5});
  EXPECT_THROW(a.reshape({4}), ShapeError);
  EXPECT_THROW(a.slice(2, 4), IndexError);
  EXPECT_THROW(a.at(3), IndexError);
  EXPECT_THROW(NDArray(*engine_, Shape{int64_t{1} << 40, int64_t{1} << 40}, DType::float32, Device::cpu()),
               MemoryError);
  EXPECT_THROW(NDArray(*engine_, Shape{2, kUnknownDim}, DType::float32, Device::cpu()), ShapeError);
}

TEST(ArrayMemory, OutOfMemoryNamesTheLargestArrays) {
  const auto engine = engine::make_threaded_engine({.workers = 1, .pool_bytes = 64 << 20});
  const auto make = [&](const Shape& shape) {
    return NDArray(*engine, shape, DType::float32, Device::cpu());
  };
  const NDArray unknown = make({1 << 18});
  NDArray gone = make({5, 1 << 20});
  gone = NDArray();
  const auto named = [&] {
    const ArrayOrigin origin("argument", "fc1_weight");
    return make({3, 1 << 20});
  }();
  fill(named, 1);
  try {
    make({16, 1 << 20});
    FAIL();
  } catch (const MemoryError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("The largest arrays: 12.0 MiB (float32 (3, 1048576), argument fc1_weight), "),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("1.0 MiB (float32 (262144,))"), std::string::npos) << text;
    EXPECT_EQ(text.find("(5, 1048576)"), std::string::npos) << text;
  }
}

TEST_F(ArrayTest, EmptyArraysWork) {
  const NDArray a(*engine_, Shape{0, 3}, DType::float64, Device::cpu());
  EXPECT_NE(a.view().data, nullptr);
  EXPECT_EQ(values<double>(cast(a, DType::float32)).size(), 0u);
}

TEST_F(ArrayTest, CastsEveryPairOfTypes) {
  const std::vector<DType> types = {DType::float32, DType::float64, DType::float16,
                                    DType::uint8,   DType::int32,   DType::int8,
                                    DType::int64,   DType::boolean, DType::bfloat16};
  const NDArray source = array<float>({4}, {0, 1, 1, 0});
  for (DType from : types) {
    for (DType to : types) {
      const NDArray back = cast(cast(cast(source, from), to), DType::float32);
      EXPECT_EQ(values<float>(back), (std::vector<float>{0, 1, 1, 0}))
          << name_of(from) << " to " << name_of(to);
    }
  }
  const NDArray odd = array<double>({3}, {-1.5, 300, 2.9});
  EXPECT_EQ(values<int32_t>(cast(odd, DType::int32)), (std::vector<int32_t>{-1, 300, 2}));
  EXPECT_EQ(values<uint8_t>(cast(odd, DType::uint8)), (std::vector<uint8_t>{255, 44, 2}));
}

TEST_F(ArrayTest, CopiesBoxes) {
  const NDArray a = array<int32_t>({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const NDArray corner(*engine_, Shape{2, 2}, DType::int32, Device::cpu());
  Strided from;
  from.offset = 11;
  from.strides = {-4, -2};
  copy_strided(a, from, corner, Strided::whole(corner.shape()), corner.shape());
  EXPECT_EQ(values<int32_t>(corner), (std::vector<int32_t>{11, 9, 7, 5}));
  Strided column;
  column.offset = 1;
  column.strides = {4};
  fill_strided(a, column, Shape{3}, -1);
  EXPECT_EQ(values<int32_t>(a), (std::vector<int32_t>{0, -1, 2, 3, 4, -1, 6, 7, 8, -1, 10, 11}));
  column.strides = {6};
  EXPECT_THROW(fill_strided(a, column, Shape{3}, 0), IndexError);
}

TEST_F(ArrayTest, CopiesThroughDevices) {
  const NDArray host = array<int64_t>({4}, {1, 2, 3, 4});
  const NDArray a = copy_to(host, Device::null(0));
  const NDArray b = copy_to(a, Device::null(1));
  EXPECT_EQ(values<int64_t>(copy_to(b, Device::cpu())), values<int64_t>(host));
  EXPECT_EQ(values<int64_t>(copy_to(copy_to(b, Device::null(1)), Device::cpu())), values<int64_t>(host));
  EXPECT_EQ(values<float>(copy_to(zeros(*engine_, Shape{3}, DType::float32, Device::null()), Device::cpu())),
            std::vector<float>(3, 0));
  copy(a.slice(0, 2), a.slice(1, 3));  // they overlap
  EXPECT_EQ(values<int64_t>(copy_to(a, Device::cpu())), (std::vector<int64_t>{1, 1, 2, 4}));
  EXPECT_THROW(copy(a, NDArray(*engine_, Shape{4}, DType::float32, Device::cpu())), NotImplementedError);
}

TEST_F(ArrayTest, ACopyToADeviceHoldsItsSource) {
  constexpr int64_t kCount = 1 << 20;
  std::atomic<bool> go{false};
  engine::TaskInfo info;
  info.device = Device::null();
  info.lane = engine::Lane::copy_in;
  engine_->push(std::move(info), {}, [&go](engine::RunContext& context) {
    static_cast<engine::NullQueue*>(context.queue)->enqueue([&go] {
      while (!go) std::this_thread::yield();
    });
  });
  std::vector<NDArray> copies;
  const auto filled = [&](int64_t value) {
    const NDArray made(*engine_, Shape{kCount}, DType::uint8, Device::cpu());
    fill(made, static_cast<double>(value));
    made.wait_to_read();
    return made;
  };
  for (int64_t i = 0; i < 8; ++i) copies.push_back(copy_to(filled(i), Device::null()));
  std::this_thread::sleep_for(
      std::chrono::milliseconds(50));  // the tasks have been issued by then, as a rule
  for (int i = 0; i < 8; ++i) filled(99);
  go = true;
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(values<uint8_t>(copy_to(copies[static_cast<size_t>(i)], Device::cpu())),
              std::vector<uint8_t>(kCount, static_cast<uint8_t>(i)));
  }
}

TEST_F(ArrayTest, OverlappingCopyIsAsIfThroughATemporary) {
  const NDArray a = array<int64_t>({5}, {1, 2, 3, 4, 5});
  copy(a.slice(0, 4), a.slice(1, 5));
  EXPECT_EQ(values<int64_t>(a), (std::vector<int64_t>{1, 1, 2, 3, 4}));
  Strided reversed;
  reversed.offset = 4;
  reversed.strides = {-1};
  copy_strided(a, reversed, a, Strided::whole(a.shape()), a.shape());
  EXPECT_EQ(values<int64_t>(a), (std::vector<int64_t>{4, 3, 2, 1, 1}));
}

TEST_F(ArrayTest, ErrorsTravelThroughViewsUntilOverwrittenWhole) {
  const NDArray a = array<float>({4}, {1, 2, 3, 4});
  engine_->poison(a.var(), std::make_exception_ptr(ValueError("[test] broken")));
  const NDArray derived = cast(a.slice(0, 2), DType::float64);
  EXPECT_THROW(derived.wait_to_read(), ValueError);
  EXPECT_THROW(a.slice(2, 4).wait_to_read(), ValueError);
  EXPECT_THROW(derived.wait_to_read(), ValueError) << "poison stays";
  fill(a.slice(0, 2), 5);
  EXPECT_THROW(a.wait_to_read(), ValueError) << "a partial write does not heal";
  fill(a, 5);
  EXPECT_EQ(values<float>(a), (std::vector<float>{5, 5, 5, 5}));
}

TEST_F(ArrayTest, VersionsCountWrites) {
  const NDArray a = array<float>({4}, {1, 2, 3, 4});
  const uint64_t before = a.storage().version();
  values<float>(a);
  EXPECT_EQ(a.storage().version(), before);
  fill(a.slice(0, 1), 0);
  EXPECT_GT(a.storage().version(), before);
}

TEST_F(ArrayTest, DeferredShapeWaits) {
  const NDArray a = NDArray::deferred(*engine_, DType::int32, Device::cpu());
  EXPECT_FALSE(a.shape_is_known());
  ArrayTags tags;
  tags.write(a);
  engine_->push({}, tags.tags(), [storage = a.storage_ref()](engine::RunContext&) {
    storage->set_shape(Shape{3}, 12);
    std::iota(static_cast<int32_t*>(storage->data()), static_cast<int32_t*>(storage->data()) + 3, 4);
  });
  EXPECT_EQ(a.shape(), Shape{3});
  EXPECT_EQ(values<int32_t>(a), (std::vector<int32_t>{4, 5, 6}));
  EXPECT_TRUE(a.covers_storage());
  engine_->poison(a.var(), std::make_exception_ptr(ValueError("[test] broken")));
  EXPECT_FALSE(a.slice(0, 2).covers_storage());
  fill(a.slice(0, 2), 5);
  EXPECT_THROW(a.wait_to_read(), ValueError) << "a partial write does not heal";
}

TEST_F(ArrayTest, ForeignMemoryIsReleasedOnce) {
  std::vector<float> memory = {1, 2, 3};
  int released = 0;
  {
    NDArray a =
        NDArray::from_external(*engine_, memory.data(), Shape{3}, DType::float32, [&] { ++released; });
    const NDArray view = a.slice(1, 3);
    a = NDArray();
    EXPECT_EQ(released, 0);
    EXPECT_EQ(values<float>(view), (std::vector<float>{2, 3}));
    fill(view, 8);
    engine_->wait_all();
  }
  EXPECT_EQ(released, 1);
  EXPECT_EQ(memory, (std::vector<float>{1, 8, 8}));
}

}  // namespace
}  // namespace loomix
