// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "base/tuple_text.h"
#include "ops/blocked/conv_dnnl.h"
#include "ops/blocked/winograd_conv.h"
#include "ops/blocked/winograd_form_dnnl.h"
#include "ops/families.h"
#include "ops/isa.h"
#include "ops/primitive_dnnl.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

namespace loomix::ops {

int64_t channel_block() { return onednn::has(dnnl::cpu_isa::avx512_core) ? 16 : 8; }
bool has_blocked_convolution() { return onednn::is_on() && onednn::has(dnnl::cpu_isa::avx2); }
std::string convolution_library() {
  const dnnl_version_t& version = *dnnl_version();
  return fmt::format("oneDNN {}.{}.{} by {}", version.major, version.minor, version.patch, channel_block());
}
bool is_blocked_type(DType dtype) {
  return dtype == DType::float32 || (dtype == DType::bfloat16 && onednn::multiplies_bfloat16());
}

namespace {

using namespace onednn;
using dnnl::algorithm;
using Params = BlockedConvParams;

constexpr const char *kPrepare = "_blocked_conv_weight", *kUndo = "_plain_conv_weight";

// How a convolution is cut, by its shape and attributes alone: pieces of some whole images, or of some filters of one image.
struct Cut {
  int64_t images = 1;
  std::vector<int64_t>
      filters;  // of each part of an image, all groups together; whole blocks, but for the last
};

// Parts that differ by at most one block. Winograd's method transforms the data for each part, which few filters do not pay.
std::vector<int64_t> cut_blocks(int64_t filters, int64_t most, algorithm how) {
  const int64_t block = channel_block(), blocks = (filters + block - 1) / block;
  const int64_t fewest = std::max<int64_t>(1, (how == algorithm::convolution_winograd ? 32 : 16) / block);
  const int64_t parts = std::clamp<int64_t>(blocks / fewest, 1, most);
  std::vector<int64_t> sizes;
  for (int64_t part = 0; part < parts; ++part)
    sizes.push_back((blocks / parts + (part < blocks % parts ? 1 : 0)) * block);
  sizes.back() -= blocks * block - filters;
  return sizes;
}

// Parts of whole groups, and of whole blocks.
std::vector<int64_t> cut_groups(const ConvGeometry& g, int64_t most) {
  const int64_t block = channel_block(), filters = g.groups * g.filters;
  int64_t parts = 1;
  for (const int64_t i : {3, 2, 4}) {  // two cores share two parts better than three
    if (i <= most && g.groups % i == 0 && filters / i % block == 0 && g.groups * g.channels / i % block == 0)
      parts = i;
  }
  return std::vector<int64_t>(static_cast<size_t>(parts), filters / parts);
}

Cut cut(const ConvGeometry& g, algorithm how, int parts) {
  const int64_t images = images_of(g, how == algorithm::convolution_winograd ? 392 : 128);
  const int64_t filters = g.groups * g.filters, most = parts / g.batch;
  if (g.batch / images >= parts || most < 2) return {images, {filters}};
  Cut made{1, g.groups == 1 || is_depthwise(g) ? cut_blocks(filters, most, how) : cut_groups(g, most)};
  if (made.filters.size() == 1) made.images = images;
  return made;
}

dnnl::primitive_attr with_closings(const Params& p) {
  dnnl::post_ops ops;
  if (p.add) ops.append_sum(1.0f);
  if (p.low) {
    const Clamp clamp{*p.low, *p.high};
    const auto how = clamp.is_relu() ? algorithm::eltwise_relu : algorithm::eltwise_clip;
    const auto low = static_cast<float>(clamp.low),
               high = clamp.is_relu() ? 0.0f : static_cast<float>(clamp.high);
#if DNNL_VERSION_MAJOR >= 3
    ops.append_eltwise(how, low, high);
#else
    ops.append_eltwise(1.0f, how, low, high);
#endif
  }
  dnnl::primitive_attr all = attributes();
  all.set_post_ops(ops);
  return all;
}

// The primitive for pieces with so many filters.
struct Primitive {
  int64_t filters;
  Desc data, plain_weight, weight, bias, out, scratchpad;
  dnnl::primitive run;

