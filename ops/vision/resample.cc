// SPDX-License-Identifier: Apache-2.0
// BilinearResize2D and AdaptiveAvgPooling2D.
#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/grad_shape.h"
#include "ops/table.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

using Resize = BilinearResizeParams;
using Pool = AdaptivePoolParams;

const Shape& check_image(ShapeInfer& s, int input) {
  const Shape& data = s.in(input);
  s.expect(input, data.ndim() == 4 && data[2] != 0 && data[3] != 0, "4 axes, and images with elements");
  return data;
}

int64_t scaled(const Resize& p, int64_t size, float scale) {
  const bool odd = p.mode == ResizeMode::odd_scale && size % 2 == 1;
  return static_cast<int64_t>(static_cast<float>(odd ? size - 1 : size) * scale) + (odd ? 1 : 0);
}

int64_t resized(const Resize& p, int64_t size, int given, const std::optional<float>& scale) {
  switch (p.mode) {
    case ResizeMode::size: return scale ? scaled(p, size, *scale) : given;
    case ResizeMode::odd_scale: return scaled(p, size, *scale);
    case ResizeMode::to_even_down: return size - size % 2;
    case ResizeMode::to_even_up: return size + size % 2;
    case ResizeMode::to_odd_down: return size - (size % 2 == 0 ? 1 : 0);
    case ResizeMode::to_odd_up: return size + (size % 2 == 0 ? 1 : 0);
    case ResizeMode::like: break;
  }
  return size;
}

void resize_shape(const Resize& p, ShapeInfer& s) {
  LOOMIX_CHECK(p.scale_height.has_value() == p.scale_width.has_value(), ValueError,
               "[{}] only one of scale_height and scale_width is given; expected both or none.", s.who());
  LOOMIX_CHECK(p.mode != ResizeMode::odd_scale || p.scale_height, ValueError,
               "[{}] mode 'odd_scale' needs scale_height and scale_width.", s.who());
  LOOMIX_CHECK(!p.scale_height || p.mode == ResizeMode::size || p.mode == ResizeMode::odd_scale, ValueError,
               "[{}] scale_height and scale_width are for the modes 'size' and 'odd_scale'.", s.who());
  if (!s.in(0).is_known()) return;
  Shape out = check_image(s, 0);
  if (p.mode == ResizeMode::like) {
    if (!s.in(1).is_known()) return;
    const Shape& like = check_image(s, 1);
    out[2] = like[2];
    out[3] = like[3];
  } else {
    out[2] = resized(p, out[2], p.height, p.scale_height);
    out[3] = resized(p, out[3], p.width, p.scale_width);
  }
  LOOMIX_CHECK(out[2] > 0 && out[3] > 0, ValueError,
               "[{}] height and width would be {} and {}, of data of shape {}; expected 1 or more.", s.who(),
               out[2], out[3], s.in(0).to_string());
  s.set_out(0, out);
}

void pool_shape(const Pool& p, ShapeInfer& s) {
  const Shape& size = p.output_size;
  LOOMIX_CHECK(size.ndim() <= 2, ValueError, "[{}] output_size is {}; expected one or two numbers, or none.",
               s.who(), tuple_text(size));
  for (int64_t item : size) {
    LOOMIX_CHECK(item > 0, ValueError, "[{}] output_size is {}; expected positive numbers.", s.who(),
                 tuple_text(size));
  }
  if (!s.in(0).is_known()) return;
  Shape out = check_image(s, 0);
  out[2] = size.ndim() > 0 ? size[0] : 1;
  out[3] = size.ndim() > 1 ? size[1] : out[2];
  s.set_out(0, out);
}

// Those of backward operators are for (grad, data), and give the shape of data.
void resize_backward_shape(const Resize& p, ShapeInfer& s) {
  s.tie({1});
  if (p.mode != ResizeMode::like) return grad_like_output(p, s, resize_shape);
  if (s.in(1).ndim() == 4) s.set_in(0, Shape{s.in(1)[0], s.in(1)[1], kUnknownDim, kUnknownDim});
}

void pool_backward_shape(const Pool& p, ShapeInfer& s) {
  s.tie({1});
  grad_like_output(p, s, pool_shape);
}

template <class P>
OpBuilder<P> add_backward(OpTable& table, const char* name, void (*shape)(const P&, ShapeInfer&)) {
  auto op = table.add_hidden<P>(name, {"grad", "data"});
  op.shape_only(1).infer_shape(shape).types(kFloatingTypes).element_cost(4);
  return op;
}

}  // namespace

void BilinearResizeParams::fields(FieldList<BilinearResizeParams>& f) {
  f("height", &Resize::height, "Height of the output, in mode 'size'.").at_least(1);
  f("width", &Resize::width, "Width of the output, in mode 'size'.").at_least(1);
  f("scale_height", &Resize::scale_height, "What the height is multiplied by, instead of `height`.").above(0);
  f("scale_width", &Resize::scale_width, "What the width is multiplied by, instead of `width`.").above(0);
  f("mode", &Resize::mode, "Where the output's size comes from.")
      .options({{"like", ResizeMode::like},
                {"odd_scale", ResizeMode::odd_scale},
                {"size", ResizeMode::size},
                {"to_even_down", ResizeMode::to_even_down},
                {"to_even_up", ResizeMode::to_even_up},
                {"to_odd_down", ResizeMode::to_odd_down},
                {"to_odd_up", ResizeMode::to_odd_up}});
  f("align_corners", &Resize::align_corners, "Whether the outermost elements stay where they are.");
}

void register_resample(OpTable& table) {
  table.add<Resize>("_contrib_BilinearResize2D", {"data", "like"})
      .doc("Changes the size of images; new elements are weighted means of the four around them.")
      .last_input_if([](const Resize& p) { return p.mode == ResizeMode::like; })
      .shape_only(1)
      .infer_shape(resize_shape)
      .types(kFloatingTypes)
      .element_cost(2)
      .gradient_op("_backward__contrib_BilinearResize2D", {head(0), input(0)});
  add_backward<Resize>(table, "_backward__contrib_BilinearResize2D", resize_backward_shape)
      .gradient([](const Resize& p, GradBuilder& g) {
        std::vector<GradValue> inputs = {g.grad_of(0)};
        if (p.mode == ResizeMode::like) inputs.push_back(g.in(0));
        g.set(0, g.call("_contrib_BilinearResize2D", inputs, g.attrs())[0]);
      });
  table.add<Pool>("_contrib_AdaptiveAvgPooling2D", {"data"})
      .doc("Averages windows that cover the image evenly, for an output of a given size.")
      .infer_shape(pool_shape)
      .types(kFloatingTypes)
      .element_cost(4)
      .gradient_op("_backward__contrib_AdaptiveAvgPooling2D", {head(0), input(0)});
  add_backward<Pool>(table, "_backward__contrib_AdaptiveAvgPooling2D", pool_backward_shape)
      .gradient_op("_contrib_AdaptiveAvgPooling2D", {head(0)});
}

}  // namespace loomix::ops
