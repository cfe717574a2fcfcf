// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/omp_threads.h"
#include "engine/parallel_for.h"
#include "ops/conv/conv_columns.h"
#include "ops/linalg/blas.h"

namespace loomix::ops {
namespace {

constexpr int64_t kUnfolded = 65536;  // elements: half a megabyte, which stays in the second cache
constexpr int64_t kFewestPixels = 16;
constexpr int64_t kWeightParts = 8;  // partial sums of the weight's gradient, whatever the number of threads

int64_t pixels_at_once(const ConvGeometry& g) {
  const int64_t fits = kUnfolded / std::max<int64_t>(1, g.depth());
  return std::clamp<int64_t>(fits, std::min(kFewestPixels, g.out_size()), std::max<int64_t>(1, g.out_size()));
}

// Calls fn(row, column, element of the image) for each place of the unfolded pixels [first, first + count) that lies on
// the image.
template <class Fn>
void each_source(const ConvGeometry& g, int64_t first, int64_t count, Fn&& fn) {
  for (int64_t row = 0; row < g.depth(); ++row) {
    const int64_t channel = row / g.kernel_size(), tap = row % g.kernel_size();
    const int64_t taps[] = {tap / (g.kernel[1] * g.kernel[2]), tap / g.kernel[2] % g.kernel[1],
                            tap % g.kernel[2]};
    const auto source = [&](int axis, int64_t stand) {
      return stand * g.stride[axis] - g.pad[axis] + taps[axis] * g.dilate[axis];
    };
    for (int64_t pixel = first; pixel < first + count;) {  // one line of the output after the other
      const int64_t line = pixel / g.out[2], begin = pixel % g.out[2];
      const int64_t end = std::min(g.out[2], begin + first + count - pixel);
      const int64_t z = source(0, line / g.out[1]), y = source(1, line % g.out[1]);
      if (z >= 0 && z < g.in[0] && y >= 0 && y < g.in[1]) {
        const int64_t from = ((channel * g.in[0] + z) * g.in[1] + y) * g.in[2];
        for (int64_t w = begin; w < end; ++w) {
          const int64_t x = source(2, w);
          if (x >= 0 && x < g.in[2]) fn(row, pixel - first + w - begin, from + x);
        }
      }
      pixel += end - begin;
    }
  }
}

void unfold(const ConvGeometry& g, const double* image, int64_t first, int64_t count, double* to) {
  std::fill_n(to, g.depth() * count, 0.0);
  each_source(g, first, count,
              [&](int64_t row, int64_t column, int64_t source) { to[row * count + column] = image[source]; });
}

// C (m, n) = op(A) op(B) + beta C, rows at the given distances.
void multiply(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a,
              int64_t step_a, const double* b, int64_t step_b, double beta, double* c, int64_t step_c) {
  cblas_dgemm(CblasRowMajor, transposed(transpose_a), transposed(transpose_b), blas_size(m), blas_size(n),
              blas_size(k), 1.0, a, blas_size(step_a), b, blas_size(step_b), beta, c, blas_size(step_c));
}

}  // namespace

Support conv_columns_support(const ConvolutionParams& p, const KernelSpec& spec) {
  if (const Support may = may_run(ConvAlgorithm::gemm, p); !may) return may;
  if (spec.out[0].dtype != DType::float64) return Support::no("it is for float64");
  if (channels_last(p.layout)) return Support::no("it is for channels first");
  if (spec.out[0].size() == 0 || spec.in[0].size() == 0 || spec.in[1].size() == 0)
    return Support::no("there is no data");
  return Support::yes();
}

PreparedConvColumns::PreparedConvColumns(const ConvGeometry& g, int64_t shared, int cores)
    : geometry(g),
      shared_bytes_(static_cast<size_t>(shared) * sizeof(double)),
      slot_bytes_(static_cast<size_t>((g.depth() * pixels_at_once(g) + 7) / 8 * 8) * sizeof(double)),
      slots_(slots_for(cores)) {
  scratch_bytes = shared_bytes_ + static_cast<size_t>(slots_) * slot_bytes_;
}

template <class Fn>
void PreparedConvColumns::each(const KernelArgs& args, int64_t count, Fn&& fn) const {
  engine::set_omp_threads(1);
  ScratchSlots slots(args.scratch.subspan(shared_bytes_), slot_bytes_, slots_);
  engine::parallel_for(*args.context, count, 1, [&](int64_t begin, int64_t end) {
    const ScratchSlots::Use slot(slots);
    for (int64_t i = begin; i < end; ++i) fn(i, slot.as<double>());
  });
  engine::set_omp_threads(args.context->threads);
}

ConvColumns::ConvColumns(const ConvGeometry& g, bool, int cores) : PreparedConvColumns(g, 0, cores) {}

void ConvColumns::run(const ConvOperands& operands, const KernelArgs& args) const {
  const ConvGeometry& g = geometry;
  const int64_t at_once = pixels_at_once(g), pieces = (g.out_size() + at_once - 1) / at_once;
  double* const out = args.out[0].mutable_as<double>();
  each(args, g.batch * g.groups * pieces, [&](int64_t i, double* columns) {
    const int64_t item = i / pieces, group = item % g.groups, first = i % pieces * at_once;
    const int64_t count = std::min(at_once, g.out_size() - first);
    double* const to = out + item * g.filters * g.out_size() + first;
    if (operands.bias) {
      const double* const bias = operands.bias->as<double>() + group * g.filters;
      for (int64_t filter = 0; filter < g.filters; ++filter)
        std::fill_n(to + filter * g.out_size(), count, bias[filter]);
    }
    unfold(g, operands.a.as<double>() + item * g.channels * g.in_size(), first, count, columns);
    multiply(false, false, g.filters, count, g.depth(),
             operands.b.as<double>() + group * g.filters * g.depth(), g.depth(), columns, count,
             operands.bias ? 1.0 : 0.0, to, g.out_size());
  });
}

ConvDataColumns::ConvDataColumns(const ConvGeometry& g, bool, int cores) : PreparedConvColumns(g, 0, cores) {}

void ConvDataColumns::run(const ConvOperands& operands, const KernelArgs& args) const {
  const ConvGeometry& g = geometry;
  const int64_t at_once = pixels_at_once(g);
  double* const out = args.out[0].mutable_as<double>();
  each(args, g.batch * g.groups, [&](int64_t item, double* columns) {
    const int64_t group = item % g.groups;
    double* const image = out + item * g.channels * g.in_size();
    for (int64_t channel = 0; channel < g.channels; ++channel) {
      const double start = operands.bias ? operands.bias->as<double>()[group * g.channels + channel] : 0.0;
      std::fill_n(image + channel * g.in_size(), g.in_size(), start);
    }
    for (int64_t first = 0; first < g.out_size(); first += at_once) {
      const int64_t count = std::min(at_once, g.out_size() - first);
      multiply(true, false, g.depth(), count, g.filters,
               operands.b.as<double>() + group * g.filters * g.depth(), g.depth(),
               operands.a.as<double>() + item * g.filters * g.out_size() + first, g.out_size(), 0.0, columns,
               count);
      each_source(g, first, count, [&](int64_t row, int64_t column, int64_t source) {
        image[source] += columns[row * count + column];
      });
    }
  });
}

ConvWeightColumns::ConvWeightColumns(const ConvGeometry& g, bool, int cores)
    : PreparedConvColumns(g, parts(g) * g.groups * g.filters * g.depth(), cores) {}

int64_t ConvWeightColumns::parts(const ConvGeometry& g) {
  return std::clamp<int64_t>(g.batch, 1, kWeightParts);
}

// The batch is cut into a fixed number of parts, whose sums are added in order: the result does not depend on threads.
void ConvWeightColumns::run(const ConvOperands& operands, const KernelArgs& args) const {
  const ConvGeometry& g = geometry;
  const int64_t at_once = pixels_at_once(g), parts = ConvWeightColumns::parts(g);
  const int64_t size = g.groups * g.filters * g.depth();
  double* const sums = reinterpret_cast<double*>(args.scratch.data());
  each(args, parts, [&](int64_t part, double* columns) {
    double* const to = sums + part * size;
    std::fill_n(to, size, 0.0);
    for (int64_t item = g.batch * part / parts * g.groups; item < g.batch * (part + 1) / parts * g.groups;
         ++item) {
      for (int64_t first = 0; first < g.out_size(); first += at_once) {
        const int64_t count = std::min(at_once, g.out_size() - first);
        unfold(g, operands.b.as<double>() + item * g.channels * g.in_size(), first, count, columns);
        multiply(false, true, g.filters, g.depth(), count,
                 operands.a.as<double>() + item * g.filters * g.out_size() + first, g.out_size(), columns,
                 count, 1.0, to + item % g.groups * g.filters * g.depth(), g.depth());
      }
    }
  });
  double* const out = args.out[0].mutable_as<double>();
  const bool add = args.req[0] == Req::add;
  for (int64_t i = 0; i < size; ++i) {
    double sum = add ? out[i] : 0.0;
    for (int64_t part = 0; part < parts; ++part) sum += sums[part * size + i];
    out[i] = sum;
  }
}

}  // namespace loomix::ops