  Primitive(const Params& p, const ConvGeometry& g, algorithm how, int64_t images, int64_t count)
      : filters(count) {
    const int64_t groups = g.groups > 1 ? filters / g.filters : 1;
    using Dims = dnnl::memory::dims;
    data = image_desc(p, images, groups * g.channels, g.in, p.plain_data);
    out = image_desc(p, images, filters, g.out, false);
    plain_weight = plain_weight_desc(p, g, filters);
    const auto type = type_of(plain_weight);
    bias = Desc(Dims{filters}, type, Tag::a);
    const auto pair = [](const int64_t* sizes) { return Dims{sizes[1], sizes[2]}; };
    Dims dilates = pair(g.dilate);
    for (auto& step : dilates) --step;
    const Desc any(dims_of(plain_weight), type, Tag::any);
    // Else Winograd's kernel wants weights that are transformed, which takes long.
    const auto kind = p.training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    using Forward = dnnl::convolution_forward;
    const auto attributes = with_closings(p);
    const auto d = p.no_bias ? describe_with<Forward>(attributes, kind, how, data, any, out, pair(g.stride),
                                                      dilates, pair(g.pad), pair(g.pad))
                             : describe_with<Forward>(attributes, kind, how, data, any, bias, out,
                                                      pair(g.stride), dilates, pair(g.pad), pair(g.pad));
    weight = d.weights_desc();
    scratchpad = d.scratchpad_desc();
    run = Forward(d);
  }
  int64_t weight_bytes() const { return floats(weight) * static_cast<int64_t>(sizeof(float)); }
};

// A part of an image: where it begins in what it reads and writes, in bytes.
struct Part {
  size_t primitive;
  int64_t data, plain_weight, weight, bias, out, out_bytes;
};

struct Plan {
  ConvGeometry geometry;
  int64_t images;  // of a piece
  std::vector<Primitive> primitives;
  std::vector<Part> parts;
  int64_t weight_size = 0;       // elements of all parts
  int64_t scratchpad_bytes = 0;  // the most that a piece needs

