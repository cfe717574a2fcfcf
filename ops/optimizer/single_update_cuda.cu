// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/lines.h"
#include "ops/cuda/math.h"
#include "ops/families_cuda.h"
#include "ops/optimizer/update_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

constexpr DeviceType kGpu = DeviceType::gpu;

// make(Type<A>) gives the rule.
template <class Make>
void update_one(Make&& make, const TensorView& weight, const TensorView& grad,
                std::span<const TensorView> states, const TensorView* weight32, const TensorView& out,
                const UpdateScalars& scalars, cudaStream_t stream) {
  const auto run = [&]<class A>(Type<A> type) {
    const auto rule = make(type);
    using Rule = std::remove_const_t<decltype(rule)>;
    Updater<Rule, A, 1> updater(scalars, stream);
    updater.add(rule, weight, grad, states, weight32, out, 0);
    updater.flush();
  };
  if (weight.dtype == DType::float64) run(Type<double>{});
  else run(Type<float>{});
}

// weight, grad, states, (weight32) -> new weight.
template <class P, template <class> class Rule>
void update_cuda(const P& p, const KernelArgs& args) {
  const auto states = args.in.subspan(2, Rule<float>::kStates);
  update_one([&]<class A>(Type<A>) { return Rule<A>(p); }, args.in[0], args.in[1], states,
             args.in.size() > 2 + states.size() ? &args.in.back() : nullptr, args.out[0], {},
             stream_of(args));
}

// weight, grad, momentum, (weight32), which is written in place.
void nag_cuda(const NagParams& p, const KernelArgs& args) {
  const bool mixed = args.in.size() > 3;
  const bool in_place = mixed || args.in[0].data == args.out[0].data;
  update_one([&]<class A>(Type<A>) { return update::Nag<A>(p, in_place); }, args.in[0], args.in[1],
             args.in.subspan(2, 1), mixed ? &args.in[3] : nullptr, args.out[0], {}, stream_of(args));
}

// weight, grad, mean, var, (weight32), rescale_grad.
void adamw_cuda(const AdamWParams& p, const KernelArgs& args) {
  UpdateScalars scalars;
  scalars.scale = AnyArray(args.in.back());
  update_one([&]<class A>(Type<A>) { return update::AdamW<A>(p, A(p.lr), A(p.wd), A(p.eta), A(1)); },
             args.in[0], args.in[1], args.in.subspan(2, 2), args.in.size() > 5 ? &args.in[4] : nullptr,
             args.out[0], scalars, stream_of(args));
}

// The direction of the step in float32; weight32 is only read.
void mp_lamb_phase1_cuda(const LambPhase1Params& p, const KernelArgs& args) {
  update_one([&]<class A>(Type<A>) { return update::LambDirection<A>(p); }, args.in[4], args.in[1],
             args.in.subspan(2, 2), nullptr, args.out[0], {}, stream_of(args));
}

template <class A>
__global__ void lamb_step(int64_t count, NumberArray<A> weight, NumberArray<A> direction, float* weight32,
                          AnyArray weight_norm, AnyArray step_norm, LambPhase2Params p, NumberArray<A> out) {
  const A rate =
      static_cast<A>(update::lamb_rate(p.lr, static_cast<float>(weight_norm[0]),
                                       static_cast<float>(step_norm[0]), p.lower_bound, p.upper_bound));
  for (const int64_t i : own_items(count)) {
    const A w = weight32 != nullptr ? static_cast<A>(weight32[i]) : weight.get(i);
    const A next = w - rate * direction.get(i);
    if (weight32 != nullptr) weight32[i] = static_cast<float>(next);
    out.set(i, next);
  }
}

// weight, direction, norms of both, (weight32).
void lamb_phase2_cuda(const LambPhase2Params& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  const auto run = [&]<class A>(Type<A>) {
    launch(lamb_step<A>, grid_for(out.size()), stream_of(args), out.size(), NumberArray<A>(args.in[0]),
           NumberArray<A>(args.in[1]), args.in.size() > 4 ? args.in[4].mutable_as<float>() : nullptr,
           AnyArray(args.in[2]), AnyArray(args.in[3]), p, NumberArray<A>(out));
  };
  if (out.dtype == DType::float64) run(Type<double>{});
  else run(Type<float>{});
}

