// SPDX-License-Identifier: Apache-2.0
#include "ops/sparse/row_set.h"

#include <algorithm>
#include <bit>

namespace loomix::ops {

namespace {

constexpr int64_t kWordsPerId = 8;  // a bitmap of more words costs more than sorting

uint64_t bit_of(int64_t id) { return uint64_t{1} << (id & 63); }

}  // namespace

RowSet::RowSet(std::span<const int64_t> ids, int64_t limit) {
  const int64_t words = (limit + 63) / 64;
  if (words > kWordsPerId * static_cast<int64_t>(ids.size()) + 64) {
    sorted_.assign(ids.begin(), ids.end());
    std::sort(sorted_.begin(), sorted_.end());
    sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
    count_ = static_cast<int64_t>(sorted_.size());
    return;
  }
  bits_.assign(static_cast<size_t>(words), 0);
  for (const int64_t id : ids) bits_[static_cast<size_t>(id >> 6)] |= bit_of(id);
  before_.resize(bits_.size());
  for (size_t word = 0; word < bits_.size(); ++word) {
    before_[word] = count_;
    count_ += std::popcount(bits_[word]);
  }
}

void RowSet::write(int64_t* sorted) const {
  if (bits_.empty()) {
    std::copy(sorted_.begin(), sorted_.end(), sorted);
    return;
  }
  for (size_t word = 0; word < bits_.size(); ++word) {
    for (uint64_t bits = bits_[word]; bits != 0; bits &= bits - 1) {
      *sorted++ = static_cast<int64_t>(word) * 64 + std::countr_zero(bits);
    }
  }
}

int64_t RowSet::place(int64_t id) const {
  if (bits_.empty()) return std::lower_bound(sorted_.begin(), sorted_.end(), id) - sorted_.begin();
  const auto word = static_cast<size_t>(id >> 6);
  return before_[word] + std::popcount(bits_[word] & (bit_of(id) - 1));
}

int64_t RowSet::find(int64_t id) const {
  if (bits_.empty()) {
    const int64_t at = place(id);
    return at < count_ && sorted_[static_cast<size_t>(at)] == id ? at : -1;
  }
  return bits_[static_cast<size_t>(id >> 6)] & bit_of(id) ? place(id) : -1;
}

}  // namespace loomix::ops