  Plan(const Params& p, algorithm how) : geometry(p, p.image) {
    const ConvGeometry& g = geometry;
    const Cut pieces =
        p.training ? Cut{training_images(g, p.winograd), {g.groups * g.filters}} : cut(g, how, p.parts);
    images = pieces.images;
    const int64_t element = size_of(p.dtype), block = channel_block();
    int64_t first = 0, weight_bytes = 0;
    for (const int64_t filters : pieces.filters) {
      const auto found =
          std::ranges::find_if(primitives, [&](const Primitive& of) { return of.filters == filters; });
      const auto place = static_cast<size_t>(found - primitives.begin());
      if (found == primitives.end()) primitives.emplace_back(p, g, how, images, filters);
      const Primitive& primitive = primitives[place];
      const int64_t data = g.groups > 1 ? first / g.filters * g.channels * g.in[1] * g.in[2] : 0;
      const int64_t pixels = g.out_size(), padded = (filters + block - 1) / block * block;
      parts.push_back({place, data * element, first * g.depth() * element, weight_bytes, first * element,
                       first * pixels * element, images * padded * pixels * element});
      first += filters;
      weight_bytes += primitive.weight_bytes();
      scratchpad_bytes =
          std::max(scratchpad_bytes, floats(primitive.scratchpad) * static_cast<int64_t>(sizeof(float)));
    }
    weight_size = weight_bytes / element;
  }
  int64_t count() const { return geometry.batch / images * static_cast<int64_t>(parts.size()); }
  bool has_weights_of(const Plan& other) const {
    return std::ranges::equal(primitives, other.primitives, {}, &Primitive::weight, &Primitive::weight);
  }
};

Plan make_plan(const Params& p) {
  const OneThread one_thread;
  return Plan(p, p.winograd ? algorithm::convolution_winograd : algorithm::convolution_direct);
}

std::optional<Plan> find_plan(const Params& p) {
  try {
    return make_plan(p);
  } catch (const dnnl::error& error) {  // oneDNN has no such kernel
    explain_refusal(p, error);
    return {};
  }
}

// Whether it runs without oneDNN.
bool is_own(const Params& p) { return p.winograd && has_winograd_conv(); }

// How many elements the weight takes; none: there is no such kernel.
std::optional<int64_t> weight_size_of(const Params& p) {
  if (is_own(p)) return winograd_conv_weight_size(ConvGeometry(p, p.image));
  const auto plan = find_plan(p);
  return plan ? std::optional(plan->weight_size) : std::nullopt;
}

std::byte* bytes_of(const TensorView& view) { return static_cast<std::byte*>(view.data); }

// The order of the axes of blocks, and the blocks inside. Empty where the first axis is not the outermost.
std::string order_of(const Desc& weight, int axes) {
#if DNNL_VERSION_MAJOR >= 3
  const auto strides = weight.get_strides(), blocks = weight.get_inner_blks(),
             inner = weight.get_inner_idxs();
  const int count = weight.get_inner_nblks();
#else
  const auto& [strides, count, blocks, inner] = weight.data.format_desc.blocking;
#endif
  std::vector<size_t> order(static_cast<size_t>(axes));
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  if (order[0] != 0) return {};
  std::string text = "axes";
  for (const size_t axis : order) text += fmt::format(" {}", axis);
  for (int i = 0; i < count; ++i) text += fmt::format(", {} of axis {}", blocks[i], inner[i]);
  return text;
}

// Parts lie one behind the other as the whole does, since they are whole blocks of the outermost axis. What Winograd's method
// wants depends on the image.
std::string form_of(const Params& p) {
  if (is_own(p)) return fmt::format("{} in tiles, {} filters", p.weight_size, p.num_filter);
  if (p.winograd) return {};
  const Plan plan = make_plan(p);
  const int axes = plan.geometry.groups > 1 ? 5 : 4;
  const std::string order = order_of(plan.primitives[0].weight, axes);
  const auto same = [&](const Primitive& of) { return order_of(of.weight, axes) == order; };
  if (order.empty() || !std::ranges::all_of(plan.primitives, same)) return {};
  return fmt::format("{} {} in {} groups, {}", p.weight_size, name_of(p.dtype), plan.geometry.groups, order);
}

// Between the weight as it is given and as the kernel wants it.
template <bool kBack>
class ChangedWeight final : public KernelState {
 public:
  static constexpr const char* kOperator = "Convolution";
  ChangedWeight(const Params& p, const KernelSpec&) : plan_(make_plan(p)) {
    for (const Primitive& of : plan_.primitives) {
      Step& step = steps_.emplace_back();
      step.tiles = winograd_form(of.weight);
      if (step.tiles) continue;
      const auto d = describe_reorder(from(of), to(of), attributes());
      step.run = dnnl::reorder(d);
      step.scratchpad = d.scratchpad_desc();
      scratch_bytes = std::max(scratch_bytes, static_cast<size_t>(floats(step.scratchpad)) * sizeof(float));
    }
  }

  void run(const Params&, const KernelArgs& args) const {
    const OneThread one_thread(*args.context);
    for (const Part& part : plan_.parts) {
      const Primitive& of = plan_.primitives[part.primitive];
      const Step& step = steps_[part.primitive];
      const std::byte* const source = bytes_of(args.in[0]) + (kBack ? part.weight : part.plain_weight);
      std::byte* const target = bytes_of(args.out[0]) + (kBack ? part.plain_weight : part.weight);
      if (step.tiles) {
        const auto& loops = best_loops<WinogradLoops>();
        const auto change = kBack ? loops.restore : loops.transform;
        each_part(*args.context, step.tiles->parts(), [&](int64_t i) {
          change(*step.tiles, i, reinterpret_cast<const float*>(source), reinterpret_cast<float*>(target));
        });
        continue;
      }
      Pointer in(from(of)), out(to(of)), scratchpad(step.scratchpad);
      execute(step.run, {{DNNL_ARG_FROM, in.at(source)},
                         {DNNL_ARG_TO, out.at(target)},
                         {DNNL_ARG_SCRATCHPAD, scratchpad.at(args.scratch.data())}});
    }
  }

