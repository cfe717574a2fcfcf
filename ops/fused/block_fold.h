// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "ops/fused/fused.h"
#include "ops/reduce/fold.h"

namespace loomix::ops {

// A closing reduction of a fusion. Its elements come block by block, in order, and never lie in memory as a whole. They are cut
// into pieces, which depend on shapes alone and run side by side. The elements of a `lead`, a part of the outermost axes that are
// kept, follow each other; so within a piece a lead is complete when its last element was there, and becomes results at once.
//
//   leads   |    0    |    1    |    2    |    3    |
//   pieces  |       0       |       1       |   2   |     lead 1 begins in piece 0 (its tail) and ends in piece 1 (its head)
//
// Accumulators of leads that lie in several pieces are kept until all pieces are done, and then merged in order.
class BlockFold {
 public:
  BlockFold(const FusedClosing& closing, const Shape& shape, DType dtype);

  int64_t lead_outputs() const { return lead_outputs_; }
  int64_t accumulators(int64_t block) const { return (block / lead_size_ + 2) * lead_outputs_; }

  // The blocks of one piece, on one thread. `acc` has room for accumulators(block); `head` and `tail` for those of a lead.
  // One made without arguments takes nothing.
  class Piece {
   public:
    Piece() = default;
    Piece(const BlockFold& fold, int64_t begin, double* acc, double* head, double* tail, const TensorView& y)
        : fold_(&fold), begin_(begin), at_(begin), acc_(acc), head_(head), tail_(tail), y_(&y) {}
    void add(const std::byte* x, int64_t count);
    void end() const;

   private:
    const BlockFold* fold_ = nullptr;
    int64_t begin_ = 0;
    int64_t at_ = 0;
    double* acc_ = nullptr;
    double* head_ = nullptr;
    double* tail_ = nullptr;
    const TensorView* y_ = nullptr;
  };

  // Results of the leads that lie in several pieces of this size. Of each piece there are the accumulators of its head, then
  // those of its tail.
  void merge(std::span<double> parts, int64_t piece, const TensorView& y) const;

 private:
  struct Axis {
    int64_t size = 1;
    int64_t step = 0;  // from one accumulator to the next; 0: the axis is reduced
  };
  void fold(double* acc, int64_t first_lead, int64_t begin, int64_t count, const std::byte* x) const;
  void finish(double* acc, int64_t lead, int64_t leads, const TensorView& y) const {
    fold_.finish(finish_, acc, leads * lead_outputs_, per_output_, y, lead * lead_outputs_);
  }

  const Fold fold_;
  const Finish finish_;
  const int64_t element_bytes_;
  const int64_t size_;
  std::vector<Axis> axes_;  // innermost first, kept and reduced ones in turn
  int64_t lead_size_ = 1;   // elements
  int64_t lead_outputs_ = 1;
  int64_t per_output_ = 1;
};

}  // namespace loomix::ops
