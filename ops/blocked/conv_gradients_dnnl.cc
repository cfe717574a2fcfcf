// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/blocked/conv_dnnl.h"
#include "ops/blocked/sliced_reorder_dnnl.h"
#include "ops/blocked/winograd_conv.h"
#include "ops/families.h"
#include "ops/limits.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

// Convolutions of blocks in training: the weight, which changes at each step, is brought into form for the forward pass and
// for the data's gradient; and the two gradients.
namespace loomix::ops {
namespace {

using namespace onednn;
using dnnl::algorithm;
using Params = BlockedConvParams;
using Input = BlockedForm::Input;

std::byte* bytes_of(const TensorView& view) { return static_cast<std::byte*>(view.data); }
int64_t bytes_of_image(const TensorView& view) { return static_cast<int64_t>(view.bytes()) / view.shape[0]; }

// Partial sums of a weight's gradient, whatever the number of threads; each is as large as the weight.
int64_t most_sums(const ConvGeometry& g) {
  constexpr int64_t kLarge = 1 << 19;  // elements
  return g.groups * g.filters * g.depth() > kLarge ? 4 : 8;
}

// One call for each sum, if the batch can be cut so.
int64_t images_of_weight_pass(const ConvGeometry& g) {
  for (int64_t sums = most_sums(g); sums >= kFewestPieces; --sums) {
    if (g.batch % sums == 0) return g.batch / sums;
  }
  return 1;
}

// oneDNN's primitive for a piece of the batch.
struct Plan {
  ConvGeometry geometry;
  int64_t images;
  Desc data, weight, out, scratchpad;
  dnnl::primitive run;

  explicit Plan(const Params& p) : geometry(p, p.image) {
    const ConvGeometry& g = geometry;
    images = p.pass == ConvPass::weight ? images_of_weight_pass(g) : training_images(g, p.winograd);
    data = image_desc(p, images, g.groups * g.channels, g.in, p.plain_data);
    out = image_desc(p, images, g.groups * g.filters, g.out, false);
    const auto how = p.winograd ? algorithm::convolution_winograd : algorithm::convolution_direct;
    const Desc plain = plain_weight_desc(p, g, g.groups * g.filters);
    const Desc any(dims_of(plain), type_of(plain), Tag::any);
    const auto pair = [](const int64_t* sizes) { return dnnl::memory::dims{sizes[1], sizes[2]}; };
    const auto strides = pair(g.stride), pads = pair(g.pad);
    auto dilates = pair(g.dilate);
    for (auto& step : dilates) --step;
    const auto forward = describe_hint<dnnl::convolution_forward>(
        dnnl::prop_kind::forward_training, how, data, any, out, strides, dilates, pads, pads);
    const auto finish = [&]<class Of>(const auto& d, const Desc& of_weight, Of*) {
      weight = of_weight;
      scratchpad = d.scratchpad_desc();
      run = Of(d);
    };
    if (p.pass == ConvPass::data) {
      using Of = dnnl::convolution_backward_data;
      const auto d = describe_backward<Of>(forward, how, data, any, out, strides, dilates, pads, pads);
      finish(d, d.weights_desc(), static_cast<Of*>(nullptr));
    } else {
      using Of = dnnl::convolution_backward_weights;
      const Desc sums(dims_of(plain), kFloat, Tag::any);  // in float32, whatever the type
      const auto d = describe_backward<Of>(forward, how, data, sums, out, strides, dilates, pads, pads);
      finish(d, d.diff_weights_desc(), static_cast<Of*>(nullptr));
    }
  }
  int64_t count() const { return geometry.batch / images; }
};

std::optional<Plan> find_plan(const Params& p) {
  const OneThread one_thread;
  try {
    return Plan(p);
  } catch (const dnnl::error& error) {  // oneDNN has no such kernel
    explain_refusal(p, error);
    return {};
  }
}

int64_t elements(const Desc& desc, DType dtype) {
  return static_cast<int64_t>(desc.get_size()) / static_cast<int64_t>(size_of(dtype));
}

// What each thread of a run works with; handed from one run to the next.
template <class Bindings>
class Sessions {
 public:
  explicit Sessions(int threads) : threads_(threads) {}
  class Use {
   public:
    template <class Of>
    Use(const Sessions& sessions, const Of& of)
        : sessions_(sessions), own_(sessions.spares_.take([&] {
            auto made = std::make_unique<std::vector<Bindings>>();
            made->reserve(static_cast<size_t>(sessions.threads_));
            for (int i = 0; i < sessions.threads_; ++i) made->emplace_back(of);
            return made;
          })) {}
    ~Use() { sessions_.spares_.give_back(std::move(own_)); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    Bindings& operator[](int slot) const { return (*own_)[static_cast<size_t>(slot)]; }

   private:
    const Sessions& sessions_;
    std::unique_ptr<std::vector<Bindings>> own_;
  };

