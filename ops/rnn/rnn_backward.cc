// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/gemm.h"
#include "ops/rnn/rnn_run.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// One run, from the last layer to the first. Blocks of sequences go back through the steps and leave the gradients of the
// gates; those of weights and inputs are one product over all steps then.
template <class C>
class Backward {
 public:
  Backward(const RnnParams& p, std::span<const TensorView> in, std::span<const TensorView> out,
           std::span<const Req> req, std::byte* scratch)
      : p_(p), s_(p, in[0].shape), at_(p), loops_(best_loops<RnnLoops<C>>()), pieces_(scratch) {
    const auto input = [&](int i) { return i < 0 ? RnnArray<C>() : RnnArray<C>(in[i], true, pieces_); };
    const auto output = [&](int i) { return RnnArray<C>(out[i], req[i] != Req::null, pieces_); };
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
    engine::RunContext& context = *args.context;
    read_lengths(s_, at_.length < 0 ? nullptr : &args.in[at_.length], lengths_);
    memory_ = args.in[at_.memory].as<C>();
    const uint8_t* const marks = args.in[at_.mask].as<uint8_t>();
    load(context);
    const int64_t layer_size = s_.rows() * s_.output_columns();
    const C* to_output = heads_;
    for (layer_ = s_.layers - 1; layer_ >= 0; --layer_) {
      layer_output_ = layer_ == s_.layers - 1 ? outputs_ : memory_ + s_.kept_outputs(layer_);
      const C* input = layer_ == 0 ? inputs_ : memory_ + s_.kept_outputs(layer_ - 1);
      if (layer_ > 0 && s_.drops && wants_parameters_) {
        apply_drops(static_cast<double>(p_.p), layer_size, marks + (layer_ - 1) * layer_size, input, dropped_,
                    context);
        input = dropped_;
      }
      prepare_layer(context);
      for_each_block(s_, context, [&](int64_t direction, int64_t first, int64_t end) {
        run_block(direction, first, end, to_output);
      });
      for (int64_t d = 0; d < s_.directions; ++d) {
        if (wants_parameters_) add_up_parameters(d, input, context);
        if (layer_ > 0 || wants_data_) to_input(d, context);
      }
      store_states();
      if (layer_ > 0 && s_.drops) {
        apply_drops(static_cast<double>(p_.p), layer_size, marks + (layer_ - 1) * layer_size, to_layer_,
                    to_layer_, context);
      }
      to_output = to_layer_;
    }
    to_data_.store(context);
    to_parameters_.store(context);
    to_first_state_.store(context);
    if (at_.cell >= 0) to_first_cell_.store(context);
  }

 private:
  void take_scratch() {
    const int64_t d = s_.directions, rows = s_.rows(), columns = s_.gate_columns();
    lengths_ = pieces_.take<int64_t>(s_.batch);
    to_gates_ = pieces_.take<C>(d * rows * columns);
    to_h2h_ = s_.mode == RnnMode::gru ? pieces_.take<C>(d * rows * columns) : to_gates_;
    before_ = pieces_.take<C>(d * rows * s_.outputs);
    hidden_ = pieces_.take<C>(s_.projected ? d * rows * s_.hidden : 0);
    to_projected_ = pieces_.take<C>(s_.projected ? d * rows * s_.outputs : 0);
    const int64_t widest = std::max(s_.inputs, s_.width(s_.layers - 1));
    panels_ = pieces_.take<C>(std::max(panel_size<C>(rows, std::max({widest, s_.outputs, s_.hidden})),
                                       panel_size<C>(columns, widest)));
    h2h_size_ = panel_size<C>(columns, s_.outputs);
    h2h_ = pieces_.take<C>(d * h2h_size_);
    projection_size_ = s_.projected ? panel_size<C>(s_.outputs, s_.hidden) : 0;
    projection_ = pieces_.take<C>(d * projection_size_);
    to_state_ = pieces_.take<C>(d * s_.batch * s_.outputs);
    to_cell_ = pieces_.take<C>(d * s_.batch * s_.hidden);
    fresh_ = pieces_.take<C>(d * s_.batch * fresh_columns());
    to_layer_ = pieces_.take<C>(s_.layers > 1 ? rows * s_.output_columns() : 0);
    dropped_ = pieces_.take<C>(s_.drops ? rows * s_.output_columns() : 0);
  }

