// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "engine/parallel_for.h"
#include "ops/quantization/quantization.h"
#include "ops/rnn/rnn_pieces.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// A matrix of one row a gate of a unit, rounded to int8 with one scale a row.
struct RoundedGates {
  int8_t* values;
  float* steps;
  int64_t columns = 0;

  RoundedGates(ScratchPieces& pieces, int64_t rows, int64_t widest)
      : values(pieces.take<int8_t>(rows * widest)), steps(pieces.take<float>(rows)) {}

  void round(const float* from, int64_t rows, int64_t width) {
    columns = width;
    for (int64_t row = 0; row < rows; ++row) {
      float reach = 0;
      for (int64_t i = 0; i < width; ++i) {
        const float size = std::abs(from[row * width + i]);
        reach = size <= reach ? reach : size;
        if (reach != reach) break;  // NaN, which no other number would take away
      }
      const double step = checked_range(-reach, reach, "_contrib_quantized_rnn").step(DType::int8);
      steps[row] = static_cast<float>(step);
      for (int64_t i = 0; i < width; ++i)
        values[row * width + i] =
            to_whole<int8_t>(static_cast<float>(from[row * width + i] * per_step(step)));
    }
  }
  float product(int64_t row, const float* x) const {
    const int8_t* w = values + row * columns;
    float sum = 0;
    for (int64_t i = 0; i < columns; ++i) sum += x[i] * w[i];
    return sum * steps[row];
  }
};

struct Room {
  ScratchPieces pieces;
  float *in, *out, *hidden, *cell, *gates;
  RoundedGates i2h, h2h;

  explicit Room(const RnnShape& r, std::byte* memory = nullptr)
      : pieces(memory),
        in(pieces.take<float>(r.rows() * std::max(r.inputs, r.output_columns()))),
        out(pieces.take<float>(r.rows() * r.output_columns())),
        hidden(pieces.take<float>(r.layers * r.directions * r.batch * r.hidden)),
        cell(pieces.take<float>(r.layers * r.directions * r.batch * r.hidden)),
        gates(pieces.take<float>(r.gate_columns())),
        i2h(pieces, r.gate_columns(), std::max(r.inputs, r.output_columns())),
        h2h(pieces, r.gate_columns(), r.outputs) {}
};

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// One direction of one layer: `in` has the steps' rows of `width` numbers; results are put at `out`, rows of all directions.
void run_layer(const RnnShape& r, const float* parameters, int64_t layer, int64_t direction, Room& room) {
  room.i2h.round(parameters + r.i2h(layer, direction), r.gate_columns(), r.width(layer));
  room.h2h.round(parameters + r.h2h(layer, direction), r.gate_columns(), r.outputs);
  const float* const bias = parameters + r.bias(layer, direction);
  const float* const in = room.in;
  const int64_t state = (layer * r.directions + direction) * r.batch * r.hidden;
  float* const gates = room.gates;
  for (int64_t step = 0; step < r.steps; ++step) {
    const int64_t at = direction == 0 ? step : r.steps - 1 - step;
    for (int64_t n = 0; n < r.batch; ++n) {
      float* const h = room.hidden + state + n * r.hidden;
      float* const c = room.cell + state + n * r.hidden;
      for (int64_t row = 0; row < r.gate_columns(); ++row)
        gates[row] = room.i2h.product(row, in + (at * r.batch + n) * r.width(layer)) +
                     room.h2h.product(row, h) + bias[row] + bias[r.gate_columns() + row];
      for (int64_t i = 0; i < r.hidden; ++i) {
        const auto gate = [&](int64_t which) { return gates[which * r.hidden + i]; };
        c[i] = sigmoid(gate(1)) * c[i] + sigmoid(gate(0)) * std::tanh(gate(2));
        h[i] = sigmoid(gate(3)) * std::tanh(c[i]);
      }
      std::memcpy(room.out + (at * r.batch + n) * r.output_columns() + direction * r.outputs, h,
                  static_cast<size_t>(r.hidden) * sizeof(float));
    }
  }
}

void quantized_rnn_cpu(const RnnParams& p, const KernelArgs& args) {
  const RnnShape r(p, args.in[0].shape);
  const float scale = *args.in[4].as<float>(), shift = *args.in[5].as<float>();
  check_data_scale(scale, shift);
  Room room(r, args.scratch.data());
  for (int64_t i = 0; i < r.rows() * r.inputs; ++i)
    room.in[i] = (static_cast<float>(args.in[0].as<uint8_t>()[i]) - shift) / scale;
  std::memcpy(room.hidden, args.in[2].data, args.in[2].bytes());
  std::memcpy(room.cell, args.in[3].data, args.in[3].bytes());
  const size_t out_bytes = static_cast<size_t>(r.rows() * r.output_columns()) * sizeof(float);
  for (int64_t layer = 0; layer < r.layers; ++layer) {
    for (int64_t direction = 0; direction < r.directions; ++direction)
      run_layer(r, args.in[1].as<float>(), layer, direction, room);
    std::memcpy(room.in, room.out, out_bytes);
  }
  const auto put = [&](size_t i, const float* from) {
    if (i < args.out.size() && args.req[i] != Req::null)
      std::memcpy(args.out[i].data, from, args.out[i].bytes());
  };
  put(0, room.out);
  put(1, room.hidden);
  put(2, room.cell);
}

size_t rnn_scratch(const RnnParams& p, const KernelSpec& spec) {
  return Room(RnnShape(p, spec.in[0].shape)).pieces.used();
}

}  // namespace

void check_data_scale(float scale, float shift) {
  LOOMIX_CHECK(
      std::isfinite(scale) && std::isfinite(shift) && scale > 0, ValueError,
      "[_contrib_quantized_rnn] data_scale and data_shift are {} and {}; expected finite numbers, the first "
      "positive.",
      scale, shift);
}

void kernels_quantized_rnn(OpTable& table) {
  table.kernel<quantized_rnn_cpu, rnn_scratch>("_contrib_quantized_rnn", "quantized_rnn_cpu");
}

}  // namespace loomix::ops
