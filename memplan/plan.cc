// SPDX-License-Identifier: Apache-2.0
#include "memplan/plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "memplan/reach.h"

// Values that share memory by in-place form a block; blocks are then placed in the arena of their device, the largest
// first, each into the smallest gap that the blocks it conflicts with leave (best fit), else at the end of what they
// occupy. Two blocks conflict unless every use of one comes before the writer of the other. Above kMaxBlocks blocks that
// takes too long, and blocks are placed in push order into the smallest free piece.
namespace loomix::memplan {
namespace {

constexpr size_t kMaxBlocks = 6000;

struct Block {
  int64_t bytes = 0;
  Device device;
  std::vector<int32_t> values;  // in the order in which they take over
  std::vector<int32_t> uses;    // steps, sorted, unique
  int64_t offset = -1;
  int32_t first() const { return uses.front(); }
  int32_t last() const { return uses.back(); }
};

void check(std::span<const Value> values, std::span<const InplacePair> pairs) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& value = values[i];
    LOOMIX_CHECK(value.bytes >= 0, ValueError, "[memplan] value {} has {} bytes; expected none or more.", i,
                 value.bytes);
    LOOMIX_CHECK(value.pinned || value.writer >= 0, ValueError,
                 "[memplan] value {} has no writer and is not pinned.", i);
    for (int32_t reader : value.readers) {
      LOOMIX_CHECK(reader > value.writer, ValueError,
                   "[memplan] value {} is read at step {} but written at step {}; expected an earlier step.",
                   i, reader, value.writer);
    }
  }
  for (const InplacePair& pair : pairs) {
    const auto count = static_cast<int32_t>(values.size());
    LOOMIX_CHECK(pair.input >= 0 && pair.input < count && pair.output >= 0 && pair.output < count, ValueError,
                 "[memplan] in-place pair ({}, {}) names a value beyond the {} given.", pair.input,
                 pair.output, count);
    const auto& readers = values[pair.input].readers;
    LOOMIX_CHECK(std::find(readers.begin(), readers.end(), values[pair.output].writer) != readers.end(),
                 ValueError,
                 "[memplan] in-place pair ({}, {}): the writer of the second does not read the first.",
                 pair.input, pair.output);
  }
}

