// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/parallel_for.h"
#include "ops/families.h"
#include "ops/isa.h"
#include "ops/quantization/packed.h"
#include "ops/quantization/whole_tiles.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

// Convolution and FullyConnected of 8 bits in packed form. A panel of pixels is unfolded, as bytes, and multiplied by blocks of
// filters; sums never leave a tile. Where each filter has a channel of its own there is nothing to unfold.
namespace loomix::ops {

Support packs_products() { return Support::yes(); }

namespace {

using Params = PackedProductParams;

const WholeTiles& tiles() { return best_loops<WholeTiles>(); }
// Of an array whose type is not that of what it holds.
template <class T>
T* data_of(const TensorView& view) {
  return static_cast<T*>(view.data);
}
int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How a weight lies: for each filter what makes even the turned data, then blocks of filters, or rows of channels.
struct WholeForm {
  ConvGeometry g;
  bool by_channels;
  uint8_t flip;  // of data, before it is multiplied
  int64_t quads, blocks,
      filled;  // of the depth; of a group's filters; filters with those that fill the last vector
  int64_t head, group_bytes;

  explicit WholeForm(const Params& p)
      : g(p, p.image),
        by_channels(g.groups > 1 && g.channels == 1 && g.filters == 1),
        flip(!by_channels && (p.data_type == DType::int8) != tiles().is_signed ? 0x80 : 0),
        quads(divide_up(g.depth(), 4)),
        blocks(divide_up(g.filters, tiles().filters)),
        filled(divide_up(g.filters, tiles().lanes) * tiles().lanes),
        head(static_cast<int64_t>(aligned(static_cast<size_t>(g.groups * g.filters) * sizeof(int32_t)))),
        group_bytes(by_channels ? g.depth() : filled * quads * 4) {}

  int64_t bytes() const { return head + g.groups * group_bytes; }
  int64_t vectors(int64_t block) const {
    return std::min(tiles().filters, filled - block * tiles().filters) / tiles().lanes;
  }
};

class WholeWeight final : public KernelState {
 public:
  WholeWeight(const Params& p, const KernelSpec&) : form_(p) {
    const ConvGeometry& g = form_.g;
    for (int64_t k = 0; k < g.kernel_size(); ++k)
      for (int64_t c = 0; c < g.channels; ++c) from_.push_back(c * g.kernel_size() + k);
  }

  void run(const Params&, const KernelArgs& args) const {
    const ConvGeometry& g = form_.g;
    const auto* weight = args.in[0].as<int8_t>();
    auto* const out = args.out[0].mutable_as<int8_t>();
    auto* const even = data_of<int32_t>(args.out[0]);
    std::memset(out, 0, args.out[0].bytes());
    if (form_.by_channels) {
      for (int64_t c = 0; c < g.groups; ++c)
        for (int64_t k = 0; k < g.depth(); ++k)
          out[form_.head + k * g.groups + c] = weight[c * g.depth() + k];
      return;
    }
    const int32_t turned = form_.flip == 0 ? 0 : tiles().is_signed ? 128 : -128;
    for (int64_t f = 0; f < g.groups * g.filters; ++f) {
      int32_t sum = 0;
      for (int64_t k = 0; k < g.depth(); ++k) sum += weight[f * g.depth() + k];
      even[f] = turned * sum;
    }
    for (int64_t group = 0; group < g.groups; ++group)
      pack(weight + group * g.filters * g.depth(), out + form_.head + group * form_.group_bytes);
  }

 private:
  void pack(const int8_t* weight, int8_t* to) const {
    const ConvGeometry& g = form_.g;
    const int64_t lanes = tiles().lanes;
    for (int64_t block = 0; block < form_.blocks; ++block) {
      for (int64_t quad = 0; quad < form_.quads; ++quad) {
        for (int64_t v = 0; v < form_.vectors(block); ++v, to += lanes * 4) {
          int8_t some[64] = {};
          const int64_t first = block * tiles().filters + v * lanes,
                        last = std::min(lanes, g.filters - first);
          for (int64_t f = 0; f < last; ++f)
            for (int64_t k = 4 * quad; k < std::min(4 * quad + 4, g.depth()); ++k)
              some[f * 4 + k % 4] = weight[(first + f) * g.depth() + from_[static_cast<size_t>(k)]];
          tiles().arrange(some, to);
        }
      }
    }
  }

