// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "base/tuple_text.h"
#include "ops/families.h"
#include "ops/primitive_dnnl.h"
#include "ops/quantization/packed.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

// Convolution and FullyConnected of 8 bits in packed form. oneDNN sums exactly only by VNNI: without it, it adds pairs of products
// in 16 bits, which can be too few. Sums are exact, so results do not depend on how the work is cut, and it is cut for the cores
// that there are.
namespace loomix::ops {

Support packs_products() {
  if (!onednn::is_on()) return Support::no("oneDNN is off");
  if (onednn::has(dnnl::cpu_isa::avx512_core_vnni)) return Support::yes();
  return Support::no("without AVX-512 VNNI pairs of products are added in 16 bits, which cannot hold them");
}

namespace {

using namespace onednn;
using Params = PackedProductParams;
using Dims = dnnl::memory::dims;

dnnl::memory::data_type type_of(DType dtype) {
  using Type = dnnl::memory::data_type;
  return dtype == DType::int8 ? Type::s8 : dtype == DType::uint8 ? Type::u8 : Type::f32;
}

// Scale, sum, max(x, 0), in this order; uint8 needs no maximum.
dnnl::primitive_attr with_closings(const Params& p, const Desc& scale) {
  dnnl::post_ops ops;
  ops.append_binary(dnnl::algorithm::binary_mul, scale);
  if (p.added_type) ops.append_sum(static_cast<float>(p.added_scale), 0, type_of(*p.added_type));
  if (p.relu && p.out_type != DType::uint8) {
#if DNNL_VERSION_MAJOR >= 3
    ops.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
#else
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
#endif
  }
  dnnl::primitive_attr all = attributes();
  all.set_post_ops(ops);
  return all;
}

// What one primitive works on.
struct Piece {
  int64_t images, in_rows, in_columns, out_rows, out_columns, top, bottom;
  friend bool operator==(const Piece&, const Piece&) = default;
};

struct Primitive {
  Desc data, weight, bias, scale, out, scratchpad;
  dnnl::primitive run;
  int64_t filters = 0;

  // A convolution; `weight` is the form that it must have.
  Primitive(const Params& p, const ConvGeometry& g, const Piece& piece, const Desc& weight_desc)
      : filters(g.groups * g.filters) {
    data = Desc(Dims{piece.images, g.groups * g.channels, piece.in_rows, piece.in_columns},
                type_of(p.data_type), Tag::nhwc);
    out =
        Desc(Dims{piece.images, filters, piece.out_rows, piece.out_columns}, type_of(p.out_type), Tag::nhwc);
    bias = Desc(Dims{filters}, kFloat, Tag::a);
    scale = Desc(Dims{1, filters, 1, 1}, kFloat, Tag::nchw);
    using Forward = dnnl::convolution_forward;
    auto d = describe_with<Forward>(with_closings(p, scale), dnnl::prop_kind::forward_inference,
                                    dnnl::algorithm::convolution_direct, data, weight_desc, bias, out,
                                    Dims{g.stride[1], g.stride[2]}, Dims{g.dilate[1] - 1, g.dilate[2] - 1},
                                    Dims{piece.top, g.pad[2]}, Dims{piece.bottom, g.pad[2]});
    // oneDNN's second kernel for channels that are groups is the faster one, by a sixth.
    if (auto other = d; g.channels == 1 && other.next_impl() &&
                        std::string_view(other.impl_info_str()).starts_with("jit_int8:avx512"))
      d = other;
    weight = d.weights_desc();
    scratchpad = d.scratchpad_desc();
    run = Forward(d);
  }

  // Some outputs of a fully connected layer.
  Primitive(const Params& p, int64_t count) : filters(count) {
    const Shape& s = p.image;
    const bool flat = s[2] * s[3] == 1;
    const Dims in = flat ? Dims{s[0], s[1]} : Dims{s[0], s[1], s[2], s[3]};
    const Dims weights = flat ? Dims{count, s[1]} : Dims{count, s[1], s[2], s[3]};
    data = Desc(in, type_of(p.data_type), flat ? Tag::nc : Tag::nhwc);
    out = Desc(Dims{s[0], count}, type_of(p.out_type), Tag::nc);
    bias = Desc(Dims{count}, kFloat, Tag::a);
    scale = Desc(Dims{1, count}, kFloat, Tag::nc);
    using Forward = dnnl::inner_product_forward;
    const auto d = describe_with<Forward>(with_closings(p, scale), dnnl::prop_kind::forward_inference, data,
                                          Desc(weights, dnnl::memory::data_type::s8, Tag::any), bias, out);
    weight = d.weights_desc();
    scratchpad = d.scratchpad_desc();
    run = Forward(d);
  }

