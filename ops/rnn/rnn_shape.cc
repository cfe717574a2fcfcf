// SPDX-License-Identifier: Apache-2.0
#include "ops/rnn/rnn.h"

namespace loomix::ops {
namespace {

int64_t gates_of(RnnMode mode) { return mode == RnnMode::lstm ? 4 : mode == RnnMode::gru ? 3 : 1; }

}  // namespace

RnnShape::RnnShape(const RnnParams& p, const Shape& data)
    : mode(p.mode),
      steps(data[0]),
      batch(data[1]),
      inputs(data[2]),
      hidden(p.state_size),
      outputs(p.projection_size.value_or(p.state_size)),
      gates(gates_of(p.mode)),
      layers(p.num_layers),
      directions(p.bidirectional ? 2 : 1),
      projected(p.projection_size.has_value()),
      drops(drops_between_layers(p)) {}

int64_t RnnShape::layer_weights(int64_t layer) const {
  return gate_columns() * (width(layer) + outputs) + (projected ? outputs * hidden : 0);
}

int64_t RnnShape::i2h(int64_t layer, int64_t direction) const {
  int64_t offset = direction * layer_weights(layer);
  if (layer > 0) offset += directions * (layer_weights(0) + (layer - 1) * layer_weights(1));
  return offset;
}

int64_t RnnShape::h2h(int64_t layer, int64_t direction) const {
  return i2h(layer, direction) + gate_columns() * width(layer);
}

int64_t RnnShape::projection(int64_t layer, int64_t direction) const {
  return h2h(layer, direction) + gate_columns() * outputs;
}

int64_t RnnShape::bias(int64_t layer, int64_t direction) const {
  return i2h(layers, 0) + (layer * directions + direction) * 2 * gate_columns();
}

int64_t RnnShape::kept_gates(int64_t layer, int64_t direction) const {
  const int64_t each = keeps_steps() ? rows() * (gate_columns() + hidden) : 0;
  return (layer * directions + direction) * each;
}

int64_t RnnShape::kept_units(int64_t layer, int64_t direction) const {
  return kept_gates(layer, direction) + rows() * gate_columns();
}

int64_t RnnShape::kept_outputs(int64_t layer) const {
  return kept_gates(layers, 0) + layer * rows() * output_columns();
}

}  // namespace loomix::ops
