// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "ops/conv/deconvolution.h"
#include "ops/elemwise/apply.h"
#include "ops/isa.h"
#include "ops/limits.h"
#include "ops/primitive_dnnl.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using namespace onednn;
using dnnl::algorithm;

using Pass = ConvPass;
constexpr algorithm kDirect = algorithm::convolution_direct;
constexpr algorithm kWinograd = algorithm::convolution_winograd;

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
  dnnl::memory::data_type type;
  dnnl::memory::dims data, weight, out, strides, dilates, pads, pads_behind;

  // `element` is float32, or bfloat16 where the processor multiplies it.
  Problem(Pass which, DType element, bool bias, const ConvGeometry& g, int64_t images)
      : pass(which),
        with_bias(bias),
        type(element == DType::float32 ? kFloat : dnnl::memory::data_type::bf16) {
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
    int64_t behind[3];
    for (int i = 0; i < 3; ++i) {  // a deconvolution may use less than all places of the filter
      const bool all = (g.in[i] + 2 * g.pad[i] - g.reach(i)) / g.stride[i] + 1 == g.out[i];
      behind[i] = all ? g.pad[i] : (g.out[i] - 1) * g.stride[i] + g.reach(i) - g.in[i] - g.pad[i];
    }
    pads_behind = append({}, behind);
  }
};

// Calls use(its description, data, weight, output as it wants them), or throws where oneDNN has no such primitive.
template <class Use>
void describe_pass(const Problem& p, algorithm how, Use&& use) {
  const auto any = [&](const dnnl::memory::dims& dims) { return Desc(dims, p.type, Tag::any); };
  const Desc data = any(p.data), weight = any(p.weight), out = any(p.out), bias({p.out[1]}, p.type, Tag::a);
  const Desc weight_sums(p.weight, kFloat, Tag::any);  // in float32, whatever the type
  // As in training, for else the Winograd kernel wants weights in a layout that is slow to make.
  constexpr auto kKind = dnnl::prop_kind::forward_training;
  using Forward = dnnl::convolution_forward;
  using ToData = dnnl::convolution_backward_data;
  using ToWeight = dnnl::convolution_backward_weights;
  if (p.pass == Pass::forward) {
    const auto d = p.with_bias ? describe<Forward>(kKind, how, data, weight, bias, out, p.strides, p.dilates,
                                                   p.pads, p.pads_behind)
                               : describe<Forward>(kKind, how, data, weight, out, p.strides, p.dilates,
                                                   p.pads, p.pads_behind);
    return use.template operator()<Forward>(d, d.src_desc(), d.weights_desc(), d.dst_desc());
  }
  const auto hint =
      describe_hint<Forward>(kKind, how, data, weight, out, p.strides, p.dilates, p.pads, p.pads_behind);
  if (p.pass == Pass::data) {
    const auto d =
        describe_backward<ToData>(hint, how, data, weight, out, p.strides, p.dilates, p.pads, p.pads_behind);
    use.template operator()<ToData>(d, d.diff_src_desc(), d.weights_desc(), d.diff_dst_desc());
  } else {
    const auto d = describe_backward<ToWeight>(hint, how, data, weight_sums, out, p.strides, p.dilates,
                                               p.pads, p.pads_behind);
    use.template operator()<ToWeight>(d, d.src_desc(), d.diff_weights_desc(), d.diff_dst_desc());
  }
}

Plan make_plan(const Problem& p, algorithm how) {
  const auto plain = [&](const dnnl::memory::dims& dims) {
    constexpr Tag kTags[] = {Tag::abcd, Tag::abcde, Tag::abcdef};
    return Desc(dims, p.type, kTags[dims.size() - 4]);
  };
  Plan plan;
  plan.bias = Desc({p.out[1]}, p.type, Tag::a);
  describe_pass(
      p, how,
      [&]<class Primitive>(const auto& d, const Desc& of_data, const Desc& of_weight, const Desc& of_out) {
        plan.data = Place(plain(p.data), of_data);
        plan.weight = Place(plain(p.weight), of_weight);
        plan.out = Place(plain(p.out), of_out);
        plan.scratchpad = d.scratchpad_desc();
        plan.run = Primitive(d);
      });
  return plan;
}

