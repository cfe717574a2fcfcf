// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

enum class RnnMode { rnn_relu, rnn_tanh, lstm, gru };

struct RnnParams {
  int state_size = 0;
  int num_layers = 0;
  bool bidirectional = false;
  RnnMode mode = RnnMode::lstm;
  float p = 0;
  bool state_outputs = false;
  std::optional<int> projection_size;
  std::optional<double> lstm_state_clip_min;
  std::optional<double> lstm_state_clip_max;
  bool lstm_state_clip_nan = false;
  bool use_sequence_length = false;

  // What all recurrent operators take.
  template <class P>
  static void list_layers(FieldList<P>& f) {
    f("state_size", &P::state_size, "Units of a layer.").required("2").at_least(1);
    f("num_layers", &P::num_layers, "Layers, each on the output of the one before.")
        .required("1")
        .at_least(1);
    f("bidirectional", &P::bidirectional,
      "Each layer also reads the sequence from its end; the two outputs are joined.");
    f("mode", &P::mode, "Kind of layer.")
        .required("lstm")
        .options({{"gru", RnnMode::gru},
                  {"lstm", RnnMode::lstm},
                  {"rnn_relu", RnnMode::rnn_relu},
                  {"rnn_tanh", RnnMode::rnn_tanh}});
  }
  static void fields(FieldList<RnnParams>& f) {
    using P = RnnParams;
    list_layers(f);
    f("p", &P::p, "Share of each layer's outputs, but the last one's, that is dropped in training.")
        .at_least(0)
        .at_most(1);
    f("state_outputs", &P::state_outputs, "Returns the states after the last step, too.");
    f("projection_size", &P::projection_size,
      "Numbers that an LSTM's output is projected to; None: no projection.")
        .at_least(1);
    f("lstm_state_clip_min", &P::lstm_state_clip_min,
      "Least value of an LSTM's cell state; goes with lstm_state_clip_max.");
    f("lstm_state_clip_max", &P::lstm_state_clip_max,
      "Greatest value of an LSTM's cell state; goes with lstm_state_clip_min.");
    f("lstm_state_clip_nan", &P::lstm_state_clip_nan,
      "Where cell states are clipped, NaN becomes the least value.");
    f("use_sequence_length", &P::use_sequence_length,
      "Takes the number of steps of each sequence as the last input; outputs beyond are 0.");
  }
};

inline bool has_cells(const RnnParams& p) { return p.mode == RnnMode::lstm; }
inline bool drops_between_layers(const RnnParams& p) { return p.p > 0 && p.num_layers > 1; }

// The sizes of one call, and where its parts lie in the parameter vector and in the memory kept for the gradient.
//
// The parameter vector holds the weights of all layers, then their biases, each layer's directions in turn:
//   i2h (gates * hidden, width), h2h (gates * hidden, outputs) [, projection (outputs, hidden)]  ...  i2h bias, h2h bias
// A projected LSTM gives `outputs` numbers a direction, the others as many as they have units. Gates come in the order
// i, f, c, o of an LSTM and r, z, n of a GRU.
struct RnnShape {
  RnnShape(const RnnParams& p, const Shape& data);

  RnnMode mode;
  int64_t steps, batch, inputs, hidden, outputs, gates, layers, directions;
  bool projected, drops;

  int64_t rows() const { return steps * batch; }
  int64_t gate_columns() const { return gates * hidden; }
  int64_t output_columns() const { return directions * outputs; }
  int64_t width(int64_t layer) const { return layer == 0 ? inputs : output_columns(); }

  // In the parameter vector.
  int64_t parameters() const { return bias(layers, 0); }
  int64_t i2h(int64_t layer, int64_t direction) const;
  int64_t h2h(int64_t layer, int64_t direction) const;
  int64_t projection(int64_t layer, int64_t direction) const;
  int64_t bias(int64_t layer, int64_t direction) const;  // of i2h; that of h2h comes next

  // In the memory for the gradient, in which vanilla layers keep nothing of a step: the gates' values, the second value
  // of a unit (an LSTM's cell; what a GRU's h2h gives its gate n), and the outputs of all layers but the last.
  bool keeps_steps() const { return mode == RnnMode::lstm || mode == RnnMode::gru; }
  int64_t kept_gates(int64_t layer, int64_t direction) const;
  int64_t kept_units(int64_t layer, int64_t direction) const;
  int64_t kept_outputs(int64_t layer) const;
  int64_t kept() const { return kept_outputs(layers - 1); }
  int64_t dropped() const { return drops ? (layers - 1) * rows() * output_columns() : 0; }

 private:
  int64_t layer_weights(int64_t layer) const;
};

// What became of an output between layers; kept for the gradient.
enum RnnDrop : uint8_t { kDropped, kScaled, kUntouched };

// Positions of the inputs that may be absent; -1 for those that are.
struct RnnInputs {
  explicit RnnInputs(const RnnParams& p)
      : cell(has_cells(p) ? 3 : -1), length(p.use_sequence_length ? (has_cells(p) ? 4 : 3) : -1) {}
  static constexpr int data = 0, parameters = 1, state = 2;
  int cell, length;
};

// The inputs of the gradient: those of RNN, then these.
struct RnnGradInputs : RnnInputs {
  explicit RnnGradInputs(const RnnParams& p) : RnnInputs(p) {
    output = 3 + (cell >= 0 ? 1 : 0) + (length >= 0 ? 1 : 0);
    memory = output + 1;
    mask = output + 2;
    grad = output + 3;
    grad_state = p.state_outputs ? grad + 1 : -1;
    grad_cell = p.state_outputs && has_cells(p) ? grad + 2 : -1;
  }
  int output, memory, mask, grad, grad_state, grad_cell;
};

}  // namespace loomix::ops
