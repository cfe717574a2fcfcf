// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "ops/conv/convolution.h"
#include "ops/pool/pooling.h"
#include "ops/quantization/quantization.h"

// One output of a layer of 8 bits, for hosts and devices.
namespace loomix::ops {

// Offsets in bytes along the axes of data, weight and output, whatever the layout.
struct Steps {
  int64_t channel = 0, place[3] = {}, image = 0;
  constexpr Steps(int64_t channels, const int64_t* sizes, bool channels_last) {
    const int64_t inner = channels_last ? channels : 1;
    place[2] = inner;
    place[1] = place[2] * sizes[2];
    place[0] = place[1] * sizes[1];
    channel = channels_last ? 1 : sizes[0] * sizes[1] * sizes[2];
    image = channels * sizes[0] * sizes[1] * sizes[2];
  }
};

template <class T>
struct ConvLoop {
  ConvGeometry g;
  const T* data;
  const int8_t* weight;
  Steps from{g.groups * g.channels, g.in, g.channels_last}, filter{g.channels, g.kernel, g.channels_last};

  constexpr int32_t at(int64_t image, int64_t which, const int64_t* place) const {
    int32_t sum = 0;
    const T* const x = data + image * from.image + which / g.filters * g.channels * from.channel;
    const int8_t* const w = weight + which * filter.image;
    int64_t k[3] = {};
    for (k[0] = 0; k[0] < g.kernel[0]; ++k[0]) {
      for (k[1] = 0; k[1] < g.kernel[1]; ++k[1]) {
        for (k[2] = 0; k[2] < g.kernel[2]; ++k[2]) {
          int64_t at = 0, of = 0;
          bool inside = true;
          for (int i = 0; i < 3; ++i) {
            const int64_t position = place[i] * g.stride[i] + k[i] * g.dilate[i] - g.pad[i];
            inside = inside && position >= 0 && position < g.in[i];
            at += position * from.place[i];
            of += k[i] * filter.place[i];
          }
          if (!inside) continue;
          for (int64_t c = 0; c < g.channels; ++c)
            sum += int32_t{x[at + c * from.channel]} * int32_t{w[of + c * filter.channel]};
        }
      }
    }
    return sum;
  }
};

// Of the window at `place` of the output; `data` is a plane, whose pixels are `steps` apart.
template <class T>
constexpr T pool_at(const PoolGeometry& g, const T* data, const int64_t* place, const int64_t* steps,
                    bool is_max, bool with_pad) {
  int64_t first[3] = {}, last[3] = {}, whole = 1, inside = 1;
  for (int i = 0; i < 3; ++i) {
    first[i] = place[i] * g.stride[i] - g.pad[i];
    last[i] = std::min(first[i] + g.kernel[i], g.in[i] + g.pad[i]);
    whole *= last[i] - first[i];
    first[i] = std::max<int64_t>(first[i], 0);
    last[i] = std::min(last[i], g.in[i]);
    inside *= std::max<int64_t>(last[i] - first[i], 0);
  }
  int64_t sum = 0;
  T most = std::numeric_limits<T>::lowest();
  for (int64_t d = first[0]; d < last[0]; ++d)
    for (int64_t h = first[1]; h < last[1]; ++h)
      for (int64_t w = first[2]; w < last[2]; ++w) {
        const T value = data[d * steps[0] + h * steps[1] + w * steps[2]];
        sum += value;
        most = std::max(most, value);
      }
  if (is_max) return most;
  const int64_t count = with_pad ? whole : inside;
  return count > 0 ? to_whole<T>(static_cast<float>(sum) / static_cast<float>(count)) : T(0);
}

}  // namespace loomix::ops