// Its way where it has no kernel of its own: the image is unfolded, and multiplied. `convolution_gemm` does that faster, whose weights
// are packed; measured with AVX2, 0.4 to 0.9 of the time in 15 of 17 geometries. Gradients are often faster this way.
bool unfolds_for_long(Pass pass, std::string_view implementation) {
  return pass == Pass::forward && machine_isa() != Isa::v4 && implementation.starts_with("x64:gemm");
}

bool has_primitive(const Problem& p, algorithm how) {
  const OneThread one_thread;
  bool has = false;
  try {
    describe_pass(p, how, [&]<class>(const auto& description, const auto&...) {
      has = !unfolds_for_long(p.pass, description.impl_info_str());
    });
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) throw;
  }
  return has;
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

// oneDNN's objects for the memory that one thread works on.
struct Bindings {
  Binding data, weight, out;
  Pointer bias, scratchpad;
  explicit Bindings(const Plan& plan)
      : data(plan.data), weight(plan.weight), out(plan.out), bias(plan.bias), scratchpad(plan.scratchpad) {}
};
// Those of one run: one for each thread.
using Session = std::vector<Bindings>;

// One pass over pieces of the batch. Scratch memory: what the threads share, then a slot for each of them with the
// buffers for data and output, oneDNN's own scratchpad, and `extra` floats.
class PreparedConvolution : public KernelState {
 public:
  static constexpr const char* kOperator = "Convolution";

 protected:
  PreparedConvolution(Pass pass, algorithm how, DType type, bool bias, const ConvGeometry& g, int cores)
      : images_(images_at_once(how, g)),
        count_(g.batch / images_),
        data_step_(images_ * g.groups * g.channels * g.in_size()),
        out_step_(images_ * g.groups * g.filters * g.out_size()),
        plan_(make_plan(Problem(pass, type, bias, g, images_), how)),
        slots_(static_cast<int>(std::min<int64_t>(std::min(cores, ScratchSlots::kMost), count_))) {}

  void need(int64_t shared, int64_t extra) {
    shared_ = shared;
    slot_ = plan_.data.buffer() + plan_.out.buffer() + floats(plan_.scratchpad) + extra;
    scratch_bytes = static_cast<size_t>(shared_ + slots_ * slot_) * sizeof(float);
  }

  // What one thread has in a run: bindings, and its buffers.
  struct Worker {
    Bindings& bound;
    float *data, *out, *scratchpad, *extra;
  };
  // Calls prepare(a worker for the calling thread) and then part(i, worker) for each part.
  template <class Prepare, class Part>
  void each(const KernelArgs& args, int64_t parts, Prepare&& prepare, Part&& part) const {
    const OneThread one_thread(*args.context);
    std::unique_ptr<Session> session = sessions_.take([this] {
      auto made = std::make_unique<Session>();
      made->reserve(static_cast<size_t>(slots_));
      for (int slot = 0; slot < slots_; ++slot) made->emplace_back(plan_);  // a copy would share its memory
      return made;
    });
    ScratchSlots slots(args.scratch.subspan(static_cast<size_t>(shared_) * sizeof(float)),
                       static_cast<size_t>(slot_) * sizeof(float), slots_);
    const auto worker = [&](const ScratchSlots::Use& slot) {
      float* const data = slot.as<float>();
      float* const out = data + plan_.data.buffer();
      float* const scratchpad = out + plan_.out.buffer();
      return Worker{(*session)[static_cast<size_t>(slot.index)], data, out, scratchpad,
                    scratchpad + floats(plan_.scratchpad)};
    };
    prepare((*session)[0]);
    each_part(*args.context, parts, [&](int64_t i) {
      const ScratchSlots::Use slot(slots);
      part(i, worker(slot));
    });
    sessions_.give_back(std::move(session));
  }
  float* shared(const KernelArgs& args) const { return reinterpret_cast<float*>(args.scratch.data()); }

  const int64_t images_, count_, data_step_, out_step_;
  const Plan plan_;

 private:
  const int slots_;
  int64_t shared_ = 0, slot_ = 0;  // floats
  mutable Spares<Session> sessions_;
};