  // Of a sequence's scratch row: the gradients of a step's output, of its state, and of what is projected.
  int64_t fresh_columns() const { return 2 * s_.outputs + s_.hidden; }

  void load(engine::RunContext& context) {
    inputs_ = data_.load(context);
    from_ = parameters_.load(context);
    states_ = first_state_.load(context);
    if (at_.cell >= 0) cells_ = first_cell_.load(context);
    outputs_ = output_.load(context);
    heads_ = grad_.load(context);
    if (at_.grad_state >= 0) state_heads_ = grad_state_.load(context);
    if (at_.grad_cell >= 0) cell_heads_ = grad_cell_.load(context);
  }

  // Whether step t is the first one of a sequence.
  bool starts(int64_t direction, int64_t t, int64_t n) const {
    return direction == 0 ? t == 0 : t + 1 >= lengths_[n];
  }
  int64_t step_before(int64_t direction, int64_t t) const { return direction == 0 ? t - 1 : t + 1; }

  void prepare_layer(engine::RunContext& context) {
    const int64_t columns = s_.gate_columns(), outputs = s_.outputs;
    for (int64_t d = 0; d < s_.directions; ++d) {
      pack_panels(columns, outputs, from_ + s_.h2h(layer_, d), outputs, 1, h2h_ + d * h2h_size_, context);
      if (s_.projected) {
        pack_panels(outputs, s_.hidden, from_ + s_.projection(layer_, d), s_.hidden, 1,
                    projection_ + d * projection_size_, context);
      }
      const C* const first = states_ + (layer_ * s_.directions + d) * s_.batch * outputs;
      C* const before = before_ + d * s_.rows() * outputs;
      engine::parallel_each(
          context, s_.steps, loop_grain(std::max<int64_t>(1, s_.batch * outputs)), [&](int64_t t) {
            for (int64_t n = 0; n < s_.batch; ++n) {
              const C* const from =
                  starts(d, t, n) ? first + n * outputs : output_row(d, step_before(d, t), n);
              std::copy_n(from, outputs, before + (t * s_.batch + n) * outputs);
            }
          });
    }
    start(to_state_, state_heads_, s_.directions * s_.batch * outputs);
    if (at_.cell >= 0) start(to_cell_, cell_heads_, s_.directions * s_.batch * s_.hidden);
  }

  // The gradient of the states after the last step.
  void start(C* to, const C* heads, int64_t size) const {
    if (heads) std::copy_n(heads + layer_ * size, size, to);
    else std::fill_n(to, size, C{0});
  }

  const C* output_row(int64_t direction, int64_t t, int64_t n) const {
    return layer_output_ + (t * s_.batch + n) * s_.output_columns() + direction * s_.outputs;
  }

