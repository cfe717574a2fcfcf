// SPDX-License-Identifier: Apache-2.0
#include "kvstore/combine.h"

#include <limits>
#include <random>

#include "kvstore/kvstore.h"
#include "ndarray/sparse.h"
#include "tests/cpp/kvstore/store_fixture.h"

namespace loomix::kvstore {
namespace {

class Combine : public StoreTest {
 protected:
  Request request() { return {runtime_, "test", Key{int64_t{1}}, 0}; }
  std::vector<float> random(int64_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    std::vector<float> items(static_cast<size_t>(count));
    for (float& item : items) item = normal(generator);
    return items;
  }
};

// Sizes below and above those from which on threads and writes past the caches are used, and odd ones.
TEST_F(Combine, AddsInTheGivenOrder) {
  for (const int64_t count : {1, 15, 2048, 2049, 70'001, 300'003}) {
    for (const size_t sources : {1u, 2u, 3u, 5u}) {
      std::vector<NDArray> arrays;
      std::vector<float> expected;
      for (unsigned k = 0; k < sources; ++k) {
        const std::vector<float> items = random(count, k + 1);
        arrays.push_back(array(items));
        expected.resize(items.size());
        for (size_t i = 0; i < items.size(); ++i) expected[i] = k == 0 ? items[i] : expected[i] + items[i];
      }
      const std::vector<NDArray> outs = {filled(count, -1), filled(count, -1), filled(count, -1)};
      combine(request(), arrays, outs);
      for (const NDArray& out : outs) EXPECT_EQ(values(out), expected) << count << " x " << sources;
    }
  }
}

TEST_F(Combine, WritesPartsOfStoragesAtAnyAlignment) {
  constexpr int64_t kCount = 300'000;
  const NDArray big = filled(kCount + 7, 1);
  const std::vector<NDArray> outs = {big.slice(3, kCount + 3)};
  combine(request(), std::vector<NDArray>{filled(kCount, 2), filled(kCount, 3)}, outs);
  const std::vector<float> items = values(big);
  EXPECT_EQ(std::count(items.begin(), items.end(), 5.0f), kCount);
  EXPECT_EQ(items[2], 1.0f);
  EXPECT_EQ(items[3], 5.0f);
  EXPECT_EQ(items[kCount + 2], 5.0f);
  EXPECT_EQ(items[kCount + 3], 1.0f);
}

TEST_F(Combine, HalvesAreRoundedOnce) {
  // Adding one by one in half precision would lose each of the small terms.
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const float big = dtype == DType::float16 ? 2048.0f : 256.0f;
    std::vector<NDArray> sources = {array({big}, {1}, dtype)};
    for (int k = 0; k < 2; ++k) sources.push_back(array({1}, {1}, dtype));
    const std::vector<NDArray> outs = {array({0}, {1}, dtype)};
    combine(request(), sources, outs);
    EXPECT_EQ(values(outs[0])[0], big + 2);
  }
}

TEST_F(Combine, ADestinationMayBeASource) {
  const std::vector<NDArray> arrays = {filled(300'000, 1), filled(300'000, 2)};
  combine(request(), arrays, arrays);
  EXPECT_EQ(values(arrays[0]), std::vector<float>(300'000, 3));
  EXPECT_EQ(values(arrays[1]), std::vector<float>(300'000, 3));
}

TEST_F(Combine, RowsThatAnySourceHas) {
  const auto rows = [this](const std::vector<float>& ids, float value) {
    const NDArray row_ids = array(ids);
    return make_row_sparse(
        array(std::vector<float>(ids.size() * 2, value), Shape{static_cast<int64_t>(ids.size()), 2}), row_ids,
        Shape{9, 2});
  };
  const NDArray out =
      NDArray::sparse(*engine_, StorageType::row_sparse, Shape{9, 2}, DType::float32, Device::cpu());
  combine_rows(request(),
               std::vector<NDArray>{rows({1, 4, 8}, 1), rows({}, 9), rows({0, 4}, 10), rows({4, 8}, 100)},
               out);
  EXPECT_EQ(values(out.stored_indices()), (std::vector<float>{0, 1, 4, 8}));
  EXPECT_EQ(values(out.stored_values()), (std::vector<float>{10, 10, 1, 1, 111, 111, 101, 101}));

  const NDArray part =
      NDArray::sparse(*engine_, StorageType::row_sparse, Shape{9, 2}, DType::float32, Device::cpu());
  pull_rows(request(), out, array({8, 2, 8, 0}), part);
  EXPECT_EQ(values(part.stored_indices()), (std::vector<float>{0, 2, 8}));
  EXPECT_EQ(values(part.stored_values()), (std::vector<float>{10, 10, 0, 0, 101, 101}));
  pull_rows(request(), out, array({9}), part);
  EXPECT_THROW(part.wait_to_read(), IndexError);
}

TEST_F(Combine, TwoBitKeepsWhatItLoses) {
  const ops::Code code = ops::Code::parse("2bit:0.5", "test");
  const std::vector<NDArray> source = {array({0.3f, 0.6f, -0.5f, -2.0f, 0.5f, 0.0f})};
  const std::vector<NDArray> residual = {filled(6, 0)};
  const std::vector<NDArray> out = {filled(6, 9)};
  combine_compressed(request(), code, source, residual, out);
  EXPECT_EQ(values(out[0]), (std::vector<float>{0, 0.5f, -0.5f, -0.5f, 0.5f, 0}));
  combine_compressed(request(), code, source, residual, out);
  EXPECT_EQ(values(out[0]), (std::vector<float>{0.5f, 0.5f, -0.5f, -0.5f, 0.5f, 0}));
}

// Nothing is lost in the long run: what arrived and what is kept add up to what was sent.
TEST_F(Combine, WhatTravelsIsWhatTheStoreAdds) {
  for (const int64_t count : {1, 5, 1024, 3001}) {
    for (const char* type : {"2bit", "fp16"}) {
      const ops::Code code = CompressionParams{type, 0.4f}.code();
      const auto size = static_cast<size_t>(count);
      std::vector<float> kept(size), kept_again(size), arrived(size), unpacked(size);
      std::vector<double> sent(size), got(size);
      for (unsigned step = 0; step < 4; ++step) {
        const std::vector<float> gradient = random(count, step);
        pass_compressed(code, gradient.data(), kept.data(), arrived.data(), count);
        std::vector<std::byte> packed(static_cast<size_t>(compressed_bytes(code, count)));
        compress(code, gradient.data(), kept_again.data(), packed.data(), count);
        decompress(code, packed, unpacked.data(), count);
        EXPECT_EQ(arrived, unpacked);
        EXPECT_EQ(kept, kept_again);
        for (size_t i = 0; i < size; ++i) {
          sent[i] += gradient[i];
          got[i] += arrived[i];
        }
      }
      if (!code.has_residual()) continue;
      for (size_t i = 0; i < size; ++i) EXPECT_NEAR(sent[i], got[i] + kept[i], 1e-5);
    }
  }
}

TEST_F(Combine, TopKSendsTheLargestAndKeepsTheRest) {
  const ops::Code code = ops::Code::parse("topk:0.4", "test");
  const std::vector<float> gradient = {1, -5, 2, 2, 0};
  std::vector<float> residual(5), arrived(5);
  std::vector<std::byte> packed(static_cast<size_t>(compressed_bytes(code, 5)));
  ASSERT_EQ(packed.size(), 16u);
  const auto pass = [&] {
    compress(code, gradient.data(), residual.data(), packed.data(), 5);
    decompress(code, packed, arrived.data(), 5);
  };
  pass();
  EXPECT_EQ(arrived, (std::vector<float>{0, -5, 2, 0, 0}));  // of equal ones the first
  EXPECT_EQ(residual, (std::vector<float>{1, 0, 0, 2, 0}));
  pass();
  EXPECT_EQ(arrived, (std::vector<float>{0, -5, 0, 4, 0}));
  EXPECT_EQ(residual, (std::vector<float>{2, 0, 2, 0, 0}));
}

TEST(EnginePriority, KeepsTheOrder) {
  int last = engine_priority(-100'000);
  EXPECT_EQ(last, -128);
  for (int priority = -700; priority <= 700; ++priority) {
    const int now = engine_priority(priority);
    EXPECT_GE(now, last);
    EXPECT_TRUE(now > last || std::abs(priority) >= 64) << priority;
    last = now;
  }
  EXPECT_EQ(engine_priority(0), 0);
  EXPECT_EQ(engine_priority(-1), -1);
  EXPECT_EQ(engine_priority(std::numeric_limits<int>::min()), -128);
  EXPECT_EQ(engine_priority(std::numeric_limits<int>::max()), 127);
}

}  // namespace
}  // namespace loomix::kvstore