class Forward : public PreparedConvolution {
 public:
  static constexpr Pass kPass = Pass::forward;
  Forward(algorithm how, DType type, const ConvGeometry& g, bool with_bias, int cores)
      : PreparedConvolution(kPass, how, type, with_bias, g, cores) {
    need(plan_.weight.buffer(), 0);
  }

  void run(const ConvOperands& operands, const KernelArgs& args) const {
    const void* weight = operands.b.data;
    const auto prepare = [&](Bindings& bound) {
      bound.weight.in(weight, shared(args));
      if (!plan_.weight.same()) weight = shared(args);
    };
    each(args, count_, prepare, [&](int64_t i, const Worker& w) {
      void* const to = mutable_element(args.out[0], i * out_step_);
      execute(plan_.run, {{DNNL_ARG_SRC, w.bound.data.in(element(operands.a, i * data_step_), w.data)},
                          {DNNL_ARG_WEIGHTS, w.bound.weight.inner(weight)},
                          {DNNL_ARG_DST, w.bound.out.out(to, w.out)},
                          {DNNL_ARG_SCRATCHPAD, w.bound.scratchpad.at(w.scratchpad)},
                          {DNNL_ARG_BIAS, w.bound.bias.at(operands.bias ? operands.bias->data : nullptr)}});
      w.bound.out.deliver(to, w.out);
    });
  }
};

class ToData : public PreparedConvolution {
 public:
  static constexpr Pass kPass = Pass::data;
  ToData(algorithm how, DType type, const ConvGeometry& g, bool, int cores)
      : PreparedConvolution(kPass, how, type, false, g, cores),
        channels_(g.groups * g.channels),
        plane_(g.in_size()) {
    need(plan_.weight.buffer(), 0);
  }

  void run(const ConvOperands& operands, const KernelArgs& args) const {
    const void* weight = operands.b.data;
    const auto prepare = [&](Bindings& bound) {
      bound.weight.in(weight, shared(args));
      if (!plan_.weight.same()) weight = shared(args);
    };
    each(args, count_, prepare, [&](int64_t i, const Worker& w) {
      void* const to = mutable_element(args.out[0], i * data_step_);
      execute(plan_.run, {{DNNL_ARG_DIFF_DST, w.bound.out.in(element(operands.a, i * out_step_), w.out)},
                          {DNNL_ARG_WEIGHTS, w.bound.weight.inner(weight)},
                          {DNNL_ARG_DIFF_SRC, w.bound.data.out(to, w.data)},
                          {DNNL_ARG_SCRATCHPAD, w.bound.scratchpad.at(w.scratchpad)}});
      w.bound.data.deliver(to, w.data);
      for (int64_t image = 0; operands.bias && image < images_; ++image) {
        add_bias(operands.bias->as<float>(), channels_, plane_,
                 static_cast<float*>(to) + image * channels_ * plane_);
      }
    });
  }

 private:
  const int64_t channels_, plane_;
};

void add_to(float* sums, const float* more, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) sums[i] += more[i];
}

// The pieces belong to a fixed number of parts, whose sums are added in order, in oneDNN's layout.
class ToWeight : public PreparedConvolution {
 public:
  static constexpr Pass kPass = Pass::weight;
  ToWeight(algorithm how, DType type, const ConvGeometry& g, bool, int cores)
      : PreparedConvolution(kPass, how, type, false, g, cores),
        parts_(std::min(count_, kWeightParts)),
        size_(floats(plan_.weight.inner())) {
    need((parts_ + 1) * size_, size_);
  }

