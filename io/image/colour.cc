// SPDX-License-Identifier: Apache-2.0
#include "io/image/colour.h"

#include <algorithm>
#include <cmath>

namespace loomix::io {
namespace {

uint8_t to_byte(float value) { return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f) + 0.5f); }

float gray_of(const uint8_t* pixel) { return 0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2]; }

template <class Change>
void each_pixel(Image& image, const Change& change) {
  uint8_t* const end = image.data() + image.bytes();
  for (uint8_t* pixel = image.data(); pixel < end; pixel += image.channels()) change(pixel);
}

// value * factor + shift for every byte, by a table.
void scale_bytes(Image& image, float factor, float shift) {
  uint8_t table[256];
  for (int i = 0; i < 256; ++i) table[i] = to_byte(static_cast<float>(i) * factor + shift);
  for (uint8_t& value : image.pixels()) value = table[value];
}

}  // namespace

void change_brightness(Image& image, float factor) { scale_bytes(image, factor, 0); }

void change_contrast(Image& image, float factor) {
  double sum = 0;
  const bool coloured = image.channels() >= 3;
  each_pixel(image, [&](const uint8_t* pixel) { sum += coloured ? gray_of(pixel) : pixel[0]; });
  const double pixels = std::max(1.0, double(image.height()) * image.width());
  scale_bytes(image, factor, static_cast<float>(sum / pixels) * (1 - factor));
}

void change_saturation(Image& image, float factor) {
  each_pixel(image, [&](uint8_t* pixel) {
    const float gray = gray_of(pixel) * (1 - factor);
    for (int c = 0; c < 3; ++c) pixel[c] = to_byte(static_cast<float>(pixel[c]) * factor + gray);
  });
}

void change_hue(Image& image, float turn) {
  const float u = std::cos(turn * 3.14159265f), w = std::sin(turn * 3.14159265f);
  // From RGB to YIQ, a turn of I and Q, and back.
  const float to_yiq[3][3] = {
      {0.299f, 0.587f, 0.114f}, {0.596f, -0.274f, -0.321f}, {0.211f, -0.523f, 0.311f}};
  const float to_rgb[3][3] = {{1, 0.956f, 0.621f}, {1, -0.272f, -0.647f}, {1, -1.107f, 1.705f}};
  each_pixel(image, [&](uint8_t* pixel) {
    float yiq[3], out[3];
    for (int i = 0; i < 3; ++i) {
      yiq[i] = to_yiq[i][0] * pixel[0] + to_yiq[i][1] * pixel[1] + to_yiq[i][2] * pixel[2];
    }
    const float turned[3] = {yiq[0], u * yiq[1] - w * yiq[2], w * yiq[1] + u * yiq[2]};
    for (int i = 0; i < 3; ++i) {
      out[i] = to_rgb[i][0] * turned[0] + to_rgb[i][1] * turned[1] + to_rgb[i][2] * turned[2];
    }
    for (int i = 0; i < 3; ++i) pixel[i] = to_byte(out[i]);
  });
}

void add_lighting(Image& image, const float (&alpha)[3]) {
  constexpr float kValues[3] = {55.46f, 4.794f, 1.148f};
  constexpr float kVectors[3][3] = {
      {-0.5675f, 0.7192f, 0.4009f}, {-0.5808f, -0.0045f, -0.8140f}, {-0.5836f, -0.6948f, 0.4203f}};
  float shift[3];
  for (int c = 0; c < 3; ++c) {
    shift[c] = 0;
    for (int i = 0; i < 3; ++i) shift[c] += kVectors[c][i] * alpha[i] * kValues[i];
  }
  each_pixel(image, [&](uint8_t* pixel) {
    for (int c = 0; c < 3; ++c) pixel[c] = to_byte(static_cast<float>(pixel[c]) + shift[c]);
  });
}

void add_hls(Image& image, int hue, int lightness, int saturation) {
  each_pixel(image, [&](uint8_t* pixel) {
    const float r = pixel[0], g = pixel[1], b = pixel[2];
    const float top = std::max({r, g, b}), low = std::min({r, g, b}), span = top - low, sum = top + low;
    float h = 0, l = sum / 2, s = 0;
    if (span > 0) {
      s = 255 * span / (sum < 255 ? sum : 510 - sum);
      h = top == r ? (g - b) / span : top == g ? 2 + (b - r) / span : 4 + (r - g) / span;
      h = h * 30 + (h < 0 ? 180 : 0);
    }
    h = std::clamp(h + static_cast<float>(hue), 0.0f, 180.0f);
    l = std::clamp(l + static_cast<float>(lightness), 0.0f, 255.0f);
    s = std::clamp(s + static_cast<float>(saturation), 0.0f, 255.0f);
    const float chroma = (1 - std::fabs(2 * l / 255 - 1)) * s;
    const auto channel = [&](float offset) {
      const float k = std::fmod(offset + h / 15, 12.0f);
      return to_byte(l - chroma / 2 * std::clamp(std::min(k - 3, 9 - k), -1.0f, 1.0f));
    };
    pixel[0] = channel(0);
    pixel[1] = channel(8);
    pixel[2] = channel(4);
  });
}

}  // namespace loomix::io
