// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/settings.h"
#include "ops/conv/convolution.h"
#include "ops/families.h"
#include "ops/isa.h"
#include "ops/primitive_dnnl.h"
#include "ops/table.h"
#include "ops/thread_scratch.h"

namespace loomix::ops {
namespace {

using namespace onednn;
using dnnl::algorithm;

enum class Pass { forward, data, weight };
constexpr algorithm kDirect = algorithm::convolution_direct;
constexpr algorithm kWinograd = algorithm::convolution_winograd;

constexpr size_t kKeptPlans = 256;
constexpr int64_t kWeightParts = 8;  // partial sums of the weight's gradient, whatever the number of threads

// A primitive for some images at once, with the tensors in the layouts that it wants.
struct Plan {
  Place data, weight, out;
  Desc bias, scratchpad;
  dnnl::primitive run;
};

// What is asked of oneDNN, in its words.
struct Problem {
  Pass pass;
  bool with_bias;
  dnnl::memory::dims data, weight, out, strides, dilates, pads;

  Problem(Pass which, bool bias, const ConvGeometry& g, int64_t images) : pass(which), with_bias(bias) {
    const int first = g.in[0] == 1 && g.out[0] == 1 && g.kernel[0] == 1 ? 1 : 0;  // one axis runs as two
    const auto append = [&](dnnl::memory::dims lead, const int64_t* sizes) {
      lead.insert(lead.end(), sizes + first, sizes + 3);
      return lead;
    };
    data = append({images, g.groups * g.channels}, g.in);
    out = append({images, g.groups * g.filters}, g.out);
    weight = append({g.filters, g.channels}, g.kernel);
    if (g.groups > 1) weight.insert(weight.begin(), g.groups);
    strides = append({}, g.stride);
    pads = append({}, g.pad);
    dilates = append({}, g.dilate);
    for (auto& step : dilates) --step;
  }

  PlanCache<Plan>::Key key(algorithm how) const {
    PlanCache<Plan>::Key key = {static_cast<int64_t>(pass), static_cast<int64_t>(how), with_bias};
    for (const auto* dims : {&data, &weight, &out, &strides, &dilates, &pads}) {
      key.push_back(static_cast<int64_t>(dims->size()));
      key.insert(key.end(), dims->begin(), dims->end());
    }
    return key;
  }
};

Plan make_plan(const Problem& p, algorithm how) {
  const auto plain = [](const dnnl::memory::dims& dims) {
    constexpr Tag kTags[] = {Tag::abcd, Tag::abcde, Tag::abcdef};
    return Desc(dims, kFloat, kTags[dims.size() - 4]);
  };
  const auto any = [](const dnnl::memory::dims& dims) { return Desc(dims, kFloat, Tag::any); };
  const Desc data = any(p.data), weight = any(p.weight), out = any(p.out);
  Plan plan;
  plan.bias = Desc({p.out[1]}, kFloat, Tag::a);
  const auto finish = [&](const auto& d, const Desc& of_data, const Desc& of_weight, const Desc& of_out) {
    plan.data = Place(plain(p.data), of_data);
    plan.weight = Place(plain(p.weight), of_weight);
    plan.out = Place(plain(p.out), of_out);
    plan.scratchpad = d.scratchpad_desc();
  };
  // As in training, for else the Winograd kernel wants weights in a layout that is slow to make.
  constexpr auto kKind = dnnl::prop_kind::forward_training;
  using Forward = dnnl::convolution_forward;
  using ToData = dnnl::convolution_backward_data;
  using ToWeight = dnnl::convolution_backward_weights;
  const auto forward =
      p.with_bias
          ? describe<Forward>(kKind, how, data, weight, plan.bias, out, p.strides, p.dilates, p.pads, p.pads)
          : describe<Forward>(kKind, how, data, weight, out, p.strides, p.dilates, p.pads, p.pads);
  if (p.pass == Pass::forward) {
    finish(forward, forward.src_desc(), forward.weights_desc(), forward.dst_desc());
    plan.run = Forward(forward);
  } else if (p.pass == Pass::data) {
    const auto d =
        describe_backward<ToData>(forward, how, data, weight, out, p.strides, p.dilates, p.pads, p.pads);
    finish(d, d.diff_src_desc(), d.weights_desc(), d.diff_dst_desc());
    plan.run = ToData(d);
  } else {
    const auto d =
        describe_backward<ToWeight>(forward, how, data, weight, out, p.strides, p.dilates, p.pads, p.pads);
    finish(d, d.src_desc(), d.diff_weights_desc(), d.diff_dst_desc());
    plan.run = ToWeight(d);
  }
  return plan;
}

std::shared_ptr<const Plan> plan_for(Pass pass, algorithm how, bool bias, const ConvGeometry& g,
                                     int64_t images) {
  static auto& cache = *new PlanCache<Plan>(kKeptPlans);  // outlives all tasks
  const Problem problem(pass, bias, g, images);
  return cache.get(problem.key(how), [&] {
    if (how == kDirect) return make_plan(problem, how);
    try {
      return make_plan(problem, how);
    } catch (const dnnl::error& error) {
      if (error.status != dnnl_unimplemented) throw;
      return make_plan(problem, kDirect);
    }
  });
}

// The batch is cut into equal pieces, at least four where that is possible. Winograd's method transforms the weights for
// each piece, which pays over enough pixels; the direct one is fastest while a piece stays in the cache.
constexpr int64_t kFewestPieces = 4;

int64_t images_of(const ConvGeometry& g, int64_t pixels) {
  int64_t images = 1;
  while (images < g.batch && (images * g.out_size() < pixels || g.batch % images != 0)) ++images;
  return images;
}

int64_t images_at_once(algorithm how, const ConvGeometry& g) {
  if (how == kDirect) return images_of(g, 128);
  const int64_t many = images_of(g, 784);
  return g.batch / many >= 2 * kFewestPieces ? many : images_of(g, 392);
}

// The pieces of one pass, and where their tensors stand.
struct Pieces {
  int64_t images, count, data_step, out_step;
  std::shared_ptr<const Plan> plan;

