// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "ops/cuda/compiler.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/fused/expression_cuda.h"
#include "ops/fused/fused.h"
#include "ops/fused/program.h"
#include "ops/kernel_choice.h"
#include "ops/reduce/reduce_cuda.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// Where the results that a pass writes go; null: nowhere.
using Targets = std::array<void*, cuda::kFusedPlaces>;

constexpr size_t kSlotAlignment = 256;
size_t aligned(size_t bytes) { return (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment; }

// The steps one by one, each by its own kernel on whole arrays, where the pass could not be compiled. Results lie in slots of scratch
// memory; an output is written where it belongs, unless it has the memory of an input that is still read.
class OneByOne {
 public:
  OneByOne(const Fusion& fusion, const KernelSpec& spec) : fusion_(fusion) {
    const auto& steps = fusion.steps();
    place_results(spec);
    for (const FusedStep& step : steps) {
      std::vector<TensorView> views;
      for (const int operand : step.operands) views.push_back(view_of(operand, spec.in));
      views.push_back({nullptr, step.dtype, whole_shape()});
      const Req req = Req::write;
      const KernelSpec own{.in = std::span(views).first(views.size() - 1),
                           .out = {&views.back(), 1},
                           .req = {&req, 1},
                           .training = spec.training};
      choices_.push_back(prepare_kernel(*step.op, *step.attrs, own, {.device = DeviceType::gpu}));
      LOOMIX_INTERNAL_CHECK(choices_.back().kernel->run != nullptr);
      step_scratch_ = std::max(step_scratch_, aligned(choices_.back().scratch_bytes));
    }
  }

  using Results = std::array<void*, kMostFusedSteps>;  // of each step
  size_t scratch_bytes() const { return slots_ * slot_bytes_ + step_scratch_; }

  void run(const KernelArgs& args, std::span<const int> written, const Targets& to) const {
    const auto& steps = fusion_.steps();
    Results result{};
    for (size_t i = 0; i < steps.size(); ++i) {
      if (slot_of_[i] != kNone) result[i] = args.scratch.data() + slot_of_[i] * slot_bytes_;
    }
    for (size_t k = 0; k < written.size(); ++k) {
      const auto step = static_cast<size_t>(written[k]);
      if (to[k] != nullptr && (slot_of_[step] == kNone || !is_read_later(args, step, to[k])))
        result[step] = to[k];
      LOOMIX_INTERNAL_CHECK(result[step] != nullptr);
    }
    for (size_t i = 0; i < steps.size(); ++i) run_step(i, result, args);
    for (size_t k = 0; k < written.size(); ++k) {
      const auto step = static_cast<size_t>(written[k]);
      if (to[k] == nullptr || result[step] == to[k]) continue;
      const auto bytes = static_cast<size_t>(fusion_.shape().size() * size_of(steps[step].dtype));
      cuda::check(
          cudaMemcpyAsync(to[k], result[step], bytes, cudaMemcpyDeviceToDevice, cuda::stream_of(args)),
          "a copy");
    }
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  // Whether an input is read after the step has written its result, or by other threads meanwhile.
  bool is_late(size_t input, size_t step) const {
    const FusedInput& spread = fusion_.inputs()[input];
    const bool is_whole = spread.extent == Extent::full && !spread.is_gathered();
    for (size_t i = step; i < fusion_.steps().size(); ++i) {
      const bool reads = std::ranges::count(fusion_.steps()[i].operands, static_cast<int>(input)) > 0;
      if (reads && (i > step || !is_whole)) return true;
    }
    return false;
  }
  bool is_read_later(const KernelArgs& args, size_t step, const void* data) const {
    for (size_t i = 0; i < args.in.size(); ++i) {
      if (args.in[i].data == data && is_late(i, step)) return true;
    }
    return false;
  }
  // Whether the result of a step always lies where its output does.
  bool is_direct(size_t step, const KernelSpec& spec) const {
    const auto output = static_cast<size_t>(std::ranges::find(fusion_.outputs(), static_cast<int>(step)) -
                                            fusion_.outputs().begin());
    if (output == fusion_.outputs().size())  // what reductions read has a slot of the caller's
      return std::ranges::any_of(fusion_.closings(), [&](const FusedClosing& closing) {
        return closing.step == static_cast<int>(step);
      });
    if (spec.req[output] == Req::null) return false;
    const int64_t bytes = fusion_.shape().size() * size_of(fusion_.steps()[step].dtype);
    for (size_t i = 0; i < spec.in.size(); ++i) {
      if (static_cast<int64_t>(spec.in[i].bytes()) == bytes && is_late(i, step)) return false;
    }
    return true;
  }

  // A result's slot is free after its last reader; those that are written stay to the end.
  void place_results(const KernelSpec& spec) {
    const auto& steps = fusion_.steps();
    const auto inputs = static_cast<int>(fusion_.inputs().size());
    std::vector<size_t> last(steps.size());
    for (size_t i = 0; i < steps.size(); ++i) {
      last[i] = i;
      for (const int operand : steps[i].operands) {
        if (operand >= inputs) last[static_cast<size_t>(operand - inputs)] = i;
      }
    }
    for (const int output : fusion_.outputs()) last[static_cast<size_t>(output)] = steps.size();
    for (const FusedClosing& closing : fusion_.closings())
      last[static_cast<size_t>(closing.step)] = steps.size();
    std::vector<size_t> free;
    for (size_t i = 0; i < steps.size(); ++i) {
      const bool direct = is_direct(i, spec);
      if (free.empty() && !direct) free.push_back(slots_++);
      slot_of_.push_back(direct ? kNone : free.back());
      if (!direct) free.pop_back();
      for (size_t before = 0; before <= i; ++before) {
        if (last[before] == i && slot_of_[before] != kNone) free.push_back(slot_of_[before]);
      }
      slot_bytes_ = std::max(slot_bytes_,
                             aligned(static_cast<size_t>(fusion_.shape().size() * size_of(steps[i].dtype))));
    }
  }

  // The axes before the rows, and the rows; or all elements.
  Shape whole_shape() const {
    const Shape& shape = fusion_.shape();
    if (fusion_.row_size() == 0) return Shape{shape.size()};
    int rows_end = shape.ndim();
    for (int64_t size = 1; size < fusion_.row_size();) size *= shape[--rows_end];
    Shape made = shape;
    made.resize(rows_end + 1);
    made[rows_end] = fusion_.row_size();
    return made;
  }
  // An operand as an array that broadcasts.
  TensorView view_of(int operand, std::span<const TensorView> in) const {
    const auto number = static_cast<size_t>(operand);
    if (number >= fusion_.inputs().size())
      return {nullptr, fusion_.steps()[number - fusion_.inputs().size()].dtype, whole_shape()};
    const FusedInput& input = fusion_.inputs()[number];
    Shape shape = whole_shape();
    const int rows = shape.ndim() - 1;
    const bool has_row = input.extent == Extent::full || input.extent == Extent::row;
    if (!has_row) shape[rows] = 1;
    for (int axis = 0; axis < rows; ++axis) {
      const bool is_there = input.is_gathered()
                                ? input.steps[static_cast<size_t>(axis)] != 0
                                : input.extent == Extent::full || input.extent == Extent::column;
      if (!is_there) shape[axis] = 1;
    }
    return {nullptr, in[number].dtype, shape};
  }

  void run_step(size_t i, const Results& result, const KernelArgs& args) const {
    const FusedStep& step = fusion_.steps()[i];
    std::array<TensorView, kMostFusedOperands + 1> views;
    const size_t operands = step.operands.size();
    for (size_t k = 0; k < operands; ++k) {
      const auto number = static_cast<size_t>(step.operands[k]);
      views[k] = view_of(step.operands[k], args.in);
      views[k].data = number < args.in.size() ? args.in[number].data : result[number - args.in.size()];
    }
    views[operands] = {result[i], step.dtype, whole_shape()};
    const Req req = Req::write;
    KernelArgs own;
    own.in = std::span(views).first(operands);
    own.out = {&views[operands], 1};
    own.req = {&req, 1};
    own.scratch = args.scratch.subspan(slots_ * slot_bytes_, choices_[i].scratch_bytes);
    own.state = choices_[i].state.get();
    own.training = args.training;
    own.context = args.context;
    choices_[i].kernel->run(*step.attrs, own);
  }

  const Fusion& fusion_;
  std::vector<KernelChoice> choices_;
  std::vector<size_t> slot_of_;
  size_t slots_ = 0, slot_bytes_ = 0, step_scratch_ = 0;
};

// One kernel computes the steps; reductions take what it has written.
class FusedCudaState final : public KernelState {
 public:
  FusedCudaState(const FusedParams& p, const KernelSpec& spec) : kept_(p.fusion), fusion_(p.of()) {
    choose_written(spec);
    compile(spec);
    if (kernel_ == nullptr) apart_.emplace(fusion_, spec);
    size_t reduce_bytes = 0;
    for (const FusedClosing& closing : fusion_.closings())
      reduce_bytes = std::max(reduce_bytes, cuda::reduce_scratch(fusion_.shape(), closing.folding.axes));
    rest_ = slots_bytes_;
    scratch_bytes = slots_bytes_ + std::max(aligned(reduce_bytes), apart_ ? apart_->scratch_bytes() : 0);
  }

  void run(const FusedParams&, const KernelArgs& args) const {
    const Targets to = targets(args);
    if (kernel_ != nullptr) {
      launch(args, to);
    } else {
      KernelArgs own = args;
      own.scratch = args.scratch.subspan(rest_);
      apart_->run(own, written_, to);
    }
    copy_spares(args, to);
    for (size_t i = 0; i < fusion_.closings().size(); ++i) {
      const size_t output = fusion_.outputs().size() + i;
      if (args.req[output] == Req::null) continue;
      const FusedClosing& closing = fusion_.closings()[i];
      const TensorView from{to[closing_from_[i]], fusion_.steps()[static_cast<size_t>(closing.step)].dtype,
                            fusion_.shape()};
      cuda::reduce_array(closing.folding.op, closing.folding.finish, from, closing.folding.axes,
                         args.out[output], args.scratch.subspan(rest_), cuda::stream_of(args));
    }
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  // Outputs, then steps that only reductions read. A slot is kept for those, and for outputs that may take the memory of an input
  // whose elements other threads read.
  void choose_written(const KernelSpec& spec) {
    written_ = fusion_.outputs();
    for (const FusedClosing& closing : fusion_.closings()) {
      const auto found = std::ranges::find(written_, closing.step);
      closing_from_.push_back(static_cast<size_t>(found - written_.begin()));
      if (found == written_.end()) written_.push_back(closing.step);
    }
    for (size_t k = 0; k < written_.size(); ++k) {
      const int64_t bytes =
          fusion_.shape().size() * size_of(fusion_.steps()[static_cast<size_t>(written_[k])].dtype);
      const bool is_closed = std::ranges::count(closing_from_, k) > 0;  // also where the output is not wanted
      bool needs_slot = k >= fusion_.outputs().size() || is_closed;
      for (size_t i = 0; i < spec.in.size(); ++i) {
        const FusedInput& input = fusion_.inputs()[i];
        const bool is_whole = input.extent == Extent::full && !input.is_gathered();
        needs_slot = needs_slot || (!is_whole && static_cast<int64_t>(spec.in[i].bytes()) == bytes);
      }
      slot_at_.push_back(needs_slot ? slots_bytes_ : kNone);
      if (needs_slot) slots_bytes_ += aligned(static_cast<size_t>(bytes));
    }
  }

  void compile(const KernelSpec& spec) {
    std::vector<DType> types;
    for (const TensorView& in : spec.in) types.push_back(in.dtype);
    const auto program = fused_program(fusion_, types, written_);
    if (!program || written_.size() > cuda::kFusedPlaces || !place_axes()) return;
    std::ranges::copy(program->numbers, arguments_.number);
    items_ = program->items;
    kernel_ = cuda::made_kernel(program->source);
  }

  bool place_axes() {
    arguments_.count = fusion_.shape().size();
    arguments_.row = cuda::Divider(std::max<int64_t>(1, fusion_.row_size()));
    for (size_t i = 0; i < fusion_.inputs().size(); ++i) {
      const std::vector<int64_t>& steps = fusion_.inputs()[i].steps;
      if (steps.size() > cuda::kFusedAxes) return false;
      if (!steps.empty()) arguments_.ndim = static_cast<int>(steps.size());
      std::ranges::copy(steps, arguments_.step[i]);
    }
    for (int axis = 0; axis < std::min(arguments_.ndim, fusion_.shape().ndim()); ++axis)
      arguments_.size[axis] = cuda::Divider(fusion_.shape()[axis]);
    return true;
  }

  Targets targets(const KernelArgs& args) const {
    Targets to{};
    for (size_t k = 0; k < written_.size(); ++k) {
      const bool is_output = k < fusion_.outputs().size() && args.req[k] != Req::null;
      if (is_output && !takes_shared(args, k)) to[k] = args.out[k].data;
      else if (slot_at_[k] != kNone && (is_output || std::ranges::count(closing_from_, k) > 0))
        to[k] = args.scratch.data() + slot_at_[k];
    }
    return to;
  }
  // Whether the output has the memory of an input of which one element is read by several threads.
  bool takes_shared(const KernelArgs& args, size_t output) const {
    for (size_t i = 0; i < args.in.size(); ++i) {
      const FusedInput& input = fusion_.inputs()[i];
      const bool is_whole = input.extent == Extent::full && !input.is_gathered();
      if (!is_whole && args.in[i].data == args.out[output].data) return true;
    }
    return false;
  }
  void copy_spares(const KernelArgs& args, const Targets& to) const {
    for (size_t k = 0; k < fusion_.outputs().size(); ++k) {
      if (args.req[k] == Req::null || to[k] == args.out[k].data) continue;
      cuda::check(cudaMemcpyAsync(args.out[k].data, to[k], static_cast<size_t>(args.out[k].bytes()),
                                  cudaMemcpyDeviceToDevice, cuda::stream_of(args)),
                  "a copy");
    }
  }

  void launch(const KernelArgs& args, const Targets& to) const {
    cuda::FusedArguments arguments = arguments_;
    bool is_aligned = true;
    const auto look = [&](const void* data, DType dtype) {
      const auto pack = static_cast<uintptr_t>(items_ * size_of(dtype));
      is_aligned = is_aligned && reinterpret_cast<uintptr_t>(data) % pack == 0;
    };
    for (size_t i = 0; i < args.in.size(); ++i) {
      arguments.in[i] = args.in[i].data;
      if (fusion_.inputs()[i].extent == Extent::full) look(args.in[i].data, args.in[i].dtype);
    }
    for (size_t k = 0; k < written_.size(); ++k) {
      arguments.out[k] = to[k];
      look(to[k], fusion_.steps()[static_cast<size_t>(written_[k])].dtype);
    }
    arguments.aligned = is_aligned;
    const cuda::Grid grid = cuda::grid_for(cuda::ceil_divide(arguments.count, items_));
    cuda::launch_made(*kernel_, static_cast<int64_t>(grid.blocks.x), static_cast<int>(grid.threads.x),
                      cuda::stream_of(args), &arguments, sizeof(arguments));
  }

  const Ref<const Opaque> kept_;
  const Fusion& fusion_;
  std::vector<int> written_;
  std::vector<size_t> slot_at_;       // of each in the scratch memory
  std::vector<size_t> closing_from_;  // which of them a reduction reads
  size_t slots_bytes_ = 0, rest_ = 0;
  const cuda::MadeKernel* kernel_ = nullptr;
  cuda::FusedArguments arguments_;
  int items_ = 1;
  std::optional<OneByOne> apart_;
};

}  // namespace

void kernels_fused_cuda(KernelList& list) {
  list.prepared_kernel<FusedParams, FusedCudaState>("_fused", "fused_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops
