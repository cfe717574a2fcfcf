// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "engine/parallel_for.h"
#include "ops/isa.h"
#include "ops/quantization/packed.h"
#include "ops/quantization/packed_loops.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using engine::parallel_for;

constexpr int64_t kPiece = 512;  // elements that are computed with at a time
constexpr int64_t kGrain = 16 * kPiece;

const uint8_t* bytes_of(const TensorView& view) { return static_cast<const uint8_t*>(view.data); }
uint8_t* mutable_bytes_of(const TensorView& view) { return static_cast<uint8_t*>(view.data); }

struct Bounds {
  float low, high;
  Bounds(DType type, bool relu)
      : low(type == DType::int8 && !relu ? -127.0f : 0.0f), high(type == DType::int8 ? 127.0f : 255.0f) {}
};

// ---- factors ----

void packed_scale_cpu(const PackedScaleParams& p, const KernelArgs& args) {
  constexpr const char* kWho = "_packed_scale";
  const RowRanges weight(args, 0, kWho);
  const auto step_of = [&](int64_t i) { return p.data_step * weight[i].step(DType::int8); };
  if (float* scale = args.wanted<float>(0)) {
    for (int64_t i = 0; i < p.filters; ++i) scale[i] = static_cast<float>(step_of(i) * per_step(p.out_step));
  }
  float* const bias = args.wanted<float>(1);
  if (!bias) return;
  std::fill_n(bias, p.filters, 0.0f);
  if (p.no_bias) return;
  const RowRanges ranges(args, 3, kWho);
  const auto* given = args.in[2].as<int8_t>();
  for (int64_t i = 0; i < p.filters; ++i)
    bias[i] = static_cast<float>(to_sum(given[i] * ranges[i].step(DType::int8) * per_step(step_of(i))));
}

// ---- from real numbers and back ----

void packed_quantize_cpu(const PackedQuantizeParams& p, const KernelArgs& args) {
  const PackedLoops& loops = best_loops<PackedLoops>();
  const Bounds bounds(p.out_type, false);
  const auto per = static_cast<float>(per_step(p.step));
  const auto* data = args.in[0].as<float>();
  uint8_t* const out = mutable_bytes_of(args.out[0]);
  const Shape& shape = args.in[0].shape;
  if (shape.ndim() != 4 || shape[1] == 1) {
    return parallel_for(*args.context, args.out[0].size(), kGrain, [&](int64_t begin, int64_t end) {
      loops.narrow(data + begin, end - begin, per, bounds.low, bounds.high, out + begin);
    });
  }
  const int64_t channels = shape[1], pixels = shape[2] * shape[3], pieces = (pixels + kPiece - 1) / kPiece;
  parallel_for(*args.context, shape[0] * pieces, 8, [&](int64_t begin, int64_t end) {
    uint8_t whole[kPiece];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / pieces, first = i % pieces * kPiece;
      const int64_t count = std::min(kPiece, pixels - first);
      for (int64_t c = 0; c < channels; ++c) {
        loops.narrow(data + (image * channels + c) * pixels + first, count, per, bounds.low, bounds.high,
                     whole);
        loops.spread(whole, count, channels, out + (image * pixels + first) * channels + c);
      }
    }
  });
}

