// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "io/image/image.h"

namespace loomix::io {

// Numbers as in OpenCV and MXNet.
enum class Interpolation : int { nearest = 0, bilinear = 1, bicubic = 2, area = 3, lanczos = 4 };

// Resizes as OpenCV does, within one grey level. Reusable: it keeps weights and rows.
class Resizer {
 public:
  // `out` has the wanted size and as many channels.
  void run(const ImageView& in, Image& out, Interpolation interpolation);
  // The same for other types of pixels (uint8_t, float, double, int32_t): dense rows of `channels` values.
  template <class T>
  void run(const T* in, ptrdiff_t in_stride, int in_height, int in_width, int channels, T* out, int height,
           int width, Interpolation interpolation);

 private:
  // The source positions and weights of each target position, `count` each.
  struct Taps {
    int count = 0;
    std::vector<int> at;
    std::vector<float> weight;
    std::array<int, 5> made_for = {};
    void make(int from_size, int to_size, Interpolation interpolation, bool area_enlarges,
              bool round_weights);
  };
  template <class T>
  const float* source_row(const T* row, int y, int channels, int width);

  Taps columns_, rows_;
  std::vector<float> cache_;  // the last rows_.count source rows, resized along x
  std::vector<int> cached_;   // which rows they are
  std::vector<const float*> window_;
  std::vector<float> weights_;
};

Image resize(const ImageView& in, int height, int width, Interpolation interpolation);

// What MXNet's numbers mean: 9 chooses area to shrink and bicubic to enlarge, 10 draws one of the five by `draw`.
// Throws ValueError for others.
Interpolation choose_interpolation(int number, int in_height, int in_width, int height, int width,
                                   uint32_t draw);

}  // namespace loomix::io