 private:
  struct Step {
    std::optional<WinogradForm> tiles;  // else oneDNN does it
    dnnl::reorder run;
    Desc scratchpad;
  };
  static const Desc& from(const Primitive& of) { return kBack ? of.weight : of.plain_weight; }
  static const Desc& to(const Primitive& of) { return kBack ? of.plain_weight : of.weight; }

  const Plan plan_;
  std::vector<Step> steps_;  // one a primitive
};

class BlockedConvolution final : public KernelState {
 public:
  static constexpr const char* kOperator = "Convolution";
  BlockedConvolution(const Params& p, const KernelSpec& spec)
      : plan_(make_plan(p)),
        slots_(
            static_cast<int>(std::min<int64_t>(std::min(spec.cores, ScratchSlots::kMost), plan_.count()))) {
    scratch_bytes = static_cast<size_t>(slots_ * plan_.scratchpad_bytes);
  }

  void run(const Params& p, const KernelArgs& args) const {
    const OneThread one_thread(*args.context);
    const size_t kinds = plan_.primitives.size();
    std::unique_ptr<Session> session = sessions_.take([&] {
      auto made = std::make_unique<Session>();
      made->reserve(static_cast<size_t>(slots_) * kinds);
      for (int slot = 0; slot < slots_; ++slot) {
        for (const Primitive& of : plan_.primitives) made->emplace_back(of);
      }
      return made;
    });
    ScratchSlots slots(args.scratch, static_cast<size_t>(plan_.scratchpad_bytes), slots_);
    const auto parts = static_cast<int64_t>(plan_.parts.size());
    const int64_t data_image = bytes_of_image(args.in[0]), out_image = bytes_of_image(args.out[0]);
    const std::byte *const data = bytes_of(args.in[0]), *const weight = bytes_of(args.in[1]);
    const std::byte* const bias = p.no_bias ? nullptr : bytes_of(args.in[2]);
    const std::byte* const added = p.add ? bytes_of(args.in[p.no_bias ? 2 : 3]) : nullptr;
    std::byte* const out = bytes_of(args.out[0]);
    each_part(*args.context, plan_.count(), [&](int64_t i) {
      const int64_t image = i / parts * plan_.images;
      const Part& part = plan_.parts[static_cast<size_t>(i % parts)];
      const ScratchSlots::Use slot(slots);
      Bindings& bound = (*session)[static_cast<size_t>(slot.index) * kinds + part.primitive];
      std::byte* const to = out + image * out_image + part.out;
      if (added && added != out) std::memcpy(to, added + (to - out), static_cast<size_t>(part.out_bytes));
      execute(plan_.primitives[part.primitive].run,
              {{DNNL_ARG_SRC, bound.data.at(data + image * data_image + part.data)},
               {DNNL_ARG_WEIGHTS, bound.weight.at(weight + part.weight)},
               {DNNL_ARG_DST, bound.out.at(to)},
               {DNNL_ARG_SCRATCHPAD, bound.scratchpad.at(slot.as<float>())},
               {DNNL_ARG_BIAS, bound.bias.at(bias ? bias + part.bias : nullptr)}});
    });
    sessions_.give_back(std::move(session));
  }

 private:
  struct Bindings {
    Pointer data, weight, bias, out, scratchpad;
    explicit Bindings(const Primitive& of)
        : data(of.data), weight(of.weight), bias(of.bias), out(of.out), scratchpad(of.scratchpad) {}
  };
  using Session = std::vector<Bindings>;  // by slot, then by primitive

