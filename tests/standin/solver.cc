// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/solver.h"

#include <cstring>
#include <vector>

#include "ops/linalg/blas.h"
#include "tests/standin/stream.h"

// ops/cuda/solver.h by LAPACK. The workspace that is asked for is written to; LAPACK's own is allocated here.
namespace loomix::cuda {
namespace {

using ops::Blas;

constexpr size_t kBytes = 64;

// Calls fn<T>(info) on the stream.
template <class Fn>
void put(const SolverCall& call, Fn fn) {
  standin::put_on(call.stream, [=] {
    std::memset(call.workspace, 0x5a, kBytes);
    blasint info = 0;
    if (call.dtype == DType::float64) fn(double{}, &info);
    else fn(float{}, &info);
    *call.info = static_cast<int>(info);
  });
}

}  // namespace

size_t solver_workspace(Factoring, DType, int64_t, int64_t) { return kBytes; }

void factor_cholesky(const SolverCall& call, int64_t order, void* a) {
  put(call, [=]<class T>(T, blasint* info) {
    const auto n = static_cast<blasint>(order);
    Blas<T>::potrf("U", &n, static_cast<T*>(a), &n, info, 1);
  });
}

void invert_cholesky(const SolverCall& call, int64_t order, void* a) {
  put(call, [=]<class T>(T, blasint* info) {
    const auto n = static_cast<blasint>(order);
    Blas<T>::potri("U", &n, static_cast<T*>(a), &n, info, 1);
  });
}

void factor_lu(const SolverCall& call, int64_t order, void* a, int32_t* pivots) {
  put(call, [=]<class T>(T, blasint* info) {
    const auto n = static_cast<blasint>(order);
    Blas<T>::getrf(&n, &n, static_cast<T*>(a), &n, pivots, info);
  });
}

void solve_lu(const SolverCall& call, const Solution& what, const void* lu, const int32_t* pivots, void* b) {
  put(call, [=]<class T>(T, blasint*) {
    const T* const factors = static_cast<const T*>(lu);
    T* const x = static_cast<T*>(b);
    const int64_t order = what.n;
    for (int64_t column = 0; column < what.columns; ++column) {
      T* const own = x + column * order;
      if (what.transpose) {
        for (int64_t j = 0; j < order; ++j) {
          for (int64_t i = 0; i < j; ++i) own[j] -= factors[j * order + i] * own[i];
          own[j] /= factors[j * order + j];
        }
        for (int64_t j = order - 1; j >= 0; --j) {
          for (int64_t i = j + 1; i < order; ++i) own[j] -= factors[j * order + i] * own[i];
        }
        for (int64_t i = order - 1; i >= 0; --i) std::swap(own[i], own[pivots[i] - 1]);
        continue;
      }
      for (int64_t i = 0; i < order; ++i) std::swap(own[i], own[pivots[i] - 1]);
      for (int64_t j = 0; j < order; ++j) {
        for (int64_t i = j + 1; i < order; ++i) own[i] -= factors[j * order + i] * own[j];
      }
      for (int64_t j = order - 1; j >= 0; --j) {
        own[j] /= factors[j * order + j];
        for (int64_t i = 0; i < j; ++i) own[i] -= factors[j * order + i] * own[j];
      }
    }
  });
}

void factor_qr(const SolverCall& call, int64_t rows, int64_t columns, void* a, void* tau) {
  put(call, [=]<class T>(T, blasint* info) {
    const auto m = static_cast<blasint>(rows), n = static_cast<blasint>(columns), length = n * 64;
    std::vector<T> work(static_cast<size_t>(length));
    Blas<T>::geqrf(&m, &n, static_cast<T*>(a), &m, static_cast<T*>(tau), work.data(), &length, info);
  });
}

void make_q(const SolverCall& call, int64_t rows, int64_t columns, void* a, const void* tau) {
  put(call, [=]<class T>(T, blasint* info) {
    const auto m = static_cast<blasint>(rows), n = static_cast<blasint>(columns), length = n * 64;
    std::vector<T> work(static_cast<size_t>(length));
    Blas<T>::orgqr(&m, &n, &n, static_cast<T*>(a), &m, static_cast<const T*>(tau), work.data(), &length,
                   info);
  });
}

void factor_symmetric(const SolverCall& call, int64_t order, void* a, void* values) {
  put(call, [=]<class T>(T, blasint* info) {
    const auto n = static_cast<blasint>(order), length = 1 + 6 * n + 2 * n * n, count = 3 + 5 * n;
    std::vector<T> work(static_cast<size_t>(length));
    std::vector<blasint> integers(static_cast<size_t>(count));
    Blas<T>::syevd("V", "U", &n, static_cast<T*>(a), &n, static_cast<T*>(values), work.data(), &length,
                   integers.data(), &count, info, 1, 1);
  });
}

void factor_singular(const SolverCall& call, int64_t rows, int64_t columns, void* a, void* u, void* values,
                     void* v) {
  put(call, [=]<class T>(T, blasint* info) {
    const auto m = static_cast<blasint>(rows), n = static_cast<blasint>(columns);
    const blasint length = 4 * n * n + 7 * n + 64 * (m + n) + 1;
    std::vector<T> work(static_cast<size_t>(length));
    std::vector<blasint> integers(static_cast<size_t>(8 * n + 1));
    Blas<T>::gesdd("S", &m, &n, static_cast<T*>(a), &m, static_cast<T*>(values), static_cast<T*>(u), &m,
                   static_cast<T*>(v), &n, work.data(), &length, integers.data(), info, 1);
  });
}

}  // namespace loomix::cuda
