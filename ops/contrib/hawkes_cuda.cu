// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/hawkes_rules.h"
#include "ops/cuda/report.h"
#include "ops/families_cuda.h"

namespace loomix::ops {
namespace {

using namespace cuda;

// A thread a sequence. The marks that it leaves in memory have the slopes.
template <class T>
struct Follow {
  HawkesInputs<T> in;
  HawkesMark* memory;
  T *out, *state;  // either may be null
  int64_t* fault;
  __device__ void operator()(int64_t n) const {
    double log_likelihood = 0;
    HawkesMark* const marks = memory + n * in.marks;
    if (!follow_hawkes(in, n, marks, log_likelihood)) return report(fault);
    if (out != nullptr) out[n] = static_cast<T>(log_likelihood);
    for (int64_t k = 0; state != nullptr && k < in.marks; ++k)
      state[n * in.marks + k] = static_cast<T>(marks[k].state);
  }
};

template <class T>
struct Slopes {
  const HawkesMark* memory;
  int64_t marks;
  const T *head, *head_state;
  T *lda, *state;  // either may be null
  __device__ void operator()(int64_t i) const {
    const HawkesMark& mark = memory[i];
    const double factor = double(head[i / marks]);
    if (lda != nullptr) lda[i] = static_cast<T>(mark.to_lda * factor);
    if (state != nullptr)
      state[i] = static_cast<T>(mark.to_state * factor + mark.by_state * double(head_state[i]));
  }
};

// A thread a mark, over the sequences.
template <class T>
struct SlopeSums {
  const HawkesMark* memory;
  int64_t marks, sequences;
  const T *head, *head_state;
  T *alpha, *beta;  // either may be null
  __device__ void operator()(int64_t k) const {
    double sum_alpha = 0, sum_beta = 0;
    for (int64_t n = 0; n < sequences; ++n) {
      const HawkesMark& mark = memory[n * marks + k];
      const double factor = double(head[n]);
      sum_alpha += mark.to_alpha * factor;
      sum_beta += mark.to_beta * factor + mark.by_beta * double(head_state[n * marks + k]);
    }
    if (alpha != nullptr) alpha[k] = static_cast<T>(sum_alpha);
    if (beta != nullptr) beta[k] = static_cast<T>(sum_beta);
  }
};

template <size_t kFirst>  // of the inputs, behind the gradients
size_t hawkes_scratch(const KernelSpec& spec) {
  return static_cast<size_t>(spec.in[kFirst].size()) * sizeof(HawkesMark);
}

void hawkes_cuda(const KernelArgs& args, int64_t* fault) {
  dispatch_real(args.in[0].dtype, "hawkesll", [&]<class T>(Type<T>) {
    const HawkesInputs<T> in(args.in);
    launch_each(stream_of(args), in.sequences,
                Follow<T>{in, reinterpret_cast<HawkesMark*>(args.scratch.data()), args.wanted<T>(0),
                          args.wanted<T>(1), fault});
  });
}

void backward_hawkes_cuda(const KernelArgs& args, int64_t* fault) {
  const cudaStream_t stream = stream_of(args);
  dispatch_real(args.in[2].dtype, "hawkesll", [&]<class T>(Type<T>) {
    const HawkesInputs<T> in(args.in.subspan(2));
    auto* const memory = reinterpret_cast<HawkesMark*>(args.scratch.data());
    const T *head = args.in[0].as<T>(), *head_state = args.in[1].as<T>();
    launch_each(stream, in.sequences, Follow<T>{in, memory, nullptr, nullptr, fault});
    launch_each(stream, in.sequences * in.marks,
                Slopes<T>{memory, in.marks, head, head_state, args.wanted<T>(0), args.wanted<T>(3)});
    launch_each(
        stream, in.marks,
        SlopeSums<T>{memory, in.marks, in.sequences, head, head_state, args.wanted<T>(1), args.wanted<T>(2)});
  });
}

// Throws what the host's kernel throws.
template <size_t kFirst>
void explain_hawkes(const KernelArgs& args) {
  std::vector<HostCopy> copies;
  std::vector<TensorView> views;
  for (size_t i = kFirst; i < args.in.size(); ++i) copies.emplace_back(args.in[i]);
  for (const HostCopy& copy : copies) views.push_back(copy.view());
  dispatch_real(views[0].dtype, "hawkesll", [&]<class T>(Type<T>) {
    const HawkesInputs<T> in(views);
    std::vector<HawkesMark> memory(static_cast<size_t>(in.marks));
    double log_likelihood = 0;
    for (int64_t n = 0; n < in.sequences; ++n) {
      if (!follow_hawkes(in, n, memory.data(), log_likelihood)) refuse_hawkes(n, in.time, in.marks);
    }
  });
}

}  // namespace

void kernels_hawkes_cuda(KernelList& list) {
  add_checked<hawkes_cuda, explain_hawkes<0>, hawkes_scratch<0>>(list, "_contrib_hawkesll", "hawkes_cuda");
  add_checked<backward_hawkes_cuda, explain_hawkes<2>, hawkes_scratch<2>>(list, "_backward_hawkesll",
                                                                          "backward_hawkes_cuda");
}

}  // namespace loomix::ops
