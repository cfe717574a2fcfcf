// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/leaky_relu.h"

#include <cmath>
#include <vector>

#include "engine/parallel_for.h"
#include "ops/random/philox.h"

namespace loomix::ops {
namespace {

constexpr int64_t kGrain = 4096;

template <class A>
A activate(LeakyType type, A slope, A x) {
  switch (type) {
    case LeakyType::gelu: return A(0.5) * x * (1 + std::erf(x * A(0.70710678118654752440)));
    case LeakyType::elu: return x > 0 ? x : slope * std::expm1(x);
    case LeakyType::selu: return A(kSeluScale) * (x > 0 ? x : A(kSeluAlpha) * std::expm1(x));
    default: return x > 0 ? x : slope * x;
  }
}

template <class A>
A derivative(LeakyType type, A slope, A x) {
  switch (type) {
    case LeakyType::gelu: {
      const A density = A(0.39894228040143267794) * std::exp(A(-0.5) * x * x);
      return A(0.5) * (1 + std::erf(x * A(0.70710678118654752440))) + x * density;
    }
    case LeakyType::elu: return x > 0 ? A(1) : slope * std::exp(x);
    // As MXNet has it: the scale stands twice in the exponential's part.
    case LeakyType::selu:
      return A(kSeluScale) * (x > 0 ? A(1) : A(kSeluAlpha) * (A(kSeluScale) * std::expm1(x) + 1));
    default: return x > 0 ? A(1) : slope;
  }
}

template <class A>
A second_derivative(LeakyType type, A slope, A x) {
  switch (type) {
    case LeakyType::gelu: return A(0.39894228040143267794) * std::exp(A(-0.5) * x * x) * (2 - x * x);
    case LeakyType::elu: return x > 0 ? A(0) : slope * std::exp(x);
    case LeakyType::selu: return x > 0 ? A(0) : A(kSeluScale) * A(kSeluScale) * A(kSeluAlpha) * std::exp(x);
    default: return A(0);
  }
}

// Where the slope of element i of the data stands in gamma.
struct GammaIndex {
  int64_t channels;
  int64_t inner;
  GammaIndex(const Shape& data, int64_t gamma_size)
      : channels(gamma_size), inner(data.ndim() > 1 ? data.size_between(2, data.ndim()) : 1) {}
  int64_t operator()(int64_t i) const { return channels == 1 ? 0 : i / inner % channels; }
};

}  // namespace

void leaky_relu_cpu(const LeakyReluParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.out[0].dtype, "LeakyReLU", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* in = args.in[0].as<T>();
    T* out = args.out[0].mutable_as<T>();
    const bool prelu = p.act_type == LeakyType::prelu;
    const bool random = p.act_type == LeakyType::rrelu;
    const T* gamma = prelu ? args.in[1].as<T>() : nullptr;
    const GammaIndex index(args.in[0].shape, prelu ? args.in[1].size() : 1);
    const A middle = (A(p.lower_bound) + A(p.upper_bound)) / 2;
    engine::parallel_for(*args.context, args.out[0].size(), kGrain, [&](int64_t begin, int64_t end) {
      const auto each = [&](auto&& slope_of) {
        for (int64_t i = begin; i < end; ++i) {
          out[i] = static_cast<T>(activate(p.act_type, slope_of(i), static_cast<A>(in[i])));
        }
      };
      if (prelu) return each([&](int64_t i) { return static_cast<A>(gamma[index(i)]); });
      if (!random) return each([&](int64_t) { return A(p.slope); });
      T* slopes = args.out[1].data ? args.out[1].mutable_as<T>() : nullptr;
      if (!args.training) {
        for (int64_t i = begin; slopes && i < end; ++i) slopes[i] = static_cast<T>(middle);
        return each([&](int64_t) { return middle; });
      }
      philox_words(args.random, begin, end, [&](int64_t i, uint32_t word) {
        const A slope = A(p.lower_bound) + (A(p.upper_bound) - A(p.lower_bound)) * A(unit_float(word));
        if (slopes) slopes[i] = static_cast<T>(slope);
        out[i] = static_cast<T>(activate(p.act_type, slope, static_cast<A>(in[i])));
      });
    });
  });
}

void leaky_relu_backward_cpu(const LeakyReluParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.out[0].dtype, "_backward_LeakyReLU", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* grad = args.in[0].as<T>();
    const T* in = args.in[1].as<T>();
    T* out = args.out[0].mutable_as<T>();
    const bool prelu = p.act_type == LeakyType::prelu;
    const T* slopes = prelu || p.act_type == LeakyType::rrelu ? args.in[2].as<T>() : nullptr;
    const GammaIndex index(args.in[1].shape, prelu ? args.in[2].size() : 1);
    engine::parallel_for(*args.context, args.out[0].size(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const A slope = slopes ? static_cast<A>(slopes[prelu ? index(i) : i]) : A(p.slope);
        out[i] =
            static_cast<T>(static_cast<A>(grad[i]) * derivative(p.act_type, slope, static_cast<A>(in[i])));
      }
    });
  });
}

void leaky_relu_gamma_cpu(const LeakyReluParams&, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.out[0].dtype, "_backward_LeakyReLU_gamma", [&]<class T>(Type<T>) {
    const T* grad = args.in[0].as<T>();
    const T* in = args.in[1].as<T>();
    const GammaIndex index(args.in[1].shape, args.out[0].size());
    std::vector<double> sums(static_cast<size_t>(args.out[0].size()), 0.0);
    for (int64_t i = 0; i < args.in[1].size(); ++i) {
      const auto x = static_cast<double>(in[i]);
      if (x <= 0) sums[static_cast<size_t>(index(i))] += x * static_cast<double>(grad[i]);
    }
    T* out = args.out[0].mutable_as<T>();
    for (size_t c = 0; c < sums.size(); ++c) out[c] = T(static_cast<Accum<T>>(sums[c]));
  });
}

void leaky_relu_backward_twice_cpu(const LeakyReluParams& p, const KernelArgs& args) {
  if (args.req[0] == Req::null) return;
  dispatch_floating(args.out[0].dtype, "_backward_LeakyReLU_twice", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const T* head = args.in[0].as<T>();
    const T* grad = args.in[1].as<T>();
    const T* in = args.in[2].as<T>();
    T* out = args.out[0].mutable_as<T>();
    for (int64_t i = 0; i < args.out[0].size(); ++i) {
      out[i] = static_cast<T>(static_cast<A>(head[i]) * static_cast<A>(grad[i]) *
                              second_derivative(p.act_type, A(p.slope), static_cast<A>(in[i])));
    }
  });
}

}  // namespace loomix::ops
