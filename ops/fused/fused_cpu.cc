// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "engine/parallel_for.h"
#include "ops/elemwise/loops.h"
#include "ops/families.h"
#include "ops/fused/block_fold.h"
#include "ops/fused/fused.h"
#include "ops/kernel_choice.h"
#include "ops/limits.h"
#include "ops/scratch_slots.h"
#include "ops/stream_copy.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kShortestBlock = 512;  // elements, so that calls of kernels cost little beside their work
constexpr int64_t kLongestBlock = 8192;
// Of passes with reductions: how they are cut depends on shapes alone, so that sums have the same bits every time.
constexpr int64_t kMostPieces = 64;
constexpr int64_t kMostPartBytes = 4 << 20;  // of accumulators that are merged at the end

// Where operands of steps lie: inputs, outputs, then pieces of scratch memory: of inputs that are gathered, and of results.
struct Places {
  size_t inputs, outputs;
  size_t output(size_t i) const { return inputs + i; }
  size_t slot(size_t i) const { return inputs + outputs + i; }
};
constexpr size_t kMostPlaces = 2 * kMostFusedInputs + 2 * kMostFusedOutputs + kMostFusedSteps;
constexpr size_t kMostViews = (kMostFusedOperands + 1) * kMostFusedSteps;

class FusedState final : public KernelState {
 public:
  FusedState(const FusedParams& p, const KernelSpec& spec)
      : kept_(p.fusion), fusion_(p.of()), places_{fusion_.inputs().size(), fusion_.outputs().size()} {
    place_inputs();
    place_results();
    choose_block(spec);
    block_calls_ = prepare(spec, block_);
    if (last_ > 0) last_calls_ = prepare(spec, last_);
    prepare_folds(spec);
    cores_ = spec.cores;
    scratch_bytes = all_slots_bytes() + parts_bytes_ + set_aside_bytes_;
  }

  void run(const FusedParams&, const KernelArgs& args) const {
    const Pointers pointers = find_pointers(args);
    if (!folds_.empty()) return run_pieces(pointers, args);
    ScratchSlots memory = slots(args);
    const int64_t grain = std::max<int64_t>(1, loop_grain(block_));
    engine::parallel_for(*args.context, blocks_, grain, [&](int64_t begin, int64_t end) {
      const ScratchSlots::Use own(memory);
      run_range(begin, end, with_slots(pointers, own.as<std::byte>()), args, {});
    });
  }

 private:
  using Pieces = std::span<BlockFold::Piece>;

  // A step's kernel, prepared for blocks of one size.
  struct Call {
    const FusedStep* step;
    KernelChoice choice;
  };
  struct Calls {
    std::vector<Call> calls;
    std::vector<TensorView> views;  // of each call its operands, then its result
  };
  struct Pointers {
    std::array<std::byte*, kMostPlaces> at{};
    std::array<int64_t, kMostPlaces> block_bytes{};  // from one block to the next
    std::array<std::byte*, kMostFusedOutputs>
        copy_to{};  // of outputs that are written to their spare place first
    std::array<char, kMostFusedOutputs> is_spare{};
    std::array<char, kMostFusedOutputs> is_streamed{};  // copied past the caches
  };

  // A reduction at the end, and where its accumulators lie.
  struct ClosingFold {
    BlockFold fold;
    size_t step;              // whose result it takes
    size_t slot_offset;       // of a block's accumulators, behind the results in each thread's slots
    size_t parts_offset;      // of all pieces' heads and tails
    size_t set_aside_offset;  // of results that must not be written before all is read; or kDirect
  };
  static constexpr size_t kDirect = static_cast<size_t>(-1);

  int num_inputs() const { return static_cast<int>(places_.inputs); }
  size_t thread_bytes() const { return num_slots_ * slot_bytes_ + folds_bytes_; }
  size_t all_slots_bytes() const { return static_cast<size_t>(slots_for(cores_)) * thread_bytes(); }
  ScratchSlots slots(const KernelArgs& args) const {
    return ScratchSlots(args.scratch, thread_bytes(), slots_for(cores_));
  }

