// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/cuda/channel_sums.h"
#include "ops/cuda/math.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/rnn/rnn_arrays_cuda.h"
#include "ops/rnn/rnn_cells.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// Whether step t is the first one of sequence n.
__device__ bool starts(int64_t direction, int64_t t, const int64_t* lengths, int64_t steps, int64_t n) {
  if (direction == 0) return t == 0;
  return t + 1 >= (lengths == nullptr ? steps : lengths[n]);
}

// The state before each step, for all of them.
template <class C>
struct StatesBefore {
  Divider outputs, batch;
  int64_t direction, steps, output_row;
  const int64_t* lengths;
  const C* first;
  const C* output;  // of the layer, at the direction's columns
  C* to;
  __device__ void operator()(int64_t i) const {
    const int64_t row = outputs.quotient(i), j = i - row * outputs.divisor();
    const int64_t t = batch.quotient(row), n = row - t * batch.divisor();
    const int64_t before = direction == 0 ? t - 1 : t + 1;
    to[i] = starts(direction, t, lengths, steps, n) ? first[n * outputs.divisor() + j]
                                                    : output[(before * batch.divisor() + n) * output_row + j];
  }
};

// The gradient of a step's output: what comes from above and from the step that was handled before, `after`.
template <class C>
struct BeginStep {
  Divider outputs;
  int64_t t, after, output_row;  // -1: none
  const int64_t* lengths;
  const C* next;  // what `after` sends back
  C* to_state;
  const C* head;
  C* own;
  __device__ void operator()(int64_t i) const {
    const int64_t n = outputs.quotient(i), j = i - n * outputs.divisor();
    if (after >= 0 && is_step(lengths, after, n)) to_state[i] = next[i];
    if (t >= 0) own[i] = is_step(lengths, t, n) ? to_state[i] + head[n * output_row + j] : C{0};
  }
};

// One step of one direction, from the gradient of its output before projection. Pointers are those of the step.
template <class C>
struct BackwardStep {
  RnnMode mode;
  Divider units;
  int64_t t, direction, steps, output_row;
  const int64_t* lengths;
  CellClip<C> clip;
  const C* grad = nullptr;
  const C* gates = nullptr;
  const C* kept = nullptr;         // units of the step
  const C* kept_before = nullptr;  // those of the step before
  const C* first_cell = nullptr;
  const C* before = nullptr;  // the states before
  const C* output = nullptr;
  C* to_gates = nullptr;
  C* to_h2h = nullptr;
  C* to_cell = nullptr;
  C* next = nullptr;    // of a GRU: what goes to the state before, not through gates
  C* hidden = nullptr;  // of a projected LSTM: its output before projection, again

  __device__ void operator()(int64_t i) const {
    using Cell = RnnCell<Math, C>;
    const int64_t columns = units.divisor();
    const int64_t n = units.quotient(i), j = i - n * columns;
    const bool runs = is_step(lengths, t, n);
    switch (mode) {
      case RnnMode::lstm: {
        C* const to = to_gates + n * 4 * columns + j;
        typename Cell::LstmGradient result{0, 0, 0, 0};
        C own = 0;
        if (runs) {
          const C* const gate = gates + n * 4 * columns + j;
          const C cell_before = starts(direction, t, lengths, steps, n) ? first_cell[i] : kept_before[i];
          C cell = to_cell[i];
          result = Cell::lstm_gradient(gate[0], gate[columns], gate[2 * columns], gate[3 * columns],
                                       cell_before, kept[i], grad[i], cell, clip);
          to_cell[i] = cell;
          own = gate[3 * columns] * Math::tanh(kept[i]);
        }
        to[0] = result.i;
        to[columns] = result.f;
        to[2 * columns] = result.g;
        to[3 * columns] = result.o;
        if (hidden != nullptr) hidden[i] = own;
        return;
      }
      case RnnMode::gru: {
        const int64_t place = n * 3 * columns + j;
        typename Cell::GruGradient result{0, 0, 0, 0};
        if (runs) {
          const C z = gates[place + columns];
          result =
              Cell::gru_gradient(gates[place], z, gates[place + 2 * columns], kept[i], before[i], grad[i]);
          next[i] = grad[i] * z;
        } else {
          next[i] = 0;
        }
        to_gates[place] = to_h2h[place] = result.r;
        to_gates[place + columns] = to_h2h[place + columns] = result.z;
        to_gates[place + 2 * columns] = result.n;
        to_h2h[place + 2 * columns] = result.own;
        return;
      }
      default: {
        const C y = output[n * output_row + j];
        const C slope = mode == RnnMode::rnn_relu ? (y > 0 ? C{1} : C{0}) : 1 - y * y;
        to_gates[i] = runs ? grad[i] * slope : C{0};
      }
    }
  }
};

