// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/tuple_text.h"
#include "ops/shape/shape.h"
#include "ops/shape_rule.h"
#include "ops/table.h"

// Operators whose output is the input's memory under another shape.
namespace loomix::ops {

Shape with_axis(const Shape& shape, int axis, int64_t size) {
  Shape out;
  for (int i = 0; i <= shape.ndim(); ++i) {
    if (i == axis) out.push_back(size);
    if (i < shape.ndim()) out.push_back(shape[i]);
  }
  return out;
}

Shape without_axis(const Shape& shape, int axis) {
  Shape out;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (i != axis) out.push_back(shape[i]);
  }
  return out;
}

namespace {

int64_t times(int64_t a, int64_t b) { return a < 0 || b < 0 ? kUnknownDim : a * b; }

int64_t product(const Shape& shape) {
  int64_t total = 1;
  for (int64_t size : shape) total = times(total, size);
  return total;
}

// Puts `total / known` in place `inferred`, which is -1 elsewhere.
void fill_inferred(Shape& out, int inferred, int64_t total, const Shape& in, const char* who) {
  if (inferred < 0) return;
  int64_t known = 1;
  for (int i = 0; i < out.ndim(); ++i) {
    if (i != inferred) known = times(known, out[i]);
  }
  if (total < 0 || known < 0) return;
  LOOMIX_CHECK(known > 0 ? total % known == 0 : total == 0, ShapeError,
               "[{}] {} elements of shape {} do not divide into shape {}.", who, total, in.to_string(),
               out.to_string());
  out[inferred] = known > 0 ? total / known : 0;
}

// `codes` and `in` are reversed already if the parameter says so.
Shape apply_codes(const std::vector<int64_t>& codes, const std::vector<int64_t>& in, int& inferred,
                  const char* who) {
  Shape out;
  size_t at = 0;
  const auto next = [&]() {
    LOOMIX_CHECK(at < in.size(), ShapeError, "[{}] the new shape asks for more axes than the {} of data.",
                 who, in.size());
    return in[at++];
  };
  const auto infer_here = [&] {
    LOOMIX_CHECK(inferred < 0, ValueError,
                 "[{}] the new shape has more than one -1; one size can be inferred.", who);
    inferred = out.ndim();
    out.push_back(kUnknownDim);
  };
  for (size_t i = 0; i < codes.size(); ++i) {
    const int64_t code = codes[i];
    if (code > 0) {
      out.push_back(code);
      ++at;
    } else if (code == 0) {
      out.push_back(next());
    } else if (code == -1) {
      infer_here();
      ++at;
    } else if (code == -2) {
      while (at < in.size()) out.push_back(next());
    } else if (code == -3) {
      const int64_t first = next();
      out.push_back(times(first, next()));
    } else {
      LOOMIX_CHECK(code == -4, ValueError,
                   "[{}] {} in the new shape means nothing; expected -4 to -1, 0 or a size.", who, code);
      LOOMIX_CHECK(i + 2 < codes.size(), ValueError, "[{}] -4 must be followed by two sizes.", who);
      const int64_t whole = next();
      int64_t left = codes[i + 1], right = codes[i + 2];
      i += 2;
      LOOMIX_CHECK(
          (left > 0 || left == -1) && (right > 0 || right == -1) && !(left == -1 && right == -1), ValueError,
          "[{}] -4 is followed by {} and {}; expected two sizes, of which one may be -1.", who, left, right);
      if (left == -1) left = whole < 0 ? kUnknownDim : whole / right;
      if (right == -1) right = whole < 0 ? kUnknownDim : whole / left;
      LOOMIX_CHECK(whole < 0 || times(left, right) == whole, ShapeError,
                   "[{}] size {} does not split into {} x {}.", who, whole, left, right);
      out.push_back(left);
      out.push_back(right);
    }
  }
  return out;
}

Shape reshaped(const ReshapeParams& p, const Shape& in, const char* who) {
  int inferred = -1;
  Shape out;
  if (p.shape.ndim() > 0) {
    std::vector<int64_t> codes(p.shape.begin(), p.shape.end()), sizes(in.begin(), in.end());
    if (p.reverse) {
      std::reverse(codes.begin(), codes.end());
      std::reverse(sizes.begin(), sizes.end());
      // -4 stands before its two sizes in either direction.
      for (size_t i = 2; i < codes.size(); ++i) {
        if (codes[i] == -4) std::rotate(&codes[i - 2], &codes[i], &codes[i] + 1);
      }
    }
    out = apply_codes(codes, sizes, inferred, who);
    if (p.reverse) {
      std::reverse(out.begin(), out.end());
      if (inferred >= 0) inferred = out.ndim() - 1 - inferred;
    }
  } else {
    LOOMIX_CHECK(p.target_shape.ndim() > 0, ValueError, "[{}] neither `shape` nor `target_shape` is given.",
                 who);
    out = p.target_shape;
    if (p.keep_highest) out[0] = in[0];
    for (int i = p.keep_highest ? 1 : 0; i < out.ndim(); ++i) {
      if (out[i] != 0) continue;
      LOOMIX_CHECK(inferred < 0, ValueError, "[{}] target_shape {} has more than one 0.", who,
                   tuple_text(p.target_shape));
      inferred = i;
      out[i] = kUnknownDim;
    }
  }
  fill_inferred(out, inferred, product(in), in, who);
  LOOMIX_CHECK(!in.is_known() || !out.is_known() || product(in) == product(out), ShapeError,
               "[{}] data of shape {} has {} elements; the new shape {} has {}.", who, in.to_string(),
               product(in), out.to_string(), product(out));
  return out;
}

void check_row_major(const NumpyReshapeParams& p, const char* who) {
  LOOMIX_CHECK(p.order == "C", ValueError, "[{}] order is '{}'; expected 'C'.", who, p.order);
}

// NumPy's rule: sizes are what they say, and one may be -1.
void plain_reshape_shape(const NumpyReshapeParams& p, ShapeInfer& s) {
  check_row_major(p, s.who());
  const Shape& in = s.in(0);
  Shape out = p.newshape;
  int inferred = -1;
  for (int i = 0; i < out.ndim(); ++i) {
    if (out[i] >= 0) continue;
    LOOMIX_CHECK(out[i] == -1 && inferred < 0, ValueError,
                 "[{}] the new shape is {}; expected sizes, of which one may be -1.", s.who(),
                 tuple_text(p.newshape));
    inferred = i;
    out[i] = kUnknownDim;
  }
  if (in.ndim_known()) fill_inferred(out, inferred, product(in), in, s.who());
  LOOMIX_CHECK(!in.is_known() || !out.is_known() || product(in) == product(out), ShapeError,
               "[{}] an array of shape {} has {} elements; the new shape {} has {}.", s.who(), in.to_string(),
               product(in), tuple_text(p.newshape), product(out));
  s.set_out(0, out);
}

// The codes of MXNet's npx.reshape: -1 is inferred, -2 copies a size, -3 skips a size of 1, -4 copies the rest, -5 joins two
// sizes, -6 splits one into the next two.
std::vector<int64_t> numpy_codes(const NumpyReshapeParams& p, const Shape& in, const char* who) {
  std::vector<int64_t> codes(p.newshape.begin(), p.newshape.end()), sizes(in.begin(), in.end()), out;
  if (p.reverse) {
    std::reverse(codes.begin(), codes.end());
    std::reverse(sizes.begin(), sizes.end());
    for (size_t i = 2; i < codes.size(); ++i) {
      if (codes[i] == -6) std::rotate(&codes[i - 2], &codes[i], &codes[i] + 1);
    }
  }
  size_t at = 0;
  const auto next = [&] {
    LOOMIX_CHECK(at < sizes.size(), ShapeError, "[{}] the new shape {} asks for more axes than the {} of {}.",
                 who, tuple_text(p.newshape), sizes.size(), in.to_string());
    return sizes[at++];
  };
  for (size_t i = 0; i < codes.size(); ++i) {
    switch (codes[i]) {
      case -1:
        out.push_back(-1);
        ++at;
        break;
      case -2: out.push_back(next()); break;
      case -3: {
        const int64_t size = next();
        LOOMIX_CHECK(size == 1, ShapeError, "[{}] -3 skips an axis of size 1; here it has {}.", who, size);
        break;
      }
      case -4:
        while (at < sizes.size()) out.push_back(next());
        break;
      case -5: {
        const int64_t first = next();
        out.push_back(first * next());
        break;
      }
      case -6: {
        LOOMIX_CHECK(i + 2 < codes.size(), ValueError, "[{}] -6 must be followed by two sizes.", who);
        const int64_t whole = next();
        int64_t left = codes[i + 1], right = codes[i + 2];
        i += 2;
        LOOMIX_CHECK((left > 0 || left == -1) && (right > 0 || right == -1) && left + right > -2, ValueError,
                     "[{}] -6 is followed by {} and {}; expected two sizes, of which one may be -1.", who,
                     left, right);
        if (left == -1) left = whole / right;
        if (right == -1) right = whole / left;
        LOOMIX_CHECK(left * right == whole, ShapeError, "[{}] size {} does not split into {} x {}.", who,
                     whole, left, right);
        out.push_back(left);
        out.push_back(right);
        break;
      }
      default:
        LOOMIX_CHECK(codes[i] >= 0, ValueError,
                     "[{}] {} in the new shape means nothing; expected -6 to -1 or a size.", who, codes[i]);
        out.push_back(codes[i]);
        ++at;
    }
  }
  if (p.reverse) std::reverse(out.begin(), out.end());
  return out;
}

void coded_reshape_shape(const NumpyReshapeParams& p, ShapeInfer& s) {
  check_row_major(p, s.who());
  if (!s.in(0).is_known()) return;
  NumpyReshapeParams plain;
  for (const int64_t size : numpy_codes(p, s.in(0), s.who())) plain.newshape.push_back(size);
  plain_reshape_shape(plain, s);
}

// One unknown size of the input follows from the number of elements.
void complete_input(ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (!in.ndim_known() || !s.out(0).is_known()) return;
  if (std::count(in.begin(), in.end(), kUnknownDim) != 1) return;
  Shape filled = in;
  const auto unknown = std::find(in.begin(), in.end(), kUnknownDim) - in.begin();
  fill_inferred(filled, static_cast<int>(unknown), product(s.out(0)), s.out(0), s.who());
  s.set_in(0, filled);
}

void reshape_shape(const ReshapeParams& p, ShapeInfer& s) {
  if (!s.in(0).ndim_known()) return;
  s.set_out(0, reshaped(p, s.in(0), s.who()));
  complete_input(s);
}

void flatten_shape(const NoParams&, ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (!in.ndim_known()) return;
  LOOMIX_CHECK(in.ndim() > 0, ShapeError, "[{}] data is a scalar; expected at least one axis.", s.who());
  int64_t rest = 1;
  for (int axis = 1; axis < in.ndim(); ++axis) rest = times(rest, in[axis]);
  s.set_out(0, {in[0], rest});
  if (s.out(0).ndim_known() && s.out(0)[0] >= 0) {
    Shape first = in;
    first[0] = s.out(0)[0];
    s.set_in(0, first);
  }
  complete_input(s);
}

int bound(const std::optional<int>& given, int by_default, int ndim) {
  if (!given) return by_default;
  return std::clamp(*given < 0 ? *given + ndim : *given, 0, ndim);
}

void reshape_like_shape(const ReshapeLikeParams& p, ShapeInfer& s) {
  const Shape& lhs = s.in(0);
  const Shape& rhs = s.in(1);
  if (!rhs.ndim_known()) return;
  if (!p.lhs_begin && !p.lhs_end && !p.rhs_begin && !p.rhs_end) {
    s.set_out(0, rhs);
  } else if (lhs.ndim_known()) {
    Shape out;
    const int begin = bound(p.lhs_begin, 0, lhs.ndim()), end = bound(p.lhs_end, lhs.ndim(), lhs.ndim());
    for (int i = 0; i < begin; ++i) out.push_back(lhs[i]);
    for (int i = bound(p.rhs_begin, 0, rhs.ndim()); i < bound(p.rhs_end, rhs.ndim(), rhs.ndim()); ++i)
      out.push_back(rhs[i]);
    for (int i = end; i < lhs.ndim(); ++i) out.push_back(lhs[i]);
    s.set_out(0, out);
  }
  LOOMIX_CHECK(!lhs.is_known() || !s.out(0).is_known() || product(lhs) == product(s.out(0)), ShapeError,
               "[{}] lhs of shape {} has {} elements; the new shape {} has {}.", s.who(), lhs.to_string(),
               product(lhs), s.out(0).to_string(), product(s.out(0)));
  complete_input(s);
}

void expand_dims_shape(const ExpandDimsParams& p, ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (in.ndim_known()) s.set_out(0, with_axis(in, normalize_axis(p.axis, in.ndim() + 1, s.who()), 1));
  const Shape& out = s.out(0);
  if (out.ndim_known()) s.set_in(0, without_axis(out, normalize_axis(p.axis, out.ndim(), s.who())));
}

void squeeze_shape(const SqueezeParams& p, ShapeInfer& s) {
  const Shape& in = s.in(0);
  if (!in.ndim_known() || (!p.axis && !in.is_known())) return;
  uint32_t dropped = 0;
  if (p.axis) {
    for (int64_t given : *p.axis) {
      const int axis = normalize_axis(given, in.ndim(), s.who());
      LOOMIX_CHECK(in[axis] == 1 || in[axis] < 0, ShapeError,
                   "[{}] axis {} of data of shape {} has size {}; expected 1.", s.who(), given,
                   in.to_string(), in[axis]);
      dropped |= 1u << axis;
    }
  }
  Shape out;
  for (int axis = 0; axis < in.ndim(); ++axis) {
    if (p.axis ? !(dropped >> axis & 1) : in[axis] != 1) out.push_back(in[axis]);
  }
  if (out.ndim() == 0 && !numpy_shapes()) out.push_back(1);
  s.set_out(0, out);
}

template <class P>
OpBuilder<P> add(OpTable& table, const char* name, const char* doc,
                 std::initializer_list<std::string_view> inputs = {"data"}) {
  auto builder = table.add<P>(name, inputs).doc(doc);
  builder.inplace(0, 0).identity(0, 0).type_of(0);
  builder.gradient_by([](const AttrsBase&, GradBuilder& g) {
    g.set(0, g.call1("reshape_like", {g.grad_of(0), g.in(0)}));
  });
  return builder;
}

}  // namespace

