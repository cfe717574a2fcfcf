// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/conv_fft.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/parallel_for.h"
#include "ops/conv/deconvolution.h"
#include "ops/families.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

int64_t padded(int64_t size) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(size, 2))));
}
int64_t padded_rows(const ConvGeometry& g) { return padded(g.in[1] + 2 * g.pad[1]); }
int64_t padded_columns(const ConvGeometry& g) { return padded(g.in[2] + 2 * g.pad[2]); }

// Without the checks for NaN of std::complex's product.
std::complex<float> product(std::complex<float> a, std::complex<float> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// sum += a b, or a times b's conjugate.
template <bool kConjugate>
void add_products(const std::complex<float>* a, const std::complex<float>* b, int64_t count,
                  std::complex<float>* sum) {
  const auto *x = reinterpret_cast<const float*>(a), *y = reinterpret_cast<const float*>(b);
  auto* to = reinterpret_cast<float*>(sum);
  for (int64_t i = 0; i < 2 * count; i += 2) {
    const float imaginary = kConjugate ? -y[i + 1] : y[i + 1];
    to[i] += x[i] * y[i] - x[i + 1] * imaginary;
    to[i + 1] += x[i] * imaginary + x[i + 1] * y[i];
  }
}

}  // namespace

size_t ConvFft::bytes(const ConvGeometry& g, int cores) {
  const int64_t plane = padded_rows(g) * (padded_columns(g) / 2 + 1);
  const int64_t data = g.batch * g.groups * g.channels, weight = g.groups * g.filters * g.channels,
                output = g.batch * g.groups * g.filters;
  const int64_t planes = data + weight + output - std::min({data, weight, output});  // at most two are kept
  return static_cast<size_t>(planes * plane + slots_for(cores) * (plane + padded_columns(g))) *
         sizeof(Complex);
}

ConvFft::ConvFft(const ConvGeometry& g, ConvPass pass, int cores)
    : geometry_(g),
      pass_(pass),
      slots_(slots_for(cores)),
      rows_(padded_rows(g)),
      columns_(padded_columns(g)),
      half_(columns_ / 2 + 1) {
  const int64_t longest = std::max(rows_, columns_);
  for (int64_t i = 0; i < longest; ++i) {
    const double angle = -2 * 3.14159265358979323846 * static_cast<double>(i) / static_cast<double>(longest);
    roots_.emplace_back(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)));
  }
  scratch_bytes = bytes(g, cores);
}

ConvFft::Plane ConvFft::data() const {
  const ConvGeometry& g = geometry_;
  return {g.batch * g.groups * g.channels, g.in[1], g.in[2], g.pad[1], g.pad[2]};
}
ConvFft::Plane ConvFft::weight() const {
  const ConvGeometry& g = geometry_;
  return {g.groups * g.filters * g.channels, g.kernel[1], g.kernel[2], 0, 0};
}
ConvFft::Plane ConvFft::output() const {
  const ConvGeometry& g = geometry_;
  return {g.batch * g.groups * g.filters, g.out[1], g.out[2], 0, 0};
}
ConvFft::Plane ConvFft::result() const {
  return pass_ == ConvPass::forward ? output() : pass_ == ConvPass::data ? data() : weight();
}

// Which products make a plane of the result. The second ones are conjugate but for the data's gradient, which is no
// correlation.
ConvFft::Sum ConvFft::sum_of(int64_t unit) const {
  const ConvGeometry& g = geometry_;
  const int64_t c = g.channels, f = g.filters;
  if (pass_ == ConvPass::forward) {
    const int64_t filter = unit % (g.groups * f), item = unit / f;  // image and group
    return {item * c, filter * c, 1, 1, c};
  }
  if (pass_ == ConvPass::data) {
    const int64_t item = unit / c, group = item % g.groups;
    return {item * f, group * f * c + unit % c, 1, c, f};
  }
  const int64_t filter = unit / c, group = filter / f;
  return {group * c + unit % c, filter, g.groups * c, g.groups * f, g.batch};
}

