// SPDX-License-Identifier: Apache-2.0
#include "ops/rearranged.h"

#include <algorithm>

#include "base/inline_vector.h"
#include "engine/parallel_for.h"
#include "ops/elemwise/loops.h"
#include "ops/limits.h"
#include "ops/scratch_slots.h"

namespace loomix::ops {
namespace {

constexpr int64_t kMostBytes = 32 << 20;  // of all brought images, unless they are few
constexpr int64_t kFewestImages = 8;      // kernels share images out among cores
constexpr int64_t kTile = 64;

bool is_images(const TensorView& view) { return view.shape.ndim() > 2; }

Shape channels_first(const Shape& shape) {
  Shape first = shape;
  for (int axis = shape.ndim() - 1; axis > 1; --axis) first[axis] = shape[axis - 1];
  first[1] = shape[shape.ndim() - 1];
  return first;
}

char* at(const TensorView& view, int64_t element) {
  return static_cast<char*>(view.data) + element * size_of(view.dtype);
}

// to[i][c][r] = from[i][r][c], by tiles that stay in the first cache. T: what is computed with.
template <class T>
void transpose_as(int64_t images, int64_t rows, int64_t columns, const TensorView& from, const TensorView& to,
                  engine::RunContext& context) {
  const auto tiles = [](int64_t length) { return (length + kTile - 1) / kTile; };
  const int64_t down = tiles(rows), across = tiles(columns);
  const int64_t grain = loop_grain(kTile * kTile);
  engine::parallel_for(context, images * down * across, grain, [&](int64_t begin, int64_t end) {
    T tile[kTile * kTile];
    T line[kTile];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / (down * across) * rows * columns;
      const int64_t row = i / across % down * kTile, column = i % across * kTile;
      const int64_t height = std::min(kTile, rows - row), width = std::min(kTile, columns - column);
      for (int64_t r = 0; r < height; ++r)
        convert_row(from.dtype, at(from, image + (row + r) * columns + column), dtype_of<T>(),
                    tile + r * kTile, width);
      for (int64_t c = 0; c < width; ++c) {
        for (int64_t r = 0; r < height; ++r) line[r] = tile[r * kTile + c];
        convert_row(dtype_of<T>(), line, to.dtype, at(to, image + (column + c) * rows + row), height);
      }
    }
  });
}

void convert(const TensorView& from, const TensorView& to, engine::RunContext& context) {
  engine::parallel_for(context, from.size(), loop_grain(), [&](int64_t begin, int64_t end) {
    convert_row(from.dtype, at(from, begin), to.dtype, at(to, begin), end - begin);
  });
}

}  // namespace

Support rearranges(const KernelSpec& spec, bool channels_last) {
  const DType dtype = spec.out[0].dtype;
  if (!is_half(dtype) && !channels_last) return Support::no("the arrays are as other kernels take them");
  if (spec.out[0].size() == 0 || spec.in[0].size() == 0) return Support::no("there is no data");
  return Support::yes();
}

Rearranged::Rearranged(const OpDef& op, const KernelSpec& spec, Rearrangement how)
    : how_(std::move(how)), dtype_(is_half(spec.out[0].dtype) ? DType::float32 : spec.out[0].dtype) {
  int64_t image_bytes = 0;
  for (size_t i = 0; i <= spec.in.size(); ++i) {
    const TensorView& view = i < spec.in.size() ? spec.in[i] : spec.out[0];
    const bool batched =
        i < spec.in.size() ? (how_.batched >> i & 1) != 0 : how_.batched != 0 && !how_.sums_images;
    const bool shape_only = i < spec.in.size() && op.is_shape_only(*how_.attrs, static_cast<int>(i));
    const bool plain = i < spec.in.size() && (how_.plain >> i & 1) != 0;
    const bool permuted = how_.channels_last && is_images(view) && !plain;
    const bool brought = !shape_only && !plain && (permuted || view.dtype != dtype_);
    arrays_.push_back({brought ? 0 : -1, shape_only, batched, permuted});
    if (!batched) continue;
    batch_ = view.shape[0];
    if (arrays_.back().offset == 0) image_bytes += view.size() / batch_ * size_of(dtype_);
  }
  const int64_t images =
      std::clamp(kMostBytes / std::max<int64_t>(1, image_bytes), std::min(kFewestImages, batch_), batch_);
  for (size_t i = 0; i < arrays_.size(); ++i) {
    if (arrays_[i].offset < 0) continue;
    const TensorView& view = i < spec.in.size() ? spec.in[i] : spec.out[0];
    arrays_[i].offset = static_cast<int64_t>(own_bytes_);
    const int64_t elements = arrays_[i].batched ? view.size() / batch_ * images : view.size();
    own_bytes_ += aligned(static_cast<size_t>(elements * size_of(dtype_)));
  }
  pieces_.push_back(make_piece(op, spec, images));
  if (batch_ % images != 0) pieces_.push_back(make_piece(op, spec, batch_ % images));
  for (const Piece& piece : pieces_)
    scratch_bytes = std::max(scratch_bytes, own_bytes_ + piece.choice.scratch_bytes);
}