 private:
  const int threads_;
  mutable Spares<std::vector<Bindings>> spares_;
};

// weight -> as the forward pass or the data's gradient wants it.
class TrainingWeight final : public KernelState {
 public:
  static constexpr const char* kOperator = "Convolution";
  TrainingWeight(const Params& p, const KernelSpec& spec)
      : reorder_(plain_weight_desc(p, ConvGeometry(p, p.image), p.num_filter),
                 p.pass == ConvPass::data ? Plan(p).weight : forward_weight(p), SlicedReorder::To::inner),
        slots_(static_cast<int>(std::min<int64_t>(slots_for(spec.cores), reorder_.count()))),
        sessions_(slots_) {
    scratch_bytes = static_cast<size_t>(slots_) * reorder_.scratch_bytes();
  }

  void run(const Params&, const KernelArgs& args) const {
    const OneThread one_thread(*args.context);
    const Sessions<SlicedReorder::Bindings>::Use own(sessions_, reorder_);
    ScratchSlots slots(args.scratch, reorder_.scratch_bytes(), slots_);
    each_part(*args.context, reorder_.count(), [&](int64_t i) {
      const ScratchSlots::Use slot(slots);
      reorder_.run(i, own[slot.index], args.in[0].data, args.out[0].data, slot.as<std::byte>());
    });
  }

 private:
  const SlicedReorder reorder_;
  const int slots_;
  const Sessions<SlicedReorder::Bindings> sessions_;
};

// Pieces of a batch, each by one core.
class Gradient : public KernelState {
 public:
  static constexpr const char* kOperator = "Convolution";

 protected:
  struct Bindings {
    Pointer data, weight, out, scratchpad;
    explicit Bindings(const Plan& of)
        : data(of.data), weight(of.weight), out(of.out), scratchpad(of.scratchpad) {}
  };

  Gradient(const Params& p, const KernelSpec& spec, int64_t parts)
      : plan_(p),
        slots_(static_cast<int>(std::min<int64_t>(slots_for(spec.cores), parts))),
        sessions_(slots_) {}

  const Plan plan_;
  const int slots_;
  const Sessions<Bindings> sessions_;
};

// grad, weight -> gradient of the data.
class ToData final : public Gradient {
 public:
  ToData(const Params& p, const KernelSpec& spec) : Gradient(p, spec, Plan(p).count()) {
    slot_bytes_ = static_cast<size_t>(floats(plan_.scratchpad)) * sizeof(float);
    scratch_bytes = static_cast<size_t>(slots_) * slot_bytes_;
  }

  void run(const Params&, const KernelArgs& args) const {
    const OneThread one_thread(*args.context);
    const Sessions<Bindings>::Use own(sessions_, plan_);
    ScratchSlots slots(args.scratch, slot_bytes_, slots_);
    const int64_t from = plan_.images * bytes_of_image(args.in[0]),
                  to = plan_.images * bytes_of_image(args.out[0]);
    each_part(*args.context, plan_.count(), [&](int64_t i) {
      const ScratchSlots::Use slot(slots);
      Bindings& bound = own[slot.index];
      execute(plan_.run, {{DNNL_ARG_DIFF_DST, bound.out.at(bytes_of(args.in[0]) + i * from)},
                          {DNNL_ARG_WEIGHTS, bound.weight.at(args.in[1].data)},
                          {DNNL_ARG_DIFF_SRC, bound.data.at(bytes_of(args.out[0]) + i * to)},
                          {DNNL_ARG_SCRATCHPAD, bound.scratchpad.at(slot.as<float>())}});
    });
  }

 private:
  size_t slot_bytes_;
};

void add_to(float* sums, const float* more, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) sums[i] += more[i];
}

// grad, data -> gradient of the weight, plain. The pieces belong to a fixed number of sums, which are added in order.
// Scratch memory: the sums, then for each thread one more where a sum has several pieces, and what primitives need.
class ToWeight final : public Gradient {
 public:
  ToWeight(const Params& p, const KernelSpec& spec)
      : Gradient(p, spec, most_sums(ConvGeometry(p, p.image))),
        sums_(std::min(plan_.count(), most_sums(plan_.geometry))),
        size_(floats(plan_.weight)),
        more_(sums_ < plan_.count() ? size_ : 0),
        reorder_(plain_weight_desc(p, plan_.geometry, p.num_filter), plan_.weight, SlicedReorder::To::plain),
        reorders_(slots_) {
    slot_ = more_ + std::max(floats(plan_.scratchpad),
                             static_cast<int64_t>(aligned(reorder_.scratch_bytes()) / sizeof(float)));
    scratch_bytes = static_cast<size_t>(sums_ * size_ + slots_ * slot_) * sizeof(float);
  }

