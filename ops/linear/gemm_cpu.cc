// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/limits.h"
#include "ops/linear/gemm.h"

namespace loomix::ops {
namespace {

template <class T>
void sum_rows_of(int64_t rows, int64_t columns, const T* in, T* out, bool add, engine::RunContext& context) {
  const int64_t grain = std::max<int64_t>(64, work_limits().loop_steps / std::max<int64_t>(rows, 1));
  engine::parallel_for(context, columns, grain, [=](int64_t begin, int64_t end) {
    constexpr int64_t kStrip = 256;
    Accum<T> sums[kStrip];
    for (int64_t first = begin; first < end; first += kStrip) {
      const int64_t width = std::min(kStrip, end - first);
      for (int64_t j = 0; j < width; ++j) sums[j] = add ? static_cast<Accum<T>>(out[first + j]) : Accum<T>{0};
      for (int64_t i = 0; i < rows; ++i) {
        const T* row = in + i * columns + first;
        for (int64_t j = 0; j < width; ++j) sums[j] += static_cast<Accum<T>>(row[j]);
      }
      for (int64_t j = 0; j < width; ++j) out[first + j] = static_cast<T>(sums[j]);
    }
  });
}

}  // namespace

void matmul_reference(const MatMul& s, DType dtype, const void* a, const void* b, void* c,
                      engine::RunContext& context) {
  dispatch_floating(dtype, "matmul", [&]<class T>(Type<T>) {
    const T* left = static_cast<const T*>(a);
    const T* right = static_cast<const T*>(b);
    T* result = static_cast<T*>(c);
    const int64_t grain = work_limits().loop_steps / std::max<int64_t>(1, s.n * s.k);
    engine::parallel_each(context, s.m, grain, [&](int64_t i) {
      for (int64_t j = 0; j < s.n; ++j) {
        Accum<T> sum = s.add ? static_cast<Accum<T>>(result[i * s.n + j]) : Accum<T>{0};
        for (int64_t l = 0; l < s.k; ++l) {
          const T x = left[s.transpose_a ? l * s.m + i : i * s.k + l];
          const T y = right[s.transpose_b ? j * s.k + l : l * s.n + j];
          sum += static_cast<Accum<T>>(x) * static_cast<Accum<T>>(y);
        }
        result[i * s.n + j] = static_cast<T>(sum);
      }
    });
  });
}

void matmul_batch(MatMulFn matmul, int64_t count, const MatMul& shape, DType dtype, const void* a,
                  const void* b, void* c, engine::RunContext& context) {
  const int64_t bytes = size_of(dtype);
  const auto one = [&](int64_t i, engine::RunContext& with) {
    matmul(shape, dtype, static_cast<const char*>(a) + i * shape.m * shape.k * bytes,
           static_cast<const char*>(b) + i * shape.k * shape.n * bytes,
           static_cast<char*>(c) + i * shape.m * shape.n * bytes, with);
  };
  if (count < context.cores) {
    for (int64_t i = 0; i < count; ++i) one(i, context);
    return;
  }
  const int64_t work = std::max<int64_t>(1, shape.m * shape.n * shape.k);
  engine::parallel_for(context, count, work_limits().loop_steps / work, [&](int64_t begin, int64_t end) {
    engine::RunContext alone = context;
    alone.cores = 1;
    for (int64_t i = begin; i < end; ++i) one(i, alone);
  });
}

void sum_rows(int64_t rows, int64_t columns, DType dtype, const void* in, void* out, bool add,
              engine::RunContext& context) {
  dispatch_floating(dtype, "sum_rows", [&]<class T>(Type<T>) {
    sum_rows_of(rows, columns, static_cast<const T*>(in), static_cast<T*>(out), add, context);
  });
}

}  // namespace loomix::ops
