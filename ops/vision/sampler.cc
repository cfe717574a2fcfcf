// SPDX-License-Identifier: Apache-2.0
// GridGenerator, BilinearSampler and SpatialTransformer. A grid (N, 2, height, width) says for each element of the output
// where in the data it comes from: x, then y, from -1 (the first element) to 1 (the last one).
#include <fmt/format.h>

#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/grad_shape.h"
#include "ops/table.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

using Grid = GridGeneratorParams;
using Sampler = BilinearSamplerParams;
using Transformer = SpatialTransformerParams;

void check_target(const Shape& target, const char* who) {
  LOOMIX_CHECK(target.ndim() == 2 && target[0] > 0 && target[1] > 0, ValueError,
               "[{}] target_shape is {}; expected two positive numbers.", who, tuple_text(target));
}

void grid_shape(const Grid& p, ShapeInfer& s) {
  if (p.transform_type == Transform::affine) {
    check_target(p.target_shape, s.who());
    s.has_axes(0, 2, "2 axes");
    s.set_in(0, Shape{kUnknownDim, 6});
    s.set_out(0, Shape{s.in(0)[0], 2, p.target_shape[0], p.target_shape[1]});
    s.set_in(0, Shape{s.out(0)[0], 6});
    return;
  }
  s.unify_all();
  s.has_axes(0, 4, "4 axes");
  if (!s.in(0).is_known()) return;
  const Shape& data = s.in(0);
  LOOMIX_CHECK(data[1] == 2 && data[2] > 1 && data[3] > 1, ShapeError,
               "[{}] data has shape {}; a flow is (batch, 2, height, width), of at least 2 by 2.", s.who(),
               data.to_string());
  const bool given = p.target_shape.ndim() > 0 && !(p.target_shape == Shape{0, 0});
  LOOMIX_CHECK(!given || p.target_shape == Shape({data[2], data[3]}), ShapeError,
               "[{}] target_shape is {}, but a flow of shape {} gives a grid of its own size.", s.who(),
               tuple_text(p.target_shape), data.to_string());
}

void sampler_shape(const Sampler&, ShapeInfer& s) {
  s.has_axes(0, 4, "4 axes");
  s.has_axes(1, 4, "4 axes");
  if (s.out(0).ndim() == 4) s.set_in(1, Shape{s.out(0)[0], 2, s.out(0)[2], s.out(0)[3]});
  if (s.in(1).ndim_known() && s.in(0).ndim_known())
    s.set_in(1, Shape{s.in(0)[0], 2, kUnknownDim, kUnknownDim});
  if (!s.in(0).is_known() || !s.in(1).is_known()) return;
  LOOMIX_CHECK(s.in(0)[2] > 0 && s.in(0)[3] > 0, ShapeError,
               "[{}] data has shape {}; there is nothing to sample.", s.who(), s.in(0).to_string());
  s.set_out(0, Shape{s.in(0)[0], s.in(0)[1], s.in(1)[2], s.in(1)[3]});
}

// (grad, data, grid): the output is like input `like`.
template <int like>
void sampler_backward_shape(const Sampler& p, ShapeInfer& s) {
  s.set_out(0, s.in(like));
  s.set_in(like, s.out(0));
  grad_like_output(p, s, sampler_shape);
}

void transformer_shape(const Transformer& p, ShapeInfer& s) {
  check_target(p.target_shape, s.who());
  s.has_axes(0, 4, "4 axes");
  if (!s.in(0).ndim_known()) return;
  s.has_axes(1, 2, "2 axes");
  s.set_in(1, Shape{s.in(0)[0], 6});
  const Shape& data = s.in(0);
  LOOMIX_CHECK(data[2] != 0 && data[3] != 0, ShapeError,
               "[{}] data has shape {}; there is nothing to sample.", s.who(), data.to_string());
  s.set_out(0, Shape{data[0], data[1], p.target_shape[0], p.target_shape[1]});
}

