// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <optional>

#include "base/params.h"
#include "ops/op.h"
#include "ops/reduce/reductions.h"

// Attributes, rules and kernels of the reductions and of their opposite, broadcasting one array.
namespace loomix::ops {

struct ReduceParams {
  std::optional<Shape> axis;
  bool keepdims = false;
  bool exclude = false;
  static void fields(FieldList<ReduceParams>& f) {
    f("axis", &ReduceParams::axis, "Axis or axes to reduce; all if none is given.").type("Shape or None");
    f("keepdims", &ReduceParams::keepdims, "Keep the reduced axes, with size 1.");
    f("exclude", &ReduceParams::exclude, "Reduce all axes but the given ones.");
  }
};

struct MomentsParams {
  std::optional<Shape> axes;
  bool keepdims = false;
  static void fields(FieldList<MomentsParams>& f) {
    f("axes", &MomentsParams::axes, "Axis or axes to reduce; all if none is given.").type("Shape or None");
    f("keepdims", &MomentsParams::keepdims, "Keep the reduced axes, with size 1.");
  }
};

struct NormParams {
  int ord = 2;
  std::optional<Shape> axis;
  std::optional<DType> out_dtype;
  bool keepdims = false;
  static void fields(FieldList<NormParams>& f) {
    f("ord", &NormParams::ord, "1: sum of absolute values; 2: root of the sum of squares.")
        .at_least(1)
        .at_most(2)
        .type("int");
    f("axis", &NormParams::axis, "Axis or axes to reduce; all if none is given.").type("Shape or None");
    f("out_dtype", &NormParams::out_dtype, "Type of the output; by default that of data.")
        .dtypes({DType::float16, DType::float32, DType::float64, DType::int32, DType::int64, DType::int8});
    f("keepdims", &NormParams::keepdims, "Keep the reduced axes, with size 1.");
  }
};

struct ArgParams {
  std::optional<int> axis;
  bool keepdims = false;
  static void fields(FieldList<ArgParams>& f) {
    f("axis", &ArgParams::axis, "Axis to search along; without it, data is flat.");
    f("keepdims", &ArgParams::keepdims, "Keep the axis, with size 1.");
  }
};

struct BroadcastAxisParams {
  Shape axis;
  Shape size;
  static void fields(FieldList<BroadcastAxisParams>& f) {
    f("axis", &BroadcastAxisParams::axis, "Axes of size 1 to repeat.");
    f("size", &BroadcastAxisParams::size, "Their sizes in the output.");
  }
};

struct BroadcastToParams {
  Shape shape;
  static void fields(FieldList<BroadcastToParams>& f) {
    f("shape", &BroadcastToParams::shape, "Shape of the output; 0 keeps data's size.");
  }
};

struct BroadcastLikeParams {
  std::optional<Shape> lhs_axes;
  std::optional<Shape> rhs_axes;
  static void fields(FieldList<BroadcastLikeParams>& f) {
    using P = BroadcastLikeParams;
    f("lhs_axes", &P::lhs_axes, "Axes of lhs to broadcast; all if not given.").type("Shape or None");
    f("rhs_axes", &P::rhs_axes, "The axes of rhs that give their sizes.").type("Shape or None");
  }
};

using AxisSet = std::bitset<Shape::kMaxDims>;

// The axes that are reduced; errors name `who`.
AxisSet axes_of(const ReduceParams& p, const Shape& data, const char* who = "reduce");
AxisSet axes_of(const NormParams& p, const Shape& data, const char* who = "norm");
AxisSet axes_of(const MomentsParams& p, const Shape& data, const char* who = "moments");
AxisSet axes_of(const ArgParams& p, const Shape& data, const char* who);
// The axes along which an array of shape y is repeated to become one of shape x.
AxisSet repeated_axes(const Shape& x, const Shape& y);
// Without the axes, or with size 1 there; (1,) where none is left, unless NumPy's rule of shapes holds.
Shape reduced_shape(const Shape& shape, const AxisSet& axes, bool keepdims);

// The kernels that call these ask for reduce_scratch() bytes: none, or the results of pieces where few outputs take very many
// elements. Never more than a few MB.
size_t reduce_scratch(const Shape& x, const AxisSet& axes);
void reduce_array(Reduction op, Finish finish, const TensorView& x, const AxisSet& axes, const TensorView& y,
                  const KernelArgs& args);
// Mean and variance, the latter in a second pass by the distances from the exact mean. One without data is left out.
void moments_array(const TensorView& x, const AxisSet& axes, const TensorView& mean,
                   const TensorView& variance, const KernelArgs& args);

void argmax_cpu(const ArgParams& p, const KernelArgs& args);
void argmin_cpu(const ArgParams& p, const KernelArgs& args);
void argmax_channel_cpu(const KernelArgs& args);

}  // namespace loomix::ops
