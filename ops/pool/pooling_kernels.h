// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ops/pool/pooling.h"

// The loops over maxima that are compiled once per instruction set.
namespace loomix::ops {

// How the maxima of a plane are found: along each line of the data, then across the lines that a row of windows covers.
// Results along lines are kept in slots for the rows that follow. Both steps work on kMaxStep windows at a time, so
// slots, and lines as they are read, go on to a multiple of that.
inline constexpr int64_t kMaxStep = 16;

struct MaxPlan {
  struct Line {
    int64_t offset;  // in the plane
    int32_t slot;
    int32_t code;  // its first place in a window
    bool is_new;   // no row before has had it there
  };
  // Of windows: some of the lines.
  struct Row {
    int64_t first;
    int64_t count;
  };
  const Line* lines;
  const Row* rows;
  int64_t num_rows;
  int64_t columns;  // of a line
  int64_t windows;  // of a row; those from `inside` on lie behind the data
  int64_t inside;
  int64_t slot;  // results of a line
  int64_t kernel, stride, pad;
  bool copies;  // lines are read from where they are copied to, with -inf before and behind
};
inline constexpr int64_t kMostMaxLines = 64;  // of a row

struct MaxBuffers {
  float* line;  // filled with -inf at first
  float* maxima;
  int32_t* places;
};

struct PoolKernels {
  // `places` may be null.
  void (*max_plane)(const MaxPlan& plan, const float* plane, int64_t size, const MaxBuffers& buffers,
                    float* out, BytePlace* places);
  // Of 2x2 windows with stride 2 of one plane with `width` columns; whole windows only, so an odd last row or column is not
  // looked at.
  void (*max2)(int64_t out_height, int64_t out_width, int64_t width, const float* data, float* out,
               BytePlace* places);
  // Writes all positions of the windows.
  void (*max2_backward)(int64_t out_height, int64_t out_width, int64_t width, const float* grad,
                        const BytePlace* places, float* out);
};

}  // namespace loomix::ops
