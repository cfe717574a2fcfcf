// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/params.h"
#include "ops/kernel.h"
#include "ops/table.h"

// Operators on images. Unless said otherwise they take (H, W, C) or (N, H, W, C) of any type of numbers; results of
// integer types are rounded and clamped.
namespace loomix::io {

// Schemas and CPU kernels; called on the table after ops::register_all.
void register_image_ops(ops::OpTable& table);
void register_decode(ops::OpTable& table);  // called by the one above

struct DecodeParams {
  int flag = 1;
  bool to_rgb = true;
  static void fields(FieldList<DecodeParams>& f) {
    f("flag", &DecodeParams::flag, "0: grey, 1: colour, -1: as in the file.").at_least(-1).at_most(1);
    f("to_rgb", &DecodeParams::to_rgb, "Whether channels are in the order RGB; else BGR.");
  }
};

struct ReadParams {
  std::string filename;
  int flag = 1;
  bool to_rgb = true;
  static void fields(FieldList<ReadParams>& f) {
    f("filename", &ReadParams::filename, "The file.").required("image.jpg");
    f("flag", &ReadParams::flag, "0: grey, 1: colour, -1: as in the file.").at_least(-1).at_most(1);
    f("to_rgb", &ReadParams::to_rgb, "Whether channels are in the order RGB; else BGR.");
  }
};

struct CvResizeParams {
  int w = 0;
  int h = 0;
  int interp = 1;
  static void fields(FieldList<CvResizeParams>& f) {
    f("w", &CvResizeParams::w, "Width of the result.").required("4").at_least(1);
    f("h", &CvResizeParams::h, "Height of the result.").required("4").at_least(1);
    f("interp", &CvResizeParams::interp,
      "Interpolation: 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 lanczos, 9 by size.");
  }
};

struct BorderParams {
  int top = 0, bot = 0, left = 0, right = 0;
  int type = 0;
  double value = 0;
  std::vector<double> values;
  static void fields(FieldList<BorderParams>& f) {
    using P = BorderParams;
    f("top", &P::top, "Rows added above.").required("1").at_least(0);
    f("bot", &P::bot, "Rows added below.").required("1").at_least(0);
    f("left", &P::left, "Columns added at the left.").required("1").at_least(0);
    f("right", &P::right, "Columns added at the right.").required("1").at_least(0);
    f("type", &P::type,
      "0: constant, 1: the edge, 2: mirrored at the edge, 3: from the other side, 4: mirrored at the "
      "middle of the edge's pixels.")
        .at_least(0)
        .at_most(4);
    f("value", &P::value, "The constant.");
    f("values", &P::values, "The constant of each channel.");
  }
};

struct NormalizeOpParams {
  std::vector<float> mean = {0, 0, 0, 0};
  std::vector<float> std = {1, 1, 1, 1};
  static void fields(FieldList<NormalizeOpParams>& f) {
    f("mean", &NormalizeOpParams::mean, "Subtracted from each channel; one number is for all.");
    f("std", &NormalizeOpParams::std, "Divides each channel; one number is for all.");
  }
};

struct CropParams {
  int x = 0, y = 0, width = 0, height = 0;
  static void fields(FieldList<CropParams>& f) {
    f("x", &CropParams::x, "First column.").required("0").at_least(0);
    f("y", &CropParams::y, "First row.").required("0").at_least(0);
    f("width", &CropParams::width, "Columns.").required("2").at_least(1);
    f("height", &CropParams::height, "Rows.").required("2").at_least(1);
  }
};

struct ResizeParams {
  Shape size;
  bool keep_ratio = false;
  int interp = 1;
  static void fields(FieldList<ResizeParams>& f) {
    f("size", &ResizeParams::size, "(width, height), or one number for both.");
    f("keep_ratio", &ResizeParams::keep_ratio, "Whether one number is the length of the shorter edge.");
    f("interp", &ResizeParams::interp,
      "Interpolation: 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 lanczos, 9 by size.");
  }
};

struct FactorParams {
  float min_factor = 0;
  float max_factor = 0;
  static void fields(FieldList<FactorParams>& f) {
    f("min_factor", &FactorParams::min_factor, "Least factor.").required("0.5").at_least(0);
    f("max_factor", &FactorParams::max_factor, "Largest factor.").required("1.5").at_least(0);
  }
};

struct JitterParams {
  float brightness = 0, contrast = 0, saturation = 0, hue = 0;
  static void fields(FieldList<JitterParams>& f) {
    using P = JitterParams;
    f("brightness", &P::brightness, "Factors lie in [max(0, 1 - v), 1 + v].").required("0.1");
    f("contrast", &P::contrast, "Factors lie in [max(0, 1 - v), 1 + v].").required("0.1");
    f("saturation", &P::saturation, "Factors lie in [max(0, 1 - v), 1 + v].").required("0.1");
    f("hue", &P::hue, "Factors lie in [max(0, 1 - v), 1 + v].").required("0.1");
  }
};

struct LightingParams {
  std::vector<float> alpha;
  static void fields(FieldList<LightingParams>& f) {
    f("alpha", &LightingParams::alpha, "Weights of the three principal components.")
        .required("(0.1, 0.1, 0.1)");
  }
};

struct RandomLightingParams {
  float alpha_std = 0.05f;
  static void fields(FieldList<RandomLightingParams>& f) {
    f("alpha_std", &RandomLightingParams::alpha_std, "Deviation of the weights of the principal components.");
  }
};

using ops::KernelArgs;
using ops::NoParams;

struct ColourChange {
  enum Kind { brightness, contrast, saturation, hue };
};

void cv_resize_cpu(const CvResizeParams&, const KernelArgs&);
void border_cpu(const BorderParams&, const KernelArgs&);
void to_tensor_cpu(const NoParams&, const KernelArgs&);
void normalize_cpu(const NormalizeOpParams&, const KernelArgs&);
void normalize_backward_cpu(const NormalizeOpParams&, const KernelArgs&);
void crop_cpu(const CropParams&, const KernelArgs&);
void crop_backward_cpu(const CropParams&, const KernelArgs&);  // grad, data
void resize_cpu(const ResizeParams&, const KernelArgs&);
template <bool kRows, bool kRandom>
void flip_cpu(const NoParams&, const KernelArgs&);
template <ColourChange::Kind kKind>
void random_colour_cpu(const FactorParams&, const KernelArgs&);
void jitter_cpu(const JitterParams&, const KernelArgs&);
void lighting_cpu(const LightingParams&, const KernelArgs&);
void random_lighting_cpu(const RandomLightingParams&, const KernelArgs&);

// (width, height) of the result for images of this size.
std::pair<int64_t, int64_t> resized(const ResizeParams& p, int64_t height, int64_t width, const char* who);

}  // namespace loomix::io
