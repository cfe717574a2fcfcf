// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/contrib/contrib.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

Shape with_last(Shape shape, int64_t size) {
  shape[shape.ndim() - 1] = size;
  return shape;
}

void check_vectors(const ShapeInfer& s, const Shape& data) {
  LOOMIX_CHECK(data.ndim() != 0, ShapeError, "[{}] data has shape (); expected at least one axis.", s.who());
}

// Real data of size d against pairs of size 2 d.
void set_pair(ShapeInfer& s, const Shape& real, const Shape& pairs,
              void (ShapeInfer::*to_real)(int, const Shape&),
              void (ShapeInfer::*to_pairs)(int, const Shape&)) {
  check_vectors(s, real);
  check_vectors(s, pairs);
  const Shape from_pairs = pairs;
  if (real.ndim_known()) {
    const int64_t size = real[real.ndim() - 1];
    (s.*to_pairs)(0, with_last(real, size < 0 ? size : 2 * size));
  }
  if (from_pairs.ndim_known()) {
    const int64_t size = from_pairs[from_pairs.ndim() - 1];
    LOOMIX_CHECK(size < 0 || size % 2 == 0, ShapeError,
                 "[{}] the last size of {} is odd; expected pairs of real and imaginary parts.", s.who(),
                 from_pairs.to_string());
    (s.*to_real)(0, with_last(from_pairs, size < 0 ? size : size / 2));
  }
}

void register_fourier(OpTable& table) {
  const auto add = [&](const char* name, const char* other, const char* doc) {
    auto op = table.add<FftParams>(name, {"data"}).doc(doc);
    op.types({DType::float32, DType::float64});
    op.element_cost(20).gradient_op(other, {head(0)});
    return op;
  };
  add("_contrib_fft", "_contrib_ifft",
      "The discrete Fourier transform along the last axis, as pairs of real and imaginary parts.")
      .infer_shape([](const FftParams&, ShapeInfer& s) {
        set_pair(s, s.in(0), s.out(0), &ShapeInfer::set_in, &ShapeInfer::set_out);
      });
  add("_contrib_ifft", "_contrib_fft",
      "The real part of the inverse Fourier transform of pairs of real and imaginary parts, not divided by "
      "the size.")
      .infer_shape([](const FftParams&, ShapeInfer& s) {
        set_pair(s, s.out(0), s.in(0), &ShapeInfer::set_out, &ShapeInfer::set_in);
      });
}

void sketch_shape(const CountSketchParams& p, ShapeInfer& s, const Shape& data, int hash) {
  check_vectors(s, data);
  if (!data.ndim_known()) return;
  const int64_t size = data[data.ndim() - 1];
  for (int i : {hash, hash + 1}) {
    if (s.in(i).ndim() == 1) s.set_in(i, Shape{size});
    else s.set_in(i, Shape{1, size});
  }
  LOOMIX_CHECK(p.out_dim >= 1, ValueError, "[{}] out_dim is {}; expected 1 or more.", s.who(), p.out_dim);
}

void register_count_sketch(OpTable& table) {
  table.add<CountSketchParams>("_contrib_count_sketch", {"data", "h", "s"})
      .doc("Adds s[i] data[..., i] to element h[i] of the output: a random projection.")
      .infer_shape([](const CountSketchParams& p, ShapeInfer& s) {
        sketch_shape(p, s, s.in(0), 1);
        if (s.in(0).ndim_known()) s.set_out(0, with_last(s.in(0), p.out_dim));
      })
      .types({DType::float32, DType::float64})
      .gradient_op("_backward_count_sketch", {head(0), input(1), input(2)});
  table.add_hidden<CountSketchParams>("_backward_count_sketch", {"grad", "h", "s"})
      .infer_shape([](const CountSketchParams& p, ShapeInfer& s) {
        check_vectors(s, s.in(0));
        if (s.in(0).ndim_known()) {
          s.set_in(0, with_last(s.in(0), p.out_dim));
          if (s.in(1).ndim() > 0) s.set_out(0, with_last(s.in(0), s.in(1)[s.in(1).ndim() - 1]));
        }
        sketch_shape(p, s, s.out(0), 1);
      })
      .types({DType::float32, DType::float64})
      .gradient_op("_contrib_count_sketch", {head(0), input(1), input(2)});
}

}  // namespace

void register_contrib_transforms(OpTable& table) {
  register_fourier(table);
  register_count_sketch(table);
  table.add<AddNParams>("khatri_rao")
      .doc("The Khatri-Rao product: each column is the Kronecker product of the matrices' columns there.")
      .variadic("args", "num_args", &AddNParams::num_args)
      .infer_shape([](const AddNParams&, ShapeInfer& s) {
        int64_t rows = 1, columns = kUnknownDim;
        for (int i = 0; i < s.num_in(); ++i) {
          s.expect(i, s.in(i).ndim() == 2, "a matrix");
          if (!s.in(i).ndim_known() || s.in(i)[0] < 0) rows = kUnknownDim;
          else if (rows >= 0) rows *= s.in(i)[0];
          if (s.in(i).ndim_known() && s.in(i)[1] >= 0) columns = s.in(i)[1];
        }
        for (int i = 0; i < s.num_in(); ++i) s.set_in(i, Shape{kUnknownDim, columns});
        s.set_out(0, Shape{rows, columns});
      })
      .types(kFloatingTypes);
}

}  // namespace loomix::ops
