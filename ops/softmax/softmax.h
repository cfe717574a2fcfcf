// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/params.h"
#include "ops/axis_split.h"
#include "ops/kernel.h"

namespace loomix::ops {

struct SoftmaxParams {
  int axis = -1;
  std::optional<double> temperature;
  std::optional<DType> dtype;
  std::optional<bool> use_length = false;

  static void fields(FieldList<SoftmaxParams>& f) {
    f("axis", &SoftmaxParams::axis, "Axis along which the values are scaled.");
    f("temperature", &SoftmaxParams::temperature, "Divides the input.");
    f("dtype", &SoftmaxParams::dtype, "Type of the output; by default that of the input.")
        .options({{"float16", DType::float16}, {"float32", DType::float32}, {"float64", DType::float64}});
    f("use_length", &SoftmaxParams::use_length, "Uses only the first `length` values of each row.");
  }
};

// Which function: y = softmax(x / t), softmax(-x / t) or log(softmax(x / t)).
enum class SoftmaxKind { softmax, softmin, log_softmax };

// The lines along which the functions run.
struct SoftmaxRows : AxisSplit {
  using AxisSplit::AxisSplit;
  SoftmaxRows(int64_t rows, int64_t columns) : SoftmaxRows(Shape{rows, columns}, 1) {}
};

SoftmaxRows rows_of(const SoftmaxParams& p, const Shape& shape);
// 1 / temperature, negative for softmin.
double scale_of(SoftmaxKind kind, const SoftmaxParams& p);

// data, length -> output. The readable kernels, for all types and axes.
void softmax_rows_cpu(SoftmaxKind kind, const SoftmaxRows& rows, double scale, const TensorView& data,
                      const TensorView* length, const TensorView& out, engine::RunContext& context);
// grad, output -> gradient of the data.
void softmax_backward_rows_cpu(SoftmaxKind kind, const SoftmaxRows& rows, double scale,
                               const TensorView& grad, const TensorView& output, const TensorView& out,
                               engine::RunContext& context);

// float32 along the last axis, vectorised.
void softmax_rows_simd(SoftmaxKind kind, const SoftmaxRows& rows, double scale, const float* data, float* out,
                       engine::RunContext& context);
void softmax_backward_rows_simd(SoftmaxKind kind, const SoftmaxRows& rows, double scale, const float* grad,
                                const float* output, float* out, engine::RunContext& context);

// The fastest of the two that can.
void softmax_rows(SoftmaxKind kind, const SoftmaxRows& rows, double scale, const TensorView& data,
                  const TensorView& out, engine::RunContext& context);
void softmax_backward_rows(SoftmaxKind kind, const SoftmaxRows& rows, double scale, const TensorView& grad,
                           const TensorView& output, const TensorView& out, engine::RunContext& context);

enum class SoftmaxMode { instance, channel };

struct SoftmaxActivationParams {
  SoftmaxMode mode = SoftmaxMode::instance;
  static void fields(FieldList<SoftmaxActivationParams>& f) {
    f("mode", &SoftmaxActivationParams::mode,
      "Whether a softmax runs along the last axis or over the channels.")
        .options({{"channel", SoftmaxMode::channel}, {"instance", SoftmaxMode::instance}});
  }
};
SoftmaxRows rows_of(const SoftmaxActivationParams& p, const Shape& shape);

}  // namespace loomix::ops
