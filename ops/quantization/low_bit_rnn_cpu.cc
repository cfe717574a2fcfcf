// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "ops/isa.h"
#include "ops/quantization/low_bit.h"
#include "ops/quantization/low_bit_product.h"
#include "ops/rnn/rnn_pieces.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// One run. A layer multiplies the inputs of all its steps by the i2h weight at once, into the gates; then each step adds the product
// of the states with the h2h weight, which all cores share.
class LowBitRnn {
 public:
  LowBitRnn(const LowBitRnnParams& p, const Shape& data, int cores, std::byte* scratch)
      : p_(p), s_(p_, data), slots_(slots_for(cores)) {
    ScratchPieces pieces(scratch);
    const int64_t widest = std::max(s_.inputs, s_.output_columns());
    gates_ = pieces.take<float>(s_.rows() * s_.gate_columns());
    fresh_ = pieces.take<float>(s_.batch * s_.gate_columns());
    bias_ = pieces.take<float>(2 * s_.gate_columns());
    kept_ = pieces.take<float>(s_.hidden);
    state_ = pieces.take<float>(s_.batch * s_.hidden);
    cell_ = pieces.take<float>(s_.batch * s_.hidden);
    for (float*& layer : between_) layer = pieces.take<float>(s_.rows() * s_.output_columns());
    const int64_t rows = std::max(s_.rows(), s_.batch), columns = std::max(widest, s_.hidden);
    whole_ = pieces.take<int8_t>(static_cast<int64_t>(RoundedRows::whole_bytes(rows, columns)));
    scales_ = pieces.take<float>(rows);
    sum_bytes_ = std::max({rounded_product_bytes(s_.rows(), s_.inputs),
                           rounded_product_bytes(s_.rows(), s_.output_columns()),
                           rounded_product_bytes(s_.batch, s_.hidden)});
    sums_ = pieces.take<std::byte>(static_cast<int64_t>(sum_bytes_) * slots_);
    scratch_bytes_ = pieces.used();
  }

  size_t scratch_bytes() const { return scratch_bytes_; }

  void run(const KernelArgs& args) {
    const int64_t states = s_.batch * s_.hidden;
    const float* input = args.in[0].as<float>();
    for (int64_t layer = 0; layer < s_.layers; ++layer) {
      float* const output = layer + 1 == s_.layers ? args.out[0].mutable_as<float>() : between_[layer % 2];
      for (int64_t d = 0; d < s_.directions; ++d) {
        const int64_t place = (layer * s_.directions + d) * states;
        std::copy_n(args.in[4].as<float>() + place, states, state_);
        if (has_cells(p_)) std::copy_n(args.in[5].as<float>() + place, states, cell_);
        run_direction(args, layer, d, input, output);
        if (!p_.state_outputs) continue;
        if (float* const to = args.wanted<float>(1)) std::copy_n(state_, states, to + place);
        if (!has_cells(p_)) continue;
        if (float* const to = args.wanted<float>(2)) std::copy_n(cell_, states, to + place);
      }
      input = output;
    }
  }

 private:
  void multiply(const KernelArgs& args, int64_t rows, int64_t columns, const float* from, int64_t weight,
                int64_t scale, float* to, bool add) const {
    ScratchSlots slots({sums_, sum_bytes_ * static_cast<size_t>(slots_)}, sum_bytes_, slots_);
    const RoundedRows data{rows, columns, whole_, scales_};
    data.round(from, *args.context);
    rounded_product(data, args.in[1].as<int8_t>() + weight, args.in[2].as<float>() + scale, s_.gate_columns(),
                    to, add, slots, *args.context);
  }

  void run_direction(const KernelArgs& args, int64_t layer, int64_t d, const float* input, float* output) {
    const int64_t columns = s_.gate_columns();
    const bool apart = s_.mode == RnnMode::gru;
    const int64_t row = s_.bias(layer, d) - s_.bias(0, 0);  // of the first scale, and the first bias
    const float* const bias = args.in[3].as<float>() + row;
    for (int64_t j = 0; j < columns; ++j) {
      bias_[j] = apart ? bias[j] : bias[j] + bias[columns + j];
      bias_[columns + j] = bias[columns + j];
    }
    multiply(args, s_.rows(), s_.width(layer), input, s_.i2h(layer, d), row, gates_, false);
    for (int64_t step = 0; step < s_.steps; ++step) {
      const int64_t t = d == 0 ? step : s_.steps - 1 - step;
      float* const gates = gates_ + t * s_.batch * columns;
      multiply(args, s_.batch, s_.hidden, state_, s_.h2h(layer, d), row + columns, apart ? fresh_ : gates,
               !apart);
      for (int64_t n = 0; n < s_.batch; ++n) {
        float* const hidden = state_ + n * s_.hidden;
        run_cell(gates + n * columns, fresh_ + n * columns, hidden, cell_ + n * s_.hidden);
        std::copy_n(hidden, s_.hidden, output + (t * s_.batch + n) * s_.output_columns() + d * s_.hidden);
      }
    }
  }

  void run_cell(float* gate, const float* h2h, float* hidden, float* cell) const {
    const auto& loops = best_loops<RnnLoops<float>>();
    switch (s_.mode) {
      case RnnMode::lstm: return loops.lstm(s_.hidden, bias_, gate, cell, hidden, cell_clip<float>(p_));
      case RnnMode::gru: return loops.gru(s_.hidden, bias_, gate, h2h, hidden, kept_, hidden);
      case RnnMode::rnn_relu: return loops.vanilla(true, s_.hidden, bias_, gate, hidden);
      case RnnMode::rnn_tanh: return loops.vanilla(false, s_.hidden, bias_, gate, hidden);
    }
  }

  const RnnParams p_;
  const RnnShape s_;
  const int slots_;
  float *gates_, *fresh_, *bias_, *kept_, *state_, *cell_, *between_[2], *scales_;
  int8_t* whole_;
  std::byte* sums_;
  size_t sum_bytes_, scratch_bytes_;
};

size_t low_bit_rnn_scratch(const LowBitRnnParams& p, const KernelSpec& spec) {
  return LowBitRnn(p, spec.in[0].shape, spec.cores, nullptr).scratch_bytes();
}

void low_bit_rnn_cpu(const LowBitRnnParams& p, const KernelArgs& args) {
  LowBitRnn(p, args.in[0].shape, args.context->cores, args.scratch.data()).run(args);
}

}  // namespace

void kernels_low_bit_rnn(OpTable& table) {
  table.kernel<low_bit_rnn_cpu, low_bit_rnn_scratch>("_contrib_low_bit_rnn", "low_bit_rnn_cpu");
}

}  // namespace loomix::ops
