// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/arrays.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/math.h"
#include "ops/cuda/report.h"
#include "ops/cuda/word.h"
#include "ops/families_cuda.h"
#include "ops/random/random.h"

// The same counters as the host's kernels: element by element the same words.
namespace loomix::ops {
namespace {

using namespace cuda;

constexpr DeviceType kGpu = DeviceType::gpu;
using DeviceStream = PhiloxDraws<Math>;

// Rounded after the product and after the sum, as on the host.
template <class T>
__global__ void draw_uniform(int64_t count, RandomStream random, float low, float high, T* y) {
  const int64_t skipped = static_cast<int64_t>(random.offset % 4);
  for (const int64_t block : own_items((count + skipped + 3) / 4)) {
    const PhiloxBlock words = philox(random.seed, random.offset / 4 + static_cast<uint64_t>(block), 0);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int64_t i = 4 * block + k - skipped;
      if (i >= 0 && i < count)
        y[i] = store<T>(__fadd_rn(low, __fmul_rn(high - low, unit_float(words.word[k]))));
    }
  }
}

// Box and Muller's transform of words 2i and 2i + 1.
template <class T>
__global__ void draw_normal(int64_t count, RandomStream random, float mean, float deviation, T* y) {
  const auto word = [&](uint64_t n) { return philox(random.seed, n / 4, 0).word[n % 4]; };
  for (const int64_t i : own_items(count)) {
    const uint64_t n = random.offset + 2 * static_cast<uint64_t>(i);
    uint32_t first, second;
    if (n % 4 < 3) {
      const PhiloxBlock words = philox(random.seed, n / 4, 0);
      first = words.word[n % 4];
      second = words.word[n % 4 + 1];
    } else {
      first = word(n);
      second = word(n + 1);
    }
    const float radius = Math::sqrt(-2.0f * Math::log(1.0f - unit_float(first)));
    y[i] = store<T>(mean + deviation * radius * Math::cos(6.2831853f * unit_float(second)));
  }
}

template <class D>
__global__ void draw_by_streams(int64_t count, RandomStream random, double first, double second,
                                MutableAnyArray y) {
  for (const int64_t i : own_items(count)) {
    DeviceStream stream(random, i);
    y.set(i, D::draw(stream, first, second));
  }
}

template <class D, class P>
void draw_cuda(const P& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const Grid grid = grid_for(y.size());
  if constexpr (std::is_same_v<D, Uniform> || std::is_same_v<D, Normal>) {
    if (y.dtype != DType::float64) {
      return dispatch_floating(y.dtype, D::name, [&]<class T>(Type<T>) {
        launch(std::is_same_v<D, Uniform> ? draw_uniform<T> : draw_normal<T>, grid, stream_of(args), y.size(),
               args.random, p.first, p.second, y.mutable_as<T>());
      });
    }
  }
  launch(draw_by_streams<D>, grid, stream_of(args), y.size(), args.random, p.first, p.second,
         MutableAnyArray(y));
}

// ---- a block for each set of parameters ------------------------------------------------------------------------------------

struct Limits {
  double least;
  bool open, any;
  explicit Limits(const ParameterInfo& info)
      : least(info.least), open(info.limit == Limit::refused), any(info.least == kAnyValue) {}
  __device__ bool allow(double value) const {  // finite, too
    return value - value == 0 && (any || (open ? value > least : value >= least));
  }
};

template <class D>
__global__ void sample_by_streams(int64_t count, Divider block, RandomStream random, AnyArray first,
                                  AnyArray second, Limits first_limits, Limits second_limits,
                                  MutableAnyArray y, int64_t* fault) {
  for (const int64_t i : own_items(count)) {
    const int64_t set = block.quotient(i);
    const double a = first[set], b = second[set];
    if (!first_limits.allow(a) || !second_limits.allow(b)) {
      report(fault);
      continue;
    }
    DeviceStream stream(random, i);
    y.set(i, D::draw(stream, a, b));
  }
}

template <class D>
void sample_cuda(const KernelArgs& args, int64_t* fault) {
  const TensorView& y = args.out[0];
  constexpr size_t kLast = D::parameters.size() - 1;
  launch(sample_by_streams<D>, grid_for(y.size()), stream_of(args), y.size(),
         Divider(y.size() / args.in[0].size()), args.random, AnyArray(args.in[0]), AnyArray(args.in[kLast]),
         Limits(D::parameters[0]), Limits(D::parameters[kLast]), MutableAnyArray(y), fault);
}

template <class D>
void explain_sample(const KernelArgs& args) {
  for (size_t k = 0; k < args.in.size(); ++k) check_parameters<D>(HostCopy(args.in[k]).view(), k);
}

template <class D>
void add(KernelList& list) {
  const std::string name = D::name;
  add_checked<sample_cuda<D>, explain_sample<D>>(list, "_sample_" + name, "sample_cuda");
  list.kernel<draw_cuda<D, DrawParams<D>>>("_random_" + name, "draw_cuda", kGpu);
  list.kernel<draw_cuda<D, LikeParams<D>>>("_random_" + name + "_like", "draw_cuda", kGpu);
}

__global__ void draw_integers(int64_t count, RandomStream random, int64_t low, uint64_t range,
                              MutableIntegerArray y) {
  for (const int64_t i : own_items(count)) {
    DeviceStream stream(random, i);
    y.set(i, static_cast<int64_t>(static_cast<uint64_t>(low) + __umul64hi(range, stream.next64())));
  }
}

void randint_cuda(const RandintParams& p, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  launch(draw_integers, grid_for(y.size()), stream_of(args), y.size(), args.random, p.low,
         static_cast<uint64_t>(p.high) - static_cast<uint64_t>(p.low), MutableIntegerArray{y.data, y.dtype});
}

// ---- multinomial ----------------------------------------------------------------------------------------------------------

// One thread a row: sums are added in the order of the host's kernel, so that the same numbers are drawn.
__global__ void add_up_choices(int64_t rows, int64_t choices, AnyArray p, double* sums) {
  for (const int64_t row : own_items(rows)) {
    double total = 0;
    for (int64_t i = row * choices; i < (row + 1) * choices; ++i) sums[i] = total += p[i];
  }
}

__global__ void choose(int64_t count, Divider block, int64_t choices, RandomStream random, AnyArray p,
                       const double* all_sums, MutableAnyArray y, MutableAnyArray logs) {
  for (const int64_t k : own_items(count)) {
    const int64_t row = block.quotient(k);
    const double* const sums = all_sums + row * choices;
    const double point = DeviceStream(random, k).uniform() * sums[choices - 1];
    int64_t low = 0, high = choices - 1;  // the first sum above the point
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (sums[middle] > point) high = middle;
      else low = middle + 1;
    }
    y.set(k, low);
    if (logs.data != nullptr) logs.set(k, Math::log(p[row * choices + low]));
  }
}