  static int64_t bytes_of_image(const TensorView& view) {
    return static_cast<int64_t>(view.bytes()) / view.shape[0];
  }

  const Plan plan_;
  const int slots_;
  mutable Spares<Session> sessions_;
};

bool has_input(const Params& p, int input) { return input == 2 ? !p.no_bias : input != 3 || p.add; }

void check_image(const Params& p, const ShapeInfer& s) {
  check_window(p, s.who());
  LOOMIX_CHECK(p.image.is_known() && p.image.ndim() == 4 && p.kernel.ndim() == 2, ShapeError,
               "[{}] image is {} and kernel {}; expected 4 and 2 numbers.", s.who(), tuple_text(p.image),
               tuple_text(p.kernel));
}

void infer(const Params& p, ShapeInfer& s) {
  check_image(p, s);
  s.set_in(0, blocked_conv_data_shape(p));
  s.set_in(1, {p.weight_size});
  if (!p.no_bias) s.set_in(2, {p.num_filter});
  s.set_out(0, blocked_conv_out_shape(p));
  if (p.add) s.set_in(p.no_bias ? 2 : 3, blocked_conv_out_shape(p));
}

void infer_undone(const Params& p, ShapeInfer& s) {
  check_image(p, s);
  s.set_in(0, {p.weight_size});
  s.set_out(0, {p.num_filter, p.image[1] / p.num_group, p.kernel[0], p.kernel[1]});
}

void infer_type(const Params& p, TypeInfer& t) {
  t.set_out(0, p.dtype);
  t.unify_all();
}

Ref<const AttrsBase> close(const Params& p, Closing closing) {
  if (p.low || (!closing && p.add)) return {};
  Params added = p;
  added.add = true;
  Ref<const AttrsBase> closed = closing ? clamped(p, *closing) : make_attrs(std::move(added));
  if (is_own(p)) return closed;
  const auto plan = find_plan(closed->as<Params>());
  if (!plan || !plan->has_weights_of(make_plan(p))) return {};  // the weight is ready already
  return closed;
}

// The attributes by the rules; none: it would not run in blocks, or not faster.
std::optional<Params> blocked_params(const ConvolutionParams& p, const KernelSpec& spec,
                                     bool data_is_blocked) {
  if (p.kernel.ndim() != 2 || channels_last(p.layout)) return {};
  if (!is_blocked_type(spec.in[0].dtype) || spec.out[0].shape.size() == 0 || spec.in[1].shape.size() == 0)
    return {};
  if (asked_for(p)) return {};  // plain arrays have kernels for each algorithm
  Params blocked;
  static_cast<ConvolutionParams&>(blocked) = p;
  blocked.image = spec.in[0].shape;
  const ConvGeometry g(p, blocked.image);
  if (!is_worth_blocks(g, data_is_blocked)) return {};
  if (spec.training && g.batch < kFewestPieces) return {};
  blocked.training = spec.training;
  blocked.plain_data = takes_plain_data(g, data_is_blocked);
  blocked.weight_size = 1;
  blocked.dtype = spec.in[0].dtype;
  blocked.winograd = blocked.dtype == DType::float32 &&
                     (spec.training ? is_for_winograd_in_training(g) : is_for_winograd(g));
  return blocked;
}

// None: oneDNN has no such kernel, or the weight that is held for it takes too much memory.
std::optional<BlockedForm> form_with(Params blocked, const KernelSpec& spec) {
  using Input = BlockedForm::Input;
  const auto size = weight_size_of(blocked);
  const auto most = settings().held_weights * static_cast<double>(spec.in[1].shape.size());
  if (!size || (!spec.training && static_cast<double>(*size) > most)) return {};
  blocked.weight_size = *size;
  BlockedForm form{"_blocked_convolution",
                   {},
                   {Input::blocked, Input::prepared},
                   spec.training ? "_blocked_training_weight" : kPrepare};
  form.spared_bytes = static_cast<int64_t>(spec.in[0].bytes() + spec.out[0].bytes());
  if (blocked.plain_data) form.inputs[0] = Input::plain;
  if (!blocked.no_bias) form.inputs.push_back(Input::plain);
  form.way = fmt::format("{}, {} parts", blocked.winograd ? "winograd" : "direct", blocked.parts);
  form.attrs = make_attrs(std::move(blocked));
  return form;
}

std::optional<BlockedForm> blocked_convolution(const ConvolutionParams& p, const KernelSpec& spec,
                                               BlockedInputs is_blocked) {
  auto blocked = blocked_params(p, spec, is_blocked[0]);
  if (!blocked) return {};
  auto form = form_with(*blocked, spec);
  if (form || !blocked->winograd) return form;
  blocked->winograd = false;
  return form_with(*blocked, spec);
}

// In prediction, both methods, and a part for each core.
std::vector<BlockedForm> ways_of_convolution(const ConvolutionParams& p, const KernelSpec& spec,
                                             BlockedInputs is_blocked, int cores) {
  std::vector<BlockedForm> ways;
  auto blocked = spec.training ? std::nullopt : blocked_params(p, spec, is_blocked[0]);
  if (!blocked) return ways;
  std::vector<int> parts{blocked->parts};
  if (cores != blocked->parts && cores > blocked->image[0]) parts.push_back(cores);
  const bool both = blocked->winograd;
  for (const bool winograd : {true, false}) {
    if (winograd && !both) continue;
    for (const int of : parts) {
      blocked->winograd = winograd;
      blocked->parts = of;
      if (auto form = form_with(*blocked, spec)) ways.push_back(std::move(*form));
    }
  }
  return ways;
}

}  // namespace

onednn::Desc onednn::forward_weight(const BlockedConvParams& p) { return make_plan(p).primitives[0].weight; }

std::optional<std::string> weight_form(const AttrsBase& attrs) {
  if (&attrs.schema() != &param_schema<Params>()) return {};
  return form_of(attrs.as<Params>());
}

const char* undoing_operator(const OpDef& op, const AttrsBase& attrs) {
  if (op.name != kPrepare) return nullptr;
  const auto& p = attrs.as<Params>();
  const auto can = [](const Primitive& of) { return winograd_form(of.weight).has_value(); };
  return !p.winograd || is_own(p) || std::ranges::all_of(make_plan(p).primitives, can) ? kUndo : nullptr;
}

void register_blocked_conv(OpTable& table) {
  if (!has_blocked_convolution()) return;
  table.add_hidden<Params>(kPrepare, {"weight"})
      .infer_shape([](const Params& p, ShapeInfer& s) { s.set_out(0, {p.weight_size}); })
      .infer_type(infer_type)
      .types({DType::float32, DType::bfloat16});
  table.add_hidden<Params>(kUndo, {"weight"})
      .infer_shape(infer_undone)
      .infer_type(infer_type)
      .types({DType::float32, DType::bfloat16});
  table.add_hidden<Params>("_blocked_convolution", {"data", "weight", "bias", "added"})
      .inputs_if(has_input)
      .infer_shape(infer)
      .infer_type(infer_type)
      .types({DType::float32, DType::bfloat16})
      .inplace(3, 0)
      .cost(blocked_conv_cost)
      .closing(close);
  table.refine<ConvolutionParams>("Convolution")
      .blocked_form(blocked_convolution)
      .blocked_ways(ways_of_convolution);
  add_winograd_conv_kernels(table);
  table.prepared_kernel<Params, Checked<Params, ChangedWeight<false>>>(kPrepare, "blocked_weight_dnnl");
  table.prepared_kernel<Params, Checked<Params, ChangedWeight<true>>>(kUndo, "plain_weight_dnnl");
  table.prepared_kernel<Params, Checked<Params, BlockedConvolution>>("_blocked_convolution",
                                                                     "blocked_convolution_dnnl");
}

}  // namespace loomix::ops
