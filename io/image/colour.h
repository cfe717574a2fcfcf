// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/image/image.h"

// Changes of colour in place, with results clamped to bytes. Images of three channels, R, G, B; where a function says so,
// of any number.
namespace loomix::io {

void change_brightness(Image& image, float factor);  // any
// Away from the mean grey of the image; any.
void change_contrast(Image& image, float factor);
void change_saturation(Image& image, float factor);
// Rotates the hue by `turn` half circles.
void change_hue(Image& image, float turn);
// Adds the principal components of ImageNet's colours, scaled by alpha.
void add_lighting(Image& image, const float (&alpha)[3]);
// Adds to hue (0 to 180), saturation and lightness (0 to 255) as OpenCV stores them; clamped, not wrapped.
void add_hls(Image& image, int hue, int lightness, int saturation);

}  // namespace loomix::io
