// SPDX-License-Identifier: Apache-2.0
#include "memplan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/error.h"

namespace loomix::memplan {
namespace {

struct Case {
  std::vector<Value> values;
  std::vector<InplacePair> pairs;
  int steps = 0;
};

// A random graph: every step writes one to three values and reads some earlier ones.
Case random_case(uint32_t seed, int steps) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  Case c;
  c.steps = steps;
  const int reach = 1 + below(30);
  for (int step = 0; step < steps; ++step) {
    std::vector<int32_t> read;
    for (int i = below(4); i > 0 && !c.values.empty(); --i) {
      const int count = static_cast<int>(c.values.size());
      const int value = count - 1 - below(std::min(count, reach));
      if (c.values[value].writer == step) continue;
      if (std::find(read.begin(), read.end(), value) == read.end()) read.push_back(value);
    }
    for (int32_t value : read) c.values[value].readers.push_back(step);
    for (int i = 1 + (below(4) == 0) + (below(8) == 0); i > 0; --i) {
      Value value;
      value.writer = step;
      value.bytes = below(10) == 0 ? 0 : 1 + below(1 << (3 + below(14)));
      value.device = Device::cpu(below(5) == 0);
      value.pinned = below(10) == 0;
      c.values.push_back(value);
      for (int32_t input : read) {
        if (below(2)) c.pairs.push_back({input, static_cast<int32_t>(c.values.size()) - 1});
      }
    }
  }
  return c;
}

// A random order that the dependencies, and the edges of the plan, allow.
std::vector<int> random_order(const Case& c, const Plan& plan, std::mt19937& random) {
  std::vector<std::vector<int>> after(c.steps);
  std::vector<int> blockers(c.steps, 0);
  const auto arrow = [&](int a, int b) {
    after[a].push_back(b);
    ++blockers[b];
  };
  for (const Value& value : c.values) {
    for (int32_t reader : value.readers) arrow(value.writer, reader);
  }
  for (const Edge& edge : plan.edges) arrow(edge.before, edge.after);
  std::vector<int> ready, order;
  for (int step = 0; step < c.steps; ++step) {
    if (blockers[step] == 0) ready.push_back(step);
  }
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const int step = ready.back();
    ready.pop_back();
    order.push_back(step);
    for (int next : after[step]) {
      if (--blockers[next] == 0) ready.push_back(next);
    }
  }
  return order;
}

// Runs the steps one by one in `order` on a memory that remembers who wrote each 64-byte cell last.
void run(const Case& c, const Plan& plan, const std::vector<int>& order) {
  ASSERT_EQ(order.size(), static_cast<size_t>(c.steps)) << "the edges form a cycle";
  std::vector<std::vector<int>> reads(c.steps), writes(c.steps);
  for (size_t v = 0; v < c.values.size(); ++v) {
    writes[c.values[v].writer].push_back(static_cast<int>(v));
    for (int32_t reader : c.values[v].readers) reads[reader].push_back(static_cast<int>(v));
  }
  std::map<Device, std::vector<int>> memory;
  for (const Arena& arena : plan.arenas) memory[arena.device].assign(arena.bytes / 64, -1);
  const auto cells = [&](int v) {
    auto& cells = memory[c.values[v].device];
    EXPECT_EQ(plan.offset[v] % 64, 0);
    const size_t begin = plan.offset[v] / 64, end = begin + (c.values[v].bytes + 63) / 64;
    EXPECT_LE(end, cells.size());
    return std::span<int>(cells).subspan(begin, end - begin);
  };
  for (int step : order) {
    for (int v : reads[step]) {
      if (plan.offset[v] < 0) continue;
      for (int owner : cells(v)) ASSERT_EQ(owner, v) << "step " << step << " reads what another wrote";
    }
    for (int v : writes[step]) {
      if (plan.offset[v] < 0) continue;
      for (int& owner : cells(v)) {
        // Outputs of one step must not overlap, nor its inputs but the one whose memory is taken over.
        ASSERT_TRUE(owner < 0 || c.values[owner].writer != step);
        ASSERT_TRUE(owner < 0 || plan.inplace_of[v] == owner ||
                    std::find(reads[step].begin(), reads[step].end(), owner) == reads[step].end());
        owner = v;
      }
    }
  }
}

