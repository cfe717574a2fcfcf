// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/parallel_for.h"
#include "ops/norm/row_norm.h"

namespace loomix::ops {
namespace {

constexpr int64_t kElementsPerThread = 8192;

int64_t first_of(const NormRows& rows, int64_t row) {
  return row / rows.step * rows.size * rows.step + row % rows.step;
}

int64_t parameter_of(const NormRows& rows, int64_t row, int64_t i) {
  return rows.by_row ? row % rows.parameters : i;
}

template <class Fn>
void each_row(const NormRows& rows, engine::RunContext& context, Fn&& fn) {
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, rows.size));
  engine::parallel_for(context, rows.rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) fn(row);
  });
}

template <class T>
void forward(const NormRows& rows, double eps, const KernelArgs& args) {
  using A = Accum<T>;
  const T* x = args.in[0].as<T>();
  const T* gamma = args.in[1].as<T>();
  const T* beta = args.in[2].as<T>();
  T* y = args.out[0].mutable_as<T>();
  T* means = args.out[1].data ? args.out[1].mutable_as<T>() : nullptr;
  T* deviations = args.out[2].data ? args.out[2].mutable_as<T>() : nullptr;
  each_row(rows, *args.context, [&](int64_t row) {
    const int64_t first = first_of(rows, row);
    const auto at = [&](int64_t i) { return first + i * rows.step; };
    A sum = 0;
    for (int64_t i = 0; i < rows.size; ++i) sum += static_cast<A>(x[at(i)]);
    const A mean = sum / static_cast<A>(rows.size);
    A squares = 0;
    for (int64_t i = 0; i < rows.size; ++i) {
      const A distance = static_cast<A>(x[at(i)]) - mean;
      squares += distance * distance;
    }
    const A deviation = std::sqrt(squares / static_cast<A>(rows.size) + static_cast<A>(eps));
    if (means) means[row] = static_cast<T>(mean);
    if (deviations) deviations[row] = static_cast<T>(deviation);
    const A inverse = 1 / deviation;
    for (int64_t i = 0; i < rows.size; ++i) {
      const int64_t k = parameter_of(rows, row, i);
      const A normal = (static_cast<A>(x[at(i)]) - mean) * inverse;
      y[at(i)] = static_cast<T>(normal * static_cast<A>(gamma[k]) + static_cast<A>(beta[k]));
    }
  });
}

template <class T>
void backward(const NormRows& rows, const KernelArgs& args) {
  using A = Accum<T>;
  const T* grad = args.in[0].as<T>();
  const T* x = args.in[1].as<T>();
  const T* gamma = args.in[2].as<T>();
  const T* means = args.in[3].as<T>();
  const T* deviations = args.in[4].as<T>();
  if (args.req[0] != Req::null) {
    T* out = args.out[0].mutable_as<T>();
    each_row(rows, *args.context, [&](int64_t row) {
      const int64_t first = first_of(rows, row);
      const A mean = static_cast<A>(means[row]);
      const A inverse = 1 / static_cast<A>(deviations[row]);
      const auto head = [&](int64_t i) {
        return static_cast<A>(grad[first + i * rows.step]) *
               static_cast<A>(gamma[parameter_of(rows, row, i)]);
      };
      const auto normal = [&](int64_t i) {
        return (static_cast<A>(x[first + i * rows.step]) - mean) * inverse;
      };
      A sum = 0, product = 0;
      for (int64_t i = 0; i < rows.size; ++i) {
        sum += head(i);
        product += head(i) * normal(i);
      }
      const A count = static_cast<A>(rows.size);
      for (int64_t i = 0; i < rows.size; ++i) {
        out[first + i * rows.step] =
            static_cast<T>(inverse * (head(i) - sum / count - normal(i) * product / count));
      }
    });
  }
  if (args.req[1] == Req::null && args.req[2] == Req::null) return;
  std::vector<double> to_gamma(static_cast<size_t>(rows.parameters), 0.0);
  std::vector<double> to_beta(static_cast<size_t>(rows.parameters), 0.0);
  for (int64_t row = 0; row < rows.rows; ++row) {
    const int64_t first = first_of(rows, row);
    const A mean = static_cast<A>(means[row]);
    const A inverse = 1 / static_cast<A>(deviations[row]);
    for (int64_t i = 0; i < rows.size; ++i) {
      const auto k = static_cast<size_t>(parameter_of(rows, row, i));
      const A head = static_cast<A>(grad[first + i * rows.step]);
      to_gamma[k] += static_cast<double>(head * (static_cast<A>(x[first + i * rows.step]) - mean) * inverse);
      to_beta[k] += static_cast<double>(head);
    }
  }
  const auto put = [&](size_t i, const std::vector<double>& values) {
    if (args.req[i] == Req::null) return;
    T* out = args.out[i].mutable_as<T>();
    for (size_t k = 0; k < values.size(); ++k) out[k] = static_cast<T>(static_cast<A>(values[k]));
  };
  put(1, to_gamma);
  put(2, to_beta);
}

}  // namespace

void row_norm_forward(const NormRows& rows, double eps, const KernelArgs& args) {
  if (args.req[0] == Req::null || rows.size == 0) return;
  dispatch_floating(args.in[0].dtype, "LayerNorm", [&]<class T>(Type<T>) { forward<T>(rows, eps, args); });
}

void row_norm_backward(const NormRows& rows, const KernelArgs& args) {
  dispatch_floating(args.in[1].dtype, "LayerNorm", [&]<class T>(Type<T>) { backward<T>(rows, args); });
}

}  // namespace loomix::ops
