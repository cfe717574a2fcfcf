// SPDX-License-Identifier: Apache-2.0
#include "ops/detection/multibox.h"

#include <cmath>

#include "engine/parallel_for.h"
#include "ops/detection/multibox_rules.h"
#include "ops/plane_sums.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// Labels end where the first class is -1.
template <class T>
int64_t count_boxes(const T* label, int64_t rows, int64_t numbers) {
  int64_t count = 0;
  while (count < rows && static_cast<Accum<T>>(label[count * numbers]) != -1) ++count;
  return count;
}

template <class T>
class Matcher {
  using A = Accum<T>;

 public:
  Matcher(const MultiBoxTargetParams& p, const T* anchors, int64_t count, const T* label, int64_t boxes,
          int64_t numbers, std::byte* scratch)
      : p_(p), anchors_(anchors), count_(count), label_(label), boxes_(boxes), numbers_(numbers) {
    match = reinterpret_cast<Match*>(scratch);
    taken_ = reinterpret_cast<uint8_t*>(match + count);
  }
  static size_t bytes(int64_t anchors, int64_t boxes) {
    return static_cast<size_t>(anchors) * (sizeof(Match) + sizeof(int32_t) + sizeof(float)) +
           static_cast<size_t>(boxes) + 64;
  }

  void run(const T* scores, int64_t classes) {
    for (int64_t i = 0; i < count_; ++i) {
      match[i] = best_match<A>(anchor(i), boxes_, [this](int64_t k) { return box(k); });
    }
    std::fill_n(taken_, boxes_, uint8_t{0});
    positives_ = 0;
    match_boxes();
    for (int64_t i = 0; i < count_; ++i) {
      if (!match[i].positive && match[i].box >= 0 && match[i].overlap > p_.overlap_threshold) {
        match[i].positive = true;
        ++positives_;
      }
    }
    if (p_.negative_mining_ratio > 0) {
      mine(scores, classes);
    } else {
      for (int64_t i = 0; i < count_; ++i) match[i].negative = !match[i].positive;
    }
  }

  Corners4<A> box(int64_t i) const { return Corners4<A>::of(label_ + i * numbers_ + 1, BoxFormat::corner); }
  Corners4<A> anchor(int64_t i) const { return Corners4<A>::of(anchors_ + i * 4, BoxFormat::corner); }
  Match* match;

 private:
  // Each box takes the anchor that fits best, the best pair first.
  void match_boxes() {
    for (int64_t round = 0; round < boxes_; ++round) {
      A most = static_cast<A>(kLeastOverlap);
      int64_t chosen = -1, its_box = -1;
      for (int64_t i = 0; i < count_; ++i) {
        if (match[i].positive || !(static_cast<A>(match[i].overlap) > most)) continue;
        for (int64_t k = 0; k < boxes_; ++k) {
          if (taken_[k]) continue;
          const A both = overlap(anchor(i), box(k));
          if (!(both > most)) continue;
          most = both;
          chosen = i;
          its_box = k;
        }
      }
      if (chosen < 0) return;
      match[chosen] = {static_cast<float>(most), static_cast<int32_t>(its_box), true, false};
      taken_[its_box] = 1;
      ++positives_;
    }
  }

  // The background is learned from the anchors that look least like it.
  void mine(const T* scores, int64_t classes) {
    auto* const order = reinterpret_cast<int32_t*>(taken_ + (boxes_ + 3) / 4 * 4);
    auto* const background = reinterpret_cast<float*>(order + count_);
    int64_t candidates = 0;
    for (int64_t i = 0; i < count_; ++i) {
      if (match[i].positive || !(match[i].overlap < p_.negative_mining_thresh)) continue;
      background[i] = background_share<A>(scores, classes, count_, i);
      order[candidates++] = static_cast<int32_t>(i);
    }
    const int64_t count =
        mined_count(positives_, candidates, p_.negative_mining_ratio, p_.minimum_negative_samples);
    const auto before = [&](int32_t a, int32_t b) {
      return background[a] < background[b] || (background[a] == background[b] && a < b);
    };
    std::sort(order, order + candidates, before);
    for (int64_t i = 0; i < count; ++i) match[order[i]].negative = true;
  }