void check(uint32_t seed, int steps, const Options& options) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed << ", " << steps << " steps");
  const Case c = random_case(seed, steps);
  const Plan plan = memplan::plan(c.values, c.pairs, options);
  EXPECT_LE(plan.bytes(), plan.naive());
  EXPECT_GE(plan.bytes(), plan.lower_bound());
  if (options.ordering == Ordering::keep && steps < 16384) {
    EXPECT_TRUE(plan.edges.empty());
  }
  if (!options.inplace) {
    for (int32_t of : plan.inplace_of) EXPECT_EQ(of, -1);
    if (!options.co_share) {
      EXPECT_EQ(plan.bytes(), plan.naive());
    }
  }
  for (size_t v = 0; v < c.values.size(); ++v) {
    EXPECT_EQ(plan.offset[v] < 0, c.values[v].pinned || c.values[v].bytes == 0);
  }
  std::mt19937 random(seed + 1);
  for (int i = 0; i < 5; ++i) run(c, plan, random_order(c, plan, random));
  const Plan again = memplan::plan(c.values, c.pairs, options);
  EXPECT_EQ(again.offset, plan.offset);
  EXPECT_EQ(again.edges, plan.edges);
}

TEST(MemPlan, RandomLifetimesNeverOverlap) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    for (bool inplace : {false, true}) {
      for (bool co_share : {false, true}) {
        for (Ordering ordering : {Ordering::keep, Ordering::balance, Ordering::extend}) {
          check(seed, 1 + static_cast<int>(seed % 60), {inplace, co_share, ordering});
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(MemPlan, LargeGraphsToo) {
  uint32_t seed = 0;
  for (Ordering ordering : {Ordering::keep, Ordering::balance, Ordering::extend}) {
    for (int steps : {3000, 9000, 20000}) {
      check(++seed, steps, {true, true, ordering});
      if (HasFatalFailure()) return;
    }
  }
}

// Step i reads what step i - 1 wrote.
std::vector<Value> chain(int steps, int64_t bytes) {
  std::vector<Value> values(steps);
  for (int i = 0; i < steps; ++i) {
    values[i].bytes = bytes;
    values[i].writer = i;
    if (i + 1 < steps) values[i].readers = {i + 1};
  }
  return values;
}

// Chains side by side, pushed one after the other.
std::vector<Value> chains(int count, int steps, int64_t bytes) {
  std::vector<Value> values;
  for (int i = 0; i < count; ++i) {
    for (Value value : chain(steps, bytes)) {
      value.writer += steps * i;
      for (auto& reader : value.readers) reader += steps * i;
      values.push_back(value);
    }
  }
  return values;
}

TEST(MemPlan, ChainNeedsTwoBuffersAndInPlaceOne) {
  const auto values = chain(10, 640);
  EXPECT_EQ(plan(values, {}).bytes(), 1280);
  EXPECT_EQ(plan(values, {}).lower_bound(), 1280);
  EXPECT_EQ(plan(values, {}, {.co_share = false}).bytes(), 6400);
  std::vector<InplacePair> pairs;
  for (int i = 1; i < 10; ++i) pairs.push_back({i - 1, i});
  EXPECT_EQ(plan(values, pairs).bytes(), 640);
  EXPECT_EQ(plan(values, pairs).saved(), 5760);
  EXPECT_EQ(plan(values, pairs, {.inplace = false}).bytes(), 1280);
}

TEST(MemPlan, InPlaceNeedsTheLastUse) {
  auto values = chain(3, 64);
  values[0].readers.push_back(2);  // read again after step 1 wrote its output
  const std::vector<InplacePair> pairs = {{0, 1}};
  EXPECT_EQ(plan(values, pairs).inplace_of[1], -1);
}

// Two chains that nothing orders may run side by side, so they share only if the push order may be relied on.
TEST(MemPlan, ParallelChainsShareOnlyAtAPrice) {
  const auto values = chains(2, 3, 64);
  const Plan kept = plan(values, {}, {.ordering = Ordering::keep});
  EXPECT_EQ(kept.bytes(), 256);
  EXPECT_TRUE(kept.edges.empty());
  const Plan extended = plan(values, {}, {.ordering = Ordering::extend});
  EXPECT_EQ(extended.bytes(), 128);
  EXPECT_FALSE(extended.edges.empty());
}

// Layers whose values are kept for steps that come in reverse order, with scratch memory on the way: forward step i, and
// backward step 2n - 1 - i.
std::vector<Value> training(int layers, int64_t bytes) {
  std::vector<Value> values;
  const auto add = [&](int64_t size, int32_t writer, std::vector<int32_t> readers) {
    values.push_back({size, {}, writer, std::move(readers)});
  };
  const int last = 2 * layers - 1;
  for (int i = 0; i < layers; ++i) {
    const int64_t size = bytes * (1 + i * 7 % 5);
    add(size, i, i + 1 < layers ? std::vector{i + 1, last - i - 1, last - i} : std::vector{last - i});
    if (i > 0) add(size, last - i, {last - i + 1});
    add(bytes * (1 + i * 3 % 4), i, {});
    add(bytes * (1 + i * 5 % 6), last - i, {});
  }
  for (Value& value : values) {
    value.readers.erase(std::unique(value.readers.begin(), value.readers.end()), value.readers.end());
  }
  return values;
}

TEST(MemPlan, TrainingNeedsHardlyMoreThanTheBound) {
  for (int layers : {3, 30, 300, 3000, 30000}) {
    const auto values = training(layers, 1 << 20);
    const Plan least = plan(values, {}, {.ordering = Ordering::extend});
    EXPECT_LE(least.bytes(), least.lower_bound() + least.lower_bound() / 50) << layers << " layers";
    const Plan balanced = plan(values, {});
    EXPECT_LE(balanced.bytes(), least.bytes() + least.lower_bound() / 25 + (256 << 10))
        << layers << " layers";
  }
}

TEST(MemPlan, BalanceGivesUpParallelismOnlyForMuchMemory) {
  const auto large = chains(20, 100, 1 << 20);
  EXPECT_EQ(plan(large, {}, {.ordering = Ordering::keep}).bytes(), 40 << 20);
  const Plan balanced = plan(large, {});
  EXPECT_EQ(balanced.bytes(), 2 << 20);
  EXPECT_FALSE(balanced.edges.empty());
  EXPECT_TRUE(plan(chains(20, 100, 4096), {}).edges.empty());
  EXPECT_TRUE(plan(chain(1000, 1 << 20), {}).edges.empty());
}

// The gradients of data and weight of one layer, and those of the next ones, may run side by side.
TEST(MemPlan, BalanceLeavesWaitsWhereMemoryIsShort) {
  constexpr int kLayers = 40;
  constexpr int64_t kBytes = 1 << 20;
  const auto to_data = [](int layer) { return kLayers + 2 * (kLayers - 1 - layer); };
  const auto to_weight = [&](int layer) { return to_data(layer) + 1; };
  std::vector<Value> values;
  const auto add = [&](int writer, std::vector<int32_t> readers) {
    values.push_back(
        {.bytes = kBytes, .device = Device::cpu(), .writer = writer, .readers = std::move(readers)});
  };
  for (int layer = 0; layer < kLayers; ++layer) {
    if (layer + 1 < kLayers) add(layer, {layer + 1, to_weight(layer + 1)});
    if (layer > 0) add(to_data(layer), {to_data(layer - 1), to_weight(layer - 1)});
    for (int step : {layer, to_data(layer), to_weight(layer)}) add(step, {});  // scratch
  }
  const Plan least = plan(values, {}, {.ordering = Ordering::extend}), balanced = plan(values, {});
  EXPECT_LE(balanced.bytes(), least.bytes() + least.bytes() / 20);
  EXPECT_GT(plan(values, {}, {.ordering = Ordering::keep}).bytes(), least.bytes() * 3 / 2);
  const auto waits_of_neighbours = [](const Plan& plan) {
    return std::ranges::count_if(plan.edges, [](const Edge& edge) { return edge.after - edge.before <= 4; });
  };
  EXPECT_LT(waits_of_neighbours(balanced), waits_of_neighbours(least) / 2)
      << waits_of_neighbours(balanced) << " of " << waits_of_neighbours(least);
}

TEST(MemPlan, DevicesHaveArenasOfTheirOwn) {
  auto values = chain(4, 64);
  values[2].device = values[3].device = Device::cpu(1);
  const Plan p = plan(values, {});
  ASSERT_EQ(p.arenas.size(), 2u);
  EXPECT_EQ(p.arenas[0].device, Device::cpu(0));
  EXPECT_EQ(p.arenas[1].bytes, 128);
}

TEST(MemPlan, BadInputIsNamed) {
  auto values = chain(2, 64);
  const InplacePair far{0, 9}, unread{1, 0};
  EXPECT_THROW(plan(values, {&far, 1}), ValueError);
  EXPECT_THROW(plan(values, {&unread, 1}), ValueError);
  values[1].readers = {0};
  EXPECT_THROW(plan(values, {}), ValueError);
  values[1].readers.clear();
  values[1].bytes = -1;
  EXPECT_THROW(plan(values, {}), ValueError);
}

}  // namespace
}  // namespace loomix::memplan
