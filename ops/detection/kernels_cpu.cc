// SPDX-License-Identifier: Apache-2.0
#include "ops/detection/box.h"
#include "ops/detection/multibox.h"
#include "ops/detection/roi.h"
#include "ops/families.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr DeviceType kCpu = DeviceType::cpu;

void add_roi(OpTable& table) {
  using Pool = ROIPoolingParams;
  table.kernel<Pool, roi_pooling_cpu>("ROIPooling", "roi_pooling_cpu", kCpu);
  table.kernel<Pool, roi_pooling_backward_cpu, nullptr, roi_pooling_backward_scratch>(
      "_backward_ROIPooling", "roi_pooling_backward_cpu", kCpu);
  using Align = ROIAlignParams;
  table.kernel<Align, roi_align_cpu>("_contrib_ROIAlign", "roi_align_cpu", kCpu);
  table.kernel<Align, roi_align_backward_cpu, nullptr, roi_align_backward_scratch>(
      "_backward__contrib_ROIAlign", "roi_align_backward_cpu", kCpu);
  using Turned = RROIAlignParams;
  table.kernel<Turned, rroi_align_cpu>("_contrib_RROIAlign", "rroi_align_cpu", kCpu);
  table.kernel<Turned, rroi_align_backward_cpu, nullptr, rroi_align_backward_scratch>(
      "_backward__contrib_RROIAlign", "rroi_align_backward_cpu", kCpu);
  using Grouped = PSROIPoolingParams;
  table.kernel<Grouped, psroi_pooling_cpu>("_contrib_PSROIPooling", "psroi_pooling_cpu", kCpu);
  table.kernel<Grouped, psroi_pooling_backward_cpu, nullptr, psroi_pooling_backward_scratch>(
      "_backward__contrib_PSROIPooling", "psroi_pooling_backward_cpu", kCpu);
  using Moved = DeformablePSROIPoolingParams;
  table.kernel<Moved, deformable_psroi_pooling_cpu>("_contrib_DeformablePSROIPooling",
                                                    "deformable_psroi_pooling_cpu", kCpu);
  table.kernel<Moved, deformable_psroi_pooling_backward_cpu, nullptr,
               deformable_psroi_pooling_backward_scratch>("_backward__contrib_DeformablePSROIPooling",
                                                          "deformable_psroi_pooling_backward_cpu", kCpu);
}

void add_boxes(OpTable& table) {
  table.kernel<BoxIouParams, box_iou_cpu>("_contrib_box_iou", "box_iou_cpu", kCpu);
  table.kernel<BoxNmsParams, box_nms_cpu, nullptr, box_nms_scratch>("_contrib_box_nms", "box_nms_cpu", kCpu);
  table.kernel<BoxNmsParams, box_nms_backward_cpu>("_backward__contrib_box_nms", "box_nms_backward_cpu",
                                                   kCpu);
  table.kernel<BoxEncodeParams, box_encode_cpu>("_contrib_box_encode", "box_encode_cpu", kCpu);
  table.kernel<BoxDecodeParams, box_decode_cpu>("_contrib_box_decode", "box_decode_cpu", kCpu);
  table.kernel<BipartiteMatchingParams, bipartite_matching_cpu, nullptr, bipartite_matching_scratch>(
      "_contrib_bipartite_matching", "bipartite_matching_cpu", kCpu);
}

}  // namespace

void kernels_detection_cpu(OpTable& table) {
  add_roi(table);
  add_boxes(table);
  table.kernel<MultiBoxPriorParams, multibox_prior_cpu>("_contrib_MultiBoxPrior", "multibox_prior_cpu", kCpu);
  table.kernel<MultiBoxTargetParams, multibox_target_cpu, nullptr, multibox_target_scratch>(
      "_contrib_MultiBoxTarget", "multibox_target_cpu", kCpu);
  table.kernel<MultiBoxDetectionParams, multibox_detection_cpu, nullptr, multibox_detection_scratch>(
      "_contrib_MultiBoxDetection", "multibox_detection_cpu", kCpu);
  table.kernel<ProposalParams, proposal_cpu, nullptr, proposal_scratch>("_contrib_Proposal", "proposal_cpu",
                                                                        kCpu);
  table.kernel<MultiProposalParams, multi_proposal_cpu, nullptr, multi_proposal_scratch>(
      "_contrib_MultiProposal", "multi_proposal_cpu", kCpu);
}

}  // namespace loomix::ops
