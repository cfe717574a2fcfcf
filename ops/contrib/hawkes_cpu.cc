// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel_for.h"
#include "ops/contrib/contrib.h"
#include "ops/contrib/hawkes_rules.h"
#include "ops/first_noted.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// Calls fn(n, marks, log likelihood) for each sequence. Each has memory of its own, so what is left there can be added up
// in order.
template <class T, class Fn>
void each_sequence(const KernelArgs& args, const HawkesInputs<T>& in, Fn&& fn) {
  FirstNoted bad;
  auto* memory = reinterpret_cast<HawkesMark*>(args.scratch.data());
  engine::parallel_each(*args.context, in.sequences, 1, [&](int64_t n) {
    double log_likelihood = 0;
    if (follow_hawkes(in, n, memory + n * in.marks, log_likelihood))
      fn(n, memory + n * in.marks, log_likelihood);
    else bad.note(n);
  });
  if (bad.any()) refuse_hawkes(bad.value(), in.time, in.marks);
}

size_t hawkes_scratch(const KernelSpec& spec) {
  return static_cast<size_t>(spec.in[0].size()) * sizeof(HawkesMark);
}
size_t backward_hawkes_scratch(const KernelSpec& spec) {
  return static_cast<size_t>(spec.in[2].size()) * sizeof(HawkesMark);
}

void hawkes_cpu(const KernelArgs& args) {
  dispatch_real(args.in[0].dtype, "hawkesll", [&]<class T>(Type<T>) {
    const HawkesInputs<T> in(args.in);
    T* out = args.wanted<T>(0);
    T* state = args.wanted<T>(1);
    each_sequence(args, in, [&](int64_t n, const HawkesMark* marks, double log_likelihood) {
      if (out) out[n] = static_cast<T>(log_likelihood);
      for (int64_t k = 0; state && k < in.marks; ++k)
        state[n * in.marks + k] = static_cast<T>(marks[k].state);
    });
  });
}

void backward_hawkes_cpu(const KernelArgs& args) {
  dispatch_real(args.in[2].dtype, "hawkesll", [&]<class T>(Type<T>) {
    const HawkesInputs<T> in(args.in.subspan(2));
    const T* head = args.in[0].as<T>();
    const T* head_state = args.in[1].as<T>();
    T *const lda = args.wanted<T>(0), *const alpha = args.wanted<T>(1);
    T *const beta = args.wanted<T>(2), *const state = args.wanted<T>(3);
    each_sequence(args, in, [&](int64_t n, HawkesMark* marks, double) {
      const double factor = double(head[n]);
      for (int64_t k = 0; k < in.marks; ++k) {
        HawkesMark& mark = marks[k];
        const double at_end = double(head_state[n * in.marks + k]);
        mark.to_alpha *= factor;
        mark.to_beta = mark.to_beta * factor + mark.by_beta * at_end;
        if (lda) lda[n * in.marks + k] = static_cast<T>(mark.to_lda * factor);
        if (state) {
          state[n * in.marks + k] = static_cast<T>(mark.to_state * factor + mark.by_state * at_end);
        }
      }
    });
    const auto* marks = reinterpret_cast<const HawkesMark*>(args.scratch.data());
    for (int64_t k = 0; k < in.marks; ++k) {
      double sum_alpha = 0, sum_beta = 0;
      for (int64_t n = 0; n < in.sequences; ++n) {
        sum_alpha += marks[n * in.marks + k].to_alpha;
        sum_beta += marks[n * in.marks + k].to_beta;
      }
      if (alpha) alpha[k] = static_cast<T>(sum_alpha);
      if (beta) beta[k] = static_cast<T>(sum_beta);
    }
  });
}

}  // namespace

void kernels_hawkes(OpTable& table) {
  table.kernel<hawkes_cpu, hawkes_scratch>("_contrib_hawkesll", "hawkes_cpu");
}

void gradients_hawkes(OpTable& table) {
  table.kernel<backward_hawkes_cpu, backward_hawkes_scratch>("_backward_hawkesll", "backward_hawkes_cpu");
}

}  // namespace loomix::ops
