// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "engine/parallel_for.h"
#include "ops/isa.h"
#include "ops/lane_sums.h"
#include "ops/norm/row_norm.h"
#include "ops/norm/row_norm_loops.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kElementsPerThread = 8192;

int64_t first_of(const NormRows& rows, int64_t row) {
  return row / rows.step * rows.size * rows.step + row % rows.step;
}

template <class Fn>
void each_row(const NormRows& rows, engine::RunContext& context, Fn&& fn) {
  const int64_t grain = kElementsPerThread / std::max<int64_t>(1, rows.size);
  engine::parallel_each(context, rows.rows, grain, [&](int64_t row) { fn(row); });
}

// Where the elements of a row and their parameters stand: known to the compiler where they follow each other.
struct DenseRow {  // parameters go by element
  int64_t row_begin;
  DenseRow(const NormRows& rows, int64_t row) : row_begin(first_of(rows, row)) {}
  int64_t at(int64_t i) const { return row_begin + i; }
  static int64_t parameter(int64_t i) { return i; }
};
struct DenseRowOfOne {  // one parameter a row
  int64_t row_begin, own_parameter;
  DenseRowOfOne(const NormRows& rows, int64_t row)
      : row_begin(first_of(rows, row)), own_parameter(row % rows.parameters) {}
  int64_t at(int64_t i) const { return row_begin + i; }
  int64_t parameter(int64_t) const { return own_parameter; }
};
struct StridedRow {
  int64_t row_begin, step;
  StridedRow(const NormRows& rows, int64_t row) : row_begin(first_of(rows, row)), step(rows.step) {}
  int64_t at(int64_t i) const { return row_begin + i * step; }
  static int64_t parameter(int64_t i) { return i; }
};

template <class Fn>
void with_rows(const NormRows& rows, Fn&& fn) {
  if (rows.by_row) {
    fn.template operator()<DenseRowOfOne>();
  } else if (rows.step == 1) {
    fn.template operator()<DenseRow>();
  } else {
    fn.template operator()<StridedRow>();
  }
}

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

// data, gamma, beta -> output, mean, standard deviation.
void row_norm_forward(const NormRows& rows, double eps, const KernelArgs& args) {
  if (args.req[0] == Req::null || rows.size == 0) return;
  dispatch_floating(args.in[0].dtype, "LayerNorm", [&]<class T>(Type<T>) {
    with_rows(rows, [&]<class Row>() { forward<T, Row>(rows, eps, args); });
  });
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
void row_norm_cpu(const P& p, const KernelArgs& args) {
  row_norm_forward(norm_rows(p, args.in[0].shape), p.eps, args);
}
template <class P>
void row_norm_backward_cpu(const P& p, const KernelArgs& args) {
  row_norm_backward(norm_rows(p, args.in[1].shape), args);
}

}  // namespace

void kernels_row_norm(OpTable& table) {
  table.kernel<row_norm_cpu<LayerNormParams>>("LayerNorm", "row_norm_cpu");
  table.kernel<row_norm_cpu<InstanceNormParams>>("InstanceNorm", "row_norm_cpu");
  table.kernel<row_norm_cpu<GroupNormParams>>("GroupNorm", "row_norm_cpu");
}

void gradients_row_norm(OpTable& table) {
  constexpr const char* kName = "row_norm_backward_cpu";
  table.kernel<row_norm_backward_cpu<LayerNormParams>>("_backward_LayerNorm", kName);
  table.kernel<row_norm_backward_cpu<InstanceNormParams>>("_backward_InstanceNorm", kName);
  table.kernel<row_norm_backward_cpu<GroupNormParams>>("_backward_GroupNorm", kName);
}

}  // namespace loomix::ops
