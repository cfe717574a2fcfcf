// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

// Offsets for stretches of memory of which some must not overlap: dynamic storage allocation, which is NP-hard. Both
// functions try several heuristics and return the best; README.md compares them.
namespace loomix::memplan {

struct Item {
  int64_t bytes;
  int32_t first, last;  // steps between which it is used
};

// Which pairs of items must not overlap.
class Conflicts {
 public:
  explicit Conflicts(size_t items) : words_((items + 63) / 64), bits_(words_ * items, 0) {}
  void add(size_t a, size_t b) {
    bits_[a * words_ + b / 64] |= uint64_t{1} << (b % 64);
    bits_[b * words_ + a / 64] |= uint64_t{1} << (a % 64);
  }
  bool have(size_t a, size_t b) const { return bits_[a * words_ + b / 64] >> (b % 64) & 1; }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

struct Placement {
  int64_t bytes = 0;             // where the last item ends
  std::vector<int64_t> offsets;  // one an item
};

// Time grows with the square of the number of items. No placement is below `bound`, so the search ends there.
Placement place_few(std::span<const Item> items, const Conflicts& conflicts, int64_t bound);

// Items conflict where their steps overlap. Time is n log n.
Placement place_many(std::span<const Item> items, int64_t bound);

}  // namespace loomix::memplan
