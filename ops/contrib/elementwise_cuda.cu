// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/contrib.h"
#include "ops/cuda/arrays.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/fill.h"
#include "ops/cuda/math.h"
#include "ops/families_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

template <class C>
struct Quadratic {
  C a, b, c;
  __device__ C operator()(C x) const { return (a * x + b) * x + c; }
};
struct QuadraticOfAny {
  Quadratic<double> f;
  AnyArray x;
  MutableAnyArray y;
  __device__ void operator()(int64_t i) const { y.set(i, f(x[i])); }
};

void quadratic_cuda(const QuadraticParams& p, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  if (!is_floating(y.dtype)) {
    return launch_each(stream_of(args), y.size(),
                       QuadraticOfAny{{p.a, p.b, p.c}, AnyArray(x), MutableAnyArray(y)});
  }
  dispatch_floating(y.dtype, "quadratic", [&]<class T>(Type<T>) {
    using C = Computed<T>;
    map(stream_of(args), y.size(),
        Quadratic<C>{static_cast<C>(p.a), static_cast<C>(p.b), static_cast<C>(p.c)}, y.mutable_as<T>(),
        x.as<T>());
  });
}

template <class C>
struct DividedBy {
  C number;
  __device__ C operator()(C x) const { return x / number; }
};

void div_sqrt_dim_cuda(const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  const double root = std::sqrt(static_cast<double>(shape[shape.ndim() - 1]));
  dispatch_floating(args.out[0].dtype, "div_sqrt_dim", [&]<class T>(Type<T>) {
    using C = Computed<T>;  // the number is rounded as an element is
    map(stream_of(args), args.out[0].size(), DividedBy<C>{static_cast<C>(load(store<T>(root)))},
        args.out[0].mutable_as<T>(), args.in[0].as<T>());
  });
}

struct Compare {
  AllcloseParams p;
  AnyArray a, b;
  uint8_t* close;
  __device__ void operator()(int64_t i) const {
    const double x = a[i], y = b[i];
    const bool both_nan = p.equal_nan && x != x && y != y;
    if (!(x == y || both_nan || Math::abs(x - y) <= double(p.atol) + double(p.rtol) * Math::abs(y)))
      *close = 0;
  }
};

void allclose_cuda(const AllcloseParams& p, const KernelArgs& args) {
  fill(args.out[0], 1, stream_of(args));
  launch_each(stream_of(args), args.in[0].size(),
              Compare{p, AnyArray(args.in[0]), AnyArray(args.in[1]), args.out[0].mutable_as<uint8_t>()});
}

// A thread a column, whose mean moves first.
template <class T>
struct PenalizeColumn {
  SparsityParams p;
  int64_t rows, columns;
  const T *grad, *x;
  T *moving, *out;
  __device__ void operator()(int64_t j) const {
    using A = Computed<T>;
    A sum = 0;
    for (int64_t i = 0; i < rows; ++i) sum += load(x[i * columns + j]);
    const A kept = A(p.momentum), target = A(p.sparseness_target);
    const A mean = kept * load(moving[j]) + (1 - kept) * (sum / A(rows));
    moving[j] = store<T>(mean);
    const A slope = A(p.penalty) * ((1 - target) / (1 - mean) - target / mean);
    for (int64_t i = 0; i < rows; ++i) out[i * columns + j] = store<T>(load(grad[i * columns + j]) + slope);
  }
};

void backward_sparsity_cuda(const SparsityParams& p, const KernelArgs& args) {
  const int64_t columns = args.in[2].size();
  dispatch_floating(args.in[1].dtype, "IdentityAttachKLSparseReg", [&]<class T>(Type<T>) {
    launch_each(stream_of(args), columns,
                PenalizeColumn<T>{p, args.in[1].shape[0], columns, args.in[0].as<T>(), args.in[1].as<T>(),
                                  args.in[2].mutable_as<T>(), args.out[0].mutable_as<T>()});
  });
}

// ---- khatri_rao ----------------------------------------------------------------------------------------------------------

constexpr int kMostFactors = 16;

template <class T>
struct MultiplyColumns {
  int count;
  int64_t columns;
  const T* factor[kMostFactors];
  int64_t rows[kMostFactors];
  T* out;
  __device__ void operator()(int64_t at) const {
    int64_t rest = at / columns;
    const int64_t j = at - rest * columns;
    Computed<T> product = 1;
    for (int i = count - 1; i >= 0; --i) {
      product *= load(factor[i][rest % rows[i] * columns + j]);
      rest /= rows[i];
    }
    out[at] = store<T>(product);
  }
};

Support khatri_rao_support(const KernelSpec& spec) {
  return spec.in.size() <= kMostFactors ? Support::yes() : Support::no("it has more matrices than fit");
}

void khatri_rao_cuda(const KernelArgs& args) {
  const TensorView& out = args.out[0];
  dispatch_floating(out.dtype, "khatri_rao", [&]<class T>(Type<T>) {
    MultiplyColumns<T> fn{static_cast<int>(args.in.size()), out.shape[1], {}, {}, out.mutable_as<T>()};
    for (size_t i = 0; i < args.in.size(); ++i) {
      fn.factor[i] = args.in[i].as<T>();
      fn.rows[i] = args.in[i].shape[0];
    }
    launch_each(stream_of(args), out.size(), fn);
  });
}

}  // namespace

void kernels_contrib_elementwise_cuda(KernelList& list) {
  constexpr DeviceType gpu = DeviceType::gpu;
  list.kernel<quadratic_cuda>("_contrib_quadratic", "quadratic_cuda", gpu);
  list.kernel<div_sqrt_dim_cuda>("_contrib_div_sqrt_dim", "div_sqrt_dim_cuda", gpu);
  list.kernel<allclose_cuda>("_contrib_allclose", "allclose_cuda", gpu);
  list.kernel<backward_sparsity_cuda>("_backward_IdentityAttachKLSparseReg", "backward_sparsity_cuda", gpu);
  list.kernel<khatri_rao_cuda, khatri_rao_support>("khatri_rao", "khatri_rao_cuda", gpu);
}

}  // namespace loomix::ops
