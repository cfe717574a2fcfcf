// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/device.h"

// Where the values of a graph live: lifetimes, sizes and in-place candidates in, offsets out. Pure arithmetic.
namespace loomix::memplan {

// One value, written by one step and read by others. Steps are numbered in the order in which they are pushed; a step
// that reads a value comes after its writer, and that is also the only order in which steps must run.
struct Value {
  int64_t bytes = 0;
  Device device;
  int32_t writer = -1;           // -1: exists before the first step
  std::vector<int32_t> readers;  // ascending
  bool pinned = false;           // memory of its own, not planned: arguments, results that users hold
};

// `output` may take the memory of `input`, which its writer reads.
struct InplacePair {
  int32_t input;
  int32_t output;
};

// When two values whose uses do not overlap in the push order may share memory.
enum class Ordering : uint8_t {
  keep,  // if one's last use surely comes before the other's writer: no parallelism is lost, and there are no edges (but
         // between steps that are so far apart that Reach does not know, in graphs of more than 16,384)
  balance,  // as `extend`, but without edges among steps that are near each other, as far as that takes no memory
  extend,  // always; Plan::edges says what must then wait for what
};

struct Options {
  bool inplace = true;
  bool co_share = true;
  Ordering ordering = Ordering::balance;
  int64_t alignment = 64;
};

// `after` must wait for `before`, which uses `value`: the price of a reuse.
struct Edge {
  int32_t before;
  int32_t after;
  int32_t value;
  friend bool operator==(const Edge&, const Edge&) = default;
};

struct Arena {
  Device device;
  int64_t bytes = 0;        // planned
  int64_t naive = 0;        // every value in memory of its own
  int64_t lower_bound = 0;  // largest sum of values alive at one step of the push order
  int32_t peak = 0;         // that step
};

struct Plan {
  std::vector<int64_t> offset;      // in the arena of the value's device; -1 for pinned and empty values
  std::vector<int32_t> inplace_of;  // the value whose memory this one took over, or -1
  std::vector<Arena> arenas;        // sorted by device
  std::vector<Edge> edges;          // sorted
  int64_t bytes() const;
  int64_t naive() const;
  int64_t lower_bound() const;
  int64_t saved() const { return naive() - bytes(); }
};

// Deterministic. In-place pairs are tried in the order given. Throws ValueError for values that no schedule has: a
// reader before its writer, negative sizes, pairs whose writer does not read the input.
Plan plan(std::span<const Value> values, std::span<const InplacePair> pairs, const Options& options = {});

}  // namespace loomix::memplan