  int64_t weight_bytes() const { return static_cast<int64_t>(aligned(weight.get_size())); }
};

Desc plain_weight(const Params& p, const ConvGeometry& g, int64_t filters, Tag tag = Tag::undef) {
  const auto type = dnnl::memory::data_type::s8;
  if (p.dense) {
    const Shape& s = p.image;
    if (s[2] * s[3] == 1) return {Dims{filters, s[1]}, type, Tag::oi};
    return {Dims{filters, s[1], s[2], s[3]}, type, Tag::oihw};
  }
  Dims dims{g.filters, g.channels, g.kernel[1], g.kernel[2]};
  if (g.groups > 1) dims.insert(dims.begin(), g.groups);
  else dims[0] = filters;
  if (tag != Tag::undef) return {dims, type, tag};
  return {dims, type, g.groups > 1 ? Tag::goihw : Tag::oihw};
}

// Where a part begins in what it reads and writes, in bytes.
struct Part {
  size_t primitive;
  int64_t data, plain_weight, weight, filter, out;
};

struct Plan {
  ConvGeometry g;
  std::vector<Primitive> primitives;
  std::vector<Part> parts;
  int64_t weight_size = 0, scratchpad_bytes = 0,
          out_bytes = 0;  // of the outputs of a part that are put apart

  Plan(const Params& p, int cores) : g(p, p.image) {
    if (p.dense) cut_outputs(p);
    else cut_pixels(p, cores);
    for (const Primitive& of : primitives)
      scratchpad_bytes = std::max(scratchpad_bytes, static_cast<int64_t>(aligned(of.scratchpad.get_size())));
  }

 private:
  // Parts of the outputs, whatever the number of cores, for each has a weight of its own.
  void cut_outputs(const Params& p) {
    constexpr int64_t kBlock = 16, kFewest = 64, kMost = 16;
    const int64_t blocks = (p.num_filter + kBlock - 1) / kBlock;
    const int64_t count = std::clamp<int64_t>(p.num_filter / kFewest, 1, kMost);
    const int64_t depth = p.image[1] * p.image[2] * p.image[3];
    for (int64_t i = 0, first = 0; i < count; ++i) {
      const int64_t size =
          std::min((blocks / count + (i < blocks % count ? 1 : 0)) * kBlock, p.num_filter - first);
      const auto found = std::ranges::find(primitives, size, &Primitive::filters);
      const auto place = static_cast<size_t>(found - primitives.begin());
      if (found == primitives.end()) primitives.emplace_back(p, size);
      parts.push_back({place, 0, first * depth, weight_size, first, first * size_of(p.out_type)});
      weight_size += primitives[place].weight_bytes();
      first += size;
    }
    if (parts.size() > 1 && p.image[0] > 1) {
      for (const Primitive& of : primitives)
        out_bytes =
            std::max(out_bytes, static_cast<int64_t>(aligned(static_cast<size_t>(of.filters * p.image[0]) *
                                                             size_of(p.out_type))));
    }
  }

  bool is_pointwise() const {
    for (int i : {1, 2})
      if (g.kernel[i] != 1 || g.stride[i] != 1 || g.pad[i] != 0) return false;
    return true;
  }

  // Pieces of pixels, or of rows of images. One whole image says how the weight is to lie.
  void cut_pixels(const Params& p, int cores) {
    const Piece whole = is_pointwise()
                            ? Piece{1, g.in_size(), 1, g.in_size(), 1, 0, 0}
                            : Piece{1, g.in[1], g.in[2], g.out[1], g.out[2], g.pad[1], bottom_of(g.out[1])};
    const Primitive form(p, g, whole, any_weight(p));
    weight_size = form.weight_bytes();
    try {
      if (is_pointwise()) cut_pointwise(p, cores, form.weight);
      else cut_rows(p, cores, form.weight);
    } catch (const dnnl::error&) {  // no kernel for pieces that wants its weight so
      primitives.clear();
      parts.clear();
      for (int64_t image = 0; image < g.batch; ++image) add(p, whole, form.weight, image, 0, 0);
    }
  }

  Desc any_weight(const Params& p) const { return plain_weight(p, g, p.num_filter, Tag::any); }

