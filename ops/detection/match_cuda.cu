// SPDX-License-Identifier: Apache-2.0
#include "ops/detection/box.h"
#include "ops/detection/multibox.h"
#include "ops/detection/multibox_rules.h"
#include "ops/detection/regions_cuda.h"
#include "ops/detection/suppress_cuda.h"
#include "ops/families_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// ---- MultiBoxTarget ------------------------------------------------------------------------------------------------------

// What a block finds of its image.
struct Counts {
  int64_t boxes, positives, candidates;
};

struct TargetRules {
  float overlap_threshold, ignore_label, mining_ratio, mining_threshold;
  int64_t least_negatives;
  float variances[4];

  explicit TargetRules(const MultiBoxTargetParams& p)
      : overlap_threshold(p.overlap_threshold),
        ignore_label(p.ignore_label),
        mining_ratio(p.negative_mining_ratio),
        mining_threshold(p.negative_mining_thresh),
        least_negatives(p.minimum_negative_samples),
        variances{p.variances[0], p.variances[1], p.variances[2], p.variances[3]} {}
};

template <class T>
struct Targets {
  TargetRules rules;
  const T *anchors, *labels, *scores;
  int64_t count, rows, numbers, classes;
  Match* matches;
  float* background;  // negative: the anchor is no candidate
  uint8_t* taken;     // boxes that have their anchor
  Counts* counts;

  using A = Computed<T>;
  __device__ Corners4<A> anchor(int64_t i) const {
    return Corners4<A>::of(Elements<T>{anchors + i * 4}, BoxFormat::corner);
  }
  __device__ Corners4<A> box(int64_t image, int64_t k) const {
    return Corners4<A>::of(Elements<T>{labels + (image * rows + k) * numbers + 1}, BoxFormat::corner);
  }
  __device__ A label(int64_t image, int64_t k) const { return load(labels[(image * rows + k) * numbers]); }
};

// A pair of an anchor and a box, and how to choose the best one: the first of several.
template <class A>
struct Pair {
  A overlap;
  int32_t anchor, box;
};
struct BetterPair {
  template <class A>
  __device__ Pair<A> operator()(const Pair<A>& a, const Pair<A>& b) const {
    if (a.overlap != b.overlap) return a.overlap > b.overlap ? a : b;
    return static_cast<uint32_t>(a.anchor) <= static_cast<uint32_t>(b.anchor) ? a : b;
  }
};

// The best pair of this thread's anchors, of those that are free.
template <class T>
__device__ Pair<Computed<T>> best_pair(const Targets<T>& t, int64_t image, int64_t boxes) {
  using A = Computed<T>;
  Pair<A> best{static_cast<A>(kLeastOverlap), -1, -1};
  for (int64_t i = threadIdx.x; i < t.count; i += blockDim.x) {
    const Match& match = t.matches[image * t.count + i];
    if (match.positive || !(static_cast<A>(match.overlap) > best.overlap)) continue;
    for (int64_t k = 0; k < boxes; ++k) {
      if (t.taken[image * t.rows + k] != 0) continue;
      const A both = overlap(t.anchor(i), t.box(image, k));
      if (both > best.overlap) best = {both, static_cast<int32_t>(i), static_cast<int32_t>(k)};
    }
  }
  return best;
}

// A block an image: each box takes the anchor that fits best, the best pair first; then anchors take boxes that fit well.
template <class T>
__global__ void __launch_bounds__(kThreads) match_anchors(Targets<T> t) {
  using A = Computed<T>;
  const int64_t image = blockIdx.x;
  int64_t boxes = 0;
  while (boxes < t.rows && t.label(image, boxes) != A{-1}) ++boxes;
  Match* const matches = t.matches + image * t.count;
  for (int64_t i = threadIdx.x; i < t.count; i += blockDim.x) {
    matches[i] = best_match<A>(t.anchor(i), boxes, [&](int64_t k) { return t.box(image, k); });
  }
  for (int64_t k = threadIdx.x; k < boxes; k += blockDim.x) t.taken[image * t.rows + k] = 0;
  __syncthreads();
  for (int64_t round = 0; round < boxes; ++round) {
    const Pair<A> none{static_cast<A>(kLeastOverlap), -1, -1};
    const Pair<A> best = merge_block(best_pair(t, image, boxes), none, BetterPair{});
    if (best.anchor < 0) break;  // the same for all threads
    if (threadIdx.x == 0) {
      matches[best.anchor] = {static_cast<float>(best.overlap), best.box, true, false};
      t.taken[image * t.rows + best.box] = 1;
    }
    __syncthreads();
  }
  int64_t positives = 0, candidates = 0;
  const bool mines = t.rules.mining_ratio > 0;
  for (int64_t i = threadIdx.x; i < t.count; i += blockDim.x) {
    Match& match = matches[i];
    if (match.box >= 0 && match.overlap > t.rules.overlap_threshold) match.positive = true;
    if (match.positive) ++positives;
    const bool is_candidate =
        mines && boxes > 0 && !match.positive && match.overlap < t.rules.mining_threshold;
    if (is_candidate) ++candidates;
    match.negative = !mines && boxes > 0 && !match.positive;
    if (!mines) continue;
    const Elements<T> scores{t.scores + image * t.classes * t.count};
    t.background[image * t.count + i] =
        is_candidate ? background_share<A>(scores, t.classes, t.count, i) : -1.0f;
  }
  positives = merge_block(positives, int64_t{0}, Plus{});
  candidates = merge_block(candidates, int64_t{0}, Plus{});
  if (threadIdx.x == 0) t.counts[image] = {boxes, positives, candidates};
}

