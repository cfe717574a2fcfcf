// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "memplan/place.h"

// One item after the other goes into a gap that the placed ones leave with which it conflicts. What counts is the order:
// several simple ones are tried, and the best is improved. Items that end above the bound stand in the way of a better
// placement, so they are moved towards the front, and all are placed again ("squeaky wheel optimization", Joslin and
// Clements, 1999). The number of rounds follows from the number of items, never from a clock.
namespace loomix::memplan {
namespace {

constexpr int64_t kPairsOfSearch = 24'000'000;  // of items, over all rounds: some 30 ms
constexpr int kMostRounds = 200;

enum class Fit : uint8_t { smallest, lowest };  // which of the gaps that are large enough

class Search {
 public:
  Search(std::span<const Item> items, const Conflicts& conflicts, int64_t bound)
      : items_(items), conflicts_(conflicts), bound_(bound) {}

  Placement run() {
    std::vector<int> order(items_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto length = [](const Item& item) { return item.last - item.first + 1; };
    const auto try_by = [&](auto&& key) {
      std::stable_sort(order.begin(), order.end(),
                       [&](int a, int b) { return key(items_[a]) > key(items_[b]); });
      for (Fit fit : {Fit::smallest, Fit::lowest}) {
        if (!is_done()) try_order(order, fit);
      }
    };
    try_by([](const Item& item) { return std::pair(item.bytes, int64_t{0}); });
    try_by([&](const Item& item) { return std::pair(int64_t{length(item)}, item.bytes); });
    try_by([&](const Item& item) { return std::pair(item.bytes * length(item), int64_t{0}); });
    try_by([](const Item& item) { return std::pair(-int64_t{item.first}, item.bytes); });
    improve();
    return std::move(best_);
  }

 private:
  bool is_done() const { return !best_order_.empty() && best_.bytes <= bound_; }

  void try_order(const std::vector<int>& order, Fit fit) {
    Placement placement = place(order, fit);
    if (!best_order_.empty() && placement.bytes >= best_.bytes) return;
    best_ = std::move(placement);
    best_order_ = order;
    best_fit_ = fit;
  }

  Placement place(const std::vector<int>& order, Fit fit) {
    Placement result;
    result.offsets.resize(items_.size());
    placed_.clear();  // sorted by offset
    for (int item : order) {
      const int64_t offset = find_gap(item, fit, result.offsets);
      result.offsets[item] = offset;
      result.bytes = std::max(result.bytes, offset + items_[item].bytes);
      const auto at = std::upper_bound(placed_.begin(), placed_.end(), offset,
                                       [&](int64_t o, int other) { return o < result.offsets[other]; });
      placed_.insert(at, item);
    }
    return result;
  }

  int64_t find_gap(int item, Fit fit, const std::vector<int64_t>& offsets) const {
    const int64_t bytes = items_[item].bytes;
    int64_t end = 0, found = -1, found_size = 0;
    for (int other : placed_) {
      if (!conflicts_.have(item, other)) continue;
      const int64_t gap = offsets[other] - end;
      if (gap >= bytes && (found < 0 || gap < found_size)) {
        if (fit == Fit::lowest) return end;
        found = end;
        found_size = gap;
      }
      end = std::max(end, offsets[other] + items_[other].bytes);
    }
    return found >= 0 ? found : end;
  }

  void improve() {
    const auto count = static_cast<int64_t>(items_.size());
    const int64_t rounds =
        std::min<int64_t>(kMostRounds, kPairsOfSearch / std::max<int64_t>(1, count * count));
    std::vector<int> order = best_order_;
    std::vector<int64_t> offsets = best_.offsets;
    std::vector<double> place_of(items_.size());
    for (int64_t round = 0; round < rounds && !is_done(); ++round) {
      // An item too high moves up by a part of the way to the front, which changes from round to round.
      const double part = 0.25 + 0.5 * static_cast<double>(round * 7 % 11) / 10;
      for (size_t i = 0; i < order.size(); ++i) {
        const int item = order[i];
        const bool too_high = offsets[item] + items_[item].bytes > bound_;
        place_of[item] = static_cast<double>(i) * (too_high ? 1 - part : 1) - (too_high ? 0.5 : 0);
      }
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return place_of[a] < place_of[b]; });
      Placement placement = place(order, best_fit_);
      offsets = placement.offsets;
      if (placement.bytes < best_.bytes) {
        best_ = std::move(placement);
        best_order_ = order;
      }
    }
  }

  std::span<const Item> items_;
  const Conflicts& conflicts_;
  const int64_t bound_;
  std::vector<int> placed_;
  Placement best_;
  std::vector<int> best_order_;
  Fit best_fit_ = Fit::smallest;
};

}  // namespace

Placement place_few(std::span<const Item> items, const Conflicts& conflicts, int64_t bound) {
  if (items.empty()) return {};
  return Search(items, conflicts, bound).run();
}

}  // namespace loomix::memplan
