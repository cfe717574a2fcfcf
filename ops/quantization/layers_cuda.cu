// SPDX-License-Identifier: Apache-2.0
#include "engine/device/cuda/element.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/families_cuda.h"
#include "ops/quantization/layer_sums.h"
#include "ops/quantization/range_cuda.h"

// Layers of 8 bits but products.
namespace loomix::ops {
namespace {

using namespace cuda;

// ---- what moves ----

struct PassRange {
  RangeInput in;
  RangeOutput out;
  int64_t* fault;
  __device__ void operator()() const { out.put(in.get(fault)); }
};
void pass_range(const KernelArgs& args, size_t low, int64_t* fault) {
  launch_once(stream_of(args), PassRange{range_input(args, low), range_output(args), fault});
}

template <class T>
struct PoolEach {
  PoolGeometry g;
  Steps from, to;
  Divider channels, pixels, lines, columns;
  bool is_max, with_pad;
  const T* data;
  T* out;
  __device__ void operator()(int64_t i) const {
    const int64_t plane = pixels.quotient(i), image = channels.quotient(plane);
    const int64_t channel = plane - image * channels.divisor(), pixel = i - plane * pixels.divisor();
    const int64_t row = columns.quotient(pixel), depth = lines.quotient(row);
    const int64_t place[3] = {depth, row - depth * lines.divisor(), pixel - row * columns.divisor()};
    out[image * to.image + channel * to.channel + place[0] * to.place[0] + place[1] * to.place[1] +
        place[2] * to.place[2]] =
        pool_at(g, data + image * from.image + channel * from.channel, place, from.place, is_max, with_pad);
  }
};
void quantized_pooling_cuda(const PoolingParams& p, const KernelArgs& args, int64_t* fault) {
  pass_range(args, 1, fault);
  if (args.req[0] == Req::null) return;
  const PoolGeometry g(p, args.in[0].shape);
  dispatch_bytes(args.in[0].dtype, [&]<class T>(Type<T>) {
    launch_each(
        stream_of(args), args.out[0].size(),
        PoolEach<T>{g, Steps(g.channels, g.in, g.channels_last), Steps(g.channels, g.out, g.channels_last),
                    Divider(g.channels), Divider(g.out_size()), Divider(g.out[1]), Divider(g.out[2]),
                    p.pool_type == PoolType::max, p.count_include_pad.value_or(true), args.in[0].as<T>(),
                    args.out[0].mutable_as<T>()});
  });
}
void explain_pooling(const KernelArgs& args) { explain_ranges(args, {1}, "_contrib_quantized_pooling"); }

template <class T>
struct ReluEach {
  const T* data;
  T* out;
  __device__ void operator()(int64_t i) const { out[i] = max(data[i], T(0)); }
};
void quantized_act_cuda(const KernelArgs& args, int64_t* fault) {
  pass_range(args, 1, fault);
  if (args.req[0] == Req::null) return;
  dispatch_bytes(args.in[0].dtype, [&]<class T>(Type<T>) {
    launch_each(stream_of(args), args.out[0].size(),
                ReluEach<T>{args.in[0].as<T>(), args.out[0].mutable_as<T>()});
  });
}
void explain_act(const KernelArgs& args) { explain_ranges(args, {1}, "_contrib_quantized_act"); }

void quantized_flatten_cuda(const KernelArgs& args, int64_t* fault) {
  pass_range(args, 1, fault);
  if (args.req[0] == Req::null) return;
  TensorView from = args.in[0];
  from.shape = args.out[0].shape;
  convert_array(from, args.out[0], stream_of(args));
}
void explain_flatten(const KernelArgs& args) { explain_ranges(args, {1}, "_contrib_quantized_flatten"); }

template <class T>
struct RowEach {
  Divider width;
  double last;
  const T* numbers;
  const int8_t* weight;
  int8_t* out;
  __device__ void operator()(int64_t i) const {
    const int64_t place = width.quotient(i), column = i - place * width.divisor();
    const auto given = static_cast<double>(load(numbers[place]));
    const double number = given > 0 ? min(given, last) : 0;  // NaN, too
    out[i] = weight[static_cast<int64_t>(number) * width.divisor() + column];
  }
};
void quantized_embedding_cuda(const QuantizedEmbeddingParams& p, const KernelArgs& args, int64_t* fault) {
  pass_range(args, 2, fault);
  auto* out = args.wanted<int8_t>(0);
  if (!out) return;
  dispatch_numeric(args.in[0].dtype, "_contrib_quantized_embedding", [&]<class T>(Type<T>) {
    launch_each(stream_of(args), args.out[0].size(),
                RowEach<T>{Divider(p.output_dim), static_cast<double>(p.input_dim - 1), args.in[0].as<T>(),
                           args.in[1].as<int8_t>(), out});
  });
}
void explain_embedding(const KernelArgs& args) { explain_ranges(args, {2}, "_contrib_quantized_embedding"); }

// ---- joining ----

struct Joined {
  Range all;
  float factor;
};
struct MergeRange {
  RangeInput own;
  bool is_first;
  RangeOutput out;
  Joined* to;
  int64_t* fault;
  __device__ void operator()() const {
    const Range range = own.get(fault);
    to->all = is_first ? range : Range{min(to->all.low, range.low), max(to->all.high, range.high)};
    out.put(to->all);
  }
};
struct PlanPart {
  RangeInput own;
  DType from, type;
  Joined* to;
  int64_t* fault;
  __device__ void operator()() const {
    to->factor = static_cast<float>(own.get(fault).step(from) * per_step(to->all.step(type)));
  }
};
struct PartEach {
  Divider row;  // of the part
  int64_t out_row, before;
  const Joined* by;
  IntegerArray data;
  MutableIntegerArray out;
  __device__ void operator()(int64_t i) const {
    const int64_t outer = row.quotient(i), at = outer * out_row + before + (i - outer * row.divisor());
    const float value = static_cast<float>(data[i]) * by->factor;
    out.set(at, static_cast<int64_t>(out.dtype == DType::int8 ? to_whole<int8_t>(value)
                                                              : to_whole<uint8_t>(value)));
  }
};
void quantized_concat_cuda(const QuantizedConcatParams& p, const KernelArgs& args, int64_t* fault) {
  const auto count = static_cast<size_t>(p.num_args);
  const cudaStream_t stream = stream_of(args);
  auto* const joined = scratch_as<Joined>(args);
  for (size_t i = 0; i < count; ++i) {
    launch_once(stream,
                MergeRange{range_input(args, count + 2 * i), i == 0, range_output(args), joined, fault});
  }
  if (args.req[0] == Req::null) return;
  const TensorView& out = args.out[0];
  const int axis = normalize_axis(p.dim, out.shape.ndim(), "_contrib_quantized_concat");
  const int64_t inner = out.shape.size_between(axis + 1, out.shape.ndim());
  int64_t before = 0;
  for (size_t i = 0; i < count; ++i) {
    const TensorView& part = args.in[i];
    const int64_t row = part.shape[axis] * inner;
    launch_once(stream, PlanPart{range_input(args, count + 2 * i), part.dtype, out.dtype, joined, fault});
    launch_each(stream, part.size(),
                PartEach{Divider(row),
                         out.shape[axis] * inner,
                         before,
                         joined,
                         {part.data, part.dtype},
                         {out.data, out.dtype}});
    before += row;
  }
}
void explain_concat(const QuantizedConcatParams& p, const KernelArgs& args) {
  const auto count = static_cast<size_t>(p.num_args);
  for (size_t i = 0; i < count; ++i) explain_ranges(args, {count + 2 * i}, "_contrib_quantized_concat");
}

// ---- arithmetic ----

struct PairSteps {
  double a, b, per;
};

// Of two arrays as real numbers, in the output's step. Sums of 32 bits need more than float32.
struct CombinePlus {
  template <class T>
  __device__ static T of(T a, T b) {
    return a + b;
  }
};
struct CombineTimes {
  template <class T>
  __device__ static T of(T a, T b) {
    return a * b;
  }
};
template <class Real, class Fn>
__device__ Real combined(const PairSteps& s, int64_t a, int64_t b) {
  const auto value =
      Fn::of(static_cast<Real>(a) * static_cast<Real>(s.a), static_cast<Real>(b) * static_cast<Real>(s.b));
  return value * static_cast<Real>(s.per);
}
template <class Fn, class Out>
struct PairEach {
  const PairSteps* steps;
  IntegerArray a, b;
  Out* out;
  __device__ void operator()(int64_t i) const {
    if constexpr (std::is_same_v<Out, int32_t>) out[i] = whole_sum(combined<double, Fn>(*steps, a[i], b[i]));
    else if constexpr (std::is_same_v<Out, float>) out[i] = combined<float, Fn>(*steps, a[i], b[i]);
    else out[i] = to_whole<Out>(combined<float, Fn>(*steps, a[i], b[i]));
  }
};
template <class Fn>
void combine(const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  const auto run = [&]<class Out>(Type<Out>) {
    launch_each(stream_of(args), args.out[0].size(),
                PairEach<Fn, Out>{scratch_as<PairSteps>(args),
                                  {args.in[0].data, args.in[0].dtype},
                                  {args.in[1].data, args.in[1].dtype},
                                  args.out[0].mutable_as<Out>()});
  };
  switch (args.out[0].dtype) {
    case DType::float32: return run(Type<float>{});
    case DType::int32: return run(Type<int32_t>{});
    default: return dispatch_bytes(args.out[0].dtype, run);
  }
}

struct PlanPair {
  RangeInput a, b;
  DType a_type, b_type, out_type;
  bool is_sum, is_calibrated, is_real;
  Range calibrated;
  RangeOutput out;
  PairSteps* to;
  int64_t* fault;
  __device__ void operator()() const {
    const Range of_a = a.get(fault), of_b = b.get(fault);
    const double step_a = of_a.step(a_type), step_b = of_b.step(b_type);
    const float reach =
        is_sum ? of_a.reach() + of_b.reach() : static_cast<float>(step_a * step_b * largest_of(DType::int32));
    const Range range = is_calibrated ? calibrated : Range{-reach, reach};
    const double step = is_real ? 1 : is_sum || is_calibrated ? range.step(out_type) : step_a * step_b;
    *to = {step_a, step_b, per_step(step)};
    if (!is_real) out.put(range);
  }
};
template <class P>
Range calibrated_of(const P& p, const char* who) {
  return p.is_calibrated() ? checked_range(*p.min_calib_range, *p.max_calib_range, who) : Range{};
}
void quantized_add_cuda(const QuantizedAddParams& p, const KernelArgs& args, int64_t* fault) {
  launch_once(stream_of(args), PlanPair{range_input(args, 2), range_input(args, 4), args.in[0].dtype,
                                        args.in[1].dtype, args.out[0].dtype, true, p.is_calibrated(), false,
                                        calibrated_of(p, "_contrib_quantized_elemwise_add"),
                                        range_output(args), scratch_as<PairSteps>(args), fault});
  combine<CombinePlus>(args);
}
void explain_add(const KernelArgs& args) { explain_ranges(args, {2, 4}, "_contrib_quantized_elemwise_add"); }
void quantized_mul_cuda(const QuantizedMulParams& p, const KernelArgs& args, int64_t* fault) {
  const bool is_real = p.enable_float_output;
  launch_once(stream_of(args),
              PlanPair{range_input(args, 2), range_input(args, 4), DType::int8, DType::int8,
                       args.out[0].dtype, false, !is_real && p.is_calibrated(), is_real,
                       is_real ? Range{} : calibrated_of(p, "_contrib_quantized_elemwise_mul"),
                       is_real ? RangeOutput{} : range_output(args), scratch_as<PairSteps>(args), fault});
  combine<CombineTimes>(args);
}
void explain_mul(const KernelArgs& args) { explain_ranges(args, {2, 4}, "_contrib_quantized_elemwise_mul"); }

struct NormSteps {
  double step, per;
};
struct PlanNorm {
  RangeInput in;
  DType type;
  Range calibrated;
  RangeOutput out;
  NormSteps* to;
  int64_t* fault;
  __device__ void operator()() const {
    *to = {in.get(fault).step(type), per_step(calibrated.step(DType::int8))};
    out.put(calibrated);
  }
};
struct NormEach {
  Divider inner, channels;
  const NormSteps* steps;
  bool fix_gamma;
  double eps;
  const float *gamma, *beta, *mean, *var;
  IntegerArray data;
  int8_t* out;
  __device__ void operator()(int64_t i) const {
    const int64_t plane = inner.quotient(i);
    const int64_t c = plane - channels.quotient(plane) * channels.divisor();
    const double scale = (fix_gamma ? 1.0 : gamma[c]) / ::sqrt(var[c] + eps);
    const double shift = beta[c] - mean[c] * scale;
    const auto x = static_cast<double>(data[i]);
    out[i] = to_whole<int8_t>(static_cast<float>((x * steps->step * scale + shift) * steps->per));
  }
};
void quantized_batch_norm_cuda(const BatchNormParams& p, const KernelArgs& args, int64_t* fault) {
  constexpr const char* kWho = "_contrib_quantized_batch_norm";
  const Range range = checked_range(*p.min_calib_range, *p.max_calib_range, kWho);
  launch_once(stream_of(args), PlanNorm{range_input(args, 5), args.in[0].dtype, range, range_output(args),
                                        scratch_as<NormSteps>(args), fault});
  if (args.req[0] == Req::null) return;
  const Shape& shape = args.in[0].shape;
  const int axis = normalize_axis(p.axis, shape.ndim(), kWho);
  launch_each(stream_of(args), args.out[0].size(),
              NormEach{Divider(shape.size_between(axis + 1, shape.ndim())),
                       Divider(shape[axis]),
                       scratch_as<NormSteps>(args),
                       p.fix_gamma,
                       p.eps,
                       args.in[1].as<float>(),
                       args.in[2].as<float>(),
                       args.in[3].as<float>(),
                       args.in[4].as<float>(),
                       {args.in[0].data, args.in[0].dtype},
                       args.out[0].mutable_as<int8_t>()});
}
void explain_norm(const KernelArgs& args) { explain_ranges(args, {5}, "_contrib_quantized_batch_norm"); }

}  // namespace

void kernels_quantized_layers_cuda(KernelList& list) {
  add_checked<quantized_pooling_cuda, explain_pooling>(list, "_contrib_quantized_pooling",
                                                       "quantized_pooling_cuda");
  add_checked<quantized_act_cuda, explain_act>(list, "_contrib_quantized_act", "quantized_act_cuda");
  add_checked<quantized_flatten_cuda, explain_flatten>(list, "_contrib_quantized_flatten",
                                                       "quantized_flatten_cuda");
  add_checked<quantized_embedding_cuda, explain_embedding>(list, "_contrib_quantized_embedding",
                                                           "quantized_embedding_cuda");
  add_checked<quantized_concat_cuda, explain_concat, range_scratch>(list, "_contrib_quantized_concat",
                                                                    "quantized_concat_cuda");
  add_checked<quantized_add_cuda, explain_add, range_scratch>(list, "_contrib_quantized_elemwise_add",
                                                              "quantized_add_cuda");
  add_checked<quantized_mul_cuda, explain_mul, range_scratch>(list, "_contrib_quantized_elemwise_mul",
                                                              "quantized_mul_cuda");
  add_checked<quantized_batch_norm_cuda, explain_norm, range_scratch>(list, "_contrib_quantized_batch_norm",
                                                                      "quantized_batch_norm_cuda");
}

}  // namespace loomix::ops
