// SPDX-License-Identifier: Apache-2.0
#include "ops/fused/block_fold.h"

#include <algorithm>

namespace loomix::ops {

BlockFold::BlockFold(const FusedClosing& closing, const Shape& shape, DType dtype)
    : fold_(Fold::exact(closing.folding.op, dtype)),
      finish_(closing.folding.finish),
      element_bytes_(size_of(dtype)),
      size_(shape.size()) {
  int64_t outputs = 1;
  for (int i = shape.ndim() - 1; i >= 0; --i) {
    if (shape[i] == 1) continue;
    const bool reduced = closing.folding.axes[static_cast<size_t>(i)];
    if (axes_.empty() || (axes_.back().step == 0) != reduced) axes_.push_back({1, reduced ? 0 : outputs});
    axes_.back().size *= shape[i];
    if (!reduced) outputs *= shape[i];
  }
  const Axis& outermost = axes_.back();
  const int64_t leads = outermost.step > 0 ? outermost.size : 1;
  lead_size_ = size_ / leads;
  lead_outputs_ = outputs / leads;
  per_output_ = size_ / outputs;
}

// Rows along the innermost axis, as many at once as lie in one row of the next axis.
void BlockFold::fold(double* acc, int64_t first_lead, int64_t begin, int64_t count,
                     const std::byte* x) const {
  const int64_t inner = axes_[0].size, next = axes_.size() > 1 ? axes_[1].size : 1, end = begin + count;
  for (int64_t at = begin; at < end;) {
    const int64_t row = at / inner, from = at % inner;
    int64_t place = -first_lead * lead_outputs_, number = row;
    for (size_t axis = 1; axis < axes_.size(); number /= axes_[axis++].size)
      place += number % axes_[axis].size * axes_[axis].step;
    const int64_t length = std::min(inner - from, end - at);
    const int64_t rows = length < inner ? 1 : std::min((end - at) / inner, next - row % next);
    const char* const elements = reinterpret_cast<const char*>(x);
    if (axes_[0].step == 0) fold_.rows(acc + place, elements, nullptr, length, rows, inner);
    else fold_.columns(acc + place + from, elements, nullptr, length, rows, inner);
    at += rows * length;
    x += rows * length * element_bytes_;
  }
}

void BlockFold::Piece::add(const std::byte* x, int64_t count) {
  if (fold_ == nullptr) return;
  const int64_t size = fold_->lead_size_, outputs = fold_->lead_outputs_, end = at_ + count;
  const int64_t first = at_ / size, touched = (end + size - 1) / size - first, complete = end / size - first;
  const int64_t there = at_ % size != 0 && at_ > begin_ ? 1 : 0;  // the first lead's accumulators go on
  fold_->fold_.init(acc_ + there * outputs, (touched - there) * outputs);
  fold_->fold(acc_, first, at_, count, x);
  const int64_t done = complete > 0 && first * size < begin_ ? 1 : 0;  // began in an earlier piece
  if (done > 0) std::copy_n(acc_, outputs, head_);
  if (complete > done) fold_->finish(acc_ + done * outputs, first + done, complete - done, *y_);
  if (complete > 0 && touched > complete) std::copy_n(acc_ + complete * outputs, outputs, acc_);
  at_ = end;
}

void BlockFold::Piece::end() const {
  if (fold_ != nullptr && at_ % fold_->lead_size_ != 0) std::copy_n(acc_, fold_->lead_outputs_, tail_);
}

void BlockFold::merge(std::span<double> parts, int64_t piece, const TensorView& y) const {
  double* open = nullptr;  // accumulators of the lead that goes on
  for (int64_t begin = 0, i = 0; begin < size_; begin += piece, ++i) {
    double* const head = parts.data() + 2 * i * lead_outputs_;
    double* const tail = head + lead_outputs_;
    const int64_t end = std::min(size_, begin + piece);
    const int64_t lead = begin / lead_size_;
    const bool is_within = begin % lead_size_ != 0 && end < (lead + 1) * lead_size_;  // of a lead
    if (is_within) {
      fold_.merge(open, tail, lead_outputs_);
      continue;
    }
    if (begin % lead_size_ != 0) {
      fold_.merge(open, head, lead_outputs_);
      finish(open, lead, 1, y);
    }
    open = tail;
  }
}

}  // namespace loomix::ops
