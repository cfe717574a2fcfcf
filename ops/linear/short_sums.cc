// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/short_sums.h"

#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/isa.h"
#include "ops/linear/short_sums_loops.h"

namespace loomix::ops {
namespace {

const ShortSumsLoops& loops() { return best_loops<ShortSumsLoops>(); }

constexpr int64_t kFewestRows = 64;

int64_t strips(int64_t length, int64_t width) { return (length + width - 1) / width; }

}  // namespace

Support short_sums_pay(const Product& product, DType dtype, const WorkLimits& limits) {
  const MatMul& s = product.shape;
  if (dtype != DType::float32) return Support::no("it is for float32");
  if (product.batch != 1 || !s.transpose_a || s.transpose_b || s.m == 0 || s.n == 0 || s.k == 0)
    return Support::no("it is for one product of a transposed matrix");
  if (s.k > limits.short_sum_terms) return Support::slower("its sums have too many terms");
  if (s.m < kFewestRows) return Support::slower("packing B does not pay for so few rows");
  return Support::yes();
}

size_t short_sums_scratch_bytes(const MatMul& s) {
  const int64_t rows = loops().rows, width = loops().width;
  return static_cast<size_t>((strips(s.m, rows) * rows + strips(s.n, width) * width) * s.k) * sizeof(float);
}

void short_sums(const MatMul& s, const float* a, const float* b, float* c, void* scratch,
                engine::RunContext& context) {
  constexpr int64_t kGroup =
      8;  // strips of A that use a strip of B, which is in the first cache then, in turn
  const ShortSumsLoops& l = loops();
  const int64_t a_strips = strips(s.m, l.rows), b_strips = strips(s.n, l.width);
  float* const right = static_cast<float*>(scratch);
  float* const left = right + b_strips * l.width * s.k;
  engine::parallel_for(context, a_strips, loop_grain(l.rows * s.k),
                       [&](int64_t begin, int64_t end) { l.pack_a(s.k, s.m, a, begin, end, left); });
  engine::parallel_for(context, b_strips, loop_grain(l.width * s.k),
                       [&](int64_t begin, int64_t end) { l.pack_b(s.k, s.n, b, begin, end, right); });
  engine::parallel_for(context, strips(a_strips, kGroup), 1, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group * kGroup * l.rows;
      l.multiply(s.k, s.n, left, right, first, std::min(first + kGroup * l.rows, s.m), c, s.add);
    }
  });
}

}  // namespace loomix::ops
