// SPDX-License-Identifier: Apache-2.0
#include "ops/random/philox.h"
#include "ops/rnn/rnn_run.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// One run. Each layer multiplies the inputs of all its steps with the i2h weight at once, into the gates; then blocks of
// sequences go through the steps, each of which adds the product of its state with the packed h2h weight.
template <class C>
class Forward {
 public:
  Forward(const RnnParams& p, std::span<const TensorView> in, std::span<const TensorView> out,
          std::span<const Req> req, std::byte* scratch)
      : p_(p), s_(p, in[0].shape), at_(p), loops_(best_loops<RnnLoops<C>>()), pieces_(scratch) {
    const auto output = [&](int i) { return RnnArray<C>(out[i], req[i] != Req::null, pieces_); };
    data_ = RnnArray<C>(in[at_.data], true, pieces_);
    parameters_ = RnnArray<C>(in[at_.parameters], true, pieces_);
    first_state_ = RnnArray<C>(in[at_.state], true, pieces_);
    if (at_.cell >= 0) first_cell_ = RnnArray<C>(in[at_.cell], true, pieces_);
    output_ = output(0);
    if (p.state_outputs) last_state_ = output(1);
    if (p.state_outputs && at_.cell >= 0) last_cell_ = output(2);
    lengths_ = pieces_.take<int64_t>(s_.batch);
    gates_ = pieces_.take<C>(s_.directions * s_.rows() * s_.gate_columns());
    i2h_ = pieces_.take<C>(std::max(panel_size<C>(s_.inputs, s_.gate_columns()),
                                    panel_size<C>(s_.width(s_.layers - 1), s_.gate_columns())));
    h2h_size_ = panel_size<C>(s_.outputs, s_.gate_columns());
    h2h_ = pieces_.take<C>(s_.directions * h2h_size_);
    projection_size_ = s_.projected ? panel_size<C>(s_.hidden, s_.outputs) : 0;
    projection_ = pieces_.take<C>(s_.directions * projection_size_);
    bias_ = pieces_.take<C>(s_.directions * 2 * s_.gate_columns());
    state_ = pieces_.take<C>(s_.directions * s_.batch * s_.outputs);
    cell_ = pieces_.take<C>(s_.directions * s_.batch * s_.hidden);
    fresh_ = pieces_.take<C>(s_.directions * s_.batch * fresh_columns());
    const int64_t layer_output = s_.rows() * s_.output_columns();
    for (int64_t i = 0; i < 2; ++i) between_[i] = pieces_.take<C>(s_.layers > i + 1 ? layer_output : 0);
    dropped_ = pieces_.take<C>(s_.drops ? layer_output : 0);
    marks_ = pieces_.take<uint8_t>(s_.drops ? layer_output : 0);
  }

  size_t scratch_bytes() const { return pieces_.used(); }

  void run(const KernelArgs& args) {
    read_lengths(s_, at_.length < 0 ? nullptr : &args.in[at_.length], lengths_);
    engine::RunContext& context = *args.context;
    memory_ = !args.saved.empty() && args.saved[0] ? args.saved[0].mutable_as<C>() : nullptr;
    from_ = parameters_.load(context);
    const C* input = data_.load(context);
    const C* const first_state = first_state_.load(context);
    const C* const first_cell = at_.cell < 0 ? nullptr : first_cell_.load(context);
    for (layer_ = 0; layer_ < s_.layers; ++layer_) {
      C* const output = layer_ == s_.layers - 1 ? output_.target()
                        : memory_               ? memory_ + s_.kept_outputs(layer_)
                                                : between_[layer_ % 2];
      prepare_layer(input, first_state, first_cell, context);
      for_each_block(s_, context, [&](int64_t direction, int64_t first, int64_t end) {
        run_block(direction, first, end, output);
      });
      keep_last(layer_ * s_.directions);
      if (layer_ < s_.layers - 1) input = s_.drops ? drop(args, output) : output;
    }
    output_.store(context);
    if (p_.state_outputs) last_state_.store(context);
    if (p_.state_outputs && at_.cell >= 0) last_cell_.store(context);
  }

