// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "engine/engine.h"

namespace loomix::ops {

// C = op(A) op(B), or C += op(A) op(B). All row-major and dense: A is (m, k), or (k, m) if it is to be transposed;
// B is (k, n) or (n, k).
struct MatMul {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  bool add = false;
};

using MatMulFn = void (*)(const MatMul& shape, DType dtype, const void* a, const void* b, void* c,
                          engine::RunContext& context);

// Three plain loops, sums kept in Accum<T>. The specification.
void matmul_reference(const MatMul& shape, DType dtype, const void* a, const void* b, void* c,
                      engine::RunContext& context);
// By BLAS; float32 and float64 only.
void matmul_cblas(const MatMul& shape, DType dtype, const void* a, const void* b, void* c,
                  engine::RunContext& context);
// By BLAS for halves and few rows of A, which is not transposed: pieces of B are converted to float32 where they are used,
// so that it is read from memory once, as halves.
inline constexpr int64_t kFewRows = 16;
void matmul_halves(const MatMul& shape, DType dtype, const void* a, const void* b, void* c,
                   engine::RunContext& context);
// By oneDNN, float32 only: its blocks are a fifth faster than BLAS's where there is AVX-512.
void matmul_dnnl(const MatMul& shape, DType dtype, const void* a, const void* b, void* c,
                 engine::RunContext& context);
// The same for `count` independent products at consecutive places.
void matmul_batch(MatMulFn matmul, int64_t count, const MatMul& shape, DType dtype, const void* a,
                  const void* b, void* c, engine::RunContext& context);

// The rows of a matrix added up: out[j] = sum_i in[i, j], or += .
void sum_rows(int64_t rows, int64_t columns, DType dtype, const void* in, void* out, bool add,
              engine::RunContext& context);

}  // namespace loomix::ops