class Planner {
 public:
  Planner(std::span<const Value> values, const Options& options)
      : values_(values), options_(options), reach_(values), block_of_(values.size(), -1) {
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
      Arena arena{device, 0, 0, lower_bound(blocks)};
      if (!options_.co_share) {
        place_apart(blocks);
      } else if (blocks.size() <= kMaxBlocks) {
        place_by_size(blocks);
      } else if (options_.ordering == Ordering::extend) {
        place_by_time(blocks);
      } else {
        place_apart(blocks);
      }
      for (const Block* block : blocks) {
        arena.bytes = std::max(arena.bytes, block->offset + block->bytes);
        for (int32_t value : block->values) {
          arena.naive += aligned(values_[value].bytes);
          plan_.offset[value] = block->offset;
        }
      }
      if (options_.ordering == Ordering::extend) find_edges(blocks);
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

  // Every one of `uses` is done before `step` starts: surely, or by the push order where that may be relied on.
  bool done_before(const Block& block, int32_t step) const {
    if (options_.ordering == Ordering::extend) return block.last() < step;
    for (auto use = block.uses.rbegin(); use != block.uses.rend(); ++use) {
      if (!reach_.before(*use, step)) return false;
    }
    return true;
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
      block.uses = value.readers;
      block.uses.push_back(value.writer);
      std::sort(block.uses.begin(), block.uses.end());
      block.uses.erase(std::unique(block.uses.begin(), block.uses.end()), block.uses.end());
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
    std::vector<int32_t> others(older.uses.begin(), older.uses.end() - 1);
    for (int32_t use : others) {
      if (reach_.before(use, step)) continue;
      if (options_.ordering == Ordering::keep) return;
      for (int32_t value : older.values) {
        if (uses(value, use)) plan_.edges.push_back({use, step, value});
      }
    }
    plan_.inplace_of[pair.output] = pair.input;
    for (int32_t value : newer.values) block_of_[value] = into;
    older.values.insert(older.values.end(), newer.values.begin(), newer.values.end());
    std::vector<int32_t> merged;
    std::set_union(older.uses.begin(), older.uses.end(), newer.uses.begin(), newer.uses.end(),
                   std::back_inserter(merged));
    older.uses = std::move(merged);
    newer = Block();
  }

  bool uses(int32_t value, int32_t step) const {
    const auto& readers = values_[value].readers;
    return values_[value].writer == step || std::find(readers.begin(), readers.end(), step) != readers.end();
  }

  // Values that take over memory are alive together only within their writer, so a block's size counts from its first
  // to its last use.
  int64_t lower_bound(const std::vector<Block*>& blocks) const {
    std::vector<int64_t> change(reach_.steps() + 1, 0);
    for (const Block* block : blocks) {
      change[block->first()] += block->bytes;
      change[block->last() + 1] -= block->bytes;
    }
    int64_t alive = 0, most = 0;
    for (int64_t c : change) most = std::max(most, alive += c);
    return most;
  }

  static void place_apart(const std::vector<Block*>& blocks) {
    int64_t end = 0;
    for (Block* block : blocks) {
      block->offset = end;
      end += block->bytes;
    }
  }

  void place_by_size(std::vector<Block*> order) {
    std::stable_sort(order.begin(), order.end(),
                     [](const Block* a, const Block* b) { return a->bytes > b->bytes; });
    std::vector<const Block*> placed;  // sorted by offset
    std::vector<const Block*> conflicting;
    for (Block* block : order) {
      conflicting.clear();
      for (const Block* other : placed) {
        if (!done_before(*other, block->first()) && !done_before(*block, other->first()))
          conflicting.push_back(other);
      }
      block->offset = best_gap(conflicting, block->bytes);
      const auto at = std::upper_bound(placed.begin(), placed.end(), block->offset,
                                       [](int64_t offset, const Block* b) { return offset < b->offset; });
      placed.insert(at, block);
    }
  }

  // The start of the smallest gap of at least `bytes` between `blocks`, which are sorted by offset and may overlap.
  static int64_t best_gap(const std::vector<const Block*>& blocks, int64_t bytes) {
    int64_t end = 0, best = -1, best_size = 0;
    for (const Block* block : blocks) {
      const int64_t gap = block->offset - end;
      if (gap >= bytes && (best < 0 || gap < best_size)) {
        best = end;
        best_size = gap;
      }
      end = std::max(end, block->offset + block->bytes);
    }
    return best >= 0 ? best : end;
  }

  void place_by_time(std::vector<Block*> order) {
    std::stable_sort(order.begin(), order.end(),
                     [](const Block* a, const Block* b) { return a->first() < b->first(); });
    std::map<int64_t, int64_t> free_at;            // offset -> size
    std::multimap<int64_t, int64_t> free_by_size;  // size -> offset
    std::multimap<int32_t, const Block*> alive;    // by last use
    int64_t end = 0;
    const auto forget = [&](int64_t offset, int64_t size) {
      free_at.erase(offset);
      auto [at, stop] = free_by_size.equal_range(size);
      while (at != stop && at->second != offset) ++at;
      free_by_size.erase(at);
    };
    const auto keep = [&](int64_t offset, int64_t size) {
      free_at.emplace(offset, size);
      free_by_size.emplace(size, offset);
    };
    for (Block* block : order) {
      while (!alive.empty() && alive.begin()->first < block->first()) {
        int64_t offset = alive.begin()->second->offset, size = alive.begin()->second->bytes;
        alive.erase(alive.begin());
        auto next = free_at.lower_bound(offset);
        if (next != free_at.end() && next->first == offset + size) {
          const auto [o, s] = *next;
          forget(o, s);
          size += s;
        }
        next = free_at.lower_bound(offset);
        if (next != free_at.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
          const auto [o, s] = *std::prev(next);
          forget(o, s);
          offset = o;
          size += s;
        }
        keep(offset, size);
      }
      const auto fit = free_by_size.lower_bound(block->bytes);
      if (fit == free_by_size.end()) {
        block->offset = end;
        end += block->bytes;
      } else {
        const auto [size, offset] = *fit;
        forget(offset, size);
        block->offset = offset;
        if (size > block->bytes) keep(offset + block->bytes, size - block->bytes);
      }
      alive.emplace(block->last(), block);
    }
  }

  // Sweeps the arena in push order: a block waits for the uses of what lay in its memory just before, as far as nothing
  // orders them already; what lay there earlier still was waited for then.
  void find_edges(std::vector<Block*> order) {
    std::sort(order.begin(), order.end(),
              [](const Block* a, const Block* b) { return a->first() < b->first(); });
    struct Piece {
      int64_t end;
      const Block* block;
    };
    std::map<int64_t, Piece> occupied;  // by offset
    for (const Block* block : order) {
      const int64_t begin = block->offset, end = begin + block->bytes;
      auto at = occupied.upper_bound(begin);
      if (at != occupied.begin() && std::prev(at)->second.end > begin) --at;
      while (at != occupied.end() && at->first < end) {
        const auto [offset, piece] = *at;
        add_edges(*piece.block, block->first());
        at = occupied.erase(at);
        if (offset < begin) occupied.emplace(offset, Piece{begin, piece.block});
        if (piece.end > end) at = std::next(occupied.emplace(end, Piece{piece.end, piece.block}).first);
      }
      occupied.emplace(begin, Piece{end, block});
    }
  }

  void add_edges(const Block& earlier, int32_t step) {
    const auto add = [&](int32_t use, int32_t value) {
      if (!reach_.before(use, step)) plan_.edges.push_back({use, step, value});
    };
    for (int32_t value : earlier.values) {
      add(values_[value].writer, value);
      for (int32_t reader : values_[value].readers) add(reader, value);
    }
  }

  std::span<const Value> values_;
  const Options& options_;
  Reach reach_;
  std::vector<int32_t> block_of_;
  std::vector<Block> blocks_;
  Plan plan_;
};

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
  return Planner(values, options).run(pairs);
}

}  // namespace loomix::memplan
