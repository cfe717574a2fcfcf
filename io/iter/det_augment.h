// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "io/image/image.h"
#include "io/image/random.h"
#include "io/image/resize.h"
#include "io/iter/image_det_record_iter.h"

namespace loomix::io {

struct Box {
  float left, top, right, bottom;  // shares of width and height
  float area() const;
  Box cut(const Box& other) const;
};

// A label: its header, and the objects, of `width` numbers each: class, box, others.
struct BoxLabel {
  std::vector<float> header;
  int width = 0;
  std::vector<float> objects;

  // Throws FileError for numbers that do not fit together.
  explicit BoxLabel(const std::vector<float>& raw);
  size_t count() const { return objects.size() / size_t(width); }
  Box box(size_t i) const;
  void set_box(size_t i, const Box& box);
  void remove(size_t i);
};

// MXNet's augmentation for detection: resize, colours, mirror, pad, crop, and resize to the result.
class DetAugmenter {
 public:
  DetAugmenter(const ImageDetRecordParams& params, int height, int width);
  // Changes the image and its label; the result fits into height x width.
  void run(Image& image, BoxLabel& label, SampleRandom& random);

 private:
  void change_colours(Image& image, SampleRandom& random) const;
  void mirror(Image& image, BoxLabel& label) const;
  void pad_randomly(Image& image, BoxLabel& label, SampleRandom& random);
  void crop_randomly(Image& image, BoxLabel& label, SampleRandom& random);
  std::optional<Box> draw_crop(size_t sampler, const Image& image, const BoxLabel& label,
                               SampleRandom& random) const;
  bool keep(const Box& box, const Box& crop) const;
  void resize(Image& image, int height, int width, SampleRandom& random);
  void fit(Image& image, SampleRandom& random);

  const ImageDetRecordParams params_;
  const int height_, width_;
  Resizer resizer_;
  Image scratch_;
};

}  // namespace loomix::io