// The background is learned from the anchors that look least like it.
struct Candidates {
  const float* background;
  __device__ bool counts(int64_t i) const { return background[i] >= 0; }
  __device__ float score(int64_t i) const { return -background[i]; }
};

struct MarkNegatives {
  TargetRules rules;
  Divider count;
  const uint32_t* sorted;
  const Counts* counts;
  Match* matches;
  __device__ void operator()(int64_t at) const {
    const int64_t image = count.quotient(at);
    const Counts& of = counts[image];
    const int64_t wanted =
        mined_count(of.positives, of.candidates, rules.mining_ratio, rules.least_negatives);
    if (at - image * count.divisor() < wanted) matches[sorted[at]].negative = true;
  }
};

template <class T>
struct PutTargets {
  Targets<T> t;
  Divider count;
  T *distances, *mask, *ids;
  __device__ void operator()(int64_t at) const {
    using A = Computed<T>;
    const int64_t image = count.quotient(at), i = at - image * count.divisor();
    const Match& match = t.matches[at];
    A values[4] = {};
    A id = match.negative ? A{0} : static_cast<A>(t.rules.ignore_label);
    if (match.positive) {
      target_distances(t.rules.variances, t.box(image, match.box), t.anchor(i), values);
      id = t.label(image, match.box) + 1;
    }
    for (int k = 0; k < 4; ++k) {
      if (distances != nullptr) distances[at * 4 + k] = store<T>(values[k]);
      if (mask != nullptr) mask[at * 4 + k] = store<T>(match.positive ? A{1} : A{0});
    }
    if (ids != nullptr) ids[at] = store<T>(id);
  }
};

// The pieces of the run's scratch memory.
struct TargetSpace {
  size_t matches, background, taken, counts, sort;
  TargetSpace(const MultiBoxTargetParams& p, int64_t images, int64_t anchors, int64_t rows) {
    const auto all = static_cast<size_t>(images * anchors);
    matches = aligned(all * sizeof(Match));
    background = aligned(all * sizeof(float));
    taken = aligned(static_cast<size_t>(images * rows));
    counts = aligned(static_cast<size_t>(images) * sizeof(Counts));
    sort = p.negative_mining_ratio > 0 ? suppress_scratch(images * anchors) : 0;
  }
  size_t all() const { return matches + background + taken + counts + sort; }
};
size_t target_scratch(const MultiBoxTargetParams& p, const KernelSpec& spec) {
  return TargetSpace(p, spec.in[1].shape[0], spec.in[0].shape[1], spec.in[1].shape[1]).all();
}
Support target_support(const KernelSpec& spec) {
  return spec.in[1].shape[0] * spec.in[0].shape[1] < kMostSorted
             ? Support::yes()
             : Support::no("it has more anchors than are sorted");
}

