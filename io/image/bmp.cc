// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "io/image/formats.h"

// BMP: "BM", file header of 14 bytes, information header, perhaps a palette, then rows from the bottom (or, with a
// negative height, from the top), each padded to a multiple of 4 bytes. Numbers are little-endian, pixels B, G, R(, A).
namespace loomix::io {
namespace {

[[noreturn]] void refuse(const char* why) {
  detail::throw_error<FileError>("[decode_image] the BMP {}; expected 1, 4, 8, 24 or 32 bits, uncompressed.",
                                 why);
}

uint32_t u32(std::span<const uint8_t> file, size_t at) {
  if (at + 4 > file.size()) refuse("is cut off");
  return file[at] | file[at + 1] << 8 | file[at + 2] << 16 | uint32_t{file[at + 3]} << 24;
}

}  // namespace

void decode_bmp(std::span<const uint8_t> file, Color color, Image& out) {
  const size_t pixels_at = u32(file, 10), header_bytes = u32(file, 14);
  if (header_bytes < 40) refuse("has an old header");
  const int64_t width = static_cast<int32_t>(u32(file, 18));
  const int64_t signed_height = static_cast<int32_t>(u32(file, 22));
  const int64_t height = std::abs(signed_height);
  const uint32_t bits = u32(file, 26) >> 16, compression = u32(file, 30);
  // Compression 3 gives masks of the channels; only the usual ones are known.
  const bool usual_masks = compression == 3 && bits == 32 && u32(file, 54) == 0xff0000 &&
                           u32(file, 58) == 0xff00 && u32(file, 62) == 0xff;
  if (compression != 0 && !usual_masks) refuse("is compressed");
  if (bits != 1 && bits != 4 && bits != 8 && bits != 24 && bits != 32) refuse("has unusual pixels");
  if (width <= 0 || height <= 0 || width > kMaxPixels / height) refuse("has an impossible size");
  const size_t row_bytes = size_t((width * bits + 31) / 32 * 4);
  if (pixels_at > file.size() || row_bytes * size_t(height) > file.size() - pixels_at) refuse("is cut off");
  std::vector<uint8_t> palette;  // R, G, B
  if (bits <= 8) {
    size_t count = u32(file, 46);
    if (count == 0 || count > (size_t{1} << bits)) count = size_t{1} << bits;
    palette.resize(3 << bits);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t entry = u32(file, 14 + header_bytes + 4 * i);
      for (int c = 0; c < 3; ++c) palette[3 * i + size_t(c)] = static_cast<uint8_t>(entry >> (16 - 8 * c));
    }
  }
  const int channels = channels_for(color, bits == 32 ? 4 : 3), stored = bits == 32 && channels == 4 ? 4 : 3;
  out.reshape(static_cast<int>(height), static_cast<int>(width), channels);
  std::vector<uint8_t> row(size_t(width) * size_t(stored));
  for (int y = 0; y < out.height(); ++y) {
    const uint8_t* in = &file[pixels_at] + row_bytes * size_t(signed_height > 0 ? out.height() - 1 - y : y);
    for (size_t x = 0; x < size_t(width); ++x) {
      uint8_t* to = &row[x * size_t(stored)];
      if (bits <= 8) {
        const size_t bit = x * bits;
        const size_t entry = in[bit / 8] >> (8 - bits - bit % 8) & ((1u << bits) - 1);
        for (size_t c = 0; c < 3; ++c) to[c] = palette[3 * entry + c];
      } else {
        const uint8_t* pixel = in + x * (bits / 8);
        for (int c = 0; c < 3; ++c) to[c] = pixel[2 - c];
        if (stored == 4) to[3] = pixel[3];
      }
    }
    convert_row(row.data(), stored, out.row(y), channels, out.width());
  }
}

}  // namespace loomix::io
