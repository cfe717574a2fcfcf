// SPDX-License-Identifier: Apache-2.0
#include "memplan/plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "base/error.h"
#include "memplan/place.h"
#include "memplan/reach.h"

// Values that share memory by in-place form a block; blocks are then placed in the arena of their device. Two blocks
// conflict if their uses overlap in the push order, or if they are near each other and nothing makes all uses of one come
// before the writer of the other.
namespace loomix::memplan {
namespace {

constexpr size_t kFewBlocks = 3000;         // more are placed by the methods for many
constexpr int64_t kSpareBytes = 256 << 10;  // that no parallelism is given up for

struct Block {
  int64_t bytes = 0;
  Device device;
  std::vector<int32_t> values;  // in the order in which they take over
  std::vector<int32_t> uses;    // steps, sorted, unique
  size_t settled = 0;           // place in `uses` of the step that wrote the last value
  int64_t offset = -1;
  int32_t first() const { return uses.front(); }
  int32_t last() const { return uses.back(); }
  // Those of the last value: what is done after them is done after all the others, too.
  std::span<const int32_t> open_uses() const { return std::span(uses).subspan(settled); }
};

void check(std::span<const Value> values, std::span<const InplacePair> pairs) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& value = values[i];
    LOOMIX_CHECK(value.bytes >= 0, ValueError, "[memplan] value {} has {} bytes; expected none or more.", i,
                 value.bytes);
    LOOMIX_CHECK(value.pinned || value.writer >= 0, ValueError,
                 "[memplan] value {} has no writer and is not pinned.", i);
    int32_t before = value.writer;
    for (int32_t reader : value.readers) {
      LOOMIX_CHECK(
          reader > before, ValueError,
          "[memplan] value {} is read at step {} after step {}; expected ascending steps, all behind "
          "the writer.",
          i, reader, before);
      before = reader;
    }
  }
  for (const InplacePair& pair : pairs) {
    const auto count = static_cast<int32_t>(values.size());
    LOOMIX_CHECK(pair.input >= 0 && pair.input < count && pair.output >= 0 && pair.output < count, ValueError,
                 "[memplan] in-place pair ({}, {}) names a value beyond the {} given.", pair.input,
                 pair.output, count);
    const auto& readers = values[pair.input].readers;
    LOOMIX_CHECK(std::binary_search(readers.begin(), readers.end(), values[pair.output].writer), ValueError,
                 "[memplan] in-place pair ({}, {}): the writer of the second does not read the first.",
                 pair.input, pair.output);
  }
}

// Makes one plan in which steps that are more than `window` apart may have to wait for each other.
class Planner {
 public:
  Planner(std::span<const Value> values, const Options& options, const Reach& reach, int32_t window)
      : values_(values), options_(options), reach_(reach), block_of_(values.size(), -1) {
    plan_.window = window;
    plan_.offset.assign(values.size(), -1);
    plan_.inplace_of.assign(values.size(), -1);
  }

  Plan run(std::span<const InplacePair> pairs) {
    make_blocks(pairs);
    std::map<Device, std::vector<Block*>> by_device;
    for (Block& block : blocks_) {
      if (!block.values.empty()) by_device[block.device].push_back(&block);
    }
    for (auto& [device, blocks] : by_device) {
      std::sort(blocks.begin(), blocks.end(), [](const Block* a, const Block* b) {
        return std::tuple(a->first(), a->values.front()) < std::tuple(b->first(), b->values.front());
      });
      Arena arena{device};
      find_peak(blocks, arena);
      place(blocks, arena.lower_bound);
      for (const Block* block : blocks) {
        arena.bytes = std::max(arena.bytes, block->offset + block->bytes);
        for (int32_t value : block->values) {
          arena.naive += aligned(values_[value].bytes);
          plan_.offset[value] = block->offset;
        }
      }
      find_edges(blocks);
      plan_.arenas.push_back(arena);
    }
    std::sort(plan_.edges.begin(), plan_.edges.end(), [](const Edge& a, const Edge& b) {
      return std::tie(a.after, a.before, a.value) < std::tie(b.after, b.before, b.value);
    });
    plan_.edges.erase(std::unique(plan_.edges.begin(), plan_.edges.end()), plan_.edges.end());
    return std::move(plan_);
  }

