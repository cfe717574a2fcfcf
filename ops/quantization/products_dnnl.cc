// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "engine/parallel_for.h"
#include "ops/conv/convolution.h"
#include "ops/linear/fully_connected.h"
#include "ops/primitive_dnnl.h"
#include "ops/quantization/product_range.h"
#include "ops/scratch_slots.h"
#include "ops/table.h"

// Convolution and FullyConnected of 8 bits as oneDNN's matrix products. These sum exactly only by VNNI: without it oneDNN adds
// pairs of products in 16 bits, which can be too few.
namespace loomix::ops {
namespace {

using namespace onednn;
using engine::parallel_for;

bool is_exact() { return is_on() && has(dnnl::cpu_isa::avx512_core_vnni); }

// c = a * b, with int8 on both sides; `shift` is taken from each element of b.
void multiply(bool transposed, int64_t m, int64_t n, int64_t k, const int8_t* a, const int8_t* b,
              int8_t shift, int32_t* c, int64_t c_row) {
  const int32_t none = 0;
  const dnnl_status_t status = dnnl_gemm_s8s8s32('N', transposed ? 'T' : 'N', 'F', m, n, k, 1.0f, a, k, 0, b,
                                                 transposed ? k : n, shift, 0.0f, c, c_row, &none);
  LOOMIX_CHECK(status == dnnl_success, Error, "[quantized product] oneDNN returned status {}.",
               static_cast<int>(status));
}

// ---- convolution ----

constexpr int64_t kPixels = 512;  // that are unfolded at a time

Support conv_support(const ConvolutionParams& p, const KernelSpec& spec) {
  if (!is_exact()) return Support::no("there is no VNNI, or oneDNN is off");
  if (channels_last(p.layout)) return Support::no("the channels are last");
  return spec.out[0].size() == 0 ? Support::no("there is nothing to do") : Support::yes();
}

size_t column_bytes(const ConvGeometry& g) {
  return aligned(static_cast<size_t>(g.depth() * std::min(kPixels, g.out_size())));
}

size_t conv_scratch(const ConvolutionParams& p, const KernelSpec& spec) {
  return column_bytes(ConvGeometry(p, spec.in[0].shape)) * static_cast<size_t>(slots_for(spec.cores));
}

// Rows are channels and places of the filter, columns are pixels [begin, end) of the output. uint8 becomes int8 by taking 128
// away, which flips the highest bit.
void unfold(const ConvGeometry& g, const uint8_t* image, uint8_t flip, int64_t begin, int64_t end,
            uint8_t* columns) {
  const int64_t width = end - begin;
  for (int64_t c = 0; c < g.channels; ++c) {
    for (int64_t k = 0; k < g.kernel_size(); ++k, columns += width) {
      const int64_t kd = k / (g.kernel[1] * g.kernel[2]), kh = k / g.kernel[2] % g.kernel[1],
                    kw = k % g.kernel[2];
      for (int64_t pixel = begin; pixel < end;) {
        const int64_t d = pixel / (g.out[1] * g.out[2]), h = pixel / g.out[2] % g.out[1],
                      w = pixel % g.out[2];
        const int64_t count = std::min(g.out[2] - w, end - pixel);
        const int64_t id = d * g.stride[0] + kd * g.dilate[0] - g.pad[0];
        const int64_t ih = h * g.stride[1] + kh * g.dilate[1] - g.pad[1];
        const bool inside = id >= 0 && id < g.in[0] && ih >= 0 && ih < g.in[1];
        const uint8_t* row = image + c * g.in_size() + (id * g.in[1] + ih) * g.in[2];
        uint8_t* out = columns + pixel - begin;
        for (int64_t i = 0; i < count; ++i) {
          const int64_t iw = (w + i) * g.stride[2] + kw * g.dilate[2] - g.pad[2];
          out[i] = (inside && iw >= 0 && iw < g.in[2] ? row[iw] : uint8_t{0}) ^ flip;
        }
        pixel += count;
      }
    }
  }
}

void quantized_conv_dnnl(const ConvolutionParams& p, const KernelArgs& args) {
  const ProductRange range(args, !p.no_bias, "_contrib_quantized_conv");
  auto* const out = args.wanted<int32_t>(0);
  if (!out) return;
  const ConvGeometry g(p, args.in[0].shape);
  const bool is_unsigned = args.in[0].dtype == DType::uint8;
  const uint8_t flip = is_unsigned ? 0x80 : 0;
  const int64_t pieces = (g.out_size() + kPixels - 1) / kPixels, pixels = g.out_size();
  const auto* data = static_cast<const uint8_t*>(args.in[0].data);
  const auto* weight = args.in[1].as<int8_t>();
  ScratchSlots slots(args.scratch, column_bytes(g), slots_for(args.context->threads));
  const OneThread one_thread(*args.context);
  each_part(*args.context, g.batch * g.groups * pieces, [&](int64_t i) {
    const int64_t image = i / pieces, group = image % g.groups, begin = i % pieces * kPixels;
    const int64_t end = std::min(begin + kPixels, pixels);
    const ScratchSlots::Use columns(slots);
    unfold(g, data + image * g.channels * g.in_size(), flip, begin, end, columns.as<uint8_t>());
    int32_t* const to = out + image * g.filters * pixels + begin;
    multiply(false, g.filters, end - begin, g.depth(), weight + group * g.filters * g.depth(),
             columns.as<int8_t>(), is_unsigned ? -128 : 0, to, pixels);
    for (int64_t f = 0; f < g.filters; ++f) {
      const auto close = range.row(group * g.filters + f);
      if (!close.is_needed()) continue;
      for (int64_t k = 0; k < end - begin; ++k) to[f * pixels + k] = close(to[f * pixels + k]);
    }
  });
}

// ---- fully connected ----

Support fc_support(const KernelSpec& spec) {
  if (!is_exact()) return Support::no("there is no VNNI, or oneDNN is off");
  return spec.out[0].size() == 0 ? Support::no("there is nothing to do") : Support::yes();
}

void quantized_fc_dnnl(const FullyConnectedParams& p, const KernelArgs& args) {
  const ProductRange range(args, !p.no_bias, "_contrib_quantized_fully_connected");
  auto* const out = args.wanted<int32_t>(0);
  if (!out) return;
  const int64_t columns = args.in[1].shape[1], hidden = p.num_hidden, rows = args.out[0].size() / hidden;
  constexpr int64_t kHidden = 256;  // outputs of a part
  const OneThread one_thread(*args.context);
  each_part(*args.context, (hidden + kHidden - 1) / kHidden, [&](int64_t part) {
    const int64_t first = part * kHidden, count = std::min(kHidden, hidden - first);
    const int8_t* weight = args.in[1].as<int8_t>() + first * columns;
    if (args.in[0].dtype == DType::int8) {
      multiply(true, rows, count, columns, args.in[0].as<int8_t>(), weight, 0, out + first, hidden);
    } else {
      const int32_t none = 0;
      const dnnl_status_t status =
          dnnl_gemm_u8s8s32('N', 'T', 'F', rows, count, columns, 1.0f, args.in[0].as<uint8_t>(), columns, 0,
                            weight, columns, 0, 0.0f, out + first, hidden, &none);
      LOOMIX_CHECK(status == dnnl_success, Error, "[quantized product] oneDNN returned status {}.",
                   static_cast<int>(status));
    }
    for (int64_t h = first; h < first + count; ++h) {
      const auto close = range.row(h);
      if (!close.is_needed()) continue;
      for (int64_t row = 0; row < rows; ++row) out[row * hidden + h] = close(out[row * hidden + h]);
    }
  });
}

}  // namespace

void kernels_quantized_dnnl(OpTable& table) {
  table.kernel<quantized_conv_dnnl, conv_support, conv_scratch>("_contrib_quantized_conv",
                                                                "quantized_conv_dnnl");
  table.kernel<quantized_fc_dnnl, fc_support>("_contrib_quantized_fully_connected", "quantized_fc_dnnl");
}

}  // namespace loomix::ops