// As on the CPU: from the last layer to the first. The steps leave the gradients of the gates; those of weights and inputs are one
// product over all steps then.
template <class C>
class Backward {
 public:
  Backward(const RnnParams& p, std::span<const TensorView> in, std::span<const TensorView> out,
           std::span<const Req> req, std::byte* scratch)
      : p_(p), s_(p, in[0].shape), at_(p), pieces_(scratch) {
    const auto input = [&](int i) {
      return i < 0 ? RnnDeviceArray<C>() : RnnDeviceArray<C>(in[static_cast<size_t>(i)], true, pieces_);
    };
    const auto output = [&](size_t i) { return RnnDeviceArray<C>(out[i], req[i] != Req::null, pieces_); };
    data_ = input(at_.data);
    parameters_ = input(at_.parameters);
    first_state_ = input(at_.state);
    first_cell_ = input(at_.cell);
    output_ = input(at_.output);
    grad_ = input(at_.grad);
    grad_state_ = input(at_.grad_state);
    grad_cell_ = input(at_.grad_cell);
    wants_data_ = req[0] != Req::null;
    wants_parameters_ = req[1] != Req::null;
    to_data_ = output(0);
    to_parameters_ = output(1);
    to_first_state_ = output(2);
    if (at_.cell >= 0) to_first_cell_ = output(3);
    take_scratch();
  }

  size_t scratch_bytes() const { return pieces_.used(); }

  void run(const KernelArgs& args) {
    stream_ = stream_of(args);
    multiply_ = {args.in[0].dtype != dtype_of<C>(), stream_};
    if (at_.length >= 0) read_lengths(s_, args.in[static_cast<size_t>(at_.length)], lengths_, stream_);
    memory_ = args.in[static_cast<size_t>(at_.memory)].template as<C>();
    const uint8_t* const marks = args.in[static_cast<size_t>(at_.mask)].template as<uint8_t>();
    load();
    const int64_t layer_size = s_.rows() * s_.output_columns();
    const C* to_output = heads_;
    for (layer_ = s_.layers - 1; layer_ >= 0; --layer_) {
      layer_output_ = layer_ == s_.layers - 1 ? outputs_ : memory_ + s_.kept_outputs(layer_);
      const C* input = layer_ == 0 ? inputs_ : memory_ + s_.kept_outputs(layer_ - 1);
      const bool drops = layer_ > 0 && s_.drops;
      if (drops && wants_parameters_) {
        apply_drops(static_cast<double>(p_.p), layer_size, marks + (layer_ - 1) * layer_size, input, dropped_,
                    stream_);
        input = dropped_;
      }
      start(to_state_, state_heads_, s_.directions * s_.batch * s_.outputs);
      if (at_.cell >= 0) start(to_cell_, cell_heads_, s_.directions * s_.batch * s_.hidden);
      for (int64_t d = 0; d < s_.directions; ++d) {
        run_direction(d, to_output);
        if (wants_parameters_) add_up_parameters(d, input);
      }
      for (int64_t d = 0; d < s_.directions; ++d) {
        if (layer_ > 0 || wants_data_) to_input(d);
      }
      store_states();
      if (drops) {
        apply_drops(static_cast<double>(p_.p), layer_size, marks + (layer_ - 1) * layer_size, to_layer_,
                    to_layer_, stream_);
      }
      to_output = to_layer_;
    }
    to_data_.store(stream_);
    to_parameters_.store(stream_);
    to_first_state_.store(stream_);
    if (at_.cell >= 0) to_first_cell_.store(stream_);
  }

 private:
  ChannelAxes bias_axes() const { return {.outer = s_.rows(), .channels = s_.gate_columns()}; }

