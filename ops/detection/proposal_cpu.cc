// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/detection/proposal_rules.h"
#include "ops/plane_sums.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// All boxes of one image. The data may reach beyond the image; what lies there comes last.
template <class T>
void propose(const ProposalParams& p, const T* scores, const T* moves, const ImageSize& image, int64_t height,
             int64_t width, Proposal* boxes) {
  using A = Accum<T>;
  const auto kinds = static_cast<int64_t>(p.scales.size() * p.ratios.size());
  const ProposalRules rules(p);
  const int64_t size = height * width;
  for (int64_t kind = 0; kind < kinds; ++kind) {
    const Proposal anchor = anchor_of(p, static_cast<size_t>(kind));
    for (int64_t place = 0; place < size; ++place) {
      const auto x = static_cast<float>(place % width), y = static_cast<float>(place / width);
      const auto number = static_cast<int32_t>(place * kinds + kind);
      float by[4];
      for (int i = 0; i < 4; ++i)
        by[i] = static_cast<float>(static_cast<A>(moves[(kind * 4 + i) * size + place]));
      const auto score = static_cast<float>(static_cast<A>(scores[(kinds + kind) * size + place]));
      boxes[number] = proposal_at(rules, anchor, x, y, score, by, image, number);
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