  const WholeForm form_;
  std::vector<int64_t> from_;  // where a number of the depth, channels last, is in the weight
};

class WholeProduct final : public KernelState {
 public:
  WholeProduct(const Params& p, const KernelSpec& spec) : form_(p), slots_(slots_for(spec.cores)) {
    const ConvGeometry& g = form_.g;
    const int64_t pixels = g.batch * g.out_size(), tile = tiles().pixels;
    // Panels stay in a second cache, and there are some for each core; else filters are cut.
    constexpr int64_t kPanelBytes = 96 << 10, kMostTiles = 12, kUnitsPerCore = 3;
    row_ = form_.quads * 4;
    const int64_t wanted = spec.cores > 1 ? spec.cores * kUnitsPerCore : 1;
    const int64_t most = std::min(kPanelBytes / row_ / tile, divide_up(pixels, tile * wanted));
    panel_ = std::clamp<int64_t>(most, 1, kMostTiles) * tile;
    panels_ = divide_up(pixels, panel_);
    const int64_t cuts = std::clamp<int64_t>(divide_up(wanted, panels_ * g.groups), 1, form_.blocks);
    chunk_ = divide_up(form_.blocks, cuts);
    chunks_ = divide_up(form_.blocks, chunk_);
    is_direct_ = g.kernel_size() == 1 && g.out_size() == g.in_size() && g.pad[1] + g.pad[2] == 0 &&
                 form_.flip == 0 && row_ == g.channels;
    panel_bytes_ = is_direct_ ? 0 : aligned(static_cast<size_t>(panel_ * row_));
    slot_bytes_ =
        form_.by_channels
            ? aligned(static_cast<size_t>(g.depth()) * sizeof(uint8_t*)) + kMostClosed * sizeof(int32_t)
            : panel_bytes_ + static_cast<size_t>(tile * tiles().filters) * sizeof(int32_t);
    scratch_bytes = slot_bytes_ * static_cast<size_t>(slots_);
  }

  void run(const Params& p, const KernelArgs& args) const {
    const ConvGeometry& g = form_.g;
    ScratchSlots slots(args.scratch, slot_bytes_, slots_);
    const int64_t units = form_.by_channels ? g.batch * g.out[1] : g.groups * chunks_ * panels_;
    engine::parallel_for(*args.context, units, 1, [&](int64_t begin, int64_t end) {
      const ScratchSlots::Use own(slots);
      for (int64_t i = begin; i < end; ++i) {
        if (form_.by_channels) run_row(p, args, i, own.as<std::byte>());
        else run_panel(p, args, i, own.as<std::byte>());
      }
    });
  }

 private:
  // Of filters from `first` on, at a pixel.
  WholeClosing closing_of(const Params& p, const KernelArgs& args, int64_t pixel, int64_t first) const {
    WholeClosing c{};
    c.even = data_of<const int32_t>(args.in[1]) + first;
    c.scale = args.in[2].as<float>() + first;
    c.bias = args.in[3].as<float>() + first;
    if (p.added_type) {
      c.added = data_of<const uint8_t>(args.in[4]) + pixel * form_.g.groups * form_.g.filters + first;
      c.added_is_signed = *p.added_type == DType::int8;
      c.added_scale = static_cast<float>(p.added_scale);
    }
    c.relu = p.relu;
    c.out_type = p.out_type;
    return c;
  }
  void close(const Params& p, const KernelArgs& args, int64_t pixel, int64_t first, int64_t count,
             const int32_t* sums) const {
    const int64_t at = pixel * form_.g.groups * form_.g.filters + first;
    tiles().close(sums, count, closing_of(p, args, pixel, first),
                  static_cast<std::byte*>(args.out[0].data) + at * size_of(p.out_type));
  }

  // One pixel of the unfolded images.
  void unfold(const uint8_t* data, int64_t group, int64_t pixel, uint8_t* to) const {
    const ConvGeometry& g = form_.g;
    const int64_t all = g.groups * g.channels, x = pixel % g.out[2] * g.stride[2] - g.pad[2],
                  y = pixel / g.out[2] % g.out[1] * g.stride[1] - g.pad[1];
    data += pixel / g.out_size() * g.in_size() * all + group * g.channels;
    const bool is_joined = g.groups == 1 && g.dilate[2] == 1;
    const int64_t first = is_joined ? std::clamp<int64_t>(-x, 0, g.kernel[2]) : 0;
    const int64_t last = is_joined ? std::clamp<int64_t>(g.in[2] - x, first, g.kernel[2]) : 0;
    for (int64_t ky = 0; ky < g.kernel[1]; ++ky, to += g.kernel[2] * g.channels) {
      const int64_t row = y + ky * g.dilate[1];
      const bool is_inside = row >= 0 && row < g.in[1];
      const uint8_t* const from = data + row * g.in[2] * all;
      if (is_inside && is_joined) {
        std::memset(to, form_.flip, static_cast<size_t>(first * all));
        tiles().turn(from + (x + first) * all, (last - first) * all, form_.flip, to + first * all);
        std::memset(to + last * all, form_.flip, static_cast<size_t>((g.kernel[2] - last) * all));
        continue;
      }
      for (int64_t kx = 0; kx < g.kernel[2]; ++kx) {
        const int64_t column = x + kx * g.dilate[2];
        uint8_t* const tap = to + kx * g.channels;
        if (is_inside && column >= 0 && column < g.in[2])
          tiles().turn(from + column * all, g.channels, form_.flip, tap);
        else std::memset(tap, form_.flip, static_cast<size_t>(g.channels));
      }
    }
    std::memset(to, 0, static_cast<size_t>(row_ - g.depth()));
  }

