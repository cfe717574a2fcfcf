// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/detection/multibox.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

void infer(const ProposalParams& p, ShapeInfer& s) {
  const auto anchors = static_cast<int64_t>(p.scales.size() * p.ratios.size());
  LOOMIX_CHECK(anchors > 0, ValueError, "[{}] scales or ratios is empty; expected at least one number each.",
               s.who());
  check_positive(p.ratios, "ratios", s.who());
  const Shape& scores = s.in(0);
  if (!scores.ndim_known()) return;
  LOOMIX_CHECK(scores.ndim() == 4 && (scores[1] == 2 * anchors || scores[1] < 0), ShapeError,
               "[{}] cls_prob has shape {}; expected (batch, {}, height, width) for {} anchors a place.",
               s.who(), scores.to_string(), 2 * anchors, anchors);
  s.set_in(1, Shape{scores[0], 4 * anchors, scores[2], scores[3]});
  s.set_in(2, Shape{scores[0], 3});
  if (!scores.is_known()) return;
  LOOMIX_CHECK(scores.size() > 0, ShapeError, "[{}] cls_prob has shape {}; there is nothing to propose.",
               s.who(), scores.to_string());
  s.set_out(0, Shape{scores[0] * p.rpn_post_nms_top_n, 5});
  s.set_out(1, Shape{scores[0] * p.rpn_post_nms_top_n, 1});
}

void check_one_image(const ProposalParams& p, ShapeInfer& s) {
  const Shape& scores = s.in(0);
  s.expect(0, scores.ndim() < 1 || scores[0] == 1 || scores[0] < 0, "one image; MultiProposal takes several");
  infer(p, s);
}

template <class P>
void add(OpTable& table, const char* name, const char* doc, void (*shape)(const P&, ShapeInfer&)) {
  table.add<P>(name, {"cls_prob", "bbox_pred", "im_info"})
      .doc(doc)
      .outputs({"output", "score"})
      .num_visible_outputs([](const P& p) { return p.output_score ? 2 : 1; })
      .infer_shape(shape)
      .types(kFloatingTypes)
      .element_cost(1000)
      .zero_gradient();
}

}  // namespace

template <class P>
void ProposalParams::fields(FieldList<P>& f) {
  f("rpn_pre_nms_top_n", &P::rpn_pre_nms_top_n, "How many of the best boxes are looked at; 0 or less: all.");
  f("rpn_post_nms_top_n", &P::rpn_post_nms_top_n,
    "How many boxes an image gives; if fewer remain, they come again.")
      .at_least(1);
  f("threshold", &P::threshold, "Boxes that overlap a better one by more are taken out.");
  f("rpn_min_size", &P::rpn_min_size, "Smaller boxes come last.").at_least(0);
  f("scales", &P::scales, "Sizes of the anchors, in strides.");
  f("ratios", &P::ratios, "Heights of the anchors divided by their widths.");
  f("feature_stride", &P::feature_stride, "Elements of the image that one of the data stands for.")
      .at_least(1);
  f("output_score", &P::output_score, "Gives the scores, too.");
  f("iou_loss", &P::iou_loss, "Takes the predictions as distances of the corners.");
}

void register_proposal(OpTable& table) {
  add<ProposalParams>(table, "_contrib_Proposal", "The regions of an image that look most like objects.",
                      check_one_image);
  add<MultiProposalParams>(table, "_contrib_MultiProposal",
                           "The regions of each image of a batch that look most like objects.",
                           [](const MultiProposalParams& p, ShapeInfer& s) { infer(p, s); });
}

}  // namespace loomix::ops
