// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

struct MultiBoxPriorParams {
  std::vector<float> sizes{1.0f};
  std::vector<float> ratios{1.0f};
  bool clip = false;
  std::vector<float> steps{-1.0f, -1.0f};
  std::vector<float> offsets{0.5f, 0.5f};
  static void fields(FieldList<MultiBoxPriorParams>& f);
};

struct MultiBoxTargetParams {
  float overlap_threshold = 0.5f;
  float ignore_label = -1;
  float negative_mining_ratio = -1;
  float negative_mining_thresh = 0.5f;
  int minimum_negative_samples = 0;
  std::vector<float> variances{0.1f, 0.1f, 0.2f, 0.2f};
  static void fields(FieldList<MultiBoxTargetParams>& f);
};

struct MultiBoxDetectionParams {
  bool clip = true;
  float threshold = 0.01f;
  int background_id = 0;
  float nms_threshold = 0.5f;
  bool force_suppress = false;
  std::vector<float> variances{0.1f, 0.1f, 0.2f, 0.2f};
  int nms_topk = -1;
  static void fields(FieldList<MultiBoxDetectionParams>& f);
};

struct ProposalParams {
  int rpn_pre_nms_top_n = 6000;
  int rpn_post_nms_top_n = 300;
  float threshold = 0.7f;
  int rpn_min_size = 16;
  std::vector<float> scales{4.0f, 8.0f, 16.0f, 32.0f};
  std::vector<float> ratios{0.5f, 1.0f, 2.0f};
  int feature_stride = 16;
  bool output_score = false;
  bool iou_loss = false;
  template <class P>
  static void fields(FieldList<P>& f);
};

struct MultiProposalParams : ProposalParams {};

// ValueError in the name of `who` unless all numbers of the list are positive.
void check_positive(const std::vector<float>& list, const char* name, const char* who);

}  // namespace loomix::ops