 private:
  // Of a sequence's scratch row: what a step computes before it is known to be one of the sequence's steps.
  int64_t fresh_columns() const { return s_.gate_columns() + s_.hidden + s_.outputs; }

  C* gates(int64_t direction) const {
    if (memory_ && s_.keeps_steps()) return memory_ + s_.kept_gates(layer_, direction);
    return gates_ + direction * s_.rows() * s_.gate_columns();
  }

  void prepare_layer(const C* input, const C* first_state, const C* first_cell, engine::RunContext& context) {
    const int64_t columns = s_.gate_columns();
    const int64_t states = s_.directions * s_.batch * s_.outputs,
                  cells = s_.directions * s_.batch * s_.hidden;
    for (int64_t d = 0; d < s_.directions; ++d) {
      RnnProduct<C>{s_.rows(),
                    columns,
                    s_.width(layer_),
                    input,
                    s_.width(layer_),
                    1,
                    from_ + s_.i2h(layer_, d),
                    1,
                    s_.width(layer_),
                    gates(d),
                    false}
          .run(i2h_, context);
      pack_panels(s_.outputs, columns, from_ + s_.h2h(layer_, d), 1, s_.outputs, h2h_ + d * h2h_size_,
                  context);
      if (s_.projected) {
        pack_panels(s_.hidden, s_.outputs, from_ + s_.projection(layer_, d), 1, s_.hidden,
                    projection_ + d * projection_size_, context);
      }
      const C* const bias = from_ + s_.bias(layer_, d);
      C* const to = bias_ + d * 2 * columns;
      const bool apart = s_.mode == RnnMode::gru;
      for (int64_t j = 0; j < columns; ++j) {
        to[j] = apart ? bias[j] : bias[j] + bias[columns + j];
        to[columns + j] = bias[columns + j];
      }
    }
    std::copy_n(first_state + layer_ * states, states, state_);
    if (first_cell) std::copy_n(first_cell + layer_ * cells, cells, cell_);
  }

  void run_block(int64_t direction, int64_t first, int64_t end, C* output) const {
    const int64_t columns = s_.gate_columns(), rows = end - first;
    const C* const h2h = h2h_ + direction * h2h_size_;
    C* const state = state_ + (direction * s_.batch + first) * s_.outputs;
    C* const fresh = fresh_ + (direction * s_.batch + first) * fresh_columns();
    C* const fresh_hidden = fresh + rows * columns;
    C* const fresh_output = fresh_hidden + rows * s_.hidden;
    const int64_t longest = *std::max_element(lengths_ + first, lengths_ + end);
    for (int64_t step = 0; step < s_.steps; ++step) {
      const int64_t t = direction == 0 ? step : s_.steps - 1 - step;
      C* const gate_rows = gates(direction) + (t * s_.batch + first) * columns;
      if (t < longest) {
        const bool apart = s_.mode == RnnMode::gru;
        loops_.multiply(rows, columns, s_.outputs, state, s_.outputs, 1, h2h, apart ? fresh : gate_rows,
                        columns, !apart);
        for (int64_t row = 0; row < rows; ++row) {
          if (t >= lengths_[first + row]) continue;
          run_cell(direction, t, first + row, gate_rows + row * columns, fresh + row * columns,
                   s_.projected ? fresh_hidden + row * s_.hidden : state + row * s_.outputs);
        }
        if (s_.projected) {
          loops_.multiply(rows, s_.outputs, s_.hidden, fresh_hidden, s_.hidden, 1,
                          projection_ + direction * projection_size_, fresh_output, s_.outputs, false);
        }
      }
      for (int64_t row = 0; row < rows; ++row) {
        C* const to = output + (t * s_.batch + first + row) * s_.output_columns() + direction * s_.outputs;
        if (t >= lengths_[first + row]) {
          std::fill_n(to, s_.outputs, C{0});
          continue;
        }
        C* const own = state + row * s_.outputs;
        if (s_.projected) std::copy_n(fresh_output + row * s_.outputs, s_.outputs, own);
        std::copy_n(own, s_.outputs, to);
      }
    }
  }

