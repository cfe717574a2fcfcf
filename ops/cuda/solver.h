// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

// Factorisations of matrices by cuSOLVER (solver_cusolver.cc), or by the stand-in. Matrices are column-major and dense, float32 or
// float64: a row-major one is read as its transpose, and its lower triangle as an upper one. Nothing here waits for the device: a
// number on the device says whether a matrix could be factored, 0 if so.
namespace loomix::cuda {

enum class Factoring { cholesky, cholesky_inverse, lu, qr, qr_vectors, eigenvectors, singular_values };

// Bytes of the workspace for one matrix of `rows` and `columns`, with the device current.
size_t solver_workspace(Factoring what, DType dtype, int64_t rows, int64_t columns);

// What each call gets besides its matrices.
struct SolverCall {
  DType dtype;
  cudaStream_t stream;
  void* workspace;
  size_t workspace_bytes;
  int* info;  // on the device
};

// A = U^T U; only the upper triangle is read and written.
void factor_cholesky(const SolverCall& call, int64_t n, void* a);
// The upper triangle of (U^T U)^-1 in the place of U.
void invert_cholesky(const SolverCall& call, int64_t n, void* a);
// LU with rows exchanged; pivots count from 1.
void factor_lu(const SolverCall& call, int64_t n, void* a, int32_t* pivots);
// X with A X = B, or A^T X = B, in the place of B (n, columns), from A's factors.
struct Solution {
  int64_t n, columns;
  bool transpose = false;
};
void solve_lu(const SolverCall& call, const Solution& what, const void* lu, const int32_t* pivots, void* b);
// Q R of a matrix with at least as many rows as columns: R above, Householder's vectors below the diagonal, their factors in `tau`.
void factor_qr(const SolverCall& call, int64_t rows, int64_t columns, void* a, void* tau);
// Q in their place.
void make_q(const SolverCall& call, int64_t rows, int64_t columns, void* a, const void* tau);
// Eigenvectors as columns in the place of a symmetric matrix, of which the upper triangle is read; values in ascending order.
void factor_symmetric(const SolverCall& call, int64_t n, void* a, void* values);
// U (rows, columns), values in descending order and V^T (columns, columns) of a matrix with at least as many rows as columns, which is
// overwritten.
void factor_singular(const SolverCall& call, int64_t rows, int64_t columns, void* a, void* u, void* values,
                     void* v);

}  // namespace loomix::cuda
