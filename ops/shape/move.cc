// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/tuple_text.h"
#include "ops/shape/shape.h"
#include "ops/shape_rule.h"
#include "ops/table.h"

// Operators that put elements elsewhere.
namespace loomix::ops {

Diagonal diagonal_of(int64_t rows, int64_t columns, int64_t k) {
  const int64_t row = k < 0 ? -k : 0;
  const int64_t column = k > 0 ? k : 0;
  return {row, column, std::max<int64_t>(0, std::min(rows - row, columns - column))};
}

namespace {

// axes[i] is the input axis of output axis i.
Shape permutation(const TransposeParams& p, int ndim, const char* who) {
  Shape axes;
  if (p.axes.ndim() == 0) {
    for (int i = ndim - 1; i >= 0; --i) axes.push_back(i);
    return axes;
  }
  LOOMIX_CHECK(p.axes.ndim() == ndim, ValueError, "[{}] axes {} do not permute the {} axes of data.", who,
               tuple_text(p.axes), ndim);
  uint32_t seen = 0;
  for (int64_t axis : p.axes) {
    const int i = normalize_axis(axis, ndim, who);
    LOOMIX_CHECK(!(seen >> i & 1), ValueError, "[{}] axes {} name axis {} twice.", who, tuple_text(p.axes),
                 i);
    seen |= 1u << i;
    axes.push_back(i);
  }
  return axes;
}

void transpose_shape(const TransposeParams& p, ShapeInfer& s) {
  const int ndim = s.in(0).ndim_known() ? s.in(0).ndim() : s.out(0).ndim();
  if (ndim < 0) return;
  const Shape axes = permutation(p, ndim, s.who());
  Shape in = s.in(0), out = s.out(0);
  if (in.ndim_known()) {
    Shape moved = in;
    for (int i = 0; i < ndim; ++i) moved[i] = in[static_cast<int>(axes[i])];
    s.set_out(0, moved);
  }
  if (out.ndim_known()) {
    Shape back = out;
    for (int i = 0; i < ndim; ++i) back[static_cast<int>(axes[i])] = out[i];
    s.set_in(0, back);
  }
}

void transpose_gradient(const TransposeParams& p, GradBuilder& g) {
  const int ndim = p.axes.ndim();
  Shape inverse = p.axes;
  for (int i = 0; i < ndim; ++i) inverse[static_cast<int>(p.axes[i] < 0 ? p.axes[i] + ndim : p.axes[i])] = i;
  g.set(0, g.call1("transpose", {g.grad_of(0)}, {{"axes", tuple_text(inverse)}}));
}

void swap_axis_shape(const SwapAxisParams& p, ShapeInfer& s) {
  const auto swapped = [&](const Shape& shape) {
    if (!shape.ndim_known()) return shape;
    Shape result = shape;
    std::swap(result[normalize_axis(p.dim1, shape.ndim(), s.who())],
              result[normalize_axis(p.dim2, shape.ndim(), s.who())]);
    return result;
  };
  s.set_out(0, swapped(s.in(0)));
  s.set_in(0, swapped(s.out(0)));
}

void reverse_shape(const ReverseParams& p, ShapeInfer& s) {
  s.unify_all();
  if (!s.in(0).ndim_known()) return;
  for (const int64_t axis : p.axis) normalize_axis(axis, s.in(0).ndim(), s.who());
}

void tile_shape(const TileParams& p, ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (!in.ndim_known()) return;
  const int ndim = std::max(in.ndim(), p.reps.ndim());
  Shape out = Shape::filled(ndim, 1);
  for (int i = 1; i <= ndim; ++i) {
    const int64_t size = i <= in.ndim() ? in[in.ndim() - i] : 1;
    const int64_t reps = i <= p.reps.ndim() ? p.reps[p.reps.ndim() - i] : 1;
    LOOMIX_CHECK(reps > 0 || (reps == 0 && numpy_shapes()), ValueError,
                 "[{}] reps is {}; expected positive numbers.", s.who(), tuple_text(p.reps));
    out[ndim - i] = size < 0 ? kUnknownDim : size * reps;
  }
  s.set_out(0, out);
}

void repeat_shape(const RepeatParams& p, ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (!in.ndim_known()) return;
  if (!p.axis) {
    if (in.is_known()) s.set_out(0, {in.size() * p.repeats});
    return;
  }
  Shape out = in;
  const int axis = normalize_axis(*p.axis, in.ndim(), s.who());
  if (out[axis] >= 0) out[axis] *= p.repeats;
  s.set_out(0, out);
}

void pad_shape(const PadParams& p, ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (!in.ndim_known()) return;
  LOOMIX_CHECK(p.pad_width.ndim() == 2 * in.ndim(), ValueError,
               "[{}] pad_width {} has {} entries; data of shape {} needs two an axis.", s.who(),
               tuple_text(p.pad_width), p.pad_width.ndim(), in.to_string());
  Shape out = in;
  for (int axis = 0; axis < in.ndim(); ++axis) {
    const int64_t before = p.pad_width[2 * axis], after = p.pad_width[2 * axis + 1];
    LOOMIX_CHECK(before >= 0 && after >= 0, ValueError, "[{}] pad_width {} has a negative entry.", s.who(),
                 tuple_text(p.pad_width));
    if (in[axis] < 0) continue;
    const bool fits = p.mode == PadMode::constant || (p.mode == PadMode::edge && in[axis] > 0) ||
                      std::max(before, after) < std::max<int64_t>(in[axis], 1);
    LOOMIX_CHECK(fits, ValueError, "[{}] axis {} of size {} is too short to fill a border of {} and {} from.",
                 s.who(), axis, in[axis], before, after);
    out[axis] += before + after;
  }
  s.set_out(0, out);
}

void check_image(const Shape& shape, const char* who) {
  LOOMIX_CHECK(shape.ndim() == 4, ShapeError,
               "[{}] data has shape {}; expected (batch, channels, height, width).", who, shape.to_string());
}

int64_t divided(int64_t size, int64_t by, const char* what, const char* who) {
  if (size < 0) return kUnknownDim;
  LOOMIX_CHECK(size % by == 0, ShapeError, "[{}] the {} {} is not a multiple of {}.", who, what, size, by);
  return size / by;
}

void depth_to_space_shape(const BlockParams& p, ShapeInfer& s) {
  if (!s.in(0).ndim_known()) return;
  check_image(s.in(0), s.who());
  const int64_t b = p.block_size;
  Shape out = s.in(0);
  out[1] = divided(out[1], b * b, "number of channels", s.who());
  for (int axis : {2, 3}) {
    if (out[axis] >= 0) out[axis] *= b;
  }
  s.set_out(0, out);
}

void space_to_depth_shape(const BlockParams& p, ShapeInfer& s) {
  if (!s.in(0).ndim_known()) return;
  check_image(s.in(0), s.who());
  const int64_t b = p.block_size;
  Shape out = s.in(0);
  if (out[1] >= 0) out[1] *= b * b;
  for (int axis : {2, 3}) out[axis] = divided(out[axis], b, axis == 2 ? "height" : "width", s.who());
  s.set_out(0, out);
}

void diag_shape(const DiagParams& p, ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (!in.is_known()) return;
  LOOMIX_CHECK(in.ndim() > 0, ShapeError, "[{}] data is a scalar; expected at least one axis.", s.who());
  if (in.ndim() == 1) {
    const int64_t size = in[0] + std::abs(int64_t{p.k});
    s.set_out(0, {size, size});
    return;
  }
  const int rows = normalize_axis(p.axis1, in.ndim(), s.who());
  const int columns = normalize_axis(p.axis2, in.ndim(), s.who());
  LOOMIX_CHECK(rows != columns, ValueError, "[{}] axis1 and axis2 are both {}.", s.who(), rows);
  LOOMIX_CHECK(p.k <= in[columns] && -int64_t{p.k} <= in[rows], ValueError,
               "[{}] a matrix of {} rows and {} columns has no diagonal {}.", s.who(), in[rows], in[columns],
               p.k);
  Shape out;
  for (int axis = 0; axis < in.ndim(); ++axis) {
    if (axis != rows && axis != columns) out.push_back(in[axis]);
  }
  out.push_back(diagonal_of(in[rows], in[columns], p.k).count);
  s.set_out(0, out);
}

// The gradient is another operator, with the same attributes.
template <class P>
OpBuilder<P> add(OpTable& table, const char* name, const char* gradient, const char* doc,
                 void (*shape)(const P&, ShapeInfer&)) {
  return table.add<P>(name, {"data"}).doc(doc).infer_shape(shape).gradient_op(gradient, {head(0)});
}

// The gradient is a hidden operator of (gradient, data), whose own gradient is the operator again.
template <class P>
void add_with_backward(OpTable& table, const char* name, const char* doc,
                       void (*shape)(const P&, ShapeInfer&)) {
  std::string backward = "_backward_";
  backward += name;  // one expression makes GCC 12 warn of an overflow that cannot be
  table.add<P>(name, {"data"}).doc(doc).infer_shape(shape).gradient_op(backward, {head(0), input(0)});
  table.add_hidden<P>(backward, {"grad", "data"}).shape_of(1).shape_only(1).gradient_op(name, {head(0)});
}

void register_permutations(OpTable& table) {
  table.add<TransposeParams>("transpose", {"data"})
      .doc("Permutes the axes.")
      .infer_shape(transpose_shape)
      .gradient(transpose_gradient)
      .axes_order([](const TransposeParams& p, int ndim) {
        std::vector<int> order;
        for (int i = 0; i < ndim; ++i) {
          order.push_back(p.axes.ndim() == 0 ? ndim - 1 - i : normalize_axis(p.axes[i], ndim, "transpose"));
        }
        return order;
      });
  add(table, "SwapAxis", "SwapAxis", "Exchanges two axes.", swap_axis_shape).aliases({"swapaxes"});
  add(table, "reverse", "reverse", "Reverses the order along axes.", reverse_shape).aliases({"flip"});
  add(table, "depth_to_space", "space_to_depth", "Moves channels into blocks of pixels.",
      depth_to_space_shape);
  add(table, "space_to_depth", "depth_to_space", "Moves blocks of pixels into channels.",
      space_to_depth_shape);
}

}  // namespace

void register_moves(OpTable& table) {
  register_permutations(table);
  add_with_backward(table, "tile", "Repeats data as a whole along axes.", tile_shape);
  add_with_backward(table, "repeat", "Repeats each element.", repeat_shape);
  table.add<PadParams>("Pad", {"data"})
      .doc("Puts a border around data.")
      .aliases({"pad"})
      .infer_shape(pad_shape)
      .gradient_op("_backward_pad", {head(0), input(0)});
  table.add_hidden<PadParams>("_backward_pad", {"grad", "data"})
      .shape_of(1)
      .shape_only(1)
      .gradient([](const PadParams& p, GradBuilder& g) {
        const char* mode = p.mode == PadMode::constant ? "constant"
                           : p.mode == PadMode::edge   ? "edge"
                                                       : "reflect";
        g.set(0, g.call1("Pad", {g.grad_of(0)}, {{"mode", mode}, {"pad_width", tuple_text(p.pad_width)}}));
      });
  add_with_backward(table, "diag", "The diagonal of a matrix, or the matrix with a diagonal.", diag_shape);

  const auto register_query = [&](const char* name, const char* doc,
                                  void (*shape)(const NoParams&, ShapeInfer&)) {
    table.add<NoParams>(name, {"data"})
        .doc(doc)
        .infer_shape(shape)
        .infer_type([](const NoParams&, TypeInfer& t) { t.set_out(0, DType::int64); })
        .shape_only(0)
        .zero_gradient();
  };
  register_query("shape_array", "The shape of data as an array.", [](const NoParams&, ShapeInfer& s) {
    if (s.in(0).ndim_known()) s.set_out(0, {s.in(0).ndim()});
  });
  register_query("size_array", "The number of elements of data as an array.",
                 [](const NoParams&, ShapeInfer& s) { s.set_out(0, {1}); });
}

}  // namespace loomix::ops
