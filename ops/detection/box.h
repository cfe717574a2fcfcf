// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

enum class BoxFormat { center, corner };

struct BoxIouParams {
  BoxFormat format = BoxFormat::corner;
  static void fields(FieldList<BoxIouParams>& f);
};

struct BoxNmsParams {
  float overlap_thresh = 0.5f;
  float valid_thresh = 0;
  int topk = -1;
  int coord_start = 2;
  int score_index = 1;
  int id_index = -1;
  int background_id = -1;
  bool force_suppress = false;
  BoxFormat in_format = BoxFormat::corner;
  BoxFormat out_format = BoxFormat::corner;
  static void fields(FieldList<BoxNmsParams>& f);
};

struct BoxEncodeParams {
  static void fields(FieldList<BoxEncodeParams>&) {}
};

struct BoxDecodeParams {
  float std0 = 1, std1 = 1, std2 = 1, std3 = 1;
  float clip = -1;
  BoxFormat format = BoxFormat::center;
  static void fields(FieldList<BoxDecodeParams>& f);
};

struct BipartiteMatchingParams {
  bool is_ascend = false;
  float threshold = 0;
  int topk = -1;
  static void fields(FieldList<BipartiteMatchingParams>& f);
};

// Of box_encode: IndexError unless each anchor that counts is matched with one of `refs` boxes.
void check_matches(const TensorView& samples, const TensorView& matches, int64_t refs);

// The corners of a box.
template <class A>
struct Corners4 {
  A left, top, right, bottom;

  // `box` is what [i] gives four numbers of.
  template <class Numbers>
  static constexpr Corners4 of(const Numbers& box, BoxFormat format) {
    const A a = static_cast<A>(box[0]), b = static_cast<A>(box[1]), c = static_cast<A>(box[2]),
            d = static_cast<A>(box[3]);
    if (format == BoxFormat::corner) return {a, b, c, d};
    return {a - c / 2, b - d / 2, a + c / 2, b + d / 2};
  }
  constexpr A width() const { return right - left; }
  constexpr A height() const { return bottom - top; }
  constexpr A area() const { return width() > 0 && height() > 0 ? width() * height() : A{0}; }
};

// Centre and size, as differences of the corners.
template <class A>
struct Centred {
  A x, y, width, height;
  constexpr explicit Centred(const Corners4<A>& box)
      : x((box.left + box.right) / 2),
        y((box.top + box.bottom) / 2),
        width(box.width()),
        height(box.height()) {}
};

// Intersection over union; zero where boxes do not meet or have no area.
template <class A>
constexpr A overlap(const Corners4<A>& a, const Corners4<A>& b) {
  const A width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const A height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0 && height > 0)) return A{0};
  const A both = width * height, all = a.area() + b.area() - both;
  return all > 0 ? both / all : A{0};
}

}  // namespace loomix::ops
