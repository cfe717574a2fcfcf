// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/families_cuda.h"
#include "ops/quantization/low_bit.h"
#include "ops/quantization/range_cuda.h"
#include "ops/quantization/rounded_cuda.h"
#include "ops/rnn/rnn_step_cuda.h"

// Recurrent layers in prediction whose weights are rounded to 8 bits. As on the host, a layer multiplies the inputs of all its steps
// with the i2h weight at once, into the gates; then each step adds the product of the states with the h2h weight.
namespace loomix::ops {
namespace {

using namespace cuda;

// What both operators have: the gates and states of a run, in scratch memory.
struct RunMemory {
  float *gates, *h2h, *state, *cell, *between[2];
  float* output;  // of the last layer, where nobody wants it: states come from it
  RunMemory(ScratchPieces& pieces, const RnnShape& s, bool output_is_wanted)
      : gates(pieces.take<float>(s.rows() * s.gate_columns())),
        h2h(pieces.take<float>(s.mode == RnnMode::gru ? s.batch * s.gate_columns() : 0)),
        state(pieces.take<float>(s.batch * s.hidden)),
        cell(pieces.take<float>(s.batch * s.hidden)) {
    output = pieces.take<float>(output_is_wanted ? 0 : s.rows() * s.output_columns());
    for (int64_t i = 0; i < 2; ++i)
      between[i] = pieces.take<float>(s.layers > i + 1 ? s.rows() * s.output_columns() : 0);
  }
};

// All layers. `products` multiplies by the weights of a direction: inputs(layer, d, from, to) those of all steps, states(layer, d,
// state, to, add) the states.
struct LayerRun {
  const RnnParams& p;
  const RnnShape& s;
  const RunMemory& memory;
  const KernelArgs& args;
  const float* biases;  // of the first layer
  size_t state_at;      // the input; that of cells comes next

  template <class Products>
  void operator()(const float* input, const Products& products) const {
    const cudaStream_t stream = stream_of(args);
    const int64_t states = s.batch * s.hidden;
    float* const last = args.req[0] == Req::null ? memory.output : args.out[0].mutable_as<float>();
    for (int64_t layer = 0; layer < s.layers; ++layer) {
      float* const output = layer + 1 == s.layers ? last : memory.between[layer % 2];
      for (int64_t d = 0; d < s.directions; ++d) {
        const int64_t place = (layer * s.directions + d) * states;
        copy_numbers(args.in[state_at].as<float>() + place, memory.state, states, stream);
        if (has_cells(p))
          copy_numbers(args.in[state_at + 1].as<float>() + place, memory.cell, states, stream);
        run_direction(layer, d, input, output, products);
        keep(1, memory.state, place, stream);
        if (has_cells(p)) keep(2, memory.cell, place, stream);
      }
      input = output;
    }
  }

 private:
  void keep(size_t output, const float* from, int64_t place, cudaStream_t stream) const {
    if (!p.state_outputs) return;
    if (float* const to = args.wanted<float>(output))
      copy_numbers(from, to + place, s.batch * s.hidden, stream);
  }
  template <class Products>
  void run_direction(int64_t layer, int64_t d, const float* input, float* output,
                     const Products& products) const {
    const bool apart = s.mode == RnnMode::gru;
    products.inputs(layer, d, input, memory.gates);
    ForwardStep<float> step{s.mode,
                            Divider(s.hidden),
                            0,
                            s.output_columns(),
                            nullptr,
                            biases + (s.bias(layer, d) - s.bias(0, 0)),
                            cell_clip<float>(p)};
    step.cell = memory.cell;
    step.state = step.hidden = memory.state;
    step.h2h = memory.h2h;
    for (int64_t i = 0; i < s.steps; ++i) {
      const int64_t t = d == 0 ? i : s.steps - 1 - i;
      step.t = t;
      step.gates = memory.gates + t * s.batch * s.gate_columns();
      step.output = output + t * s.batch * s.output_columns() + d * s.hidden;
      products.states(layer, d, memory.state, apart ? memory.h2h : step.gates, !apart);
      launch_each(stream_of(args), s.batch * s.hidden, step);
    }
  }
};

// ---- weights of 8 bits; data and states are rounded in each run ----

struct RoundedRnn {
  const RnnShape s;
  RunMemory memory;
  Rounded rows;
  size_t scratch_bytes;
  const KernelArgs* args = nullptr;

