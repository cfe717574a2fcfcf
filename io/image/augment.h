// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/params.h"
#include "io/image/image.h"
#include "io/image/random.h"
#include "io/image/resize.h"

namespace loomix::io {

// MXNet's default augmentation: resize, rotate and shear and scale, pad, crop, change colours, in this order.
struct AugmentParams {
  int resize = -1;
  bool rand_crop = false;
  bool random_resized_crop = false;
  int max_rotate_angle = 0;
  float max_aspect_ratio = 0;
  std::optional<float> min_aspect_ratio;
  float max_shear_ratio = 0;
  int max_crop_size = -1;
  int min_crop_size = -1;
  float max_random_scale = 1;
  float min_random_scale = 1;
  float max_random_area = 1;
  float min_random_area = 1;
  float max_img_size = 1e10f;
  float min_img_size = 0;
  float brightness = 0;
  float contrast = 0;
  float saturation = 0;
  float pca_noise = 0;
  int random_h = 0;
  int random_s = 0;
  int random_l = 0;
  int rotate = -1;
  int fill_value = 255;
  int inter_method = 1;
  int pad = 0;

  template <class P>
  static void add_fields(FieldList<P>& f);

  bool warps() const;
  bool changes_colours() const;
};

// Brings images to one height and width. Keeps scratch memory; one thread at a time.
class Augmenter {
 public:
  Augmenter(const AugmentParams& params, int height, int width);

  // Nothing but a crop is to be done, if the image is not smaller than the result.
  bool only_crops() const { return only_crops_; }
  struct Place {
    int y, x;
  };
  // Where to crop an image of this size; draws as run() does.
  Place crop_place(int image_height, int image_width, SampleRandom& random) const;

  // `image` is overwritten; the result lies in it or in memory of the augmenter, until the next call.
  ImageView run(Image& image, SampleRandom& random);

 private:
  // Resizes a part of the image to the size of scratch_ and puts the result into `image`.
  void resize_part(Image& image, int y, int x, int height, int width, SampleRandom& random);
  void warp_randomly(Image& image, SampleRandom& random);
  void crop_and_resize(Image& image, SampleRandom& random);
  ImageView crop(Image& image, SampleRandom& random);
  void change_colours(Image& image, SampleRandom& random) const;

  const AugmentParams params_;
  const int height_, width_;
  bool only_crops_;
  Resizer resizer_;
  Image scratch_;
};

template <class P>
void AugmentParams::add_fields(FieldList<P>& f) {
  f("resize", &P::resize, "Length that the shorter edge is resized to before anything else; -1: not at all.");
  f("rand_crop", &P::rand_crop, "Crops at a random place rather than in the middle.");
  f("random_resized_crop", &P::random_resized_crop,
    "Crops a part of random area and aspect ratio and resizes it.");
  f("max_rotate_angle", &P::max_rotate_angle, "Rotates by a random angle in [-v, v] degrees.")
      .at_least(0)
      .at_most(360);
  f("max_aspect_ratio", &P::max_aspect_ratio,
    "Aspect ratios are drawn from [1 - max_aspect_ratio, 1 + max_aspect_ratio], or from [min_aspect_ratio, "
    "max_aspect_ratio] if that is given.");
  f("min_aspect_ratio", &P::min_aspect_ratio, "See max_aspect_ratio.");
  f("max_shear_ratio", &P::max_shear_ratio, "Shears by a random ratio in [-v, v].");
  f("max_crop_size", &P::max_crop_size, "Crops a square of random size in [min_crop_size, max_crop_size].");
  f("min_crop_size", &P::min_crop_size, "See max_crop_size.");
  f("max_random_scale", &P::max_random_scale,
    "Scales by a random factor in [min_random_scale, max_random_scale].");
  f("min_random_scale", &P::min_random_scale, "See max_random_scale.");
  f("max_random_area", &P::max_random_area,
    "Share of the area that random_resized_crop takes: random in [min_random_area, max_random_area].");
  f("min_random_area", &P::min_random_area, "See max_random_area.");
  f("max_img_size", &P::max_img_size, "Largest width and height after scaling.");
  f("min_img_size", &P::min_img_size, "Smallest width and height after scaling.");
  f("brightness", &P::brightness, "Changes brightness by a random factor in [1 - v, 1 + v].");
  f("contrast", &P::contrast, "Changes contrast by a random factor in [1 - v, 1 + v].");
  f("saturation", &P::saturation, "Changes saturation by a random factor in [1 - v, 1 + v].");
  f("pca_noise", &P::pca_noise, "Deviation of the noise along the principal components of colours.");
  f("random_h", &P::random_h, "Adds a random value in [-v, v] to the hue, which goes from 0 to 180.");
  f("random_s", &P::random_s, "Adds a random value in [-v, v] to the saturation.");
  f("random_l", &P::random_l, "Adds a random value in [-v, v] to the lightness.");
  f("rotate", &P::rotate, "Rotates by this angle instead of a random one; -1: does not.");
  f("fill_value", &P::fill_value, "Value of pixels from outside the image.").at_least(0).at_most(255);
  f("inter_method", &P::inter_method,
    "Interpolation: 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 lanczos, 9 by size, 10 random.")
      .at_least(0)
      .at_most(10);
  f("pad", &P::pad, "Margin that is added at each side.").at_least(0).at_most(1 << 14);
}

}  // namespace loomix::io
