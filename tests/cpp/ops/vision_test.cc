// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "eager_grad.h"

// What the case tables in Python cannot reach of the operators on images and boxes: teams of threads, and refusals.
namespace loomix::ops::testing {
namespace {

struct Sample {
  const char* op;
  TextPairs attrs;
  std::vector<Shape> shapes;
};

const std::vector<Sample>& samples() {
  const Shape image{3, 18, 9, 11}, pooled{7, 18, 3, 2};
  const TextPairs roi = {{"pooled_size", "(3, 2)"}, {"spatial_scale", "3"}};
  const TextPairs group = {
      {"pooled_size", "3"}, {"spatial_scale", "3"}, {"output_dim", "2"}, {"group_size", "3"}};
  static const std::vector<Sample> all = {
      {"UpSampling", {{"scale", "2"}, {"sample_type", "nearest"}, {"num_args", "1"}}, {image}},
      {"_backward_UpSampling",
       {{"scale", "2"}, {"sample_type", "nearest"}, {"num_args", "1"}},
       {{3, 18, 18, 22}, image}},
      {"_contrib_BilinearResize2D", {{"height", "17"}, {"width", "5"}}, {image}},
      {"_backward__contrib_BilinearResize2D", {{"height", "17"}, {"width", "5"}}, {{3, 18, 17, 5}, image}},
      {"_contrib_AdaptiveAvgPooling2D", {{"output_size", "4"}}, {image}},
      {"_backward__contrib_AdaptiveAvgPooling2D", {{"output_size", "4"}}, {{3, 18, 4, 4}, image}},
      {"GridGenerator", {{"transform_type", "affine"}, {"target_shape", "(9, 13)"}}, {{5, 6}}},
      {"_backward_GridGenerator",
       {{"transform_type", "affine"}, {"target_shape", "(9, 13)"}},
       {{5, 2, 9, 13}}},
      {"BilinearSampler", {}, {image, {3, 2, 12, 13}}},
      {"_backward_BilinearSampler_data", {}, {{3, 18, 12, 13}, image, {3, 2, 12, 13}}},
      {"_backward_BilinearSampler_grid", {}, {{3, 18, 12, 13}, image, {3, 2, 12, 13}}},
      {"im2col", {{"kernel", "(3, 2)"}, {"pad", "(1, 1)"}}, {image}},
      {"_backward_im2col", {{"kernel", "(3, 2)"}, {"pad", "(1, 1)"}}, {{3, 108, 108}, image}},
      {"Correlation", {{"pad_size", "1"}, {"kernel_size", "3"}}, {image, image}},
      {"_backward_Correlation", {{"pad_size", "1"}, {"kernel_size", "3"}}, {{3, 9, 7, 9}, image, image}},
      {"ROIPooling", roi, {image, {7, 5}}},
      {"_contrib_ROIAlign", roi, {image, {7, 5}}},
      {"_backward__contrib_ROIAlign", roi, {pooled, image, {7, 5}}},
      {"_contrib_RROIAlign", roi, {image, {7, 6}}},
      {"_backward__contrib_RROIAlign", roi, {pooled, image, {7, 6}}},
      {"_contrib_PSROIPooling", group, {image, {7, 5}}},
      {"_backward__contrib_PSROIPooling", group, {{7, 2, 3, 3}, image, {7, 5}}},
      {"_contrib_DeformablePSROIPooling", group, {image, {7, 5}, {7, 4, 3, 3}}},
      {"_backward__contrib_DeformablePSROIPooling", group, {{7, 2, 3, 3}, image, {7, 5}, {7, 4, 3, 3}}},
      {"_contrib_box_iou", {}, {{90, 4}, {80, 4}}},
      {"_contrib_box_nms", {{"overlap_thresh", "0.1"}}, {{5, 40, 6}}},
      {"_contrib_bipartite_matching", {{"threshold", "0.1"}}, {{6, 9, 7}}},
      {"_contrib_MultiBoxPrior", {{"sizes", "(0.5, 0.2)"}}, {{1, 1, 30, 40}}},
      {"_contrib_MultiBoxTarget", {{"negative_mining_ratio", "2"}}, {{1, 40, 4}, {5, 4, 5}, {5, 3, 40}}},
      {"_contrib_MultiBoxDetection", {}, {{5, 3, 40}, {5, 160}, {1, 40, 4}}},
      {"_contrib_MultiProposal", {{"rpn_post_nms_top_n", "9"}}, {{4, 24, 5, 6}, {4, 48, 5, 6}, {4, 3}}},
      {"_contrib_DeformableConvolution",
       {{"kernel", "(3, 2)"}, {"num_filter", "7"}, {"no_bias", "True"}},
       {image, {3, 12, 7, 10}, {7, 18, 3, 2}}},
      {"_backward__contrib_DeformableConvolution",
       {{"kernel", "(3, 2)"}, {"num_filter", "7"}, {"no_bias", "True"}},
       {{3, 7, 7, 10}, image, {3, 12, 7, 10}, {7, 18, 3, 2}}},
  };
  return all;
}

TEST(Vision, ResultsDoNotDependOnTheNumberOfCores) {
  for (const Sample& sample : samples()) {
    for (const DType dtype : {DType::float32, DType::float16}) {
      const auto run = [&](int cores) {
        std::vector<Tensor> inputs;
        for (const Shape& shape : sample.shapes)
          inputs.push_back(random_tensor(shape, static_cast<unsigned>(inputs.size()) + 1, dtype));
        return run_op(sample.op, inputs, sample.attrs, {.cores = cores}).out;
      };
      const auto one = run(1), three = run(3);
      for (size_t i = 0; i < one.size(); ++i)
        EXPECT_EQ(one[i].bytes, three[i].bytes) << sample.op << " " << i;
    }
  }
}

void refused(const char* op, const TextPairs& attrs, const std::vector<Shape>& shapes) {
  std::vector<Tensor> inputs;
  for (const Shape& shape : shapes) inputs.emplace_back(shape, DType::float32);
  EXPECT_THROW(run_op(op, inputs, attrs), Error) << op;
}

TEST(Vision, WrongShapesAndNumbersAreRefused) {
  const Shape image{2, 3, 5, 6};
  const TextPairs nearest = {{"scale", "2"}, {"sample_type", "nearest"}, {"num_args", "2"}};
  refused("UpSampling", nearest, {image, {2, 3, 3, 3}});
  refused("UpSampling", {{"scale", "2"}, {"sample_type", "bilinear"}, {"num_args", "2"}},
          {image, {3, 1, 4, 4}});
  refused("_contrib_BilinearResize2D", {{"scale_height", "2"}}, {image});
  refused("_contrib_BilinearResize2D", {{"mode", "odd_scale"}}, {image});
  refused("_contrib_BilinearResize2D", {{"scale_height", "0.1"}, {"scale_width", "1"}}, {image});
  refused("_contrib_AdaptiveAvgPooling2D", {{"output_size", "(1, 2, 3)"}}, {image});
  refused("_contrib_AdaptiveAvgPooling2D", {{"output_size", "(0, 2)"}}, {image});
  refused("GridGenerator", {{"transform_type", "affine"}}, {{2, 6}});
  refused("GridGenerator", {{"transform_type", "affine"}, {"target_shape", "(2, 2)"}}, {{2, 5}});
  refused("GridGenerator", {{"transform_type", "warp"}}, {{2, 2, 1, 3}});
  refused("BilinearSampler", {}, {image, {2, 3, 2, 2}});
  refused("BilinearSampler", {}, {image, {1, 2, 2, 2}});
  refused("Crop", {{"num_args", "1"}, {"h_w", "(6, 2)"}}, {image});
  refused("Crop", {{"num_args", "1"}, {"h_w", "(2, 2)"}, {"offset", "(0, 5)"}}, {image});
  refused("im2col", {{"kernel", "(6, 2)"}}, {image});
  refused("im2col", {{"kernel", "(2,)"}}, {image});
  refused("col2im", {{"kernel", "(2, 2)"}, {"output_size", "(3, 3)"}}, {{1, 8, 5}});
  refused("col2im", {{"kernel", "(2, 2)"}, {"output_size", "(3, 3)"}}, {{1, 7, 4}});
  refused("Correlation", {{"kernel_size", "2"}}, {image, image});
  refused("Correlation", {{"max_displacement", "3"}}, {image, image});
}

TEST(Detection, WrongShapesAndNumbersAreRefused) {
  const Shape image{2, 4, 5, 6};
  const TextPairs roi = {{"pooled_size", "(2, 2)"}, {"spatial_scale", "1"}};
  refused("ROIPooling", roi, {image, {3, 4}});
  refused("ROIPooling", {{"pooled_size", "(2,)"}, {"spatial_scale", "1"}}, {image, {3, 5}});
  refused("_contrib_RROIAlign", roi, {image, {3, 5}});
  refused("_contrib_PSROIPooling", {{"pooled_size", "2"}, {"spatial_scale", "1"}, {"output_dim", "2"}},
          {image, {3, 5}});
  refused("_contrib_box_iou", {}, {{3, 4}, {3, 5}});
  refused("_contrib_box_nms", {{"coord_start", "3"}}, {{3, 6}});
  refused("_contrib_box_nms", {{"score_index", "4"}}, {{3, 6}});
  refused("_contrib_box_decode", {}, {{2, 3, 4}, {2, 3, 4}});
  refused("_contrib_bipartite_matching", {{"threshold", "0.5"}}, {{3}});
  refused("_contrib_MultiBoxPrior", {{"sizes", "()"}}, {image});
  refused("_contrib_MultiBoxPrior", {{"steps", "(0.1, -1)"}}, {image});
  refused("_contrib_MultiBoxTarget", {{"variances", "(0.1, 0.1)"}}, {{1, 3, 4}, {2, 2, 5}, {2, 3, 3}});
  refused("_contrib_MultiBoxTarget", {}, {{1, 3, 4}, {2, 2, 4}, {2, 3, 3}});
  refused("_contrib_MultiBoxDetection", {}, {{2, 3, 3}, {2, 8}, {1, 3, 4}});
  refused("_contrib_MultiBoxDetection", {{"background_id", "3"}}, {{2, 3, 3}, {2, 12}, {1, 3, 4}});
  refused("_contrib_Proposal", {}, {{2, 24, 2, 2}, {2, 48, 2, 2}, {2, 3}});
  refused("_contrib_Proposal", {}, {{1, 22, 2, 2}, {1, 44, 2, 2}, {1, 3}});
  const TextPairs filters = {{"kernel", "(2, 2)"}, {"num_filter", "3"}, {"no_bias", "True"}};
  refused("_contrib_DeformableConvolution", filters, {image, {2, 8, 5, 5}, {3, 4, 2, 2}});
}

// An image that there is not, and numbers that are none, are found before anything is read.
TEST(Detection, RegionsOfOtherImagesAreErrors) {
  const TextPairs attrs = {{"pooled_size", "(2, 2)"}, {"spatial_scale", "1"}};
  for (const char* op : {"ROIPooling", "_contrib_ROIAlign"}) {
    std::vector<Tensor> inputs = {Tensor({2, 1, 4, 4}, DType::float32),
                                  Tensor({1, 5}, DType::float32, {2, 0, 0, 3, 3})};
    EXPECT_THROW(run_op(op, inputs, attrs), IndexError) << op;
    inputs[1] = Tensor({1, 5}, DType::float32, {0, 0, 0, INFINITY, 3});
    EXPECT_THROW(run_op(op, inputs, attrs), ValueError) << op;
  }
  std::vector<Tensor> inputs;
  for (const Shape& shape : {Shape{1, 1}, Shape{1, 1}, Shape{1, 1, 4}, Shape{1, 2, 4}, Shape{4}, Shape{4}})
    inputs.emplace_back(shape, DType::float32);
  inputs[0] = Tensor({1, 1}, DType::float32, {1});
  inputs[1] = Tensor({1, 1}, DType::float32, {2});
  EXPECT_THROW(run_op("_contrib_box_encode", inputs), IndexError);
}

}  // namespace
}  // namespace loomix::ops::testing