  Pieces(Pass pass, algorithm how, bool bias, const ConvGeometry& g)
      : images(images_at_once(how, g)),
        count(g.batch / images),
        data_step(images * g.groups * g.channels * g.in_size()),
        out_step(images * g.groups * g.filters * g.out_size()),
        plan(plan_for(pass, how, bias, g, images)) {}
};

template <algorithm how>
void forward(const ConvolutionParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null || args.out[0].size() == 0) return;
  const OneThread one_thread(*args.context);
  const Pieces pieces(Pass::forward, how, !p.no_bias, ConvGeometry(p, args.in[0].shape));
  const Plan& plan = *pieces.plan;
  const float* data = args.in[0].as<float>();
  const float* bias = p.no_bias ? nullptr : args.in[2].as<float>();
  float* out = args.out[0].mutable_as<float>();
  const ThreadScratch shared(ThreadScratch::shared, plan.weight.buffer());
  const dnnl::memory weight = plan.weight.in(args.in[1].as<float>(), shared.data());
  each_part(*args.context, pieces.count, [&](int64_t i) {
    const int64_t buffers = plan.data.buffer() + plan.out.buffer();
    const ThreadScratch own(ThreadScratch::own, buffers + floats(plan.scratchpad));
    float* const out_buffer = own.data() + plan.data.buffer();
    float* const to = out + i * pieces.out_step;
    plan.run.execute(stream(), {{DNNL_ARG_SRC, plan.data.in(data + i * pieces.data_step, own.data())},
                                {DNNL_ARG_WEIGHTS, weight},
                                {DNNL_ARG_BIAS, memory(plan.bias, bias)},
                                {DNNL_ARG_DST, plan.out.out(to, out_buffer)},
                                {DNNL_ARG_SCRATCHPAD, memory(plan.scratchpad, own.data() + buffers)}});
    plan.out.deliver(to, out_buffer);
  });
}

template <algorithm how>
void to_data(const ConvolutionParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null || args.out[0].size() == 0) return;
  const OneThread one_thread(*args.context);
  const Pieces pieces(Pass::data, how, false, ConvGeometry(p, args.out[0].shape));
  const Plan& plan = *pieces.plan;
  const float* grad = args.in[0].as<float>();
  float* out = args.out[0].mutable_as<float>();
  const ThreadScratch shared(ThreadScratch::shared, plan.weight.buffer());
  const dnnl::memory weight = plan.weight.in(args.in[1].as<float>(), shared.data());
  each_part(*args.context, pieces.count, [&](int64_t i) {
    const int64_t buffers = plan.data.buffer() + plan.out.buffer();
    const ThreadScratch own(ThreadScratch::own, buffers + floats(plan.scratchpad));
    float* const data_buffer = own.data() + plan.out.buffer();
    float* const to = out + i * pieces.data_step;
    plan.run.execute(stream(), {{DNNL_ARG_DIFF_DST, plan.out.in(grad + i * pieces.out_step, own.data())},
                                {DNNL_ARG_WEIGHTS, weight},
                                {DNNL_ARG_DIFF_SRC, plan.data.out(to, data_buffer)},
                                {DNNL_ARG_SCRATCHPAD, memory(plan.scratchpad, own.data() + buffers)}});
    plan.data.deliver(to, data_buffer);
  });
}