 private:
  int64_t aligned(int64_t bytes) const {
    return (bytes + options_.alignment - 1) / options_.alignment * options_.alignment;
  }

  // `use` is done before `step` starts: surely, or with an edge, which may join steps that are far apart.
  bool may_precede(int32_t use, int32_t step) const {
    return step - use > plan_.window || reach_.before(use, step);
  }

  // Every use of the block may precede `step`.
  bool may_end_before(const Block& block, int32_t step) const {
    if (step - block.last() > plan_.window) return true;
    return block.last() < step &&
           std::ranges::all_of(block.open_uses(), [&](int32_t use) { return may_precede(use, step); });
  }

  void make_blocks(std::span<const InplacePair> pairs) {
    blocks_.resize(values_.size());
    for (size_t i = 0; i < values_.size(); ++i) {
      const Value& value = values_[i];
      if (value.pinned || value.bytes == 0) continue;
      Block& block = blocks_[i];
      block.bytes = aligned(value.bytes);
      block.device = value.device;
      block.values = {static_cast<int32_t>(i)};
      block.uses.reserve(value.readers.size() + 1);
      block.uses.push_back(value.writer);
      block.uses.insert(block.uses.end(), value.readers.begin(), value.readers.end());
      block_of_[i] = static_cast<int32_t>(i);
    }
    if (!options_.inplace) return;
    for (const InplacePair& pair : pairs) take_over(pair);
  }

  // The output's block joins the input's if nothing but its writer still needs the input.
  void take_over(const InplacePair& pair) {
    const int32_t from = block_of_[pair.output];
    const int32_t into = block_of_[pair.input];
    if (from < 0 || into < 0 || from == into) return;
    Block& older = blocks_[into];
    Block& newer = blocks_[from];
    if (newer.values.front() != pair.output || older.values.back() != pair.input) return;
    const int32_t step = values_[pair.output].writer;
    if (older.device != newer.device || older.bytes < newer.bytes || older.last() != step) return;
    const auto others = older.open_uses().first(older.open_uses().size() - 1);
    if (!std::ranges::all_of(others, [&](int32_t use) { return may_precede(use, step); })) return;
    for (int32_t use : others) add_edge(pair.input, use, step);
    plan_.inplace_of[pair.output] = pair.input;
    for (int32_t value : newer.values) block_of_[value] = into;
    older.values.insert(older.values.end(), newer.values.begin(), newer.values.end());
    older.settled = older.uses.size() - 1 + newer.settled;
    older.uses.insert(older.uses.end(), newer.uses.begin() + 1, newer.uses.end());
    newer = Block();
  }

  // Values that take over memory are alive together only within their writer, so a block's size counts from its first
  // to its last use.
  void find_peak(const std::vector<Block*>& blocks, Arena& arena) const {
    std::vector<int64_t> change(static_cast<size_t>(reach_.steps()) + 1, 0);
    for (const Block* block : blocks) {
      change[block->first()] += block->bytes;
      change[block->last() + 1] -= block->bytes;
    }
    int64_t alive = 0;
    for (int32_t step = 0; step < reach_.steps(); ++step) {
      alive += change[step];
      if (alive <= arena.lower_bound) continue;
      arena.lower_bound = alive;
      arena.peak = step;
    }
  }

  void place(const std::vector<Block*>& blocks, int64_t lower_bound) const {
    const int64_t bound = lower_bound + lower_bound / 256;  // less is not worth a search
    std::vector<Item> items;
    for (const Block* block : blocks) items.push_back({block->bytes, block->first(), block->last()});
    std::vector<int64_t> offsets;
    if (!options_.co_share) {
      int64_t end = 0;
      for (const Item& item : items) offsets.push_back(std::exchange(end, end + item.bytes));
    } else if (blocks.size() <= kFewBlocks) {
      offsets = place_few(items, find_conflicts(blocks), bound).offsets;
    } else {
      // From the first step on that is near and may run beside the block's first one, nothing may lie in its place.
      for (Item& item : items) {
        item.first = reach_.first_beside(std::max(0, item.first - plan_.window), item.first);
      }
      offsets = place_many(items, bound).offsets;
    }
    for (size_t i = 0; i < blocks.size(); ++i) blocks[i]->offset = offsets[i];
  }