  void take_scratch() {
    const int64_t d = s_.directions, rows = s_.rows(), columns = s_.gate_columns();
    if (at_.length >= 0) lengths_ = pieces_.take<int64_t>(s_.batch);
    to_gates_ = pieces_.take<C>(d * rows * columns);
    to_h2h_ = s_.mode == RnnMode::gru ? pieces_.take<C>(d * rows * columns) : to_gates_;
    before_ = pieces_.take<C>(d * rows * s_.outputs);
    hidden_ = pieces_.take<C>(s_.projected ? rows * s_.hidden : 0);
    own_ = pieces_.take<C>(rows * s_.outputs);
    inner_ = pieces_.take<C>(s_.projected ? s_.batch * s_.hidden : 0);
    next_ = pieces_.take<C>(s_.batch * s_.outputs);
    to_state_ = pieces_.take<C>(d * s_.batch * s_.outputs);
    to_cell_ = pieces_.take<C>(d * s_.batch * s_.hidden);
    to_layer_ = pieces_.take<C>(s_.layers > 1 ? rows * s_.output_columns() : 0);
    dropped_ = pieces_.take<C>(s_.drops ? rows * s_.output_columns() : 0);
    sums_ = pieces_.take<std::byte>(static_cast<int64_t>(channel_sums_scratch(bias_axes(), dtype_of<C>())));
  }

  void load() {
    inputs_ = data_.load(stream_);
    from_ = parameters_.load(stream_);
    states_ = first_state_.load(stream_);
    if (at_.cell >= 0) cells_ = first_cell_.load(stream_);
    outputs_ = output_.load(stream_);
    heads_ = grad_.load(stream_);
    if (at_.grad_state >= 0) state_heads_ = grad_state_.load(stream_);
    if (at_.grad_cell >= 0) cell_heads_ = grad_cell_.load(stream_);
  }

  // The gradient of the states after the last step.
  void start(C* to, const C* heads, int64_t size) const {
    if (heads) copy_numbers(heads + layer_ * size, to, size, stream_);
    else if (size > 0)
      check(cudaMemsetAsync(to, 0, static_cast<size_t>(size) * sizeof(C), stream_), "clearing");
  }

  void run_direction(int64_t d, const C* to_output) {
    const int64_t columns = s_.gate_columns(), outputs = s_.outputs, batch = s_.batch,
                  wide = s_.output_columns();
    C* const before = before_ + d * s_.rows() * outputs;
    C* const to_state = to_state_ + d * batch * outputs;
    launch_each(stream_, s_.rows() * outputs,
                StatesBefore<C>{Divider(outputs), Divider(batch), d, s_.steps, wide, lengths_,
                                states_ + (layer_ * s_.directions + d) * batch * outputs,
                                layer_output_ + d * outputs, before});
    BackwardStep<C> step = step_of(d);
    int64_t after = -1;
    for (int64_t i = s_.steps - 1; i >= 0; --i) {
      const int64_t t = d == 0 ? i : s_.steps - 1 - i, first = t * batch;
      C* const own = own_ + first * outputs;
      launch_each(stream_, batch * outputs,
                  BeginStep<C>{Divider(outputs), t, after, wide, lengths_, next_, to_state,
                               to_output + first * wide + d * outputs, own});
      after = t;
      if (s_.projected)
        multiply_(batch, s_.hidden, outputs, false, false, own, from_ + s_.projection(layer_, d), inner_,
                  false);
      step.t = t;
      step.grad = s_.projected ? inner_ : own;
      step.before = before + first * outputs;
      step.output = layer_output_ + first * wide + d * outputs;
      step.to_gates = to_gates_ + (d * s_.rows() + first) * columns;
      step.to_h2h = to_h2h_ + (d * s_.rows() + first) * columns;
      step.hidden = s_.projected ? hidden_ + first * s_.hidden : nullptr;
      if (s_.keeps_steps()) {
        const C* const kept = memory_ + s_.kept_units(layer_, d);
        step.gates = memory_ + s_.kept_gates(layer_, d) + first * columns;
        step.kept = kept + first * s_.hidden;
        step.kept_before = kept + (d == 0 ? t - 1 : t + 1) * batch * s_.hidden;
      }
      launch_each(stream_, batch * s_.hidden, step);
      multiply_(batch, outputs, columns, false, false, step.to_h2h, from_ + s_.h2h(layer_, d), next_,
                s_.mode == RnnMode::gru);
    }
    launch_each(stream_, batch * outputs,
                BeginStep<C>{Divider(outputs), -1, after, wide, lengths_, next_, to_state, nullptr, nullptr});
  }

  BackwardStep<C> step_of(int64_t d) const {
    BackwardStep<C> step{s_.mode,  Divider(s_.hidden),  0,        d,
                         s_.steps, s_.output_columns(), lengths_, cell_clip<C>(p_)};
    if (at_.cell >= 0) step.first_cell = cells_ + (layer_ * s_.directions + d) * s_.batch * s_.hidden;
    step.to_cell = to_cell_ + d * s_.batch * s_.hidden;
    step.next = next_;
    return step;
  }

