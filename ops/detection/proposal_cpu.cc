// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "engine/parallel_for.h"
#include "ops/detection/multibox.h"
#include "ops/plane_sums.h"
#include "ops/table.h"

// Boxes of region proposal networks are those of pixels: from the first to the last one, which counts.
namespace loomix::ops {
namespace {

struct Proposal {
  float left, top, right, bottom, score;
  int32_t place;

  float width() const { return right - left + 1; }
  float height() const { return bottom - top + 1; }
  float area() const { return width() * height(); }
};

float overlap(const Proposal& a, const Proposal& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left) + 1;
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top) + 1;
  const float both = std::max(width, 0.0f) * std::max(height, 0.0f);
  return both / (a.area() + b.area() - both);
}

// The anchor of the first place: sides are whole numbers before they are scaled.
Proposal anchor_of(const ProposalParams& p, size_t kind) {
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

struct ImageSize {
  float height, width, scale;
};

void move(bool corners, const float (&by)[4], Proposal& box) {
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

void clip(const ImageSize& image, Proposal& box) {
  box.left = std::max(std::min(box.left, image.width - 1), 0.0f);
  box.top = std::max(std::min(box.top, image.height - 1), 0.0f);
  box.right = std::max(std::min(box.right, image.width - 1), 0.0f);
  box.bottom = std::max(std::min(box.bottom, image.height - 1), 0.0f);
}

// Boxes that are too small grow, and come last.
void check_small(const ProposalParams& p, const ImageSize& image, Proposal& box) {
  const float least = static_cast<float>(p.rpn_min_size) * image.scale;
  if (!(box.width() < least || box.height() < least)) return;
  box.left -= least / 2;
  box.top -= least / 2;
  box.right += least / 2;
  box.bottom += least / 2;
  box.score = -1;
}

// All boxes of one image. The data may reach beyond the image; what lies there comes last.
template <class T>
void propose(const ProposalParams& p, const T* scores, const T* moves, const ImageSize& image, int64_t height,
             int64_t width, Proposal* boxes) {
  using A = Accum<T>;
  const auto kinds = static_cast<int64_t>(p.scales.size() * p.ratios.size());
  const auto stride = static_cast<float>(p.feature_stride);
  const int64_t size = height * width;
  const float rows = std::floor(image.height / stride), columns = std::floor(image.width / stride);
  for (int64_t kind = 0; kind < kinds; ++kind) {
    const Proposal anchor = anchor_of(p, static_cast<size_t>(kind));
    for (int64_t place = 0; place < size; ++place) {
      const auto x = static_cast<float>(place % width), y = static_cast<float>(place / width);
      const auto number = static_cast<int32_t>(place * kinds + kind);
      Proposal& box = boxes[number];
      box = {anchor.left + x * stride,
             anchor.top + y * stride,
             anchor.right + x * stride,
             anchor.bottom + y * stride,
             static_cast<float>(static_cast<A>(scores[(kinds + kind) * size + place])),
             number};
      float by[4];
      for (int i = 0; i < 4; ++i)
        by[i] = static_cast<float>(static_cast<A>(moves[(kind * 4 + i) * size + place]));
      move(p.iou_loss, by, box);
      clip(image, box);
      if (y >= rows || x >= columns) box.score = -1;
      check_small(p, image, box);
      if (std::isnan(box.score)) box.score = -1;
    }
  }
}

// Moves the boxes that are kept to the front, the best first; returns how many.
int64_t keep(const ProposalParams& p, Proposal* boxes, int64_t count) {
  std::sort(boxes, boxes + count, [](const Proposal& a, const Proposal& b) {
    return a.score > b.score || (a.score == b.score && a.place < b.place);
  });
  if (p.rpn_pre_nms_top_n > 0) count = std::min<int64_t>(count, p.rpn_pre_nms_top_n);
  int64_t kept = 0;
  for (int64_t i = 0; i < count && kept < p.rpn_post_nms_top_n; ++i) {
    const bool covered = std::any_of(
        boxes, boxes + kept, [&](const Proposal& better) { return overlap(better, boxes[i]) > p.threshold; });
    if (!covered) boxes[kept++] = boxes[i];
  }
  return kept;
}

void run(const ProposalParams& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  const int64_t count = shape[1] / 2 * shape[2] * shape[3];
  dispatch_floating(args.in[0].dtype, "Proposal", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    T* const out = args.wanted<T>(0);
    T* const scores = args.wanted<T>(1);
    const auto number = [&](int64_t i) { return static_cast<float>(static_cast<A>(args.in[2].as<T>()[i])); };
    ScratchSlots slots = slots_of(args.scratch, count, sizeof(Proposal));
    engine::parallel_for(*args.context, shape[0], 1, [&](int64_t begin, int64_t end) {
      const ScratchSlots::Use slot(slots);
      auto* const boxes = slot.template as<Proposal>();
      for (int64_t n = begin; n < end; ++n) {
        const ImageSize image{number(n * 3), number(n * 3 + 1), number(n * 3 + 2)};
        propose(p, args.in[0].as<T>() + n * 2 * count, args.in[1].as<T>() + n * 4 * count, image, shape[2],
                shape[3], boxes);
        const int64_t kept = keep(p, boxes, count);
        for (int64_t i = 0; i < p.rpn_post_nms_top_n; ++i) {
          const Proposal& box = boxes[i % kept];
          const int64_t at = n * p.rpn_post_nms_top_n + i;
          const float values[5] = {static_cast<float>(n), box.left, box.top, box.right, box.bottom};
          for (int k = 0; out && k < 5; ++k) out[at * 5 + k] = static_cast<T>(static_cast<A>(values[k]));
          if (scores) scores[at] = static_cast<T>(static_cast<A>(box.score));
        }
      }
    });
  });
}

template <class P>
void proposal_cpu(const P& p, const KernelArgs& args) {
  run(p, args);
}

size_t proposal_scratch(const KernelSpec& spec) {
  const Shape& shape = spec.in[0].shape;
  return slots_bytes(spec, shape[1] / 2 * shape[2] * shape[3], sizeof(Proposal));
}

}  // namespace

void kernels_proposal(OpTable& table) {
  table.kernel<proposal_cpu<ProposalParams>, proposal_scratch>("_contrib_Proposal", "proposal_cpu");
  table.kernel<proposal_cpu<MultiProposalParams>, proposal_scratch>("_contrib_MultiProposal", "proposal_cpu");
}

}  // namespace loomix::ops
