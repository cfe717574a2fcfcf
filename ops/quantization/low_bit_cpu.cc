// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/index/index.h"
#include "ops/isa.h"
#include "ops/linear/fully_connected_loops.h"
#include "ops/quantization/low_bit.h"
#include "ops/quantization/low_bit_loops.h"
#include "ops/quantization/low_bit_product.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

using engine::parallel_for;
using FC = LowBitFullyConnectedParams;

const LowBitLoops& loops() { return best_loops<LowBitLoops>(); }

LowBitWeight weight_of(const LowBitForm& form, const TensorView& weight, const TensorView& scale,
                       int64_t columns) {
  return {static_cast<const uint8_t*>(weight.data),
          scale.as<float>(),
          columns,
          form.row_bytes(columns),
          form.groups(columns),
          form.group_size,
          form.bits};
}

// Rows of the weight that one core takes at a time: what is left in its second cache for more rows of data.
int64_t rows_of_part(int64_t row_bytes) {
  constexpr int64_t kBytes = 1 << 16, kRows = 4;
  return std::max(kRows, kBytes / std::max<int64_t>(1, row_bytes) / kRows * kRows);
}

// fn(begin, end) over parts of the weight's rows.
template <class Fn>
void each_part(engine::RunContext& context, int64_t rows, int64_t size, Fn&& fn) {
  engine::parallel_each(context, (rows + size - 1) / size, 1,
                        [&](int64_t i) { fn(i * size, std::min(rows, (i + 1) * size)); });
}

void add_bias(const KernelArgs& args, int64_t rows, int64_t hidden, int64_t begin, int64_t end) {
  const float* const bias = args.in[3].as<float>();
  float* const out = args.out[0].mutable_as<float>();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t h = begin; h < end; ++h) out[row * hidden + h] += bias[h];
}

// ---- few rows: the weight is used where it lies ----

size_t rows_scratch(const FC& p, const KernelSpec& spec) {
  const ProductSizes s(p, spec);
  return static_cast<size_t>(s.rows * loops().turned_size(p.bits, s.columns)) * sizeof(float);
}

void low_bit_rows(const FC& p, const KernelArgs& args) {
  const ProductSizes s(p, args);
  const LowBitWeight weight = weight_of(p, args.in[1], args.in[2], s.columns);
  const int64_t turned_row = loops().turned_size(p.bits, s.columns);
  auto* const turned = reinterpret_cast<float*>(args.scratch.data());
  const float* const data = args.in[0].as<float>();
  parallel_for(*args.context, s.rows, 4, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      loops().turn(p.bits, s.columns, data + row * s.columns, turned + row * turned_row);
  });
  each_part(*args.context, s.hidden, rows_of_part(weight.row_bytes), [&](int64_t begin, int64_t end) {
    loops().multiply(weight, begin, end, s.rows, turned, turned_row, args.out[0].mutable_as<float>(),
                     s.hidden);
    if (!p.no_bias) add_bias(args, s.rows, s.hidden, begin, end);
  });
}

// ---- many rows: parts of the weight become floats, which FullyConnected's panels are multiplied by ----

constexpr int64_t kPartRows = 48;

Support panels_support(const FC& p, const KernelSpec& spec) {
  constexpr int64_t kFewestRows = 12;
  if (p.dynamic) return Support::no("the data is rounded, too");
  const ProductSizes s(p, spec);
  if (s.rows < kFewestRows) return Support::no("there are too few rows");
  if (s.columns == 0) return Support::no("there is nothing to multiply");
  return Support::yes();
}

size_t panel_bytes(const ProductSizes& s) {
  const int64_t width = best_loops<FullyConnectedLoops>().width;
  return aligned(static_cast<size_t>((s.rows + width - 1) / width * width * s.columns) * sizeof(float));
}
size_t part_bytes(const ProductSizes& s) {
  return aligned(static_cast<size_t>(kPartRows * s.columns) * sizeof(float));
}

size_t panels_scratch(const FC& p, const KernelSpec& spec) {
  const ProductSizes s(p, spec);
  return panel_bytes(s) + part_bytes(s) * static_cast<size_t>(slots_for(spec.cores));
}

void low_bit_panels(const FC& p, const KernelArgs& args) {
  const ProductSizes s(p, args);
  const LowBitWeight weight = weight_of(p, args.in[1], args.in[2], s.columns);
  const FullyConnectedLoops& real = best_loops<FullyConnectedLoops>();
  auto* const panels = reinterpret_cast<float*>(args.scratch.data());
  const float* const data = args.in[0].as<float>();
  const float* const bias = p.no_bias ? nullptr : args.in[3].as<float>();
  float* const out = args.out[0].mutable_as<float>();
  constexpr int64_t kPackGrain = 128;
  parallel_for(*args.context, s.columns, kPackGrain,
               [&](int64_t begin, int64_t end) { real.pack(s.rows, s.columns, data, begin, end, panels); });
  ScratchSlots slots(args.scratch.subspan(panel_bytes(s)), part_bytes(s),
                     static_cast<int>((args.scratch.size() - panel_bytes(s)) / part_bytes(s)));
  each_part(*args.context, s.hidden, kPartRows, [&](int64_t begin, int64_t end) {
    const ScratchSlots::Use part(slots);
    for (int64_t h = begin; h < end; ++h)
      loops().widen(weight, h, part.as<float>() + (h - begin) * s.columns);
    real.columns(s.rows, s.hidden, s.columns, panels, part.as<float>(), bias ? bias + begin : nullptr, 0,
                 end - begin, out + begin);
  });
}