  void run(const ConvOperands& operands, const KernelArgs& args) const {
    const bool add = args.req[0] == Req::add;
    float* const sums = shared(args);
    // To the user's layout: past the sums if it is to be added, or is a mere copy.
    float* const plain = sums + parts_ * size_;
    each(
        args, parts_, [](Bindings&) {},
        [&](int64_t part, const Worker& w) {
          const int64_t begin = count_ * part / parts_;
          for (int64_t i = begin; i < count_ * (part + 1) / parts_; ++i) {
            float* const to = i == begin ? sums + part * size_ : w.extra;
            execute(plan_.run,
                    {{DNNL_ARG_SRC, w.bound.data.in(element(operands.b, i * data_step_), w.data)},
                     {DNNL_ARG_DIFF_DST, w.bound.out.in(element(operands.a, i * out_step_), w.out)},
                     {DNNL_ARG_DIFF_WEIGHTS, w.bound.weight.inner(to)},
                     {DNNL_ARG_SCRATCHPAD, w.bound.scratchpad.at(w.scratchpad)}});
            if (i != begin) add_to(sums + part * size_, w.extra, size_);
          }
        });
    engine::parallel_for(*args.context, size_, 16384, [&](int64_t begin, int64_t end) {
      for (int64_t part = 1; part < parts_; ++part)
        add_to(sums + begin, sums + part * size_ + begin, end - begin);
    });
    void* const to = add ? plain : args.out[0].data;
    if (plan_.weight.same()) {
      std::memcpy(to, sums, static_cast<size_t>(args.out[0].bytes()));
    } else {
      each(
          args, 1, [&](Bindings& bound) { bound.weight.deliver(to, sums); }, [](int64_t, const Worker&) {});
    }
    if (add) add_to(args.out[0].mutable_as<float>(), plain, args.out[0].size());
  }

 private:
  const int64_t parts_, size_;
};

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
  const auto i = static_cast<size_t>(pass);
  const int64_t size = padded(g.channels) * padded(g.filters);
  if (g.channels < kFewest[i] || size < kSmallest[i]) return Support::slower("there are too few channels");
  if (padding(g) > kMostPadding[i]) return Support::slower("too much of the work would be padding");
  if (pass == Pass::weight && size > cache_limits().winograd_sums)
    return Support::slower("there are too many channels");
  return Support::yes();
}

constexpr int64_t kLargestDepthwise = 64;  // places of a filter of one channel

Support direct_pays(Pass pass, const ConvGeometry& g) {
  const bool dilated = g.dilate[0] > 1 || g.dilate[1] > 1 || g.dilate[2] > 1;
  const bool strided = g.stride[0] > 1 || g.stride[1] > 1 || g.stride[2] > 1;
  if (pass != Pass::forward && dilated && (strided || g.groups > 1)) {
    return Support::no("gradients of dilated filters with stride or groups are not faster");
  }
  if (g.groups > 1) {
    const bool depthwise = g.channels == 1 && g.filters == 1;
    if (depthwise && (g.kernel_size() == 1 || g.kernel_size() > kLargestDepthwise))
      return Support::slower("for filters of that size it is not faster");
    const double waste = static_cast<double>(padded(g.groups)) / static_cast<double>(g.groups);
    const int64_t unit = pass == Pass::data ? 4 : 8;
    if (depthwise ? waste <= 1.35 : g.channels % unit == 0 && g.filters % unit == 0) return Support::yes();
    return Support::slower("groups of that size are not faster");
  }
  if (g.kernel_size() == 1 && pass != Pass::weight &&
      g.channels * g.filters < work_limits().pointwise_weights) {
    return Support::slower("copying costs more than multiplying gains");
  }
  const double filter_padding = static_cast<double>(padded(g.filters)) / static_cast<double>(g.filters);
  if (g.channels < 4) {
    const bool pays = pass == Pass::forward ? g.kernel_size() >= 25 && filter_padding <= 1.1
                                            : pass == Pass::weight && filter_padding <= 1.5;
    return pays ? Support::yes() : Support::slower("there are too few channels");
  }
  constexpr double kMostPadding[] = {1.2, 1.5, 1.8};
  if (padding(g) > kMostPadding[static_cast<size_t>(pass)]) {
    return Support::slower("too much of the work would be padding");
  }
  return Support::yes();
}

bool has_primitive(Pass pass, algorithm how, DType type, bool bias, const ConvGeometry& g) {
  static auto& findings = *new Findings();  // outlives all threads that choose kernels
  const int64_t images = images_at_once(how, g);
  Findings::Question question = {static_cast<int64_t>(pass),
                                 static_cast<int64_t>(how),
                                 static_cast<int64_t>(type),
                                 bias ? 1 : 0,
                                 images,
                                 g.groups,
                                 g.channels,
                                 g.filters};
  for (const auto* sizes : {g.in, g.out, g.kernel, g.stride, g.dilate, g.pad})
    question.insert(question.end(), sizes, sizes + 3);
  return findings.get(question, [&] { return has_primitive(Problem(pass, type, bias, g, images), how); });
}

