// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "base/error.h"
#include "engine/omp_threads.h"
#include "engine/parallel_for.h"
#include "ops/kernel.h"

// Batches of matrices, as kernels walk them.
namespace loomix::ops {

struct Matrices {
  int64_t count, rows, columns;
  explicit Matrices(const Shape& shape)
      : count(shape.size_between(0, shape.ndim() - 2)),
        rows(shape[shape.ndim() - 2]),
        columns(shape[shape.ndim() - 1]) {}
  int64_t size() const { return rows * columns; }
};

// Calls fn(i) for each of `count` matrices, in parallel where `flops` for each make that worth it. BLAS and LAPACK run on
// the thread that calls them: their own threads would make results depend on the number of cores.
template <class Fn>
void each_matrix(const KernelArgs& args, int64_t count, double flops, Fn&& fn) {
  constexpr double kFlopsPerThread = 50'000;
  const auto grain = static_cast<int64_t>(std::max(1.0, kFlopsPerThread / std::max(flops, 1.0)));
  engine::parallel_for(*args.context, count, grain, [&](int64_t begin, int64_t end) {
    engine::set_omp_threads(1);
    for (int64_t i = begin; i < end; ++i) fn(i);
  });
  engine::set_omp_threads(args.context->cores);
}

// The first matrix for which a loop over a batch failed, whichever thread saw it.
class FirstFailure {
 public:
  void note(int64_t item) {
    int64_t first = item_.load(std::memory_order_relaxed);
    while (item < first && !item_.compare_exchange_weak(first, item, std::memory_order_relaxed)) {}
  }
  void check(const char* who, const char* what, int64_t count) const {
    const int64_t item = item_.load(std::memory_order_relaxed);
    LOOMIX_CHECK(item == kNone, ValueError, "[{}] matrix {} of a batch of {} is {}.", who, item, count, what);
  }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> item_{kNone};
};

template <class Fn>
void dispatch_matrix(DType dtype, const char* who, Fn&& fn) {
  dispatch_floating(dtype, who, [&]<class T>(Type<T>) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) fn(Type<T>{});
    else detail::throw_bad_dtype(dtype_of<T>(), who, "float32, float64");
  });
}

}  // namespace loomix::ops
