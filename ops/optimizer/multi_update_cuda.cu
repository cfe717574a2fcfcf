// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/fold.h"
#include "ops/cuda/math.h"
#include "ops/families_cuda.h"
#include "ops/optimizer/update_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

constexpr DeviceType kGpu = DeviceType::gpu;

template <class Fn>
void with_computed(DType dtype, Fn&& fn) {
  if (dtype == DType::float64) fn(Type<double>{});
  else fn(Type<float>{});
}

// Weights whose arrays are weight, grad, states, and weight32 where one is kept. rule(Type<A>, i) is that of weight i.
template <template <class> class Rule, class Make>
void update_all(const KernelArgs& args, std::span<const TensorView> arrays, const UpdateScalars& scalars,
                Make&& make) {
  constexpr size_t kStates = Rule<float>::kStates;
  const size_t stride = arrays.size() / args.out.size();
  with_computed(args.in[0].dtype, [&]<class A>(Type<A> type) {
    Updater<Rule<A>, A, kUpdateItems<Rule<A>, A>> updater(scalars, stream_of(args));
    for (size_t i = 0; i < args.out.size(); ++i) {
      if (args.req[i] == Req::null) continue;
      const auto in = arrays.subspan(i * stride, stride);
      updater.add(make(type, i), in[0], in[1], in.subspan(2, kStates),
                  stride > 2 + kStates ? &in.back() : nullptr, args.out[i], static_cast<int>(i));
    }
    updater.flush();
  });
}

Support one_precision(std::span<const TensorView> weights, size_t stride) {
  for (size_t i = 0; i < weights.size(); i += stride) {
    if ((weights[i].dtype == DType::float64) != (weights[0].dtype == DType::float64))
      return Support::no("some weights are float64, and some are not");
  }
  return Support::yes();
}
template <size_t scalars>
Support one_precision_of(const KernelSpec& spec) {
  const auto arrays = spec.in.first(spec.in.size() - scalars);
  return one_precision(arrays, arrays.size() / spec.out.size());
}

template <template <class> class Rule, class P>
void multi_sgd_cuda(const P& p, const KernelArgs& args) {
  update_all<Rule>(args, args.in, {},
                   [&]<class A>(Type<A>, size_t i) { return Rule<A>(p, A(p.lrs[i]), A(p.wds[i])); });
}

// The rates are arrays, behind all others.
template <template <class> class Rule, class P>
void preloaded_multi_sgd_cuda(const P& p, const KernelArgs& args) {
  const size_t arrays = args.in.size() - 2;
  UpdateScalars scalars;
  scalars.rates = AnyArray(args.in[arrays]);
  scalars.decays = AnyArray(args.in[arrays + 1]);
  update_all<Rule>(args, args.in.first(arrays), scalars,
                   [&]<class A>(Type<A>, size_t) { return Rule<A>(p, A(0), A(0)); });
}

void multi_adamw_cuda(const MultiAdamWParams& p, const KernelArgs& args) {
  UpdateScalars scalars;
  scalars.scale = AnyArray(args.in.back());
  update_all<update::AdamW>(args, args.in.first(args.in.size() - 1), scalars,
                            [&]<class A>(Type<A>, size_t i) {
                              return update::AdamW<A>(p, A(p.lrs[i]), A(p.wds[i]), A(p.etas[i]), A(1));
                            });
}

// ---- the sum of one array's squares --------------------------------------------------------------------------------------

struct FoldSquares {
  using Acc = double;
  AnyArray x;
  __device__ Acc init() const { return 0; }
  __device__ Acc add(Acc acc, int64_t at, int64_t) const {
    const double item = x[at];
    return acc + item * item;
  }
  __device__ Acc merge(Acc a, Acc b) const { return a + b; }
};
struct PutNumber {
  float* y;
  bool root;
  __device__ void operator()(int64_t, double sum) const {
    *y = static_cast<float>(root ? Math::sqrt(sum) : sum);
  }
};

FoldPlan whole(const Shape& shape) { return FoldPlan(Shape{1, shape.size()}, axes_but(0, 2)); }
size_t squares_scratch(const KernelSpec& spec) {
  size_t most = 0;
  for (const TensorView& x : spec.in) most = std::max(most, whole(x.shape).scratch_bytes(sizeof(double)));
  return most;
}

// ---- many arrays in one launch ---------------------------------------------------------------------------------------------

// Each array has a run of blocks.
struct ArrayTable {
  static constexpr int kMost = 120;
  AnyArray array[kMost];
  int64_t count[kMost];
  int first_block[kMost + 1];
  int items;