  // One step of one sequence. The state is read, and becomes `hidden`, which may be the state itself.
  void run_cell(int64_t direction, int64_t t, int64_t n, C* gate, C* h2h, C* hidden) const {
    const C* const bias = bias_ + direction * 2 * s_.gate_columns();
    C* const kept = memory_ && s_.keeps_steps()
                        ? memory_ + s_.kept_units(layer_, direction) + (t * s_.batch + n) * s_.hidden
                        : nullptr;
    switch (s_.mode) {
      case RnnMode::lstm: {
        C* const cell = cell_ + (direction * s_.batch + n) * s_.hidden;
        loops_.lstm(s_.hidden, bias, gate, cell, hidden, cell_clip<C>(p_));
        if (kept) std::copy_n(cell, s_.hidden, kept);
        return;
      }
      case RnnMode::gru:
        loops_.gru(s_.hidden, bias, gate, h2h, hidden, kept ? kept : h2h + 2 * s_.hidden, hidden);
        return;
      case RnnMode::rnn_relu: return loops_.vanilla(true, s_.hidden, bias, gate, hidden);
      case RnnMode::rnn_tanh: return loops_.vanilla(false, s_.hidden, bias, gate, hidden);
    }
  }

  void keep_last(int64_t place) const {
    if (!p_.state_outputs) return;
    const int64_t states = s_.batch * s_.outputs, cells = s_.batch * s_.hidden;
    std::copy_n(state_, s_.directions * states, last_state_.target() + place * states);
    if (at_.cell >= 0) std::copy_n(cell_, s_.directions * cells, last_cell_.target() + place * cells);
  }

  const C* drop(const KernelArgs& args, const C* output) const {
    const int64_t size = s_.rows() * s_.output_columns();
    uint8_t* const marks =
        args.saved.size() > 1 && args.saved[1] ? args.saved[1].mutable_as<uint8_t>() + layer_ * size : marks_;
    const auto threshold = static_cast<uint64_t>((1.0 - static_cast<double>(p_.p)) * 0x1p32);
    RandomStream random = args.random;
    random.offset += static_cast<uint64_t>(layer_ * size);
    engine::parallel_for(*args.context, size, loop_grain(4), [&](int64_t begin, int64_t end) {
      if (!args.training) {
        std::fill(marks + begin, marks + end, kUntouched);
        return;
      }
      philox_words(random, begin, end,
                   [&](int64_t i, uint32_t word) { marks[i] = word < threshold ? kScaled : kDropped; });
    });
    apply_drops(static_cast<double>(p_.p), size, marks, output, dropped_, *args.context);
    return dropped_;
  }

  const RnnParams& p_;
  const RnnShape s_;
  const RnnInputs at_;
  const RnnLoops<C>& loops_;
  ScratchPieces pieces_;
  RnnArray<C> data_, parameters_, first_state_, first_cell_, output_, last_state_, last_cell_;
  int64_t* lengths_;
  C *gates_, *i2h_, *h2h_, *projection_, *bias_, *state_, *cell_, *fresh_, *between_[2], *dropped_;
  uint8_t* marks_;
  int64_t h2h_size_, projection_size_;
  C* memory_ = nullptr;      // for the gradient
  const C* from_ = nullptr;  // the parameter vector
  int64_t layer_ = 0;
};

// data (steps, batch, inputs), parameters, state, [state_cell], [sequence_length] -> output, [state], [state_cell].
// Saves `memory` and `mask`.
void rnn_cpu(const RnnParams& p, const KernelArgs& args) {
  dispatch_floating(args.in[0].dtype, "RNN", [&]<class T>(Type<T>) {
    Forward<Accum<T>>(p, args.in, args.out, args.req, args.scratch.data()).run(args);
  });
}

size_t rnn_scratch(const RnnParams& p, const KernelSpec& spec) {
  return dispatch_floating(spec.in[0].dtype, "RNN", [&]<class T>(Type<T>) {
    return Forward<Accum<T>>(p, spec.in, spec.out, spec.req, nullptr).scratch_bytes();
  });
}

}  // namespace

void kernels_rnn_forward(OpTable& table) { table.kernel<rnn_cpu, rnn_scratch>("RNN", "rnn_cpu"); }

}  // namespace loomix::ops
