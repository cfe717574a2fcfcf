// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/random/philox.h"
#include "ops/rnn/rnn_arrays_cuda.h"
#include "ops/rnn/rnn_step_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// The projection of a step becomes the state.
template <class C>
struct KeepProjected {
  Divider outputs;
  int64_t t, output_row;
  const int64_t* lengths;
  const C* fresh;
  C* state;
  C* output;
  __device__ void operator()(int64_t i) const {
    const int64_t n = outputs.quotient(i), j = i - n * outputs.divisor();
    const bool runs = is_step(lengths, t, n);
    if (runs) state[i] = fresh[i];
    output[n * output_row + j] = runs ? fresh[i] : C{0};
  }
};

struct DrawMarks {
  RandomStream random;
  uint64_t threshold;
  bool training;
  uint8_t* marks;
  __device__ void operator()(int64_t i) const {
    if (!training) {
      marks[i] = kUntouched;
      return;
    }
    const uint64_t n = random.offset + static_cast<uint64_t>(i);
    marks[i] = philox(random.seed, n / 4, 0).word[n % 4] < threshold ? kScaled : kDropped;
  }
};

// As on the CPU: each layer multiplies the inputs of all its steps with the i2h weight at once, into the gates; then the steps
// follow each other, each of which adds the product of its state with the h2h weight.
template <class C>
class Forward {
 public:
  Forward(const RnnParams& p, std::span<const TensorView> in, std::span<const TensorView> out,
          std::span<const Req> req, std::byte* scratch)
      : p_(p), s_(p, in[0].shape), at_(p), pieces_(scratch) {
    const auto output = [&](size_t i) { return RnnDeviceArray<C>(out[i], req[i] != Req::null, pieces_); };
    data_ = RnnDeviceArray<C>(in[0], true, pieces_);
    parameters_ = RnnDeviceArray<C>(in[1], true, pieces_);
    first_state_ = RnnDeviceArray<C>(in[2], true, pieces_);
    if (at_.cell >= 0) first_cell_ = RnnDeviceArray<C>(in[static_cast<size_t>(at_.cell)], true, pieces_);
    output_ = output(0);
    if (p.state_outputs) last_state_ = output(1);
    if (p.state_outputs && at_.cell >= 0) last_cell_ = output(2);
    if (at_.length >= 0) lengths_ = pieces_.take<int64_t>(s_.batch);
    const int64_t d = s_.directions, layer_output = s_.rows() * s_.output_columns();
    gates_ = pieces_.take<C>(d * s_.rows() * s_.gate_columns());
    h2h_ = pieces_.take<C>(s_.mode == RnnMode::gru ? s_.batch * s_.gate_columns() : 0);
    state_ = pieces_.take<C>(d * s_.batch * s_.outputs);
    cell_ = pieces_.take<C>(d * s_.batch * s_.hidden);
    hidden_ = pieces_.take<C>(s_.projected ? s_.batch * s_.hidden : 0);
    fresh_ = pieces_.take<C>(s_.projected ? s_.batch * s_.outputs : 0);
    for (int64_t i = 0; i < 2; ++i) between_[i] = pieces_.take<C>(s_.layers > i + 1 ? layer_output : 0);
    dropped_ = pieces_.take<C>(s_.drops ? layer_output : 0);
    marks_ = pieces_.take<uint8_t>(s_.drops ? layer_output : 0);
  }

  size_t scratch_bytes() const { return pieces_.used(); }

  void run(const KernelArgs& args) {
    stream_ = stream_of(args);
    multiply_ = {args.in[0].dtype != dtype_of<C>(), stream_};
    if (at_.length >= 0) read_lengths(s_, args.in[static_cast<size_t>(at_.length)], lengths_, stream_);
    memory_ = !args.saved.empty() && args.saved[0] ? args.saved[0].mutable_as<C>() : nullptr;
    from_ = parameters_.load(stream_);
    const C* input = data_.load(stream_);
    const C* const first_state = first_state_.load(stream_);
    const C* const first_cell = at_.cell < 0 ? nullptr : first_cell_.load(stream_);
    const int64_t states = s_.directions * s_.batch * s_.outputs,
                  cells = s_.directions * s_.batch * s_.hidden;
    for (layer_ = 0; layer_ < s_.layers; ++layer_) {
      C* const output = layer_ == s_.layers - 1 ? output_.target()
                        : memory_               ? memory_ + s_.kept_outputs(layer_)
                                                : between_[layer_ % 2];
      copy_numbers(first_state + layer_ * states, state_, states, stream_);
      if (first_cell) copy_numbers(first_cell + layer_ * cells, cell_, cells, stream_);
      for (int64_t d = 0; d < s_.directions; ++d) run_direction(d, input, output);
      if (p_.state_outputs) {
        copy_numbers(state_, last_state_.target() + layer_ * states, states, stream_);
        if (at_.cell >= 0) copy_numbers(cell_, last_cell_.target() + layer_ * cells, cells, stream_);
      }
      if (layer_ < s_.layers - 1) input = s_.drops ? drop(args, output) : output;
    }
    output_.store(stream_);
    if (p_.state_outputs) last_state_.store(stream_);
    if (p_.state_outputs && at_.cell >= 0) last_cell_.store(stream_);
  }