template <class P>
Support accepts(const P& p, const KernelSpec& spec, Pass pass, algorithm how, DType type) {
  const ConvAlgorithm mine = how == kWinograd ? ConvAlgorithm::winograd : ConvAlgorithm::direct;
  if (const Support may = may_run(mine, p); !may) return may;
  if (type == DType::float32) {
    if (spec.in[0].dtype != DType::float32) return Support::no("it is for float32");
  } else {
    if (spec.in[0].dtype != DType::bfloat16) return Support::no("it is for bfloat16");
    if (!multiplies_bfloat16()) return Support::no("this processor has no instructions for bfloat16");
    if (spec.req[0] == Req::add) return Support::no("it would round the sum and what it is added to apart");
    if (pass == Pass::data && operands_of(p, pass, spec.in).bias) return Support::no("it adds no bias here");
  }
  if (channels_last(p.layout)) return Support::no("it is for channels first");
  if (spec.out[0].size() == 0 || spec.in[0].size() == 0 || spec.in[1].size() == 0) {
    return Support::no("there is no data");
  }
  const ConvGeometry g = geometry_of(p, pass, spec.in, spec.out);
  const double flops = 2.0 * static_cast<double>(g.batch * g.groups * g.filters * g.out_size()) *
                       static_cast<double>(g.depth());
  Support support = how == kWinograd ? winograd_pays(pass, g) : direct_pays(pass, g);
  if (support.is_able && g.batch / images_at_once(how, g) < kFewestPieces &&
      flops > work_limits().one_core_flops)
    support = Support::slower("the batch has too few pieces");
  if (support.is_able && flops < work_limits().primitive_flops)
    support = Support::slower("there is so little to compute that calling oneDNN takes longer");
  if (support.is_able && is_asked_for(mine, p)) support = Support::yes();
  const bool with_bias = pass == Pass::forward && operands_of(p, pass, spec.in).bias;
  if (support.is_able && !has_primitive(pass, how, type, with_bias, g))
    return Support::no("oneDNN has no kernel for it, or only loops for reference or to unfold the image");
  return support;
}

template <class P, Pass pass, algorithm how, DType type>
Support accepts_as(const P& p, const KernelSpec& spec) {
  return accepts(p, spec, pass, how, type);
}

template <class Of, algorithm how, DType type>
struct As : Of {
  As(const ConvGeometry& g, bool with_bias, int cores) : Of(how, type, g, with_bias, cores) {}
};

template <class P, class Of>
void add(OpTable& table, const std::string& op) {
  using F = ConvFamily<P>;
  const auto kernel = [&]<algorithm how, DType type>(const char* name) {
    table.prepared_kernel<P, Checked<F, ConvKernel<F, As<Of, how, type>>>,
                          accepts_as<F, Of::kPass, how, type>>(op, name);
  };
  kernel.template operator()<kWinograd, DType::float32>("convolution_winograd_dnnl");
  kernel.template operator()<kDirect, DType::float32>("convolution_dnnl");
  kernel.template operator()<kDirect, DType::bfloat16>("convolution_bfloat16_dnnl");
}

}  // namespace

void kernels_conv_dnnl(OpTable& table) {
  if (!is_on()) return;
  add<ConvolutionParams, Forward>(table, "Convolution");
  add<ConvolutionV1Params, Forward>(table, "Convolution_v1");
  add<DeconvolutionParams, ToData>(table, "Deconvolution");
}

void gradients_conv_dnnl(OpTable& table) {
  if (!is_on()) return;
  add<ConvolutionParams, ToData>(table, "_backward_Convolution_data");
  add<ConvolutionParams, ToWeight>(table, "_backward_Convolution_weight");
  add<ConvolutionV1Params, ToData>(table, "_backward_Convolution_v1_data");
  add<ConvolutionV1Params, ToWeight>(table, "_backward_Convolution_v1_weight");
  add<DeconvolutionParams, Forward>(table, "_backward_Deconvolution_data");
  add<DeconvolutionParams, ToWeight>(table, "_backward_Deconvolution_weight");
}

}  // namespace loomix::ops
