// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace loomix::io {

// Pixels of somebody else's: rows of `width` pixels of `channels` bytes, `stride` bytes apart.
struct ImageView {
  const uint8_t* data = nullptr;
  int height = 0;
  int width = 0;
  int channels = 0;
  ptrdiff_t stride = 0;

  const uint8_t* row(int y) const { return data + y * stride; }
  // The part of the rows [y, y + h) and columns [x, x + w), which must lie inside.
  ImageView crop(int y, int x, int h, int w) const {
    return {row(y) + ptrdiff_t{x} * channels, h, w, channels, stride};
  }
};

// Pixels in memory, rows without gaps: height x width x channels bytes, RGB. Its memory is reused by reshape().
class Image {
 public:
  Image() = default;
  Image(int height, int width, int channels) { reshape(height, width, channels); }

  // The content is lost.
  void reshape(int height, int width, int channels) {
    const size_t bytes = size_t(height) * size_t(width) * size_t(channels);
    if (bytes > capacity_) {
      data_ = std::make_unique_for_overwrite<uint8_t[]>(bytes);
      capacity_ = bytes;
    }
    height_ = height;
    width_ = width;
    channels_ = channels;
  }

  int height() const { return height_; }
  int width() const { return width_; }
  int channels() const { return channels_; }
  bool empty() const { return bytes() == 0; }
  size_t bytes() const { return size_t(height_) * stride(); }
  size_t stride() const { return size_t(width_) * size_t(channels_); }
  uint8_t* data() { return data_.get(); }
  const uint8_t* data() const { return data_.get(); }
  uint8_t* row(int y) { return data_.get() + size_t(y) * stride(); }
  const uint8_t* row(int y) const { return data_.get() + size_t(y) * stride(); }
  std::span<uint8_t> pixels() { return {data_.get(), bytes()}; }
  std::span<const uint8_t> pixels() const { return {data_.get(), bytes()}; }
  ImageView view() const {
    return {data_.get(), height_, width_, channels_, static_cast<ptrdiff_t>(stride())};
  }
  operator ImageView() const { return view(); }  // NOLINT: an Image is what its view shows

 private:
  std::unique_ptr<uint8_t[]> data_;
  size_t capacity_ = 0;
  int height_ = 0;
  int width_ = 0;
  int channels_ = 0;
};

}  // namespace loomix::io
