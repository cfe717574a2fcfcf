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
// conflict if their uses overlap in the push order, or if the later one begins while the memory of the earlier one is left
// alone and nothing makes all uses of that come before.
namespace loomix::memplan {
namespace {

constexpr size_t kFewBlocks = 3000;                          // more are placed by the methods for many
constexpr int64_t kSpareBytes = 256 << 10, kSparePart = 25;  // that no parallelism is given up for
constexpr int32_t kFarthest = 64;  // steps: what is pushed so much later hardly ever starts so early

struct Block {
  int64_t bytes = 0;
  Device device;
  std::vector<int32_t> values;  // in the order in which they take over
  std::vector<int32_t> uses;    // steps, sorted, unique
  size_t settled = 0;           // place in `uses` of the step that wrote the last value
  // Steps after the last use in which nothing that may run beside it takes its memory.
  int32_t left_alone = 0;
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

// What a plan may cost.
struct Limits {
  bool waits = true;  // whether steps may have to wait for memory that is used again
  // Waits among neighbours are avoided as long as no more is alive at once on a device; none: they are not avoided.
  std::map<Device, int64_t> bytes;
  double part = 1;  // of these, as a placement may need more than what is alive
};

class Planner {
 public:
  Planner(std::span<const Value> values, std::span<const InplacePair> pairs, const Options& options,
          const Reach& reach, bool waits_in_place)
      : values_(values),
        options_(options),
        reach_(reach),
        waits_in_place_(waits_in_place),
        block_of_(values.size(), -1) {
    plan_.offset.assign(values.size(), -1);
    plan_.inplace_of.assign(values.size(), -1);
    make_blocks(pairs);
    for (Block& block : blocks_) {
      if (!block.values.empty()) by_device_[block.device].push_back(&block);
    }
    for (auto& [device, blocks] : by_device_) {
      std::sort(blocks.begin(), blocks.end(), [](const Block* a, const Block* b) {
        return std::tuple(a->first(), a->values.front()) < std::tuple(b->first(), b->values.front());
      });
      plan_.arenas.push_back({device});
      find_peak(blocks, plan_.arenas.back());
    }
  }

  int64_t lower_bound() const { return plan_.lower_bound(); }

  Plan run(const Limits& limits) {
    Plan result = plan_;
    for (Arena& arena : result.arenas) {
      const auto& blocks = by_device_.at(arena.device);
      const auto limit = limits.bytes.find(arena.device);
      for (Block* block : blocks) block->left_alone = limits.waits ? 0 : reach_.span();
      if (!limits.waits && blocks.size() > kFewBlocks && beside_.empty()) beside_ = reach_.last_beside();
      if (limits.waits && limit != limits.bytes.end())
        leave_alone(blocks, limits.part * static_cast<double>(limit->second));
      // Less than 1/256 is not worth a search.
      place(blocks,
            limit != limits.bytes.end() ? limit->second : arena.lower_bound + arena.lower_bound / 256);
      for (const Block* block : blocks) {
        arena.bytes = std::max(arena.bytes, block->offset + block->bytes);
        for (int32_t value : block->values) {
          arena.naive += aligned(values_[value].bytes);
          result.offset[value] = block->offset;
        }
      }
      find_edges(blocks, result.edges);
    }
    std::sort(result.edges.begin(), result.edges.end(), [](const Edge& a, const Edge& b) {
      return std::tie(a.after, a.before, a.value) < std::tie(b.after, b.before, b.value);
    });
    result.edges.erase(std::unique(result.edges.begin(), result.edges.end()), result.edges.end());
    return result;
  }

 private:
  int64_t aligned(int64_t bytes) const {
    return (bytes + options_.alignment - 1) / options_.alignment * options_.alignment;
  }

  // Whether no use of the block may still go on when `step` starts, or `step` has to wait then.
  bool is_free(const Block& block, int32_t step) const {
    if (step - block.last() > block.left_alone) return true;
    return block.last() < step &&
           std::ranges::all_of(block.open_uses(), [&](int32_t use) { return reach_.before(use, step); });
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
    const auto is_sure = [&](int32_t use) { return reach_.before(use, step); };
    if (!waits_in_place_ && !std::ranges::all_of(others, is_sure)) return;
    for (int32_t use : others) add_edge(pair.input, use, step, plan_.edges);
    plan_.inplace_of[pair.output] = pair.input;
    for (int32_t value : newer.values) block_of_[value] = into;
    older.values.insert(older.values.end(), newer.values.begin(), newer.values.end());
    older.settled = older.uses.size() - 1 + newer.settled;
    older.uses.insert(older.uses.end(), newer.uses.begin() + 1, newer.uses.end());
    newer = Block();
  }

  // Bytes in use at each step. Values that take over memory are alive together only within their writer, so a block's size
  // counts from its first to its last use.
  std::vector<int64_t> bytes_alive(const std::vector<Block*>& blocks) const {
    std::vector<int64_t> alive(static_cast<size_t>(reach_.steps()) + 1, 0);
    for (const Block* block : blocks) {
      alive[block->first()] += block->bytes;
      alive[block->last() + 1] -= block->bytes;
    }
    std::partial_sum(alive.begin(), alive.end(), alive.begin());
    return alive;
  }

  void find_peak(const std::vector<Block*>& blocks, Arena& arena) const {
    const std::vector<int64_t> alive = bytes_alive(blocks);
    const auto peak = std::ranges::max_element(alive);
    arena.lower_bound = *peak;
    arena.peak = static_cast<int32_t>(peak - alive.begin());
  }

