// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/op.h"

// Attributes and kernels of the operators that only move elements.
namespace loomix::ops {

struct ReshapeParams {
  Shape shape;
  bool reverse = false;
  Shape target_shape;
  bool keep_highest = false;
  static void fields(FieldList<ReshapeParams>& f) {
    f("shape", &ReshapeParams::shape,
      "The new shape. 0 copies a size, -1 is inferred, -2 copies the rest, -3 joins two sizes, -4 splits one "
      "into the next two.");
    f("reverse", &ReshapeParams::reverse, "Match sizes from the last axis on.");
    f("target_shape", &ReshapeParams::target_shape, "Old form: the new shape, where 0 is inferred.");
    f("keep_highest", &ReshapeParams::keep_highest, "Old form: keep the size of the first axis.");
  }
};

// MXNet's reshape of NumPy arrays; the two operators differ in what negative sizes mean.
struct NumpyReshapeParams {
  Shape newshape;
  bool reverse = false;
  std::string order = "C";
  static void fields(FieldList<NumpyReshapeParams>& f) {
    f("newshape", &NumpyReshapeParams::newshape, "The new shape; -1 is inferred.").required("()");
    f("reverse", &NumpyReshapeParams::reverse, "Match sizes from the last axis on.");
    f("order", &NumpyReshapeParams::order, "C: row-major, the only order there is.");
  }
};

struct ReshapeLikeParams {
  std::optional<int> lhs_begin, lhs_end, rhs_begin, rhs_end;
  static void fields(FieldList<ReshapeLikeParams>& f) {
    f("lhs_begin", &ReshapeLikeParams::lhs_begin, "First axis of lhs to replace.");
    f("lhs_end", &ReshapeLikeParams::lhs_end, "End of the axes of lhs to replace.");
    f("rhs_begin", &ReshapeLikeParams::rhs_begin, "First axis of rhs to take.");
    f("rhs_end", &ReshapeLikeParams::rhs_end, "End of the axes of rhs to take.");
  }
};

struct ExpandDimsParams {
  int axis = 0;
  static void fields(FieldList<ExpandDimsParams>& f) {
    f("axis", &ExpandDimsParams::axis, "Where the axis of size 1 is put; -1 is behind the last.")
        .required("0");
  }
};

struct SqueezeParams {
  std::optional<Shape> axis;
  static void fields(FieldList<SqueezeParams>& f) {
    f("axis", &SqueezeParams::axis, "Axes of size 1 to drop; all of them if not given.")
        .type("Shape or None");
  }
};

struct TransposeParams {
  Shape axes;
  static void fields(FieldList<TransposeParams>& f) {
    f("axes", &TransposeParams::axes, "Output axis i is input axis axes[i]; by default they are reversed.");
  }
};

struct SwapAxisParams {
  int dim1 = 0;
  int dim2 = 0;
  static void fields(FieldList<SwapAxisParams>& f) {
    f("dim1", &SwapAxisParams::dim1, "One axis.");
    f("dim2", &SwapAxisParams::dim2, "The other axis.");
  }
};

using Bounds = std::vector<std::optional<int64_t>>;

struct SliceParams {
  Bounds begin;
  Bounds end;
  Bounds step;
  template <class P>
  static void fields(FieldList<P>& f) {
    f("begin", &SliceParams::begin, "First index along each axis; None is the start.").required("(0,)");
    f("end", &SliceParams::end, "End index along each axis, not included; None is the end.").required("(1,)");
    f("step", &SliceParams::step, "Step along each axis; may be negative.");
  }
};

struct SliceAssignScalarParams : SliceParams {
  double scalar = 0;
  static void fields(FieldList<SliceAssignScalarParams>& f) {
    f("scalar", &SliceAssignScalarParams::scalar, "The number to write.");
    SliceParams::fields(f);
  }
};

struct SliceAxisParams {
  int axis = 0;
  int begin = 0;
  std::optional<int> end;
  static void fields(FieldList<SliceAxisParams>& f) {
    f("axis", &SliceAxisParams::axis, "Axis to cut.").required("0");
    f("begin", &SliceAxisParams::begin, "First index; negative counts from the end.").required("0");
    f("end", &SliceAxisParams::end, "End index, not included; None is the end.").required("1");
  }
};

struct SliceLikeParams {
  Shape axes;
  static void fields(FieldList<SliceLikeParams>& f) {
    f("axes", &SliceLikeParams::axes, "Axes to cut; all if none is given.");
  }
};

struct ConcatParams {
  int num_args = 1;
  int dim = 1;
  static void fields(FieldList<ConcatParams>& f) {
    f("num_args", &ConcatParams::num_args, "Number of inputs.").required("2").at_least(1).type("int");
    f("dim", &ConcatParams::dim, "Axis along which they are joined.");
  }
};

struct StackParams {
  int axis = 0;
  int num_args = 1;
  static void fields(FieldList<StackParams>& f) {
    f("axis", &StackParams::axis, "Where the new axis stands in the output.");
    f("num_args", &StackParams::num_args, "Number of inputs.").required("2").at_least(1).type("int");
  }
};

struct SplitParams {
  int num_outputs = 1;
  int axis = 1;
  bool squeeze_axis = false;
  static void fields(FieldList<SplitParams>& f) {
    f("num_outputs", &SplitParams::num_outputs, "Number of equal parts.")
        .required("2")
        .at_least(1)
        .type("int");
    f("axis", &SplitParams::axis, "Axis to cut.");
    f("squeeze_axis", &SplitParams::squeeze_axis, "Drop the axis, which then has size 1 in every part.");
  }
};

struct SplitV2Params {
  Shape indices;
  int axis = 1;
  bool squeeze_axis = false;
  int sections = 0;
  static void fields(FieldList<SplitV2Params>& f) {
    f("indices", &SplitV2Params::indices, "Where each part begins, starting with 0.").required("(0,)");
    f("axis", &SplitV2Params::axis, "Axis to cut.");
    f("squeeze_axis", &SplitV2Params::squeeze_axis, "Drop the axis, which then has size 1 in every part.");
    f("sections", &SplitV2Params::sections, "If above 0: number of equal parts.").at_least(0).type("int");
  }
};

struct ReverseParams {
  Shape axis;
  static void fields(FieldList<ReverseParams>& f) {
    f("axis", &ReverseParams::axis, "Axes along which the order is reversed.").required("0");
  }
};

struct TileParams {
  Shape reps;
  static void fields(FieldList<TileParams>& f) {
    f("reps", &TileParams::reps, "How often data stands along each axis.").required("2");
  }
};

struct RepeatParams {
  int repeats = 1;
  std::optional<int> axis;
  static void fields(FieldList<RepeatParams>& f) {
    f("repeats", &RepeatParams::repeats, "How often each element stands in the output.")
        .required("2")
        .at_least(0)
        .type("int");
    f("axis", &RepeatParams::axis, "Axis along which elements are repeated; without it, data is flat.");
  }
};

enum class PadMode { constant, edge, reflect };

struct PadParams {
  PadMode mode = PadMode::constant;
  Shape pad_width;
  double constant_value = 0;
  static void fields(FieldList<PadParams>& f) {
    f("mode", &PadParams::mode, "What the border holds.")
        .required("constant")
        .options({{"constant", PadMode::constant}, {"edge", PadMode::edge}, {"reflect", PadMode::reflect}});
    f("pad_width", &PadParams::pad_width, "Elements before and behind each axis: (before_1, after_1, ...).")
        .required("(0, 0, 0, 0, 1, 1, 1, 1)");
    f("constant_value", &PadParams::constant_value, "The border in mode `constant`.");
  }
};

struct BlockParams {
  int block_size = 1;
  static void fields(FieldList<BlockParams>& f) {
    f("block_size", &BlockParams::block_size, "Edge of a block of pixels.")
        .required("2")
        .at_least(1)
        .type("int");
  }
};

struct DiagParams {
  int k = 0;
  int axis1 = 0;
  int axis2 = 1;
  static void fields(FieldList<DiagParams>& f) {
    f("k", &DiagParams::k, "Which diagonal: positive above the main one, negative below.");
    f("axis1", &DiagParams::axis1, "Axis of the rows.");
    f("axis2", &DiagParams::axis2, "Axis of the columns.");
  }
};

// The shape with an axis more, or less.
Shape with_axis(const Shape& shape, int axis, int64_t size);
Shape without_axis(const Shape& shape, int axis);
// Along one axis: `count` indices from `begin` on, `step` apart.
struct SliceRange {
  int64_t begin, step, count;
};
// As Python's slices: bounds outside are clamped. `size` is known.
SliceRange slice_range(const Bounds& begin, const Bounds& end, const Bounds& step, int axis, int64_t size,
                       const char* who);
SliceRange slice_axis_range(const SliceAxisParams& p, int64_t size, const char* who);
// Rows r and r + offset of the diagonal of a rows x columns matrix.
struct Diagonal {
  int64_t row, column, count;
};
Diagonal diagonal_of(int64_t rows, int64_t columns, int64_t k);
// Where part i of a split begins, and its size.
SliceRange split_part(const SplitV2Params& p, int i, int64_t size);
int split_count(const SplitV2Params& p);

}  // namespace loomix::ops
