// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/deconvolution.h"

#include <algorithm>

#include "base/error.h"
#include "base/tuple_text.h"
#include "ops/linear/bilinear.h"

namespace loomix::ops {
namespace {

using Params = DeconvolutionParams;
constexpr Bilinear kOps{"Deconvolution", "_backward_Deconvolution_data", "_backward_Deconvolution_weight",
                        "_backward_Deconvolution_bias"};

bool has_target(const Params& p) {
  return std::any_of(p.target_shape.begin(), p.target_shape.end(), [](int64_t size) { return size != 0; });
}

// The size that the whole output has, with nothing taken off.
int64_t full_size(const Params& p, int axis, int64_t in) {
  return (in - 1) * value_or(p.stride, axis, 1) + value_or(p.dilate, axis, 1) * (p.kernel[axis] - 1) + 1;
}

void check(const Params& p, const char* who) {
  check_window(p, who);
  const int spatial = p.kernel.ndim();
  for (const Shape* list : {&p.adj, &p.target_shape}) {
    LOOMIX_CHECK(list->ndim() == 0 || list->ndim() == spatial, ValueError,
                 "[{}] adj {}, target_shape {}: expected {} numbers each, or none.", who, tuple_text(p.adj),
                 tuple_text(p.target_shape), spatial);
  }
  for (int i = 0; i < spatial; ++i) {
    const int64_t adj = value_or(p.adj, i, 0);
    LOOMIX_CHECK(has_target(p) || (adj >= 0 && adj < value_or(p.stride, i, 1)), ValueError,
                 "[{}] adj is {}; each number must be smaller than that of stride {}, and not negative.", who,
                 tuple_text(p.adj), tuple_text(p.stride));
    LOOMIX_CHECK(!has_target(p) || p.target_shape[i] > 0, ValueError,
                 "[{}] target_shape is {}; its numbers must be positive.", who, tuple_text(p.target_shape));
  }
}

Shape output_of(const Params& p, const BilinearShapes& s, const Shape& data) {
  const int first = channels_last(p.layout) ? 1 : 2;
  Shape out = data;
  out[channels_last(p.layout) ? data.ndim() - 1 : 1] = p.num_filter;
  for (int i = 0; i < p.kernel.ndim(); ++i) {
    int64_t& size = out[first + i];
    if (size < 0) continue;
    LOOMIX_CHECK(size > 0, ShapeError, "[{}] the data has shape {}; expected sizes from 1 to grow.", s.who(),
                 data.to_string());
    const int64_t full = full_size(p, i, size);
    size = deconvolved(p, i, size).size;
    LOOMIX_CHECK(
        size > 0 && size <= full + value_or(p.adj, i, 0), ShapeError,
        "[{}] pad {}, target_shape {} ask for size {} along axis {}, of the {} that data of shape {} gives.",
        s.who(), tuple_text(p.pad), tuple_text(p.target_shape), size, first + i, full, data.to_string());
  }
  return out;
}

// What data, weight and output say about each other.
void relate(const Params& p, BilinearShapes& s) {
  check(p, s.who());
  Shape data = known_data(p, s);
  if (!data.ndim_known()) return;
  const int spatial = p.kernel.ndim();
  const bool last = channels_last(p.layout);
  const int channel_axis = last ? spatial + 1 : 1;
  if (data[channel_axis] < 0 && s.b().ndim() > 0) data[channel_axis] = s.b()[0];
  s.set_a(data);
  check_groups(p, s, data, data[channel_axis]);
  Shape weight = Shape::filled(spatial + 2, kUnknownDim);
  weight[0] = data[channel_axis];
  weight[channel_axis] = p.num_filter / p.num_group;
  for (int i = 0; i < spatial; ++i) weight[(last ? 1 : 2) + i] = p.kernel[i];
  s.set_b(weight);
  s.set_out(output_of(p, s, data));
}

double cost(const Params& p, const KernelSpec& spec) {
  return 1000 + 0.01 * static_cast<double>(spec.in[0].size()) * p.num_filter / p.num_group *
                    static_cast<double>(p.kernel.size());
}

}  // namespace

DeconvolvedAxis deconvolved(const DeconvolutionParams& p, int axis, int64_t in) {
  const int64_t full = full_size(p, axis, in);
  if (has_target(p)) return {(full - p.target_shape[axis] + 1) / 2, p.target_shape[axis]};
  const int64_t pad = value_or(p.pad, axis, 0);
  return {pad, full - 2 * pad + value_or(p.adj, axis, 0)};
}

ConvGeometry geometry_of(const DeconvolutionParams& p, ConvPass pass, std::span<const TensorView> in,
                         std::span<const TensorView> out) {
  const Shape& data = pass == ConvPass::forward ? out[0].shape : in[pass == ConvPass::data ? 0 : 1].shape;
  const Shape& output = pass == ConvPass::data ? out[0].shape : in[0].shape;
  ConvolutionParams convolution = p;
  const int spatial = p.kernel.ndim();
  const int first = channels_last(p.layout) ? 1 : 2;
  convolution.num_filter = static_cast<int>(data[channels_last(p.layout) ? spatial + 1 : 1]);
  convolution.pad = Shape::filled(spatial, 0);
  for (int i = 0; i < spatial; ++i) convolution.pad[i] = deconvolved(p, i, data[first + i]).pad;
  ConvGeometry g(convolution, output);
  for (int i = 0; i < spatial; ++i) g.out[3 - spatial + i] = data[first + i];
  return g;
}

ConvOperands operands_of(const DeconvolutionParams& p, ConvPass pass, std::span<const TensorView> in) {
  if (pass == ConvPass::weight) return {in[1], in[0]};
  return {in[0], in[1], pass == ConvPass::data && !p.no_bias ? &in[2] : nullptr};
}

void register_deconvolution(OpTable& table) {
  add_bilinear<Params, kOps, relate, cost>(table, "data", "weight")
      .doc("Spreads each element of the data over the output by a filter: the transpose of Convolution.");
}

}  // namespace loomix::ops
