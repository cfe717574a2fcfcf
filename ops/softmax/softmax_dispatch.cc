// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/isa.h"
#include "ops/softmax/softmax.h"
#include "ops/softmax/softmax_kernels.h"

namespace loomix::ops {
namespace {

constexpr int64_t kElementsPerThread = 16384;

const SoftmaxKernels& kernels() { return best_loops<SoftmaxKernels>(); }

int64_t grain(const SoftmaxRows& rows) { return kElementsPerThread / std::max<int64_t>(1, rows.size); }

// Rows along an axis with others after it: calls fn(first element, columns) for strips of neighbouring ones.
template <class Fn>
void each_strip(const SoftmaxRows& rows, engine::RunContext& context, Fn&& fn) {
  const int64_t width = std::min(rows.inner, kSoftmaxColumns);
  const int64_t strips = (rows.inner + kSoftmaxColumns - 1) / kSoftmaxColumns;
  const int64_t most = kElementsPerThread / std::max<int64_t>(1, rows.size * width);
  engine::parallel_each(context, rows.outer * strips, most, [&](int64_t i) {
    const int64_t column = i % strips * kSoftmaxColumns;
    fn(i / strips * rows.size * rows.inner + column, std::min(kSoftmaxColumns, rows.inner - column));
  });
}

}  // namespace

void softmax_rows_simd(SoftmaxKind kind, const SoftmaxRows& rows, double scale, const float* data, float* out,
                       engine::RunContext& context) {
  if (rows.inner != 1) {
    each_strip(rows, context, [&](int64_t first, int64_t columns) {
      kernels().forward_columns(kind == SoftmaxKind::log_softmax, static_cast<float>(scale), columns,
                                rows.size, rows.inner, data + first, out + first);
    });
    return;
  }
  engine::parallel_for(context, rows.outer, grain(rows), [&](int64_t begin, int64_t end) {
    kernels().forward(kind == SoftmaxKind::log_softmax, static_cast<float>(scale), end - begin, rows.size,
                      data + begin * rows.size, out + begin * rows.size);
  });
}

void softmax_backward_rows_simd(SoftmaxKind kind, const SoftmaxRows& rows, double scale, const float* grad,
                                const float* output, float* out, engine::RunContext& context) {
  if (rows.inner != 1) {
    each_strip(rows, context, [&](int64_t first, int64_t columns) {
      kernels().backward_columns(kind == SoftmaxKind::log_softmax, static_cast<float>(scale), columns,
                                 rows.size, rows.inner, grad + first, output + first, out + first);
    });
    return;
  }
  engine::parallel_for(context, rows.outer, grain(rows), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * rows.size;
    kernels().backward(kind == SoftmaxKind::log_softmax, static_cast<float>(scale), end - begin, rows.size,
                       grad + first, output + first, out + first);
  });
}

}  // namespace loomix::ops
