// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "ops/optimizer/apply.h"
#include "ops/optimizer/update_rules.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// Calls fn(i, arrays of weight i, weight32 or null) for each weight that is wanted: its arrays are weight, grad, states, and
// weight32 where one is kept.
template <class Fn>
void each_weight(const KernelArgs& args, std::span<const TensorView> arrays, size_t states, Fn&& fn) {
  const size_t stride = arrays.size() / args.out.size();
  for (size_t i = 0; i < args.out.size(); ++i) {
    if (args.req[i] == Req::null) continue;
    const auto in = arrays.subspan(i * stride, stride);
    fn(i, in, stride > 2 + states ? &in.back() : nullptr);
  }
}

template <template <class> class Rule, class P, class Rates>
void run_sgd(const P& p, const KernelArgs& args, std::span<const TensorView> arrays, Rates&& rates) {
  constexpr size_t kStates = Rule<float>::kStates;
  each_weight(args, arrays, kStates, [&](size_t i, const auto& in, const TensorView* weight32) {
    const auto [lr, wd] = rates(i);
    update::apply([&, lr = lr, wd = wd]<class A>(Type<A>) { return Rule<A>(p, A(lr), A(wd)); }, in[0], in[1],
                  in.subspan(2, kStates), weight32, args.out[i], *args.context);
  });
}

template <template <class> class Rule, class P>
void multi_sgd(const P& p, const KernelArgs& args) {
  run_sgd<Rule>(p, args, args.in, [&](size_t i) { return std::pair(p.lrs[i], p.wds[i]); });
}

// The rates are arrays, behind all others.
template <template <class> class Rule, class P>
void preloaded_multi_sgd(const P& p, const KernelArgs& args) {
  const size_t arrays = args.in.size() - 2;
  run_sgd<Rule>(p, args, args.in.first(arrays), [&](size_t i) {
    const auto at = static_cast<int64_t>(i);
    return std::pair(update::scalar_at(args.in[arrays], at), update::scalar_at(args.in[arrays + 1], at));
  });
}

void multi_adamw(const MultiAdamWParams& p, const KernelArgs& args) {
  const float scale = update::scalar_at(args.in.back(), 0);
  const bool skip = !std::isfinite(scale) || scale == 0;
  const auto arrays = args.in.first(args.in.size() - 1);
  each_weight(args, arrays, 2, [&](size_t i, const auto& in, const TensorView* weight32) {
    if (skip) {
      if (in[0].size() > 0) std::memmove(args.out[i].data, in[0].data, static_cast<size_t>(in[0].bytes()));
      return;
    }
    update::apply(
        [&]<class A>(Type<A>) {
          return update::AdamW<A>(p, A(p.lrs[i]), A(p.wds[i]), A(p.etas[i]), A(scale));
        },
        in[0], in[1], in.subspan(2, 2), weight32, args.out[i], *args.context);
  });
}

template <bool mixed>
void multi_lamb(const MultiLambParams& p, const KernelArgs& args) {
  constexpr size_t kStride = mixed ? 5 : 4;
  for (size_t tensor = 0; tensor < static_cast<size_t>(p.num_tensors); ++tensor) {
    if (args.req[tensor] == Req::null) continue;
    const auto in = args.in.subspan(tensor * kStride, kStride);
    dispatch_floating(in[0].dtype, "_multi_lamb_update", [&]<class T>(Type<T>) {
      using State = std::conditional_t<mixed, float, T>;
      using A = std::conditional_t<mixed, float, Accum<T>>;
      const update::LambDirection<A> rule(p, A(p.wds[tensor]), p.step_count[tensor]);
      const T* grad = in[1].as<T>();
      State* mean = in[2].mutable_as<State>();
      State* variance = in[3].mutable_as<State>();
      State* weight = mixed ? static_cast<State*>(in[4].data) : static_cast<State*>(in[0].data);
      T* out = args.out[tensor].mutable_as<T>();
      const int64_t size = in[0].size();
      const auto step = std::make_unique_for_overwrite<A[]>(static_cast<size_t>(size));
      double weight_square = 0, step_square = 0;
      for (int64_t i = 0; i < size; ++i) {
        A s[2] = {static_cast<A>(mean[i]), static_cast<A>(variance[i])};
        const A w = static_cast<A>(weight[i]);
        step[i] = rule(w, static_cast<A>(static_cast<Accum<T>>(grad[i])), s);
        mean[i] = static_cast<State>(s[0]);
        variance[i] = static_cast<State>(s[1]);
        weight_square += static_cast<double>(w) * static_cast<double>(w);
        step_square += static_cast<double>(step[i]) * static_cast<double>(step[i]);
      }
      const A rate =
          A(update::lamb_rate(p.learning_rates[tensor], static_cast<float>(std::sqrt(weight_square)),
                              static_cast<float>(std::sqrt(step_square)), p.lower_bound, p.upper_bound));
      for (int64_t i = 0; i < size; ++i) {
        const A next = static_cast<A>(weight[i]) - rate * step[i];
        if constexpr (mixed) weight[i] = next;
        out[i] = static_cast<T>(static_cast<Accum<T>>(next));
      }
    });
  }
}