void packed_dequantize_cpu(const PackedDequantizeParams& p, const KernelArgs& args) {
  const PackedLoops& loops = best_loops<PackedLoops>();
  const bool is_signed = args.in[0].dtype == DType::int8;
  const auto step = static_cast<float>(p.step);
  const uint8_t* const data = bytes_of(args.in[0]);
  auto* out = args.out[0].mutable_as<float>();
  const Shape& shape = args.in[0].shape;
  if (shape.ndim() != 4 || shape[3] == 1 || shape[1] * shape[2] == 1) {
    return parallel_for(*args.context, args.out[0].size(), kGrain, [&](int64_t begin, int64_t end) {
      loops.widen(data + begin, is_signed, end - begin, step, out + begin);
    });
  }
  const int64_t channels = shape[3], pixels = shape[1] * shape[2];
  parallel_for(*args.context, shape[0] * channels, 8, [&](int64_t begin, int64_t end) {
    uint8_t plane[kPiece];
    for (int64_t i = begin; i < end; ++i) {
      const uint8_t* const from = data + i / channels * pixels * channels + i % channels;
      for (int64_t first = 0; first < pixels; first += kPiece) {
        const int64_t count = std::min(kPiece, pixels - first);
        for (int64_t k = 0; k < count; ++k) plane[k] = from[(first + k) * channels];
        loops.widen(plane, is_signed, count, step, out + i * pixels + first);
      }
    }
  });
}

// ---- pooling ----

struct Window {
  int64_t begin, end, counted;
  Window(const PoolGeometry& g, int axis, int64_t i) {
    const int64_t first = i * g.stride[axis] - g.pad[axis];
    end = std::min(first + g.kernel[axis], g.in[axis] + g.pad[axis]);
    counted = end - first;
    begin = std::max<int64_t>(first, 0);
    end = std::min(end, g.in[axis]);
  }
};

class PackedPooling {
 public:
  PackedPooling(const PackedPoolingParams& p, const KernelArgs& args)
      : g_(p, args.in[0].shape),
        is_max_(p.pool_type == PoolType::max),
        with_pad_(p.count_include_pad.value_or(true)),
        type_(args.in[0].dtype),
        data_(bytes_of(args.in[0])),
        out_(mutable_bytes_of(args.out[0])) {}

  void run(engine::RunContext& context) const {
    // Few windows are shared by their channels.
    const int64_t places = g_.batch * g_.out_size();
    if (places < 8) {
      const int64_t pieces = (g_.channels + kPiece - 1) / kPiece;
      return parallel_for(context, places * pieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          window(i / pieces, i % pieces * kPiece, std::min((i % pieces + 1) * kPiece, g_.channels));
      });
    }
    parallel_for(context, places, 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) window(i, 0, g_.channels);
    });
  }

 private:
  void window(int64_t place, int64_t first, int64_t last) const {
    const int64_t image = place / g_.out_size(), y = place % g_.out_size() / g_.out[2], x = place % g_.out[2];
    const Window rows(g_, 1, y), columns(g_, 2, x);
    const uint8_t* const from = data_ + image * g_.in_size() * g_.channels;
    const bool is_signed = type_ == DType::int8;
    for (int64_t c = first; c < last; c += kPiece) {
      const int64_t count = std::min(kPiece, last - c);
      uint8_t* const to = out_ + place * g_.channels + c;
      const auto each = [&](auto&& fn) {
        for (int64_t h = rows.begin; h < rows.end; ++h)
          for (int64_t w = columns.begin; w < columns.end; ++w)
            fn(from + (h * g_.in[2] + w) * g_.channels + c);
      };
      if (is_max_) {
        std::fill_n(to, count, is_signed ? uint8_t{0x80} : uint8_t{0});
        each([&](const uint8_t* pixel) { loops_.largest(pixel, is_signed, count, to); });
        continue;
      }
      float sums[kPiece];
      std::fill_n(sums, count, 0.0f);
      each([&](const uint8_t* pixel) { loops_.add(pixel, is_signed, count, 1.0f, sums); });
      const int64_t counted = with_pad_ ? rows.counted * columns.counted
                                        : (rows.end - rows.begin) * (columns.end - columns.begin);
      const Bounds bounds(type_, false);
      loops_.narrow(sums, count, counted > 0 ? 1.0f / static_cast<float>(counted) : 0.0f, bounds.low,
                    bounds.high, to);
    }
  }

  const PackedLoops& loops_ = best_loops<PackedLoops>();
  const PoolGeometry g_;
  const bool is_max_, with_pad_;
  const DType type_;
  const uint8_t* const data_;
  uint8_t* const out_;
};

