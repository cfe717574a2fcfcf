// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "base/settings.h"
#include "ops/families.h"
#include "ops/pool/pooling.h"
#include "ops/primitive_dnnl.h"
#include "ops/table.h"
#include "ops/thread_scratch.h"

namespace loomix::ops {
namespace {

using namespace onednn;
using dnnl::algorithm;

#if DNNL_VERSION_MAJOR >= 3
using Forward = dnnl::pooling_forward;
using Backward = dnnl::pooling_backward;
#else
using Forward = dnnl::pooling_v2_forward;
using Backward = dnnl::pooling_v2_backward;
#endif

constexpr size_t kKeptPlans = 256;
constexpr int64_t kElementsAtOnce = 128 * 1024;  // a piece and its output stay in the second cache
constexpr int64_t kSmallest = 2048;              // elements of data below which plain loops are as fast

algorithm algorithm_of(const PoolingParams& p) {
  if (p.pool_type == PoolType::max) return algorithm::pooling_max;
  return p.count_include_pad.value_or(true) ? algorithm::pooling_avg_include_padding
                                            : algorithm::pooling_avg_exclude_padding;
}

// A primitive for some planes; a backward one for maxima needs the forward one, which finds the places.
struct Plan {
  Desc data, out, places, scratchpad, backward_scratchpad;
  dnnl::primitive forward, backward;
};

Plan make_plan(algorithm how, const PoolGeometry& g, int64_t planes, bool backward) {
  const int first = g.in[0] == 1 && g.out[0] == 1 && g.kernel[0] == 1 ? 1 : 0;  // one axis runs as two
  const auto axes = [&](const int64_t* sizes) { return dnnl::memory::dims(sizes + first, sizes + 3); };
  const auto plain = [&](const int64_t* sizes) {
    dnnl::memory::dims dims = {1, planes};
    dims.insert(dims.end(), sizes + first, sizes + 3);
    return Desc(dims, kFloat, first == 1 ? Tag::abcd : Tag::abcde);
  };
  int64_t after[3], dilate[3] = {};
  for (int i = 0; i < 3; ++i) {
    after[i] = std::max<int64_t>(0, (g.out[i] - 1) * g.stride[i] + g.kernel[i] - g.in[i] - g.pad[i]);
  }
  Plan plan;
  plan.data = plain(g.in);
  plan.out = plain(g.out);
  const auto kind = backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const auto forward = describe<Forward>(kind, how, plan.data, plan.out, axes(g.stride), axes(g.kernel),
                                         axes(dilate), axes(g.pad), axes(after));
  plan.forward = Forward(forward);
  plan.scratchpad = forward.scratchpad_desc();
  if (!backward) return plan;
  const auto d = describe_backward<Backward>(forward, how, plan.data, plan.out, axes(g.stride),
                                             axes(g.kernel), axes(dilate), axes(g.pad), axes(after));
  plan.backward = Backward(d);
  plan.backward_scratchpad = d.scratchpad_desc();
  plan.places = forward.workspace_desc();
  return plan;
}

std::shared_ptr<const Plan> plan_for(algorithm how, const PoolGeometry& g, int64_t planes, bool backward) {
  static auto& cache = *new PlanCache<Plan>(kKeptPlans);  // outlives all tasks
  PlanCache<Plan>::Key key = {static_cast<int64_t>(how), planes, backward};
  for (const int64_t* sizes : {g.in, g.out, g.kernel, g.stride, g.pad})
    key.insert(key.end(), sizes, sizes + 3);
  return cache.get(key, [&] { return make_plan(how, g, planes, backward); });
}

// All planes, in pieces of so many that they fit the cache; the last one may be smaller.
struct Pieces {
  int64_t planes, at_once;
  std::shared_ptr<const Plan> whole, rest;