 private:
  void run_direction(int64_t d, const C* input, C* output) {
    const int64_t columns = s_.gate_columns();
    const bool keeps = memory_ && s_.keeps_steps(), apart = s_.mode == RnnMode::gru;
    C* const gates = keeps ? memory_ + s_.kept_gates(layer_, d) : gates_ + d * s_.rows() * columns;
    C* const units = keeps ? memory_ + s_.kept_units(layer_, d) : nullptr;
    C* const state = state_ + d * s_.batch * s_.outputs;
    multiply_(s_.rows(), columns, s_.width(layer_), false, true, input, from_ + s_.i2h(layer_, d), gates,
              false);
    ForwardStep<C> step{
        s_.mode,         Divider(s_.hidden), 0, s_.output_columns(), lengths_, from_ + s_.bias(layer_, d),
        cell_clip<C>(p_)};
    step.cell = cell_ + d * s_.batch * s_.hidden;
    step.state = state;
    step.hidden = s_.projected ? hidden_ : state;
    step.h2h = h2h_;
    for (int64_t i = 0; i < s_.steps; ++i) {
      const int64_t t = d == 0 ? i : s_.steps - 1 - i;
      C* const to = output + t * s_.batch * s_.output_columns() + d * s_.outputs;
      step.t = t;
      step.gates = gates + t * s_.batch * columns;
      step.kept = units ? units + t * s_.batch * s_.hidden : nullptr;
      step.output = s_.projected ? nullptr : to;
      multiply_(s_.batch, columns, s_.outputs, false, true, state, from_ + s_.h2h(layer_, d),
                apart ? h2h_ : step.gates, !apart);
      launch_each(stream_, s_.batch * s_.hidden, step);
      if (!s_.projected) continue;
      multiply_(s_.batch, s_.outputs, s_.hidden, false, true, hidden_, from_ + s_.projection(layer_, d),
                fresh_, false);
      launch_each(stream_, s_.batch * s_.outputs,
                  KeepProjected<C>{Divider(s_.outputs), t, s_.output_columns(), lengths_, fresh_, state, to});
    }
  }

  const C* drop(const KernelArgs& args, const C* output) const {
    const int64_t size = s_.rows() * s_.output_columns();
    uint8_t* const marks =
        args.saved.size() > 1 && args.saved[1] ? args.saved[1].mutable_as<uint8_t>() + layer_ * size : marks_;
    RandomStream random = args.random;
    random.offset += static_cast<uint64_t>(layer_ * size);
    const auto threshold = static_cast<uint64_t>((1.0 - static_cast<double>(p_.p)) * 0x1p32);
    launch_each(stream_, size, DrawMarks{random, threshold, args.training, marks});
    apply_drops(static_cast<double>(p_.p), size, marks, output, dropped_, stream_);
    return dropped_;
  }

  const RnnParams& p_;
  const RnnShape s_;
  const RnnInputs at_;
  ScratchPieces pieces_;
  RnnDeviceArray<C> data_, parameters_, first_state_, first_cell_, output_, last_state_, last_cell_;
  int64_t* lengths_ = nullptr;  // null: all are whole
  C *gates_, *h2h_, *state_, *cell_, *hidden_, *fresh_, *between_[2], *dropped_;
  uint8_t* marks_;
  C* memory_ = nullptr;      // for the gradient
  const C* from_ = nullptr;  // the parameter vector
  int64_t layer_ = 0;
  cudaStream_t stream_ = nullptr;
  RnnGemm<C> multiply_{};
};

// data (steps, batch, inputs), parameters, state, [state_cell], [sequence_length] -> output, [state], [state_cell].
// Saves `memory` and `mask`.
void rnn_cuda(const RnnParams& p, const KernelArgs& args) {
  if (args.in[0].dtype == DType::float64)
    Forward<double>(p, args.in, args.out, args.req, args.scratch.data()).run(args);
  else Forward<float>(p, args.in, args.out, args.req, args.scratch.data()).run(args);
}

size_t rnn_scratch(const RnnParams& p, const KernelSpec& spec) {
  if (spec.in[0].dtype == DType::float64)
    return Forward<double>(p, spec.in, spec.out, spec.req, nullptr).scratch_bytes();
  return Forward<float>(p, spec.in, spec.out, spec.req, nullptr).scratch_bytes();
}

}  // namespace

void kernels_rnn_forward_cuda(KernelList& list) {
  list.kernel<rnn_cuda, rnn_scratch>("RNN", "rnn_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops
