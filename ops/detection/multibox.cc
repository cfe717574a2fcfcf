// SPDX-License-Identifier: Apache-2.0
// The boxes of single-shot detectors; coordinates are parts of the image, from 0 to 1.
#include "ops/detection/multibox.h"

#include "base/error.h"
#include "ops/table.h"

namespace loomix::ops {

void check_positive(const std::vector<float>& list, const char* name, const char* who) {
  for (const float number : list) {
    LOOMIX_CHECK(number > 0, ValueError, "[{}] {} has the number {}; expected positive ones.", who, name,
                 number);
  }
}

namespace {

using Prior = MultiBoxPriorParams;
using Target = MultiBoxTargetParams;
using Detection = MultiBoxDetectionParams;

void check_count(const std::vector<float>& list, size_t count, const char* name, const char* who) {
  LOOMIX_CHECK(list.size() == count, ValueError, "[{}] {} has {} numbers; expected {}.", who, name,
               list.size(), count);
}

void check_variances(const std::vector<float>& variances, const char* who) {
  check_count(variances, 4, "variances", who);
  check_positive(variances, "variances", who);
}

void prior_shape(const Prior& p, ShapeInfer& s) {
  LOOMIX_CHECK(!p.sizes.empty() && !p.ratios.empty(), ValueError,
               "[{}] sizes or ratios is empty; expected at least one number each.", s.who());
  check_positive(p.ratios, "ratios", s.who());
  check_count(p.steps, 2, "steps", s.who());
  check_count(p.offsets, 2, "offsets", s.who());
  LOOMIX_CHECK((p.steps[0] > 0) == (p.steps[1] > 0), ValueError,
               "[{}] steps is ({}, {}); expected two positive numbers, or none.", s.who(), p.steps[0],
               p.steps[1]);
  const Shape& data = s.in(0);
  if (!data.ndim_known()) return;
  s.expect(0, data.ndim() >= 4, "4 axes");
  if (data[2] < 0 || data[3] < 0) return;
  const auto kinds = static_cast<int64_t>(p.sizes.size() + p.ratios.size()) - 1;
  s.set_out(0, Shape{1, data[2] * data[3] * kinds, 4});
}

void target_shape(const Target& p, ShapeInfer& s) {
  check_variances(p.variances, s.who());
  s.set_in(0, Shape{1, kUnknownDim, 4});
  const Shape& label = s.in(1);
  const Shape& scores = s.in(2);
  s.expect(1, label.ndim() == 3 && (label[2] < 0 || label[2] >= 5), "(batch, boxes, 5 or more)");
  s.expect(2, scores.ndim() == 3 && scores[1] != 0, "(batch, classes, anchors)");
  const int64_t anchors = s.in(0)[1];
  if (label.ndim_known()) s.set_in(2, Shape{label[0], kUnknownDim, anchors});
  if (!s.in(2).ndim_known() || anchors < 0) return;
  const int64_t batch = s.in(2)[0];
  for (int i = 0; i < 2; ++i) s.set_out(i, Shape{batch, anchors * 4});
  s.set_out(2, Shape{batch, anchors});
}

void detection_shape(const Detection& p, ShapeInfer& s) {
  check_variances(p.variances, s.who());
  s.set_in(2, Shape{1, kUnknownDim, 4});
  const Shape& scores = s.in(0);
  s.expect(0, scores.ndim() == 3 && scores[1] != 0, "(batch, classes, anchors)");
  if (!scores.ndim_known()) return;
  LOOMIX_CHECK(p.background_id < scores[1] || scores[1] < 0, ValueError,
               "[{}] background_id is {}; there are {} classes.", s.who(), p.background_id, scores[1]);
  s.set_in(2, Shape{1, scores[2], 4});
  const int64_t anchors = s.in(2)[1];
  s.set_in(0, Shape{kUnknownDim, kUnknownDim, anchors});
  s.set_in(1, Shape{scores[0], anchors < 0 ? kUnknownDim : anchors * 4});
  s.set_out(0, Shape{scores[0], anchors, 6});
}

}  // namespace

void MultiBoxPriorParams::fields(FieldList<MultiBoxPriorParams>& f) {
  f("sizes", &Prior::sizes, "Sides of the boxes, as parts of the image's height.");
  f("ratios", &Prior::ratios, "Widths divided by heights; those after the first are for the first size.");
  f("clip", &Prior::clip, "Cuts off what lies outside of the image.");
  f("steps", &Prior::steps,
    "Distance of the places, vertically and across; by default they share the image evenly.");
  f("offsets", &Prior::offsets, "Where in a place the boxes' centre is, vertically and across.");
}

void MultiBoxTargetParams::fields(FieldList<MultiBoxTargetParams>& f) {
  f("overlap_threshold", &Target::overlap_threshold,
    "Anchors that overlap a box by more are matched with it.");
  f("ignore_label", &Target::ignore_label, "Class of the anchors that do not count.");
  f("negative_mining_ratio", &Target::negative_mining_ratio,
    "How many anchors of the background count for each that is matched; all if not positive.");
  f("negative_mining_thresh", &Target::negative_mining_thresh,
    "Anchors that overlap a box by as much are not taken for background.");
  f("minimum_negative_samples", &Target::minimum_negative_samples, "The fewest anchors of the background.");
  f("variances", &Target::variances, "What the four distances are divided by.");
}

void MultiBoxDetectionParams::fields(FieldList<MultiBoxDetectionParams>& f) {
  f("clip", &Detection::clip, "Cuts off what lies outside of the image.");
  f("threshold", &Detection::threshold, "Boxes with lower scores are taken out.");
  f("background_id", &Detection::background_id, "The class that is no detection; -1: none.");
  f("nms_threshold", &Detection::nms_threshold,
    "Boxes that overlap a better one as much are taken out; outside of (0, 1] none are, and none are "
    "sorted.");
  f("force_suppress", &Detection::force_suppress, "Also compares boxes of different classes.");
  f("variances", &Detection::variances, "What the four distances are multiplied by.");
  f("nms_topk", &Detection::nms_topk, "How many of the best boxes are looked at; -1: all.");
}

void register_multibox(OpTable& table) {
  table.add<Prior>("_contrib_MultiBoxPrior", {"data"})
      .doc("Anchors: boxes of some sizes and ratios about each element of an image.")
      .shape_only(0)
      .infer_shape(prior_shape)
      .types(kFloatingTypes)
      .element_cost(3)
      .zero_gradient();
  table.add<Target>("_contrib_MultiBoxTarget", {"anchor", "label", "cls_pred"})
      .doc(
          "Matches anchors with labelled boxes: their distances, which of them count, and the anchors' "
          "classes.")
      .outputs({"loc_target", "loc_mask", "cls_target"})
      .infer_shape(target_shape)
      .types(kFloatingTypes)
      .element_cost(50)
      .zero_gradient();
  table.add<Detection>("_contrib_MultiBoxDetection", {"cls_prob", "loc_pred", "anchor"})
      .doc("Boxes that were found: class, score and corners of each, the best first; class -1: none.")
      .infer_shape(detection_shape)
      .types(kFloatingTypes)
      .element_cost(50)
      .zero_gradient();
}

}  // namespace loomix::ops