  Pieces(algorithm how, const PoolGeometry& g, bool backward) : planes(g.batch * g.channels) {
    constexpr int64_t kVector = 16;
    at_once = std::max<int64_t>(1, kElementsAtOnce / (kVector * g.in_size())) * kVector;
    if (planes >= at_once) whole = plan_for(how, g, at_once, backward);
    if (planes % at_once != 0) rest = plan_for(how, g, planes % at_once, backward);
  }
  int64_t count() const { return (planes + at_once - 1) / at_once; }
  int64_t first(int64_t i) const { return i * at_once; }
  int64_t size(int64_t i) const { return std::min(at_once, planes - first(i)); }
  const Plan& plan(int64_t i) const { return size(i) == at_once ? *whole : *rest; }
};

// oneDNN's maxima pass over NaN, and take the lowest number for -inf.
bool has_special(const float* data, int64_t count) {
  int special = 0;
#pragma omp simd reduction(| : special)
  for (int64_t i = 0; i < count; ++i) special |= !(data[i] >= std::numeric_limits<float>::lowest());
  return special != 0;
}

// The same piece by the plain loops.
void run_plainly(void (*run)(const PoolingParams&, const KernelArgs&), const PoolingParams& p,
                 const KernelArgs& args, const Pieces& pieces, int64_t i) {
  const auto part = [&](const TensorView& whole) {
    TensorView view = whole;
    const int64_t plane = whole.size() / pieces.planes;
    view.data = static_cast<float*>(whole.data) + pieces.first(i) * plane;
    view.shape[0] = 1;
    view.shape[1] = pieces.size(i);
    return view;
  };
  TensorView in[3];
  std::transform(args.in.begin(), args.in.end(), in, part);
  const TensorView out[] = {part(args.out[0])};
  engine::RunContext alone = *args.context;
  alone.cores = 1;
  KernelArgs piece = args;
  piece.in = std::span(in, args.in.size());
  piece.out = out;
  piece.context = &alone;
  run(p, piece);
}

void pooling_dnnl(const PoolingParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null || args.out[0].size() == 0) return;
  const PoolGeometry g(p, args.in[0].shape);
  const OneThread one_thread(*args.context);
  const Pieces pieces(algorithm_of(p), g, false);
  const float* data = args.in[0].as<float>();
  float* out = args.out[0].mutable_as<float>();
  each_part(*args.context, pieces.count(), [&](int64_t i) {
    const Plan& plan = pieces.plan(i);
    const float* from = data + pieces.first(i) * g.in_size();
    if (p.pool_type == PoolType::max && has_special(from, pieces.size(i) * g.in_size())) {
      return run_plainly(pooling_cpu, p, args, pieces, i);
    }
    const ThreadScratch own(ThreadScratch::own, floats(plan.scratchpad));
    plan.forward.execute(stream(), {{DNNL_ARG_SRC, memory(plan.data, from)},
                                    {DNNL_ARG_DST, memory(plan.out, out + pieces.first(i) * g.out_size())},
                                    {DNNL_ARG_SCRATCHPAD, memory(plan.scratchpad, own.data())}});
  });
}

void pooling_backward_dnnl(const PoolingParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null || args.out[0].size() == 0) return;
  const PoolGeometry g(p, args.in[1].shape);
  const OneThread one_thread(*args.context);
  const Pieces pieces(algorithm_of(p), g, true);
  const float* grad = args.in[0].as<float>();
  const float* data = args.in[1].as<float>();
  float* out = args.out[0].mutable_as<float>();
  each_part(*args.context, pieces.count(), [&](int64_t i) {
    const Plan& plan = pieces.plan(i);
    const float* from = data + pieces.first(i) * g.in_size();
    const bool maxima = p.pool_type == PoolType::max;
    if (maxima && has_special(from, pieces.size(i) * g.in_size())) {
      return run_plainly(pooling_backward_cpu, p, args, pieces, i);
    }
    const int64_t scratchpad = std::max(floats(plan.scratchpad), floats(plan.backward_scratchpad));
    const ThreadScratch own(ThreadScratch::own, scratchpad + floats(plan.places) + floats(plan.out));
    float* const places = own.data() + scratchpad;
    if (maxima) {
      plan.forward.execute(stream(), {{DNNL_ARG_SRC, memory(plan.data, from)},
                                      {DNNL_ARG_DST, memory(plan.out, places + floats(plan.places))},
                                      {DNNL_ARG_WORKSPACE, memory(plan.places, places)},
                                      {DNNL_ARG_SCRATCHPAD, memory(plan.scratchpad, own.data())}});
    }
    plan.backward.execute(stream(),
                          {{DNNL_ARG_DIFF_DST, memory(plan.out, grad + pieces.first(i) * g.out_size())},
                           {DNNL_ARG_DIFF_SRC, memory(plan.data, out + pieces.first(i) * g.in_size())},
                           {DNNL_ARG_WORKSPACE, memory(plan.places, places)},
                           {DNNL_ARG_SCRATCHPAD, memory(plan.backward_scratchpad, own.data())}});
  });
}

template <void (*run)(const PoolingParams&, const KernelArgs&)>
void safely(const PoolingParams& p, const KernelArgs& args) {
  checked("Pooling", [&] { run(p, args); });
}

template <int data>
Support accepts(const PoolingParams& p, const KernelSpec& spec) {
  if (spec.in[data].dtype != DType::float32) return Support::no("it is for float32");
  if (p.layout && channels_last(*p.layout)) return Support::no("it is for channels first");
  if (p.pool_type != PoolType::max && p.pool_type != PoolType::avg) {
    return Support::no("it is for maxima and averages");
  }
  if (spec.in[data].size() < kSmallest) return Support::no("the data is small");
  const PoolGeometry g(p, spec.in[data].shape);
  for (int i = 0; i < 3; ++i) {
    const int64_t last = (g.out[i] - 1) * g.stride[i] - g.pad[i];  // where the last window begins
    if (g.kernel[i] <= g.pad[i] || last >= g.in[i]) return Support::no("a window lies outside of the data");
    // Their size is what the average is taken over then.
    if (algorithm_of(p) == algorithm::pooling_avg_include_padding &&
        last + g.kernel[i] > g.in[i] + g.pad[i]) {
      return Support::no("windows are cut at the end");
    }
  }
  return Support::yes();
}

}  // namespace

void kernels_pool_dnnl(OpTable& table) {
  if (!settings().dnnl) return;
  using P = PoolingParams;
  table.kernel<P, safely<pooling_dnnl>, accepts<0>>("Pooling", "pooling_dnnl", DeviceType::cpu);
  table.kernel<P, safely<pooling_backward_dnnl>, accepts<1>>("_backward_Pooling", "pooling_backward_dnnl",
                                                             DeviceType::cpu);
}

}  // namespace loomix::ops
