// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace loomix::ops {

// Distinct numbers of [0, limit), and the place of each in their order: which rows an operation touches. It is a bitmap with
// running counts, or, where the numbers are few among very many, a sorted list.
class RowSet {
 public:
  // In any order, and any number of times.
  RowSet(std::span<const int64_t> ids, int64_t limit);

  int64_t count() const { return count_; }
  void write(int64_t* sorted) const;
  // Of a number that is in the set.
  int64_t place(int64_t id) const;
  // The same, or -1.
  int64_t find(int64_t id) const;

 private:
  int64_t count_ = 0;
  std::vector<uint64_t> bits_;
  std::vector<int64_t> before_;  // of each word: numbers in those before it
  std::vector<int64_t> sorted_;  // instead of the bitmap
};

}  // namespace loomix::ops
