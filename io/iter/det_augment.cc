// SPDX-License-Identifier: Apache-2.0
#include "io/iter/det_augment.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "io/image/codec.h"
#include "io/image/colour.h"
#include "io/image/warp.h"

namespace loomix::io {
namespace {

constexpr size_t kBoxAt = 1;  // of an object's numbers

float value_at(const std::vector<float>& list, size_t i) { return list.size() == 1 ? list[0] : list[i]; }

}  // namespace

float Box::area() const { return std::max(0.0f, right - left) * std::max(0.0f, bottom - top); }

Box Box::cut(const Box& other) const {
  return {std::max(left, other.left), std::max(top, other.top), std::min(right, other.right),
          std::min(bottom, other.bottom)};
}

BoxLabel::BoxLabel(const std::vector<float>& raw) {
  const auto at = [&](size_t i) {
    return i < raw.size() && raw[i] >= 0 && raw[i] < 1e6f ? int64_t(raw[i]) : 0;
  };
  const int64_t header_width = at(0), object_width = at(1), size = int64_t(raw.size());
  LOOMIX_CHECK(header_width >= 2 && object_width >= 5 && header_width <= size &&
                   (size - header_width) % object_width == 0,
               FileError,
               "[ImageDetRecordIter] a label of {} numbers says that its header has {} and each object {}; "
               "expected at "
               "least 2, at least 5, and no rest.",
               size, header_width, object_width);
  width = static_cast<int>(object_width);
  header.assign(raw.begin(), raw.begin() + header_width);
  objects.assign(raw.begin() + header_width, raw.end());
}

Box BoxLabel::box(size_t i) const {
  const float* place = &objects[i * size_t(width) + kBoxAt];
  return {place[0], place[1], place[2], place[3]};
}

void BoxLabel::set_box(size_t i, const Box& box) {
  float* place = &objects[i * size_t(width) + kBoxAt];
  place[0] = box.left;
  place[1] = box.top;
  place[2] = box.right;
  place[3] = box.bottom;
}

void BoxLabel::remove(size_t i) {
  const auto begin = objects.begin() + static_cast<ptrdiff_t>(i * size_t(width));
  objects.erase(begin, begin + width);
}

DetAugmenter::DetAugmenter(const ImageDetRecordParams& params, int height, int width)
    : params_(params), height_(height), width_(width) {
  const auto check = [&](const char* name, size_t size) {
    LOOMIX_CHECK(size == 1 || size == size_t(params.num_crop_sampler), ValueError,
                 "[ImageDetRecordIter] {} has {} numbers; expected 1 or num_crop_sampler, {}.", name, size,
                 params.num_crop_sampler);
  };
  check("min_crop_scales", params.min_crop_scales.size());
  check("max_crop_scales", params.max_crop_scales.size());
  check("min_crop_aspect_ratios", params.min_crop_aspect_ratios.size());
  check("max_crop_aspect_ratios", params.max_crop_aspect_ratios.size());
  check("min_crop_overlaps", params.min_crop_overlaps.size());
  check("max_crop_overlaps", params.max_crop_overlaps.size());
  check("min_crop_sample_coverages", params.min_crop_sample_coverages.size());
  check("max_crop_sample_coverages", params.max_crop_sample_coverages.size());
  check("min_crop_object_coverages", params.min_crop_object_coverages.size());
  check("max_crop_object_coverages", params.max_crop_object_coverages.size());
  check("max_crop_trials", size_t(std::max(params.max_crop_trials.ndim(), 0)));
  choose_interpolation(params.inter_method, 1, 1, 1, 1, 0);
}

void DetAugmenter::resize(Image& image, int height, int width, SampleRandom& random) {
  if (image.height() == height && image.width() == width) return;
  const uint32_t draw = params_.inter_method == 10 ? random.word() : 0;
  scratch_.reshape(height, width, image.channels());
  resizer_.run(
      image, scratch_,
      choose_interpolation(params_.inter_method, image.height(), image.width(), height, width, draw));
  std::swap(image, scratch_);
}

void DetAugmenter::change_colours(Image& image, SampleRandom& random) const {
  const ImageDetRecordParams& p = params_;
  const auto draw = [&](float probability, int range) {
    const bool changes = random.uniform(0, 1) < probability;
    const int value = random.integer(-range, range);
    return changes ? value : 0;
  };
  const int hue = draw(p.random_hue_prob, p.max_random_hue);
  const int saturation = draw(p.random_saturation_prob, p.max_random_saturation);
  const int lightness = draw(p.random_illumination_prob, p.max_random_illumination);
  if (image.channels() == 3 && (hue != 0 || saturation != 0 || lightness != 0)) {
    add_hls(image, hue, lightness, saturation);
  }
  if (random.uniform(0, 1) < p.random_contrast_prob) {
    change_brightness(image,
                      static_cast<float>(1 + random.uniform(-p.max_random_contrast, p.max_random_contrast)));
  }
}

void DetAugmenter::mirror(Image& image, BoxLabel& label) const {
  const int channels = image.channels();
  for (int y = 0; y < image.height(); ++y) {
    uint8_t* row = image.row(y);
    for (int a = 0, b = image.width() - 1; a < b; ++a, --b) {
      std::swap_ranges(row + a * channels, row + (a + 1) * channels, row + b * channels);
    }
  }
  for (size_t i = 0; i < label.count(); ++i) {
    const Box box = label.box(i);
    label.set_box(i, {1 - box.right, box.top, 1 - box.left, box.bottom});
  }
}

void DetAugmenter::pad_randomly(Image& image, BoxLabel& label, SampleRandom& random) {
  const double scale = random.uniform(1, params_.max_pad_scale);
  const int height = static_cast<int>(image.height() * scale),
            width = static_cast<int>(image.width() * scale);
  const int top = random.integer(0, height - image.height()), left = random.integer(0, width - image.width());
  const Box inner = {float(left) / float(width), float(top) / float(height),
                     float(left + image.width()) / float(width), float(top + image.height()) / float(height)};
  pad(image, top, height - image.height() - top, left, width - image.width() - left,
      static_cast<uint8_t>(params_.fill_value), scratch_);
  std::swap(image, scratch_);
  const float w = inner.right - inner.left, h = inner.bottom - inner.top;
  for (size_t i = 0; i < label.count(); ++i) {
    const Box box = label.box(i);
    label.set_box(i, {inner.left + box.left * w, inner.top + box.top * h, inner.left + box.right * w,
                      inner.top + box.bottom * h});
  }
}

// A crop that fulfils the sampler's conditions with at least one object.
std::optional<Box> DetAugmenter::draw_crop(size_t sampler, const Image& image, const BoxLabel& label,
                                           SampleRandom& random) const {
  const ImageDetRecordParams& p = params_;
  const auto in = [&](float value, const std::vector<float>& low, const std::vector<float>& high) {
    return value >= value_at(low, sampler) && value <= value_at(high, sampler);
  };
  const int trials = int(p.max_crop_trials[p.max_crop_trials.ndim() == 1 ? 0 : int(sampler)]);
  const float aspect = float(image.width()) / float(image.height());
  for (int trial = 0; trial < trials; ++trial) {
    const double scale =
        random.uniform(value_at(p.min_crop_scales, sampler), value_at(p.max_crop_scales, sampler)) + 1e-12;
    const double low = std::max<double>(value_at(p.min_crop_aspect_ratios, sampler) / aspect, scale * scale);
    const double high =
        std::min<double>(value_at(p.max_crop_aspect_ratios, sampler) / aspect, 1 / (scale * scale));
    const double ratio = std::sqrt(random.uniform(std::min(low, high), std::max(low, high)));
    const auto width = static_cast<float>(std::min(1.0, scale * ratio));
    const auto height = static_cast<float>(std::min(1.0, scale / ratio));
    const auto left = static_cast<float>(random.uniform(0, 1 - width)),
               top = static_cast<float>(random.uniform(0, 1 - height));
    const Box crop = {left, top, left + width, top + height};
    if (width * float(image.width()) < 1 || height * float(image.height()) < 1) continue;
    for (size_t i = 0; i < label.count(); ++i) {
      const Box box = label.box(i);
      const float common = crop.cut(box).area(), all = crop.area() + box.area() - common;
      if (all > 0 && in(common / all, p.min_crop_overlaps, p.max_crop_overlaps) &&
          in(common / std::max(crop.area(), 1e-12f), p.min_crop_sample_coverages,
             p.max_crop_sample_coverages) &&
          in(common / std::max(box.area(), 1e-12f), p.min_crop_object_coverages,
             p.max_crop_object_coverages) &&
          keep(box, crop)) {
        return crop;
      }
    }
  }
  return std::nullopt;
}

bool DetAugmenter::keep(const Box& box, const Box& crop) const {
  if (params_.crop_emit_mode == CropEmit::overlap) {
    return crop.cut(box).area() > params_.emit_overlap_thresh * box.area();
  }
  const float x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
  return x >= crop.left && x <= crop.right && y >= crop.top && y <= crop.bottom;
}

void DetAugmenter::crop_randomly(Image& image, BoxLabel& label, SampleRandom& random) {
  const auto sampler = size_t(random.integer(0, params_.num_crop_sampler - 1));
  const auto crop = draw_crop(sampler, image, label, random);
  if (!crop) return;
  const int x = int(crop->left * float(image.width())), y = int(crop->top * float(image.height()));
  const int w = std::clamp(int((crop->right - crop->left) * float(image.width())), 1, image.width() - x);
  const int h = std::clamp(int((crop->bottom - crop->top) * float(image.height())), 1, image.height() - y);
  const ImageView part = image.view().crop(y, x, h, w);
  scratch_.reshape(h, w, image.channels());
  for (int row = 0; row < h; ++row) std::copy_n(part.row(row), scratch_.stride(), scratch_.row(row));
  std::swap(image, scratch_);
  const float width = crop->right - crop->left, height = crop->bottom - crop->top;
  for (size_t i = label.count(); i-- > 0;) {
    const Box box = label.box(i);
    if (!keep(box, *crop)) {
      label.remove(i);
      continue;
    }
    const auto share = [](float value) { return std::clamp(value, 0.0f, 1.0f); };
    label.set_box(i, {share((box.left - crop->left) / width), share((box.top - crop->top) / height),
                      share((box.right - crop->left) / width), share((box.bottom - crop->top) / height)});
  }
}

void DetAugmenter::fit(Image& image, SampleRandom& random) {
  if (params_.resize_mode == ResizeMode::force) return resize(image, height_, width_, random);
  const double ratio = std::min(double(height_) / image.height(), double(width_) / image.width());
  if (params_.resize_mode == ResizeMode::shrink && ratio >= 1) return;
  resize(image, std::clamp(int(image.height() * ratio + 1e-9), 1, height_),
         std::clamp(int(image.width() * ratio + 1e-9), 1, width_), random);
}

void DetAugmenter::run(Image& image, BoxLabel& label, SampleRandom& random) {
  const ImageDetRecordParams& p = params_;
  if (p.resize > 0) {
    const bool tall = image.height() > image.width();
    const int64_t shorter = std::min(image.height(), image.width()),
                  longer = std::max(image.height(), image.width());
    const int64_t other = longer * p.resize / shorter;
    LOOMIX_CHECK(other * p.resize <= kMaxPixels, ValueError,
                 "[ImageDetRecordIter] resize {} makes an image too large.", p.resize);
    resize(image, tall ? int(other) : p.resize, tall ? p.resize : int(other), random);
  }
  change_colours(image, random);
  if (random.uniform(0, 1) < p.rand_mirror_prob) mirror(image, label);
  if (random.uniform(0, 1) < p.rand_pad_prob && p.max_pad_scale > 1) pad_randomly(image, label, random);
  if (random.uniform(0, 1) < p.rand_crop_prob) crop_randomly(image, label, random);
  fit(image, random);
}

}  // namespace loomix::io
