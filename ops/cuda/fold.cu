// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/fold.h"

namespace loomix::cuda {
namespace {

constexpr int64_t kLongRow = 2048;       // elements that are worth a block
constexpr int64_t kLeastOfPiece = 8192;  // elements that a block folds at least, where there are pieces
constexpr int64_t kManyBlocks = 1024;    // that keep a device busy

}  // namespace

FoldPlan::FoldPlan(const Shape& shape, const ops::AxisSet& axes) {
  int64_t stride = 1;
  int last = -1;  // kind of the last axis seen: 1 reduced, 0 kept
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    const int kind = axes[static_cast<size_t>(axis)] ? 1 : 0;
    (kind == 1 ? items_ : outputs_) *= shape[axis];
    if (shape[axis] == 1 || shape.size() == 0) continue;
    Walk& walk = kind == 1 ? reduced_ : kept_;
    if (kind == last) {
      walk.size[walk.ndim - 1] *= shape[axis];
    } else {
      walk.size[walk.ndim] = shape[axis];
      walk.stride[walk.ndim++] = stride;
      if (last == -1) by_rows_ = kind == 1;
    }
    stride *= shape[axis];
    last = kind;
  }
  int64_t inner = 1;
  for (Walk* walk : {&kept_, &reduced_}) {
    if (walk->ndim > 0 && walk->stride[0] == 1) inner = walk->size[0];
    std::reverse(walk->size, walk->size + walk->ndim);
    std::reverse(walk->stride, walk->stride + walk->ndim);
  }
  run_ = by_rows_ ? inner : 1;
  choose_grid(inner);
}

void FoldPlan::choose_grid(int64_t inner) {
  constexpr int64_t kMostBlocks = 1 << 20;
  int lanes = kWarp;
  if (by_rows_) {
    if (items_ >= kLongRow) lanes = kFoldBlock;
  } else {
    while (lanes > 4 && lanes / 2 >= inner) lanes /= 2;
  }
  const int rows = kFoldBlock / lanes;
  const int64_t blocks = std::clamp<int64_t>(ceil_divide(outputs_, by_rows_ ? rows : lanes), 1, kMostBlocks);
  const int64_t least = std::max<int64_t>(1, kLeastOfPiece / (by_rows_ ? rows == 1 ? 1 : rows : lanes));
  pieces_ = std::clamp<int64_t>(items_ / least, 1, std::max<int64_t>(1, kManyBlocks / blocks));
  grid_.blocks = dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(pieces_));
  grid_.threads = dim3(static_cast<unsigned>(lanes), static_cast<unsigned>(rows));
}

Places<1> FoldPlan::places_of(const Walk& walk) {
  Places<1> places{};
  places.ndim = std::max(walk.ndim, 1);
  for (int axis = 0; axis < walk.ndim; ++axis) {
    places.size[axis] = Divider(walk.size[axis]);
    places.stride[0][axis] = walk.stride[axis];
  }
  return places;
}

FoldGeometry FoldPlan::geometry() const {
  constexpr int64_t kPacks = 64;  // a multiple of every pack
  const int64_t items_a_piece = ceil_divide(ceil_divide(items_, pieces_), kPacks) * kPacks;
  return {places_of(kept_), places_of(reduced_), outputs_, items_, items_a_piece, run_};
}

}  // namespace loomix::cuda
