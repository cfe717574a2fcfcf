// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "io/image/codec.h"

// What decode_image calls for each format, and the conversions that the formats share.
namespace loomix::io {

void decode_png(std::span<const uint8_t> file, Color color, Image& out);
void decode_bmp(std::span<const uint8_t> file, Color color, Image& out);

// From 1, 3 or 4 channels to those asked for; `in` and `out` may be the same if the channels do not grow.
void convert_row(const uint8_t* in, int in_channels, uint8_t* out, int out_channels, int pixels);
int channels_for(Color color, int in_file);

}  // namespace loomix::io
