// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <limits>

#include "base/settings.h"
#include "engine/device/cuda/element.h"
#include "ops/cuda/blas.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/index.h"
#include "ops/cuda/warps.h"
#include "ops/families_cuda.h"
#include "ops/quantization/low_bit.h"
#include "ops/quantization/rounded_cuda.h"

// Layers whose weights have few bits. Few rows of data use the weight where it lies; for many, parts of it become floats that cuBLAS
// multiplies. What is rounded on both sides is summed exactly.
namespace loomix::ops {
namespace {

using namespace cuda;
using FC = LowBitFullyConnectedParams;

// ---- the weight ----

struct Weight {
  const uint8_t* numbers;
  const float* scales;
  int64_t row_bytes, groups;
  int shift;  // of a column to its group
  bool is_half;

  Weight(const LowBitForm& form, const TensorView& weight, const TensorView& scale, int64_t columns)
      : numbers(static_cast<const uint8_t*>(weight.data)),
        scales(scale.as<float>()),
        row_bytes(form.row_bytes(columns)),
        groups(form.groups(columns)),
        shift(form.group_size == 0 ? 62 : std::countr_zero(static_cast<uint64_t>(form.group_size))),
        is_half(form.bits == 4) {}
  __device__ float at(int64_t row, int64_t column) const {
    const float scale = scales[row * groups + (column >> shift)];
    if (!is_half) return static_cast<float>(static_cast<int8_t>(numbers[row * row_bytes + column])) * scale;
    const int both = numbers[row * row_bytes + column / 2];
    return static_cast<float>((column % 2 == 0 ? both & 15 : both >> 4) - 8) * scale;
  }
};

const float* bias_of(const FC& p, const KernelArgs& args) {
  return p.no_bias ? nullptr : args.in[3].as<float>();
}

// ---- few rows ----

struct RowTimesWeight {
  Weight weight;
  Divider hidden;
  int64_t columns;
  const float *data, *bias;
  float* out;
  __device__ void operator()(int64_t i) const {
    const int64_t row = hidden.quotient(i), unit = i - row * hidden.divisor();
    float sum = 0;
    for (int64_t k = threadIdx.x; k < columns; k += kWarp)
      sum += data[row * columns + k] * weight.at(unit, k);
    sum = merge_warp(sum, Plus{});
    if (threadIdx.x == 0) out[i] = sum + (bias != nullptr ? bias[unit] : 0);
  }
};
void low_bit_rows_cuda(const FC& p, const KernelArgs& args) {
  auto* out = args.wanted<float>(0);
  if (!out) return;
  const ProductSizes s(p, args);
  launch_warps(stream_of(args), s.rows * s.hidden,
               RowTimesWeight{Weight(p, args.in[1], args.in[2], s.columns), Divider(s.hidden), s.columns,
                              args.in[0].as<float>(), bias_of(p, args), out});
}

// ---- many rows ----

Support parts_support(const FC& p, const KernelSpec& spec) {
  constexpr int64_t kFewestRows = 16;
  if (p.dynamic) return Support::no("the data is rounded, too");
  const ProductSizes s(p, spec);
  if (s.rows < kFewestRows) return Support::no("there are too few rows");
  return s.columns > 0 ? Support::yes() : Support::no("there is nothing to multiply");
}

// Rows of the weight that are floats at a time.
int64_t rows_of_part(const ProductSizes& s) {
  constexpr int64_t kNumbers = int64_t{1} << 22;
  return std::clamp<int64_t>(kNumbers / s.columns, 1, s.hidden);
}
size_t parts_scratch(const FC& p, const KernelSpec& spec) {
  const ProductSizes s(p, spec);
  return static_cast<size_t>(rows_of_part(s) * s.columns) * sizeof(float);
}

struct WidenEach {
  Weight weight;
  Divider columns;
  int64_t first;
  float* out;
  __device__ void operator()(int64_t i) const {
    const int64_t row = columns.quotient(i);
    out[i] = weight.at(first + row, i - row * columns.divisor());
  }
};
struct BiasEach {
  Divider hidden;
  const float* bias;
  float* out;
  __device__ void operator()(int64_t i) const { out[i] = bias[i - hidden.quotient(i) * hidden.divisor()]; }
};
void low_bit_parts_cuda(const FC& p, const KernelArgs& args) {
  auto* out = args.wanted<float>(0);
  if (!out) return;
  const ProductSizes s(p, args);
  const cudaStream_t stream = stream_of(args);
  const Weight weight(p, args.in[1], args.in[2], s.columns);
  auto* const part = reinterpret_cast<float*>(args.scratch.data());
  const int64_t most = rows_of_part(s);
  if (!p.no_bias) launch_each(stream, args.out[0].size(), BiasEach{Divider(s.hidden), bias_of(p, args), out});
  for (int64_t first = 0; first < s.hidden; first += most) {
    const int64_t rows = std::min(most, s.hidden - first);
    launch_each(stream, rows * s.columns, WidenEach{weight, Divider(s.columns), first, part});
    Gemm gemm = dense_gemm(DType::float32, s.rows, rows, s.columns, false, true);
    gemm.row_c = s.hidden;
    gemm.beta = p.no_bias ? 0 : 1;
    gemm.tf32 = settings().cuda_dot_tf32;
    cuda::gemm(gemm, args.in[0].data, part, out + first, stream);
  }
}

// ---- whole numbers on both sides ----

Support dynamic_support(const FC& p, const KernelSpec&) {
  return p.dynamic ? Support::yes() : Support::no("the data is not rounded");
}
size_t dynamic_scratch(const FC& p, const KernelSpec& spec) {
  const ProductSizes s(p, spec);
  ScratchPieces pieces(nullptr);
  Rounded(pieces, s.rows, s.columns);
  return pieces.used();
}
void low_bit_dynamic_cuda(const FC& p, const KernelArgs& args) {
  auto* out = args.wanted<float>(0);
  if (!out) return;
  const ProductSizes s(p, args);
  ScratchPieces pieces(args.scratch.data());
  const Rounded data(pieces, s.rows, s.columns);
  data.round(SummedRows(args.in[0].as<float>(), s.rows, s.columns, false), 1, stream_of(args));
  const int64_t outputs = s.rows * s.hidden;
  launch_warps(stream_of(args), outputs,
               RoundedTimes{Divider(outputs), Divider(s.hidden), s.rows, s.columns, data.whole,
                            args.in[1].as<int8_t>(), data.scales, args.in[2].as<float>(), bias_of(p, args),
                            out, s.hidden, 0, 1});
}

template <class P, auto products>
size_t products_scratch(const P& p, const KernelSpec& spec) {
  const RoundedProducts x = products(p, spec.in, spec.out[0]);
  ScratchPieces pieces(nullptr);
  Rounded(pieces, x.items * x.left.rows, x.left.columns);
  Rounded(pieces, x.items * x.right.rows, x.right.columns);
  return pieces.used();
}
template <class P, auto products>
void products_cuda(const P& p, const KernelArgs& args) {
  const RoundedProducts x = products(p, args.in, args.out[0]);
  const int64_t outputs = x.left.rows * x.right.rows;
  if (args.req[0] == Req::null || x.items * outputs == 0) return;
  const cudaStream_t stream = stream_of(args);
  ScratchPieces pieces(args.scratch.data());
  const Rounded left(pieces, x.items * x.left.rows, x.left.columns);
  const Rounded right(pieces, x.items * x.right.rows, x.right.columns);
  left.round(x.left, x.items, stream);
  right.round(x.right, x.items, stream);
  launch_warps(
      stream, x.items * outputs,
      RoundedTimes{Divider(outputs), Divider(x.right.rows), x.left.rows, x.left.columns, left.whole,
                   right.whole, left.scales, right.scales, nullptr, x.out, x.out_row, x.out_item, x.scale});
}

// ---- embedding ----

template <class T>
struct LookUpEach {
  Weight weight;
  Divider width;
  double last;
  const T* numbers;
  float* out;
  __device__ void operator()(int64_t i) const {
    const int64_t place = width.quotient(i);
    const auto given = static_cast<double>(load(numbers[place]));
    const double number = given > 0 ? min(given, last) : 0;  // NaN, too
    out[i] = weight.at(static_cast<int64_t>(number), i - place * width.divisor());
  }
};
void low_bit_embedding_cuda(const LowBitEmbeddingParams& p, const KernelArgs& args) {
  auto* out = args.wanted<float>(0);
  if (!out) return;
  const Weight weight(p, args.in[1], args.in[2], p.output_dim);
  dispatch_numeric(args.in[0].dtype, "_contrib_low_bit_embedding", [&]<class T>(Type<T>) {
    launch_each(stream_of(args), args.out[0].size(),
                LookUpEach<T>{weight, Divider(p.output_dim), static_cast<double>(p.input_dim - 1),
                              args.in[0].as<T>(), out});
  });
}

}  // namespace

void kernels_low_bit_cuda(KernelList& list) {
  constexpr const char* kName = "_contrib_low_bit_fully_connected";
  list.kernel<low_bit_dynamic_cuda, dynamic_support, dynamic_scratch>(kName, "low_bit_dynamic_cuda",
                                                                      DeviceType::gpu);
  list.kernel<low_bit_parts_cuda, parts_support, parts_scratch>(kName, "low_bit_parts_cublas",
                                                                DeviceType::gpu);
  list.kernel<low_bit_rows_cuda>(kName, "low_bit_rows_cuda", DeviceType::gpu);
  list.kernel<low_bit_embedding_cuda>("_contrib_low_bit_embedding", "low_bit_embedding_cuda",
                                      DeviceType::gpu);
  list_rounded_products([&]<class P, auto products>(const char* name) {
    list.kernel<products_cuda<P, products>, products_scratch<P, products>>(name, "low_bit_product_cuda",
                                                                           DeviceType::gpu);
  });
}

}  // namespace loomix::ops
