// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "io/image/image.h"

namespace loomix::io {

// How a stored image must be turned to stand upright: EXIF's value 1 (not at all) to 8.
// 2: mirror; 3: by 180 degrees; 4: flip; 5: transpose; 6: clockwise; 7: transverse; 8: counter-clockwise.
using Orientation = int;

// Of a JPEG file; 1 where it says nothing that can be understood.
Orientation jpeg_orientation(std::span<const uint8_t> file);
// Of the content of an EXIF block, which begins with "II" or "MM".
Orientation exif_orientation(std::span<const uint8_t> tiff);

// Turns `image` upright; `scratch` is overwritten.
void turn_upright(Orientation orientation, Image& image, Image& scratch);

}  // namespace loomix::io
