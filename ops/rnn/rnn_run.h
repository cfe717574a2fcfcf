// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/elemwise/loops.h"
#include "ops/isa.h"
#include "ops/limits.h"
#include "ops/rnn/rnn_pieces.h"

// What the forward and the backward run of recurrent layers share.
namespace loomix::ops {

// An input or output as numbers of type C. Halves, and outputs that nobody wants, live in scratch memory.
template <class C>
class RnnArray {
 public:
  RnnArray() = default;
  RnnArray(const TensorView& view, bool wanted, ScratchPieces& pieces)
      : view_(view),
        wanted_(wanted),
        own_(wanted && view.dtype == dtype_of<C>() ? nullptr : pieces.take<C>(view.size())) {}

  C* target() const { return own_ ? own_ : static_cast<C*>(view_.data); }
  const C* load(engine::RunContext& context) const {
    if (own_) convert(view_.dtype, view_.data, dtype_of<C>(), own_, context);
    return target();
  }
  void store(engine::RunContext& context) const {
    if (own_ && wanted_) convert(dtype_of<C>(), own_, view_.dtype, view_.data, context);
  }

 private:
  void convert(DType from, const void* x, DType to, void* y, engine::RunContext& context) const {
    engine::parallel_for(context, (view_.size() + kLoopBlock - 1) / kLoopBlock, loop_grain(kLoopBlock),
                         [&](int64_t begin, int64_t end) {
                           const int64_t first = begin * kLoopBlock;
                           convert_row(from, static_cast<const char*>(x) + first * size_of(from), to,
                                       static_cast<char*>(y) + first * size_of(to),
                                       std::min(end * kLoopBlock, view_.size()) - first);
                         });
  }

  TensorView view_;
  bool wanted_ = false;
  C* own_ = nullptr;
};

// The number of steps of each sequence; without lengths, all.
void read_lengths(const RnnShape& s, const TensorView* lengths, int64_t* to);

// Sequences are run in blocks, which go through all steps by themselves: nothing waits between two steps. A number does
// not depend on the block that it is computed in.
struct RnnBlocks {
  RnnBlocks(const RnnShape& s, int cores);
  int64_t first(int64_t block) const { return batch * block / count; }
  int64_t batch, count;
};

// Calls step(direction, first row, end of rows) for all blocks of all directions.
template <class Step>
void for_each_block(const RnnShape& s, engine::RunContext& context, Step&& step) {
  const RnnBlocks blocks(s, context.cores);
  engine::parallel_each(context, s.directions * blocks.count, 1, [&](int64_t i) {
    const int64_t block = i % blocks.count;
    step(i / blocks.count, blocks.first(block), blocks.first(block + 1));
  });
}

template <class C>
int64_t panel_size(int64_t depth, int64_t columns) {
  const int64_t width = best_loops<RnnLoops<C>>().width;
  return (columns + width - 1) / width * width * depth;
}

template <class C>
void pack_panels(int64_t depth, int64_t columns, const C* from, int64_t k_step, int64_t j_step, C* panels,
                 engine::RunContext& context) {
  constexpr int64_t kLeast = 16384;  // elements that are worth another core
  const RnnLoops<C>& loops = best_loops<RnnLoops<C>>();
  engine::parallel_for(context, (columns + loops.width - 1) / loops.width,
                       kLeast / std::max<int64_t>(1, loops.width * depth), [&](int64_t begin, int64_t end) {
                         loops.pack(depth, columns, from, k_step, j_step, begin, end, panels);
                       });
}

// c = A B, or c += A B, for many rows: see RnnLoops. B becomes `panels` first.
template <class C>
struct RnnProduct {
  int64_t rows, columns, depth;
  const C* a;
  int64_t a_row, a_step;
  const C* b;
  int64_t b_row;     // between elements of B one k apart
  int64_t b_column;  // one column apart
  C* c;
  bool add;

  void run(C* panels, engine::RunContext& context) const {
    if (rows == 0 || columns == 0) return;
    constexpr int64_t kGroup = 12,
                      kLeast = 200'000;  // rows of a group; multiplications that are worth another core
    pack_panels(depth, columns, b, b_row, b_column, panels, context);
    engine::parallel_for(context, (rows + kGroup - 1) / kGroup, kLeast / (kGroup * columns * (depth + 1)) + 1,
                         [&](int64_t begin, int64_t end) {
                           const int64_t first = begin * kGroup;
                           best_loops<RnnLoops<C>>().multiply(std::min(end * kGroup, rows) - first, columns,
                                                              depth, a + first * a_row, a_row, a_step, panels,
                                                              c + first * columns, columns, add);
                         });
  }
};

// to = from, each element times the factor of its mark.
template <class C>
void apply_drops(double p, int64_t size, const uint8_t* marks, const C* from, C* to,
                 engine::RunContext& context) {
  const C factors[] = {0, static_cast<C>(p < 1 ? 1 / (1 - p) : 0), 1};  // by RnnDrop
  engine::parallel_each(context, size, loop_grain(), [&](int64_t i) { to[i] = from[i] * factors[marks[i]]; });
}

}  // namespace loomix::ops