  Grid grid() const { return {static_cast<unsigned>(first_block[items]), kUpdateThreads}; }
  // fn(element) for those of this thread.
  template <class Fn>
  __device__ void each_own(Fn fn) const {
    const int block = static_cast<int>(blockIdx.x);
    int number = 0;
    while (number + 1 < items && first_block[number + 1] <= block) ++number;
    const int64_t step = static_cast<int64_t>(first_block[number + 1] - first_block[number]) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(block - first_block[number]) * blockDim.x + threadIdx.x;
         i < count[number]; i += step)
      fn(array[number][i]);
  }
};
static_assert(sizeof(ArrayTable) <= 4000);  // kernels take 4 KB of parameters

int64_t blocks_of(int64_t size, int64_t most) {
  return std::clamp<int64_t>(ceil_divide(size, kUpdatesABlock), 1, most);
}

// fn(table, number of its first array) until all arrays had their turn.
template <class Fn>
void each_table(std::span<const TensorView> arrays, int64_t most_blocks, Fn&& fn) {
  for (size_t first = 0; first < arrays.size(); first += ArrayTable::kMost) {
    ArrayTable table = {};
    for (const TensorView& x :
         arrays.subspan(first, std::min<size_t>(ArrayTable::kMost, arrays.size() - first))) {
      const int i = table.items++;
      table.array[i] = AnyArray(x);
      table.count[i] = x.size();
      table.first_block[i + 1] = table.first_block[i] + static_cast<int>(blocks_of(x.size(), most_blocks));
    }
    fn(table, first);
  }
}

// The sums of several arrays' squares: one for each block, and then of those. The order does not depend on how many are in a call.
constexpr int64_t kSquareBlocks = 512;

__global__ void square_blocks(ArrayTable table, double* parts) {
  double sum = 0;
  table.each_own([&](double item) { sum += item * item; });
  sum = merge_block(sum, 0.0, Plus());
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}
__global__ void add_blocks(ArrayTable table, const double* parts, PutNumber out) {
  const int first = table.first_block[blockIdx.x], end = table.first_block[blockIdx.x + 1];
  double sum = 0;
  for (int i = first + static_cast<int>(threadIdx.x); i < end; i += static_cast<int>(blockDim.x))
    sum += parts[i];
  sum = merge_block(sum, 0.0, Plus());
  out.y += blockIdx.x;
  if (threadIdx.x == 0) out(0, sum);
}

size_t parts_scratch(std::span<const TensorView> arrays) {
  int64_t blocks = 0;
  for (const TensorView& x : arrays) blocks += blocks_of(x.size(), kSquareBlocks);
  return static_cast<size_t>(blocks) * sizeof(double);
}
// To out[i], of array i; or their roots.
void sum_squares(std::span<const TensorView> arrays, float* out, bool roots, std::span<std::byte> scratch,
                 cudaStream_t stream) {
  auto* const parts = reinterpret_cast<double*>(scratch.data());
  each_table(arrays, kSquareBlocks, [&](const ArrayTable& table, size_t first) {
    launch(square_blocks, table.grid(), stream, table, parts);
    launch(add_blocks, Grid{static_cast<unsigned>(table.items), kUpdateThreads}, stream, table,
           static_cast<const double*>(parts), PutNumber{out + first, roots});
  });
}

size_t multi_sum_sq_scratch(const KernelSpec& spec) { return parts_scratch(spec.in); }
void multi_sum_sq_cuda(const KernelArgs& args) {
  sum_squares(args.in, args.out[0].mutable_as<float>(), false, args.scratch, stream_of(args));
}

// ---- LAMB ---------------------------------------------------------------------------------------------------------------

template <class A>
__global__ void lamb_step(int64_t count, NumberArray<A> weight, const A* direction, const float* norms,
                          float lr, float lower, float upper, bool keeps_weight, const float* factor,
                          NumberArray<A> out) {
  // The step is skipped, and no direction was made.
  if (factor != nullptr && (*factor == 0 || !(*factor - *factor == 0))) {
    for (const int64_t i : own_items(count)) out.set(i, weight.get(i));
    return;
  }
  const A rate = static_cast<A>(update::lamb_rate(lr, norms[0], norms[1], lower, upper));
  for (const int64_t i : own_items(count)) {
    const A next = weight.get(i) - rate * direction[i];
    if (keeps_weight) weight.set(i, next);
    out.set(i, next);
  }
}

constexpr size_t kNormBytes = 64;