void multibox_target_cuda(const MultiBoxTargetParams& p, const KernelArgs& args) {
  const Shape& label = args.in[1].shape;
  const int64_t anchors = args.in[0].shape[1], images = label[0], all = images * anchors;
  if (all == 0 || args.in[2].size() == 0) return;
  const TargetSpace space(p, images, anchors, label[1]);
  std::byte* const memory = args.scratch.data();
  const cudaStream_t stream = stream_of(args);
  dispatch_floating(args.in[0].dtype, "MultiBoxTarget", [&]<class T>(Type<T>) {
    auto* const taken = memory + space.matches + space.background;
    const Targets<T> t{TargetRules(p),
                       args.in[0].as<T>(),
                       args.in[1].as<T>(),
                       args.in[2].as<T>(),
                       anchors,
                       label[1],
                       label[2],
                       args.in[2].shape[1],
                       reinterpret_cast<Match*>(memory),
                       reinterpret_cast<float*>(memory + space.matches),
                       reinterpret_cast<uint8_t*>(taken),
                       reinterpret_cast<Counts*>(taken + space.taken)};
    launch(match_anchors<T>, {static_cast<unsigned>(images), kThreads}, stream, t);
    if (p.negative_mining_ratio > 0) {
      const auto ranked = rank_boxes<32>(images, anchors, Candidates{t.background},
                                         args.scratch.subspan(space.all() - space.sort), stream);
      launch_each(stream, all,
                  MarkNegatives{t.rules, Divider(anchors), ranked.sorted_values(), t.counts, t.matches});
    }
    launch_each(stream, all,
                PutTargets<T>{t, Divider(anchors), args.wanted<T>(0), args.wanted<T>(1), args.wanted<T>(2)});
  });
}

// ---- bipartite_matching --------------------------------------------------------------------------------------------------

template <class T>
struct Scores {
  const T* data;
  Computed<T> threshold;
  bool ascend;
  __device__ bool counts(int64_t i) const {
    return ascend ? load(data[i]) < threshold : load(data[i]) > threshold;
  }
  __device__ Computed<T> score(int64_t i) const { return ascend ? -load(data[i]) : load(data[i]); }
};

// A thread a list, through its pairs from the best one on.
template <class T>
struct MatchPairs {
  Scores<T> scores;
  const uint32_t* sorted;
  int64_t rows, columns, most;
  T *to_rows, *to_columns;
  __device__ void operator()(int64_t list) const {
    const int64_t size = rows * columns, first = list * size;
    T* const row_of = to_rows + list * rows;
    T* const column_of = to_columns + list * columns;
    for (int64_t i = 0; i < rows; ++i) row_of[i] = store<T>(Computed<T>{-1});
    for (int64_t i = 0; i < columns; ++i) column_of[i] = store<T>(Computed<T>{-1});
    int64_t matches = 0;
    for (int64_t at = first; at < first + size && matches < most; ++at) {
      const int64_t pair = sorted[at];
      if (!scores.counts(pair)) return;  // nor does what follows
      const int64_t row = (pair - first) / columns, column = (pair - first) % columns;
      if (load(row_of[row]) >= 0 || load(column_of[column]) >= 0) continue;
      row_of[row] = store<T>(static_cast<Computed<T>>(column));
      column_of[column] = store<T>(static_cast<Computed<T>>(row));
      ++matches;
    }
  }
};

size_t bipartite_scratch(const KernelSpec& spec) { return suppress_scratch(spec.in[0].size()); }
Support bipartite_support(const KernelSpec& spec) {
  return spec.in[0].size() < kMostSorted ? Support::yes() : Support::no("it has more pairs than are sorted");
}

void bipartite_matching_cuda(const BipartiteMatchingParams& p, const KernelArgs& args) {
  const Shape& data = args.in[0].shape;
  const int64_t rows = data[data.ndim() - 2], columns = data[data.ndim() - 1];
  const int64_t lists = data.size_between(0, data.ndim() - 2);
  const int64_t most = std::min(rows, columns);
  const cudaStream_t stream = stream_of(args);
  dispatch_floating(args.in[0].dtype, "bipartite_matching", [&]<class T>(Type<T>) {
    const Scores<T> scores{args.in[0].as<T>(), static_cast<Computed<T>>(p.threshold), p.is_ascend};
    const uint32_t* sorted = nullptr;
    if (data.size() > 0) {
      constexpr int kBits = sizeof(Computed<T>) * 8;
      sorted = rank_boxes<kBits>(lists, rows * columns, scores, args.scratch, stream).sorted_values();
    }
    launch_each(
        stream, lists,
        MatchPairs<T>{scores, sorted, rows, columns, p.topk < 0 ? most : std::min<int64_t>(most, p.topk),
                      args.out[0].mutable_as<T>(), args.out[1].mutable_as<T>()});
  });
}

}  // namespace

void kernels_match_cuda(KernelList& list) {
  list.kernel<multibox_target_cuda, target_support, target_scratch>("_contrib_MultiBoxTarget",
                                                                    "multibox_target_cuda", DeviceType::gpu);
  list.kernel<bipartite_matching_cuda, bipartite_support, bipartite_scratch>(
      "_contrib_bipartite_matching", "bipartite_matching_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops
