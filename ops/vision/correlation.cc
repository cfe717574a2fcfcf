// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/grad_shape.h"
#include "ops/table.h"
#include "ops/vision/vision.h"

namespace loomix::ops {
namespace {

using Params = CorrelationParams;

void infer(const Params& p, ShapeInfer& s) {
  LOOMIX_CHECK(p.kernel_size % 2 == 1, ValueError, "[{}] kernel_size is {}; expected an odd number.", s.who(),
               p.kernel_size);
  s.tie({0, 1}, {});
  const Shape& data = s.in(0);
  s.expect(0, data.ndim() == 4, "4 axes");
  if (!data.is_known()) return;
  const CorrelationGeometry g(p, data);
  LOOMIX_CHECK(
      g.out[0] > 0 && g.out[1] > 0, ShapeError,
      "[{}] data of shape {} with pad_size {} has no room for kernel_size {} and max_displacement {}.",
      s.who(), data.to_string(), p.pad_size, p.kernel_size, p.max_displacement);
  s.set_out(0, Shape{data[0], g.displacements(), g.out[0], g.out[1]});
}

}  // namespace

void CorrelationParams::fields(FieldList<CorrelationParams>& f) {
  const char* const count = "int (non-negative)";
  f("kernel_size", &Params::kernel_size, "Side of the squares that are compared; odd.")
      .type(count)
      .at_least(1);
  f("max_displacement", &Params::max_displacement, "How far squares are moved.").type(count).at_least(0);
  f("stride1", &Params::stride1, "Distance of the squares of data1.").type(count).at_least(1);
  f("stride2", &Params::stride2, "Distance of the displacements.").type(count).at_least(1);
  f("pad_size", &Params::pad_size, "Zeros added at each side.").type(count).at_least(0);
  f("is_multiply", &Params::is_multiply, "Multiplies elements; else takes their absolute differences.");
}

CorrelationGeometry::CorrelationGeometry(const CorrelationParams& p, const Shape& data)
    : batch(data[0]), channels(data[1]), reach(p.max_displacement / p.stride2) {
  const int64_t border = p.max_displacement + (p.kernel_size - 1) / 2;
  for (int i = 0; i < 2; ++i) {
    in[i] = data[2 + i];
    padded[i] = in[i] + 2 * p.pad_size;
    const int64_t room = padded[i] - 2 * border;
    out[i] = room > 0 ? (room + p.stride1 - 1) / p.stride1 : 0;
  }
}

void register_correlation(OpTable& table) {
  table.add<Params>("Correlation", {"data1", "data2"})
      .doc(
          "Compares squares of one image with displaced squares of another: a channel for each displacement.")
      .infer_shape(infer)
      .types(kFloatingTypes)
      .element_cost(20)
      .gradient_op("_backward_Correlation", {head(0), input(0), input(1)}, {0, 1});
  table.add_hidden<Params>("_backward_Correlation", {"grad", "data1", "data2"})
      .outputs({"data1", "data2"})
      .infer_shape([](const Params& p, ShapeInfer& s) {
        for (int i = 0; i < 2; ++i) s.tie({i + 1}, {i});
        grad_like_output(p, s, infer);
      })
      .types(kFloatingTypes)
      .element_cost(40);
}

}  // namespace loomix::ops
