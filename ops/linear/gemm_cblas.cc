// SPDX-License-Identifier: Apache-2.0
#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "engine/omp_threads.h"
#include "engine/parallel_for.h"
#include "ops/linear/gemm.h"

namespace loomix::ops {
namespace {

constexpr double kFlopsForTeam = 400'000;  // smaller products are faster on one thread

struct Leading {
  int64_t a, b, c;  // distances between rows
};

void gemm(const MatMul& s, const Leading& ld, const float* a, const float* b, float* c) {
  const auto size = [](int64_t n) { return static_cast<blasint>(n); };
  const float beta = s.add ? 1.0f : 0.0f;
  if (s.m == 1) {
    // y = op(B)^T a: B is (n, k) if it is to be transposed, else (k, n).
    cblas_sgemv(CblasRowMajor, s.transpose_b ? CblasNoTrans : CblasTrans, size(s.transpose_b ? s.n : s.k),
                size(s.transpose_b ? s.k : s.n), 1.0f, b, size(ld.b), a, s.transpose_a ? size(ld.a) : 1, beta,
                c, 1);
    return;
  }
  cblas_sgemm(CblasRowMajor, s.transpose_a ? CblasTrans : CblasNoTrans,
              s.transpose_b ? CblasTrans : CblasNoTrans, size(s.m), size(s.n), size(s.k), 1.0f, a, size(ld.a),
              b, size(ld.b), beta, c, size(ld.c));
}

void gemm(const MatMul& s, const Leading& ld, const double* a, const double* b, double* c) {
  const auto size = [](int64_t n) { return static_cast<blasint>(n); };
  cblas_dgemm(CblasRowMajor, s.transpose_a ? CblasTrans : CblasNoTrans,
              s.transpose_b ? CblasTrans : CblasNoTrans, size(s.m), size(s.n), size(s.k), 1.0, a, size(ld.a),
              b, size(ld.b), s.add ? 1.0 : 0.0, c, size(ld.c));
}

// One thread's call for each block of C. Blocks wait for no one, where the threads of one BLAS call wait for each other at
// every panel, which costs a multiple when something else wants a core.
template <class T>
void gemm_by_blocks(const MatMul& s, const T* a, const T* b, T* c, engine::RunContext& context) {
  constexpr int64_t kUnit = 32;          // blocks begin at full vectors
  constexpr int64_t kBlocksPerCore = 2;  // each packs its rows of A and columns of B
  const Leading ld{s.transpose_a ? s.m : s.k, s.transpose_b ? s.k : s.n, s.n};
  const double m = static_cast<double>(s.m), n = static_cast<double>(s.n);
  engine::set_omp_threads(1);
  if (context.cores == 1 || 2.0 * m * n * static_cast<double>(s.k) < kFlopsForTeam) {
    gemm(s, ld, a, b, c);
  } else {
    const int64_t wanted = context.cores * kBlocksPerCore;
    const auto units = [](int64_t length) { return (length + kUnit - 1) / kUnit; };
    const int64_t rows = std::clamp<int64_t>(std::llround(std::sqrt(static_cast<double>(wanted) * m / n)), 1,
                                             std::min(wanted, units(s.m)));
    const int64_t columns = std::min((wanted + rows - 1) / rows, units(s.n));
    const auto edge = [&](int64_t i, int64_t parts, int64_t length) {
      return std::min(units(length) * i / parts * kUnit, length);
    };
    engine::parallel_for(context, rows * columns, 1, [&](int64_t first, int64_t last) {
      for (int64_t block = first; block < last; ++block) {
        const int64_t top = edge(block / columns, rows, s.m);
        const int64_t left = edge(block % columns, columns, s.n);
        MatMul part = s;
        part.m = edge(block / columns + 1, rows, s.m) - top;
        part.n = edge(block % columns + 1, columns, s.n) - left;
        gemm(part, ld, a + top * (s.transpose_a ? 1 : s.k), b + left * (s.transpose_b ? s.k : 1),
             c + top * s.n + left);
      }
    });
  }
  engine::set_omp_threads(context.cores);
}

template <class T>
void gemm_by_float(const MatMul& s, const T* a, const T* b, T* c, engine::RunContext& context) {
  const int64_t a_size = s.m * s.k;
  const int64_t b_size = s.k * s.n;
  const int64_t c_size = s.m * s.n;
  const auto buffer = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(a_size + b_size + c_size));
  float* left = buffer.get();
  float* right = left + a_size;
  float* result = right + b_size;
  const auto convert = [&](const auto* from, auto* to, int64_t count) {
    engine::parallel_for(context, count, 16384, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = static_cast<std::remove_reference_t<decltype(to[i])>>(static_cast<float>(from[i]));
      }
    });
  };
  convert(a, left, a_size);
  convert(b, right, b_size);
  if (s.add) convert(c, result, c_size);
  gemm_by_blocks(s, left, right, result, context);
  convert(result, c, c_size);
}

}  // namespace

void matmul_cblas(const MatMul& s, DType dtype, const void* a, const void* b, void* c,
                  engine::RunContext& context) {
  if (s.m == 0 || s.n == 0) return;
  if (s.k == 0) {
    if (!s.add) std::fill_n(static_cast<char*>(c), s.m * s.n * size_of(dtype), char{0});
    return;
  }
  dispatch_floating(dtype, "matmul", [&]<class T>(Type<T>) {
    const T* left = static_cast<const T*>(a);
    const T* right = static_cast<const T*>(b);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      gemm_by_blocks(s, left, right, static_cast<T*>(c), context);
    } else {
      gemm_by_float(s, left, right, static_cast<T*>(c), context);
    }
  });
}

}  // namespace loomix::ops
