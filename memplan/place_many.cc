// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "memplan/place.h"

namespace loomix::memplan {
namespace {

// The pieces of a stretch of memory that are free, each as large as it can be.
class FreePieces {
 public:
  // The start of the smallest piece of at least `bytes`, or of new memory at the end.
  int64_t take(int64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) {
      const int64_t offset = end_;
      end_ += bytes;
      return offset;
    }
    const auto [size, offset] = *fit;
    forget(offset, size);
    if (size > bytes) keep(offset + bytes, size - bytes);
    return offset;
  }

  void give_back(int64_t offset, int64_t size) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + size) {
      const auto [o, s] = *next;
      forget(o, s);
      size += s;
    }
    next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
      const auto [o, s] = *std::prev(next);
      forget(o, s);
      offset = o;
      size += s;
    }
    keep(offset, size);
  }

  int64_t end() const { return end_; }

 private:
  void forget(int64_t offset, int64_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }
  void keep(int64_t offset, int64_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }

  std::map<int64_t, int64_t> by_offset_;           // offset -> size
  std::set<std::pair<int64_t, int64_t>> by_size_;  // (size, offset)
  int64_t end_ = 0;
};

// In the order of first use, or backwards in that of last use, as an allocator would.
Placement place_by_time(std::span<const Item> items, bool backwards) {
  struct Use {
    int32_t begin, end;
    int item;
  };
  std::vector<Use> order;
  for (size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    if (backwards) order.push_back({-item.last, -item.first, static_cast<int>(i)});
    else order.push_back({item.first, item.last, static_cast<int>(i)});
  }
  // Of those that begin together, the long-lived ones first, so that they lie side by side.
  std::sort(order.begin(), order.end(), [](const Use& a, const Use& b) {
    return std::tuple(a.begin, -a.end, a.item) < std::tuple(b.begin, -b.end, b.item);
  });
  FreePieces pieces;
  std::multimap<int32_t, int> alive;  // by last use
  Placement result;
  result.offsets.resize(items.size());
  for (const Use& use : order) {
    while (!alive.empty() && alive.begin()->first < use.begin) {
      const int item = alive.begin()->second;
      alive.erase(alive.begin());
      pieces.give_back(result.offsets[item], items[item].bytes);
    }
    result.offsets[use.item] = pieces.take(items[use.item].bytes);
    alive.emplace(use.end, use.item);
  }
  result.bytes = pieces.end();
  return result;
}

// How high the memory of each step is filled: a tree of maxima over ranges of steps.
class Skyline {
 public:
  explicit Skyline(int32_t steps) : leaves_(std::bit_ceil(static_cast<uint32_t>(std::max(steps, 1)))) {
    most_.assign(2 * leaves_, 0);
    all_.assign(2 * leaves_, 0);
  }
  // Puts a block onto all steps of [first, last]; where it lies.
  int64_t put(int32_t first, int32_t last, int64_t bytes) {
    const int64_t offset = most(1, 0, leaves_, first, last);
    raise(1, 0, leaves_, first, last, offset + bytes);
    return offset;
  }

 private:
  int64_t most(uint32_t node, int64_t begin, int64_t end, int32_t first, int32_t last) const {
    if (last < begin || end <= first) return 0;
    if (first <= begin && end <= last + 1) return most_[node];
    const int64_t middle = (begin + end) / 2;
    return std::max({all_[node], most(2 * node, begin, middle, first, last),
                     most(2 * node + 1, middle, end, first, last)});
  }
  void raise(uint32_t node, int64_t begin, int64_t end, int32_t first, int32_t last, int64_t to) {
    if (last < begin || end <= first) return;
    most_[node] = std::max(most_[node], to);
    if (first <= begin && end <= last + 1) {
      all_[node] = to;
      return;
    }
    const int64_t middle = (begin + end) / 2;
    raise(2 * node, begin, middle, first, last, to);
    raise(2 * node + 1, middle, end, first, last, to);
  }

  const uint32_t leaves_;
  std::vector<int64_t> most_;  // of the node's range
  std::vector<int64_t> all_;   // what all of the range is filled to at least
};

// The longest-lived at the bottom. Where of any two lifetimes that meet one holds the other, as in the training of a chain
// of layers, this needs no byte more than the bound.
Placement stack(std::span<const Item> items, std::span<const int> order) {
  int32_t steps = 0;
  for (const Item& item : items) steps = std::max(steps, item.last + 1);
  Skyline skyline(steps);
  Placement result;
  result.offsets.resize(items.size());
  for (int i : order) {
    const Item& item = items[i];
    result.offsets[i] = skyline.put(item.first, item.last, item.bytes);
    result.bytes = std::max(result.bytes, result.offsets[i] + item.bytes);
  }
  return result;
}

}  // namespace

Placement place_many(std::span<const Item> items, int64_t bound) {
  if (items.empty()) return {};
  Placement best = place_by_time(items, false);
  const auto consider = [&](Placement placement) {
    if (placement.bytes < best.bytes) best = std::move(placement);
  };
  if (best.bytes > bound) consider(place_by_time(items, true));
  std::vector<int> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  const auto stack_by = [&](auto&& key) {
    if (best.bytes <= bound) return;
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(items[a]) > key(items[b]); });
    consider(stack(items, order));
  };
  const auto length = [](const Item& item) { return int64_t{item.last} - item.first + 1; };
  stack_by([&](const Item& item) { return std::pair(length(item), item.bytes); });
  stack_by([&](const Item& item) { return std::pair(item.bytes * length(item), int64_t{0}); });
  return best;
}

}  // namespace loomix::memplan