  void run_block(int64_t direction, int64_t first, int64_t end, const C* to_output) const {
    const int64_t rows = end - first, columns = s_.gate_columns(), outputs = s_.outputs;
    C* const to_state = to_state_ + (direction * s_.batch + first) * outputs;
    C* const own = fresh_ + (direction * s_.batch + first) * fresh_columns();
    C* const next = own + rows * outputs;
    C* const inner = s_.projected ? next + rows * outputs : own;
    for (int64_t step = s_.steps - 1; step >= 0; --step) {
      const int64_t t = direction == 0 ? step : s_.steps - 1 - step;
      const int64_t place = (direction * s_.steps + t) * s_.batch + first;
      for (int64_t row = 0; row < rows; ++row) {
        const C* const head =
            to_output + (t * s_.batch + first + row) * s_.output_columns() + direction * outputs;
        for (int64_t j = 0; j < outputs; ++j) own[row * outputs + j] = to_state[row * outputs + j] + head[j];
      }
      if (s_.projected) {
        loops_.multiply(rows, s_.hidden, outputs, own, outputs, 1, projection_ + direction * projection_size_,
                        inner, s_.hidden, false);
      }
      bool any = false;
      for (int64_t row = 0; row < rows; ++row) {
        const bool runs = t < lengths_[first + row];
        any = any || runs;
        if (runs)
          run_cell(direction, t, first + row, place + row, inner + row * s_.hidden, next + row * outputs);
        else clear(place + row);
        if (s_.projected) {
          C* const projected = to_projected_ + (place + row) * outputs;
          if (runs) std::copy_n(own + row * outputs, outputs, projected);
          else std::fill_n(projected, outputs, C{0});
        }
      }
      if (!any) continue;
      loops_.multiply(rows, outputs, columns, to_h2h_ + place * columns, columns, 1,
                      h2h_ + direction * h2h_size_, next, outputs, s_.mode == RnnMode::gru);
      for (int64_t row = 0; row < rows; ++row) {
        if (t < lengths_[first + row]) std::copy_n(next + row * outputs, outputs, to_state + row * outputs);
      }
    }
  }

  // A step beyond the end of its sequence.
  void clear(int64_t place) const {
    const int64_t columns = s_.gate_columns();
    std::fill_n(to_gates_ + place * columns, columns, C{0});
    if (s_.mode == RnnMode::gru) std::fill_n(to_h2h_ + place * columns, columns, C{0});
    if (s_.projected) std::fill_n(hidden_ + place * s_.hidden, s_.hidden, C{0});
  }

  // One step of one sequence, from the gradient of its output before projection.
  void run_cell(int64_t direction, int64_t t, int64_t n, int64_t place, const C* grad, C* to_state) const {
    const int64_t units = s_.hidden, columns = s_.gate_columns(), row = t * s_.batch + n;
    C* const to_gates = to_gates_ + place * columns;
    if (s_.mode == RnnMode::rnn_relu || s_.mode == RnnMode::rnn_tanh) {
      loops_.vanilla_gradient(s_.mode == RnnMode::rnn_relu, units, output_row(direction, t, n), grad,
                              to_gates);
      return;
    }
    const C* const gates = memory_ + s_.kept_gates(layer_, direction) + row * columns;
    const C* const kept = memory_ + s_.kept_units(layer_, direction);
    if (s_.mode == RnnMode::gru) {
      loops_.gru_gradient(units, gates, kept + row * units, before_ + place * units, grad, to_gates,
                          to_h2h_ + place * columns, to_state);
      return;
    }
    const C* const cell_before = starts(direction, t, n)
                                     ? cells_ + ((layer_ * s_.directions + direction) * s_.batch + n) * units
                                     : kept + (step_before(direction, t) * s_.batch + n) * units;
    loops_.lstm_gradient(units, gates, cell_before, kept + row * units, grad,
                         to_cell_ + (direction * s_.batch + n) * units, to_gates, cell_clip<C>(p_));
    if (s_.projected) loops_.lstm_hidden(units, gates, kept + row * units, hidden_ + place * units);
  }

