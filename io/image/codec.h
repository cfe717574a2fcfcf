// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/image/image.h"
#include "io/image/resize.h"

// Encoded images to pixels and back. Everything here may be called from any thread.
namespace loomix::io {

// Values as in OpenCV's flags, which MXNet's API shows.
enum class Color : int {
  unchanged = -1,  // 1, 3 or 4 channels, as in the file
  gray = 0,        // 1 channel
  rgb = 1,         // 3 channels
};
// What gives so many channels; 4 are there or not, as in the file.
constexpr Color color_of(int64_t channels) noexcept {
  return channels == 1 ? Color::gray : channels == 3 ? Color::rgb : Color::unchanged;
}

struct DecodeOptions {
  Color color = Color::rgb;
  // 2, 4 or 8: JPEGs are decoded to 1/2, 1/4, 1/8 of their size, which is faster; others come whole.
  int jpeg_denominator = 1;
  bool apply_orientation = true;  // turns the image as its EXIF data says
};

enum class ImageFormat { jpeg, png, bmp, unknown };
ImageFormat image_format(std::span<const uint8_t> file);

// Images beyond this number of pixels are refused.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
inline constexpr int64_t kMaxPixels = int64_t{1} << 20;  // larger ones only slow a fuzzer down
#else
inline constexpr int64_t kMaxPixels = int64_t{1} << 28;
#endif

// Pixels as OpenCV decodes them, but RGB. 16 bits a channel become 8. Throws FileError if the format is not known or
// the data is damaged or cut off.
void decode_image(std::span<const uint8_t> file, Image& out, const DecodeOptions& options = {});
Image decode_image(std::span<const uint8_t> file, const DecodeOptions& options = {});

// `quality` 1 to 100; 1 or 3 channels. Throws ValueError for others.
std::vector<uint8_t> encode_jpeg(const ImageView& image, int quality = 95);
// `compression` 0 (none) to 9 (smallest); 1, 3 or 4 channels.
std::vector<uint8_t> encode_png(const ImageView& image, int compression = 3);

}  // namespace loomix::io
