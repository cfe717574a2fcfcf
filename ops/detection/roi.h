// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

struct ROIPoolingParams {
  Shape pooled_size;
  float spatial_scale = 1;
  static void fields(FieldList<ROIPoolingParams>& f);
};

struct ROIAlignParams {
  Shape pooled_size;
  float spatial_scale = 1;
  int sample_ratio = -1;
  bool position_sensitive = false;
  bool aligned = false;
  static void fields(FieldList<ROIAlignParams>& f);
};

struct RROIAlignParams {
  Shape pooled_size;
  float spatial_scale = 1;
  int sampling_ratio = -1;
  static void fields(FieldList<RROIAlignParams>& f);
};

struct PSROIPoolingParams {
  float spatial_scale = 1;
  int output_dim = 1;
  int pooled_size = 1;
  int group_size = 0;
  static void fields(FieldList<PSROIPoolingParams>& f);
  int groups() const { return group_size > 0 ? group_size : pooled_size; }
};

struct DeformablePSROIPoolingParams {
  float spatial_scale = 1;
  int output_dim = 1;
  int group_size = 1;
  int pooled_size = 1;
  int part_size = 0;
  int sample_per_part = 1;
  float trans_std = 0;
  bool no_trans = false;
  static void fields(FieldList<DeformablePSROIPoolingParams>& f);
  constexpr int parts() const { return part_size > 0 ? part_size : pooled_size; }
};

inline constexpr double kMostRegionNumber = 1e9;

// The image of each region, from the first of its numbers: -1 (any negative number) is a region that is left out. Throws
// IndexError in the name of `who` for an image that the batch has not, ValueError for numbers that are not finite.
void check_rois(const TensorView& rois, int64_t batch, const char* who);

}  // namespace loomix::ops
