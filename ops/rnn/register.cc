// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "ops/rnn/rnn.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Params = RnnParams;

void check_params(const Params& p, const char* who) {
  LOOMIX_CHECK(p.mode == RnnMode::lstm || !p.projection_size, ValueError,
               "[{}] projection_size={} is given for another mode than lstm, which alone projects.", who,
               p.projection_size.value_or(0));
  LOOMIX_CHECK(p.lstm_state_clip_min.has_value() == p.lstm_state_clip_max.has_value(), ValueError,
               "[{}] one of lstm_state_clip_min and lstm_state_clip_max is given; expected both or none.",
               who);
  LOOMIX_CHECK(p.mode == RnnMode::lstm || !p.lstm_state_clip_min, ValueError,
               "[{}] lstm_state_clip_min and _max are given for another mode than lstm.", who);
  LOOMIX_CHECK(!p.lstm_state_clip_min || *p.lstm_state_clip_min <= *p.lstm_state_clip_max, ValueError,
               "[{}] lstm_state_clip_min={} is greater than lstm_state_clip_max={}.", who,
               *p.lstm_state_clip_min, *p.lstm_state_clip_max);
}

// The shapes of both directions of inference, but those of values kept for the gradient.
struct Shapes {
  Shape data, parameters, state, cell, lengths, output;
};

// What follows from the data's shape, as far as that is known.
Shapes shapes_of(const Params& p, const char* who, const Shape& data) {
  LOOMIX_CHECK(!data.ndim_known() || data.ndim() == 3, ShapeError,
               "[{}] the data has shape {}; expected 3 axes: steps, batch, inputs.", who, data.to_string());
  const int64_t directions = p.bidirectional ? 2 : 1;
  const int64_t outputs = p.projection_size.value_or(p.state_size);
  const Shape known = data.ndim_known() ? data : Shape{kUnknownDim, kUnknownDim, kUnknownDim};
  Shapes s;
  s.data = known;
  s.state = Shape{p.num_layers * directions, known[1], outputs};
  s.cell = Shape{p.num_layers * directions, known[1], p.state_size};
  s.lengths = Shape{known[1]};
  s.output = Shape{known[0], known[1], directions * outputs};
  s.parameters = Shape{kUnknownDim};
  if (known[2] >= 0) {
    constexpr double kMostWeights = 0x1p60;
    const auto wide = static_cast<double>(std::max(known[2], directions * outputs)) +
                      2.0 * static_cast<double>(outputs + 1);
    LOOMIX_CHECK(4.0 * p.state_size * p.num_layers * static_cast<double>(directions) * wide < kMostWeights,
                 ShapeError,
                 "[{}] {} layers of {} units for {} inputs have more weights than an array can hold.", who,
                 p.num_layers, p.state_size, known[2]);
    const RnnShape sizes(p, Shape{0, 0, known[2]});
    s.parameters = Shape{sizes.parameters()};
  }
  return s;
}

// The data's shape from what is known of the others.
Shape data_from(const Shape& data, const Shape& output, const Shape& state) {
  if (data.ndim_known() && data.ndim() != 3) return data;  // an error of its own
  Shape known = data.ndim_known() ? data : Shape{kUnknownDim, kUnknownDim, kUnknownDim};
  if (output.ndim() == 3) {
    for (int axis = 0; axis < 2; ++axis) {
      if (known[axis] < 0) known[axis] = output[axis];
    }
  }
  if (state.ndim() == 3 && known[1] < 0) known[1] = state[1];
  return known;
}

void infer_inputs(const RnnInputs& at, const Shapes& shapes, ShapeInfer& s) {
  s.set_in(at.data, shapes.data);
  s.set_in(at.parameters, shapes.parameters);
  s.set_in(at.state, shapes.state);
  if (at.cell >= 0) s.set_in(at.cell, shapes.cell);
  if (at.length >= 0) s.set_in(at.length, shapes.lengths);
}

void infer_forward(const Params& p, ShapeInfer& s) {
  check_params(p, s.who());
  const Shape& data = s.in(0);
  const Shape& output = s.out(0);
  if (!data.ndim_known() && !output.ndim_known()) return;  // as in MXNet: () is "not known yet"
  const Shapes shapes = shapes_of(p, s.who(), data_from(data, output, s.in(RnnInputs::state)));
  infer_inputs(RnnInputs(p), shapes, s);
  s.set_out(0, shapes.output);
  if (!p.state_outputs) return;
  s.set_out(1, shapes.state);
  if (has_cells(p)) s.set_out(2, shapes.cell);
}

// Values that nobody needs still have an element: an empty array would be of unknown size in a symbol.
int64_t at_least_one(int64_t size) { return size > 0 ? size : 1; }

DType sum_type(DType data) {
  return data == DType::float16 || data == DType::bfloat16 ? DType::float32 : data;
}

TensorView saved_value(const Params& p, const KernelSpec& spec, int i) {
  const RnnShape shape(p, spec.in[0].shape);
  if (i == 0) return {nullptr, sum_type(spec.in[0].dtype), Shape{at_least_one(shape.kept())}};
  return {nullptr, DType::uint8, Shape{at_least_one(shape.dropped())}};
}