  const MultiBoxTargetParams& p_;
  const T* const anchors_;
  const int64_t count_;
  const T* const label_;
  const int64_t boxes_, numbers_;
  uint8_t* taken_;
  int64_t positives_ = 0;
};

template <class T>
void put_distances(const float* variances, const Corners4<Accum<T>>& box, const Corners4<Accum<T>>& anchor,
                   T* to) {
  Accum<T> values[4];
  target_distances(variances, box, anchor, values);
  for (int i = 0; i < 4; ++i) to[i] = static_cast<T>(values[i]);
}

template <class T>
int64_t find(const MultiBoxDetectionParams& p, const T* scores, int64_t classes, const T* distances,
             const T* anchors, int64_t count, Found* found) {
  const DetectionRules rules(p);
  int64_t size = 0;
  for (int64_t i = 0; i < count; ++i) {
    found[size] = found_at<Accum<T>>(rules, scores, classes, distances + i * 4, anchors + i * 4, count, i);
    if (found[size].anchor >= 0) ++size;
  }
  return size;
}

void suppress(const MultiBoxDetectionParams& p, Found* found, int64_t size) {
  if (!(p.nms_threshold > 0 && p.nms_threshold <= 1)) return;
  std::sort(found, found + size, [](const Found& a, const Found& b) {
    return a.score > b.score || (a.score == b.score && a.anchor < b.anchor);
  });
  const int64_t looked_at = p.nms_topk >= 0 ? std::min<int64_t>(size, p.nms_topk) : size;
  for (int64_t i = looked_at; i < size; ++i) found[i].id = -1;
  for (int64_t i = 0; i < looked_at; ++i) {
    if (found[i].id < 0) continue;
    for (int64_t j = i + 1; j < looked_at; ++j) {
      if (found[j].id < 0 || (!p.force_suppress && found[j].id != found[i].id)) continue;
      if (overlap(corners(found[i]), corners(found[j])) >= p.nms_threshold) found[j].id = -1;
    }
  }
}

void multibox_prior_cpu(const MultiBoxPriorParams& p, const KernelArgs& args) {
  const int64_t height = args.in[0].shape[2], width = args.in[0].shape[3];
  const auto sizes = static_cast<int64_t>(p.sizes.size()), ratios = static_cast<int64_t>(p.ratios.size());
  const int64_t kinds = sizes + ratios - 1;
  dispatch_floating(args.out[0].dtype, "MultiBoxPrior", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    T* const out = args.out[0].mutable_as<T>();
    const A step_y = p.steps[0] > 0 ? static_cast<A>(p.steps[0]) : A{1} / static_cast<A>(height);
    const A step_x = p.steps[1] > 0 ? static_cast<A>(p.steps[1]) : A{1} / static_cast<A>(width);
    const A aspect = static_cast<A>(height) / static_cast<A>(width);
    engine::parallel_each(*args.context, height * width, 256, [&](int64_t place) {
      const A y = (static_cast<A>(place / width) + static_cast<A>(p.offsets[0])) * step_y;
      const A x = (static_cast<A>(place % width) + static_cast<A>(p.offsets[1])) * step_x;
      for (int64_t kind = 0; kind < kinds; ++kind) {
        const auto size = static_cast<A>(p.sizes[static_cast<size_t>(kind < sizes ? kind : 0)]);
        const A ratio =
            std::sqrt(static_cast<A>(p.ratios[static_cast<size_t>(kind < sizes ? 0 : kind - sizes + 1)]));
        const auto box = prior_box<A>(x, y, size, ratio, aspect, p.clip);
        const A sides[4] = {box.left, box.top, box.right, box.bottom};
        for (int i = 0; i < 4; ++i) out[(place * kinds + kind) * 4 + i] = static_cast<T>(sides[i]);
      }
    });
  });
}

size_t multibox_target_scratch(const KernelSpec& spec) {
  return slots_bytes(spec, 1, Matcher<float>::bytes(spec.in[0].shape[1], spec.in[1].shape[1]));
}