size_t multinomial_scratch(const KernelSpec& spec) {
  return static_cast<size_t>(spec.in[0].size()) * sizeof(double);
}

void multinomial_cuda(const KernelArgs& args) {
  const TensorView& data = args.in[0];
  const int64_t choices = data.shape[data.shape.ndim() - 1];
  LOOMIX_CHECK(choices > 0, ValueError, "[sample_multinomial] data of shape {} has no choices.",
               data.shape.to_string());
  const int64_t rows = data.size() / choices, count = args.out[0].size();
  if (rows == 0 || count == 0) return;
  double* const sums = reinterpret_cast<double*>(args.scratch.data());
  launch(add_up_choices, grid_for(rows), stream_of(args), rows, choices, AnyArray(data), sums);
  launch(choose, grid_for(count), stream_of(args), count, Divider(count / rows), choices, args.random,
         AnyArray(data), sums, MutableAnyArray(args.out[0]),
         MutableAnyArray(args.out.size() > 1 ? args.out[1] : TensorView()));
}

// ---- shuffle -------------------------------------------------------------------------------------------------------------

template <class T>
struct GatherRows {
  Divider words;
  const int64_t* order;
  const T* from;
  T* to;
  __device__ void operator()(int64_t i) const {
    const int64_t row = words.quotient(i);
    to[i] = from[order[row] * words.divisor() + i - row * words.divisor()];
  }
};

size_t shuffle_scratch(const KernelSpec& spec) {
  return static_cast<size_t>(shuffled_rows(spec.in[0].shape)) * sizeof(int64_t);
}

// Each swap of the order depends on the one before, and none on the data: the host makes it, and keeps it until it is copied.
void shuffle_cuda(const AttrsBase&, const KernelArgs& args, engine::Completion completion) {
  if (registration::is_idle(args)) return completion.done();
  const TensorView &data = args.in[0], &out = args.out[0];
  const int64_t rows = shuffled_rows(data.shape);
  const auto order = std::make_shared<std::vector<int64_t>>(static_cast<size_t>(rows));
  shuffle_order(args.random, *order);
  auto* const on_device = reinterpret_cast<int64_t*>(args.scratch.data());
  check(cudaMemcpyAsync(on_device, order->data(), order->size() * sizeof(int64_t), cudaMemcpyHostToDevice,
                        stream_of(args)),
        "a copy");
  const int64_t bytes = data.bytes() / rows;
  const int64_t word = common_bytes(static_cast<uint64_t>(bytes) | reinterpret_cast<uintptr_t>(data.data) |
                                    reinterpret_cast<uintptr_t>(out.data));
  dispatch_bytes(word, [&]<class T>(Type<T>) {
    launch_each(stream_of(args), data.bytes() / word,
                GatherRows<T>{Divider(bytes / word), on_device, static_cast<const T*>(data.data),
                              static_cast<T*>(out.data)});
  });
  const auto end = std::make_shared<engine::Completion>(std::move(completion));
  when_done(*args.context->queue, false,
            [order, end](std::exception_ptr error) { error ? end->fail(std::move(error)) : end->done(); });
}

}  // namespace

void kernels_random_cuda(KernelList& list) {
  add<Uniform>(list);
  add<Normal>(list);
  add<Gamma>(list);
  add<Exponential>(list);
  add<Poisson>(list);
  add<NegativeBinomial>(list);
  add<GeneralizedNegativeBinomial>(list);
  add_async<NoParams, shuffle_scratch>(list, "_shuffle", "shuffle_cuda", shuffle_cuda);
  list.kernel<randint_cuda>("_random_randint", "randint_cuda", kGpu);
  list.kernel<multinomial_cuda, multinomial_scratch>("_sample_multinomial", "multinomial_cuda", kGpu);
}

}  // namespace loomix::ops
