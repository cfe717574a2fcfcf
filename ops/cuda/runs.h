// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/device/cuda/element.h"
#include "engine/device/cuda/launch.h"
#include "ops/cuda/index.h"

// Sums of what goes to the same place, in a fixed order: contributions are sorted by their place (sort.h keeps their order), so those of
// a place are neighbours, a run, which one thread adds up.
namespace loomix::cuda {

struct Runs {
  const uint32_t* place;  // sorted
  const uint32_t* from;   // the contribution's number
  int64_t count;
  uint32_t places;            // what is not below it goes nowhere
  Divider columns;            // each contribution has one value a column
  bool columns_first = true;  // whether neighbouring threads have neighbouring columns, or neighbouring runs

  int64_t items() const { return count * columns.divisor(); }
  struct Item {
    int64_t first, column;
  };
  Divider runs = Divider(1);  // of `count`
  __device__ Item item(int64_t i) const {
    if (columns_first) {
      const int64_t first = columns.quotient(i);
      return {first, i - first * columns.divisor()};
    }
    const int64_t column = runs.quotient(i);
    return {i - column * count, column};
  }
  __device__ bool begins(int64_t i) const {
    return place[i] < places && (i == 0 || place[i - 1] != place[i]);
  }
};

template <class Sum, class Value>
__device__ Sum sum_run(const Runs& runs, int64_t i, int64_t column, const Value& value) {
  constexpr int kAtOnce = 8;  // reads that do not wait for each other
  const uint32_t place = runs.place[i];
  Sum sum = 0;
  for (; i + kAtOnce <= runs.count && runs.place[i + kAtOnce - 1] == place; i += kAtOnce) {
    Sum part[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) part[k] = value(runs.from[i + k], column);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) sum += part[k];
  }
  for (; i < runs.count && runs.place[i] == place; ++i) sum += value(runs.from[i], column);
  return sum;
}

// put(place, column, sum of value(contribution, column)) for each place that something goes to.
template <class Sum, class Value, class Put>
__global__ void sum_runs_kernel(int64_t items, Runs runs, Value value, Put put) {
  for (const int64_t i : own_items(items)) {
    const Runs::Item item = runs.item(i);
    if (runs.begins(item.first))
      put(runs.place[item.first], item.column, sum_run<Sum>(runs, item.first, item.column, value));
  }
}
template <class Sum, class Value, class Put>
void sum_runs(const Runs& runs, Value value, Put put, cudaStream_t stream) {
  if (runs.items() > 0)
    launch(sum_runs_kernel<Sum, Value, Put>, grid_for(runs.items()), stream, runs.items(), runs, value, put);
}

}  // namespace loomix::cuda
