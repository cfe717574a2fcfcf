// SPDX-License-Identifier: Apache-2.0
// Crop, im2col and col2im: elements change their places.

#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/grad_shape.h"
#include "ops/table.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

void crop_shape(const CropParams& p, ShapeInfer& s) {
  LOOMIX_CHECK(p.num_args <= 2, ValueError,
               "[{}] num_args is {}; expected 1, or 2 with an array of the wanted size.", s.who(),
               p.num_args);
  for (int i = 0; i < s.num_in(); ++i) {
    s.expect(i, s.in(i).ndim() == 4, "4 axes");
    if (!s.in(i).is_known()) return;
  }
  Shape out = s.in(0);
  LOOMIX_CHECK(p.offset.ndim() == 2 && (p.num_args == 2 || p.h_w.ndim() == 2), ValueError,
               "[{}] offset is {}, h_w {}; expected two numbers each.", s.who(), tuple_text(p.offset),
               tuple_text(p.h_w));
  for (int i = 0; i < 2; ++i) {
    const int64_t size = p.num_args == 2 ? s.in(1)[2 + i] : p.h_w[i];
    const int64_t first = p.center_crop ? 0 : p.offset[i];
    LOOMIX_CHECK(size > 0 && first >= 0 && first + size <= out[2 + i], ShapeError,
                 "[{}] {} elements from {} on are not inside of axis {} of data of shape {}.", s.who(), size,
                 first, 2 + i, s.in(0).to_string());
    out[2 + i] = size;
  }
  s.set_out(0, out);
}

// (gradient, inputs ...): the gradient of the first input.
void crop_backward_shape(const CropParams& p, ShapeInfer& s) {
  s.tie({1});
  grad_like_output(p, s, crop_shape);
}

ConvolutionParams convolution_of(const UnfoldParams& p) {
  ConvolutionParams convolution;
  convolution.kernel = p.kernel;
  convolution.stride = p.stride;
  convolution.dilate = p.dilate;
  convolution.pad = p.pad;
  convolution.num_filter = 1;
  return convolution;
}

// The shape that an image of this shape has unfolded; unknown while it is.
Shape unfolded(const UnfoldParams& p, const Shape& image, const char* who) {
  check_window(convolution_of(p), who);
  if (!image.ndim_known()) return Shape::unknown();
  const int spatial = p.kernel.ndim();
  LOOMIX_CHECK(image.ndim() == spatial + 2, ShapeError,
               "[{}] the image has shape {}; expected {} axes for kernel {}.", who, image.to_string(),
               spatial + 2, tuple_text(p.kernel));
  if (!image.is_known()) return Shape::unknown();
  for (int i = 0; i < spatial; ++i) {
    const int64_t reach = value_or(p.dilate, i, 1) * (p.kernel[i] - 1) + 1;
    LOOMIX_CHECK(image[2 + i] + 2 * value_or(p.pad, i, 0) >= reach, ShapeError,
                 "[{}] kernel {} with dilate {} and pad {} is larger than the image of shape {}.", who,
                 tuple_text(p.kernel), tuple_text(p.dilate), tuple_text(p.pad), image.to_string());
  }
  const ConvGeometry g = p.geometry(image);
  return Shape{g.batch, g.depth(), g.out_size()};
}

