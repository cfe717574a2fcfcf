// SPDX-License-Identifier: Apache-2.0
#include "io/image/codec.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "io/image/exif.h"
#include "io/image/formats.h"
#include "io/image/jpeg_decoder.h"

namespace loomix::io {
namespace {

bool begins_with(std::span<const uint8_t> file, std::string_view text) {
  return file.size() >= text.size() && std::memcmp(file.data(), text.data(), text.size()) == 0;
}

void decode_jpeg(std::span<const uint8_t> file, const DecodeOptions& options, Image& out) {
  JpegDecoder decoder;
  decoder.open(file);
  decoder.start(options.color, options.jpeg_denominator);
  out.reshape(decoder.height(), decoder.width(), decoder.channels());
  decoder.read(out.data(), out.stride(), out.height());
  decoder.finish();
  const Orientation orientation = options.apply_orientation ? jpeg_orientation(file) : 1;
  if (orientation == 1) return;
  Image turned;
  turn_upright(orientation, out, turned);
}

std::string first_bytes(std::span<const uint8_t> file) {
  std::string text;
  for (const uint8_t byte : file.first(std::min<size_t>(file.size(), 8)))
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", byte);
  return text;
}

}  // namespace

ImageFormat image_format(std::span<const uint8_t> file) {
  if (begins_with(file, "\xff\xd8\xff")) return ImageFormat::jpeg;
  if (begins_with(file, "\x89PNG\r\n\x1a\n")) return ImageFormat::png;
  if (begins_with(file, "BM")) return ImageFormat::bmp;
  return ImageFormat::unknown;
}

void decode_image(std::span<const uint8_t> file, Image& out, const DecodeOptions& options) {
  const int denominator = options.jpeg_denominator;
  LOOMIX_CHECK(denominator == 1 || denominator == 2 || denominator == 4 || denominator == 8, ValueError,
               "[decode_image] the denominator is {}; expected 1, 2, 4 or 8.", denominator);
  switch (image_format(file)) {
    case ImageFormat::jpeg: return decode_jpeg(file, options, out);
    case ImageFormat::png: return decode_png(file, options.color, out);
    case ImageFormat::bmp: return decode_bmp(file, options.color, out);
    case ImageFormat::unknown: break;
  }
  LOOMIX_CHECK(!file.empty(), FileError,
               "[decode_image] there are no bytes; expected a JPEG, PNG or BMP file.");
  detail::throw_error<FileError>(
      "[decode_image] the {} bytes begin with {}; expected a JPEG, PNG or BMP file.", file.size(),
      first_bytes(file));
}

Image decode_image(std::span<const uint8_t> file, const DecodeOptions& options) {
  Image image;
  decode_image(file, image, options);
  return image;
}

int channels_for(Color color, int in_file) {
  return color == Color::gray ? 1 : color == Color::rgb ? 3 : in_file;
}

void convert_row(const uint8_t* in, int in_channels, uint8_t* out, int out_channels, int pixels) {
  if (in_channels == out_channels) {
    std::memmove(out, in, size_t(pixels) * size_t(in_channels));
    return;
  }
  for (int i = 0; i < pixels; ++i, in += in_channels, out += out_channels) {
    const int red = in[0], green = in[in_channels > 1 ? 1 : 0], blue = in[in_channels > 1 ? 2 : 0];
    if (out_channels == 1) {
      *out = static_cast<uint8_t>((red * 4899 + green * 9617 + blue * 1868 + 8192) >> 14);
    } else {
      out[0] = static_cast<uint8_t>(red);
      out[1] = static_cast<uint8_t>(green);
      out[2] = static_cast<uint8_t>(blue);
      if (out_channels == 4) out[3] = 255;
    }
  }
}

}  // namespace loomix::io
