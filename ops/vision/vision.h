// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/params.h"
#include "ops/conv/deconvolution.h"
#include "ops/kernel.h"

namespace loomix::ops {

enum class SampleType { nearest, bilinear };
enum class MultiInput { concat, sum };

struct UpSamplingParams {
  int scale = 1;
  int num_filter = 0;
  SampleType sample_type = SampleType::nearest;
  MultiInput multi_input_mode = MultiInput::concat;
  int num_args = 1;
  int64_t workspace = 512;

  static void fields(FieldList<UpSamplingParams>& f);
};
// Bilinear up-sampling is a deconvolution of each channel by itself.
DeconvolutionParams deconvolution_of(const UpSamplingParams& p);
ConvGeometry geometry_of(const UpSamplingParams& p, ConvPass pass, std::span<const TensorView> in,
                         std::span<const TensorView> out);
ConvOperands operands_of(const UpSamplingParams& p, ConvPass pass, std::span<const TensorView> in);

enum class ResizeMode { size, odd_scale, like, to_even_down, to_even_up, to_odd_down, to_odd_up };

struct BilinearResizeParams {
  int height = 1;
  int width = 1;
  std::optional<float> scale_height;
  std::optional<float> scale_width;
  ResizeMode mode = ResizeMode::size;
  bool align_corners = true;

  static void fields(FieldList<BilinearResizeParams>& f);
};

struct AdaptivePoolParams {
  Shape output_size;
  static void fields(FieldList<AdaptivePoolParams>& f) {
    f("output_size", &AdaptivePoolParams::output_size,
      "Height and width of the output, or one number for both; 1.");
  }
};

enum class Transform { affine, warp };

struct GridGeneratorParams {
  Transform transform_type = Transform::affine;
  Shape target_shape{0, 0};
  static void fields(FieldList<GridGeneratorParams>& f);
};

struct BilinearSamplerParams {
  std::optional<bool> cudnn_off;
  static void fields(FieldList<BilinearSamplerParams>& f) {
    f("cudnn_off", &BilinearSamplerParams::cudnn_off, "Has no effect on CPU.");
  }
};

enum class AffineOnly { affine };
enum class BilinearOnly { bilinear };

struct SpatialTransformerParams {
  Shape target_shape{0, 0};
  AffineOnly transform_type = AffineOnly::affine;
  BilinearOnly sampler_type = BilinearOnly::bilinear;
  std::optional<bool> cudnn_off;
  static void fields(FieldList<SpatialTransformerParams>& f);
};

struct CropParams {
  int num_args = 1;
  Shape offset{0, 0};
  Shape h_w{0, 0};
  bool center_crop = false;
  static void fields(FieldList<CropParams>& f);
};

struct UnfoldParams {
  Shape kernel;
  Shape stride;
  Shape dilate;
  Shape pad;

  template <class P>
  static void fields(FieldList<P>& f) {
    f("kernel", &P::kernel, "Size of the windows, one number an axis.").required("(2, 2)");
    f("stride", &P::stride, "Distance of the windows; 1 by default.");
    f("dilate", &P::dilate, "Distance of a window's own elements; 1 by default.");
    f("pad", &P::pad, "Zeros added at each side; 0 by default.");
  }
  ConvGeometry geometry(const Shape& image) const;
};

struct FoldParams : UnfoldParams {
  Shape output_size;
  static void fields(FieldList<FoldParams>& f) {
    f("output_size", &FoldParams::output_size, "Size of the image, one number an axis.").required("(3, 3)");
    UnfoldParams::fields(f);
  }
};

struct CorrelationParams {
  int kernel_size = 1;
  int max_displacement = 1;
  int stride1 = 1;
  int stride2 = 1;
  int pad_size = 0;
  bool is_multiply = true;
  static void fields(FieldList<CorrelationParams>& f);
};

// How far a correlation looks, and what comes out.
struct CorrelationGeometry {
  int64_t batch, channels, in[2], padded[2], out[2];
  int64_t reach;  // displacements to each side

  CorrelationGeometry(const CorrelationParams& p, const Shape& data);
  int64_t displacements() const { return (2 * reach + 1) * (2 * reach + 1); }
};

}  // namespace loomix::ops