  void add_up_parameters(int64_t direction, const C* input, engine::RunContext& context) const {
    const int64_t rows = s_.rows(), columns = s_.gate_columns();
    const C* const to_i2h = to_gates_ + direction * rows * columns;
    const C* const to_h2h = to_h2h_ + direction * rows * columns;
    C* const to = to_parameters_.target();
    const auto product = [&](int64_t m, int64_t n, const C* a, const C* b, C* c) {
      RnnProduct<C>{m, n, rows, a, 1, m, b, n, 1, c, false}.run(panels_, context);
    };
    product(columns, s_.width(layer_), to_i2h, input, to + s_.i2h(layer_, direction));
    product(columns, s_.outputs, to_h2h, before_ + direction * rows * s_.outputs,
            to + s_.h2h(layer_, direction));
    if (s_.projected) {
      product(s_.outputs, s_.hidden, to_projected_ + direction * rows * s_.outputs,
              hidden_ + direction * rows * s_.hidden, to + s_.projection(layer_, direction));
    }
    C* const bias = to + s_.bias(layer_, direction);
    sum_rows(rows, columns, dtype_of<C>(), to_i2h, bias, false, context);
    if (to_i2h == to_h2h) std::copy_n(bias, columns, bias + columns);
    else sum_rows(rows, columns, dtype_of<C>(), to_h2h, bias + columns, false, context);
  }

  void to_input(int64_t direction, engine::RunContext& context) const {
    const int64_t columns = s_.gate_columns(), width = s_.width(layer_);
    RnnProduct<C>{s_.rows(),
                  width,
                  columns,
                  to_gates_ + direction * s_.rows() * columns,
                  columns,
                  1,
                  from_ + s_.i2h(layer_, direction),
                  width,
                  1,
                  layer_ == 0 ? to_data_.target() : to_layer_,
                  direction > 0}
        .run(panels_, context);
  }

  void store_states() const {
    const int64_t states = s_.directions * s_.batch * s_.outputs,
                  cells = s_.directions * s_.batch * s_.hidden;
    std::copy_n(to_state_, states, to_first_state_.target() + layer_ * states);
    if (at_.cell >= 0) std::copy_n(to_cell_, cells, to_first_cell_.target() + layer_ * cells);
  }

  const RnnParams& p_;
  const RnnShape s_;
  const RnnGradInputs at_;
  const RnnLoops<C>& loops_;
  ScratchPieces pieces_;
  RnnArray<C> data_, parameters_, first_state_, first_cell_, output_, grad_, grad_state_, grad_cell_;
  RnnArray<C> to_data_, to_parameters_, to_first_state_, to_first_cell_;
  bool wants_data_, wants_parameters_;
  int64_t* lengths_;
  // By direction, step and sequence: the gradients of what i2h and h2h give the gates, the state before, and of
  // projections what is projected and the gradient of the result.
  C *to_gates_, *to_h2h_, *before_, *hidden_, *to_projected_;
  C *panels_, *h2h_, *projection_, *to_state_, *to_cell_, *fresh_, *to_layer_, *dropped_;
  int64_t h2h_size_, projection_size_;
  const C *memory_ = nullptr, *inputs_ = nullptr, *from_ = nullptr, *states_ = nullptr, *cells_ = nullptr;
  const C *outputs_ = nullptr, *heads_ = nullptr, *state_heads_ = nullptr, *cell_heads_ = nullptr;
  const C* layer_output_ = nullptr;
  int64_t layer_ = 0;
};

// See RnnGradInputs -> gradients of data, parameters, state, [state_cell].
void rnn_backward_cpu(const RnnParams& p, const KernelArgs& args) {
  dispatch_floating(args.in[0].dtype, "RNN", [&]<class T>(Type<T>) {
    Backward<Accum<T>>(p, args.in, args.out, args.req, args.scratch.data()).run(args);
  });
}

size_t rnn_backward_scratch(const RnnParams& p, const KernelSpec& spec) {
  return dispatch_floating(spec.in[0].dtype, "RNN", [&]<class T>(Type<T>) {
    return Backward<Accum<T>>(p, spec.in, spec.out, spec.req, nullptr).scratch_bytes();
  });
}

}  // namespace

void gradients_rnn(OpTable& table) {
  table.kernel<rnn_backward_cpu, rnn_backward_scratch>("_backward_RNN", "rnn_backward_cpu");
}

}  // namespace loomix::ops
