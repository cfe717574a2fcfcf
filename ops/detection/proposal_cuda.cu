// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/arrays.h"
#include "ops/detection/proposal_rules.h"
#include "ops/detection/regions_cuda.h"
#include "ops/detection/suppress_cuda.h"
#include "ops/families_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

constexpr size_t kMostAnchors = 64;

template <class T>
struct Propose {
  ProposalRules p;
  int64_t kinds, height, width;
  Proposal anchor[kMostAnchors];
  const T *scores, *moves, *images;
  Proposal* boxes;
  __device__ void operator()(int64_t at) const {
    const int64_t size = height * width, count = size * kinds;
    const int64_t n = at / count, number = at - n * count;
    const int64_t place = number / kinds, kind = number - place * kinds;
    float by[4];
    for (int i = 0; i < 4; ++i)
      by[i] = static_cast<float>(load(moves[n * 4 * count + (kind * 4 + i) * size + place]));
    const auto score = static_cast<float>(load(scores[n * 2 * count + (kinds + kind) * size + place]));
    const Elements<T> image{images + n * 3};
    boxes[at] = proposal_at(
        p, anchor[kind], static_cast<float>(place % width), static_cast<float>(place / width), score, by,
        {static_cast<float>(image[0]), static_cast<float>(image[1]), static_cast<float>(image[2])},
        static_cast<int32_t>(number));
  }
};

struct ProposedBoxes {
  using Box = Proposal;
  const Proposal* boxes;
  float threshold;
  int64_t looked_at, wanted;
  __device__ bool counts(int64_t) const { return true; }
  __device__ float score(int64_t i) const { return boxes[i].score; }
  __device__ Proposal at(int64_t i) const { return boxes[i]; }
  __device__ bool covers(const Proposal& better, const Proposal& other) const {
    return overlap(better, other) > threshold;
  }
};

// If fewer are kept than are wanted, they come again.
template <class T>
struct PutProposals {
  int64_t count, wanted;
  const Proposal* boxes;
  const int32_t* kept;
  T *out, *scores;
  __device__ void operator()(int64_t at) const {
    const int64_t n = at / wanted, i = at - n * wanted;
    const int32_t* const own = kept + n * count;
    int64_t low = 0, high = wanted < count ? wanted : count;  // where the places end
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (own[middle] < 0) high = middle;
      else low = middle + 1;
    }
    const Proposal& box = boxes[n * count + own[i % low]];
    if (out != nullptr) {
      const float values[5] = {static_cast<float>(n), box.left, box.top, box.right, box.bottom};
      for (int k = 0; k < 5; ++k) out[at * 5 + k] = store<T>(values[k]);
    }
    if (scores != nullptr) scores[at] = store<T>(box.score);
  }
};

int64_t boxes_an_image(const Shape& scores) { return scores[1] / 2 * scores[2] * scores[3]; }
size_t boxes_bytes(int64_t boxes) { return aligned(static_cast<size_t>(boxes) * sizeof(Proposal)); }
size_t kept_bytes(int64_t boxes) { return aligned(static_cast<size_t>(boxes) * sizeof(int32_t)); }

size_t proposal_scratch(const KernelSpec& spec) {
  const Shape& shape = spec.in[0].shape;
  const int64_t boxes = shape[0] * boxes_an_image(shape);
  return boxes_bytes(boxes) + kept_bytes(boxes) + suppress_scratch(boxes);
}
template <class P>
Support proposal_support(const P& p, const KernelSpec& spec) {
  const Shape& shape = spec.in[0].shape;
  if (p.scales.size() * p.ratios.size() > kMostAnchors) return Support::no("it has more anchors than fit");
  return shape.size() < kMostSorted ? Support::yes() : Support::no("it has more boxes than are sorted");
}

template <class P>
void proposal_cuda(const P& p, const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  const int64_t lists = shape[0], count = boxes_an_image(shape), all = lists * count;
  const cudaStream_t stream = stream_of(args);
  auto* const boxes = reinterpret_cast<Proposal*>(args.scratch.data());
  auto* const kept = reinterpret_cast<int32_t*>(args.scratch.data() + boxes_bytes(all));
  const std::span<std::byte> scratch = args.scratch.subspan(boxes_bytes(all) + kept_bytes(all));
  const int64_t wanted = p.rpn_post_nms_top_n;
  const ProposedBoxes proposed{
      boxes, p.threshold, p.rpn_pre_nms_top_n > 0 ? std::min<int64_t>(count, p.rpn_pre_nms_top_n) : count,
      wanted};
  dispatch_floating(args.in[0].dtype, "Proposal", [&]<class T>(Type<T>) {
    Propose<T> propose{ProposalRules(p),   shape[1] / 2,       shape[2],           shape[3], {},
                       args.in[0].as<T>(), args.in[1].as<T>(), args.in[2].as<T>(), boxes};
    for (int64_t kind = 0; kind < propose.kinds; ++kind)
      propose.anchor[kind] = anchor_of(p, static_cast<size_t>(kind));
    launch_each(stream, all, propose);
    const auto ranked = rank_boxes<32>(lists, count, proposed, scratch, stream);
    suppress_ranked(lists, count, proposed, ranked, scratch, kept, stream);
    launch_each(stream, lists * wanted,
                PutProposals<T>{count, wanted, boxes, kept, args.wanted<T>(0), args.wanted<T>(1)});
  });
}

}  // namespace

void kernels_proposal_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  list.kernel<proposal_cuda<ProposalParams>, proposal_support<ProposalParams>, proposal_scratch>(
      "_contrib_Proposal", "proposal_cuda", gpu);
  list.kernel<proposal_cuda<MultiProposalParams>, proposal_support<MultiProposalParams>, proposal_scratch>(
      "_contrib_MultiProposal", "proposal_cuda", gpu);
}

}  // namespace loomix::ops