  // Zeros below the last of so many rows from the top.
  int64_t bottom_of(int64_t rows) const {
    return std::max<int64_t>(0, (rows - 1) * g.stride[1] - g.pad[1] + g.reach(1) - g.in[1]);
  }

  void add(const Params& p, const Piece& piece, const Desc& weight, int64_t image, int64_t in_row,
           int64_t out_row) {
    const auto found = std::ranges::find(pieces_, piece);
    const auto place = static_cast<size_t>(found - pieces_.begin());
    if (found == pieces_.end()) {
      primitives.emplace_back(p, g, piece, weight);
      pieces_.push_back(piece);
    }
    const int64_t in_pixels = image * g.in_size() + in_row * piece.in_columns;
    const int64_t out_pixels = image * g.out_size() + out_row * piece.out_columns;
    parts.push_back({place, in_pixels * g.groups * g.channels, 0, 0, 0,
                     out_pixels * g.groups * g.filters * static_cast<int64_t>(size_of(p.out_type))});
  }

  void cut_pointwise(const Params& p, int cores, const Desc& weight) {
    constexpr int64_t kFewest = 16;
    const int64_t pixels = g.batch * g.in_size();
    const int64_t count = std::clamp<int64_t>(pixels / kFewest, 1, std::max<int64_t>(cores, g.batch));
    for (int64_t i = 0, first = 0; i < count; ++i) {
      const int64_t size = pixels / count + (i < pixels % count ? 1 : 0);
      add(p, {1, size, 1, size, 1, 0, 0}, weight, 0, first, first);
      first += size;
    }
  }

  void cut_rows(const Params& p, int cores, const Desc& weight) {
    const int64_t count = std::clamp<int64_t>((cores + g.batch - 1) / g.batch, 1, (g.out[1] + 1) / 2);
    for (int64_t image = 0; image < g.batch; ++image) {
      for (int64_t i = 0, first = 0; i < count; ++i) {
        const int64_t rows = g.out[1] / count + (i < g.out[1] % count ? 1 : 0);
        const int64_t begin = first * g.stride[1] - g.pad[1];
        const int64_t end = (first + rows - 1) * g.stride[1] - g.pad[1] + g.reach(1);
        const int64_t from = std::clamp<int64_t>(begin, 0, g.in[1] - 1),
                      to = std::clamp<int64_t>(end, from + 1, g.in[1]);
        add(p, {1, to - from, g.in[2], rows, g.out[2], from - begin, end - to}, weight, image, from, first);
        first += rows;
      }
    }
  }

  std::vector<Piece> pieces_;  // of the primitives
};

Plan make_plan(const Params& p, int cores = 1) {
  const OneThread one_thread;
  return Plan(p, cores);
}

class ProductWeight final : public KernelState {
 public:
  static constexpr const char* kOperator = kPackedWeight;
  ProductWeight(const Params& p, const KernelSpec&) : plan_(make_plan(p)) {
    for (const Primitive& of : plan_.primitives) {
      // Once for each weight, so oneDNN's loops for reference, which alone know some forms, will do.
      const dnnl::reorder::primitive_desc d(cpu(), plain_weight(p, plan_.g, of.filters), cpu(), of.weight,
                                            attributes());
      steps_.push_back({dnnl::reorder(d), d.scratchpad_desc()});
      scratch_bytes = std::max(scratch_bytes, aligned(d.scratchpad_desc().get_size()));
    }
  }

  void run(const Params& p, const KernelArgs& args) const {
    const OneThread one_thread(*args.context);
    auto* const out = static_cast<std::byte*>(args.out[0].data);
    std::memset(out, 0, args.out[0].bytes());
    const auto* const weight = static_cast<const std::byte*>(args.in[0].data);
    for (const Part& part : p.dense ? std::span(plan_.parts) : std::span(plan_.parts).first(1)) {
      const Primitive& of = plan_.primitives[part.primitive];
      const auto& [run, scratchpad] = steps_[part.primitive];
      Pointer from(plain_weight(p, plan_.g, of.filters)), to(of.weight), scratch(scratchpad);
      execute(run, {{DNNL_ARG_FROM, from.at(weight + part.plain_weight)},
                    {DNNL_ARG_TO, to.at(out + part.weight)},
                    {DNNL_ARG_SCRATCHPAD, scratch.at(args.scratch.data())}});
    }
  }