void register_reshapes(OpTable& table) {
  add<ReshapeParams>(table, "Reshape", "The same elements under another shape.")
      .aliases({"reshape"})
      .infer_shape(reshape_shape);
  add<NumpyReshapeParams>(table, "_np_reshape", "The same elements under another shape, by NumPy's rule.")
      .infer_shape(plain_reshape_shape);
  add<NumpyReshapeParams>(
      table, "_npx_reshape",
      "The same elements under another shape, where -2 copies a size, -3 skips one of 1, -4 "
      "copies the rest, -5 joins two and -6 splits one.")
      .aliases({"_npi_reshape"})
      .infer_shape(coded_reshape_shape);
  add<NoParams>(table, "Flatten", "Joins all axes but the first.")
      .aliases({"flatten"})
      .infer_shape(flatten_shape);
  add<ReshapeLikeParams>(table, "reshape_like", "The elements of lhs under the shape of rhs.", {"lhs", "rhs"})
      .shape_only(1)
      .infer_shape(reshape_like_shape);
  add<ExpandDimsParams>(table, "expand_dims", "Adds an axis of size 1.").infer_shape(expand_dims_shape);
  add<SqueezeParams>(table, "squeeze", "Drops axes of size 1.").infer_shape(squeeze_shape);
}

}  // namespace loomix::ops