void fold_shape(const FoldParams& p, ShapeInfer& s) {
  check_window(convolution_of(p), s.who());
  LOOMIX_CHECK(p.output_size.ndim() == p.kernel.ndim(), ValueError,
               "[{}] output_size is {}, kernel {}; expected as many numbers.", s.who(),
               tuple_text(p.output_size), tuple_text(p.kernel));
  for (int64_t size : p.output_size) {
    LOOMIX_CHECK(size > 0, ValueError, "[{}] output_size is {}; expected positive numbers.", s.who(),
                 tuple_text(p.output_size));
  }
  if (!s.in(0).is_known()) return;
  const Shape& data = s.in(0);
  LOOMIX_CHECK(data.ndim() == 3 && data[1] % p.kernel.size() == 0, ShapeError,
               "[{}] data has shape {}; expected (batch, channels times {}, windows).", s.who(),
               data.to_string(), p.kernel.size());
  Shape image{data[0], data[1] / p.kernel.size()};
  for (int64_t size : p.output_size) image.push_back(size);
  const Shape back = unfolded(p, image, s.who());
  LOOMIX_CHECK(back == data, ShapeError, "[{}] data has shape {}; windows of an image of shape {} give {}.",
               s.who(), data.to_string(), image.to_string(), back.to_string());
  s.set_out(0, image);
}

}  // namespace

void CropParams::fields(FieldList<CropParams>& f) {
  f("num_args", &CropParams::num_args, "1, or 2 where a second array gives height and width.")
      .required("1")
      .at_least(1);
  f("offset", &CropParams::offset, "First row and column that are kept.");
  f("h_w", &CropParams::h_w, "Height and width that are kept, if there is no second array.");
  f("center_crop", &CropParams::center_crop, "Keeps the middle, whatever `offset` is.");
}

ConvGeometry UnfoldParams::geometry(const Shape& image) const {
  return ConvGeometry(convolution_of(*this), image);
}

void register_unfold(OpTable& table) {
  table.add<CropParams>("Crop")
      .doc("Keeps a part of each image.")
      .variadic("data", "num_args", &CropParams::num_args)
      .infer_shape(crop_shape)
      .gradient([](const CropParams& p, GradBuilder& g) {
        std::vector<GradValue> inputs = {g.grad_of(0)};
        for (int i = 0; i < p.num_args; ++i) inputs.push_back(g.in(i));
        g.set(0, g.call("_backward_Crop", inputs, g.attrs())[0]);
      });
  table.add_hidden<CropParams>("_backward_Crop", {"grad", "data"})
      .shape_only(1)
      .num_inputs([](const CropParams& p) { return p.num_args + 1; })
      .infer_shape(crop_backward_shape)
      .gradient([](const CropParams& p, GradBuilder& g) {
        std::vector<GradValue> inputs = {g.grad_of(0)};
        if (p.num_args == 2) inputs.push_back(g.in(2));
        g.set(0, g.call("Crop", inputs, g.attrs())[0]);
      });
  table.add<UnfoldParams>("im2col", {"data"})
      .doc("Lays out the elements under each place of a window as a column.")
      .infer_shape([](const UnfoldParams& p, ShapeInfer& s) { s.set_out(0, unfolded(p, s.in(0), s.who())); })
      .gradient_op("_backward_im2col", {head(0), input(0)});
  table.add_hidden<UnfoldParams>("_backward_im2col", {"grad", "data"})
      .shape_only(1)
      .infer_shape([](const UnfoldParams& p, ShapeInfer& s) {
        s.tie({1});
        s.set_in(0, unfolded(p, s.in(1), s.who()));
      })
      .types(kFloatingTypes)
      .gradient_op("im2col", {head(0)});
  table.add<FoldParams>("col2im", {"data"})
      .doc("Adds the columns of im2col up where they came from.")
      .infer_shape(fold_shape)
      .types(kFloatingTypes)
      .gradient([](const FoldParams& p, GradBuilder& g) {
        TextPairs attrs{{"kernel", tuple_text(p.kernel)}};
        if (p.stride.ndim() > 0) attrs.emplace_back("stride", tuple_text(p.stride));
        if (p.dilate.ndim() > 0) attrs.emplace_back("dilate", tuple_text(p.dilate));
        if (p.pad.ndim() > 0) attrs.emplace_back("pad", tuple_text(p.pad));
        g.set(0, g.call1("im2col", {g.grad_of(0)}, attrs));
      });
}

}  // namespace loomix::ops
