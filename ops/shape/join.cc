// SPDX-License-Identifier: Apache-2.0
#include "base/tuple_text.h"
#include "ops/shape/shape.h"
#include "ops/table.h"

// Joining and splitting along an axis.
namespace loomix::ops {

int split_count(const SplitV2Params& p) { return p.sections > 0 ? p.sections : p.indices.ndim(); }

SliceRange split_part(const SplitV2Params& p, int i, int64_t size) {
  if (p.sections > 0) {
    const int64_t each = size / p.sections;
    return {each * i, 1, each};
  }
  const int64_t begin = p.indices[i];
  const int64_t end = i + 1 < p.indices.ndim() ? p.indices[i + 1] : size;
  return {begin, 1, end - begin};
}

namespace {

// Where the output is known, so is one input that is not; several ones if they are `alike`.
template <bool alike>
void concat_shape(const ConcatParams& p, ShapeInfer& s) {
  Shape common = Shape::unknown();  // sizes off the axis
  const auto learn = [&](const Shape& shape) {
    if (!shape.ndim_known()) return;
    if (!common.ndim_known()) common = Shape::filled(shape.ndim(), kUnknownDim);
    LOOMIX_CHECK(common.ndim() == shape.ndim(), ShapeError,
                 "[{}] one input has shape {}; others have {} axes.", s.who(), shape.to_string(),
                 common.ndim());
    const int axis = normalize_axis(p.dim, shape.ndim(), s.who());
    for (int i = 0; i < shape.ndim(); ++i) {
      if (i == axis || shape[i] < 0) continue;
      LOOMIX_CHECK(
          common[i] < 0 || common[i] == shape[i], ShapeError,
          "[{}] inputs differ along axis {}: {} and {}, in an input of shape {}; only axis {} may differ.",
          s.who(), i, common[i], shape[i], shape.to_string(), axis);
      common[i] = shape[i];
    }
  };
  for (int i = 0; i < s.num_in(); ++i) learn(s.in(i));
  learn(s.out(0));
  if (!common.ndim_known()) return;
  const int axis = normalize_axis(p.dim, common.ndim(), s.who());
  int64_t total = 0;
  int unknown = 0;
  for (int i = 0; i < s.num_in(); ++i) {
    s.set_in(i, common);
    if (s.in(i)[axis] < 0) ++unknown;
    else
      LOOMIX_CHECK(!__builtin_add_overflow(total, s.in(i)[axis], &total), ShapeError,
                   "[{}] the inputs are longer along axis {} than an array can be.", s.who(), axis);
  }
  Shape out = common;
  if (unknown == 0) out[axis] = total;
  s.set_out(0, out);
  if (unknown == 0 || s.out(0)[axis] < 0) return;
  const int64_t left = s.out(0)[axis] - total;
  if (unknown > 1 && (!alike || left % unknown != 0)) return;
  LOOMIX_CHECK(left >= 0, ShapeError, "[{}] the inputs are longer than the output of shape {}.", s.who(),
               s.out(0).to_string());
  Shape rest = common;
  rest[axis] = left / unknown;
  for (int i = 0; i < s.num_in(); ++i) {
    if (s.in(i)[axis] < 0) s.set_in(i, rest);
  }
}

void stack_shape(const StackParams& p, ShapeInfer& s) {
  if (s.out(0).ndim_known())
    s.set_in(0, without_axis(s.out(0), normalize_axis(p.axis, s.out(0).ndim(), s.who())));
  s.tie_inputs(0, s.num_in(), {});
  const Shape& common = s.in(0);
  if (!common.ndim_known()) return;
  s.set_out(0, with_axis(common, normalize_axis(p.axis, common.ndim() + 1, s.who()), p.num_args));
}

// Rules of both splits: part i has size(i) along the axis, given the whole's size there.
template <class Part>
void split_forward(int axis_given, bool squeeze, Part&& part, ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (!in.ndim_known()) return;
  const int axis = normalize_axis(axis_given, in.ndim(), s.who());
  for (int i = 0; i < s.num_out(); ++i) {
    Shape out = in;
    if (in[axis] >= 0) out[axis] = part(i, in[axis]);
    LOOMIX_CHECK(!squeeze || out[axis] == 1 || out[axis] < 0, ShapeError,
                 "[{}] part {} has size {} along axis {}; squeeze_axis needs size 1.", s.who(), i, out[axis],
                 axis);
    s.set_out(i, squeeze ? without_axis(out, axis) : out);
  }
}

void split_shape(const SplitParams& p, ShapeInfer& s) {
  // All parts are alike, and tell the whole.
  Shape common = Shape::unknown();
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < s.num_out(); ++i) {
      s.set_out(i, common);
      common = s.out(i);
    }
  }
  if (common.ndim_known()) {
    const int axis = normalize_axis(p.axis, common.ndim() + (p.squeeze_axis ? 1 : 0), s.who());
    if (p.squeeze_axis) {
      common = with_axis(common, axis, p.num_outputs);
    } else if (common[axis] >= 0) {
      common[axis] *= p.num_outputs;
    }
    s.set_in(0, common);
  }
  split_forward(
      p.axis, p.squeeze_axis,
      [&](int, int64_t size) {
        LOOMIX_CHECK(size % p.num_outputs == 0, ShapeError,
                     "[{}] size {} of axis {} does not divide into {} parts.", s.who(), size, p.axis,
                     p.num_outputs);
        return size / p.num_outputs;
      },
      s);
}

