// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/activation.h"

#include <cmath>

#include "engine/parallel_for.h"

namespace loomix::ops {
namespace {

constexpr int64_t kGrain = 4096;

template <class A>
A activate(ActType type, A x) {
  switch (type) {
    case ActType::relu: return x > 0 || x != x ? x : A{0};
    case ActType::sigmoid: return 1 / (1 + std::exp(-x));
    case ActType::tanh: return std::tanh(x);
    case ActType::softrelu: return std::max(x, A{0}) + std::log1p(std::exp(-std::abs(x)));
    case ActType::softsign: return x / (1 + std::abs(x));
  }
  return x;
}

template <class A>
A slope(ActType type, A y) {
  switch (type) {
    case ActType::relu: return y > 0 ? A{1} : A{0};
    case ActType::sigmoid: return y * (1 - y);
    case ActType::tanh: return 1 - y * y;
    case ActType::softrelu: return -std::expm1(-y);
    case ActType::softsign: return (1 - std::abs(y)) * (1 - std::abs(y));
  }
  return y;
}

template <class A>
A slope_derivative(ActType type, A y) {
  switch (type) {
    case ActType::relu: return A{0};
    case ActType::sigmoid: return 1 - 2 * y;
    case ActType::tanh: return -2 * y;
    case ActType::softrelu: return std::exp(-y);
    case ActType::softsign: return -2 * (1 - std::abs(y)) * (y > 0 ? A{1} : y < 0 ? A{-1} : A{0});
  }
  return y;
}

// out[i] = fn(in0[i], in1[i], ...), computed in Accum<T>.
template <int inputs, class Fn>
void each(const KernelArgs& args, const char* who, Fn&& fn) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.out[0].dtype, who, [&]<class T>(Type<T>) {
    using A = Accum<T>;
    T* out = args.out[0].mutable_as<T>();
    const T* in[inputs];
    for (int i = 0; i < inputs; ++i) in[i] = args.in[i].as<T>();
    engine::parallel_for(*args.context, args.out[0].size(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (inputs == 1) out[i] = static_cast<T>(fn(static_cast<A>(in[0][i])));
        if constexpr (inputs == 2)
          out[i] = static_cast<T>(fn(static_cast<A>(in[0][i]), static_cast<A>(in[1][i])));
        if constexpr (inputs == 3) {
          out[i] = static_cast<T>(
              fn(static_cast<A>(in[0][i]), static_cast<A>(in[1][i]), static_cast<A>(in[2][i])));
        }
      }
    });
  });
}

}  // namespace

void activation_cpu(const ActivationParams& p, const KernelArgs& args) {
  each<1>(args, "Activation", [&](auto x) { return activate(p.act_type, x); });
}

void activation_backward_cpu(const ActivationParams& p, const KernelArgs& args) {
  each<2>(args, "_backward_Activation", [&](auto grad, auto y) { return grad * slope(p.act_type, y); });
}

void activation_backward_twice_cpu(const ActivationParams& p, const KernelArgs& args) {
  each<3>(args, "_backward_Activation_twice",
          [&](auto head, auto grad, auto y) { return head * grad * slope_derivative(p.act_type, y); });
}

}  // namespace loomix::ops
