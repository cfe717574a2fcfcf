// SPDX-License-Identifier: Apache-2.0
// Regions of images: each row of `rois` is the number of an image and a box.
#include "ops/detection/roi.h"

#include <cmath>

#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/grad_shape.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

void check_inputs(ShapeInfer& s, int numbers) {
  const Shape& data = s.in(0);
  s.expect(0, data.ndim() == 4, "4 axes");
  LOOMIX_CHECK(!data.is_known() || (data[2] > 0 && data[3] > 0), ShapeError,
               "[{}] data has shape {}; its images have no elements.", s.who(), data.to_string());
  s.set_in(1, Shape{kUnknownDim, numbers});
}

void check_size(const Shape& size, const char* who) {
  LOOMIX_CHECK(size.ndim() == 2 && size[0] > 0 && size[1] > 0, ValueError,
               "[{}] pooled_size is {}; expected two positive numbers.", who, tuple_text(size));
}

template <class P>
void pooled_shape(const P& p, ShapeInfer& s, int numbers, int64_t divisor) {
  check_size(p.pooled_size, s.who());
  check_inputs(s, numbers);
  if (!s.in(0).is_known()) return;
  LOOMIX_CHECK(s.in(0)[1] % divisor == 0, ShapeError,
               "[{}] data has shape {}; its channels are no multiple of the {} places of pooled_size {}.",
               s.who(), s.in(0).to_string(), divisor, tuple_text(p.pooled_size));
  s.set_out(0, Shape{s.in(1)[0], s.in(0)[1] / divisor, p.pooled_size[0], p.pooled_size[1]});
}

void roi_pooling_shape(const ROIPoolingParams& p, ShapeInfer& s) { pooled_shape(p, s, 5, 1); }
void rroi_align_shape(const RROIAlignParams& p, ShapeInfer& s) { pooled_shape(p, s, 6, 1); }
void roi_align_shape(const ROIAlignParams& p, ShapeInfer& s) {
  check_size(p.pooled_size, s.who());
  pooled_shape(p, s, 5, p.position_sensitive ? p.pooled_size.size() : 1);
}

void psroi_shape(const PSROIPoolingParams& p, ShapeInfer& s) {
  check_inputs(s, 5);
  s.set_in(0, Shape{kUnknownDim, int64_t{p.output_dim} * p.groups() * p.groups(), kUnknownDim, kUnknownDim});
  s.set_out(0, Shape{s.in(1)[0], p.output_dim, p.pooled_size, p.pooled_size});
}

// (grad, data, rois): the shape of data; `rule` is the forward one.
template <class P, void (*rule)(const P&, ShapeInfer&)>
void like_data(const P& p, ShapeInfer& s) {
  s.tie({1});
  grad_like_output(p, s, rule, 2);
  if (s.num_in() > 3) s.set_in(3, s.in(0));  // of what was saved
}

// Pooling over regions, and its gradient to the data, which is an operator of (grad, data's shape, rois).
template <class P, void (*shape)(const P&, ShapeInfer&)>
void add(OpTable& table, const std::string& name, const char* doc) {
  const std::string backward = "_backward_" + name;
  table.add<P>(name, {"data", "rois"})
      .doc(doc)
      .infer_shape(shape)
      .types(kFloatingTypes)
      .element_cost(40)
      .gradient_op(backward, {head(0), input(0), input(1)});
  table.add_hidden<P>(backward, {"grad", "data", "rois"})
      .shape_only(1)
      .infer_shape(like_data<P, shape>)
      .types(kFloatingTypes)
      .element_cost(20);
}

constexpr const char* kPooledSize = "Height and width of the output.";
constexpr const char* kScale = "Size of the data divided by that of the image in which the boxes are.";

}  // namespace

void ROIPoolingParams::fields(FieldList<ROIPoolingParams>& f) {
  f("pooled_size", &ROIPoolingParams::pooled_size, kPooledSize).required("(2, 2)");
  f("spatial_scale", &ROIPoolingParams::spatial_scale, kScale).required("1").above(0);
}

