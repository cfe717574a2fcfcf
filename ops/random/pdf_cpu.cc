// SPDX-License-Identifier: Apache-2.0
#include "ops/random/pdf.h"

#include "engine/parallel_for.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

constexpr int64_t kSamplesPerThread = 512;

// Calls fn(element) for each element of the parameters, which have `block` samples each.
template <class Fn>
void each_element(const KernelArgs& args, int64_t elements, int64_t block, Fn&& fn) {
  const int64_t grain = std::max<int64_t>(1, kSamplesPerThread / std::max<int64_t>(1, block));
  engine::parallel_each(*args.context, elements, grain, [&](int64_t i) { fn(i); });
}

template <class T>
double number(const T* data, int64_t i) {
  return static_cast<double>(static_cast<Accum<T>>(data[i]));
}
template <class T>
void put(T* data, int64_t i, double value) {
  data[i] = static_cast<T>(static_cast<Accum<T>>(value));
}

template <class D>
void pdf_cpu(const PdfParams& p, const KernelArgs& args) {
  constexpr bool two = D::parameters.size() == 2;
  const int64_t elements = args.in[1].size(), block = args.in[0].size() / elements;
  dispatch_floating(args.out[0].dtype, D::name, [&]<class T>(Type<T>) {
    const T* sample = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    each_element(args, elements, block, [&](int64_t i) {
      const double first = number(args.in[1].as<T>(), i);
      const double second = two ? number(args.in[two ? 2 : 1].as<T>(), i) : 0;
      for (int64_t j = i * block; j < (i + 1) * block; ++j) {
        const double log = D::log(number(sample, j), first, second);
        put(out, j, p.is_log ? log : std::exp(log));
      }
    });
  });
}

// grad, sample, parameters -> gradients of sample and parameters.
template <class D>
void backward_pdf_cpu(const PdfParams& p, const KernelArgs& args) {
  constexpr bool two = D::parameters.size() == 2;
  const int64_t elements = args.in[2].size();
  if (elements == 0) return;
  const int64_t block = args.in[1].size() / elements;
  dispatch_floating(args.in[1].dtype, D::name, [&]<class T>(Type<T>) {
    const T* head = args.in[0].as<T>();
    const T* sample = args.in[1].as<T>();
    T* const to_sample = args.wanted<T>(0);
    T* const to_first = args.wanted<T>(1);
    T* const to_second = two ? args.wanted<T>(2) : nullptr;
    each_element(args, elements, block, [&](int64_t i) {
      const double first = number(args.in[2].as<T>(), i);
      const double second = two ? number(args.in[two ? 3 : 2].as<T>(), i) : 0;
      double sum_first = 0, sum_second = 0;
      for (int64_t j = i * block; j < (i + 1) * block; ++j) {
        const double x = number(sample, j);
        const double factor = pdf_chain(number(head, j), D::log(x, first, second), p.is_log);
        const PdfSlopes slopes = factor == 0 ? PdfSlopes{0, 0, 0} : D::slopes(x, first, second);
        if (to_sample) put(to_sample, j, factor * slopes.sample);
        sum_first += factor * slopes.first;
        sum_second += factor * slopes.second;
      }
      if (to_first) put(to_first, i, sum_first);
      if (to_second) put(to_second, i, sum_second);
    });
  });
}

void pdf_dirichlet_cpu(const PdfParams& p, const KernelArgs& args) {
  const PdfVectors v(args.in[0].shape, args.in[1].shape);
  dispatch_floating(args.out[0].dtype, "dirichlet", [&]<class T>(Type<T>) {
    const T* sample = args.in[0].as<T>();
    const T* alpha = args.in[1].as<T>();
    T* out = args.out[0].mutable_as<T>();
    each_element(args, v.elements, v.block * v.size, [&](int64_t i) {
      for (int64_t j = i * v.block; j < (i + 1) * v.block; ++j) {
        const double log = dirichlet_log(sample + j * v.size, alpha + i * v.size, v.size);
        put(out, j, p.is_log ? log : std::exp(log));
      }
    });
  });
}

void backward_pdf_dirichlet_cpu(const PdfParams& p, const KernelArgs& args) {
  const PdfVectors v(args.in[1].shape, args.in[2].shape);
  if (v.elements * v.size == 0) return;
  dispatch_floating(args.in[1].dtype, "dirichlet", [&]<class T>(Type<T>) {
    T* const to_sample = args.wanted<T>(0);
    T* const to_alpha = args.wanted<T>(1);
    each_element(args, v.elements, v.block * v.size, [&](int64_t i) {
      const T* alpha = args.in[2].as<T>() + i * v.size;
      const auto factor = [&](int64_t j) {
        const T* x = args.in[1].as<T>() + j * v.size;
        return pdf_chain(number(args.in[0].as<T>(), j), dirichlet_log(x, alpha, v.size), p.is_log);
      };
      double total = 0;
      for (int64_t k = 0; k < v.size; ++k) total += number(alpha, k);
      for (int64_t k = 0; k < v.size; ++k) {
        const double a = number(alpha, k);
        const double constant = special::digamma<PdfMath>(total) - special::digamma<PdfMath>(a);
        double sum = 0;
        for (int64_t j = i * v.block; j < (i + 1) * v.block; ++j) {
          const double x = number(args.in[1].as<T>(), j * v.size + k);
          const double weight = factor(j);
          if (weight != 0) sum += weight * (std::log(x) + constant);
          if (to_sample) put(to_sample, j * v.size + k, weight == 0 || a == 1 ? 0 : weight * (a - 1) / x);
        }
        if (to_alpha) put(to_alpha, i * v.size + k, sum);
      }
    });
  });
}

template <class Add>
void each_density(Add&& add) {
  const auto all = [&]<class... P>(Type<P>... densities) { (add(densities), ...); };
  all(Type<UniformPdf>{}, Type<NormalPdf>{}, Type<GammaPdf>{}, Type<ExponentialPdf>{}, Type<PoissonPdf>{},
      Type<NegativeBinomialPdf>{}, Type<GeneralizedNegativeBinomialPdf>{});
}

}  // namespace

void kernels_pdf_cpu(OpTable& table) {
  each_density(
      [&]<class P>(Type<P>) { table.kernel<pdf_cpu<P>>(fmt::format("_random_pdf_{}", P::name), "pdf_cpu"); });
  table.kernel<pdf_dirichlet_cpu>("_random_pdf_dirichlet", "pdf_dirichlet_cpu");
}

void gradients_pdf_cpu(OpTable& table) {
  each_density([&]<class P>(Type<P>) {
    table.kernel<backward_pdf_cpu<P>>(fmt::format("_backward_random_pdf_{}", P::name), "backward_pdf_cpu");
  });
  table.kernel<backward_pdf_dirichlet_cpu>("_backward_random_pdf_dirichlet", "backward_pdf_dirichlet_cpu");
}

}  // namespace loomix::ops
