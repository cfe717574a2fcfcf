// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/iter/batch_pipeline.h"
#include "io/iter/image_record_params.h"

namespace loomix::io {

enum class CropEmit { center, overlap };
enum class ResizeMode { force, shrink, fit };

// Lists have one number, or one for each crop sampler.
struct ImageDetRecordParams : RecordFileParams, NormalizeParams {
  std::string aug_seq = "det_aug_default";
  int label_width = -1;
  int label_pad_width = 0;
  float label_pad_value = -1;
  int resize = -1;
  float rand_crop_prob = 0;
  std::vector<float> min_crop_scales = {0}, max_crop_scales = {1};
  std::vector<float> min_crop_aspect_ratios = {1}, max_crop_aspect_ratios = {1};
  std::vector<float> min_crop_overlaps = {0}, max_crop_overlaps = {1};
  std::vector<float> min_crop_sample_coverages = {0}, max_crop_sample_coverages = {1};
  std::vector<float> min_crop_object_coverages = {0}, max_crop_object_coverages = {1};
  int num_crop_sampler = 1;
  CropEmit crop_emit_mode = CropEmit::center;
  float emit_overlap_thresh = 0.3f;
  Shape max_crop_trials = {25};
  float rand_pad_prob = 0;
  float max_pad_scale = 1;
  int max_random_hue = 0;
  float random_hue_prob = 0;
  int max_random_saturation = 0;
  float random_saturation_prob = 0;
  int max_random_illumination = 0;
  float random_illumination_prob = 0;
  float max_random_contrast = 0;
  float random_contrast_prob = 0;
  float rand_mirror_prob = 0;
  int fill_value = 127;
  int inter_method = 1;
  ResizeMode resize_mode = ResizeMode::force;

  static void fields(FieldList<ImageDetRecordParams>& f);
};

// Batches of images with labels of boxes (N, 4 + label width): channels, height and width of the image, how many
// numbers its label has, and the label: header width, numbers an object, more header, objects (class, left, top, right,
// bottom, ...), then label_pad_value.
std::unique_ptr<BatchPipeline> make_image_det_record_iter(engine::Engine& engine,
                                                          const ImageDetRecordParams& params);

}  // namespace loomix::io