// Two norms, the direction of a step, and what the norms' sums need.
size_t multi_lamb_scratch(const KernelSpec& spec) {
  size_t most = 0;
  for (const TensorView& x : spec.in) most = std::max(most, static_cast<size_t>(x.size()));
  return kNormBytes + (most * sizeof(double) + 63) / 64 * 64 + squares_scratch(spec);
}

template <bool mixed>
void multi_lamb_cuda(const MultiLambParams& p, const KernelArgs& args) {
  constexpr size_t kStride = mixed ? 5 : 4;
  const cudaStream_t stream = stream_of(args);
  float* const norms = reinterpret_cast<float*>(args.scratch.data());
  for (size_t tensor = 0; tensor < args.out.size(); ++tensor) {
    const auto in = args.in.subspan(tensor * kStride, kStride);
    const int64_t size = in[0].size();
    if (args.req[tensor] == Req::null || size == 0) continue;
    const TensorView& weight = mixed ? in[4] : in[0];
    with_computed(weight.dtype, [&]<class A>(Type<A>) {
      const TensorView direction{args.scratch.data() + kNormBytes, dtype_of<A>(), in[0].shape};
      const auto parts =
          args.scratch.subspan(kNormBytes + (static_cast<size_t>(size) * sizeof(double) + 63) / 64 * 64);
      Updater<update::LambDirection<A>, A, 1> updater({}, stream);
      updater.add(update::LambDirection<A>(p, A(p.wds[tensor]), p.step_count[tensor]), weight, in[1],
                  in.subspan(2, 2), nullptr, direction, 0);
      updater.flush();
      const FoldPlan plan = whole(in[0].shape);
      run_fold(plan, FoldSquares{AnyArray(weight)}, PutNumber{norms, true}, parts, stream);
      run_fold(plan, FoldSquares{AnyArray(direction)}, PutNumber{norms + 1, true}, parts, stream);
      launch(lamb_step<A>, grid_for(size), stream, size, NumberArray<A>(weight), direction.as<A>(), norms,
             p.learning_rates[tensor], p.lower_bound, p.upper_bound, mixed, ops::StepFactor::current(),
             NumberArray<A>(args.out[tensor]));
    });
  }
}

// ---- the rest -----------------------------------------------------------------------------------------------------------

template <class A>
__global__ void lars_rates(int64_t count, NumberArray<A> rates, NumberArray<A> weights, NumberArray<A> grads,
                           NumberArray<A> decays, MultiLarsParams p, NumberArray<A> out) {
  for (const int64_t i : own_items(count)) {
    const A weight_norm = Math::sqrt(weights.get(i)),
            grad_norm = Math::sqrt(grads.get(i)) * A(p.rescale_grad);
    out.set(i, update::lars_rate(p, rates.get(i), decays.get(i), weight_norm, grad_norm));
  }
}

// lrs, weights' and gradients' sums of squares, wds -> new rates.
void multi_lars_cuda(const MultiLarsParams& p, const KernelArgs& args) {
  const TensorView& out = args.out[0];
  with_computed(out.dtype, [&]<class A>(Type<A>) {
    launch(lars_rates<A>, grid_for(out.size()), stream_of(args), out.size(), NumberArray<A>(args.in[0]),
           NumberArray<A>(args.in[1]), NumberArray<A>(args.in[2]), NumberArray<A>(args.in[3]), p,
           NumberArray<A>(out));
  });
}

constexpr int kLarsWeights = 128;
struct LarsTable {
  float lr[kLarsWeights], wd[kLarsWeights];
  float eta, eps, rescale_grad;
};

__global__ void lars_rates_of_norms(int64_t count, LarsTable p, const float* norms, const float* factor,
                                    float* rates, float* decays) {
  const float scale = p.rescale_grad * (factor != nullptr ? *factor : 1);
  for (const int64_t i : own_items(count)) {
    rates[i] = update::lars_rate(p, p.lr[i], p.wd[i], norms[2 * i], norms[2 * i + 1] * scale);
    decays[i] = p.wd[i];
  }
}

size_t norms_bytes(size_t arrays) { return (arrays * sizeof(float) + 63) / 64 * 64; }
size_t lars_rates_scratch(const KernelSpec& spec) {
  return norms_bytes(spec.in.size() - 2) + parts_scratch(spec.in.subspan(2));
}