  // Leaves the memory of blocks alone after their last use, all of them a step more in turn, as long as what is alive then
  // stays within `limit`.
  void leave_alone(const std::vector<Block*>& blocks, double limit) const {
    std::vector<int64_t> alive = bytes_alive(blocks);
    std::vector<Block*> growing = blocks;
    for (int32_t distance = 1; distance <= kFarthest && !growing.empty(); ++distance) {
      std::erase_if(growing, [&](Block* block) {
        const int32_t step = block->last() + distance;
        if (step >= reach_.steps() || static_cast<double>(alive[step] + block->bytes) > limit) return true;
        alive[step] += block->bytes;
        block->left_alone = distance;
        return false;
      });
    }
  }

  void place(const std::vector<Block*>& blocks, int64_t bound) const {
    std::vector<Item> items;
    for (const Block* block : blocks) items.push_back({block->bytes, block->first(), block->last()});
    std::vector<int64_t> offsets;
    if (!options_.co_share) {
      int64_t end = 0;
      for (const Item& item : items) offsets.push_back(std::exchange(end, end + item.bytes));
    } else if (blocks.size() <= kFewBlocks) {
      offsets = place_few(items, find_conflicts(blocks), bound).offsets;
    } else {
      for (size_t i = 0; i < items.size(); ++i) items[i].last = end_of(*blocks[i]);
      offsets = place_many(items, bound).offsets;
    }
    for (size_t i = 0; i < blocks.size(); ++i) blocks[i]->offset = offsets[i];
  }

  // The last step in which nothing may take the block's memory.
  int32_t end_of(const Block& block) const {
    int32_t step =
        static_cast<int32_t>(std::min<int64_t>(int64_t{block.last()} + block.left_alone, reach_.steps() - 1));
    if (block.left_alone > kFarthest && !beside_.empty()) {  // else a step at a time takes long
      int32_t end = block.last();
      for (const int32_t use : block.open_uses())
        end = reach_.knows(use, step) ? std::max(end, beside_[static_cast<size_t>(use)]) : step;
      if (end <= step) return end;
    }
    while (step > block.last() && is_free(block, step)) --step;
    return step;
  }

  Conflicts find_conflicts(const std::vector<Block*>& blocks) const {
    Conflicts conflicts(blocks.size());
    for (size_t later = 0; later < blocks.size(); ++later) {
      for (size_t earlier = 0; earlier < later; ++earlier) {
        if (!is_free(*blocks[earlier], blocks[later]->first())) conflicts.add(earlier, later);
      }
    }
    return conflicts;
  }

  // Sweeps the arena in push order: a block waits for the uses of what lay in its memory just before, as far as nothing
  // orders them already; what lay there earlier still was waited for then.
  void find_edges(const std::vector<Block*>& blocks, std::vector<Edge>& edges) const {
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
          add_edge(piece.block->values.back(), use, block->first(), edges);
        at = occupied.erase(at);
        if (offset < begin) occupied.emplace(offset, Piece{begin, piece.block});
        if (piece.end > end) at = std::next(occupied.emplace(end, Piece{piece.end, piece.block}).first);
      }
      occupied.emplace(begin, Piece{end, block});
    }
  }

  // `step` waits for `use` of the value, if nothing makes it wait already.
  void add_edge(int32_t value, int32_t use, int32_t step, std::vector<Edge>& edges) const {
    if (!reach_.before(use, step)) edges.push_back({use, step, value});
  }

  std::span<const Value> values_;
  const Options& options_;
  const Reach& reach_;
  const bool waits_in_place_;
  std::vector<int32_t> block_of_;
  std::vector<Block> blocks_;
  std::map<Device, std::vector<Block*>> by_device_;
  std::vector<int32_t> beside_;  // see Reach::last_beside; empty until it is needed
  Plan plan_;                    // but for the places
};

// A wait among neighbours takes parallelism from them, so there is one only where it saves memory: the plan with all waits
// says how much is needed, and the others may take hardly more.
Plan balance(std::span<const Value> values, std::span<const InplacePair> pairs, const Options& options,
             const Reach& reach) {
  Planner with_waits(values, pairs, options, reach, true);
  Plan least = with_waits.run({});
  Limits limits;
  int64_t enough = 0;
  for (const Arena& arena : least.arenas) {
    enough += limits.bytes[arena.device] = arena.bytes + arena.lower_bound / kSparePart + kSpareBytes;
  }
  const auto improve = [&](Planner& planner) {
    if (planner.lower_bound() > enough) return false;
    for (double part : {1.0, 0.94, 0.88, 0.8, 0.65, 0.5}) {
      limits.part = part;
      Plan plan = planner.run(limits);
      if (plan.bytes() > enough) continue;
      least = std::move(plan);
      return true;
    }
    return false;
  };
  Planner without(values, pairs, options, reach, false);
  if (least.bytes() <= kSpareBytes) {
    Plan plan = without.run({.waits = false, .bytes = limits.bytes});
    if (plan.bytes() <= enough) return plan;
  }
  if (!improve(without)) improve(with_waits);
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
  if (options.ordering == Ordering::balance) return balance(values, pairs, options, reach);
  const bool waits = options.ordering == Ordering::extend;
  return Planner(values, pairs, options, reach, waits).run({.waits = waits, .bytes = {}});
}

}  // namespace loomix::memplan