  // Of KernelSpec or KernelArgs.
  RoundedRnn(const LowBitRnnParams& p, const auto& given, ScratchPieces pieces)
      : s(p, given.in[0].shape),
        memory(pieces, s, given.req[0] != Req::null),
        rows(pieces, std::max(s.rows(), s.batch),
             std::max({s.inputs, s.layers > 1 ? s.output_columns() : 0, s.hidden})),
        scratch_bytes(pieces.used()) {}

  void inputs(int64_t layer, int64_t d, const float* from, float* to) const {
    multiply(s.rows(), s.width(layer), from, s.i2h(layer, d), row(layer, d), to, false);
  }
  void states(int64_t layer, int64_t d, const float* from, float* to, bool add) const {
    multiply(s.batch, s.hidden, from, s.h2h(layer, d), row(layer, d) + s.gate_columns(), to, add);
  }

 private:
  int64_t row(int64_t layer, int64_t d) const { return s.bias(layer, d) - s.bias(0, 0); }
  void multiply(int64_t count, int64_t columns, const float* from, int64_t weight, int64_t scale, float* to,
                bool add) const {
    if (count == 0) return;
    const cudaStream_t stream = stream_of(*args);
    rows.round(SummedRows(from, count, columns, false), 1, stream);
    const int64_t outputs = count * s.gate_columns();
    RoundedTimes product{Divider(outputs),
                         Divider(s.gate_columns()),
                         count,
                         columns,
                         rows.whole,
                         args->in[1].as<int8_t>() + weight,
                         rows.scales,
                         args->in[2].as<float>() + scale,
                         nullptr,
                         to,
                         s.gate_columns(),
                         0,
                         1};
    product.adds = add;
    launch_warps(stream, outputs, product);
  }
};

size_t low_bit_rnn_scratch(const LowBitRnnParams& p, const KernelSpec& spec) {
  return RoundedRnn(p, spec, ScratchPieces(nullptr)).scratch_bytes;
}
void low_bit_rnn_cuda(const LowBitRnnParams& p, const KernelArgs& args) {
  RoundedRnn run(p, args, ScratchPieces(args.scratch.data()));
  run.args = &args;
  LayerRun{p, run.s, run.memory, args, args.in[3].as<float>(), 4}(args.in[0].as<float>(), run);
}

// ---- float weights that are rounded to 8 bits in each run ----

// A row of a gate becomes the numbers that its int8 ones stand for, a warp a row.
struct RoundGate {
  int64_t columns;
  const float* from;
  float* to;
  int64_t* fault;
  __device__ void operator()(int64_t row) const {
    const float* const given = from + row * columns;
    float reach = 0, spoilt = 0;  // NaN where a number is infinite or NaN
    for (int64_t k = threadIdx.x; k < columns; k += kWarp) {
      reach = max(reach, ::fabsf(given[k]));
      spoilt += given[k] - given[k];
    }
    reach = merge_warp(reach, Greater{});
    spoilt = merge_warp(spoilt, Plus{});
    if (spoilt != 0 && threadIdx.x == 0) report(fault);
    const double step = Range{-reach, reach}.step(DType::int8);
    for (int64_t k = threadIdx.x; k < columns; k += kWarp) {
      const auto scaled = static_cast<float>(given[k] * per_step(step));
      to[row * columns + k] = spoilt != 0 ? 0 : to_whole<int8_t>(scaled) * static_cast<float>(step);
    }
  }
  struct Greater {
    __device__ float operator()(float a, float b) const { return max(a, b); }
  };
};

// Data from what its bytes stand for.
struct WidenData {
  const uint8_t* from;
  const float *scale, *shift;
  float* to;
  int64_t* fault;
  __device__ void operator()(int64_t i) const {
    const float by = *scale, less = *shift;
    if (!(by - by == 0 && less - less == 0 && by > 0)) report(fault);
    to[i] = (static_cast<float>(from[i]) - less) / by;
  }
};

struct QuantizedRnn {
  const RnnShape s;
  RunMemory memory;
  float *data, *i2h, *h2h_weight;
  size_t scratch_bytes;
  cudaStream_t stream = nullptr;
  const float* parameters = nullptr;
  int64_t* fault = nullptr;

