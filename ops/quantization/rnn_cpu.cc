// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "engine/parallel_for.h"
#include "ops/quantization/quantization.h"
#include "ops/rnn/rnn.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// A matrix of one row a gate of a unit, rounded to int8 with one scale a row.
struct RoundedRows {
  std::vector<int8_t> values;
  std::vector<float> steps;
  int64_t columns;

  RoundedRows(const float* from, int64_t rows, int64_t width)
      : values(static_cast<size_t>(rows * width)), steps(static_cast<size_t>(rows)), columns(width) {
    for (int64_t row = 0; row < rows; ++row) {
      float reach = 0;
      for (int64_t i = 0; i < width; ++i) reach = std::max(reach, std::abs(from[row * width + i]));
      const double step = checked_range(-reach, reach, "_contrib_quantized_rnn").step(DType::int8);
      steps[static_cast<size_t>(row)] = static_cast<float>(step);
      for (int64_t i = 0; i < width; ++i)
        values[static_cast<size_t>(row * width + i)] =
            to_whole<int8_t>(static_cast<float>(from[row * width + i] * per_step(step)));
    }
  }
  float product(int64_t row, const float* x) const {
    const int8_t* w = values.data() + row * columns;
    float sum = 0;
    for (int64_t i = 0; i < columns; ++i) sum += x[i] * w[i];
    return sum * steps[static_cast<size_t>(row)];
  }
};

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// One direction of one layer: `in` has the steps' rows of `width` numbers; results are put at `out`, rows of all directions.
void run_layer(const RnnShape& r, const float* parameters, int64_t layer, int64_t direction, const float* in,
               float* out, float* hidden, float* cell) {
  const RoundedRows i2h(parameters + r.i2h(layer, direction), r.gate_columns(), r.width(layer));
  const RoundedRows h2h(parameters + r.h2h(layer, direction), r.gate_columns(), r.outputs);
  const float* const bias = parameters + r.bias(layer, direction);
  std::vector<float> gates(static_cast<size_t>(r.gate_columns()));
  for (int64_t step = 0; step < r.steps; ++step) {
    const int64_t at = direction == 0 ? step : r.steps - 1 - step;
    for (int64_t n = 0; n < r.batch; ++n) {
      float* const h = hidden + n * r.hidden;
      float* const c = cell + n * r.hidden;
      for (int64_t row = 0; row < r.gate_columns(); ++row)
        gates[static_cast<size_t>(row)] = i2h.product(row, in + (at * r.batch + n) * r.width(layer)) +
                                          h2h.product(row, h) + bias[row] + bias[r.gate_columns() + row];
      for (int64_t i = 0; i < r.hidden; ++i) {
        const auto gate = [&](int64_t which) { return gates[static_cast<size_t>(which * r.hidden + i)]; };
        c[i] = sigmoid(gate(1)) * c[i] + sigmoid(gate(0)) * std::tanh(gate(2));
        h[i] = sigmoid(gate(3)) * std::tanh(c[i]);
      }
      std::memcpy(out + (at * r.batch + n) * r.output_columns() + direction * r.outputs, h,
                  static_cast<size_t>(r.hidden) * sizeof(float));
    }
  }
}

void quantized_rnn_cpu(const RnnParams& p, const KernelArgs& args) {
  const RnnShape r(p, args.in[0].shape);
  const float scale = *args.in[4].as<float>(), shift = *args.in[5].as<float>();
  LOOMIX_CHECK(
      std::isfinite(scale) && std::isfinite(shift) && scale > 0, ValueError,
      "[_contrib_quantized_rnn] data_scale and data_shift are {} and {}; expected finite numbers, the first "
      "positive.",
      scale, shift);
  const auto rows = static_cast<size_t>(r.rows());
  std::vector<float> in(rows * static_cast<size_t>(r.inputs)),
      out(rows * static_cast<size_t>(r.output_columns()));
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = (static_cast<float>(args.in[0].as<uint8_t>()[i]) - shift) / scale;
  const int64_t state = r.batch * r.hidden;
  const auto copy = [](const TensorView& from) {
    return std::vector<float>(from.as<float>(), from.as<float>() + from.size());
  };
  std::vector<float> hidden = copy(args.in[2]), cell = copy(args.in[3]);
  for (int64_t layer = 0; layer < r.layers; ++layer) {
    for (int64_t direction = 0; direction < r.directions; ++direction) {
      const int64_t place = (layer * r.directions + direction) * state;
      run_layer(r, args.in[1].as<float>(), layer, direction, in.data(), out.data(), hidden.data() + place,
                cell.data() + place);
    }
    in = out;
  }
  const auto put = [&](size_t i, const std::vector<float>& from) {
    if (i < args.out.size() && args.req[i] != Req::null)
      std::memcpy(args.out[i].mutable_as<float>(), from.data(), from.size() * sizeof(float));
  };
  put(0, out);
  put(1, hidden);
  put(2, cell);
}

}  // namespace

void kernels_quantized_rnn(OpTable& table) {
  table.kernel<quantized_rnn_cpu>("_contrib_quantized_rnn", "quantized_rnn_cpu");
}

}  // namespace loomix::ops
