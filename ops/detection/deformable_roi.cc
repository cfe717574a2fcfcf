// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/detection/roi.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using Params = DeformablePSROIPoolingParams;

// data, rois, (trans,) after `first` others.
void relate(const Params& p, ShapeInfer& s, int first) {
  const Shape& data = s.in(first);
  s.expect(first, data.ndim() == 4 && data[2] != 0 && data[3] != 0, "4 axes, and images with elements");
  s.set_in(first,
           Shape{kUnknownDim, int64_t{p.output_dim} * p.group_size * p.group_size, kUnknownDim, kUnknownDim});
  s.set_in(first + 1, Shape{kUnknownDim, 5});
  if (p.no_trans) return;
  s.set_in(first + 2, Shape{s.in(first + 1)[0], kUnknownDim, p.parts(), p.parts()});
  const int64_t moves = s.in(first + 2)[1];
  LOOMIX_CHECK(moves < 0 || (moves > 0 && moves % 2 == 0 && p.output_dim % (moves / 2) == 0), ShapeError,
               "[{}] trans has shape {}; expected two numbers along axis 1 for each class, of which "
               "output_dim {} is a multiple.",
               s.who(), s.in(first + 2).to_string(), p.output_dim);
}

}  // namespace

void DeformablePSROIPoolingParams::fields(FieldList<DeformablePSROIPoolingParams>& f) {
  f("spatial_scale", &Params::spatial_scale,
    "Size of the data divided by that of the image in which the boxes are.")
      .required("1")
      .above(0);
  f("output_dim", &Params::output_dim, "Channels of the output.").required("1").at_least(1);
  f("group_size", &Params::group_size, "Groups of channels along each axis.").required("1").at_least(1);
  f("pooled_size", &Params::pooled_size, "Height and width of the output.").required("1").at_least(1);
  f("part_size", &Params::part_size, "Height and width of `trans`; 0: as pooled_size.").at_least(0);
  f("sample_per_part", &Params::sample_per_part, "Points along each axis of a place of the output.")
      .at_least(1);
  f("trans_std", &Params::trans_std, "What `trans` is multiplied by.").at_least(0);
  f("no_trans", &Params::no_trans, "Leaves `trans` out.");
}

void register_deformable_roi(OpTable& table) {
  table.add<Params>("_contrib_DeformablePSROIPooling", {"data", "rois", "trans"})
      .doc("PSROIPooling of points, each part of a box moved by `trans`, in parts of the box.")
      .last_input_if([](const Params& p) { return !p.no_trans; })
      .infer_shape([](const Params& p, ShapeInfer& s) {
        relate(p, s, 0);
        s.set_out(0, Shape{s.in(1)[0], p.output_dim, p.pooled_size, p.pooled_size});
      })
      .types(kFloatingTypes)
      .element_cost(40)
      .gradient_op("_backward__contrib_DeformablePSROIPooling",
                   {head(0), input(0), input(1), input_if_any(2)}, {0, 2});
  table.add_hidden<Params>("_backward__contrib_DeformablePSROIPooling", {"grad", "data", "rois", "trans"})
      .last_input_if([](const Params& p) { return !p.no_trans; })
      .outputs({"data", "trans"})
      .num_outputs([](const Params& p) { return p.no_trans ? 1 : 2; })
      .infer_shape([](const Params& p, ShapeInfer& s) {
        relate(p, s, 1);
        s.set_in(0, Shape{s.in(2)[0], p.output_dim, p.pooled_size, p.pooled_size});
        s.set_out(0, s.in(1));
        if (!p.no_trans) s.set_out(1, s.in(3));
      })
      .types(kFloatingTypes)
      .element_cost(20);
}

}  // namespace loomix::ops