 private:
  const Plan plan_;
  std::vector<std::pair<dnnl::reorder, Desc>> steps_;  // one a primitive
};

class PackedProduct final : public KernelState {
 public:
  static constexpr const char* kOperator = kPackedConvolution;
  PackedProduct(const Params& p, const KernelSpec& spec)
      : plan_(make_plan(p, spec.cores)),
        slots_(static_cast<int>(
            std::min<int64_t>(slots_for(spec.cores), static_cast<int64_t>(plan_.parts.size())))) {
    scratch_bytes = static_cast<size_t>(slots_ * (plan_.scratchpad_bytes + plan_.out_bytes));
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
    ScratchSlots slots(args.scratch, static_cast<size_t>(plan_.scratchpad_bytes + plan_.out_bytes), slots_);
    // Added in place, before the parts begin.
    auto* const out = static_cast<std::byte*>(args.out[0].data);
    if (p.added_type && args.in[4].data != args.out[0].data)
      std::memcpy(out, args.in[4].data, args.out[0].bytes());
    each_part(*args.context, static_cast<int64_t>(plan_.parts.size()), [&](int64_t i) {
      const Part& part = plan_.parts[static_cast<size_t>(i)];
      const ScratchSlots::Use slot(slots);
      Bindings& bound = (*session)[static_cast<size_t>(slot.index) * kinds + part.primitive];
      run_part(p, args, part, bound, slot.as<std::byte>());
    });
    sessions_.give_back(std::move(session));
  }

 private:
  struct Bindings {
    Pointer data, weight, bias, scale, out, scratchpad;
    explicit Bindings(const Primitive& of)
        : data(of.data),
          weight(of.weight),
          bias(of.bias),
          scale(of.scale),
          out(of.out),
          scratchpad(of.scratchpad) {}
  };
  using Session = std::vector<Bindings>;  // by slot, then by primitive

  void run_part(const Params& p, const KernelArgs& args, const Part& part, Bindings& bound,
                std::byte* scratch) const {
    const auto at = [](const TensorView& view, int64_t offset) {
      return static_cast<const std::byte*>(view.data) + offset;
    };
    const Primitive& of = plan_.primitives[part.primitive];
    std::byte* const out = static_cast<std::byte*>(args.out[0].data) + part.out;
    std::byte* const to = plan_.out_bytes > 0 ? scratch + plan_.scratchpad_bytes : out;
    constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));
    execute(of.run, {{DNNL_ARG_SRC, bound.data.at(at(args.in[0], part.data))},
                     {DNNL_ARG_WEIGHTS, bound.weight.at(at(args.in[1], part.weight))},
                     {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                      bound.scale.at(at(args.in[2], part.filter * kFloatBytes))},
                     {DNNL_ARG_BIAS, bound.bias.at(at(args.in[3], part.filter * kFloatBytes))},
                     {DNNL_ARG_DST, bound.out.at(to)},
                     {DNNL_ARG_SCRATCHPAD, bound.scratchpad.at(scratch)}});
    if (to == out) return;
    const auto row = static_cast<size_t>(of.filters) * size_of(p.out_type);
    const auto whole = static_cast<size_t>(p.num_filter) * size_of(p.out_type);
    for (int64_t i = 0; i < p.image[0]; ++i)
      std::memcpy(out + static_cast<size_t>(i) * whole, to + static_cast<size_t>(i) * row, row);
  }

  const Plan plan_;
  const int slots_;
  mutable Spares<Session> sessions_;
};

}  // namespace

std::optional<PackedForm> packed_product(const AttrsBase& attrs, const Shape& data, DType data_type,
                                         const PackedClosing& closing) {
  if (!packs_products() || data.size() == 0) return {};
  Params p = packed_params(attrs, data, data_type, closing);
  try {
    p.weight_size = make_plan(p).weight_size;
  } catch (const dnnl::error& error) {  // oneDNN has no such kernel
    explain_once(
        "dispatch",
        fmt::format("quantized product: not packed for {} {}, kernel {}, {} filters: oneDNN says '{}'",
                    name_of(data_type), tuple_text(p.image), tuple_text(p.kernel), p.num_filter,
                    error.message));
    return {};
  }
  return packed_form(std::move(p));
}

void register_packed_products(OpTable& table) {
  if (!packs_products()) return;
  add_packed_products(table);
  for (const char* name : {kPackedConvolution, kPackedDense})
    table.prepared_kernel<Params, Checked<Params, PackedProduct>>(name, "packed_product_dnnl");
  table.prepared_kernel<Params, Checked<Params, ProductWeight>>(kPackedWeight, "packed_weight_dnnl");
}

}  // namespace loomix::ops
