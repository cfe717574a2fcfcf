// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/detection/multibox.h"

// The boxes of region proposal networks, for hosts and devices. They are those of pixels: from the first to the last one, which counts.
namespace loomix::ops {

struct Proposal {
  float left, top, right, bottom, score;
  int32_t place;

  constexpr float width() const { return right - left + 1; }
  constexpr float height() const { return bottom - top + 1; }
  constexpr float area() const { return width() * height(); }
};

constexpr float overlap(const Proposal& a, const Proposal& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left) + 1;
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top) + 1;
  const float both = std::max(width, 0.0f) * std::max(height, 0.0f);
  return both / (a.area() + b.area() - both);
}

// The anchor of the first place: sides are whole numbers before they are scaled.
inline Proposal anchor_of(const ProposalParams& p, size_t kind) {
  const auto stride = static_cast<float>(p.feature_stride);
  const float ratio = p.ratios[kind / p.scales.size()], scale = p.scales[kind % p.scales.size()];
  const float side = std::floor(std::sqrt(std::floor(stride * stride / ratio)) + 0.5f);
  const float width = side * scale, height = std::floor(side * ratio + 0.5f) * scale;
  const float centre = 0.5f * (stride - 1);
  return {centre - 0.5f * (width - 1),
          centre - 0.5f * (height - 1),
          centre + 0.5f * (width - 1),
          centre + 0.5f * (height - 1),
          0,
          0};
}

struct ProposalRules {
  float stride;
  int min_size;
  bool corners;  // whether predictions are distances of the corners

  explicit ProposalRules(const ProposalParams& p)
      : stride(static_cast<float>(p.feature_stride)), min_size(p.rpn_min_size), corners(p.iou_loss) {}
};

struct ImageSize {
  float height, width, scale;
};

constexpr void move(bool corners, const float (&by)[4], Proposal& box) {
  if (corners) {
    box.left += by[0];
    box.top += by[1];
    box.right += by[2];
    box.bottom += by[3];
    return;
  }
  const float width = box.width(), height = box.height();
  const float x = by[0] * width + box.left + 0.5f * (width - 1),
              y = by[1] * height + box.top + 0.5f * (height - 1);
  const float new_width = std::exp(by[2]) * width, new_height = std::exp(by[3]) * height;
  box.left = x - 0.5f * (new_width - 1);
  box.top = y - 0.5f * (new_height - 1);
  box.right = x + 0.5f * (new_width - 1);
  box.bottom = y + 0.5f * (new_height - 1);
}

constexpr void clip(const ImageSize& image, Proposal& box) {
  box.left = std::max(std::min(box.left, image.width - 1), 0.0f);
  box.top = std::max(std::min(box.top, image.height - 1), 0.0f);
  box.right = std::max(std::min(box.right, image.width - 1), 0.0f);
  box.bottom = std::max(std::min(box.bottom, image.height - 1), 0.0f);
}

// Boxes that are too small grow, and come last.
constexpr void check_small(int min_size, const ImageSize& image, Proposal& box) {
  const float least = static_cast<float>(min_size) * image.scale;
  if (!(box.width() < least || box.height() < least)) return;
  box.left -= least / 2;
  box.top -= least / 2;
  box.right += least / 2;
  box.bottom += least / 2;
  box.score = -1;
}

// The box that an anchor becomes at (x, y) of the data, which reach beyond the image from `rows` and `columns` on: such boxes come last.
constexpr Proposal proposal_at(const ProposalRules& p, const Proposal& anchor, float x, float y, float score,
                               const float (&by)[4], const ImageSize& image, int32_t number) {
  Proposal box{anchor.left + x * p.stride,
               anchor.top + y * p.stride,
               anchor.right + x * p.stride,
               anchor.bottom + y * p.stride,
               score,
               number};
  move(p.corners, by, box);
  clip(image, box);
  if (y >= std::floor(image.height / p.stride) || x >= std::floor(image.width / p.stride)) box.score = -1;
  check_small(p.min_size, image, box);
  if (box.score != box.score) box.score = -1;
  return box;
}

}  // namespace loomix::ops