// ---- whole numbers on both sides ----

Support dynamic_support(const FC& p, const KernelSpec&) {
  return p.dynamic ? Support::yes() : Support::no("the data is not rounded");
}

size_t dynamic_scratch(const FC& p, const KernelSpec& spec) {
  const ProductSizes s(p, spec);
  return RoundedRows::whole_bytes(s.rows, s.columns) + RoundedRows::scale_bytes(s.rows) +
         rounded_product_bytes(s.rows, s.columns) * static_cast<size_t>(slots_for(spec.cores));
}

void low_bit_dynamic(const FC& p, const KernelArgs& args) {
  const ProductSizes s(p, args);
  const size_t scales = RoundedRows::whole_bytes(s.rows, s.columns),
               sums = scales + RoundedRows::scale_bytes(s.rows),
               each = rounded_product_bytes(s.rows, s.columns);
  const RoundedRows data{s.rows, s.columns, reinterpret_cast<int8_t*>(args.scratch.data()),
                         reinterpret_cast<float*>(args.scratch.data() + scales)};
  data.round(args.in[0].as<float>(), *args.context);
  ScratchSlots slots(args.scratch.subspan(sums), each, static_cast<int>((args.scratch.size() - sums) / each));
  float* const out = args.out[0].mutable_as<float>();
  const float* const bias = p.no_bias ? nullptr : args.in[3].as<float>();
  for (int64_t row = 0; bias && row < s.rows; ++row) std::copy_n(bias, s.hidden, out + row * s.hidden);
  rounded_product(data, args.in[1].as<int8_t>(), args.in[2].as<float>(), s.hidden, out, bias != nullptr,
                  slots, *args.context);
}

// ---- embedding ----

size_t embedding_scratch(const LowBitEmbeddingParams&, const KernelSpec& spec) {
  return static_cast<size_t>(spec.in[0].size()) * sizeof(int64_t);
}

void low_bit_embedding_cpu(const LowBitEmbeddingParams& p, const KernelArgs& args) {
  const LowBitWeight weight = weight_of(p, args.in[1], args.in[2], p.output_dim);
  auto* const index = reinterpret_cast<int64_t*>(args.scratch.data());
  read_indices(args.in[0], p.input_dim, IndexMode::clip, "_contrib_low_bit_embedding", index);
  float* const out = args.out[0].mutable_as<float>();
  engine::parallel_each(*args.context, args.in[0].size(), (1 << 14) / p.output_dim,
                        [&](int64_t i) { loops().widen(weight, index[i], out + i * p.output_dim); });
}

}  // namespace

void RoundedRows::round(const float* data, engine::RunContext& context) const {
  parallel_for(context, rows, 4, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      scales[row] = loops().round(columns, data + row * columns, whole + row * row_bytes());
  });
}

size_t rounded_product_bytes(int64_t rows, int64_t columns) {
  return aligned(static_cast<size_t>(rows * rows_of_part(columns)) * sizeof(int32_t));
}

void rounded_product(const RoundedRows& data, const int8_t* weight, const float* weight_scales,
                     int64_t hidden, float* out, bool add, ScratchSlots& slots, engine::RunContext& context) {
  constexpr int64_t kMostSummed = 1 << 15;  // products of 8 bits that 32 bits hold
  const int64_t columns = data.columns;
  each_part(context, hidden, rows_of_part(columns), [&](int64_t begin, int64_t end) {
    const ScratchSlots::Use use(slots);
    auto* const sums = use.as<int32_t>();
    const int64_t width = end - begin;
    for (int64_t first = 0; first == 0 || first < columns; first += kMostSummed) {
      loops().multiply_whole(weight + first, columns, begin, end, data.rows, data.whole + first,
                             data.row_bytes(), std::min(kMostSummed, columns - first), sums - begin, width);
      for (int64_t row = 0; row < data.rows; ++row) {
        float* const to = out + row * hidden + begin;
        const float scale = data.scales[row];
        if (first == 0 && !add) std::fill_n(to, width, 0.0f);
#pragma omp simd
        for (int64_t h = 0; h < width; ++h)
          to[h] += static_cast<float>(sums[row * width + h]) * weight_scales[begin + h] * scale;
      }
    }
  });
}

void kernels_low_bit(OpTable& table) {
  constexpr const char* kName = "_contrib_low_bit_fully_connected";
  table.kernel<low_bit_dynamic, dynamic_support, dynamic_scratch>(kName, "low_bit_dynamic");
  table.kernel<low_bit_panels, panels_support, panels_scratch>(kName, "low_bit_panels");
  table.kernel<low_bit_rows, rows_scratch>(kName, "low_bit_rows");
  table.kernel<low_bit_embedding_cpu, embedding_scratch>("_contrib_low_bit_embedding",
                                                         "low_bit_embedding_cpu");
}

}  // namespace loomix::ops
