// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "io/image_ops/image_ops.h"
#include "ops/random/philox.h"

// What image operators compute, for hosts and devices.
namespace loomix::io {

struct Pictures {
  int64_t count, height, width, channels;
  constexpr int64_t row() const { return width * channels; }
  constexpr int64_t size() const { return height * row(); }
};

inline Pictures pictures(const Shape& shape) {
  const int first = shape.ndim() - 3;
  return {first > 0 ? shape[0] : 1, shape[first], shape[first + 1], shape[first + 2]};
}

template <class T>
T to_value(float value) {
  if constexpr (std::is_integral_v<T>) {
    const double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    return static_cast<T>(std::clamp<double>(std::nearbyint(value), low, high));
  } else {
    return static_cast<T>(value);
  }
}

constexpr float gray_of(const float* pixel) {
  return 0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2];
}

// Turns the hue of HLS; lightness and saturation stay, and with them the largest and the smallest of the three.
constexpr void turn_hue(float* pixel, float turns) {
  const float low = std::min(std::min(pixel[0], pixel[1]), pixel[2]);
  const float high = std::max(std::max(pixel[0], pixel[1]), pixel[2]);
  const float spread = high - low;
  if (!(spread > 0)) return;
  const float hue = pixel[0] == high   ? (pixel[1] - pixel[2]) / spread
                    : pixel[1] == high ? 2 + (pixel[2] - pixel[0]) / spread
                                       : 4 + (pixel[0] - pixel[1]) / spread;
  for (int channel = 0; channel < 3; ++channel) {
    // Sixths of the circle from where the channel begins to rise: up, two at the top, down, two at the bottom.
    float place = hue / 6 + turns + static_cast<float>(1 - channel) / 3;
    place = 6 * (place - std::floor(place));
    pixel[channel] = low + spread * std::clamp(std::min(place, 4 - place), 0.0f, 1.0f);
  }
}

inline void check_colours(const Pictures& p, const char* who) {
  LOOMIX_CHECK(p.channels == 3, ShapeError, "[{}] the images have {} channels; expected 3.", who, p.channels);
}

// What lighting adds to each channel.
struct Shift {
  float of[3];
  explicit Shift(const float (&alpha)[3]) : of{} {
    constexpr float kValues[3] = {55.46f, 4.794f, 1.148f};
    constexpr float kVectors[3][3] = {
        {-0.5675f, 0.7192f, 0.4009f}, {-0.5808f, -0.0045f, -0.8140f}, {-0.5836f, -0.6948f, 0.4203f}};
    for (int c = 0; c < 3; ++c) {
      for (int k = 0; k < 3; ++k) of[c] += kVectors[c][k] * alpha[k] * kValues[k];
    }
  }
  static Shift given(const LightingParams& p) {
    LOOMIX_CHECK(p.alpha.size() == 3, ValueError, "[adjust_lighting] alpha has {} numbers; expected 3.",
                 p.alpha.size());
    return Shift({p.alpha[0], p.alpha[1], p.alpha[2]});
  }
  static Shift drawn(const RandomLightingParams& p, const ops::RandomStream& random) {
    ops::PhiloxStream stream(random, 0);
    float alpha[3];
    for (float& value : alpha) value = static_cast<float>(p.alpha_std * stream.normal());
    return Shift(alpha);
  }
};

// Changes of colours, one after the other; each kind comes once at most.
struct ColourSteps {
  struct Step {
    ColourChange::Kind kind;
    float factor;
  };
  int count = 0;
  Step step[4];

  void add(ColourChange::Kind kind, float factor) { step[count++] = {kind, factor}; }
  static ColourSteps drawn(ColourChange::Kind kind, const FactorParams& p, const ops::RandomStream& random) {
    LOOMIX_CHECK(p.min_factor <= p.max_factor, ValueError,
                 "[image] min_factor is {} and max_factor {}; expected min <= max.", p.min_factor,
                 p.max_factor);
    ops::PhiloxStream stream(random, 0);
    ColourSteps steps;
    steps.add(kind, static_cast<float>(p.min_factor + (p.max_factor - p.min_factor) * stream.uniform()));
    return steps;
  }
  static ColourSteps drawn(const JitterParams& p, const ops::RandomStream& random) {
    ops::PhiloxStream stream(random, 0);
    const float ranges[] = {p.brightness, p.contrast, p.saturation, p.hue};
    int order[] = {0, 1, 2, 3};
    for (int i = 3; i > 0; --i) std::swap(order[i], order[stream.next() % uint32_t(i + 1)]);
    float factors[4];
    for (int i = 0; i < 4; ++i) {
      const double low = std::max(0.0f, 1 - ranges[i]), high = 1 + ranges[i];
      factors[i] = static_cast<float>(low + (high - low) * stream.uniform());
    }
    ColourSteps steps;
    for (const int i : order) {
      if (ranges[i] > 0) steps.add(static_cast<ColourChange::Kind>(i), factors[i]);
    }
    return steps;
  }
};

// Whether a random flip turns the images.
inline bool flips(const ops::RandomStream& random) { return (ops::PhiloxStream(random, 0).next() & 1) != 0; }

// Where the position `i` of a line of `size` reads in a margin; -1: nowhere.
constexpr int64_t border_place(int64_t i, int64_t size, int type) {
  if (i >= 0 && i < size) return i;
  if (type == 0 || size == 0) return -1;
  if (type == 1) return std::clamp<int64_t>(i, 0, size - 1);
  if (type == 3) return ((i % size) + size) % size;
  if (type == 4 && size == 1) return 0;
  const int64_t period = type == 2 ? 2 * size : 2 * size - 2;
  i = ((i % period) + period) % period;
  return i < size ? i : (type == 2 ? period - 1 - i : period - i);
}

// The constant of channel `c` in a margin.
inline double border_constant(const BorderParams& p, int64_t c) {
  if (c < static_cast<int64_t>(p.values.size())) return p.values[size_t(c)];
  return p.values.empty() ? p.value : 0;
}

}  // namespace loomix::io
