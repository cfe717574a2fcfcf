// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "ops/isa.h"
#include "ops/lane_sums.h"
#include "ops/norm/row_loops.h"
#include "ops/norm/row_norm_loops.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// What both parts of the backward pass read.
template <class T>
struct Backward {
  using A = Accum<T>;
  const T *grad, *x, *gamma, *means, *deviations;

  explicit Backward(const KernelArgs& args)
      : grad(args.in[0].as<T>()),
        x(args.in[1].as<T>()),
        gamma(args.in[2].as<T>()),
        means(args.in[3].as<T>()),
        deviations(args.in[4].as<T>()) {}
  A mean(int64_t row) const { return static_cast<A>(means[row]); }
  A inverse(int64_t row) const { return 1 / static_cast<A>(deviations[row]); }
};

template <class T, class Row>
constexpr bool kHasLoops = std::is_same_v<T, float>&& std::is_same_v<Row, DenseRow>;

template <class T, class Row>
void to_data(const NormRows& rows, const KernelArgs& args) {
  using A = Accum<T>;
  const Backward<T> b(args);
  T* out = args.out[0].mutable_as<T>();
  each_row(rows, *args.context, [&](int64_t index) {
    const Row row(rows, index);
    const A mean = b.mean(index), inverse = b.inverse(index);
    if constexpr (kHasLoops<T, Row>) {
      return best_loops<RowNormLoops>().to_data(rows.size, b.grad + row.at(0), b.x + row.at(0), b.gamma, mean,
                                                inverse, out + row.at(0));
    }
    const auto head = [&](int64_t i) {
      return static_cast<A>(b.grad[row.at(i)]) * static_cast<A>(b.gamma[row.parameter(i)]);
    };
    const auto normal = [&](int64_t i) { return (static_cast<A>(b.x[row.at(i)]) - mean) * inverse; };
    const A count = static_cast<A>(rows.size);
    const A constant = sum_run<A>(0, rows.size, head) / count;
    const A slope = sum_run<A>(0, rows.size, [&](int64_t i) { return head(i) * normal(i); }) / count;
#pragma omp simd
    for (int64_t i = 0; i < rows.size; ++i) {
      out[row.at(i)] = static_cast<T>(inverse * (head(i) - constant - normal(i) * slope));
    }
  });
}

// Each thread adds up the rows for parameters of its own: strips of elements that all rows have, or whole rows of one
// parameter.
template <class T, class Row>
void to_parameters(const NormRows& rows, const KernelArgs& args) {
  using A = Accum<T>;
  constexpr int64_t kStrip = 512, kParametersPerThread = 64;
  const Backward<T> b(args);
  const auto put = [&](size_t i, int64_t first, int64_t count, const double* values) {
    if (args.req[i] == Req::null) return;
    T* const out = args.out[i].mutable_as<T>() + first;
    for (int64_t k = 0; k < count; ++k) out[k] = static_cast<T>(static_cast<A>(values[k]));
  };
  if constexpr (std::is_same_v<Row, DenseRowOfOne>) {
    const int64_t elements =
        std::max<int64_t>(1, rows.rows * rows.size / std::max<int64_t>(1, rows.parameters));
    engine::parallel_each(*args.context, rows.parameters, kElementsPerThread / elements, [&](int64_t k) {
      double to_gamma = 0, to_beta = 0;
      for (int64_t index = k; index < rows.rows; index += rows.parameters) {
        const Row row(rows, index);
        const A mean = b.mean(index), inverse = b.inverse(index);
        const auto head = [&](int64_t i) { return static_cast<A>(b.grad[row.at(i)]); };
        to_beta += static_cast<double>(sum_run<A>(0, rows.size, head));
        to_gamma += static_cast<double>(sum_run<A>(0, rows.size, [&](int64_t i) {
          return head(i) * (static_cast<A>(b.x[row.at(i)]) - mean) * inverse;
        }));
      }
      put(1, k, 1, &to_gamma);
      put(2, k, 1, &to_beta);
    });
  } else {
    engine::parallel_for(*args.context, rows.size, kParametersPerThread, [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += kStrip) {
        const int64_t count = std::min(kStrip, end - first);
        double gammas[kStrip] = {}, betas[kStrip] = {};
        if constexpr (kHasLoops<T, Row>) {
          best_loops<RowNormLoops>().to_parameters(rows.rows, rows.size, count, b.grad + first, b.x + first,
                                                   b.means, b.deviations, gammas, betas);
        }
        for (int64_t index = 0; index < rows.rows && !kHasLoops<T, Row>; ++index) {
          const Row row(rows, index);
          const A mean = b.mean(index), inverse = b.inverse(index);
#pragma omp simd
          for (int64_t i = 0; i < count; ++i) {
            const A head = static_cast<A>(b.grad[row.at(first + i)]);
            const A distance = static_cast<A>(b.x[row.at(first + i)]) - mean;
            gammas[i] += static_cast<double>(head * distance * inverse);
            betas[i] += static_cast<double>(head);
          }
        }
        put(1, first, count, gammas);
        put(2, first, count, betas);
      }
    });
  }
}

// grad, data, gamma, mean, standard deviation -> gradients of data, gamma and beta.
void row_norm_backward(const NormRows& rows, const KernelArgs& args) {
  dispatch_floating(args.in[1].dtype, "LayerNorm", [&]<class T>(Type<T>) {
    with_rows(rows, [&]<class Row>() {
      if (args.req[1] != Req::null || args.req[2] != Req::null) to_parameters<T, Row>(rows, args);
      if (args.req[0] != Req::null) to_data<T, Row>(rows, args);  // may overwrite what the other reads
    });
  });
}

template <class P>
void row_norm_backward_cpu(const P& p, const KernelArgs& args) {
  row_norm_backward(norm_rows(p, args.in[1].shape), args);
}

}  // namespace

void gradients_row_norm(OpTable& table) {
  constexpr const char* kName = "row_norm_backward_cpu";
  table.kernel<row_norm_backward_cpu<LayerNormParams>>("_backward_LayerNorm", kName);
  table.kernel<row_norm_backward_cpu<InstanceNormParams>>("_backward_InstanceNorm", kName);
  table.kernel<row_norm_backward_cpu<GroupNormParams>>("_backward_GroupNorm", kName);
}

}  // namespace loomix::ops