void multibox_target_cpu(const MultiBoxTargetParams& p, const KernelArgs& args) {
  const Shape& label = args.in[1].shape;
  const int64_t anchors = args.in[0].shape[1], classes = args.in[2].shape[1];
  if (args.in[2].size() == 0) return;
  dispatch_floating(args.in[0].dtype, "MultiBoxTarget", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    T* to[3];
    for (size_t i = 0; i < 3; ++i) to[i] = args.wanted<T>(i);
    ScratchSlots slots = slots_of(args.scratch, 1, Matcher<T>::bytes(anchors, label[1]));
    engine::parallel_for(*args.context, label[0], 1, [&](int64_t begin, int64_t end) {
      const ScratchSlots::Use slot(slots);
      for (int64_t n = begin; n < end; ++n) {
        const T* const boxes = args.in[1].as<T>() + n * label[1] * label[2];
        const int64_t count = count_boxes(boxes, label[1], label[2]);
        Matcher<T> matcher(p, args.in[0].as<T>(), anchors, boxes, count, label[2],
                           slot.template as<std::byte>());
        if (count > 0) matcher.run(args.in[2].as<T>() + n * classes * anchors, classes);
        for (int64_t i = 0; i < anchors; ++i) {
          const bool positive = count > 0 && matcher.match[i].positive;
          const bool negative = count > 0 && matcher.match[i].negative;
          const int64_t at = n * anchors + i;
          if (to[0]) std::fill_n(to[0] + at * 4, 4, static_cast<T>(A{0}));
          if (to[0] && positive)
            put_distances(p.variances.data(), matcher.box(matcher.match[i].box), matcher.anchor(i),
                          to[0] + at * 4);
          if (to[1]) std::fill_n(to[1] + at * 4, 4, static_cast<T>(positive ? A{1} : A{0}));
          A id = negative ? A{0} : static_cast<A>(p.ignore_label);
          if (positive) id = static_cast<A>(boxes[matcher.match[i].box * label[2]]) + 1;
          if (to[2]) to[2][at] = static_cast<T>(id);
        }
      }
    });
  });
}

size_t multibox_detection_scratch(const KernelSpec& spec) {
  return slots_bytes(spec, spec.in[2].shape[1], sizeof(Found));
}

void multibox_detection_cpu(const MultiBoxDetectionParams& p, const KernelArgs& args) {
  const Shape& out = args.out[0].shape;
  const int64_t anchors = out[1], classes = args.in[0].shape[1];
  dispatch_floating(args.out[0].dtype, "MultiBoxDetection", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    T* const result = args.out[0].mutable_as<T>();
    ScratchSlots slots = slots_of(args.scratch, anchors, sizeof(Found));
    engine::parallel_for(*args.context, out[0], 1, [&](int64_t begin, int64_t end) {
      const ScratchSlots::Use slot(slots);
      Found* const found = slot.template as<Found>();
      for (int64_t n = begin; n < end; ++n) {
        const int64_t size = find(p, args.in[0].as<T>() + n * classes * anchors, classes,
                                  args.in[1].as<T>() + n * anchors * 4, args.in[2].as<T>(), anchors, found);
        suppress(p, found, size);
        T* to = result + n * anchors * 6;
        std::fill_n(to, anchors * 6, static_cast<T>(A{-1}));
        for (int64_t i = 0; i < size; ++i, to += 6) {
          to[0] = static_cast<T>(static_cast<A>(found[i].id));
          to[1] = static_cast<T>(static_cast<A>(found[i].score));
          for (int k = 0; k < 4; ++k) to[2 + k] = static_cast<T>(static_cast<A>(found[i].box[k]));
        }
      }
    });
  });
}

}  // namespace

void kernels_multibox(OpTable& table) {
  table.kernel<multibox_prior_cpu>("_contrib_MultiBoxPrior", "multibox_prior_cpu");
  table.kernel<multibox_target_cpu, multibox_target_scratch>("_contrib_MultiBoxTarget",
                                                             "multibox_target_cpu");
  table.kernel<multibox_detection_cpu, multibox_detection_scratch>("_contrib_MultiBoxDetection",
                                                                   "multibox_detection_cpu");
}

}  // namespace loomix::ops
