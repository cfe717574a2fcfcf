// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "engine/device/cuda/element.h"
#include "ops/cuda/byte_products.h"
#include "ops/cuda/divider.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/warps.h"
#include "ops/families_cuda.h"
#include "ops/linear/fully_connected.h"
#include "ops/quantization/layer_sums.h"
#include "ops/quantization/range_cuda.h"
#include "ops/rnn/rnn_pieces.h"

// Layers of 8 bits that multiply: exact sums in int32. cuBLAS multiplies where rows are words of 4 bytes, with pictures turned into rows
// first; plain kernels do the rest. cuBLAS takes int8 on both sides. So uint8 data has 128 taken off, which the sums of the weight's rows
// make good for.
namespace loomix::ops {
namespace {

using namespace cuda;

// ---- ranges and biases ----

// A bias is brought to the step of the sums.
struct BiasSteps {
  double from, per;
};
struct PlanProduct {
  RangeInput data, weight, bias;
  bool with_bias;
  DType type;
  RangeOutput out;
  BiasSteps* to;
  int64_t* fault;
  __device__ void operator()() const {
    const double step = data.get(fault).step(type) * weight.get(fault).step(DType::int8);
    *to = {with_bias ? bias.get(fault).step(DType::int8) : 0, per_step(step)};
    const auto reach = static_cast<float>(step * largest_of(DType::int32));
    out.put({-reach, reach});
  }
};
void plan_product(const KernelArgs& args, bool with_bias, int64_t* fault) {
  const size_t first = with_bias ? 3 : 2;
  launch_once(stream_of(args),
              PlanProduct{range_input(args, first), range_input(args, first + 2),
                          with_bias ? range_input(args, first + 4) : RangeInput{}, with_bias,
                          args.in[0].dtype, range_output(args), scratch_as<BiasSteps>(args), fault});
}
template <class P>
Support one_range(const P& p, const KernelSpec& spec) {
  return one_range_each(spec, p.no_bias ? 2 : 3);
}
void explain_product(const KernelArgs& args, bool with_bias, const char* who) {
  const size_t first = with_bias ? 3 : 2;
  explain_ranges(args, {first, first + 2}, who);
  if (with_bias) explain_ranges(args, {first + 4}, who);
}

struct Bias {
  const int8_t* bias;  // null: there is none
  const BiasSteps* steps;
  __device__ int32_t at(int64_t i) const {
    return bias != nullptr && steps->from > 0 ? whole_sum(bias[i] * steps->from * steps->per) : 0;
  }
};
Bias bias_of(const KernelArgs& args, bool with_bias) {
  return {with_bias ? args.in[2].as<int8_t>() : nullptr, scratch_as<BiasSteps>(args)};
}

template <class T>
struct ConvEach {
  ConvLoop<T> loop;
  Steps to;
  Divider filters, pixels, lines, columns;
  Bias bias;
  int32_t* out;
  __device__ void operator()(int64_t i) const {
    const int64_t unit = pixels.quotient(i), image = filters.quotient(unit);
    const int64_t filter = unit - image * filters.divisor(), pixel = i - unit * pixels.divisor();
    const int64_t row = columns.quotient(pixel), depth = lines.quotient(row);
    const int64_t place[3] = {depth, row - depth * lines.divisor(), pixel - row * columns.divisor()};
    out[image * to.image + filter * to.channel + place[0] * to.place[0] + place[1] * to.place[1] +
        place[2] * to.place[2]] = loop.at(image, filter, place) + bias.at(filter);
  }
};
void quantized_conv_cuda(const ConvolutionParams& p, const KernelArgs& args, int64_t* fault) {
  plan_product(args, !p.no_bias, fault);
  auto* out = args.wanted<int32_t>(0);
  if (!out) return;
  const ConvGeometry g(p, args.in[0].shape);
  const int64_t filters = g.groups * g.filters;
  dispatch_bytes(args.in[0].dtype, [&]<class T>(Type<T>) {
    launch_each(stream_of(args), args.out[0].size(),
                ConvEach<T>{{g, args.in[0].as<T>(), args.in[1].as<int8_t>()},
                            Steps(filters, g.out, g.channels_last),
                            Divider(filters),
                            Divider(g.out_size()),
                            Divider(g.out[1]),
                            Divider(g.out[2]),
                            bias_of(args, !p.no_bias),
                            out});
  });
}
void explain_conv(const ConvolutionParams& p, const KernelArgs& args) {
  explain_product(args, !p.no_bias, "_contrib_quantized_conv");
}

template <class T>
struct RowTimesRow {
  Divider hidden;
  int64_t columns;
  const T* data;
  const int8_t* weight;
  Bias bias;
  int32_t* out;
  __device__ void operator()(int64_t i) const {
    const int64_t row = hidden.quotient(i), unit = i - row * hidden.divisor();
    int32_t sum = 0;
    for (int64_t k = threadIdx.x; k < columns; k += kWarp)
      sum += int32_t{data[row * columns + k]} * int32_t{weight[unit * columns + k]};
    sum = merge_warp(sum, Plus{});
    if (threadIdx.x == 0) out[i] = sum + bias.at(unit);
  }
};
void quantized_fc_cuda(const FullyConnectedParams& p, const KernelArgs& args, int64_t* fault) {
  plan_product(args, !p.no_bias, fault);
  auto* out = args.wanted<int32_t>(0);
  if (!out) return;
  dispatch_bytes(args.in[0].dtype, [&]<class T>(Type<T>) {
    launch_warps(stream_of(args), args.out[0].size(),
                 RowTimesRow<T>{Divider(p.num_hidden), args.in[1].shape[1], args.in[0].as<T>(),
                                args.in[1].as<int8_t>(), bias_of(args, !p.no_bias), out});
  });
}
void explain_fc(const FullyConnectedParams& p, const KernelArgs& args) {
  explain_product(args, !p.no_bias, "_contrib_quantized_fully_connected");
}

// ---- by cuBLAS ----

constexpr int32_t kOffset = 128;

struct WeightSum {
  int64_t columns;
  const int8_t* weight;
  int32_t* sums;
  __device__ void operator()(int64_t row) const {
    int32_t sum = 0;
    for (int64_t k = threadIdx.x; k < columns; k += kWarp) sum += weight[row * columns + k];
    sum = merge_warp(sum, Plus{});
    if (threadIdx.x == 0) sums[row] = sum;
  }
};
struct LessOffset {
  const uint8_t* from;
  int8_t* to;
  __device__ void operator()(int64_t i) const { to[i] = static_cast<int8_t>(from[i] - kOffset); }
};

// The bias, and what the offset took away.
struct FinishEach {
  Divider per_filter, filters;  // outputs in a row that belong to one filter, before the next filter's
  Bias bias;
  const int32_t* weight_sums;  // null: there was no offset
  int32_t* out;
  __device__ void operator()(int64_t i) const {
    const int64_t unit = per_filter.quotient(i);
    const int64_t filter = unit - filters.quotient(unit) * filters.divisor();
    out[i] += bias.at(filter) + (weight_sums != nullptr ? kOffset * weight_sums[filter] : 0);
  }
};
void finish(const KernelArgs& args, int64_t per_filter, int64_t filters, bool with_bias,
            const int32_t* weight_sums, int32_t* out) {
  if (!with_bias && weight_sums == nullptr) return;
  launch_each(stream_of(args), args.out[0].size(),
              FinishEach{Divider(per_filter), Divider(filters), bias_of(args, with_bias), weight_sums, out});
}

Support words_support(int64_t n, int64_t k) {
  return takes_bytes(n, k) ? Support::yes() : Support::no("rows are no words of 4 bytes, or too long");
}

// Where the pieces of scratch memory are.
struct Room {
  int8_t* rows;          // of the data; null: as it lies
  int32_t* weight_sums;  // null: the data has no offset
  size_t bytes;
  Room(std::byte* scratch, bool is_unsigned, int64_t row_bytes, int64_t filters) {
    ScratchPieces pieces(scratch);
    pieces.take<std::byte>(kRangeScratch);
    rows = row_bytes > 0 ? pieces.take<int8_t>(row_bytes) : nullptr;
    weight_sums = is_unsigned ? pieces.take<int32_t>(filters) : nullptr;
    bytes = pieces.used();
  }
  void sum_weight(const KernelArgs& args, int64_t filters) const {
    if (weight_sums == nullptr) return;
    launch_warps(stream_of(args), filters,
                 WeightSum{args.in[1].size() / filters, args.in[1].as<int8_t>(), weight_sums});
  }
};
bool are_word_aligned(const KernelArgs& args) {
  return is_word_aligned(args.in[0].data) && is_word_aligned(args.in[1].data) &&
         is_word_aligned(args.out[0].data);
}

Support fc_words(const FullyConnectedParams& p, const KernelSpec& spec) {
  const Support ranges = one_range(p, spec);
  return ranges ? words_support(p.num_hidden, spec.in[1].shape[1]) : ranges;
}
Room fc_room(const FullyConnectedParams& p, const TensorView& data, std::byte* scratch) {
  const bool is_unsigned = data.dtype == DType::uint8;
  return {scratch, is_unsigned, is_unsigned ? data.size() : 0, p.num_hidden};
}
size_t fc_scratch(const FullyConnectedParams& p, const KernelSpec& spec) {
  return fc_room(p, spec.in[0], nullptr).bytes;
}
void quantized_fc_cublas(const FullyConnectedParams& p, const KernelArgs& args, int64_t* fault) {
  if (!are_word_aligned(args)) return quantized_fc_cuda(p, args, fault);
  plan_product(args, !p.no_bias, fault);
  auto* out = args.wanted<int32_t>(0);
  if (!out || args.out[0].size() == 0) return;
  const Room room = fc_room(p, args.in[0], args.scratch.data());
  const auto* data = static_cast<const int8_t*>(args.in[0].data);
  if (room.rows != nullptr) {
    launch_each(stream_of(args), args.in[0].size(), LessOffset{args.in[0].as<uint8_t>(), room.rows});
    data = room.rows;
  }
  room.sum_weight(args, p.num_hidden);
  const int64_t columns = args.in[1].shape[1];
  multiply_bytes(
      {.m = args.out[0].size() / p.num_hidden, .n = p.num_hidden, .k = columns, .row_c = p.num_hidden}, data,
      args.in[1].as<int8_t>(), out, stream_of(args));
  finish(args, 1, p.num_hidden, !p.no_bias, room.weight_sums, out);
}

// A number of the rows that the windows of a picture are, in the order of the weight's.
template <class T>
struct WindowEach {
  ConvGeometry g;
  int64_t group;
  Divider numbers, pixels, lines, columns;        // of a row, of a picture
  Divider channels, window, slice, kernel_width;  // of a row's number
  const T* data;
  int8_t* out;
  __device__ void operator()(int64_t i) const {
    const Steps from(g.groups * g.channels, g.in, g.channels_last);
    const int64_t row = numbers.quotient(i), number = i - row * numbers.divisor();
    const int64_t image = pixels.quotient(row), pixel = row - image * pixels.divisor();
    const int64_t line = columns.quotient(pixel), depth = lines.quotient(line);
    const int64_t place[3] = {depth, line - depth * lines.divisor(), pixel - line * columns.divisor()};
    const int64_t outer = g.channels_last ? channels.quotient(number) : window.quotient(number);
    const int64_t inner = number - outer * (g.channels_last ? channels : window).divisor();
    const int64_t channel = g.channels_last ? inner : outer, within = g.channels_last ? outer : inner;
    const int64_t k0 = slice.quotient(within), rest = within - k0 * slice.divisor();
    const int64_t k1 = kernel_width.quotient(rest);
    const int64_t k[3] = {k0, k1, rest - k1 * kernel_width.divisor()};
    int64_t at = image * from.image + (group * g.channels + channel) * from.channel;
    bool inside = true;
    for (int axis = 0; axis < 3; ++axis) {
      const int64_t position = place[axis] * g.stride[axis] + k[axis] * g.dilate[axis] - g.pad[axis];
      inside = inside && position >= 0 && position < g.in[axis];
      at += position * from.place[axis];
    }
    const int32_t value = inside ? int32_t{data[at]} : 0;
    out[i] = static_cast<int8_t>(std::is_same_v<T, uint8_t> ? value - kOffset : value);
  }
};

struct ConvSizes {
  ConvGeometry g;
  int64_t window, numbers, pixels, filters;
  ConvSizes(const ConvolutionParams& p, const Shape& data)
      : g(p, data),
        window(g.kernel[0] * g.kernel[1] * g.kernel[2]),
        numbers(g.channels * window),
        pixels(g.out_size()),
        filters(g.groups * g.filters) {}
  // Whose rows are in scratch memory at a time.
  int64_t images() const {
    constexpr int64_t kRowBytes = int64_t{32} << 20;
    return std::clamp<int64_t>(kRowBytes / std::max<int64_t>(1, pixels * numbers), 1,
                               std::max<int64_t>(1, g.batch));
  }
  Room room(DType dtype, std::byte* scratch) const {
    return {scratch, dtype == DType::uint8, images() * pixels * numbers, filters};
  }
};
Support conv_words(const ConvolutionParams& p, const KernelSpec& spec) {
  constexpr int64_t kMostGroups = 4;
  if (const Support ranges = one_range(p, spec); !ranges) return ranges;
  const ConvSizes s(p, spec.in[0].shape);
  if (s.g.groups > kMostGroups) return Support::no("there are many groups");
  return words_support(s.g.channels_last ? s.g.filters : s.pixels, s.numbers);
}
size_t conv_scratch(const ConvolutionParams& p, const KernelSpec& spec) {
  return ConvSizes(p, spec.in[0].shape).room(spec.in[0].dtype, nullptr).bytes;
}

template <class T>
void put_windows(const ConvSizes& s, int64_t group, int64_t images, const T* data, int8_t* rows,
                 cudaStream_t stream) {
  launch_each(stream, images * s.pixels * s.numbers,
              WindowEach<T>{s.g, group, Divider(s.numbers), Divider(s.pixels), Divider(s.g.out[1]),
                            Divider(s.g.out[2]), Divider(s.g.channels), Divider(s.window),
                            Divider(s.g.kernel[1] * s.g.kernel[2]), Divider(s.g.kernel[2]), data, rows});
}
// Of some images and one group.
void multiply_windows(const ConvSizes& s, int64_t group, int64_t images, const int8_t* rows,
                      const int8_t* weight, int32_t* out, cudaStream_t stream) {
  weight += group * s.g.filters * s.numbers;
  if (s.g.channels_last) {
    return multiply_bytes({.m = images * s.pixels, .n = s.g.filters, .k = s.numbers, .row_c = s.filters},
                          rows, weight, out + group * s.g.filters, stream);
  }
  multiply_bytes({.m = s.g.filters,
                  .n = s.pixels,
                  .k = s.numbers,
                  .row_c = s.pixels,
                  .batch = images,
                  .step_b = s.pixels * s.numbers,
                  .step_c = s.filters * s.pixels},
                 weight, rows, out + group * s.g.filters * s.pixels, stream);
}
void quantized_conv_cublas(const ConvolutionParams& p, const KernelArgs& args, int64_t* fault) {
  if (!are_word_aligned(args)) return quantized_conv_cuda(p, args, fault);
  plan_product(args, !p.no_bias, fault);
  auto* out = args.wanted<int32_t>(0);
  if (!out || args.out[0].size() == 0) return;
  const ConvSizes s(p, args.in[0].shape);
  const Room room = s.room(args.in[0].dtype, args.scratch.data());
  room.sum_weight(args, s.filters);
  const int64_t most = s.images(), image_bytes = args.in[0].size() / s.g.batch;
  for (int64_t first = 0; first < s.g.batch; first += most) {
    const int64_t images = std::min(most, s.g.batch - first);
    for (int64_t group = 0; group < s.g.groups; ++group) {
      dispatch_bytes(args.in[0].dtype, [&]<class T>(Type<T>) {
        put_windows(s, group, images, args.in[0].as<T>() + first * image_bytes, room.rows, stream_of(args));
      });
      multiply_windows(s, group, images, room.rows, args.in[1].as<int8_t>(),
                       out + first * s.filters * s.pixels, stream_of(args));
    }
  }
  finish(args, s.g.channels_last ? 1 : s.pixels, s.filters, !p.no_bias, room.weight_sums, out);
}

}  // namespace

void kernels_quantized_products_cuda(KernelList& list) {
  constexpr const char* kConv = "_contrib_quantized_conv";
  constexpr const char* kDense = "_contrib_quantized_fully_connected";
  add_checked<quantized_conv_cublas, explain_conv, conv_scratch, conv_words>(list, kConv,
                                                                             "quantized_conv_cublas");
  add_checked<quantized_conv_cuda, explain_conv, range_scratch, one_range<ConvolutionParams>>(
      list, kConv, "quantized_conv_cuda");
  add_checked<quantized_fc_cublas, explain_fc, fc_scratch, fc_words>(list, kDense, "quantized_fc_cublas");
  add_checked<quantized_fc_cuda, explain_fc, range_scratch, one_range<FullyConnectedParams>>(
      list, kDense, "quantized_fc_cuda");
}

}  // namespace loomix::ops