  void run(const Params&, const KernelArgs& args) const {
    const OneThread one_thread(*args.context);
    const Sessions<Bindings>::Use own(sessions_, plan_);
    const Sessions<SlicedReorder::Bindings>::Use reorders(reorders_, reorder_);
    auto* const sums = reinterpret_cast<float*>(args.scratch.data());
    ScratchSlots slots(args.scratch.subspan(static_cast<size_t>(sums_ * size_) * sizeof(float)),
                       static_cast<size_t>(slot_) * sizeof(float), slots_);
    each_part(*args.context, sums_, [&](int64_t part) {
      const ScratchSlots::Use slot(slots);
      add_up(args, part, own[slot.index], sums + part * size_, slot.as<float>());
    });
    each_part(*args.context, reorder_.count(), [&](int64_t i) {
      const ScratchSlots::Use slot(slots);
      const auto [at, bytes] = reorder_.inner_range(i);
      float* const sum = sums + at / static_cast<int64_t>(sizeof(float));
      for (int64_t part = 1; part < sums_; ++part)
        add_to(sum, sum + part * size_, bytes / static_cast<int64_t>(sizeof(float)));
      reorder_.run(i, reorders[slot.index], args.out[0].data, sums, slot.as<float>());
    });
  }

 private:
  void add_up(const KernelArgs& args, int64_t part, Bindings& bound, float* sum, float* scratch) const {
    const int64_t grad = plan_.images * bytes_of_image(args.in[0]),
                  data = plan_.images * bytes_of_image(args.in[1]);
    const int64_t begin = plan_.count() * part / sums_;
    for (int64_t i = begin; i < plan_.count() * (part + 1) / sums_; ++i) {
      float* const to = i == begin ? sum : scratch;
      execute(plan_.run, {{DNNL_ARG_SRC, bound.data.at(bytes_of(args.in[1]) + i * data)},
                          {DNNL_ARG_DIFF_DST, bound.out.at(bytes_of(args.in[0]) + i * grad)},
                          {DNNL_ARG_DIFF_WEIGHTS, bound.weight.at(to)},
                          {DNNL_ARG_SCRATCHPAD, bound.scratchpad.at(scratch + more_)}});
      if (i != begin) add_to(sum, scratch, size_);
    }
  }