// One history value a row.
template <class T>
__global__ void group_adagrad_rows(Lines rows, update::Rescale<Computed<T>> rescale, Computed<T> lr,
                                   Computed<T> epsilon, const T* weight, const T* grad, T* history, T* out) {
  using A = Computed<T>;
  each_line(rows, [&](int64_t row, int64_t first) {
    const A sum = sum_line<A>(rows.size, [&](int64_t i) {
      const A g = rescale(load(grad[first + i]));
      return g * g;
    });
    const A kept = load(history[row]) + sum / A(rows.size);
    const A rate = lr / Math::sqrt(kept + epsilon);
    for (int64_t i = threadIdx.x; i < rows.size; i += blockDim.x)
      out[first + i] = store<T>(load(weight[first + i]) - rate * rescale(load(grad[first + i])));
    // All have read the row's history.
    if (blockDim.x == kWarp) __syncwarp();
    else if (blockDim.x > kWarp) __syncthreads();
    if (threadIdx.x == 0) history[row] = store<T>(kept);
  });
}

void group_adagrad_cuda(const GroupAdagradParams& p, const KernelArgs& args) {
  const TensorView& weight = args.in[0];
  const int64_t count = weight.shape[0];
  const Lines rows(AxisSplit(Shape{count, count > 0 ? weight.size() / count : 0}, 1));
  dispatch_floating(weight.dtype, "_contrib_group_adagrad_update", [&]<class T>(Type<T>) {
    using A = Computed<T>;
    launch(group_adagrad_rows<T>, rows.grid(), stream_of(args), rows, update::Rescale<A>(p), p.lr, p.epsilon,
           weight.as<T>(), args.in[1].as<T>(), args.in[2].mutable_as<T>(), args.out[0].mutable_as<T>());
  });
}

}  // namespace

void kernels_single_update_cuda(KernelList& list) {
  using namespace update;
  for (const char* op : {"sgd_update", "mp_sgd_update"})
    list.kernel<update_cuda<SgdParams, Sgd>>(op, "sgd_cuda", kGpu);
  for (const char* op : {"sgd_mom_update", "mp_sgd_mom_update"})
    list.kernel<update_cuda<SgdMomParams, SgdMom>>(op, "sgd_mom_cuda", kGpu);
  for (const char* op : {"nag_mom_update", "mp_nag_mom_update"}) list.kernel<nag_cuda>(op, "nag_cuda", kGpu);
  list.kernel<update_cuda<AdamParams, Adam>>("adam_update", "adam_cuda", kGpu);
  list.kernel<update_cuda<RmsPropParams, RmsProp>>("rmsprop_update", "rmsprop_cuda", kGpu);
  list.kernel<update_cuda<RmsPropAlexParams, RmsPropAlex>>("rmspropalex_update", "rmspropalex_cuda", kGpu);
  list.kernel<update_cuda<FtrlParams, Ftrl>>("ftrl_update", "ftrl_cuda", kGpu);
  list.kernel<update_cuda<FtmlParams, Ftml>>("ftml_update", "ftml_cuda", kGpu);
  list.kernel<update_cuda<SignSgdParams, SignSgd>>("signsgd_update", "signsgd_cuda", kGpu);
  list.kernel<update_cuda<SignumParams, Signum>>("signum_update", "signum_cuda", kGpu);
  list.kernel<update_cuda<AdagradParams, Adagrad>>("_sparse_adagrad_update", "adagrad_cuda", kGpu);
  list.kernel<update_cuda<AdaDeltaParams, AdaDelta>>("_adadelta_update", "adadelta_cuda", kGpu);
  list.kernel<update_cuda<AdamaxParams, Adamax>>("_adamax_update", "adamax_cuda", kGpu);
  list.kernel<update_cuda<NadamParams, Nadam>>("_nadam_update", "nadam_cuda", kGpu);
  list.kernel<group_adagrad_cuda>("_contrib_group_adagrad_update", "group_adagrad_cuda", kGpu);
  list.kernel<update_cuda<LambPhase1Params, LambDirection>>("lamb_update_phase1", "lamb_phase1_cuda", kGpu);
  list.kernel<mp_lamb_phase1_cuda>("mp_lamb_update_phase1", "lamb_phase1_cuda", kGpu);
  for (const char* op : {"lamb_update_phase2", "mp_lamb_update_phase2"})
    list.kernel<lamb_phase2_cuda>(op, "lamb_phase2_cuda", kGpu);
  for (const char* op : {"_adamw_update", "_mp_adamw_update"})
    list.kernel<adamw_cuda>(op, "adamw_cuda", kGpu);
}

}  // namespace loomix::ops