// `width` transforms of `size` values side by side, in place: by halves, after a change of the order.
void ConvFft::fourier(Complex* values, int64_t size, int64_t width, bool back) const {
  for (int64_t i = 1, j = 0; i < size; ++i) {
    int64_t bit = size / 2;
    for (; j & bit; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap_ranges(values + i * width, values + (i + 1) * width, values + j * width);
  }
  const auto longest = static_cast<int64_t>(roots_.size());
  for (int64_t length = 2; length <= size; length *= 2) {
    for (int64_t k = 0; k < length / 2; ++k) {
      const Complex plain = roots_[static_cast<size_t>(k * (longest / length))];
      const Complex root = back ? std::conj(plain) : plain;
      for (int64_t begin = k; begin < size; begin += length) {
        Complex *const a = values + begin * width, *const b = a + length / 2 * width;
        for (int64_t i = 0; i < width; ++i) {
          const Complex turned = product(root, b[i]);
          b[i] = a[i] - turned;
          a[i] += turned;
        }
      }
    }
  }
}

// Two rows at a time, as real and imaginary parts of one; then all columns.
void ConvFft::transform(const float* from, const Plane& plane, Complex* to, Complex* row) const {
  std::fill_n(to, rows_ * half_, Complex());
  for (int64_t r = 0; r < plane.rows; r += 2) {
    std::fill_n(row, columns_, Complex());
    const bool both = r + 1 < plane.rows;
    for (int64_t i = 0; i < plane.columns; ++i) {
      const float* const at = from + r * plane.columns + i;
      row[plane.left + i] = {at[0], both ? at[plane.columns] : 0.f};
    }
    fourier(row, columns_, 1, false);
    Complex* const first = to + (plane.top + r) * half_;
    for (int64_t i = 0; i < half_; ++i) {
      const Complex a = row[i], b = std::conj(row[(columns_ - i) % columns_]);
      first[i] = 0.5f * (a + b);
      if (both) first[half_ + i] = product({0.f, -0.5f}, a - b);
    }
  }
  fourier(to, rows_, half_, false);
}

void ConvFft::invert(Complex* from, const Plane& plane, float bias, bool add, float* to, Complex* row) const {
  fourier(from, rows_, half_, true);
  const float scale = 1 / static_cast<float>(rows_ * columns_);
  for (int64_t r = 0; r < plane.rows; r += 2) {
    const bool both = r + 1 < plane.rows;
    const Complex* const first = from + (plane.top + r) * half_;
    const auto joined = [&](int64_t i, bool mirrored) {
      const Complex a = first[i], b = both ? first[half_ + i] : Complex();
      return (mirrored ? std::conj(a) : a) + product({0.f, 1.f}, mirrored ? std::conj(b) : b);
    };
    for (int64_t i = 0; i < half_; ++i) row[i] = joined(i, false);
    for (int64_t i = half_; i < columns_; ++i) row[i] = joined(columns_ - i, true);
    fourier(row, columns_, 1, true);
    for (int64_t i = 0; i < plane.columns; ++i) {
      const Complex value = row[plane.left + i];
      float* const at = to + r * plane.columns + i;
      at[0] = (add ? at[0] : 0) + bias + scale * value.real();
      if (both) at[plane.columns] = (add ? at[plane.columns] : 0) + bias + scale * value.imag();
    }
  }
}

void ConvFft::transform_all(const TensorView& from, const Plane& plane, Complex* to,
                            const KernelArgs& args) const {
  ScratchSlots slots(args.scratch.last(static_cast<size_t>(slots_ * columns_) * sizeof(Complex)),
                     static_cast<size_t>(columns_) * sizeof(Complex), slots_);
  engine::parallel_for(*args.context, plane.count, 1, [&](int64_t begin, int64_t end) {
    const ScratchSlots::Use row(slots);
    for (int64_t i = begin; i < end; ++i)
      transform(from.as<float>() + i * plane.rows * plane.columns, plane, to + i * rows_ * half_,
                row.as<Complex>());
  });
}

void ConvFft::run(const ConvOperands& operands, const KernelArgs& args) const {
  const ConvGeometry& g = geometry_;
  const bool is_weight = pass_ == ConvPass::weight, is_data = pass_ == ConvPass::data;
  const Plane first = is_data ? output() : data(), second = is_weight ? output() : weight();
  const int64_t plane = rows_ * half_;
  auto* const a = reinterpret_cast<Complex*>(args.scratch.data());
  Complex *const b = a + first.count * plane, *const sums = b + second.count * plane;
  transform_all(is_weight ? operands.b : operands.a, first, a, args);
  transform_all(is_weight ? operands.a : operands.b, second, b, args);
  const size_t own = static_cast<size_t>(plane + columns_) * sizeof(Complex);
  ScratchSlots slots({reinterpret_cast<std::byte*>(sums), own * static_cast<size_t>(slots_)}, own, slots_);
  const float* const bias = operands.bias ? operands.bias->as<float>() : nullptr;
  const Plane made = result();
  const int64_t per_image = g.groups * (is_data ? g.channels : g.filters);
  engine::parallel_for(*args.context, made.count, 1, [&](int64_t begin, int64_t end) {
    const ScratchSlots::Use slot(slots);
    auto* const sum = slot.as<Complex>();
    for (int64_t unit = begin; unit < end; ++unit) {
      std::fill_n(sum, plane, Complex());
      const Sum of = sum_of(unit);
      for (int64_t i = 0; i < of.count; ++i) {
        const Complex* const x = a + (of.first + i * of.first_step) * plane;
        const Complex* const y = b + (of.second + i * of.second_step) * plane;
        if (is_data) add_products<false>(x, y, plane, sum);
        else add_products<true>(x, y, plane, sum);
      }
      invert(sum, made, bias ? bias[unit % per_image] : 0.f, args.req[0] == Req::add,
             args.out[0].mutable_as<float>() + unit * made.rows * made.columns, sum + plane);
    }
  });
}

namespace {

template <ConvPass pass>
class ConvFftOf : public ConvFft {
 public:
  static constexpr ConvPass kPass = pass;
  ConvFftOf(const ConvGeometry& g, bool, int cores) : ConvFft(g, pass, cores) {}
  using ConvFft::run;
};

Support supports(const ConvolutionParams& p, ConvPass pass, const KernelSpec& spec) {
  if (!is_asked_for(ConvAlgorithm::fft, p)) return Support::no("it runs where it is asked for");
  if (spec.in[0].dtype != DType::float32) return Support::no("it is for float32");
  if (channels_last(p.layout)) return Support::no("it is for channels first");
  if (spec.in[0].size() == 0 || spec.in[1].size() == 0 || spec.out[0].size() == 0)
    return Support::no("there is no data");
  const ConvGeometry g = geometry_of(p, pass, spec.in, spec.out);
  for (int i = 0; i < 3; ++i) {
    if (g.stride[i] != 1 || g.dilate[i] != 1) return Support::no("it is for stride 1 and dilate 1");
    if (g.out[i] + g.kernel[i] - 1 > g.in[i] + 2 * g.pad[i]) return Support::no("the sides are not alike");
  }
  if (p.kernel.ndim() > 2) return Support::no("it is for one and two axes");
  if (ConvFft::bytes(g, spec.cores) > static_cast<size_t>(p.workspace) << 20)
    return Support::no("its memory is more than `workspace` allows");
  return Support::yes();
}

template <class P, ConvPass pass>
Support support(const P& p, const KernelSpec& spec) {
  return supports(p, pass, spec);
}

template <class P, ConvPass pass>
void add(OpTable& table, const char* op) {
  using F = ConvFamily<P>;
  table.prepared_kernel<P, ConvKernel<F, ConvFftOf<pass>>, support<F, pass>>(op, "convolution_fft");
}

}  // namespace

void kernels_conv_fft(OpTable& table) {
  add<ConvolutionParams, ConvPass::forward>(table, "Convolution");
  add<ConvolutionParams, ConvPass::data>(table, "_backward_Convolution_data");
  add<ConvolutionParams, ConvPass::weight>(table, "_backward_Convolution_weight");
  add<ConvolutionV1Params, ConvPass::forward>(table, "Convolution_v1");
  add<ConvolutionV1Params, ConvPass::data>(table, "_backward_Convolution_v1_data");
  add<ConvolutionV1Params, ConvPass::weight>(table, "_backward_Convolution_v1_weight");
  add<DeconvolutionParams, ConvPass::data>(table, "Deconvolution");
  add<DeconvolutionParams, ConvPass::forward>(table, "_backward_Deconvolution_data");
  add<DeconvolutionParams, ConvPass::weight>(table, "_backward_Deconvolution_weight");
}

}  // namespace loomix::ops