void ROIAlignParams::fields(FieldList<ROIAlignParams>& f) {
  f("pooled_size", &ROIAlignParams::pooled_size, kPooledSize).required("(2, 2)");
  f("spatial_scale", &ROIAlignParams::spatial_scale, kScale).required("1").above(0);
  f("sample_ratio", &ROIAlignParams::sample_ratio,
    "Points along each axis of a place of the output; by default one an element of data.");
  f("position_sensitive", &ROIAlignParams::position_sensitive, "Reads a channel of its own for each place.");
  f("aligned", &ROIAlignParams::aligned,
    "Takes coordinates as those of elements' centres, half an element off.");
}

void RROIAlignParams::fields(FieldList<RROIAlignParams>& f) {
  f("pooled_size", &RROIAlignParams::pooled_size, kPooledSize).required("(2, 2)");
  f("spatial_scale", &RROIAlignParams::spatial_scale, kScale).required("1").above(0);
  f("sampling_ratio", &RROIAlignParams::sampling_ratio,
    "Points along each axis of a place of the output; by default one an element of data.");
}

void PSROIPoolingParams::fields(FieldList<PSROIPoolingParams>& f) {
  using P = PSROIPoolingParams;
  f("spatial_scale", &P::spatial_scale, kScale).required("1").above(0);
  f("output_dim", &P::output_dim, "Channels of the output.").required("1").at_least(1);
  f("pooled_size", &P::pooled_size, "Height and width of the output.").required("1").at_least(1);
  f("group_size", &P::group_size, "Groups of channels along each axis; 0: as pooled_size.").at_least(0);
}

void register_roi(OpTable& table) {
  table.add<ROIPoolingParams>("ROIPooling", {"data", "rois"})
      .doc("The maximum of each part of boxes in images.")
      .saved({"index"},
             [](const ROIPoolingParams&, const KernelSpec& spec, int) {
               return TensorView{nullptr, DType::int32, spec.out[0].shape};
             })
      .infer_shape(roi_pooling_shape)
      .types(kFloatingTypes)
      .element_cost(40)
      .gradient_op("_backward_ROIPooling", {head(0), input(0), input(1), saved(0)});
  table.add_hidden<ROIPoolingParams>("_backward_ROIPooling", {"grad", "data", "rois", "index"})
      .shape_only(1)
      .infer_shape(like_data<ROIPoolingParams, roi_pooling_shape>)
      .infer_type([](const ROIPoolingParams&, TypeInfer& t) {
        t.tie({0});
        for (int i = 1; i < 3; ++i) t.set_in(i, t.in(0));
        t.set_in(3, DType::int32);
      })
      .types(kFloatingTypes)
      .input_types(3, {DType::int32})
      .element_cost(5);
  add<ROIAlignParams, roi_align_shape>(table, "_contrib_ROIAlign",
                                       "Averages points, read between elements, of each part of boxes.");
  add<RROIAlignParams, rroi_align_shape>(table, "_contrib_RROIAlign",
                                         "ROIAlign for turned boxes: centre, width, height, and degrees.");
  add<PSROIPoolingParams, psroi_shape>(
      table, "_contrib_PSROIPooling",
      "Averages each part of boxes, in a group of channels of the part's own.");
}

void check_rois(const TensorView& rois, int64_t batch, const char* who) {
  const int64_t numbers = rois.shape[1];
  dispatch_floating(rois.dtype, who, [&]<class T>(Type<T>) {
    const T* const values = rois.as<T>();
    for (int64_t i = 0; i < rois.size(); ++i) {
      const auto value = static_cast<double>(values[i]);
      LOOMIX_CHECK(std::abs(value) < kMostRegionNumber, ValueError,
                   "[{}] region {} has the number {}; expected smaller ones.", who, i / numbers, value);
      LOOMIX_CHECK(i % numbers != 0 || value < static_cast<double>(batch), IndexError,
                   "[{}] region {} is of image {}; there are {}.", who, i / numbers, value, batch);
    }
  });
}

}  // namespace loomix::ops