  void run_panel(const Params& p, const KernelArgs& args, int64_t unit, std::byte* scratch) const {
    const ConvGeometry& g = form_.g;
    const int64_t group = unit / (chunks_ * panels_), chunk = unit / panels_ % chunks_;
    const int64_t begin = unit % panels_ * panel_, end = std::min(begin + panel_, g.batch * g.out_size());
    const auto* const data = data_of<const uint8_t>(args.in[0]);
    const int64_t step = is_direct_ ? g.groups * g.channels : row_;
    const uint8_t* panel = data + begin * step + group * g.channels;
    if (!is_direct_) {
      auto* const own = reinterpret_cast<uint8_t*>(scratch);
      for (int64_t pixel = begin; pixel < end; ++pixel)
        unfold(data, group, pixel, own + (pixel - begin) * row_);
      panel = own;
    }
    auto* const sums = reinterpret_cast<int32_t*>(scratch + panel_bytes_);
    const auto* const weight = args.in[1].as<int8_t>() + form_.head + group * form_.group_bytes;
    for (int64_t b = chunk * chunk_; b < std::min((chunk + 1) * chunk_, form_.blocks); ++b) {
      const int64_t first = b * tiles().filters, vectors = form_.vectors(b), width = vectors * tiles().lanes;
      const int8_t* const block = weight + first * form_.quads * 4;
      for (int64_t pixel = begin, some; pixel < end; pixel += some) {
        some = end - pixel >= tiles().pixels ? tiles().pixels : 1;
        tiles().tile(some == 1, vectors, form_.quads, panel + (pixel - begin) * step, step, block, sums);
        for (int64_t i = 0; i < some; ++i)
          close(p, args, pixel + i, group * g.filters + first, std::min(width, g.filters - first),
                sums + i * width);
      }
    }
  }

  // A row of an output whose filters have a channel each.
  void run_row(const Params& p, const KernelArgs& args, int64_t row, std::byte* scratch) const {
    const ConvGeometry& g = form_.g;
    const auto** const places = reinterpret_cast<const uint8_t**>(scratch);
    auto* const sums =
        reinterpret_cast<int32_t*>(scratch + aligned(static_cast<size_t>(g.depth()) * sizeof(uint8_t*)));
    const auto* const data = data_of<const uint8_t>(args.in[0]) + row / g.out[1] * g.in_size() * g.groups;
    const auto* const weight = args.in[1].as<int8_t>() + form_.head;
    const int64_t top = row % g.out[1] * g.stride[1] - g.pad[1];
    for (int64_t x = 0; x < g.out[2]; ++x) {
      for (int64_t c = 0; c < g.groups; c += kMostClosed) {
        for (int64_t k = 0; k < g.depth(); ++k) {
          const int64_t y = top + k / g.kernel[2] * g.dilate[1];
          const int64_t column = x * g.stride[2] - g.pad[2] + k % g.kernel[2] * g.dilate[2];
          const bool is_inside = y >= 0 && y < g.in[1] && column >= 0 && column < g.in[2];
          places[k] = is_inside ? data + (y * g.in[2] + column) * g.groups + c : nullptr;
        }
        const int64_t count = std::min(kMostClosed, g.groups - c);
        tiles().channels(p.data_type == DType::int8, count, g.depth(), places, weight + c, g.groups, sums);
        close(p, args, row * g.out[2] + x, c, count, sums);
      }
    }
  }

  const WholeForm form_;
  const int slots_;
  int64_t row_, panel_, panels_, chunk_, chunks_;  // bytes of a pixel; pixels of a panel; blocks of a chunk
  bool is_direct_;                                 // the images are panels as they lie
  size_t panel_bytes_, slot_bytes_;
};

}  // namespace

std::optional<PackedForm> packed_product(const AttrsBase& attrs, const Shape& data, DType data_type,
                                         const PackedClosing& closing) {
  if (data.size() == 0) return {};
  Params p = packed_params(attrs, data, data_type, closing);
  p.weight_size = WholeForm(p).bytes();
  // A weight's form is that of all images, so that predictors for other sizes find it.
  Params of_weight = packed_params(attrs, data, data_type, {});
  of_weight.weight_size = p.weight_size;
  if (!p.dense) {
    const ConvGeometry g(p, p.image);
    of_weight.image = {1, data[1], g.reach(1), g.reach(2)};
    of_weight.stride = of_weight.pad = Shape();
  } else {
    of_weight.image = {1, p.image[1], p.image[2], p.image[3]};
  }
  PackedForm form = packed_form(std::move(p));
  form.prepare_attrs = make_attrs(std::move(of_weight));
  return form;
}

void register_packed_products(OpTable& table) {
  add_packed_products(table);
  for (const char* name : {kPackedConvolution, kPackedDense})
    table.prepared_kernel<Params, WholeProduct>(name, "packed_product");
  table.prepared_kernel<Params, WholeWeight>(kPackedWeight, "packed_weight");
}

}  // namespace loomix::ops