void split_v2_shape(const SplitV2Params& p, ShapeInfer& s) {
  split_forward(
      p.axis, p.squeeze_axis,
      [&](int i, int64_t size) {
        LOOMIX_CHECK(p.sections == 0 || size % p.sections == 0, ShapeError,
                     "[{}] size {} of axis {} does not divide into {} parts.", s.who(), size, p.axis,
                     p.sections);
        const SliceRange range = split_part(p, i, size);
        LOOMIX_CHECK(range.begin >= 0 && range.count >= 0 && range.begin + range.count <= size, ValueError,
                     "[{}] the indices {} do not cut axis {} of size {} in ascending order.", s.who(),
                     tuple_text(p.indices), p.axis, size);
        return range.count;
      },
      s);
}

void join_gradients(int parts, int axis, bool squeezed, GradBuilder& g) {
  std::vector<GradValue> grads;
  for (int i = 0; i < parts; ++i) grads.push_back(g.grad_of(i));
  const TextPairs attrs = {{"num_args", std::to_string(parts)},
                           {squeezed ? "axis" : "dim", std::to_string(axis)}};
  g.set(0, g.call(squeezed ? "stack" : "Concat", grads, attrs)[0]);
}

// (gradient, inputs ...): the parts of the gradient.
void backward_concat_shape(const ConcatParams& p, ShapeInfer& s) {
  Shape whole = Shape::unknown();
  int64_t total = 0;
  for (int i = 0; i < s.num_out(); ++i) {
    s.set_out(i, s.in(i + 1));
    s.set_in(i + 1, s.out(i));
    const Shape& part = s.out(i);
    const int64_t size = part.ndim_known() ? part[normalize_axis(p.dim, part.ndim(), s.who())] : kUnknownDim;
    total = size < 0 || total < 0 ? kUnknownDim : total + size;
    if (part.ndim_known()) whole = part;
  }
  if (!whole.ndim_known()) return;
  whole[normalize_axis(p.dim, whole.ndim(), s.who())] = total;
  s.set_in(0, whole);
}

OpBuilder<ConcatParams> add_concat(OpTable& table, const char* name, const char* doc) {
  auto op = table.add<ConcatParams>(name).doc(doc);
  op.variadic("data", "num_args", &ConcatParams::num_args)
      .infer_shape(concat_shape<false>)
      .gradient([](const ConcatParams& p, GradBuilder& g) {
        if (p.num_args == 1) return g.set(0, g.grad_of(0));
        std::vector<GradValue> inputs = {g.grad_of(0)};
        for (int i = 0; i < p.num_args; ++i) inputs.push_back(g.in(i));
        const auto grads = g.call("_backward_concat", inputs, g.attrs());
        for (int i = 0; i < p.num_args; ++i) g.set(i, grads[static_cast<size_t>(i)]);
      });
  return op;
}

void register_concat(OpTable& table) {
  add_concat(table, "Concat", "Joins arrays along an axis.").aliases({"_sparse_concat", "concat"});
  // Weights of the two directions, of inputs whose size is not known yet, are alike.
  add_concat(table, "_rnn_param_concat", "Joins the parameters of a recurrent network along an axis.")
      .infer_shape(concat_shape<true>);
  auto backward = table.add_hidden<ConcatParams>("_backward_concat", {"grad", "data"});
  backward.num_inputs([](const ConcatParams& p) { return p.num_args + 1; })
      .num_outputs([](const ConcatParams& p) { return p.num_args; })
      .infer_shape(backward_concat_shape)
      .shape_only(1)
      .scatters()
      .gradient([](const ConcatParams& p, GradBuilder& g) {
        std::vector<GradValue> grads;
        for (int i = 0; i < p.num_args; ++i) grads.push_back(g.grad_of(i));
        g.set(0, g.call("Concat", grads, g.attrs())[0]);
      });
}

}  // namespace

void register_joins(OpTable& table) {
  register_concat(table);
  table.add<StackParams>("stack")
      .doc("Joins arrays along a new axis.")
      .variadic("data", "num_args", &StackParams::num_args)
      .infer_shape(stack_shape)
      .gradient([](const StackParams& p, GradBuilder& g) {
        const GradValue grad = g.grad_of(0);
        const auto parts = g.call("SliceChannel", std::span(&grad, 1),
                                  TextPairs{{"num_outputs", std::to_string(p.num_args)},
                                            {"axis", std::to_string(p.axis)},
                                            {"squeeze_axis", "True"}});
        for (int i = 0; i < p.num_args; ++i) g.set(i, parts[static_cast<size_t>(i)]);
      });
  table.add<SplitParams>("SliceChannel", {"data"})
      .doc("Cuts data into equal parts along an axis.")
      .aliases({"split"})
      .num_outputs([](const SplitParams& p) { return p.num_outputs; })
      .infer_shape(split_shape)
      .gradient([](const SplitParams& p, GradBuilder& g) {
        join_gradients(p.num_outputs, p.axis, p.squeeze_axis, g);
      });
  table.add<SplitV2Params>("_split_v2", {"data"})
      .doc("Cuts data along an axis into equal parts, or where indices say.")
      .output("output")
      .num_outputs([](const SplitV2Params& p) { return split_count(p); })
      .infer_shape(split_v2_shape)
      .gradient([](const SplitV2Params& p, GradBuilder& g) {
        join_gradients(split_count(p), p.axis, p.squeeze_axis, g);
      });
}

}  // namespace loomix::ops