  void prepare_folds(const KernelSpec& spec) {
    for (size_t i = 0; i < fusion_.closings().size(); ++i) {
      const FusedClosing& closing = fusion_.closings()[i];
      const auto step = static_cast<size_t>(closing.step);
      BlockFold fold(closing, fusion_.shape(), fusion_.steps()[step].dtype);
      const size_t bytes = aligned(static_cast<size_t>(fold.accumulators(block_)) * sizeof(double));
      folds_.push_back({fold, step, folds_bytes_, 0, kDirect});
      folds_bytes_ += bytes;
      // An input of as many bytes may have given its memory to the results.
      const auto may_be_shared = [&](const TensorView& input) {
        return input.bytes() == spec.out[places_.outputs + i].bytes();
      };
      if (std::ranges::any_of(spec.in, may_be_shared)) {
        folds_.back().set_aside_offset = set_aside_bytes_;
        set_aside_bytes_ += aligned(static_cast<size_t>(spec.out[places_.outputs + i].bytes()));
      }
    }
    int64_t part_bytes = 1;
    for (const ClosingFold& closing : folds_)
      part_bytes += 2 * closing.fold.lead_outputs() * static_cast<int64_t>(sizeof(double));
    const int64_t pieces = std::clamp(std::min(blocks_ * block_ / loop_grain(), kMostPartBytes / part_bytes),
                                      int64_t{1}, std::min(blocks_, kMostPieces));
    piece_blocks_ = (blocks_ + pieces - 1) / pieces;
    num_pieces_ = (blocks_ + piece_blocks_ - 1) / piece_blocks_;
    for (ClosingFold& closing : folds_) {
      closing.parts_offset = parts_bytes_;
      parts_bytes_ +=
          aligned(static_cast<size_t>(2 * num_pieces_ * closing.fold.lead_outputs()) * sizeof(double));
    }
  }

  void run_pieces(const Pointers& pointers, const KernelArgs& args) const {
    ScratchSlots memory = slots(args);
    std::byte* const parts = args.scratch.data() + all_slots_bytes();
    std::byte* const set_aside = parts + parts_bytes_;
    std::array<TensorView, kMostFusedOutputs> results;
    for (size_t i = 0; i < folds_.size(); ++i) {
      results[i] = args.out[places_.outputs + i];
      if (folds_[i].set_aside_offset != kDirect) results[i].data = set_aside + folds_[i].set_aside_offset;
    }
    const auto wanted = [&](size_t i) { return args.req[places_.outputs + i] != Req::null; };
    engine::parallel_each(*args.context, num_pieces_, 1, [&](int64_t piece) {
      const ScratchSlots::Use own(memory);
      const int64_t begin = piece * piece_blocks_, end = std::min(blocks_, begin + piece_blocks_);
      std::array<BlockFold::Piece, kMostFusedOutputs> pieces;
      for (size_t i = 0; i < folds_.size(); ++i) {
        if (!wanted(i)) continue;
        const ClosingFold& closing = folds_[i];
        auto* const acc =
            reinterpret_cast<double*>(own.as<std::byte>() + num_slots_ * slot_bytes_ + closing.slot_offset);
        auto* const head =
            reinterpret_cast<double*>(parts + closing.parts_offset) + 2 * piece * closing.fold.lead_outputs();
        pieces[i] = {closing.fold, begin * block_, acc, head, head + closing.fold.lead_outputs(), results[i]};
      }
      run_range(begin, end, with_slots(pointers, own.as<std::byte>()), args,
                Pieces(pieces).first(folds_.size()));
      for (const BlockFold::Piece& done : pieces) done.end();
    });
    for (size_t i = 0; i < folds_.size(); ++i) {
      if (!wanted(i)) continue;
      const ClosingFold& closing = folds_[i];
      closing.fold.merge({reinterpret_cast<double*>(parts + closing.parts_offset),
                          static_cast<size_t>(2 * num_pieces_ * closing.fold.lead_outputs())},
                         piece_blocks_ * block_, results[i]);
      const TensorView& to = args.out[places_.outputs + i];
      if (results[i].data != to.data) std::memcpy(to.data, results[i].data, static_cast<size_t>(to.bytes()));
    }
  }

