// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/arrays.h"
#include "ops/detection/multibox.h"
#include "ops/detection/multibox_rules.h"
#include "ops/detection/regions_cuda.h"
#include "ops/detection/suppress_cuda.h"
#include "ops/families_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// ---- MultiBoxPrior -------------------------------------------------------------------------------------------------------

constexpr size_t kMostKinds = 64;

template <class T>
struct PutPriors {
  using A = Computed<T>;
  int64_t width, kinds;
  A step_x, step_y, offset_x, offset_y, aspect;
  bool clip;
  float size[kMostKinds], ratio[kMostKinds];
  T* out;
  __device__ void operator()(int64_t i) const {
    const int64_t place = i / kinds, kind = i - place * kinds;
    const A y = (static_cast<A>(place / width) + offset_y) * step_y;
    const A x = (static_cast<A>(place % width) + offset_x) * step_x;
    const auto box =
        prior_box<A>(x, y, static_cast<A>(size[kind]), std::sqrt(static_cast<A>(ratio[kind])), aspect, clip);
    out[i * 4] = store<T>(box.left);
    out[i * 4 + 1] = store<T>(box.top);
    out[i * 4 + 2] = store<T>(box.right);
    out[i * 4 + 3] = store<T>(box.bottom);
  }
};

Support prior_support(const MultiBoxPriorParams& p, const KernelSpec&) {
  return p.sizes.size() + p.ratios.size() <= kMostKinds ? Support::yes()
                                                        : Support::no("it has more kinds than fit");
}

void multibox_prior_cuda(const MultiBoxPriorParams& p, const KernelArgs& args) {
  const int64_t height = args.in[0].shape[2], width = args.in[0].shape[3];
  const size_t sizes = p.sizes.size(), kinds = sizes + p.ratios.size() - 1;
  dispatch_floating(args.out[0].dtype, "MultiBoxPrior", [&]<class T>(Type<T>) {
    using A = Computed<T>;
    const auto step = [](float given, int64_t axis) {
      return given > 0 ? static_cast<A>(given) : A{1} / static_cast<A>(axis);
    };
    PutPriors<T> put{width,
                     static_cast<int64_t>(kinds),
                     step(p.steps[1], width),
                     step(p.steps[0], height),
                     static_cast<A>(p.offsets[1]),
                     static_cast<A>(p.offsets[0]),
                     static_cast<A>(height) / static_cast<A>(width),
                     p.clip,
                     {},
                     {},
                     args.out[0].mutable_as<T>()};
    for (size_t kind = 0; kind < kinds; ++kind) {
      put.size[kind] = p.sizes[kind < sizes ? kind : 0];
      put.ratio[kind] = p.ratios[kind < sizes ? 0 : kind - sizes + 1];
    }
    launch_each(stream_of(args), height * width * put.kinds, put);
  });
}

// ---- MultiBoxDetection ---------------------------------------------------------------------------------------------------

template <class T>
struct FindObjects {
  DetectionRules p;
  int64_t classes, count;
  const T *scores, *distances, *anchors;
  Found* found;
  __device__ void operator()(int64_t at) const {
    const int64_t n = at / count, i = at - n * count;
    found[at] =
        found_at<Computed<T>>(p, Elements<T>{scores + n * classes * count}, classes,
                              Elements<T>{distances + at * 4}, Elements<T>{anchors + i * 4}, count, i);
  }
};

struct FoundBoxes {
  using Box = Found;
  const Found* found;
  bool by_score, all_classes;
  float threshold;
  int64_t looked_at, wanted;
  __device__ bool counts(int64_t i) const { return found[i].anchor >= 0; }
  __device__ float score(int64_t i) const { return by_score ? found[i].score : 0.0f; }
  __device__ Found at(int64_t i) const { return found[i]; }
  __device__ bool covers(const Found& better, const Found& other) const {
    return (all_classes || better.id == other.id) && overlap(corners(better), corners(other)) >= threshold;
  }
};

template <class T>
struct PutFound {
  int64_t count, looked_at;
  const Found* found;
  const uint32_t* sorted;
  const uint8_t* covered;  // null: nothing was
  T* out;
  __device__ void operator()(int64_t at) const {
    const Found& box = found[sorted[at]];
    T* const to = out + at * 6;
    if (box.anchor < 0) {
      for (int k = 0; k < 6; ++k) to[k] = store<T>(-1.0f);
      return;
    }
    const bool is_left = covered == nullptr || (at % count < looked_at && covered[at] == 0);
    to[0] = store<T>(is_left ? box.id : -1.0f);
    to[1] = store<T>(box.score);
    for (int k = 0; k < 4; ++k) to[2 + k] = store<T>(box.box[k]);
  }
};

size_t found_bytes(int64_t boxes) { return aligned(static_cast<size_t>(boxes) * sizeof(Found)); }
size_t kept_bytes(int64_t boxes) { return aligned(static_cast<size_t>(boxes) * sizeof(int32_t)); }
size_t detection_scratch(const KernelSpec& spec) {
  const int64_t boxes = spec.out[0].shape[0] * spec.out[0].shape[1];
  return found_bytes(boxes) + kept_bytes(boxes) + suppress_scratch(boxes);
}
Support detection_support(const KernelSpec& spec) {
  return spec.out[0].shape.size() < kMostSorted ? Support::yes()
                                                : Support::no("it has more boxes than are sorted");
}

void multibox_detection_cuda(const MultiBoxDetectionParams& p, const KernelArgs& args) {
  const Shape& out = args.out[0].shape;
  const int64_t lists = out[0], anchors = out[1], boxes = lists * anchors;
  const cudaStream_t stream = stream_of(args);
  auto* const found = reinterpret_cast<Found*>(args.scratch.data());
  auto* const kept = reinterpret_cast<int32_t*>(args.scratch.data() + found_bytes(boxes));
  const std::span<std::byte> scratch = args.scratch.subspan(found_bytes(boxes) + kept_bytes(boxes));
  const DetectionRules rules(p);
  const bool suppresses = p.nms_threshold > 0 && p.nms_threshold <= 1;
  const int64_t looked_at = p.nms_topk >= 0 ? std::min<int64_t>(anchors, p.nms_topk) : anchors;
  const FoundBoxes all{found, suppresses, p.force_suppress, p.nms_threshold, looked_at, anchors};
  dispatch_floating(args.out[0].dtype, "MultiBoxDetection", [&]<class T>(Type<T>) {
    launch_each(stream, boxes,
                FindObjects<T>{rules, args.in[0].shape[1], anchors, args.in[0].as<T>(), args.in[1].as<T>(),
                               args.in[2].as<T>(), found});
    const SortSpace<uint64_t> ranked = rank_boxes<32>(lists, anchors, all, scratch, stream);
    const uint8_t* const covered =
        suppresses ? suppress_ranked(lists, anchors, all, ranked, scratch, kept, stream) : nullptr;
    launch_each(
        stream, boxes,
        PutFound<T>{anchors, looked_at, found, ranked.sorted_values(), covered, args.out[0].mutable_as<T>()});
  });
}

}  // namespace

void kernels_multibox_cuda(KernelList& list) {
  list.kernel<multibox_prior_cuda, prior_support>("_contrib_MultiBoxPrior", "multibox_prior_cuda",
                                                  DeviceType::gpu);
  list.kernel<multibox_detection_cuda, detection_support, detection_scratch>(
      "_contrib_MultiBoxDetection", "multibox_detection_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops
