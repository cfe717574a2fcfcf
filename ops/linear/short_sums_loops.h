// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The pieces of a product A^T B of two long matrices with few rows, which are compiled once per instruction set. float32.
//
// The gradient of a dense layer's weight is such a product, with a term for each example of the batch: the result is large, and
// each of its numbers a short sum. BLAS fills the result with zeros, and adds to it; here a sum stays in a register until it is
// written, once.
namespace loomix::ops {

struct ShortSumsLoops {
  int64_t rows;   // of the result, in a strip of A
  int64_t width;  // of a strip of B

  // Pack strips [begin, end) of `from` (terms, length) as A, or as B. With strips of w columns, element (k, i) goes to
  // to[i / w * w * terms + k * w + i % w]; columns beyond the length are 0.
  using Pack = void(int64_t terms, int64_t length, const float* from, int64_t begin, int64_t end, float* to);
  Pack *pack_a, *pack_b;
  // Rows [begin, end) of c (.., n), from the packed matrices; begin is the first of a strip. Adds to c if `add`.
  void (*multiply)(int64_t terms, int64_t n, const float* a, const float* b, int64_t begin, int64_t end,
                   float* c, bool add);
};

}  // namespace loomix::ops