void add_to(float* sums, const float* more, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) sums[i] += more[i];
}

// The pieces belong to a fixed number of parts, whose sums are added in order, in oneDNN's layout.
template <algorithm how>
void to_weight(const ConvolutionParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null || args.out[0].size() == 0) return;
  const bool add = args.req[0] == Req::add;
  float* out = args.out[0].mutable_as<float>();
  if (args.in[0].size() == 0) {
    if (!add) std::fill_n(out, args.out[0].size(), 0.0f);
    return;
  }
  const OneThread one_thread(*args.context);
  const Pieces pieces(Pass::weight, how, false, ConvGeometry(p, args.in[1].shape));
  const Plan& plan = *pieces.plan;
  const float* grad = args.in[0].as<float>();
  const float* data = args.in[1].as<float>();
  const int64_t size = floats(plan.weight.inner());
  const int64_t parts = std::min(pieces.count, kWeightParts);
  const ThreadScratch all_sums(ThreadScratch::sums, (parts + 1) * size);
  float* const sums = all_sums.data();
  each_part(*args.context, parts, [&](int64_t part) {
    const int64_t buffers = plan.data.buffer() + plan.out.buffer();
    const ThreadScratch own(ThreadScratch::own, buffers + floats(plan.scratchpad) + size);
    float* const more = own.data() + buffers + floats(plan.scratchpad);
    const int64_t begin = pieces.count * part / parts;
    for (int64_t i = begin; i < pieces.count * (part + 1) / parts; ++i) {
      float* const to = i == begin ? sums + part * size : more;
      plan.run.execute(stream(), {{DNNL_ARG_SRC, plan.data.in(data + i * pieces.data_step, own.data())},
                                  {DNNL_ARG_DIFF_DST,
                                   plan.out.in(grad + i * pieces.out_step, own.data() + plan.data.buffer())},
                                  {DNNL_ARG_DIFF_WEIGHTS, memory(plan.weight.inner(), to)},
                                  {DNNL_ARG_SCRATCHPAD, memory(plan.scratchpad, own.data() + buffers)}});
      if (i != begin) add_to(sums + part * size, more, size);
    }
  });
  engine::parallel_for(*args.context, size, 16384, [&](int64_t begin, int64_t end) {
    for (int64_t part = 1; part < parts; ++part)
      add_to(sums + begin, sums + part * size + begin, end - begin);
  });
  // To the user's layout: past the sums if it is to be added, or is a mere copy.
  float* const plain = sums + parts * size;
  if (plan.weight.same()) {
    std::copy_n(sums, args.out[0].size(), add ? plain : out);
  } else {
    plan.weight.deliver(add ? plain : out, sums);
  }
  if (add) add_to(out, plain, args.out[0].size());
}

// When oneDNN is faster than the kernel by matrix products, as measured (docs/convolution.md). It rounds channels up to
// 16, so what counts is how much of its work is padding.
int64_t padded(int64_t channels) { return channels == 8 ? 8 : (channels + 15) / 16 * 16; }

double padding(const ConvGeometry& g) {
  return static_cast<double>(padded(g.channels) * padded(g.filters)) /
         static_cast<double>(g.channels * g.filters);
}

Support winograd_pays(Pass pass, const ConvGeometry& g) {
  if (machine_isa() != Isa::v4) return Support::no("it is for AVX-512");
  for (int i = 0; i < 3; ++i) {
    const bool flat = i == 0;
    if (g.kernel[i] != (flat ? 1 : 3) || g.stride[i] != 1 || g.dilate[i] != 1 || g.pad[i] > (flat ? 0 : 1) ||
        (flat && g.in[i] != 1)) {
      return Support::no("it is for 3x3 filters, stride 1");
    }
  }
  if (g.groups > 1) return Support::no("it is for one group");
  constexpr int64_t kFewest[] = {24, 16, 12};        // channels
  constexpr int64_t kSmallest[] = {1024, 512, 512};  // channels by filters
  constexpr double kMostPadding[] = {1.65, 2.2, 2.2};
  constexpr int64_t kLargestWeightGradient = 1
                                             << 17;  // channels by filters; beyond, the sums leave the cache
  const auto i = static_cast<size_t>(pass);
  const int64_t size = padded(g.channels) * padded(g.filters);
  if (g.channels < kFewest[i] || size < kSmallest[i]) return Support::no("there are too few channels");
  if (padding(g) > kMostPadding[i]) return Support::no("too much of the work would be padding");
  if (pass == Pass::weight && size > kLargestWeightGradient)
    return Support::no("there are too many channels");
  return Support::yes();
}