double sum_of_squares(const TensorView& array) {
  return dispatch_floating(array.dtype, "multi_sum_sq", [&]<class T>(Type<T>) {
    const T* x = array.as<T>();
    double sum = 0;
    for (int64_t i = 0; i < array.size(); ++i) {
      const double value = static_cast<double>(static_cast<Accum<T>>(x[i]));
      sum += value * value;
    }
    return sum;
  });
}

void multi_sum_sq(const NumArraysParams&, const KernelArgs& args) {
  for (size_t i = 0; i < args.in.size(); ++i)
    args.out[0].mutable_as<float>()[i] = static_cast<float>(sum_of_squares(args.in[i]));
}

// lrs, weights' and gradients' sums of squares, wds -> new rates.
void multi_lars(const MultiLarsParams& p, const KernelArgs& args) {
  dispatch_floating(args.out[0].dtype, "multi_lars", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const auto at = [&](size_t input, int64_t i) { return static_cast<A>(args.in[input].as<T>()[i]); };
    for (int64_t i = 0; i < args.out[0].size(); ++i) {
      const A weight_norm = std::sqrt(at(1, i));
      const A grad_norm = std::sqrt(at(2, i)) * A(p.rescale_grad);
      args.out[0].mutable_as<T>()[i] =
          static_cast<T>(update::lars_rate(p, at(0, i), at(3, i), weight_norm, grad_norm));
    }
  });
}

// rates and decays, which are written; weight, grad of each.
void multi_lars_rates(const LarsRatesParams& p, const KernelArgs& args) {
  for (size_t i = 0; i < p.lrs.size(); ++i) {
    const double weight_norm = std::sqrt(sum_of_squares(args.in[2 + 2 * i]));
    const double grad_norm = std::sqrt(sum_of_squares(args.in[3 + 2 * i])) * p.rescale_grad;
    args.out[0].mutable_as<float>()[i] =
        static_cast<float>(update::lars_rate<double>(p, p.lrs[i], p.wds[i], weight_norm, grad_norm));
    args.out[1].mutable_as<float>()[i] = p.wds[i];
  }
}

bool finite(const TensorView& view) {
  return dispatch_floating(view.dtype, "all_finite", [&]<class T>(Type<T>) {
    const T* x = view.as<T>();
    return std::all_of(x, x + view.size(),
                       [](T value) { return std::isfinite(static_cast<Accum<T>>(value)); });
  });
}

template <class P>
void all_finite(const P& p, const KernelArgs& args) {
  float& out = args.out[0].mutable_as<float>()[0];
  const bool before = p.init_output || out != 0;
  out = before && std::all_of(args.in.begin(), args.in.end(), finite) ? 1.0f : 0.0f;
}

void reset_arrays(const NumArraysParams&, const KernelArgs& args) {
  for (const TensorView& view : args.in) {
    if (view.size() > 0) std::memset(view.data, 0, static_cast<size_t>(view.bytes()));
  }
}

}  // namespace

void kernels_multi_update(OpTable& table) {
  using update::Sgd;
  using update::SgdMom;
  for (const char* op : {"multi_sgd_update", "multi_mp_sgd_update"})
    table.kernel<multi_sgd<Sgd, MultiSgdParams>>(op, "multi_sgd_cpu");
  for (const char* op : {"multi_sgd_mom_update", "multi_mp_sgd_mom_update"})
    table.kernel<multi_sgd<SgdMom, MultiSgdMomParams>>(op, "multi_sgd_mom_cpu");
  for (const char* op : {"preloaded_multi_sgd_update", "preloaded_multi_mp_sgd_update"})
    table.kernel<preloaded_multi_sgd<Sgd, PreloadedSgdParams>>(op, "preloaded_multi_sgd_cpu");
  for (const char* op : {"preloaded_multi_sgd_mom_update", "preloaded_multi_mp_sgd_mom_update"})
    table.kernel<preloaded_multi_sgd<SgdMom, PreloadedSgdMomParams>>(op, "preloaded_multi_sgd_mom_cpu");
  for (const char* op : {"_multi_adamw_update", "_multi_mp_adamw_update"})
    table.kernel<multi_adamw>(op, "multi_adamw_cpu");
  table.kernel<multi_lamb<false>>("_multi_lamb_update", "multi_lamb_cpu");
  table.kernel<multi_lamb<true>>("_multi_mp_lamb_update", "multi_mp_lamb_cpu");
  table.kernel<multi_sum_sq>("multi_sum_sq", "multi_sum_sq_cpu");
  table.kernel<multi_lars>("multi_lars", "multi_lars_cpu");
  table.kernel<multi_lars_rates>("_multi_lars_rates", "multi_lars_rates_cpu");
  table.kernel<all_finite<AllFiniteParams>>("all_finite", "all_finite_cpu");
  table.kernel<all_finite<MultiAllFiniteParams>>("multi_all_finite", "multi_all_finite_cpu");
  table.kernel<reset_arrays>("reset_arrays", "reset_arrays_cpu");
}

}  // namespace loomix::ops
