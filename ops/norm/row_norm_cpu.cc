// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/lane_sums.h"
#include "ops/norm/row_loops.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class T, class Row>
void forward(const NormRows& rows, double eps, const KernelArgs& args) {
  using A = Accum<T>;
  const T* x = args.in[0].as<T>();
  const T* gamma = args.in[1].as<T>();
  const T* beta = args.in[2].as<T>();
  T* y = args.out[0].mutable_as<T>();
  T* means = args.wanted<T>(1);
  T* deviations = args.wanted<T>(2);
  each_row(rows, *args.context, [&](int64_t index) {
    const Row row(rows, index);
    const A count = static_cast<A>(rows.size);
    const A mean = sum_run<A>(0, rows.size, [&](int64_t i) { return static_cast<A>(x[row.at(i)]); }) / count;
    const A squares = sum_run<A>(0, rows.size, [&](int64_t i) {
      const A distance = static_cast<A>(x[row.at(i)]) - mean;
      return distance * distance;
    });
    const A deviation = std::sqrt(squares / count + static_cast<A>(eps));
    if (means) means[index] = static_cast<T>(mean);
    if (deviations) deviations[index] = static_cast<T>(deviation);
    const A inverse = 1 / deviation;
#pragma omp simd
    for (int64_t i = 0; i < rows.size; ++i) {
      const A normal = (static_cast<A>(x[row.at(i)]) - mean) * inverse;
      const int64_t k = row.parameter(i);
      y[row.at(i)] = static_cast<T>(normal * static_cast<A>(gamma[k]) + static_cast<A>(beta[k]));
    }
  });
}

// data, gamma, beta -> output, mean, standard deviation.
void row_norm_forward(const NormRows& rows, double eps, const KernelArgs& args) {
  if (args.req[0] == Req::null || rows.size == 0) return;
  dispatch_floating(args.in[0].dtype, "LayerNorm", [&]<class T>(Type<T>) {
    with_rows(rows, [&]<class Row>() { forward<T, Row>(rows, eps, args); });
  });
}

template <class P>
void row_norm_cpu(const P& p, const KernelArgs& args) {
  row_norm_forward(norm_rows(p, args.in[0].shape), p.eps, args);
}

}  // namespace

void kernels_row_norm(OpTable& table) {
  table.kernel<row_norm_cpu<LayerNormParams>>("LayerNorm", "row_norm_cpu");
  table.kernel<row_norm_cpu<InstanceNormParams>>("InstanceNorm", "row_norm_cpu");
  table.kernel<row_norm_cpu<GroupNormParams>>("GroupNorm", "row_norm_cpu");
}

}  // namespace loomix::ops
