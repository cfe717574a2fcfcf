// SPDX-License-Identifier: Apache-2.0
#include "io/image_ops/image_ops.h"

#include <algorithm>

#include "base/error.h"
#include "base/tuple_text.h"

namespace loomix::io {
namespace {

using ops::GradBuilder;
using ops::GradValue;
using ops::KernelSpec;
using ops::OpTable;
using ops::ShapeInfer;
using ops::TypeInfer;

constexpr DeviceType kCpu = DeviceType::cpu;

const Shape& picture(ShapeInfer& s) {
  const Shape& shape = s.in(0);
  LOOMIX_CHECK(shape.ndim() == 3 || shape.ndim() == 4, ShapeError,
               "[{}] the data has shape {}; expected (H, W, C) or (N, H, W, C).", s.who(), shape.to_string());
  return shape;
}

// The shape of the data with other height and width.
void set_size(ShapeInfer& s, int64_t height, int64_t width) {
  Shape out = picture(s);
  out[out.ndim() - 3] = height;
  out[out.ndim() - 2] = width;
  s.set_out(0, out);
}

template <class P>
uint64_t few_numbers(const P&, const KernelSpec&) {
  return 64;
}

template <class P>
void infer_any(const P&, ShapeInfer& s) {
  if (s.in(0).ndim_known()) picture(s);
  s.unify_all();
}

template <class P, void (*Run)(const P&, const KernelArgs&)>
ops::OpBuilder<P> add_same(OpTable& table, const char* name, const char* doc) {
  auto op = table.add<P>(name, {"data"});
  op.doc(doc).infer_shape(infer_any<P>).element_cost(4);
  table.kernel<Run>(name, name);
  return op;
}

template <class P, void (*Run)(const P&, const KernelArgs&)>
ops::OpBuilder<P> add_random(OpTable& table, const char* name, const char* doc) {
  return add_same<P, Run>(table, name, doc).uses_rng(few_numbers<P>);
}

// Of operators that add something to the data.
template <class P>
void pass_gradient(const P&, GradBuilder& g) {
  g.set(0, g.grad_of(0));
}

void infer_to_tensor(const NoParams&, ShapeInfer& s) {
  if (!s.in(0).ndim_known()) return;
  const Shape& in = picture(s);
  Shape out = in;
  const int first = in.ndim() - 3;
  out[first] = in[first + 2];
  out[first + 1] = in[first];
  out[first + 2] = in[first + 1];
  s.set_out(0, out);
}

void infer_planes(const NormalizeOpParams& p, ShapeInfer& s) {
  s.unify_all();
  if (!s.in(0).ndim_known()) return;
  const Shape& shape = s.in(0);
  LOOMIX_CHECK(shape.ndim() == 3 || shape.ndim() == 4, ShapeError,
               "[{}] the data has shape {}; expected (C, H, W) or (N, C, H, W).", s.who(), shape.to_string());
  const int64_t channels = shape[shape.ndim() - 3];
  for (const auto* list : {&p.mean, &p.std}) {
    LOOMIX_CHECK(!list->empty() && (list->size() == 1 || channels < 0 || int64_t(list->size()) >= channels),
                 ShapeError,
                 "[{}] mean and std have {} and {} numbers; expected one, or one a channel of {}.", s.who(),
                 p.mean.size(), p.std.size(), channels);
  }
}

void infer_crop(const CropParams& p, ShapeInfer& s) {
  if (!s.in(0).ndim_known()) return;
  const Shape& in = picture(s);
  const int64_t height = in[in.ndim() - 3], width = in[in.ndim() - 2];
  LOOMIX_CHECK(
      (height < 0 || int64_t{p.y} + p.height <= height) && (width < 0 || int64_t{p.x} + p.width <= width),
      ValueError, "[{}] rows {} to {} and columns {} to {} do not lie in data of shape {}.", s.who(), p.y,
      int64_t{p.y} + p.height, p.x, int64_t{p.x} + p.width, in.to_string());
  set_size(s, p.height, p.width);
}

void register_normalize(OpTable& table) {
  using P = NormalizeOpParams;
  table.add<P>("_image_normalize", {"data"})
      .doc("Subtracts a mean from each channel of (C, H, W) or (N, C, H, W) and divides by a deviation.")
      .infer_shape(infer_planes)
      .inplace(0, 0)
      .gradient_op("_backward_image_normalize", {ops::head(0)});
  table.kernel<normalize_cpu>("_image_normalize", "normalize_cpu");
  table.add_hidden<P>("_backward_image_normalize", {"grad"}).one_shape();
  table.kernel<normalize_backward_cpu>("_backward_image_normalize", "normalize_backward_cpu");
}

void register_crop(OpTable& table) {
  using P = CropParams;
  table.add<P>("_image_crop", {"data"})
      .doc("A part of the images.")
      .infer_shape(infer_crop)
      .gradient_op("_backward_image_crop", {ops::head(0), ops::input(0)});
  table.kernel<crop_cpu>("_image_crop", "crop_cpu");
  table.add_hidden<P>("_backward_image_crop", {"grad", "data"}).shape_of(1);
  table.kernel<crop_backward_cpu>("_backward_image_crop", "crop_backward_cpu");
}

void register_geometry(OpTable& table) {
  table.add<CvResizeParams>("_cvimresize", {"src"})
      .doc("Resizes an image as OpenCV does.")
      .infer_shape([](const CvResizeParams& p, ShapeInfer& s) {
        if (s.in(0).ndim_known()) set_size(s, p.h, p.w);
      })
      .element_cost(10)
      .no_symbol();
  table.kernel<cv_resize_cpu>("_cvimresize", "cv_resize_cpu");
  table.add<BorderParams>("_cvcopyMakeBorder", {"src"})
      .doc("Adds a margin to an image.")
      .infer_shape([](const BorderParams& p, ShapeInfer& s) {
        if (!s.in(0).ndim_known()) return;
        const Shape& in = picture(s);
        const int64_t height = in[in.ndim() - 3], width = in[in.ndim() - 2];
        if (height >= 0 && width >= 0) {
          set_size(s, height + p.top + p.bot, width + p.left + p.right);
        }
      })
      .element_cost(2)
      .no_symbol();
  table.kernel<border_cpu>("_cvcopyMakeBorder", "border_cpu");
  table.add<ResizeParams>("_image_resize", {"data"})
      .doc("Resizes images.")
      .infer_shape([](const ResizeParams& p, ShapeInfer& s) {
        if (!s.in(0).ndim_known()) return;
        const Shape& in = picture(s);
        const int64_t height = in[in.ndim() - 3], width = in[in.ndim() - 2];
        if (height < 0 || width < 0) return;
        const auto [new_width, new_height] = resized(p, height, width, s.who());
        set_size(s, new_height, new_width);
      })
      .element_cost(10);
  table.kernel<resize_cpu>("_image_resize", "resize_cpu");
}

}  // namespace

std::pair<int64_t, int64_t> resized(const ResizeParams& p, int64_t height, int64_t width, const char* who) {
  constexpr int64_t kMaxSide = 1 << 20;
  const int count = p.size.ndim();
  LOOMIX_CHECK((count == 1 || count == 2) && p.size[0] > 0 && p.size[count - 1] > 0 &&
                   p.size[0] <= kMaxSide && p.size[count - 1] <= kMaxSide,
               ValueError, "[{}] size is {}; expected (width, height) or one positive number.", who,
               tuple_text(p.size));
  if (count == 2) return {p.size[0], p.size[1]};
  const int64_t size = p.size[0];
  if (!p.keep_ratio) return {size, size};
  if (height > width) return {size, std::max<int64_t>(1, height * size / std::max<int64_t>(width, 1))};
  return {std::max<int64_t>(1, width * size / std::max<int64_t>(height, 1)), size};
}

void register_image_ops(OpTable& table) {
  register_decode(table);
  using Kind = ColourChange;
  table.add<NoParams>("_image_to_tensor", {"data"})
      .doc("From bytes (H, W, C) to floats (C, H, W) between 0 and 1; also for batches.")
      .infer_shape(infer_to_tensor)
      .infer_type([](const NoParams&, TypeInfer& t) { t.set_out(0, DType::float32); });
  table.kernel<to_tensor_cpu>("_image_to_tensor", "to_tensor_cpu");
  register_normalize(table);
  register_crop(table);
  register_geometry(table);
  add_same<NoParams, flip_cpu<false, false>>(table, "_image_flip_left_right", "Mirrors images.")
      .gradient([](const NoParams&, GradBuilder& g) {
        g.set(0, g.call1("_image_flip_left_right", {g.grad_of(0)}));
      });
  add_same<NoParams, flip_cpu<true, false>>(table, "_image_flip_top_bottom", "Turns images upside down.")
      .gradient([](const NoParams&, GradBuilder& g) {
        g.set(0, g.call1("_image_flip_top_bottom", {g.grad_of(0)}));
      });
  add_random<NoParams, flip_cpu<false, true>>(table, "_image_random_flip_left_right",
                                              "Mirrors with probability 1/2.");
  add_random<NoParams, flip_cpu<true, true>>(table, "_image_random_flip_top_bottom",
                                             "Turns upside down with probability 1/2.");
  add_random<FactorParams, random_colour_cpu<Kind::brightness>>(
      table, "_image_random_brightness", "Multiplies values by a factor between min_factor and max_factor.");
  add_random<FactorParams, random_colour_cpu<Kind::contrast>>(
      table, "_image_random_contrast",
      "Moves values from their mean grey by a factor between min_factor and max_factor.");
  add_random<FactorParams, random_colour_cpu<Kind::saturation>>(
      table, "_image_random_saturation",
      "Moves colours from grey by a factor between min_factor and max_factor.");
  add_random<FactorParams, random_colour_cpu<Kind::hue>>(
      table, "_image_random_hue",
      "Turns the hue by a random part of the circle between min_factor and max_factor; 1 is a whole turn.");
  add_random<JitterParams, jitter_cpu>(table, "_image_random_color_jitter",
                                       "Changes brightness, contrast, saturation and hue, in random order.");
  add_same<LightingParams, lighting_cpu>(
      table, "_image_adjust_lighting", "Adds principal components of ImageNet's colours, weighted by alpha.")
      .gradient(pass_gradient<LightingParams>);
  add_random<RandomLightingParams, random_lighting_cpu>(
      table, "_image_random_lighting", "Adds principal components of ImageNet's colours with normal weights.")
      .gradient(pass_gradient<RandomLightingParams>);
}

}  // namespace loomix::io
