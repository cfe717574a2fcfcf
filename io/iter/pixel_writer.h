// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "engine/engine.h"
#include "io/image/image.h"
#include "io/image/row_loops.h"
#include "io/iter/image_record_params.h"

namespace loomix::io {

// The mean image in a file; empty without one.
std::vector<float> load_mean_image(engine::Engine& engine, const std::string& path, const Shape& shape);

// Writes rows of pixels into planes of a sample, normalised and converted.
class PixelWriter {
 public:
  PixelWriter(const NormalizeParams& params, const Shape& data_shape, DType dtype,
              const std::vector<float>& mean_image);

  void begin(std::byte* sample, bool mirror, float contrast = 1, float illumination = 0);
  void row(int y, const uint8_t* pixels);

 private:
  void row_less_mean(int y, const uint8_t* pixels, float* out, int64_t plane) const;

  const int channels_, height_, width_;
  const DType dtype_;
  const std::vector<float>& mean_image_;
  float mean_[4], factor_[4];
  bool plain_;  // values are the pixels
  Normalise normalise_;
  float contrast_ = 1, illumination_ = 0;
  std::byte* sample_ = nullptr;
  bool mirror_ = false;
  std::vector<float> scratch_;
};

}  // namespace loomix::io
