// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/arrays.h"
#include "ops/cuda/index.h"
#include "ops/cuda/math.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/random/pdf.h"

// A thread a sample; of gradients a thread a set of parameters, which sums its samples in order.
namespace loomix::ops {
namespace {

using namespace cuda;

template <class D>
struct Density {
  Divider block;
  bool is_log;
  AnyArray sample, first, second;
  MutableAnyArray out;
  __device__ void operator()(int64_t j) const {
    const int64_t i = block.quotient(j);
    const double log = D::template log<Math>(sample[j], first[i], second[i]);
    out.set(j, is_log ? log : Math::exp(log));
  }
};

template <class D>
void pdf_cuda(const PdfParams& p, const KernelArgs& args) {
  const AnyArray first(args.in[1]), second(args.in[D::parameters.size() == 2 ? 2 : 1]);
  launch_each(stream_of(args), args.out[0].size(),
              Density<D>{Divider(args.in[0].size() / args.in[1].size()), p.is_log, AnyArray(args.in[0]),
                         first, second, MutableAnyArray(args.out[0])});
}

MutableAnyArray wanted(const KernelArgs& args, size_t i) {
  return i < args.out.size() && args.req[i] != Req::null ? MutableAnyArray(args.out[i])
                                                         : MutableAnyArray(TensorView());
}

template <class D>
struct DensitySlopes {
  int64_t block;
  bool is_log;
  AnyArray head, sample, first, second;
  MutableAnyArray to_sample, to_first, to_second;
  __device__ void operator()(int64_t i) const {
    const double a = first[i], b = second[i];
    double sum_first = 0, sum_second = 0;
    for (int64_t j = i * block; j < (i + 1) * block; ++j) {
      const double x = sample[j];
      const double factor = pdf_chain<Math>(head[j], D::template log<Math>(x, a, b), is_log);
      const PdfSlopes slopes = factor == 0 ? PdfSlopes{0, 0, 0} : D::template slopes<Math>(x, a, b);
      if (to_sample.data != nullptr) to_sample.set(j, factor * slopes.sample);
      sum_first += factor * slopes.first;
      sum_second += factor * slopes.second;
    }
    if (to_first.data != nullptr) to_first.set(i, sum_first);
    if (to_second.data != nullptr) to_second.set(i, sum_second);
  }
};

template <class D>
void backward_pdf_cuda(const PdfParams& p, const KernelArgs& args) {
  constexpr bool two = D::parameters.size() == 2;
  const int64_t elements = args.in[2].size();
  if (elements == 0) return;
  launch_each(
      stream_of(args), elements,
      DensitySlopes<D>{args.in[1].size() / elements, p.is_log, AnyArray(args.in[0]), AnyArray(args.in[1]),
                       AnyArray(args.in[2]), AnyArray(args.in[two ? 3 : 2]), wanted(args, 0), wanted(args, 1),
                       two ? wanted(args, 2) : MutableAnyArray(TensorView())});
}

// ---- Dirichlet -----------------------------------------------------------------------------------------------------------

// A view of an array from an element on. (Templates, as nvcc takes device functions for what it calls from constexpr ones only there.)
template <class Array>
struct Part {
  Array all;
  int64_t first;
  __device__ double operator[](int64_t i) const { return all[first + i]; }
};

template <class Array>
struct DirichletDensity {
  Divider block;
  int64_t size;
  bool is_log;
  Array sample, alpha;
  MutableAnyArray out;
  __device__ void operator()(int64_t j) const {
    const double log =
        dirichlet_log<Math>(Part{sample, j * size}, Part{alpha, block.quotient(j) * size}, size);
    out.set(j, is_log ? log : Math::exp(log));
  }
};

void pdf_dirichlet_cuda(const PdfParams& p, const KernelArgs& args) {
  const PdfVectors v(args.in[0].shape, args.in[1].shape);
  launch_each(stream_of(args), args.out[0].size(),
              DirichletDensity<AnyArray>{Divider(v.block), v.size, p.is_log, AnyArray(args.in[0]),
                                         AnyArray(args.in[1]), MutableAnyArray(args.out[0])});
}

template <class Array>
struct DirichletSlopes {
  int64_t block, size;
  bool is_log;
  Array head, sample, alpha;
  MutableAnyArray to_sample, to_alpha;
  __device__ void operator()(int64_t at) const {  // number k of vector i of the parameters
    const int64_t i = at / size, k = at - i * size;
    const Part own{alpha, i * size};
    double total = 0, sum = 0;
    for (int64_t n = 0; n < size; ++n) total += own[n];
    const double a = own[k];
    const double constant = special::digamma<Math>(total) - special::digamma<Math>(a);
    for (int64_t j = i * block; j < (i + 1) * block; ++j) {
      const Part x{sample, j * size};
      const double weight = pdf_chain<Math>(head[j], dirichlet_log<Math>(x, own, size), is_log);
      if (weight != 0) sum += weight * (Math::log(x[k]) + constant);
      if (to_sample.data != nullptr)
        to_sample.set(j * size + k, weight == 0 || a == 1 ? 0.0 : weight * (a - 1) / x[k]);
    }
    if (to_alpha.data != nullptr) to_alpha.set(at, sum);
  }
};

void backward_pdf_dirichlet_cuda(const PdfParams& p, const KernelArgs& args) {
  const PdfVectors v(args.in[1].shape, args.in[2].shape);
  launch_each(stream_of(args), v.elements * v.size,
              DirichletSlopes<AnyArray>{v.block, v.size, p.is_log, AnyArray(args.in[0]), AnyArray(args.in[1]),
                                        AnyArray(args.in[2]), wanted(args, 0), wanted(args, 1)});
}

template <class D>
void add(KernelList& list) {
  list.kernel<pdf_cuda<D>>(fmt::format("_random_pdf_{}", D::name), "pdf_cuda", DeviceType::gpu);
  list.kernel<backward_pdf_cuda<D>>(fmt::format("_backward_random_pdf_{}", D::name), "backward_pdf_cuda",
                                    DeviceType::gpu);
}

}  // namespace

void kernels_pdf_cuda(KernelList& list) {
  add<UniformPdf>(list);
  add<NormalPdf>(list);
  add<GammaPdf>(list);
  add<ExponentialPdf>(list);
  add<PoissonPdf>(list);
  add<NegativeBinomialPdf>(list);
  add<GeneralizedNegativeBinomialPdf>(list);
  list.kernel<pdf_dirichlet_cuda>("_random_pdf_dirichlet", "pdf_dirichlet_cuda", DeviceType::gpu);
  list.kernel<backward_pdf_dirichlet_cuda>("_backward_random_pdf_dirichlet", "backward_pdf_dirichlet_cuda",
                                           DeviceType::gpu);
}

}  // namespace loomix::ops
