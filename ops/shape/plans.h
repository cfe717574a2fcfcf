// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/reduce/reduce.h"
#include "ops/shape/shape.h"
#include "ops/strided.h"

// What the operators of this folder move, as strided copies: the same for every device.
namespace loomix::ops {

StridedCopy transpose_plan(const TransposeParams& p, const Shape& in);
StridedCopy swap_axis_plan(const SwapAxisParams& p, const Shape& in);
StridedCopy reverse_plan(const ReverseParams& p, const Shape& in);
StridedCopy tile_plan(const TileParams& p, const Shape& in);
StridedCopy repeat_plan(const RepeatParams& p, const Shape& in);
StridedCopy depth_to_space_plan(const BlockParams& p, const Shape& in);
StridedCopy space_to_depth_plan(const BlockParams& p, const Shape& in);
// Elements of the diagonal: `matrix` holds it, a line lists it, along the last axis.
StridedCopy diagonal_plan(const DiagParams& p, const Shape& matrix, bool reads_matrix);
// The inner part of a padded array.
StridedCopy unpad_plan(const PadParams& p, const Shape& padded, const Shape& inner);

// x, with reps in front of each of its axes: (reps_0, size_0, reps_1, size_1, ...).
Shape tiled(const TileParams& p, const Shape& x);
AxisSet tiled_axes(const TileParams& p, const Shape& x);  // the reps
// (outer, repeats, inner), where inner is one element for no axis.
Shape repeated(const RepeatParams& p, const Shape& x);
inline constexpr AxisSet kRepeated(0b010);

// A part's index space: strides within the whole array.
struct Region {
  int ndim = 0;
  int64_t size[Shape::kMaxDims];
  int64_t stride[Shape::kMaxDims];
  int64_t offset = 0;

  explicit Region(const Shape& whole);
  void cut(int axis, const SliceRange& range);
  // The copy of the part out of the whole array, into it, and of one element everywhere into it.
  StridedCopy reading() const;
  StridedCopy writing() const;
  StridedCopy filling() const;
};
Region region_of(const SliceParams& p, const Shape& whole);
Region region_of(const SliceAxisParams& p, const Shape& whole);
Region region_of(const Shape& part, const Shape& whole);  // a prefix along every axis

// The element of an axis of `size` that a padded index shows; -1 for the constant.
constexpr int64_t pad_source(PadMode mode, int64_t index, int64_t size) {
  if (index >= 0 && index < size) return index;
  if (mode == PadMode::constant) return -1;
  if (mode == PadMode::edge) return index < 0 ? 0 : size - 1;
  return index < 0 ? -index : 2 * (size - 1) - index;
}

// Along one axis: the places of the padded array that show element `index` of the inner one, by its edge or its reflection, too.
class PadPlaces {
 public:
  constexpr PadPlaces(PadMode mode, int64_t index, int64_t before, int64_t size, int64_t padded) {
    const int64_t own = before + index;
    if (mode == PadMode::edge) {
      place_[0] = index == 0 ? 0 : own;
      count_ = (index == size - 1 ? padded : own + 1) - place_[0];
      is_run_ = true;
      return;
    }
    place_[count_++] = own;
    const int64_t left = before - index, right = own + 2 * (size - 1 - index);
    if (left >= 0 && left != own) place_[count_++] = left;
    if (right < padded && right != own) place_[count_++] = right;
  }
  constexpr int64_t count() const { return count_; }
  constexpr int64_t operator[](int64_t i) const { return is_run_ ? place_[0] + i : place_[i]; }

 private:
  int64_t place_[3] = {};
  int64_t count_ = 0;
  bool is_run_ = false;
};

}  // namespace loomix::ops
