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

// Where element `to` of an axis of `out` comes from on one of `in`: a share of `first`, the rest of `second`.
template <class A>
struct Tap {
  int32_t first, second;
  A rest;  // share of the second
};
template <class A>
constexpr A tap_scale(int64_t in, int64_t out, bool align_corners) {
  return align_corners ? (out > 1 ? static_cast<A>(in - 1) / static_cast<A>(out - 1) : A{0})
                       : static_cast<A>(in) / static_cast<A>(out);
}
template <class A>
constexpr Tap<A> tap_of(int64_t to, int64_t in, A scale, bool align_corners) {
  A at = scale * static_cast<A>(to);
  if (!align_corners) at = scale * (static_cast<A>(to) + A(0.5)) - A(0.5);
  if (at < 0) at = 0;
  const auto below = static_cast<int64_t>(at);
  const int64_t first = below < in - 1 ? below : in - 1;
  const int64_t second = first + 1 < in - 1 ? first + 1 : in - 1;
  return {static_cast<int32_t>(first), static_cast<int32_t>(second), at - static_cast<A>(first)};
}

struct AdaptivePoolParams {
  Shape output_size;
  static void fields(FieldList<AdaptivePoolParams>& f) {
    f("output_size", &AdaptivePoolParams::output_size,
      "Height and width of the output, or one number for both; 1.");
  }
};

// The elements of an axis of `in` whose mean is element i of one of `out`.
struct PoolWindow {
  int64_t begin, end;
};
constexpr PoolWindow pool_window(int64_t i, int64_t in, int64_t out) {
  return {i * in / out, ((i + 1) * in + out - 1) / out};
}

enum class Transform { affine, warp };

struct GridGeneratorParams {
  Transform transform_type = Transform::affine;
  Shape target_shape{0, 0};
  static void fields(FieldList<GridGeneratorParams>& f);
};

// -1 to 1 over `size` elements; in the middle if there is one.
template <class A>
constexpr A grid_coordinate(int64_t i, int64_t size) {
  return size > 1 ? A{2} * static_cast<A>(i) / static_cast<A>(size - 1) - 1 : A{0};
}
template <class A>
constexpr A grid_element(A coordinate, int64_t size) {
  return (coordinate + 1) * static_cast<A>(size - 1) / 2;
}

struct BilinearSamplerParams {
  std::optional<bool> cudnn_off;
  static void fields(FieldList<BilinearSamplerParams>& f) {
    f("cudnn_off", &BilinearSamplerParams::cudnn_off, "Has no effect.");
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