  Pointers with_slots(Pointers pointers, std::byte* memory) const {
    for (size_t slot = 0; slot < num_slots_; ++slot)
      pointers.at[places_.slot(slot)] = memory + slot * slot_bytes_;
    return pointers;
  }

  void run_range(int64_t begin, int64_t end, const Pointers& pointers, const KernelArgs& args,
                 Pieces pieces) const {
    const bool ends = last_ > 0 && end == blocks_;
    run_blocks(block_calls_, block_, begin, ends ? end - 1 : end, pointers, args, pieces);
    if (ends) run_blocks(last_calls_, last_, end - 1, end, pointers, args, pieces);
    if (std::ranges::count(pointers.is_streamed, char{true}) > 0) end_streams();
  }

  void place_inputs() {
    for (size_t i = 0; i < places_.inputs; ++i)
      input_place_.push_back(fusion_.inputs()[i].is_gathered() ? places_.slot(num_slots_++) : i);
  }

  bool is_large(DType dtype) const {
    return fusion_.shape().size() * size_of(dtype) >= cache_limits().streamed_bytes;
  }

  // Where an operand lies that is not read again, if the step works in place, or else a free piece. The fewer there are, the more
  // of them stays in the first cache.
  size_t take_slot(size_t step, const std::vector<size_t>& last_use, std::vector<size_t>& free) {
    const FusedStep& taker = fusion_.steps()[step];
    for (size_t k = 0; k < taker.operands.size(); ++k) {
      if (taker.operands[k] < num_inputs()) continue;
      const auto before = static_cast<size_t>(taker.operands[k] - num_inputs());
      const bool is_last = last_use[before] == step && result_place_[before] >= places_.slot(0) &&
                           fusion_.steps()[before].dtype == taker.dtype;
      const bool once = std::ranges::count(taker.operands, taker.operands[k]) == 1;
      if (is_last && once &&
          taker.op->inplace.end() != std::ranges::find(taker.op->inplace, std::pair(static_cast<int>(k), 0)))
        return result_place_[before];
    }
    if (free.empty()) free.push_back(places_.slot(num_slots_++));
    const size_t place = free.back();
    free.pop_back();
    return place;
  }

