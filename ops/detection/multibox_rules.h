// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/detection/box.h"
#include "ops/detection/multibox.h"

// What the operators of anchors compute of one box, for hosts and devices.
namespace loomix::ops {

// The box of MultiBoxPrior about (x, y); `root` is the square root of its ratio, `aspect` that of the image.
template <class A>
constexpr Corners4<A> prior_box(A x, A y, A size, A root, A aspect, bool clip) {
  const A half_width = size * aspect * root / 2, half_height = size / root / 2;
  const Corners4<A> box{x - half_width, y - half_height, x + half_width, y + half_height};
  if (!clip) return box;
  return {std::clamp(box.left, A{0}, A{1}), std::clamp(box.top, A{0}, A{1}),
          std::clamp(box.right, A{0}, A{1}), std::clamp(box.bottom, A{0}, A{1})};
}

// One detection while an image is worked on.
struct Found {
  float score;
  int32_t anchor;  // negative: nothing was found
  float id, box[4];
};
constexpr Corners4<float> corners(const Found& found) {
  return {found.box[0], found.box[1], found.box[2], found.box[3]};
}

struct DetectionRules {
  bool clip;
  float threshold;
  int background_id;
  float variances[4];

  explicit DetectionRules(const MultiBoxDetectionParams& p)
      : clip(p.clip),
        threshold(p.threshold),
        background_id(p.background_id),
        variances{p.variances[0], p.variances[1], p.variances[2], p.variances[3]} {}
};

template <class A, class Numbers>
constexpr Corners4<A> decoded(const DetectionRules& p, const Numbers& distances, const Numbers& anchor) {
  const auto box = Corners4<A>::of(anchor, BoxFormat::corner);
  const auto part = [&](int i) { return static_cast<A>(distances[i]) * static_cast<A>(p.variances[i]); };
  const A x = part(0) * box.width() + (box.left + box.right) / 2;
  const A y = part(1) * box.height() + (box.top + box.bottom) / 2;
  const A width = std::exp(part(2)) * box.width() / 2, height = std::exp(part(3)) * box.height() / 2;
  const Corners4<A> result{x - width, y - height, x + width, y + height};
  if (!p.clip) return result;
  return {std::clamp(result.left, A{0}, A{1}), std::clamp(result.top, A{0}, A{1}),
          std::clamp(result.right, A{0}, A{1}), std::clamp(result.bottom, A{0}, A{1})};
}

// What anchor `i` of `count` shows. Arrays are what [i] gives numbers of; distances and anchor are those of this anchor.
template <class A, class Scores, class Numbers>
constexpr Found found_at(const DetectionRules& p, const Scores& scores, int64_t classes,
                         const Numbers& distances, const Numbers& anchor, int64_t count, int64_t i) {
  int64_t best = -1;
  A most = -1;
  for (int64_t c = 0; c < classes; ++c) {
    const A score = static_cast<A>(scores[c * count + i]);
    if (c == p.background_id || !(score > most)) continue;
    most = score;
    best = c;
  }
  if (best < 0 || most < static_cast<A>(p.threshold)) return {0, -1, -1, {0, 0, 0, 0}};
  const Corners4<A> box = decoded<A>(p, distances, anchor);
  const int64_t id = p.background_id >= 0 && best > p.background_id ? best - 1 : best;
  return {static_cast<float>(most),
          static_cast<int32_t>(i),
          static_cast<float>(id),
          {static_cast<float>(box.left), static_cast<float>(box.top), static_cast<float>(box.right),
           static_cast<float>(box.bottom)}};
}

inline constexpr double kLeastOverlap = 1e-6;  // for a match of MultiBoxTarget

// What is known of an anchor of one image while its targets are made.
struct Match {
  float overlap;  // with the box that fits best
  int32_t box;    // that one; -1: there is none
  bool positive, negative;
};

// The box that fits an anchor best, the first of several.
template <class A, class Boxes>  // boxes(k) gives a Corners4<A>
constexpr Match best_match(const Corners4<A>& anchor, int64_t count, const Boxes& boxes) {
  Match best{-1, -1, false, false};
  for (int64_t k = 0; k < count; ++k) {
    const auto both = static_cast<float>(overlap(anchor, boxes(k)));
    if (both > best.overlap) best = {both, static_cast<int32_t>(k), false, false};
  }
  return best;
}

// The share of the background among the scores of anchor `i` of `count`; NaN counts as none.
template <class A, class Scores>
constexpr float background_share(const Scores& scores, int64_t classes, int64_t count, int64_t i) {
  const A background = static_cast<A>(scores[i]);
  A most = background, sum = 0;
  for (int64_t c = 1; c < classes; ++c) {
    const A score = static_cast<A>(scores[c * count + i]);
    if (most < score) most = score;
  }
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(static_cast<A>(scores[c * count + i]) - most);
  const auto share = static_cast<float>(std::exp(background - most) / sum);
  return share == share ? share : 0.0f;
}

// How many anchors learn the background.
constexpr int64_t mined_count(int64_t positives, int64_t candidates, float ratio, int64_t least) {
  const auto wanted = static_cast<int64_t>(static_cast<float>(positives) * ratio);
  return std::clamp<int64_t>(std::max<int64_t>(wanted, least), 0, candidates);
}

// From an anchor to its box, in the units of decoded().
template <class A, class Variances>
constexpr void target_distances(const Variances& variances, const Corners4<A>& box, const Corners4<A>& anchor,
                                A (&to)[4]) {
  to[0] = (box.left + box.right - anchor.left - anchor.right) / 2 / anchor.width();
  to[1] = (box.top + box.bottom - anchor.top - anchor.bottom) / 2 / anchor.height();
  to[2] = std::log(box.width() / anchor.width());
  to[3] = std::log(box.height() / anchor.height());
  for (int i = 0; i < 4; ++i) to[i] /= static_cast<A>(variances[i]);
}

}  // namespace loomix::ops
