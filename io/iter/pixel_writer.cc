// SPDX-License-Identifier: Apache-2.0
#include "io/iter/pixel_writer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/error.h"
#include "ndarray/array_file.h"

namespace loomix::io {
namespace {

template <class T>
void convert(const float* in, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      const double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
      const double value = std::clamp<double>(std::nearbyint(in[i]), low, high);
      out[i] = static_cast<T>(value);
    } else {
      out[i] = static_cast<T>(in[i]);
    }
  }
}

}  // namespace

std::vector<float> load_mean_image(engine::Engine& engine, const std::string& path, const Shape& shape) {
  if (path.empty()) return {};
  const ArrayList list = load_arrays(engine, path);
  LOOMIX_CHECK(!list.arrays.empty() && list.arrays[0].is_dense() &&
                   list.arrays[0].dtype() == DType::float32 && list.arrays[0].shape() == shape,
               FileError, "[ImageRecordIter] mean_img {} must hold a float32 array of shape {} first.", path,
               shape.to_string());
  std::vector<float> mean(static_cast<size_t>(shape.size()));
  list.arrays[0].copy_to_host(mean.data(), list.arrays[0].bytes());
  return mean;
}

PixelWriter::PixelWriter(const NormalizeParams& params, const Shape& data_shape, DType dtype,
                         const std::vector<float>& mean_image)
    : channels_(static_cast<int>(data_shape[0])),
      height_(static_cast<int>(data_shape[1])),
      width_(static_cast<int>(data_shape[2])),
      dtype_(dtype),
      mean_image_(mean_image) {
  const float mean[] = {params.mean_r, params.mean_g, params.mean_b, params.mean_a};
  const float deviation[] = {params.std_r, params.std_g, params.std_b, params.std_a};
  plain_ = mean_image.empty();
  for (int c = 0; c < 4; ++c) {
    mean_[c] = mean[c];
    factor_[c] = params.scale / (deviation[c] == 0 ? 1 : deviation[c]);
    plain_ = plain_ && mean_[c] == 0 && factor_[c] == 1;
  }
  scratch_.resize(size_t(width_) * size_t(channels_));
}

void PixelWriter::begin(std::byte* sample, bool mirror, float contrast, float illumination) {
  sample_ = sample;
  mirror_ = mirror;
  contrast_ = contrast;
  illumination_ = illumination;
  for (int c = 0; c < 4; ++c) {
    normalise_.scale[c] = contrast * factor_[c];
    normalise_.shift[c] = (illumination - mean_[c] * contrast) * factor_[c];
  }
}

void PixelWriter::row_less_mean(int y, const uint8_t* pixels, float* out, int64_t plane) const {
  for (int c = 0; c < channels_; ++c) {
    const float* mean = &mean_image_[(size_t(c) * size_t(height_) + size_t(y)) * size_t(width_)];
    for (int x = 0; x < width_; ++x) {
      const int from = mirror_ ? width_ - 1 - x : x;
      const float pixel = pixels[from * channels_ + c];
      out[c * plane + x] = ((pixel - mean[from]) * contrast_ + illumination_) * factor_[c];
    }
  }
}

void PixelWriter::row(int y, const uint8_t* pixels) {
  const int64_t plane = int64_t{height_} * width_, place = int64_t{y} * width_;
  const RowLoops& loops = row_loops();
  if (dtype_ == DType::uint8 && plain_ && contrast_ == 1 && illumination_ == 0) {
    loops.to_bytes(pixels, width_, channels_, mirror_, reinterpret_cast<uint8_t*>(sample_) + place, plane);
    return;
  }
  const bool direct = dtype_ == DType::float32;
  float* const out = direct ? reinterpret_cast<float*>(sample_) + place : scratch_.data();
  const int64_t out_plane = direct ? plane : width_;
  if (mean_image_.empty()) {
    loops.to_float(pixels, width_, channels_, mirror_, normalise_, out, out_plane);
  } else {
    row_less_mean(y, pixels, out, out_plane);
  }
  if (direct) return;
  dispatch_numeric(dtype_, "ImageRecordIter", [&]<class T>(Type<T>) {
    for (int c = 0; c < channels_; ++c) {
      convert(out + c * out_plane, width_, reinterpret_cast<T*>(sample_) + c * plane + place);
    }
  });
}

}  // namespace loomix::io