  // A result that is no output takes a piece of scratch memory until it was last read.
  void place_results() {
    const auto& steps = fusion_.steps();
    std::vector<size_t> last_use(steps.size(), 0);
    late_reads_.resize(places_.outputs);
    spare_place_.resize(places_.outputs);
    for (size_t i = 0; i < steps.size(); ++i) {
      for (const int operand : steps[i].operands) {
        if (operand >= num_inputs()) last_use[static_cast<size_t>(operand - num_inputs())] = i;
      }
    }
    result_place_.resize(steps.size());
    std::vector<size_t> free;
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto output = std::ranges::find(fusion_.outputs(), static_cast<int>(i));
      if (output != fusion_.outputs().end()) {
        const auto number = static_cast<size_t>(output - fusion_.outputs().begin());
        result_place_[i] = places_.output(number);
        note_late_reads(number, i);
        if (places_.outputs > 1 || !late_reads_[number].empty() || is_large(steps[i].dtype))
          spare_place_[number] = take_slot(i, last_use, free);
      } else {
        result_place_[i] = take_slot(i, last_use, free);
      }
      for (size_t before = 0; before < i; ++before) {
        const size_t place = result_place_[before];
        const bool is_taken = place == result_place_[i] || std::ranges::count(spare_place_, place) > 0;
        if (last_use[before] == i && place >= places_.slot(0) && !is_taken) free.push_back(place);
      }
      if (last_use[i] == 0 && result_place_[i] >= places_.slot(0)) free.push_back(result_place_[i]);
    }
  }

  // Inputs that are read after the output is written, or while it is, by a kernel that cannot work in place.
  void note_late_reads(size_t output, size_t step) {
    const auto& steps = fusion_.steps();
    for (size_t i = step; i < steps.size(); ++i) {
      for (size_t k = 0; k < steps[i].operands.size(); ++k) {
        const int operand = steps[i].operands[k];
        const bool in_place =
            i == step && std::ranges::count(steps[i].op->inplace, std::pair(static_cast<int>(k), 0));
        if (operand < num_inputs() && !in_place) late_reads_[output].push_back(static_cast<size_t>(operand));
      }
    }
  }

  bool is_any_streamed() const {
    return std::ranges::any_of(fusion_.outputs(), [&](int step) {
      return is_large(fusion_.steps()[static_cast<size_t>(step)].dtype);
    });
  }

  // A pass that writes past the caches waits for memory. It waits least in short blocks: what it reads pushes less of its scratch
  // memory out of the first cache, and one block's reads begin while the last one's writes leave. Calls of kernels cost more then.
  // Measured with 2 to 30 steps on three arrays.
  int64_t longest_streamed_block() const {
    const size_t calls = fusion_.steps().size() / (places_.inputs + places_.outputs);
    return calls < 3 ? kLoopBlock : calls < 6 ? 2 * kLoopBlock : kLongestBlock;
  }

  void choose_block(const KernelSpec& spec) {
    int64_t widest = 1, bytes = 0;
    for (const FusedStep& step : fusion_.steps()) widest = std::max<int64_t>(widest, size_of(step.dtype));
    for (const auto& views : {spec.in, spec.out.first(places_.outputs)}) {
      for (const TensorView& view : views) bytes += size_of(view.dtype);
    }
    for (size_t i = 0; i < places_.inputs; ++i) {
      if (fusion_.inputs()[i].is_gathered()) widest = std::max<int64_t>(widest, size_of(spec.in[i].dtype));
    }
    bytes += widest * static_cast<int64_t>(num_slots_);
    const int64_t size = fusion_.shape().size(), row = fusion_.row_size();
    block_ = std::clamp(cache_limits().fused_block_bytes / bytes, kShortestBlock, kLongestBlock);
    if (is_any_streamed()) block_ = std::min(block_, longest_streamed_block());
    if (row > 0) block_ = std::max<int64_t>(1, block_ / row) * row;
    else block_ = block_ / kLoopBlock * kLoopBlock;  // so results are those of the operators one by one
    block_ = std::min(block_, size);
    blocks_ = (size + block_ - 1) / block_;
    last_ = size - (blocks_ - 1) * block_;
    if (last_ == block_) last_ = 0;
    slot_bytes_ = aligned(static_cast<size_t>(block_ * widest));
  }

  Shape view_shape(Extent extent, int64_t elements) const {
    const int64_t row = fusion_.row_size();
    if (row == 0) return extent == Extent::one ? Shape{1} : Shape{elements};
    const int64_t rows = elements / row;
    return {extent == Extent::full || extent == Extent::column ? rows : 1,
            extent == Extent::full || extent == Extent::row ? row : 1};
  }

  Calls prepare(const KernelSpec& spec, int64_t elements) const {
    Calls made;
    for (const FusedStep& step : fusion_.steps()) {
      const size_t first = made.views.size();
      for (const int operand : step.operands) {
        const auto i = static_cast<size_t>(operand);
        const bool is_input = operand < num_inputs();
        made.views.push_back({nullptr,
                              is_input ? spec.in[i].dtype : fusion_.steps()[i - places_.inputs].dtype,
                              view_shape(is_input ? fusion_.inputs()[i].extent : Extent::full, elements)});
      }
      made.views.push_back({nullptr, step.dtype, view_shape(Extent::full, elements)});
      const Req req = Req::write;
      const KernelSpec own{.in = {&made.views[first], step.operands.size()},
                           .out = {&made.views.back(), 1},
                           .req = {&req, 1},
                           .training = spec.training};
      Call call{&step, prepare_kernel(*step.op, *step.attrs, own, {})};
      LOOMIX_INTERNAL_CHECK(call.choice.kernel->run != nullptr && call.choice.scratch_bytes == 0);
      made.calls.push_back(std::move(call));
    }
    LOOMIX_INTERNAL_CHECK(made.views.size() <= kMostViews);
    return made;
  }

  Pointers find_pointers(const KernelArgs& args) const {
    Pointers found;
    const auto block_bytes = [&](Extent extent, DType dtype) -> int64_t {
      if (extent == Extent::full) return block_ * size_of(dtype);
      return extent == Extent::column ? block_ / fusion_.row_size() * size_of(dtype) : 0;
    };
    for (size_t i = 0; i < places_.inputs; ++i) {
      found.at[i] = static_cast<std::byte*>(args.in[i].data);
      if (!fusion_.inputs()[i].is_gathered())
        found.block_bytes[i] = block_bytes(fusion_.inputs()[i].extent, args.in[i].dtype);
    }
    for (size_t i = 0; i < places_.outputs; ++i) {
      auto* const to = static_cast<std::byte*>(args.out[i].data);
      const bool wanted = args.req[i] != Req::null;
      const bool read_late = std::ranges::any_of(
          late_reads_[i], [&](size_t input) { return static_cast<std::byte*>(args.in[input].data) == to; });
      found.at[places_.output(i)] = to;
      found.block_bytes[places_.output(i)] = block_bytes(Extent::full, args.out[i].dtype);
      // In the memory of an input its lines are in the cache already.
      const bool streamed =
          wanted && is_large(args.out[i].dtype) &&
          std::ranges::none_of(args.in, [&](const TensorView& in) { return in.data == to; });
      found.is_spare[i] = !wanted || read_late || streamed;
      found.copy_to[i] = wanted && (read_late || streamed) ? to : nullptr;
      found.is_streamed[i] = streamed;
    }
    return found;
  }

  // What `rows` rows of the results from `first` on have of an input, one after the other.
  void gather(size_t input, int64_t first, int64_t rows, const TensorView& from, std::byte* to) const {
    const FusedInput& spread = fusion_.inputs()[input];
    const auto element = static_cast<size_t>(size_of(from.dtype));
    const size_t bytes =
        element * static_cast<size_t>(spread.extent == Extent::full ? fusion_.row_size() : 1);
    for (int64_t row = first; row < first + rows; ++row, to += bytes) {
      int64_t offset = 0, number = row;
      for (size_t axis = spread.steps.size(); axis-- > 0; number /= fusion_.shape()[static_cast<int>(axis)])
        offset += number % fusion_.shape()[static_cast<int>(axis)] * spread.steps[axis];
      std::memcpy(to, static_cast<const std::byte*>(from.data) + static_cast<size_t>(offset) * element,
                  bytes);
    }
  }

  // Asks for a part of the next block's inputs while a step works on this one, so that memory and arithmetic overlap.
  void fetch_ahead(const Pointers& pointers, int64_t block, size_t step, size_t steps) const {
    constexpr int64_t kLine = 64;
    for (size_t i = 0; i < places_.inputs + places_.outputs; ++i) {
      if (i >= places_.inputs && pointers.is_streamed[i - places_.inputs]) continue;
      const int64_t bytes = pointers.block_bytes[i];
      if (bytes < kLine * static_cast<int64_t>(steps)) continue;
      const std::byte* const from = pointers.at[i] + block * bytes;
      const int64_t lines = bytes / kLine,
                    first = lines * static_cast<int64_t>(step) / static_cast<int64_t>(steps),
                    last = lines * (static_cast<int64_t>(step) + 1) / static_cast<int64_t>(steps);
      for (int64_t line = first; line < last; ++line) __builtin_prefetch(from + line * kLine, 0, 2);
    }
  }

  // The calls of one range of blocks: all is in place but the addresses, which follow from the block.
  struct Prepared {
    std::array<TensorView, kMostViews> views;
    std::array<std::byte*, kMostViews> base;
    std::array<int64_t, kMostViews> block_bytes;
    size_t num_views = 0;
    alignas(KernelArgs) std::array<std::byte, kMostFusedSteps * sizeof(KernelArgs)> room;

    KernelArgs* args() { return reinterpret_cast<KernelArgs*>(room.data()); }
    void go_to(int64_t block) {
      for (size_t i = 0; i < num_views; ++i) views[i].data = base[i] + block * block_bytes[i];
    }
  };

  void prepare_range(const Calls& calls, const Pointers& pointers, const KernelArgs& args,
                     Prepared& made) const {
    static constexpr Req kWrite = Req::write;
    std::ranges::copy(calls.views, made.views.begin());
    const auto add_view = [&](size_t place) {
      if (place >= places_.inputs && place < places_.slot(0) && pointers.is_spare[place - places_.inputs])
        place = spare_place_[place - places_.inputs];
      made.base[made.num_views] = pointers.at[place];
      made.block_bytes[made.num_views++] = pointers.block_bytes[place];
    };
    for (size_t i = 0; i < calls.calls.size(); ++i) {
      const Call& call = calls.calls[i];
      const size_t first = made.num_views;
      for (const int operand : call.step->operands) {
        const auto at = static_cast<size_t>(operand);
        add_view(at < places_.inputs ? input_place_[at] : result_place_[at - places_.inputs]);
      }
      add_view(result_place_[i]);
      KernelArgs& own = *std::construct_at(made.args() + i);
      own.in = {&made.views[first], made.num_views - first - 1};
      own.out = {&made.views[made.num_views - 1], 1};
      own.req = {&kWrite, 1};
      own.state = call.choice.state.get();
      own.training = args.training;
      own.context = args.context;
    }
  }

  void run_blocks(const Calls& calls, int64_t elements, int64_t begin, int64_t end, const Pointers& pointers,
                  const KernelArgs& args, Pieces pieces) const {
    if (begin == end) return;
    Prepared prepared;
    prepare_range(calls, pointers, args, prepared);
    for (int64_t block = begin; block < end; ++block) {
      for (size_t i = 0; i < places_.inputs; ++i) {
        if (fusion_.inputs()[i].is_gathered())
          gather(i, block * (block_ / fusion_.row_size()), elements / fusion_.row_size(), args.in[i],
                 pointers.at[input_place_[i]]);
      }
      prepared.go_to(block);
      for (size_t i = 0; i < calls.calls.size(); ++i) {
        if (block + 1 < end) fetch_ahead(pointers, block + 1, i, calls.calls.size());
        const Call& call = calls.calls[i];
        const KernelArgs& own = prepared.args()[i];
        call.choice.kernel->run(*call.step->attrs, own);
        for (size_t closing = 0; closing < pieces.size(); ++closing) {
          if (folds_[closing].step == i)
            pieces[closing].add(static_cast<const std::byte*>(own.out[0].data), elements);
        }
      }
      for (size_t i = 0; i < places_.outputs; ++i) {
        if (!pointers.copy_to[i]) continue;
        std::byte* const to = pointers.copy_to[i] + block * pointers.block_bytes[places_.output(i)];
        const int64_t bytes = elements * size_of(args.out[i].dtype);
        if (pointers.is_streamed[i]) stream_copy(to, pointers.at[spare_place_[i]], bytes);
        else std::memcpy(to, pointers.at[spare_place_[i]], static_cast<size_t>(bytes));
      }
    }
  }

  const Ref<const Opaque> kept_;
  const Fusion& fusion_;
  Places places_;
  std::vector<size_t> input_place_;
  std::vector<size_t> result_place_;  // one a step
  std::vector<size_t> spare_place_;   // of outputs, for runs that must not, or need not, write them at once
  std::vector<std::vector<size_t>> late_reads_;  // of each output: inputs that it must not take the place of
  size_t num_slots_ = 0;
  size_t slot_bytes_ = 0;
  int64_t block_ = 0;   // elements
  int64_t blocks_ = 0;  // all of them
  int64_t last_ = 0;    // elements of the last block if it is shorter
  int cores_ = 1;
  std::vector<ClosingFold> folds_;
  size_t folds_bytes_ = 0;  // of a thread's accumulators
  size_t parts_bytes_ = 0, set_aside_bytes_ = 0;
  int64_t piece_blocks_ = 0, num_pieces_ = 0;
  Calls block_calls_, last_calls_;
};

}  // namespace

void kernels_fused(OpTable& table) { table.prepared_kernel<FusedParams, FusedState>("_fused", "fused_cpu"); }

}  // namespace loomix::ops