void infer_backward(const Params& p, ShapeInfer& s) {
  const RnnGradInputs at(p);
  const Shapes shapes = shapes_of(
      p, s.who(),
      data_from(s.in(at.data).ndim_known() ? s.in(at.data) : s.out(0), s.in(at.output), s.in(at.state)));
  infer_inputs(at, shapes, s);
  s.set_in(at.output, shapes.output);
  s.set_in(at.grad, shapes.output);
  if (at.grad_state >= 0) s.set_in(at.grad_state, shapes.state);
  if (at.grad_cell >= 0) s.set_in(at.grad_cell, shapes.cell);
  if (s.in(at.data).is_known()) {
    const RnnShape sizes(p, s.in(at.data));
    s.set_in(at.memory, Shape{at_least_one(sizes.kept())});
    s.set_in(at.mask, Shape{at_least_one(sizes.dropped())});
  }
  s.set_out(0, shapes.data);
  s.set_out(1, shapes.parameters);
  s.set_out(2, shapes.state);
  if (has_cells(p)) s.set_out(3, shapes.cell);
}

// One type for all inputs [0, count) but the one at `except`, and for the outputs.
void unify_types(TypeInfer& t, int count, int except) {
  DType dtype = DType::unknown;
  for (int i = 0; i < count; ++i) {
    if (i != except && dtype == DType::unknown) dtype = t.in(i);
  }
  for (int i = 0; i < t.num_out(); ++i) {
    if (dtype == DType::unknown) dtype = t.out(i);
  }
  for (int i = 0; i < count; ++i) {
    if (i != except) t.set_in(i, dtype);
  }
  for (int i = 0; i < t.num_out(); ++i) t.set_out(i, dtype);
}

void infer_forward_types(const Params& p, TypeInfer& t) { unify_types(t, t.num_in(), RnnInputs(p).length); }

void infer_backward_types(const Params& p, TypeInfer& t) {
  const RnnGradInputs at(p);
  unify_types(t, at.memory, at.length);
  const DType dtype = t.in(at.data);
  for (int i = at.grad; i < t.num_in(); ++i) t.set_in(i, dtype);
  if (dtype != DType::unknown) t.set_in(at.memory, sum_type(dtype));
  t.set_in(at.mask, DType::uint8);
}

double cost(const Params& p, const KernelSpec& spec) {
  const RnnShape s(p, spec.in[0].shape);
  return 2000 + 0.02 * static_cast<double>(s.rows()) * static_cast<double>(s.parameters());
}

bool takes(const Params& p, int position) {
  return position < 3 || (position == 3 ? has_cells(p) : p.use_sequence_length);
}

bool gradient_takes(const Params& p, int position) {
  constexpr int kOutput = 5, kStateGrad = 9, kCellGrad = 10;
  if (position < kOutput) return takes(p, position);
  return position < kStateGrad || (p.state_outputs && (position < kCellGrad || has_cells(p)));
}

void gradient(const Params& p, GradBuilder& g) {
  std::vector<GradValue> inputs;
  for (int i = 0; i < g.num_in(); ++i) inputs.push_back(g.in(i));
  inputs.push_back(g.out(0));
  for (int i = 0; i < 2; ++i) inputs.push_back(g.saved(i));
  for (int i = 0; i < g.num_out(); ++i) inputs.push_back(g.grad_of(i));
  const std::vector<GradValue> grads = g.call("_backward_RNN", inputs, g.attrs());
  for (int i = 0; i < (has_cells(p) ? 4 : 3); ++i) {
    if (g.wants(i)) g.set(i, grads[static_cast<size_t>(i)]);
  }
}

}  // namespace

void register_rnn(OpTable& table) {
  constexpr int kLength = 4, kMemory = 6, kMask = 7;
  table.add<Params>("RNN", {"data", "parameters", "state", "state_cell", "sequence_length"})
      .doc(
          "Recurrent layers over a whole sequence: vanilla with relu or tanh, LSTM or GRU, in one or both "
          "directions.")
      .inputs_if(takes)
      .outputs({"output", "state_output", "statecell_output"})
      .num_outputs([](const Params& p) { return p.state_outputs ? (has_cells(p) ? 3 : 2) : 1; })
      .saved({"memory", "mask"}, saved_value)
      .infer_shape(infer_forward)
      .infer_type(infer_forward_types)
      .types(kFloatingTypes)
      .input_types(kLength, kNumericTypes)
      .cost(cost)
      .training_matters()
      .uses_rng([](const Params& p, const KernelSpec& spec) {
        return spec.training ? static_cast<uint64_t>(RnnShape(p, spec.in[0].shape).dropped()) : uint64_t{0};
      })
      .gradient(gradient);
  table
      .add_hidden<Params>("_backward_RNN",
                          {"data", "parameters", "state", "state_cell", "sequence_length", "output", "memory",
                           "mask", "grad", "grad_state", "grad_state_cell"})
      .inputs_if(gradient_takes)
      .outputs({"data", "parameters", "state", "state_cell"})
      .num_outputs([](const Params& p) { return has_cells(p) ? 4 : 3; })
      .infer_shape(infer_backward)
      .infer_type(infer_backward_types)
      .types(kFloatingTypes)
      .input_types(kLength, kNumericTypes)
      .input_types(kMemory, {DType::float32, DType::float64})
      .input_types(kMask, {DType::uint8})
      .cost([](const Params& p, const KernelSpec& spec) { return 2 * cost(p, spec); });
}

}  // namespace loomix::ops
