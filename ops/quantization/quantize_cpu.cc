// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <span>

#include "engine/parallel_for.h"
#include "ops/limits.h"
#include "ops/quantization/quantization.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

namespace loomix::ops {

Range checked_range(float low, float high, const char* who) {
  LOOMIX_CHECK(std::isfinite(low) && std::isfinite(high) && low <= high, ValueError,
               "[{}] the range is from {} to {}; expected two finite numbers, the lesser one first.", who,
               low, high);
  return {low, high};
}

namespace {

// One pass; a number that is none, or infinite, spoils the result, which `checked_range` then refuses.
template <class T>
Range extent(const T* data, int64_t size) {
  if (size == 0) return {};
  float low = static_cast<float>(data[0]), high = low, spoilt = 0;
  for (int64_t i = 0; i < size; ++i) {
    const auto value = static_cast<float>(data[i]);
    low = std::min(low, value);
    high = std::max(high, value);
    spoilt += value - value;
  }
  return {low + spoilt, high + spoilt};
}

// What the numbers of a row are multiplied by, before `shift` is added: one factor for all, or by each row's step.
struct Factors {
  double all = 1, shift = 0;
  const RowRanges* ranges = nullptr;
  bool to_whole = false;
  DType type = DType::int8;  // of the whole numbers

  float at(int64_t row) const {
    if (!ranges) return static_cast<float>(all);
    const double step = (*ranges)[row].step(type);
    return static_cast<float>(to_whole ? per_step(step) : step);
  }
};

// In float32, as MXNet computes.
template <class From, class To>
void rescale(const KernelArgs& args, const Factors& factors) {
  const From* data = args.in[0].as<From>();
  To* out = args.wanted<To>(0);
  const int64_t size = args.out[0].size();
  if (!out || size == 0) return;
  const int64_t columns = factors.ranges && !factors.ranges->is_one() ? size / args.out[0].shape[0] : size;
  const int64_t grain = work_limits().quantized_elements;
  engine::parallel_for(*args.context, size, grain, [=](int64_t begin, int64_t end) {
    const auto add = static_cast<float>(factors.shift);
    while (begin < end) {
      const float by = factors.at(begin / columns);
      const int64_t stop = std::min(end, (begin / columns + 1) * columns);
      for (int64_t i = begin; i < stop; ++i) {
        const float value = static_cast<float>(data[i]) * by + add;
        if constexpr (std::is_same_v<To, float>) out[i] = value;
        else out[i] = to_whole<To>(value);
      }
      begin = stop;
    }
  });
}

template <class From>
void to_bytes(const KernelArgs& args, const Factors& factors) {
  dispatch_bytes(args.out[0].dtype, [&]<class To>(Type<To>) { rescale<From, To>(args, factors); });
}

template <class From>
void to_bytes(const KernelArgs& args, double step, Range range) {
  to_bytes<From>(args, {.all = step * per_step(range.step(args.out[0].dtype))});
}

// What is stated of a range: int8 is symmetric.
Range stated(DType type, Range range) {
  return type == DType::int8 ? Range{-range.reach(), range.reach()} : range;
}

Range calibrated(const CalibratedRange& p, const char* who) {
  return checked_range(*p.min_calib_range, *p.max_calib_range, who);
}

void quantize_cpu(const QuantizeParams&, const KernelArgs& args) {
  const RowRanges ranges(args, 1, "_contrib_quantize");
  const DType type = args.out[0].dtype;
  to_bytes<float>(args, {.ranges = &ranges, .to_whole = true, .type = type});
  float* const low = args.wanted<float>(1);
  float* const high = args.wanted<float>(2);
  for (int64_t row = 0; row < args.in[1].size(); ++row) {
    const Range range = stated(type, ranges[row]);
    if (low) low[row] = range.low;
    if (high) high[row] = range.high;
  }
}

void quantize_v2_cpu(const QuantizeV2Params& p, const KernelArgs& args) {
  constexpr const char* kWho = "_contrib_quantize_v2";
  if (kByteTypes.contains(args.in[0].dtype)) {
    const auto most = static_cast<float>(largest_of(args.in[0].dtype));
    if (args.req[0] != Req::null)
      std::memcpy(args.out[0].data, args.in[0].data, static_cast<size_t>(args.in[0].size()));
    put_range(args, p.is_calibrated() ? calibrated(p, kWho)
                                      : Range{args.in[0].dtype == DType::int8 ? -most : 0, most});
    return;
  }
  const Range range = p.is_calibrated() ? calibrated(p, kWho) : range_of(args.in[0], kWho);
  to_bytes<float>(args, 1, range);
  put_range(args, stated(args.out[0].dtype, range));
}

void quantize_asym_cpu(const QuantizeAsymParams& p, const KernelArgs& args) {
  constexpr const char* kWho = "_contrib_quantize_asym";
  const Range range = p.is_calibrated() ? calibrated(p, kWho) : range_of(args.in[0], kWho);
  const auto scale = static_cast<float>(255 * per_step(range.high - range.low));
  const float shift = scale > 0 ? 255 - range.high * scale : 0;
  rescale<float, uint8_t>(args, {.all = scale, .shift = shift});
  put_range(args, {scale, shift});
}

void dequantize_cpu(const DequantizeParams&, const KernelArgs& args) {
  const DType type = args.in[0].dtype;
  const RowRanges ranges(args, 1, "_contrib_dequantize");
  const auto widen = [&]<class T>(Type<T>) { rescale<T, float>(args, {.ranges = &ranges, .type = type}); };
  if (type == DType::int32) widen(Type<int32_t>{});
  else dispatch_bytes(type, widen);
}

void requantize_cpu(const QuantizeV2Params& p, const KernelArgs& args) {
  constexpr const char* kWho = "_contrib_requantize";
  const double step = range_at(args, 1, kWho).step(DType::int32);
  Range range;
  if (p.is_calibrated()) {
    range = calibrated(p, kWho);
  } else {
    const Range found = range_of(args.in[0], kWho);
    range = {static_cast<float>(found.low * step), static_cast<float>(found.high * step)};
  }
  const float reach = range.reach();
  const bool is_signed = args.out[0].dtype == DType::int8;
  to_bytes<int32_t>(args, step, range);
  put_range(args, {is_signed ? -reach : 0, reach});
}

// ---- the threshold by entropy ----

// The distribution without zeros: these get a little, which the others give.
bool smooth(std::span<double> values) {
  constexpr double kLittle = 0.0001;
  const auto zeros = static_cast<double>(std::count(values.begin(), values.end(), 0.0));
  const double others = static_cast<double>(values.size()) - zeros;
  if (others == 0) return false;
  const double given = kLittle * zeros / others;
  if (given >= 1) return false;
  for (double& value : values) value += value == 0 ? kLittle : -given;
  return true;
}

double divergence_of(std::span<const double> p, std::span<const double> q) {
  double all_p = 0, all_q = 0, sum = 0;
  for (double value : p) all_p += value;
  for (double value : q) all_q += value;
  for (size_t i = 0; i < p.size(); ++i) sum += p[i] / all_p * std::log(p[i] / all_p / (q[i] / all_q));
  return sum;
}

struct Histogram {
  std::span<const double> bins;
  int steps;

