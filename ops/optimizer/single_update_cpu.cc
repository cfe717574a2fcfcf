// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/elemwise/apply.h"
#include "ops/optimizer/apply.h"
#include "ops/optimizer/update_rules.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// weight, grad, states, (weight32) -> new weight.
template <class P, template <class> class Rule>
void run_update(const P& p, const KernelArgs& args) {
  const auto states = args.in.subspan(2, Rule<float>::kStates);
  update::apply([&]<class A>(Type<A>) { return Rule<A>(p); }, args.in[0], args.in[1], states,
                args.in.size() > 2 + states.size() ? &args.in.back() : nullptr, args.out[0], *args.context);
}

// weight, grad, momentum, (weight32), which is written in place.
void nag(const NagParams& p, const KernelArgs& args) {
  const bool mixed = args.in.size() > 3;
  const bool in_place = mixed || args.in[0].data == args.out[0].data;
  update::apply([&]<class A>(Type<A>) { return update::Nag<A>(p, in_place); }, args.in[0], args.in[1],
                args.in.subspan(2, 1), mixed ? &args.in[3] : nullptr, args.out[0], *args.context);
}

// The direction of the step in float32; weight32 is only read.
void mp_lamb_phase1(const LambPhase1Params& p, const KernelArgs& args) {
  dispatch_floating(args.in[0].dtype, "mp_lamb_update_phase1", [&]<class T>(Type<T>) {
    const update::LambDirection<float> rule(p);
    const T* grad = args.in[1].as<T>();
    float* mean = args.in[2].mutable_as<float>();
    float* variance = args.in[3].mutable_as<float>();
    const float* weight = args.in[4].as<float>();
    float* out = args.out[0].mutable_as<float>();
    for (int64_t i = 0; i < args.out[0].size(); ++i) {
      float s[2] = {mean[i], variance[i]};
      out[i] = rule(weight[i], static_cast<float>(static_cast<Accum<T>>(grad[i])), s);
      mean[i] = s[0];
      variance[i] = s[1];
    }
  });
}

template <bool mixed>
void lamb_phase2(const LambPhase2Params& p, const KernelArgs& args) {
  const float rate = update::lamb_rate(p.lr, update::scalar_at(args.in[2], 0),
                                       update::scalar_at(args.in[3], 0), p.lower_bound, p.upper_bound);
  dispatch_floating(args.in[0].dtype, "lamb_update_phase2", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    T* out = args.out[0].mutable_as<T>();
    for (int64_t i = 0; i < args.out[0].size(); ++i) {
      if constexpr (mixed) {
        float* weight = args.in[4].mutable_as<float>();
        weight[i] -= rate * args.in[1].as<float>()[i];
        out[i] = T(static_cast<A>(weight[i]));
      } else {
        out[i] = T(static_cast<A>(args.in[0].as<T>()[i]) - A(rate) * static_cast<A>(args.in[1].as<T>()[i]));
      }
    }
  });
}

// weight, grad, mean, var, (weight32), rescale_grad. A scale that is not finite, or zero, skips the step.
void adamw(const AdamWParams& p, const KernelArgs& args) {
  const float scale = update::scalar_at(args.in.back(), 0);
  if (!std::isfinite(scale) || scale == 0) return convert_cpu(args);
  update::apply([&]<class A>(Type<A>) { return update::AdamW<A>(p, A(p.lr), A(p.wd), A(p.eta), A(scale)); },
                args.in[0], args.in[1], args.in.subspan(2, 2), args.in.size() > 5 ? &args.in[4] : nullptr,
                args.out[0], *args.context);
}

// One history value a row.
void group_adagrad(const GroupAdagradParams& p, const KernelArgs& args) {
  dispatch_floating(args.in[0].dtype, "_contrib_group_adagrad_update", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const update::Rescale<A> rescale(p);
    const int64_t rows = args.in[0].shape[0];
    const int64_t columns = args.in[0].size() / rows;
    const T* weight = args.in[0].as<T>();
    const T* grad = args.in[1].as<T>();
    T* history = args.in[2].mutable_as<T>();
    T* out = args.out[0].mutable_as<T>();
    for (int64_t row = 0; row < rows; ++row) {
      A sum = 0;
      for (int64_t i = row * columns; i < (row + 1) * columns; ++i) {
        const A g = rescale(static_cast<A>(grad[i]));
        sum += g * g;
      }
      const A kept = static_cast<A>(history[row]) + sum / A(columns);
      history[row] = static_cast<T>(kept);
      const A rate = A(p.lr) / std::sqrt(kept + A(p.epsilon));
      for (int64_t i = row * columns; i < (row + 1) * columns; ++i) {
        out[i] = static_cast<T>(static_cast<A>(weight[i]) - rate * rescale(static_cast<A>(grad[i])));
      }
    }
  });
}

}  // namespace

void kernels_single_update(OpTable& table) {
  using namespace update;
  for (const char* op : {"sgd_update", "mp_sgd_update"})
    table.kernel<run_update<SgdParams, Sgd>>(op, "sgd_cpu");
  for (const char* op : {"sgd_mom_update", "mp_sgd_mom_update"})
    table.kernel<run_update<SgdMomParams, SgdMom>>(op, "sgd_mom_cpu");
  for (const char* op : {"nag_mom_update", "mp_nag_mom_update"}) table.kernel<nag>(op, "nag_cpu");
  table.kernel<run_update<AdamParams, Adam>>("adam_update", "adam_cpu");
  table.kernel<run_update<RmsPropParams, RmsProp>>("rmsprop_update", "rmsprop_cpu");
  table.kernel<run_update<RmsPropAlexParams, RmsPropAlex>>("rmspropalex_update", "rmspropalex_cpu");
  table.kernel<run_update<FtrlParams, Ftrl>>("ftrl_update", "ftrl_cpu");
  table.kernel<run_update<FtmlParams, Ftml>>("ftml_update", "ftml_cpu");
  table.kernel<run_update<SignSgdParams, SignSgd>>("signsgd_update", "signsgd_cpu");
  table.kernel<run_update<SignumParams, Signum>>("signum_update", "signum_cpu");
  table.kernel<run_update<AdagradParams, Adagrad>>("_sparse_adagrad_update", "adagrad_cpu");
  table.kernel<run_update<AdaDeltaParams, AdaDelta>>("_adadelta_update", "adadelta_cpu");
  table.kernel<run_update<AdamaxParams, Adamax>>("_adamax_update", "adamax_cpu");
  table.kernel<run_update<NadamParams, Nadam>>("_nadam_update", "nadam_cpu");
  table.kernel<group_adagrad>("_contrib_group_adagrad_update", "group_adagrad_cpu");
  table.kernel<run_update<LambPhase1Params, LambDirection>>("lamb_update_phase1", "lamb_phase1_cpu");
  table.kernel<lamb_phase2<false>>("lamb_update_phase2", "lamb_phase2_cpu");
  table.kernel<mp_lamb_phase1>("mp_lamb_update_phase1", "mp_lamb_phase1_cpu");
  table.kernel<lamb_phase2<true>>("mp_lamb_update_phase2", "mp_lamb_phase2_cpu");
  for (const char* op : {"_adamw_update", "_mp_adamw_update"}) table.kernel<adamw>(op, "adamw_cpu");
}

}  // namespace loomix::ops