  void add_up_parameters(int64_t d, const C* input) const {
    const int64_t rows = s_.rows(), columns = s_.gate_columns();
    const C* const to_i2h = to_gates_ + d * rows * columns;
    const C* const to_h2h = to_h2h_ + d * rows * columns;
    C* const to = to_parameters_.target();
    const auto product = [&](int64_t m, int64_t n, const C* a, const C* b, C* c) {
      multiply_(m, n, rows, true, false, a, b, c, false);
    };
    product(columns, s_.width(layer_), to_i2h, input, to + s_.i2h(layer_, d));
    product(columns, s_.outputs, to_h2h, before_ + d * rows * s_.outputs, to + s_.h2h(layer_, d));
    if (s_.projected) product(s_.outputs, s_.hidden, own_, hidden_, to + s_.projection(layer_, d));
    const auto sum = [&](const C* from, C* bias) {
      const TensorView x{const_cast<C*>(from), dtype_of<C>(), Shape{rows, columns}};
      channel_sums(bias_axes(), x, {bias, dtype_of<C>(), Shape{columns}}, false, sums_, stream_);
    };
    C* const bias = to + s_.bias(layer_, d);
    sum(to_i2h, bias);
    if (to_i2h == to_h2h) copy_numbers<C>(bias, bias + columns, columns, stream_);
    else sum(to_h2h, bias + columns);
  }

  void to_input(int64_t d) const {
    const int64_t columns = s_.gate_columns(), width = s_.width(layer_);
    multiply_(s_.rows(), width, columns, false, false, to_gates_ + d * s_.rows() * columns,
              from_ + s_.i2h(layer_, d), layer_ == 0 ? to_data_.target() : to_layer_, d > 0);
  }

  void store_states() const {
    const int64_t states = s_.directions * s_.batch * s_.outputs,
                  cells = s_.directions * s_.batch * s_.hidden;
    copy_numbers<C>(to_state_, to_first_state_.target() + layer_ * states, states, stream_);
    if (at_.cell >= 0) copy_numbers<C>(to_cell_, to_first_cell_.target() + layer_ * cells, cells, stream_);
  }

  const RnnParams& p_;
  const RnnShape s_;
  const RnnGradInputs at_;
  ScratchPieces pieces_;
  RnnDeviceArray<C> data_, parameters_, first_state_, first_cell_, output_, grad_, grad_state_, grad_cell_;
  RnnDeviceArray<C> to_data_, to_parameters_, to_first_state_, to_first_cell_;
  bool wants_data_, wants_parameters_;
  int64_t* lengths_ = nullptr;  // null: all are whole
  // By direction, step and sequence: the gradients of what i2h and h2h give the gates, and the state before. Of one direction: an
  // LSTM's outputs before projection, and the gradients of outputs.
  C *to_gates_, *to_h2h_, *before_, *hidden_, *own_;
  C *inner_, *next_, *to_state_, *to_cell_, *to_layer_, *dropped_;
  std::byte* sums_;
  const C *memory_ = nullptr, *inputs_ = nullptr, *from_ = nullptr, *states_ = nullptr, *cells_ = nullptr;
  const C *outputs_ = nullptr, *heads_ = nullptr, *state_heads_ = nullptr, *cell_heads_ = nullptr;
  const C* layer_output_ = nullptr;
  int64_t layer_ = 0;
  cudaStream_t stream_ = nullptr;
  RnnGemm<C> multiply_{};
};

// See RnnGradInputs -> gradients of data, parameters, state, [state_cell].
void rnn_backward_cuda(const RnnParams& p, const KernelArgs& args) {
  if (args.in[0].dtype == DType::float64)
    Backward<double>(p, args.in, args.out, args.req, args.scratch.data()).run(args);
  else Backward<float>(p, args.in, args.out, args.req, args.scratch.data()).run(args);
}

size_t rnn_backward_scratch(const RnnParams& p, const KernelSpec& spec) {
  if (spec.in[0].dtype == DType::float64)
    return Backward<double>(p, spec.in, spec.out, spec.req, nullptr).scratch_bytes();
  return Backward<float>(p, spec.in, spec.out, spec.req, nullptr).scratch_bytes();
}

}  // namespace

void kernels_rnn_backward_cuda(KernelList& list) {
  list.kernel<rnn_backward_cuda, rnn_backward_scratch>("_backward_RNN", "rnn_backward_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops
