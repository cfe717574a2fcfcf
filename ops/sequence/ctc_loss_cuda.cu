// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "ops/cuda/arrays.h"
#include "ops/cuda/index.h"
#include "ops/cuda/math.h"
#include "ops/cuda/reduce.h"
#include "ops/cuda/stream.h"
#include "ops/families_cuda.h"
#include "ops/scratch_slots.h"
#include "ops/sequence/sequence.h"

// As on the CPU (ctc_loss_cpu.cc says what alpha and beta are): a block for each sequence, a thread for each state, then for each
// class. Where the CPU raises an error for a sequence, its loss and slope are NaN: the host cannot ask without waiting.
namespace loomix::ops {
namespace {

using namespace cuda;

constexpr int kBlockThreads = 128;

template <class A>
__device__ A never() {
  return -std::numeric_limits<A>::infinity();
}

template <class A>
__device__ A log_add(A x, A y, A z) {
  const A top = max(x, max(y, z));
  if (top == never<A>()) return top;
  return top + Math::log(Math::exp(x - top) + Math::exp(y - top) + Math::exp(z - top));
}

// Class numbers and lengths of any type.
struct ReadWhole {
  AnyArray from;
  int64_t* to;
  __device__ void operator()(int64_t i) const { to[i] = from.whole(i); }
};
void read_whole(const TensorView& view, int64_t* to, cudaStream_t stream) {
  launch_each(stream, view.size(), ReadWhole{AnyArray(view), to});
}

// Sizes, and what lies in scratch memory.
template <class A>
struct Ctc {
  int64_t time, batch, classes, longest, blank, padding;
  const int64_t *labels, *times, *lengths;  // the last two may be null
  int64_t* state_class;                     // (batch, states)
  int64_t* first_state;                     // (batch, states): the first state of the same class
  A* log_sums;                              // (time, batch)
  A* alpha;                                 // (batch, time, states)
  A* beta;                                  // (batch, 2, states)

  __host__ __device__ int64_t states() const { return 2 * longest + 1; }

  // Lays the pieces out; gives their size.
  size_t lay_out(std::byte* memory, bool has_times, bool has_lengths) {
    size_t used = 0;
    const auto take = [&]<class T>(T*& piece, int64_t count) {
      piece = reinterpret_cast<T*>(memory + used);
      used += aligned(static_cast<size_t>(count) * sizeof(T));
    };
    int64_t *own_labels = nullptr, *own_times = nullptr, *own_lengths = nullptr;
    take(own_labels, batch * longest);
    if (has_times) take(own_times, batch);
    if (has_lengths) take(own_lengths, batch);
    take(state_class, batch * states());
    take(first_state, batch * states());
    take(log_sums, time * batch);
    take(alpha, batch * time * states());
    take(beta, batch * 2 * states());
    labels = own_labels, times = own_times, lengths = own_lengths;
    return used;
  }
};

// A warp for each row of scores.
template <class T, class A>
__global__ void sum_rows_kernel(int64_t rows, int64_t classes, const T* data, A* log_sums) {
  const int64_t warps = thread_count() / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int64_t row = thread_place() / kWarp; row < rows; row += warps) {
    const T* const scores = data + row * classes;
    A top = never<A>(), sum = 0;
    for (int64_t c = lane; c < classes; c += kWarp) top = Larger{}(top, load(scores[c]));
    top = merge_warp(top, Larger{});
    for (int64_t c = lane; c < classes; c += kWarp) sum += Math::exp(load(scores[c]) - top);
    sum = merge_warp(sum, Plus{});
    if (lane == 0) log_sums[row] = top + Math::log(sum);
  }
}

// One sequence: its length in time and states; -1 states where something is wrong, 0 where the label does not fit.
template <class A>
struct Spelt {
  int64_t time, states;

  __device__ Spelt(const Ctc<A>& p, int64_t n) {
    time = p.times != nullptr ? p.times[n] : p.time;
    const int64_t* const label = p.labels + n * p.longest;
    int64_t length = 0;
    if (p.lengths != nullptr) {
      length = p.lengths[n];
    } else {
      while (length < p.longest && label[length] != p.padding) ++length;
    }
    states = -1;
    if (time < 0 || time > p.time || length < 0 || length > p.longest) return;
    int64_t repeats = 0;
    for (int64_t i = 0; i < length; ++i) {
      if (label[i] < 0 || label[i] >= p.classes) return;
      if (i > 0 && label[i] == label[i - 1]) ++repeats;
    }
    states = length + repeats <= time ? 2 * length + 1 : 0;
  }
};

template <class T, class A>
struct Sequence {
  const Ctc<A>& p;
  const T* data;  // of the sequence
  int64_t n, states, time;
  const int64_t* state_class;
  A* alpha;

  __device__ A emit(int64_t t, int64_t s) const {
    return load(data[t * p.batch * p.classes + state_class[s]]) - p.log_sums[t * p.batch + n];
  }
  __device__ bool may_skip(int64_t s) const {
    return s >= 2 && state_class[s] != p.blank && state_class[s] != state_class[s - 2];
  }
  __device__ void forward() const {
    for (int64_t t = 0; t < time; ++t) {
      const A* const before = alpha + (t - 1) * states;
      for (int64_t s = threadIdx.x; s < states; s += blockDim.x) {
        A reached = s < 2 ? A{0} : never<A>();
        if (t > 0)
          reached = log_add(before[s], s > 0 ? before[s - 1] : never<A>(),
                            may_skip(s) ? before[s - 2] : never<A>());
        alpha[t * states + s] = emit(t, s) + reached;
      }
      __syncthreads();
    }
  }
  __device__ A loss() const {
    if (time == 0) return 0;
    const A* const last = alpha + (time - 1) * states;
    return -log_add(last[states - 1], states > 1 ? last[states - 2] : never<A>(), never<A>());
  }
  // beta at t from that at t + 1.
  __device__ A step_back(int64_t t, const A* after, int64_t s) const {
    if (t == time - 1) return s + 2 >= states ? A{0} : never<A>();
    const auto from = [&](int64_t next) { return after[next] + emit(t + 1, next); };
    return log_add(from(s), s + 1 < states ? from(s + 1) : never<A>(),
                   s + 2 < states && may_skip(s + 2) ? from(s + 2) : never<A>());
  }
  // The slope: the softmax less the probability that a path emits the class at that time. Sums over states of one class are the work
  // of the thread of the first of them, so their order is fixed.
  __device__ void backward(T* slope, A* beta, const int64_t* first_state) const {
    for (int64_t t = time - 1; t >= 0; --t) {
      A* const now = beta + t % 2 * states;
      const A* const after = beta + (t + 1) % 2 * states;
      A* const weights = alpha + t * states;  // alpha is not needed any more
      A top = never<A>(), total = 0;
      for (int64_t s = threadIdx.x; s < states; s += blockDim.x) {
        now[s] = step_back(t, after, s);
        weights[s] += now[s];
        top = max(top, weights[s]);
      }
      top = merge_block(top, never<A>(), Larger{});
      for (int64_t s = threadIdx.x; s < states; s += blockDim.x) {
        weights[s] = Math::exp(weights[s] - top);
        total += weights[s];
      }
      total = merge_block(total, A{0}, Plus{});  // ends with a barrier
      T* const out = slope + t * p.batch * p.classes;
      const T* const scores = data + t * p.batch * p.classes;
      const A log_sum = p.log_sums[t * p.batch + n];
      for (int64_t c = threadIdx.x; c < p.classes; c += blockDim.x)
        out[c] = store<T>(Math::exp(load(scores[c]) - log_sum));
      __syncthreads();
      for (int64_t s = threadIdx.x; s < states; s += blockDim.x) {
        if (first_state[s] != s) continue;
        A mass = 0;
        for (int64_t other = s; other < states; ++other) {
          if (first_state[other] == s) mass += weights[other];
        }
        const int64_t c = state_class[s];
        out[c] = store<T>(Math::exp(load(scores[c]) - log_sum) - mass / total);
      }
      __syncthreads();
    }
  }
};

template <class T, class A>
__global__ void ctc_kernel(Ctc<A> p, const T* data, T* loss, T* slope) {
  const int64_t n = blockIdx.x;
  const Spelt<A> spelt(p, n);
  const int64_t row = p.batch * p.classes;
  if (spelt.states <= 0) {
    const A value = spelt.states < 0 ? std::numeric_limits<A>::quiet_NaN() : A{0};
    if (threadIdx.x == 0 && loss != nullptr) loss[n] = store<T>(value);
    for (int64_t i = threadIdx.x; slope != nullptr && i < p.time * p.classes; i += blockDim.x)
      slope[i / p.classes * row + n * p.classes + i % p.classes] = store<T>(value);
    return;
  }
  const int64_t states = spelt.states;
  int64_t* const state_class = p.state_class + n * p.states();
  int64_t* const first_state = p.first_state + n * p.states();
  for (int64_t s = threadIdx.x; s < states; s += blockDim.x)
    state_class[s] = s % 2 == 0 ? p.blank : p.labels[n * p.longest + s / 2];
  __syncthreads();
  for (int64_t s = threadIdx.x; s < states; s += blockDim.x) {
    int64_t first = 0;
    while (state_class[first] != state_class[s]) ++first;
    first_state[s] = first;
  }
  __syncthreads();
  const Sequence<T, A> sequence{
      p, data + n * p.classes, n, states, spelt.time, state_class, p.alpha + n * p.time * p.states()};
  sequence.forward();
  if (threadIdx.x == 0 && loss != nullptr) loss[n] = store<T>(sequence.loss());
  if (slope == nullptr) return;
  __syncthreads();
  sequence.backward(slope + n * p.classes, p.beta + n * 2 * p.states(), first_state);
  for (int64_t i = spelt.time * p.classes + threadIdx.x; i < p.time * p.classes; i += blockDim.x)
    slope[i / p.classes * row + n * p.classes + i % p.classes] = T{};
}

template <class A>
Ctc<A> sizes_of(const CtcParams& p, const Shape& data, const Shape& label) {
  Ctc<A> ctc{};
  const bool first = p.blank_label == BlankLabel::first;
  ctc.time = data[0], ctc.batch = data[1], ctc.classes = data[2], ctc.longest = label[1];
  ctc.blank = first ? 0 : ctc.classes - 1;
  ctc.padding = first ? 0 : -1;
  return ctc;
}

size_t ctc_scratch(const CtcParams& p, const KernelSpec& spec) {
  const auto bytes = [&]<class A>(A) {
    Ctc<A> ctc = sizes_of<A>(p, spec.in[0].shape, spec.in[1].shape);
    return ctc.lay_out(nullptr, p.use_data_lengths, p.use_label_lengths);
  };
  return spec.in[0].dtype == DType::float64 ? bytes(double{}) : bytes(float{});
}

// data, label, lengths -> the loss of each sequence, and its slope to the data, which is skipped if nobody wants it.
void ctc_loss_cuda(const CtcParams& p, const KernelArgs& args) {
  dispatch_floating(args.in[0].dtype, "CTCLoss", [&]<class T>(Type<T>) {
    using A = Accum<T>;
    const cudaStream_t stream = stream_of(args);
    Ctc<A> ctc = sizes_of<A>(p, args.in[0].shape, args.in[1].shape);
    if (ctc.batch == 0) return;
    ctc.lay_out(args.scratch.data(), p.use_data_lengths, p.use_label_lengths);
    read_whole(args.in[1], const_cast<int64_t*>(ctc.labels), stream);
    if (ctc.times) read_whole(args.in[2], const_cast<int64_t*>(ctc.times), stream);
    if (ctc.lengths) read_whole(args.in[ctc.times ? 3 : 2], const_cast<int64_t*>(ctc.lengths), stream);
    const int64_t rows = ctc.time * ctc.batch;
    const T* const data = args.in[0].as<T>();
    if (rows > 0)
      launch(sum_rows_kernel<T, A>, grid_for(rows * kWarp), stream, rows, ctc.classes, data, ctc.log_sums);
    launch(ctc_kernel<T, A>, {unsigned(ctc.batch), kBlockThreads}, stream, ctc, data, args.wanted<T>(0),
           args.wanted<T>(1));
  });
}

// head, slope -> slope times the head of each sequence.
template <class T>
struct TimesHead {
  Divider classes, batch;
  const T* head;
  const T* slope;
  T* to;
  __device__ void operator()(int64_t i) const {
    const int64_t row = classes.quotient(i);
    const int64_t n = row - batch.quotient(row) * batch.divisor();
    to[i] = store<T>(load(head[n]) * load(slope[i]));
  }
};
void backward_ctc_loss_cuda(const KernelArgs& args) {
  const TensorView& out = args.out[0];
  dispatch_floating(out.dtype, "CTCLoss", [&]<class T>(Type<T>) {
    launch_each(stream_of(args), out.size(),
                TimesHead<T>{Divider(out.shape[2]), Divider(out.shape[1]), args.in[0].as<T>(),
                             args.in[1].as<T>(), out.mutable_as<T>()});
  });
}

}  // namespace

void kernels_ctc_loss_cuda(KernelList& list) {
  list.kernel<ctc_loss_cuda, ctc_scratch>("CTCLoss", "ctc_loss_cuda", DeviceType::gpu);
  list.kernel<backward_ctc_loss_cuda>("_backward_CTCLoss", "backward_ctc_loss_cuda", DeviceType::gpu);
}

}  // namespace loomix::ops
