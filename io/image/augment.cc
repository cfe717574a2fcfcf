// SPDX-License-Identifier: Apache-2.0
#include "io/image/augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/error.h"
#include "io/image/codec.h"
#include "io/image/colour.h"
#include "io/image/warp.h"

namespace loomix::io {

bool AugmentParams::warps() const {
  const bool ratio = !random_resized_crop && (max_aspect_ratio != 0 || min_aspect_ratio);
  return max_rotate_angle > 0 || rotate > 0 || max_shear_ratio > 0 || max_random_scale != 1 ||
         min_random_scale != 1 || ratio || max_img_size != 1e10f || min_img_size != 0;
}

bool AugmentParams::changes_colours() const {
  return brightness > 0 || contrast > 0 || saturation > 0 || pca_noise > 0 || random_h != 0 ||
         random_s != 0 || random_l != 0;
}

Augmenter::Augmenter(const AugmentParams& params, int height, int width)
    : params_(params), height_(height), width_(width) {
  const bool sized = params.random_resized_crop || params.max_crop_size != -1 || params.min_crop_size != -1;
  only_crops_ =
      params.resize <= 0 && !params.warps() && params.pad == 0 && !sized && !params.changes_colours();
  choose_interpolation(params.inter_method, 1, 1, 1, 1, 0);
  if (params.max_crop_size != -1 || params.min_crop_size != -1) {
    LOOMIX_CHECK(params.max_crop_size >= params.min_crop_size && params.min_crop_size > 0, ValueError,
                 "[ImageRecordIter] min_crop_size is {} and max_crop_size {}; expected 0 < min <= max.",
                 params.min_crop_size, params.max_crop_size);
  }
  const auto ordered = [](const char* what, double low, double high) {
    LOOMIX_CHECK(0 < low && low <= high, ValueError,
                 "[ImageRecordIter] min_{0} is {1} and max_{0} {2}; expected 0 < min <= max.", what, low,
                 high);
  };
  ordered("random_area", params.min_random_area, params.max_random_area);
  ordered("random_scale", params.min_random_scale, params.max_random_scale);
  if (params.min_aspect_ratio) ordered("aspect_ratio", *params.min_aspect_ratio, params.max_aspect_ratio);
  LOOMIX_CHECK(params.min_aspect_ratio || (params.max_aspect_ratio >= 0 && params.max_aspect_ratio < 1),
               ValueError,
               "[ImageRecordIter] max_aspect_ratio is {}; without min_aspect_ratio it must lie in [0, 1).",
               params.max_aspect_ratio);
}

Augmenter::Place Augmenter::crop_place(int image_height, int image_width, SampleRandom& random) const {
  const int y = image_height - height_, x = image_width - width_;
  if (!params_.rand_crop) return {y / 2, x / 2};
  const int row = random.integer(0, y);
  return {row, random.integer(0, x)};
}

void Augmenter::resize_part(Image& image, int y, int x, int height, int width, SampleRandom& random) {
  const uint32_t draw = params_.inter_method == 10 ? random.word() : 0;
  const Interpolation method =
      choose_interpolation(params_.inter_method, height, width, scratch_.height(), scratch_.width(), draw);
  resizer_.run(image.view().crop(y, x, height, width), scratch_, method);
  std::swap(image, scratch_);
}

void Augmenter::warp_randomly(Image& image, SampleRandom& random) {
  const AugmentParams& p = params_;
  const double shear = p.max_shear_ratio > 0 ? random.uniform(-p.max_shear_ratio, p.max_shear_ratio) : 0;
  double angle = p.max_rotate_angle > 0 ? random.integer(-p.max_rotate_angle, p.max_rotate_angle) : 0;
  if (p.rotate > 0) angle = p.rotate;
  const double a = std::cos(angle / 180 * std::numbers::pi), b = std::sin(angle / 180 * std::numbers::pi);
  const double scale = random.uniform(p.min_random_scale, p.max_random_scale);
  double ratio = 1;
  if (!p.random_resized_crop) {
    ratio = p.min_aspect_ratio ? random.uniform(*p.min_aspect_ratio, p.max_aspect_ratio)
                               : 1 + random.uniform(-p.max_aspect_ratio, p.max_aspect_ratio);
  }
  const double hs = 2 * scale / (1 + ratio), ws = ratio * hs;
  const double limit = std::sqrt(static_cast<double>(kMaxPixels));
  const auto size_of = [&](int size) {
    const double wanted = std::max<double>(p.min_img_size, std::min<double>(p.max_img_size, scale * size));
    return std::clamp(wanted, 1.0, limit);
  };
  const double new_width = size_of(image.width()), new_height = size_of(image.height());
  Affine forward = {{hs * a - shear * b * ws, hs * b + shear * a * ws, 0, -b * ws, a * ws, 0}};
  const double cx = image.width() / 2.0, cy = image.height() / 2.0;
  forward.m[2] = new_width / 2 - (forward.m[0] * cx + forward.m[1] * cy);
  forward.m[5] = new_height / 2 - (forward.m[3] * cx + forward.m[4] * cy);
  scratch_.reshape(static_cast<int>(new_height), static_cast<int>(new_width), image.channels());
  const bool nearest = p.inter_method == 0;
  warp(image, forward, static_cast<uint8_t>(p.fill_value),
       nearest ? Interpolation::nearest : Interpolation::bilinear, scratch_);
  std::swap(image, scratch_);
}

// A part of random area and shape; the middle if none fits in ten tries.
void Augmenter::crop_and_resize(Image& image, SampleRandom& random) {
  const AugmentParams& p = params_;
  const double area = double(image.height()) * image.width();
  const double low = p.min_aspect_ratio ? *p.min_aspect_ratio : 1 - p.max_aspect_ratio;
  const double high = p.min_aspect_ratio ? p.max_aspect_ratio : 1 + p.max_aspect_ratio;
  int height = 0, width = 0, y = 0, x = 0;
  for (int attempt = 0; attempt < 10 && height == 0; ++attempt) {
    const double wanted = area * random.uniform(p.min_random_area, p.max_random_area);
    const double ratio = random.uniform(low, high);
    int w = static_cast<int>(std::round(std::sqrt(wanted * ratio)));
    int h = static_cast<int>(std::round(std::sqrt(wanted / ratio)));
    if (random.flip()) std::swap(w, h);
    if (w < 1 || h < 1 || w > image.width() || h > image.height()) continue;
    height = h;
    width = w;
    y = random.integer(0, image.height() - h);
    x = random.integer(0, image.width() - w);
  }
  if (height == 0) {
    height = width = std::min(image.height(), image.width());
    y = (image.height() - height) / 2;
    x = (image.width() - width) / 2;
  }
  scratch_.reshape(height_, width_, image.channels());
  resize_part(image, y, x, height, width, random);
}

ImageView Augmenter::crop(Image& image, SampleRandom& random) {
  const AugmentParams& p = params_;
  if (p.random_resized_crop) {
    crop_and_resize(image, random);
    return image;
  }
  if (p.max_crop_size != -1 || p.min_crop_size != -1) {
    const int size = random.integer(p.min_crop_size, p.max_crop_size);
    LOOMIX_CHECK(image.height() >= size && image.width() >= size, ValueError,
                 "[ImageRecordIter] an image of {} x {} pixels is smaller than the crop size {}.",
                 image.width(), image.height(), size);
    const int room_y = image.height() - size, room_x = image.width() - size;
    const int y = p.rand_crop ? random.integer(0, room_y) : room_y / 2;
    const int x = p.rand_crop ? random.integer(0, room_x) : room_x / 2;
    scratch_.reshape(height_, width_, image.channels());
    resize_part(image, y, x, size, size, random);
    return image;
  }
  // An image that is too small is enlarged until it covers the crop.
  if (image.height() < height_ || image.width() < width_) {
    const bool by_width = int64_t{height_} * image.width() < int64_t{width_} * image.height();
    const int64_t height = by_width ? int64_t{image.height()} * width_ / image.width() : height_;
    const int64_t width = by_width ? width_ : int64_t{image.width()} * height_ / image.height();
    scratch_.reshape(static_cast<int>(std::max<int64_t>(height, height_)),
                     static_cast<int>(std::max<int64_t>(width, width_)), image.channels());
    resize_part(image, 0, 0, image.height(), image.width(), random);
  }
  const Place place = crop_place(image.height(), image.width(), random);
  return image.view().crop(place.y, place.x, height_, width_);
}

void Augmenter::change_colours(Image& image, SampleRandom& random) const {
  const AugmentParams& p = params_;
  if (p.random_h != 0 || p.random_s != 0 || p.random_l != 0) {
    const int h = random.integer(-p.random_h, p.random_h), s = random.integer(-p.random_s, p.random_s);
    add_hls(image, h, random.integer(-p.random_l, p.random_l), s);
  }
  int order[3] = {0, 1, 2};
  for (int i = 2; i > 0; --i) std::swap(order[i], order[random.integer(0, i)]);
  for (const int which : order) {
    const float range = which == 0 ? p.brightness : which == 1 ? p.contrast : p.saturation;
    if (range <= 0) continue;
    const auto factor = static_cast<float>(1 + random.uniform(-range, range));
    (which == 0 ? change_brightness : which == 1 ? change_contrast : change_saturation)(image, factor);
  }
  if (p.pca_noise > 0) {
    float alpha[3];
    for (float& value : alpha) value = static_cast<float>(random.normal(p.pca_noise));
    add_lighting(image, alpha);
  }
}

ImageView Augmenter::run(Image& image, SampleRandom& random) {
  const AugmentParams& p = params_;
  if (p.resize > 0) {
    const int64_t height = image.height(), width = image.width();
    const bool tall = height > width;
    const int64_t longer = p.resize * (tall ? height : width) / (tall ? width : height);
    LOOMIX_CHECK(longer * p.resize <= kMaxPixels, ValueError,
                 "[ImageRecordIter] resizing {} x {} pixels to a shorter edge of {} makes it too large.",
                 width, height, p.resize);
    scratch_.reshape(tall ? static_cast<int>(longer) : p.resize, tall ? p.resize : static_cast<int>(longer),
                     image.channels());
    resize_part(image, 0, 0, image.height(), image.width(), random);
  }
  if (p.warps()) warp_randomly(image, random);
  if (p.pad > 0) {
    pad(image, p.pad, p.pad, p.pad, p.pad, static_cast<uint8_t>(p.fill_value), scratch_);
    std::swap(image, scratch_);
  }
  ImageView result = crop(image, random);
  if (p.changes_colours() && image.channels() == 3) {
    scratch_.reshape(result.height, result.width, 3);
    for (int y = 0; y < result.height; ++y) std::copy_n(result.row(y), scratch_.stride(), scratch_.row(y));
    change_colours(scratch_, random);
    result = scratch_;
  }
  return result;
}

}  // namespace loomix::io