  // Of KernelSpec or KernelArgs.
  QuantizedRnn(const RnnParams& p, const auto& given, ScratchPieces pieces)
      : s(p, given.in[0].shape),
        memory(pieces, s, given.req[0] != Req::null),
        data(pieces.take<float>(s.rows() * s.inputs)),
        i2h(pieces.take<float>(s.gate_columns() * std::max(s.inputs, s.layers > 1 ? s.output_columns() : 0))),
        h2h_weight(pieces.take<float>(s.gate_columns() * s.hidden)),
        scratch_bytes(pieces.used()) {}

  // The weights of both products, which are made once a direction.
  void inputs(int64_t layer, int64_t d, const float* from, float* to) const {
    const int64_t width = s.width(layer), columns = s.gate_columns();
    launch_warps(stream, columns, RoundGate{width, parameters + s.i2h(layer, d), i2h, fault});
    launch_warps(stream, columns, RoundGate{s.hidden, parameters + s.h2h(layer, d), h2h_weight, fault});
    RnnGemm<float>{false, stream}(s.rows(), columns, width, false, true, from, i2h, to, false);
  }
  void states(int64_t, int64_t, const float* from, float* to, bool add) const {
    RnnGemm<float>{false, stream}(s.batch, s.gate_columns(), s.hidden, false, true, from, h2h_weight, to,
                                  add);
  }
};

size_t quantized_rnn_scratch(const RnnParams& p, const KernelSpec& spec) {
  return QuantizedRnn(p, spec, ScratchPieces(nullptr)).scratch_bytes;
}
void quantized_rnn_cuda(const RnnParams& p, const KernelArgs& args, int64_t* fault) {
  QuantizedRnn run(p, args, ScratchPieces(args.scratch.data()));
  run.stream = stream_of(args);
  run.parameters = args.in[1].as<float>();
  run.fault = fault;
  launch_each(
      run.stream, args.in[0].size(),
      WidenData{args.in[0].as<uint8_t>(), args.in[4].as<float>(), args.in[5].as<float>(), run.data, fault});
  LayerRun{p, run.s, run.memory, args, run.parameters + run.s.bias(0, 0), 2}(run.data, run);
}

// Throws what the host throws.
void explain_quantized_rnn(const RnnParams& p, const KernelArgs& args) {
  const HostCopy scale(args.in[4]), shift(args.in[5]), parameters(args.in[1]);
  check_data_scale(*scale.view().as<float>(), *shift.view().as<float>());
  const RnnShape s(p, args.in[0].shape);
  const float* const weights = parameters.view().as<float>();
  for (int64_t i = 0; i < s.bias(0, 0); ++i) {
    const float size = std::abs(weights[i]);
    if (!std::isfinite(size)) checked_range(-size, size, "_contrib_quantized_rnn");
  }
}

}  // namespace

void kernels_quantized_rnn_cuda(KernelList& list) {
  list.kernel<low_bit_rnn_cuda, low_bit_rnn_scratch>("_contrib_low_bit_rnn", "low_bit_rnn_cuda",
                                                     DeviceType::gpu);
  add_checked<quantized_rnn_cuda, explain_quantized_rnn, quantized_rnn_scratch>(
      list, "_contrib_quantized_rnn", "quantized_rnn_cuda");
}

}  // namespace loomix::ops