void packed_pooling_cpu(const PackedPoolingParams& p, const KernelArgs& args) {
  PackedPooling(p, args).run(*args.context);
}

// ---- several arrays ----

void rescale(const PackedLoops& loops, const uint8_t* data, bool is_signed, int64_t count, float factor,
             Bounds bounds, uint8_t* out) {
  float real[kPiece];
  for (int64_t first = 0; first < count; first += kPiece) {
    const int64_t size = std::min(kPiece, count - first);
    loops.widen(data + first, is_signed, size, factor, real);
    loops.narrow(real, size, 1.0f, bounds.low, bounds.high, out + first);
  }
}

void packed_concat_cpu(const PackedJoinParams& p, const KernelArgs& args) {
  const PackedLoops& loops = best_loops<PackedLoops>();
  const Shape& shape = args.out[0].shape;
  const int axis = normalize_axis(p.dim, shape.ndim(), "_packed_concat");
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.ndim(); ++i) inner *= shape[i];
  const Bounds bounds(p.out_type, p.relu);
  const int64_t out_row = shape[axis] * inner;
  parallel_for(*args.context, outer, std::max<int64_t>(1, kGrain / std::max<int64_t>(out_row, 1)),
               [&](int64_t begin, int64_t end) {
                 int64_t before = 0;
                 for (size_t i = 0; i < args.in.size(); ++i) {
                   const TensorView& in = args.in[i];
                   const int64_t row = in.shape[axis] * inner;
                   const bool same = p.scales[i] == 1 && in.dtype == p.out_type && !p.relu;
                   for (int64_t k = begin; k < end; ++k) {
                     const uint8_t* const from = bytes_of(in) + k * row;
                     uint8_t* const to = mutable_bytes_of(args.out[0]) + k * out_row + before;
                     if (same) std::memcpy(to, from, static_cast<size_t>(row));
                     else
                       rescale(loops, from, in.dtype == DType::int8, row, static_cast<float>(p.scales[i]),
                               bounds, to);
                   }
                   before += row;
                 }
               });
}

void packed_add_cpu(const PackedJoinParams& p, const KernelArgs& args) {
  const PackedLoops& loops = best_loops<PackedLoops>();
  const Bounds bounds(p.out_type, p.relu);
  const int64_t all = args.out[0].size(), pieces = (all + kPiece - 1) / kPiece;
  parallel_for(*args.context, pieces, 16, [&](int64_t begin, int64_t end) {
    float sums[kPiece];
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = piece * kPiece, count = std::min(kPiece, all - first);
      float* const to = p.out_type == DType::float32 ? args.out[0].mutable_as<float>() + first : sums;
      for (size_t i = 0; i < args.in.size(); ++i) {
        const auto run = i == 0 ? loops.widen : loops.add;
        run(bytes_of(args.in[i]) + first, args.in[i].dtype == DType::int8, count,
            static_cast<float>(p.scales[i]), to);
      }
      if (p.out_type != DType::float32)
        loops.narrow(sums, count, 1.0f, bounds.low, bounds.high, mutable_bytes_of(args.out[0]) + first);
      else if (p.relu)
        for (int64_t i = 0; i < count; ++i) to[i] = std::max(to[i], 0.0f);
    }
  });
}

}  // namespace

void kernels_packed(OpTable& table) {
  table.kernel<packed_scale_cpu>("_packed_scale", "packed_scale_cpu");
  table.kernel<packed_quantize_cpu>("_packed_quantize", "packed_quantize_cpu");
  table.kernel<packed_dequantize_cpu>("_packed_dequantize", "packed_dequantize_cpu");
  table.kernel<packed_pooling_cpu>("_packed_pooling", "packed_pooling_cpu");
  table.kernel<packed_concat_cpu>("_packed_concat", "packed_concat_cpu");
  table.kernel<packed_add_cpu>("_packed_add", "packed_add_cpu");
}

}  // namespace loomix::ops
