// SPDX-License-Identifier: Apache-2.0
#include "io/image/exif.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace loomix::io {
namespace {

constexpr uint16_t kOrientationTag = 0x0112;
constexpr uint8_t kStartOfScan = 0xda, kApp1 = 0xe1;

// Numbers of a TIFF block; what lies outside it reads as 0.
class Tiff {
 public:
  explicit Tiff(std::span<const uint8_t> bytes) : bytes_(bytes) {
    big_ = bytes.size() > 1 && bytes[0] == 'M' && bytes[1] == 'M';
    valid_ = big_ || (bytes.size() > 1 && bytes[0] == 'I' && bytes[1] == 'I');
  }
  bool valid() const { return valid_ && u16(2) == 42; }
  uint32_t u16(size_t at) const { return big_ ? byte(at) << 8 | byte(at + 1) : byte(at + 1) << 8 | byte(at); }
  uint32_t u32(size_t at) const { return big_ ? u16(at) << 16 | u16(at + 2) : u16(at + 2) << 16 | u16(at); }

 private:
  uint32_t byte(size_t at) const { return at < bytes_.size() ? bytes_[at] : 0; }
  std::span<const uint8_t> bytes_;
  bool big_ = false;
  bool valid_ = false;
};

}  // namespace

Orientation exif_orientation(std::span<const uint8_t> tiff) {
  const Tiff block(tiff);
  if (!block.valid()) return 1;
  const size_t directory = block.u32(4);
  const size_t entries = block.u16(directory);
  for (size_t i = 0; i < entries && directory + 2 + 12 * i < tiff.size(); ++i) {
    const size_t entry = directory + 2 + 12 * i;
    if (block.u16(entry) != kOrientationTag) continue;
    const uint32_t value = block.u16(entry + 8);
    return value >= 1 && value <= 8 ? static_cast<Orientation>(value) : 1;
  }
  return 1;
}

Orientation jpeg_orientation(std::span<const uint8_t> file) {
  size_t at = 2;  // behind the start-of-image marker
  while (at + 4 <= file.size() && file[at] == 0xff) {
    const uint8_t marker = file[at + 1];
    if (marker == 0xff) {  // fill byte
      ++at;
      continue;
    }
    if (marker == kStartOfScan) return 1;
    const size_t length = size_t{file[at + 2]} << 8 | file[at + 3];
    const size_t begin = at + 4, end = at + 2 + length;
    if (length < 2 || end > file.size()) return 1;
    constexpr std::string_view kName("Exif\0\0", 6);
    if (marker == kApp1 && end - begin > kName.size() &&
        std::memcmp(&file[begin], kName.data(), kName.size()) == 0) {
      return exif_orientation(file.subspan(begin + kName.size(), end - begin - kName.size()));
    }
    at = end;
  }
  return 1;
}

void turn_upright(Orientation orientation, Image& image, Image& scratch) {
  if (orientation <= 1 || orientation > 8) return;
  const int height = image.height(), width = image.width(), channels = image.channels();
  const bool swaps = orientation >= 5;
  scratch.reshape(swaps ? width : height, swaps ? height : width, channels);
  // The stored place of each upright pixel: which stored axis runs along, and from which end.
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  for (int y = 0; y < scratch.height(); ++y) {
    uint8_t* out = scratch.row(y);
    for (int x = 0; x < scratch.width(); ++x, out += channels) {
      int row = swaps ? x : y, column = swaps ? y : x;
      if (from_bottom) row = height - 1 - row;
      if (from_right) column = width - 1 - column;
      std::copy_n(image.row(row) + ptrdiff_t{column} * channels, channels, out);
    }
  }
  std::swap(image, scratch);
}

}  // namespace loomix::io
