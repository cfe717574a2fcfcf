// SPDX-License-Identifier: Apache-2.0
#include "ndarray/sparse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "ndarray/copy.h"
#include "tests/cpp/ndarray/array_fixture.h"

namespace loomix {
namespace {

using SparseTest = testing_arrays::ArrayTest;

TEST_F(SparseTest, DenseToRowSparseAndBack) {
  const NDArray dense = array<float>({4, 2}, {0, 0, 1, 2, 0, 0, 0, 3});
  const NDArray rows = cast_storage(dense, StorageType::row_sparse);
  EXPECT_EQ(rows.stored_count(), 2);
  EXPECT_EQ(values<int64_t>(rows.stored_indices()), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(values<float>(rows.stored_values()), (std::vector<float>{1, 2, 0, 3}));
  EXPECT_EQ(values<float>(cast_storage(rows, StorageType::dense)), values<float>(dense));
}

TEST_F(SparseTest, DenseToCsrAndBackInOtherTypes) {
  const NDArray dense = array<double>({3, 3}, {0, 1, 0, 0, 0, 0, 2, 0, 3});
  const NDArray csr = cast_storage(dense, StorageType::csr);
  EXPECT_EQ(values<int64_t>(csr.stored_indptr()), (std::vector<int64_t>{0, 1, 1, 3}));
  EXPECT_EQ(values<int64_t>(csr.stored_indices()), (std::vector<int64_t>{1, 0, 2}));
  const NDArray whole(*engine_, dense.shape(), DType::int32, Device::cpu());
  copy(csr, whole);
  EXPECT_EQ(values<double>(whole), values<double>(dense));
  EXPECT_EQ(values<double>(cast_storage(cast_storage(csr, StorageType::row_sparse), StorageType::dense)),
            values<double>(dense));
}

TEST_F(SparseTest, RetainKeepsTheRowsAskedFor) {
  const NDArray rows = cast_storage(array<float>({4, 1}, {1, 2, 0, 4}), StorageType::row_sparse);
  const NDArray kept = retain(rows, array<float>({3}, {3, 2, 0}));
  EXPECT_EQ(values<int64_t>(kept.stored_indices()), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(values<float>(cast_storage(kept, StorageType::dense)), (std::vector<float>{1, 0, 0, 4}));
}

TEST_F(SparseTest, FreshAndFilledArraysAreEmpty) {
  const NDArray csr = NDArray::sparse(*engine_, StorageType::csr, Shape{2, 3}, DType::float32, Device::cpu());
  EXPECT_EQ(values<float>(cast_storage(csr, StorageType::dense)), std::vector<float>(6, 0));
  copy(array<float>({2, 3}, {1, 0, 0, 0, 0, 1}), csr);
  EXPECT_EQ(csr.stored_count(), 2);
  fill(csr, 0);
  EXPECT_EQ(csr.stored_count(), 0);
  EXPECT_THROW(fill(csr, 1), ValueError);
}

TEST_F(SparseTest, BadPartsPoisonTheResult) {
  const NDArray values_part = array<float>({2, 1}, {1, 2});
  const NDArray good = make_row_sparse(values_part, array<int64_t>({2}, {0, 2}), Shape{3, 1});
  EXPECT_EQ(values<float>(cast_storage(good, StorageType::dense)), (std::vector<float>{1, 0, 2}));
  EXPECT_THROW(make_row_sparse(values_part, array<int64_t>({2}, {2, 0}), Shape{3, 1}).wait_to_read(),
               ValueError);
  EXPECT_THROW(make_row_sparse(values_part, array<int64_t>({2}, {0, 3}), Shape{3, 1}).wait_to_read(),
               IndexError);
  const NDArray flat = array<float>({2}, {1, 2});
  EXPECT_THROW(
      make_csr(flat, array<int64_t>({2}, {0, 5}), array<int64_t>({3}, {0, 1, 2}), Shape{2, 3}).wait_to_read(),
      IndexError);
  EXPECT_THROW(
      make_csr(flat, array<int64_t>({2}, {0, 1}), array<int64_t>({3}, {0, 3, 2}), Shape{2, 3}).wait_to_read(),
      ValueError);
}

// Another thread writes more and fewer rows all the time; each reading is of one writing.
TEST_F(SparseTest, PartsAreReadWhileOthersWrite) {
  constexpr int64_t kRows = 4000;
  std::vector<NDArray> contents;
  for (int64_t k = 1; k <= 2; ++k) {
    const NDArray dense = zeros(*engine_, Shape{kRows, 64}, DType::float32, Device::cpu());
    fill(dense.slice(0, kRows / k), static_cast<double>(k));
    contents.push_back(cast_storage(dense, StorageType::row_sparse));
  }
  const NDArray shared = copy_to(contents[0], Device::cpu());
  std::atomic<bool> enough{false};
  std::thread writer([&] {
    for (size_t i = 0; !enough; ++i) {
      copy(contents[i % contents.size()], shared);
      if (i % 16 == 15) shared.wait_to_read();
    }
  });
  int torn = 0;
  for (int i = 0; i < 300; ++i) {
    const std::vector<float> read = values<float>(shared.stored_values());
    torn += std::count(read.begin(), read.end(), read.front()) != static_cast<int64_t>(read.size());
    torn += static_cast<int64_t>(read.size()) != kRows / static_cast<int64_t>(read.front()) * 64;
    const std::vector<int64_t> rows = values<int64_t>(shared.stored_indices());
    torn += rows.front() != 0 || rows.back() != static_cast<int64_t>(rows.size()) - 1;
  }
  enough = true;
  writer.join();
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace loomix
