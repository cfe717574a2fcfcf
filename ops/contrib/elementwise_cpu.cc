// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cmath>

#include "engine/parallel_for.h"
#include "ops/contrib/contrib.h"
#include "ops/elemwise/apply.h"
#include "ops/elemwise/binary.h"
#include "ops/elemwise/unary.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// What elements are computed in: floats in their own accumulator, whole numbers in double.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, double, Accum<T>>;

}  // namespace

void quadratic_cpu(const QuadraticParams& p, const KernelArgs& args) {
  dispatch_numeric(args.out[0].dtype, "quadratic", [&]<class T>(Type<T>) {
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    const auto a = static_cast<Wide<T>>(p.a), b = static_cast<Wide<T>>(p.b), c = static_cast<Wide<T>>(p.c);
    parallel_blocks(args, args.out[0].size(), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto x = static_cast<Wide<T>>(in[i]);
        out[i] = static_cast<T>((a * x + b) * x + c);
      }
    });
  });
}

void div_sqrt_dim_cpu(const KernelArgs& args) {
  const Shape& shape = args.in[0].shape;
  const double root = std::sqrt(double(shape[shape.ndim() - 1]));
  apply_scalar(binary_code<fn::Div>, Spread::right, args.in[0], root, args.out[0], args);
}

void allclose_cpu(const AllcloseParams& p, const KernelArgs& args) {
  std::atomic<bool> close = true;
  dispatch_all(args.in[0].dtype, "allclose", [&]<class T>(Type<T>) {
    const T* a = args.in[0].as<T>();
    const T* b = args.in[1].as<T>();
    parallel_blocks(args, args.in[0].size(), [&](int64_t begin, int64_t end) {
      bool all = true;
      for (int64_t i = begin; i < end; ++i) {
        const auto x = static_cast<double>(static_cast<Accum<T>>(a[i]));
        const auto y = static_cast<double>(static_cast<Accum<T>>(b[i]));
        const bool both_nan = p.equal_nan && std::isnan(x) && std::isnan(y);
        all &= x == y || both_nan || std::abs(x - y) <= double(p.atol) + double(p.rtol) * std::abs(y);
      }
      if (!all) close.store(false, std::memory_order_relaxed);
    });
  });
  *args.out[0].mutable_as<uint8_t>() = close.load(std::memory_order_relaxed) ? 1 : 0;
}

// grad, data, moving mean -> the gradient: grad and the slope of KL(target || mean) to the mean, for each column, where
// the mean moves towards that of the batch first.
void backward_sparsity_cpu(const SparsityParams& p, const KernelArgs& args) {
  dispatch_floating(args.in[1].dtype, "IdentityAttachKLSparseReg", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* grad = args.in[0].as<T>();
    const T* x = args.in[1].as<T>();
    T* moving = args.in[2].mutable_as<T>();
    T* out = args.out[0].mutable_as<T>();
    const int64_t rows = args.in[1].shape[0], columns = args.in[2].size();
    const A kept = A(p.momentum), target = A(p.sparseness_target);
    engine::parallel_each(*args.context, columns, 16384 / rows, [&](int64_t j) {
      A sum = 0;
      for (int64_t i = 0; i < rows; ++i) sum += static_cast<A>(x[i * columns + j]);
      const A mean = kept * static_cast<A>(moving[j]) + (1 - kept) * (sum / A(rows));
      moving[j] = static_cast<T>(mean);
      const A slope = A(p.penalty) * ((1 - target) / (1 - mean) - target / mean);
      for (int64_t i = 0; i < rows; ++i) {
        out[i * columns + j] = static_cast<T>(static_cast<A>(grad[i * columns + j]) + slope);
      }
    });
  });
}

void kernels_contrib_elementwise(OpTable& table) {
  table.kernel<quadratic_cpu>("_contrib_quadratic", "quadratic_cpu");
  table.kernel<div_sqrt_dim_cpu>("_contrib_div_sqrt_dim", "div_sqrt_dim_cpu");
  table.kernel<unary_cpu<unary_code<fn::Round>>>("_contrib_round_ste", "unary_cpu");
  table.kernel<unary_cpu<unary_code<fn::Sign>>>("_contrib_sign_ste", "unary_cpu");
  const auto right = Spread::right;
  table.kernel<scalar_cpu<ScalarParams, binary_code<fn::Add>, right>>("_scatter_plus_scalar", "scalar_cpu");
  table.kernel<scalar_cpu<ScalarParams, binary_code<fn::Sub>, right>>("_scatter_minus_scalar", "scalar_cpu");
  table.kernel<elemwise_cpu<binary_code<fn::Div>>>("_scatter_elemwise_div", "elemwise_cpu");
  table.kernel<convert_cpu>("_contrib_gradientmultiplier", "copy_cpu");
  table.kernel<allclose_cpu>("_contrib_allclose", "allclose_cpu");
  table.kernel<convert_cpu>("IdentityAttachKLSparseReg", "copy_cpu");
}

void gradients_contrib_elementwise(OpTable& table) {
  table.kernel<backward_sparsity_cpu>("_backward_IdentityAttachKLSparseReg", "backward_sparsity_cpu");
}

}  // namespace loomix::ops
