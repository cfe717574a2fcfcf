// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

class OpTable;

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
  int parts() const { return part_size > 0 ? part_size : pooled_size; }
};

void register_roi(OpTable& table);
void register_deformable_roi(OpTable& table);

void roi_pooling_cpu(const ROIPoolingParams&, const KernelArgs&);
void roi_pooling_backward_cpu(const ROIPoolingParams&, const KernelArgs&);
size_t roi_pooling_backward_scratch(const ROIPoolingParams&, const KernelSpec&);
void roi_align_cpu(const ROIAlignParams&, const KernelArgs&);
void roi_align_backward_cpu(const ROIAlignParams&, const KernelArgs&);
size_t roi_align_backward_scratch(const ROIAlignParams&, const KernelSpec&);
void rroi_align_cpu(const RROIAlignParams&, const KernelArgs&);
void rroi_align_backward_cpu(const RROIAlignParams&, const KernelArgs&);
size_t rroi_align_backward_scratch(const RROIAlignParams&, const KernelSpec&);
void psroi_pooling_cpu(const PSROIPoolingParams&, const KernelArgs&);
void psroi_pooling_backward_cpu(const PSROIPoolingParams&, const KernelArgs&);
size_t psroi_pooling_backward_scratch(const PSROIPoolingParams&, const KernelSpec&);
void deformable_psroi_pooling_cpu(const DeformablePSROIPoolingParams&, const KernelArgs&);
void deformable_psroi_pooling_backward_cpu(const DeformablePSROIPoolingParams&, const KernelArgs&);
size_t deformable_psroi_pooling_backward_scratch(const DeformablePSROIPoolingParams&, const KernelSpec&);

// The image of each region, from the first of its numbers: -1 (any negative number) is a region that is left out. Throws
// IndexError in the name of `who` for an image that the batch has not, ValueError for numbers that are not finite.
void check_rois(const TensorView& rois, int64_t batch, const char* who);

}  // namespace loomix::ops