  static constexpr size_t kRoom = 3;  // a loss needs so many numbers a bin to compute with

  // What is lost with `half` bins at each side of the middle one.
  double loss(int64_t half, double* room) const {
    const auto count = static_cast<int64_t>(bins.size()), middle = count / 2;
    const int64_t first = middle - half, last = std::min(middle + half + 1, count), size = last - first;
    const std::span<double> kept(room, static_cast<size_t>(size));
    const std::span<double> p(room + count, kept.size()), q(room + 2 * count, kept.size());
    std::copy(bins.begin() + first, bins.begin() + last, kept.begin());
    // The first bin is counted with what is cut off, and is not among what is kept, as in MXNet.
    kept[0] = 0;
    std::ranges::copy(kept, p.begin());
    std::fill(q.begin(), q.end(), 0.0);
    for (int64_t i = 0; i <= first; ++i) p.front() += bins[static_cast<size_t>(i)];
    for (int64_t i = last; i < count; ++i) p.back() += bins[static_cast<size_t>(i)];
    const int64_t merged = size / steps;
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t begin = step * merged, end = step == steps - 1 ? size : begin + merged;
      double sum = 0, used = 0;
      for (int64_t i = begin; i < end; ++i) {
        sum += kept[static_cast<size_t>(i)];
        used += kept[static_cast<size_t>(i)] != 0;
      }
      for (int64_t i = begin; i < end && used > 0; ++i) {
        if (p[static_cast<size_t>(i)] != 0) q[static_cast<size_t>(i)] = sum / used;
      }
    }
    if (!smooth(p) || !smooth(q)) return std::numeric_limits<double>::infinity();
    return divergence_of(p, q);
  }
};

// Bins, edges and losses; then what each thread computes a loss with.
size_t entropy_shared(int64_t bins) { return aligned(static_cast<size_t>(3 * bins + 2) * sizeof(double)); }
size_t entropy_room(int64_t bins) {
  return aligned(Histogram::kRoom * static_cast<size_t>(bins) * sizeof(double));
}
size_t entropy_scratch(const KernelSpec& spec) {
  const int64_t bins = spec.in[0].size();
  return entropy_shared(bins) + entropy_room(bins) * static_cast<size_t>(slots_for(spec.cores));
}

void calibrate_entropy_cpu(const EntropyParams& p, const KernelArgs& args) {
  constexpr const char* kWho = "_contrib_calibrate_entropy";
  const auto count = args.in[0].size();
  LOOMIX_CHECK(count % 2 == 1 && count > p.num_quantized_bins, ValueError,
               "[{}] the histogram has {} bins; expected an odd number, more than num_quantized_bins, {}.",
               kWho, count, p.num_quantized_bins);
  const std::span<double> memory(reinterpret_cast<double*>(args.scratch.data()),
                                 static_cast<size_t>(3 * count + 2));
  const auto bins = memory.first(static_cast<size_t>(count)),
             edges = memory.subspan(bins.size(), bins.size() + 1);
  const Histogram histogram{bins, p.num_quantized_bins};
  const auto read = [&](const TensorView& from, std::span<double> to) {
    dispatch_numeric(from.dtype, kWho, [&]<class T>(Type<T>) {
      for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(from.as<T>()[i]);
    });
  };
  read(args.in[0], bins);
  read(args.in[1], edges);
  double all = 0;
  for (double bin : bins) all += bin;
  LOOMIX_CHECK(std::isfinite(all) && all > 0, ValueError,
               "[{}] the histogram counts {} values; expected a finite number above 0.", kWho, all);
  const int64_t least = p.num_quantized_bins / 2, middle = count / 2;
  const auto losses = memory.subspan(2 * bins.size() + 1, static_cast<size_t>(middle - least + 1));
  ScratchSlots slots(args.scratch.subspan(entropy_shared(count)), entropy_room(count),
                     slots_for(args.context->threads));
  engine::parallel_for(*args.context, middle - least + 1, 1, [&](int64_t begin, int64_t end) {
    const ScratchSlots::Use room(slots);
    for (int64_t i = begin; i < end; ++i)
      losses[static_cast<size_t>(i)] = histogram.loss(least + i, room.as<double>());
  });
  const auto best = std::min_element(losses.begin(), losses.end()) - losses.begin();
  if (float* out = args.wanted<float>(0))
    *out = static_cast<float>(edges[static_cast<size_t>(std::min(middle + least + best + 1, count))]);
  if (float* out = args.wanted<float>(1)) *out = static_cast<float>(losses[static_cast<size_t>(best)]);
}

}  // namespace

Range range_of(const TensorView& data, const char* who) {
  Range range;
  dispatch_numeric(data.dtype, who, [&]<class T>(Type<T>) { range = extent(data.as<T>(), data.size()); });
  LOOMIX_CHECK(std::isfinite(range.low) && std::isfinite(range.high), ValueError,
               "[{}] the data has numbers that are infinite or NaN, and so no range.", who);
  return range;
}

void kernels_quantize(OpTable& table) {
  table.kernel<quantize_cpu>("_contrib_quantize", "quantize_cpu");
  table.kernel<quantize_v2_cpu>("_contrib_quantize_v2", "quantize_v2_cpu");
  table.kernel<quantize_asym_cpu>("_contrib_quantize_asym", "quantize_asym_cpu");
  table.kernel<dequantize_cpu>("_contrib_dequantize", "dequantize_cpu");
  table.kernel<requantize_cpu>("_contrib_requantize", "requantize_cpu");
  table.kernel<calibrate_entropy_cpu, entropy_scratch>("_contrib_calibrate_entropy", "calibrate_entropy_cpu");
}

}  // namespace loomix::ops