// rates and decays, which are written; weight, grad of each.
void multi_lars_rates_cuda(const LarsRatesParams& p, const KernelArgs& args) {
  const cudaStream_t stream = stream_of(args);
  const auto arrays = args.in.subspan(2);
  float* const norms = reinterpret_cast<float*>(args.scratch.data());
  sum_squares(arrays, norms, true, args.scratch.subspan(norms_bytes(arrays.size())), stream);
  for (size_t first = 0; first < p.lrs.size(); first += kLarsWeights) {
    const size_t count = std::min<size_t>(kLarsWeights, p.lrs.size() - first);
    LarsTable table = {};
    table.eta = p.eta;
    table.eps = p.eps;
    table.rescale_grad = p.rescale_grad;
    std::copy_n(&p.lrs[first], count, table.lr);
    std::copy_n(&p.wds[first], count, table.wd);
    const auto items = static_cast<int64_t>(count);
    launch(lars_rates_of_norms, grid_for(items), stream, items, table, norms + 2 * first,
           ops::StepFactor::current(), args.out[0].mutable_as<float>() + first,
           args.out[1].mutable_as<float>() + first);
  }
}

__global__ void start_flag(bool init, float* flag) { *flag = init || *flag != 0 ? 1 : 0; }

__global__ void clear_unless_finite(ArrayTable table, float* flag) {
  table.each_own([&](double item) {
    if (!(item - item == 0)) *flag = 0;  // all that write write the same
  });
}

template <class P>
void all_finite_cuda(const P& p, const KernelArgs& args) {
  float* const out = args.out[0].mutable_as<float>();
  launch(start_flag, Grid{}, stream_of(args), p.init_output, out);
  each_table(args.in, 4096, [&](const ArrayTable& table, size_t) {
    launch(clear_unless_finite, table.grid(), stream_of(args), table, out);
  });
}

void reset_arrays_cuda(const KernelArgs& args) {
  for (const TensorView& view : args.in) {
    if (view.size() > 0)
      check(cudaMemsetAsync(view.data, 0, static_cast<size_t>(view.bytes()), stream_of(args)),
            "a reset of arrays");
  }
}

}  // namespace

void kernels_multi_update_cuda(KernelList& list) {
  using update::Sgd;
  using update::SgdMom;
  for (const char* op : {"multi_sgd_update", "multi_mp_sgd_update"})
    list.kernel<multi_sgd_cuda<Sgd, MultiSgdParams>, one_precision_of<0>>(op, "multi_sgd_cuda", kGpu);
  for (const char* op : {"multi_sgd_mom_update", "multi_mp_sgd_mom_update"})
    list.kernel<multi_sgd_cuda<SgdMom, MultiSgdMomParams>, one_precision_of<0>>(op, "multi_sgd_mom_cuda",
                                                                                kGpu);
  for (const char* op : {"preloaded_multi_sgd_update", "preloaded_multi_mp_sgd_update"}) {
    list.kernel<preloaded_multi_sgd_cuda<Sgd, PreloadedSgdParams>, one_precision_of<2>>(
        op, "preloaded_multi_sgd_cuda", kGpu);
  }
  for (const char* op : {"preloaded_multi_sgd_mom_update", "preloaded_multi_mp_sgd_mom_update"}) {
    list.kernel<preloaded_multi_sgd_cuda<SgdMom, PreloadedSgdMomParams>, one_precision_of<2>>(
        op, "preloaded_multi_sgd_mom_cuda", kGpu);
  }
  for (const char* op : {"_multi_adamw_update", "_multi_mp_adamw_update"})
    list.kernel<multi_adamw_cuda, one_precision_of<1>>(op, "multi_adamw_cuda", kGpu);
  list.kernel<multi_lamb_cuda<false>, multi_lamb_scratch>("_multi_lamb_update", "multi_lamb_cuda", kGpu);
  list.kernel<multi_lamb_cuda<true>, multi_lamb_scratch>("_multi_mp_lamb_update", "multi_lamb_cuda", kGpu);
  list.kernel<multi_sum_sq_cuda, multi_sum_sq_scratch>("multi_sum_sq", "multi_sum_sq_cuda", kGpu);
  list.kernel<multi_lars_cuda>("multi_lars", "multi_lars_cuda", kGpu);
  list.kernel<multi_lars_rates_cuda, lars_rates_scratch>("_multi_lars_rates", "multi_lars_rates_cuda", kGpu);
  list.kernel<all_finite_cuda<AllFiniteParams>>("all_finite", "all_finite_cuda", kGpu);
  list.kernel<all_finite_cuda<MultiAllFiniteParams>>("multi_all_finite", "multi_all_finite_cuda", kGpu);
  list.kernel<reset_arrays_cuda>("reset_arrays", "reset_arrays_cuda", kGpu);
}

}  // namespace loomix::ops