GradValue sampler_gradient(GradBuilder& g, const char* op, GradValue data, GradValue grid) {
  return g.call1(op, {g.grad_of(0), data, grid});
}
constexpr const char* kToData = "_backward_BilinearSampler_data";
constexpr const char* kToGrid = "_backward_BilinearSampler_grid";

void transformer_gradient(const Transformer& p, GradBuilder& g) {
  const TextPairs attrs = {{"transform_type", "affine"}, {"target_shape", tuple_text(p.target_shape)}};
  const GradValue grid = g.call1("GridGenerator", {g.in(1)}, attrs);
  if (g.wants(0)) g.set(0, sampler_gradient(g, kToData, g.in(0), grid));
  if (!g.wants(1)) return;
  const GradValue of_grid = sampler_gradient(g, kToGrid, g.in(0), grid);
  g.set(1, g.call1("_backward_GridGenerator", {of_grid}, attrs));
}

template <int like>
void add_sampler_backward(OpTable& table, const char* name) {
  table.add_hidden<Sampler>(name, {"grad", "data", "grid"})
      .infer_shape(sampler_backward_shape<like>)
      .types(kFloatingTypes)
      .element_cost(5);
}

}  // namespace

void GridGeneratorParams::fields(FieldList<GridGeneratorParams>& f) {
  f("transform_type", &Grid::transform_type,
    "Data is the six numbers of a transformation, or a flow in elements.")
      .options({{"affine", Transform::affine}, {"warp", Transform::warp}})
      .required("affine");
  f("target_shape", &Grid::target_shape, "Height and width of the grid of a transformation.");
}

void SpatialTransformerParams::fields(FieldList<SpatialTransformerParams>& f) {
  f("target_shape", &Transformer::target_shape, "Height and width of the output.");
  f("transform_type", &Transformer::transform_type, "The kind of transformation.")
      .options({{"affine", AffineOnly::affine}})
      .required("affine");
  f("sampler_type", &Transformer::sampler_type, "How elements are read between others.")
      .options({{"bilinear", BilinearOnly::bilinear}})
      .required("bilinear");
  f("cudnn_off", &Transformer::cudnn_off, "Has no effect.");
}

void register_sampler(OpTable& table) {
  table.add<Grid>("GridGenerator", {"data"})
      .doc("Makes a grid for BilinearSampler from an affine transformation or a flow.")
      .infer_shape(grid_shape)
      .types(kFloatingTypes)
      .gradient_op("_backward_GridGenerator", {head(0)});
  table.add_hidden<Grid>("_backward_GridGenerator", {"grad"})
      .infer_shape([](const Grid& p, ShapeInfer& s) {
        if (!s.in(0).is_known()) return;
        s.set_out(0, p.transform_type == Transform::affine ? Shape{s.in(0)[0], 6} : s.in(0));
      })
      .types(kFloatingTypes);
  table.add<Sampler>("BilinearSampler", {"data", "grid"})
      .doc(
          "Reads data where a grid says, as weighted means of the four elements around; outside of it there "
          "are zeros.")
      .infer_shape(sampler_shape)
      .types(kFloatingTypes)
      .element_cost(3)
      .gradient([](const Sampler&, GradBuilder& g) {
        if (g.wants(0)) g.set(0, sampler_gradient(g, kToData, g.in(0), g.in(1)));
        if (g.wants(1)) g.set(1, sampler_gradient(g, kToGrid, g.in(0), g.in(1)));
      });
  add_sampler_backward<1>(table, kToData);
  add_sampler_backward<2>(table, kToGrid);
  table.add<Transformer>("SpatialTransformer", {"data", "loc"})
      .doc("Moves images by affine transformations.")
      .infer_shape(transformer_shape)
      .types(kFloatingTypes)
      .element_cost(4)
      .gradient(transformer_gradient);
}

}  // namespace loomix::ops