  const int64_t sums_, size_, more_;  // floats
  int64_t slot_;
  const SlicedReorder reorder_;
  const Sessions<SlicedReorder::Bindings> reorders_;
};

// Winograd's gradient of the weight has sums in its own form, which should stay in the cache.
bool is_small_enough(const ConvGeometry& g) { return g.channels * g.filters <= cache_limits().winograd_sums; }

std::optional<Params> gradient_params(const ConvolutionParams& p, ConvPass pass, const Shape& image,
                                      DType dtype, bool data_is_blocked) {
  if (p.kernel.ndim() != 2 || channels_last(p.layout) || !is_blocked_type(dtype) || image.size() == 0)
    return {};
  Params blocked;
  static_cast<ConvolutionParams&>(blocked) = p;
  blocked.image = image;
  blocked.pass = pass;
  blocked.training = true;
  blocked.dtype = dtype;
  blocked.weight_size = 1;
  const ConvGeometry g(p, image);
  if (g.batch < kFewestPieces || g.groups * g.filters * g.out_size() == 0) return {};
  blocked.plain_data = takes_plain_data(g, data_is_blocked);
  const bool dilated = g.dilate[1] > 1 || g.dilate[2] > 1, strided = g.stride[1] > 1 || g.stride[2] > 1;
  if (!is_worth_blocks(g, data_is_blocked) || (dilated && (strided || g.groups > 1))) return {};
  blocked.winograd = dtype == DType::float32 && is_for_winograd_in_training(g) &&
                     (pass != ConvPass::weight || is_small_enough(g));
  if (has_winograd_conv()) {
    blocked.winograd = dtype == DType::float32 &&
                       (pass == ConvPass::weight ? winograd_gradient_pays(g) : winograd_conv_pays(g, true));
    if (pass == ConvPass::data) blocked.weight_size = winograd_conv_weight_size(g);
    if (blocked.winograd) return blocked;
    blocked.weight_size = 1;
  }
  auto plan = find_plan(blocked);
  if (!plan && blocked.winograd) {
    blocked.winograd = false;
    plan = find_plan(blocked);
  }
  if (!plan) return {};
  if (pass == ConvPass::data) blocked.weight_size = elements(plan->weight, dtype);
  return blocked;
}

int64_t bytes_of_images(const KernelSpec& spec, int a, const TensorView& b) {
  return static_cast<int64_t>(spec.in[static_cast<size_t>(a)].bytes() + b.bytes());
}

// grad, weight, data, of which only the shape is used
std::optional<BlockedForm> data_form(const ConvolutionParams& p, const KernelSpec& spec,
                                     BlockedInputs blocked) {
  if (!spec.training) return {};
  auto params = gradient_params(p, ConvPass::data, spec.out[0].shape, spec.in[0].dtype, blocked[2]);
  if (!params || params->plain_data) return {};
  return BlockedForm{"_backward_blocked_conv_data",
                     make_attrs(std::move(*params)),
                     {Input::blocked, Input::prepared, Input::left_out},
                     "_blocked_training_weight",
                     {true},
                     bytes_of_images(spec, 0, spec.out[0])};
}

// grad, data, weight, of which only the shape is used
std::optional<BlockedForm> weight_form_of(const ConvolutionParams& p, const KernelSpec& spec,
                                          BlockedInputs blocked) {
  if (!spec.training) return {};
  auto params = gradient_params(p, ConvPass::weight, spec.in[1].shape, spec.in[0].dtype, blocked[1]);
  if (!params) return {};
  const Input data = params->plain_data ? Input::plain : Input::blocked;
  return BlockedForm{"_backward_blocked_conv_weight",
                     make_attrs(std::move(*params)),
                     {Input::blocked, data, Input::left_out},
                     nullptr,
                     {false},
                     bytes_of_images(spec, 0, spec.in[1])};
}

void check(const Params& p, const ShapeInfer& s) {
  check_window(p, s.who());
  LOOMIX_CHECK(p.image.is_known() && p.image.ndim() == 4 && p.kernel.ndim() == 2, ShapeError,
               "[{}] image is {} and kernel {}; expected 4 and 2 numbers.", s.who(), tuple_text(p.image),
               tuple_text(p.kernel));
}

Shape plain_weight_shape(const Params& p) {
  const ConvGeometry g(p, p.image);
  return {p.num_filter, g.channels, g.kernel[1], g.kernel[2]};
}

void infer_type(const Params& p, TypeInfer& t) {
  t.set_out(0, p.dtype);
  t.unify_all();
}

}  // namespace

void register_blocked_conv_gradients(OpTable& table) {
  if (!has_blocked_convolution()) return;
  constexpr DTypeSet kTypes{DType::float32, DType::bfloat16};
  table.add_hidden<Params>("_blocked_training_weight", {"weight"})
      .infer_shape([](const Params& p, ShapeInfer& s) {
        check(p, s);
        s.set_in(0, plain_weight_shape(p));
        s.set_out(0, {p.weight_size});
      })
      .infer_type(infer_type)
      .types(kTypes);
  table.add_hidden<Params>("_backward_blocked_conv_data", {"grad", "weight"})
      .infer_shape([](const Params& p, ShapeInfer& s) {
        check(p, s);
        s.set_in(0, blocked_conv_out_shape(p));
        s.set_in(1, {p.weight_size});
        s.set_out(0, blocked_conv_data_shape(p));
      })
      .infer_type(infer_type)
      .types(kTypes)
      .cost(blocked_conv_cost);
  table.add_hidden<Params>("_backward_blocked_conv_weight", {"grad", "data"})
      .infer_shape([](const Params& p, ShapeInfer& s) {
        check(p, s);
        s.set_in(0, blocked_conv_out_shape(p));
        s.set_in(1, blocked_conv_data_shape(p));
        s.set_out(0, plain_weight_shape(p));
      })
      .infer_type(infer_type)
      .types(kTypes)
      .cost(blocked_conv_cost);
  table.refine<ConvolutionParams>("_backward_Convolution_data").blocked_form(data_form);
  table.refine<ConvolutionParams>("_backward_Convolution_weight").blocked_form(weight_form_of);
  add_winograd_gradient_kernels(table);
  table.prepared_kernel<Params, Checked<Params, TrainingWeight>>("_blocked_training_weight",
                                                                 "blocked_training_weight_dnnl");
  table.prepared_kernel<Params, Checked<Params, ToData>>("_backward_blocked_conv_data",
                                                         "blocked_conv_data_dnnl");
  table.prepared_kernel<Params, Checked<Params, ToWeight>>("_backward_blocked_conv_weight",
                                                           "blocked_conv_weight_dnnl");
}

}  // namespace loomix::ops