Support direct_pays(Pass pass, const ConvGeometry& g) {
  const bool dilated = g.dilate[0] > 1 || g.dilate[1] > 1 || g.dilate[2] > 1;
  const bool strided = g.stride[0] > 1 || g.stride[1] > 1 || g.stride[2] > 1;
  if (pass != Pass::forward && dilated && (strided || g.groups > 1)) {
    return Support::no("gradients of dilated filters with stride or groups are not faster");
  }
  if (g.groups > 1) {
    const bool depthwise = g.channels == 1 && g.filters == 1;
    const double waste = static_cast<double>(padded(g.groups)) / static_cast<double>(g.groups);
    const int64_t unit = pass == Pass::data ? 4 : 8;
    if (depthwise ? waste <= 1.35 : g.channels % unit == 0 && g.filters % unit == 0) return Support::yes();
    return Support::no("groups of that size are not faster");
  }
  if (g.kernel_size() == 1 && pass != Pass::weight && g.channels * g.filters < 8192) {
    return Support::no("copying costs more than multiplying gains");
  }
  const double filter_padding = static_cast<double>(padded(g.filters)) / static_cast<double>(g.filters);
  if (g.channels < 4) {
    const bool pays = pass == Pass::forward ? g.kernel_size() >= 25 && filter_padding <= 1.1
                                            : pass == Pass::weight && filter_padding <= 1.5;
    return pays ? Support::yes() : Support::no("there are too few channels");
  }
  constexpr double kMostPadding[] = {1.2, 1.5, 1.8};
  if (padding(g) > kMostPadding[static_cast<size_t>(pass)]) {
    return Support::no("too much of the work would be padding");
  }
  return Support::yes();
}

template <class P, Pass pass, algorithm how>
Support accepts(const P& p, const KernelSpec& spec) {
  if (spec.in[0].dtype != DType::float32) return Support::no("it is for float32");
  if (p.layout && channels_last(*p.layout)) return Support::no("it is for channels first");
  const Shape& data = pass == Pass::data ? spec.out[0].shape : spec.in[pass == Pass::forward ? 0 : 1].shape;
  if (data.size() == 0) return Support::no("there is no data");
  const ConvGeometry g(p, data);
  if (g.batch / images_at_once(how, g) < kFewestPieces) return Support::no("the batch has too few pieces");
  return how == kWinograd ? winograd_pays(pass, g) : direct_pays(pass, g);
}

template <class P, void (*run)(const ConvolutionParams&, const KernelArgs&)>
void as(const P& p, const KernelArgs& args) {
  checked("Convolution", [&] { run(p, args); });
}

template <class P>
void add(OpTable& table, const std::string& name) {
  constexpr DeviceType cpu = DeviceType::cpu;
  table.kernel<P, as<P, forward<kWinograd>>, accepts<P, Pass::forward, kWinograd>>(
      name, "convolution_winograd_dnnl", cpu);
  table.kernel<P, as<P, forward<kDirect>>, accepts<P, Pass::forward, kDirect>>(name, "convolution_dnnl", cpu);
  const std::string data = "_backward_" + name + "_data", weight = "_backward_" + name + "_weight";
  table.kernel<P, as<P, to_data<kWinograd>>, accepts<P, Pass::data, kWinograd>>(
      data, "convolution_data_winograd_dnnl", cpu);
  table.kernel<P, as<P, to_data<kDirect>>, accepts<P, Pass::data, kDirect>>(data, "convolution_data_dnnl",
                                                                            cpu);
  table.kernel<P, as<P, to_weight<kWinograd>>, accepts<P, Pass::weight, kWinograd>>(
      weight, "convolution_weight_winograd_dnnl", cpu);
  table.kernel<P, as<P, to_weight<kDirect>>, accepts<P, Pass::weight, kDirect>>(
      weight, "convolution_weight_dnnl", cpu);
}

}  // namespace

void kernels_conv_dnnl(OpTable& table) {
  if (!settings().dnnl) return;
  add<ConvolutionParams>(table, "Convolution");
  add<ConvolutionV1Params>(table, "Convolution_v1");
}

}  // namespace loomix::ops