Rearranged::Piece Rearranged::make_piece(const OpDef& op, const KernelSpec& spec, int64_t images) const {
  Piece piece{images, {}, {}};
  for (size_t i = 0; i < arrays_.size(); ++i) {
    TensorView view = i < spec.in.size() ? spec.in[i] : spec.out[0];
    view.data = nullptr;
    if (arrays_[i].offset >= 0 || arrays_[i].shape_only) view.dtype = dtype_;
    if (arrays_[i].permuted) view.shape = channels_first(view.shape);
    if (arrays_[i].batched) view.shape[0] = images;
    piece.views.push_back(view);
  }
  KernelSpec inner = spec;
  inner.in = std::span(piece.views).first(spec.in.size());
  inner.out = std::span(piece.views).subspan(spec.in.size());
  const Req req = how_.sums_images ? Req::add : Req::write;
  inner.req = {&req, 1};
  piece.choice = prepare_kernel(op, *how_.attrs, inner, {DeviceType::cpu, spec.cores});
  return piece;
}

TensorView Rearranged::part_of(const TensorView& whole, size_t array, int64_t first, int64_t images) const {
  if (!arrays_[array].batched) return whole;
  TensorView part = whole;
  part.shape[0] = images;
  if (!arrays_[array].shape_only) part.data = at(whole, first * (whole.size() / batch_));
  return part;
}

// `from` has the form of the call, `to` that of the other kernel; or, on the way back, the other way round.
void Rearranged::bring(const TensorView& from, const TensorView& to, bool permuted, bool back,
                       engine::RunContext& context) const {
  if (!permuted) return convert(from, to, context);
  const Shape& plain = back ? to.shape : from.shape;
  const int64_t channels = plain[plain.ndim() - 1];
  const int64_t pixels = plain.size_between(1, plain.ndim() - 1);
  const int64_t rows = back ? channels : pixels, columns = back ? pixels : channels;
  if (dtype_ == DType::float64) transpose_as<double>(plain[0], rows, columns, from, to, context);
  else transpose_as<float>(plain[0], rows, columns, from, to, context);
}

void Rearranged::run(const KernelArgs& args) const {
  if (args.req[0] == Req::null) return;
  engine::RunContext& context = *args.context;
  const size_t out = args.in.size();
  const auto given = [&](size_t i) -> const TensorView& { return i < out ? args.in[i] : args.out[0]; };
  const bool add = args.req[0] == Req::add;
  for (int64_t first = 0; first < batch_;) {
    const Piece& piece = batch_ - first < pieces_.front().images ? pieces_.back() : pieces_.front();
    InlineVector<TensorView, 4> views;
    for (size_t i = 0; i <= out; ++i) {
      const TensorView part = part_of(given(i), i, first, piece.images);
      TensorView view = piece.views[i];
      view.data = arrays_[i].shape_only ? nullptr : part.data;
      if (arrays_[i].offset >= 0) {
        view.data = args.scratch.data() + arrays_[i].offset;
        const bool once = !arrays_[i].batched && first > 0;
        if (i < out ? !once : add && !once) bring(part, view, arrays_[i].permuted, false, context);
      }
      views.push_back(view);
    }
    InlineVector<TensorView, 1> saved;
    for (const TensorView& whole : args.saved) {
      TensorView& part = saved.emplace_back(whole);
      if (!whole.data || how_.batched == 0) continue;
      part.shape[0] = piece.images;
      part.data = at(whole, first * (whole.size() / batch_));
    }
    KernelArgs inner = args;
    inner.saved = saved;
    const std::span<const TensorView> all(views);
    inner.in = all.first(out);
    inner.out = all.subspan(out);
    const Req req = add || (how_.sums_images && first > 0) ? Req::add : Req::write;
    inner.req = {&req, 1};
    inner.scratch = args.scratch.subspan(own_bytes_, piece.choice.scratch_bytes);
    inner.state = piece.choice.state.get();
    piece.choice.kernel->run(*how_.attrs, inner);
    if (arrays_[out].offset >= 0 && (arrays_[out].batched || first + piece.images == batch_)) {
      bring(views[out], part_of(args.out[0], out, first, piece.images), arrays_[out].permuted, true, context);
    }
    first += piece.images;
  }
}

}  // namespace loomix::ops
