// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "engine/omp_threads.h"
#include "engine/parallel_for.h"
#include "ops/first_noted.h"
#include "ops/kernel.h"
#include "ops/limits.h"

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

inline int64_t matrices_a_thread(double flops, const WorkLimits& limits = work_limits()) {
  return static_cast<int64_t>(std::max(1.0, limits.matrix_flops / std::max(flops, 1.0)));
}

// Calls fn(i) for each of `count` matrices, in parallel where `flops` for each make that worth it. BLAS and LAPACK run on
// the thread that calls them: their own threads would make results depend on the number of cores.
template <class Fn>
void each_matrix(const KernelArgs& args, int64_t count, double flops, Fn&& fn) {
  engine::parallel_for(*args.context, count, matrices_a_thread(flops), [&](int64_t begin, int64_t end) {
    engine::set_omp_threads(1);
    for (int64_t i = begin; i < end; ++i) fn(i);
  });
  engine::set_omp_threads(args.context->threads);
}

// The first matrix for which a loop over a batch failed, whichever thread saw it.
struct FirstFailure : FirstNoted {
  void check(const char* who, const char* what, int64_t count) const {
    LOOMIX_CHECK(!any(), ValueError, "[{}] matrix {} of a batch of {} is {}.", who, value(), count, what);
  }
};

template <class T>
void mirror_lower(T* matrix, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) matrix[j * n + i] = matrix[i * n + j];
  }
}

}  // namespace loomix::ops
