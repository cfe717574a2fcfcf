// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/element.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/fold.h"
#include "ops/families_cuda.h"
#include "ops/quantization/range_cuda.h"

// From real numbers to whole ones and back.
namespace loomix::ops {
namespace {

using namespace cuda;

// What is done with each element: x * factor + shift.
struct Factors {
  float factor, shift;
};

// Least and greatest, and a sum that is none where a number is infinite or NaN.
struct Extent {
  float low, high, spoilt;
  __device__ Range range(int64_t* fault) const {
    if (spoilt == 0) return {low, high};
    report(fault);
    return {};
  }
};
template <class T>
struct ExtentFold {
  using Acc = Extent;
  const T* data;
  __device__ Extent init() const { return {static_cast<float>(data[0]), static_cast<float>(data[0]), 0}; }
  __device__ Extent add(Extent acc, int64_t at, int64_t) const {
    const auto value = static_cast<float>(data[at]);
    return {min(acc.low, value), max(acc.high, value), acc.spoilt + (value - value)};
  }
  __device__ Extent merge(Extent a, Extent b) const {
    return {min(a.low, b.low), max(a.high, b.high), a.spoilt + b.spoilt};
  }
};
struct PutExtent {
  Extent* to;
  __device__ void operator()(int64_t, Extent acc) const { *to = acc; }
};

// Scratch memory: factors, the extent, then what the fold needs.
struct Scratch {
  Factors factors;
  Extent extent;
};
constexpr size_t kFoldOffset = 64;
Scratch* scratch_of(const KernelArgs& args) { return reinterpret_cast<Scratch*>(args.scratch.data()); }

FoldPlan plan_of(const TensorView& data) { return FoldPlan(Shape{data.size()}, AxisSet(1)); }

template <class P>
size_t found_scratch(const P& p, const KernelSpec& spec) {
  return p.is_calibrated() ? kFoldOffset : kFoldOffset + plan_of(spec.in[0]).scratch_bytes(sizeof(Extent));
}
size_t given_scratch(const KernelSpec&) { return kFoldOffset; }
Support one_range(const KernelSpec& spec) { return one_range_each(spec, 1); }

// The extent of the data, on the device.
template <class T>
void find_extent(const KernelArgs& args) {
  Extent* const to = &scratch_of(args)->extent;
  const cudaStream_t stream = stream_of(args);
  if (args.in[0].size() == 0) {
    check(cudaMemsetAsync(to, 0, sizeof(Extent), stream), "a fill");
    return;
  }
  run_fold(plan_of(args.in[0]), ExtentFold<T>{args.in[0].as<T>()}, PutExtent{to},
           args.scratch.subspan(kFoldOffset), stream);
}

template <class From, class To>
struct Rescale {
  const Factors* by;
  const From* in;
  To* out;
  __device__ void operator()(int64_t i) const {
    const float value = __fadd_rn(__fmul_rn(static_cast<float>(in[i]), by->factor), by->shift);
    if constexpr (std::is_same_v<To, float>) out[i] = value;
    else out[i] = to_whole<To>(value);
  }
};
template <class From, class To>
void rescale(const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  launch_each(
      stream_of(args), args.out[0].size(),
      Rescale<From, To>{&scratch_of(args)->factors, args.in[0].as<From>(), args.out[0].mutable_as<To>()});
}
template <class From>
void to_bytes(const KernelArgs& args) {
  dispatch_bytes(args.out[0].dtype, [&]<class To>(Type<To>) { rescale<From, To>(args); });
}

// Where the range comes from: the attributes, the data, or two inputs.
struct Source {
  bool is_known = false;
  Range known{};
  const Extent* found = nullptr;
  RangeInput given{};
  __device__ Range get(int64_t* fault) const {
    return is_known ? known : found != nullptr ? found->range(fault) : given.get(fault);
  }
};
template <class P>
Source calibrated_or_found(const P& p, const KernelArgs& args, const char* who) {
  if (p.is_calibrated()) return {true, checked_range(*p.min_calib_range, *p.max_calib_range, who)};
  return {.found = &scratch_of(args)->extent};
}

struct PlanBytes {
  Source source;
  DType type;
  RangeOutput out;
  Factors* to;
  int64_t* fault;
  __device__ void operator()() const {
    const Range range = source.get(fault);
    *to = {static_cast<float>(per_step(range.step(type))), 0};
    out.put(type == DType::int8 ? Range{-range.reach(), range.reach()} : range);
  }
};
void quantize(const KernelArgs& args, const Source& source, int64_t* fault) {
  launch_once(stream_of(args),
              PlanBytes{source, args.out[0].dtype, range_output(args), &scratch_of(args)->factors, fault});
  to_bytes<float>(args);
}

void quantize_cuda(const QuantizeParams&, const KernelArgs& args, int64_t* fault) {
  quantize(args, {.given = range_input(args, 1)}, fault);
}
void explain_quantize(const KernelArgs& args) { explain_ranges(args, {1}, "_contrib_quantize"); }

struct PutRange {
  RangeOutput out;
  Range range;
  __device__ void operator()() const { out.put(range); }
};

void quantize_v2_cuda(const QuantizeV2Params& p, const KernelArgs& args, int64_t* fault) {
  constexpr const char* kWho = "_contrib_quantize_v2";
  const DType type = args.in[0].dtype;
  if (kByteTypes.contains(type)) {
    const auto most = static_cast<float>(largest_of(type));
    const Range range = p.is_calibrated() ? checked_range(*p.min_calib_range, *p.max_calib_range, kWho)
                                          : Range{type == DType::int8 ? -most : 0, most};
    if (args.req[0] != Req::null) convert_array(args.in[0], args.out[0], stream_of(args));
    return launch_once(stream_of(args), PutRange{range_output(args), range});
  }
  if (!p.is_calibrated()) find_extent<float>(args);
  quantize(args, calibrated_or_found(p, args, kWho), fault);
}
void explain_data(const KernelArgs& args, const char* who) { range_of(HostCopy(args.in[0]).view(), who); }
void explain_quantize_v2(const KernelArgs& args) { explain_data(args, "_contrib_quantize_v2"); }

struct PlanAsym {
  Source source;
  RangeOutput out;
  Factors* to;
  int64_t* fault;
  __device__ void operator()() const {
    const Range range = source.get(fault);
    const auto scale = static_cast<float>(255 * per_step(range.high - range.low));
    const float shift = scale > 0 ? __fadd_rn(255.0f, -__fmul_rn(range.high, scale)) : 0;
    *to = {scale, shift};
    out.put({scale, shift});
  }
};
void quantize_asym_cuda(const QuantizeAsymParams& p, const KernelArgs& args, int64_t* fault) {
  constexpr const char* kWho = "_contrib_quantize_asym";
  if (!p.is_calibrated()) find_extent<float>(args);
  launch_once(stream_of(args), PlanAsym{calibrated_or_found(p, args, kWho), range_output(args),
                                        &scratch_of(args)->factors, fault});
  rescale<float, uint8_t>(args);
}
void explain_quantize_asym(const KernelArgs& args) { explain_data(args, "_contrib_quantize_asym"); }

struct PlanReal {
  RangeInput range;
  DType type;
  Factors* to;
  int64_t* fault;
  __device__ void operator()() const { *to = {static_cast<float>(range.get(fault).step(type)), 0}; }
};
void dequantize_cuda(const DequantizeParams&, const KernelArgs& args, int64_t* fault) {
  const DType type = args.in[0].dtype;
  launch_once(stream_of(args), PlanReal{range_input(args, 1), type, &scratch_of(args)->factors, fault});
  if (type == DType::int32) return rescale<int32_t, float>(args);
  dispatch_bytes(type, [&]<class T>(Type<T>) { rescale<T, float>(args); });
}
void explain_dequantize(const KernelArgs& args) { explain_ranges(args, {1}, "_contrib_dequantize"); }

struct PlanAgain {
  RangeInput given;
  Source source;  // in the data: of whole numbers
  DType type;
  RangeOutput out;
  Factors* to;
  int64_t* fault;
  __device__ void operator()() const {
    const double step = given.get(fault).step(DType::int32);
    Range range = source.get(fault);
    if (!source.is_known)
      range = {static_cast<float>(range.low * step), static_cast<float>(range.high * step)};
    const float reach = range.reach();
    *to = {static_cast<float>(step * per_step(range.step(type))), 0};
    out.put({type == DType::int8 ? -reach : 0, reach});
  }
};
void requantize_cuda(const QuantizeV2Params& p, const KernelArgs& args, int64_t* fault) {
  if (!p.is_calibrated()) find_extent<int32_t>(args);
  launch_once(stream_of(args),
              PlanAgain{range_input(args, 1), calibrated_or_found(p, args, "_contrib_requantize"),
                        args.out[0].dtype, range_output(args), &scratch_of(args)->factors, fault});
  to_bytes<int32_t>(args);
}
void explain_requantize(const KernelArgs& args) { explain_ranges(args, {1}, "_contrib_requantize"); }

}  // namespace

void kernels_quantize_cuda(KernelList& list) {
  add_checked<quantize_cuda, explain_quantize, given_scratch, one_range>(list, "_contrib_quantize",
                                                                         "quantize_cuda");
  add_checked<quantize_v2_cuda, explain_quantize_v2, found_scratch<QuantizeV2Params>>(
      list, "_contrib_quantize_v2", "quantize_v2_cuda");
  add_checked<quantize_asym_cuda, explain_quantize_asym, found_scratch<QuantizeAsymParams>>(
      list, "_contrib_quantize_asym", "quantize_asym_cuda");
  add_checked<dequantize_cuda, explain_dequantize, given_scratch, one_range>(list, "_contrib_dequantize",
                                                                             "dequantize_cuda");
  add_checked<requantize_cuda, explain_requantize, found_scratch<QuantizeV2Params>>(
      list, "_contrib_requantize", "requantize_cuda");
}

}  // namespace loomix::ops