  Conflicts find_conflicts(const std::vector<Block*>& blocks) const {
    Conflicts conflicts(blocks.size());
    for (size_t later = 0; later < blocks.size(); ++later) {
      for (size_t earlier = 0; earlier < later; ++earlier) {
        if (!may_end_before(*blocks[earlier], blocks[later]->first())) conflicts.add(earlier, later);
      }
    }
    return conflicts;
  }

  // Sweeps the arena in push order: a block waits for the uses of what lay in its memory just before, as far as nothing
  // orders them already; what lay there earlier still was waited for then.
  void find_edges(const std::vector<Block*>& blocks) {
    struct Piece {
      int64_t end;
      const Block* block;
    };
    std::map<int64_t, Piece> occupied;  // by offset
    for (const Block* block : blocks) {
      const int64_t begin = block->offset, end = begin + block->bytes;
      auto at = occupied.upper_bound(begin);
      if (at != occupied.begin() && std::prev(at)->second.end > begin) --at;
      while (at != occupied.end() && at->first < end) {
        const auto [offset, piece] = *at;
        for (int32_t use : piece.block->open_uses())
          add_edge(piece.block->values.back(), use, block->first());
        at = occupied.erase(at);
        if (offset < begin) occupied.emplace(offset, Piece{begin, piece.block});
        if (piece.end > end) at = std::next(occupied.emplace(end, Piece{piece.end, piece.block}).first);
      }
      occupied.emplace(begin, Piece{end, block});
    }
  }

  // `step` waits for `use` of the value, if nothing makes it wait already.
  void add_edge(int32_t value, int32_t use, int32_t step) {
    if (!reach_.before(use, step)) plan_.edges.push_back({use, step, value});
  }

  std::span<const Value> values_;
  const Options& options_;
  const Reach& reach_;
  std::vector<int32_t> block_of_;
  std::vector<Block> blocks_;
  Plan plan_;
};

// Reuse among neighbours takes parallelism from them, so it is done only where it saves memory: of windows from the widest
// on, the first whose plan is hardly larger than that without any.
Plan balance(std::span<const Value> values, std::span<const InplacePair> pairs, const Options& options,
             const Reach& reach) {
  Plan least = Planner(values, options, reach, 0).run(pairs);
  const int64_t enough = least.bytes() + least.lower_bound() / 100 + kSpareBytes;
  for (int32_t window : {reach.span(), 256, 32, 4}) {
    if (window > reach.span()) continue;
    Plan plan = Planner(values, options, reach, window).run(pairs);
    if (plan.bytes() <= enough) return plan;
  }
  return least;
}

int64_t total(const std::vector<Arena>& arenas, int64_t Arena::*member) {
  return std::accumulate(arenas.begin(), arenas.end(), int64_t{0},
                         [member](int64_t sum, const Arena& arena) { return sum + arena.*member; });
}

}  // namespace

int64_t Plan::bytes() const { return total(arenas, &Arena::bytes); }
int64_t Plan::naive() const { return total(arenas, &Arena::naive); }
int64_t Plan::lower_bound() const { return total(arenas, &Arena::lower_bound); }

Plan plan(std::span<const Value> values, std::span<const InplacePair> pairs, const Options& options) {
  check(values, pairs);
  const Reach reach(values);
  switch (options.ordering) {
    case Ordering::keep: return Planner(values, options, reach, reach.span()).run(pairs);
    case Ordering::balance: return balance(values, pairs, options, reach);
    case Ordering::extend: break;
  }
  return Planner(values, options, reach, 0).run(pairs);
}

}  // namespace loomix::memplan
