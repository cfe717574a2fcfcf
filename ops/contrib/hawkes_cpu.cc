// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/error.h"
#include "engine/parallel_for.h"
#include "ops/contrib/contrib.h"
#include "ops/first_noted.h"
#include "ops/table.h"
#include "ops/whole_number.h"

// A mark's intensity between events is lda + alpha beta s(t), where s decays as exp(-beta t) and grows by 1 at each event
// of the mark. The log likelihood sums log intensities at events and subtracts the integrals of all intensities. Marks only
// meet in that sum, so each one's state, and its derivatives, go on by themselves.
namespace loomix::ops {
namespace {

template <class T>
struct Inputs {
  int64_t sequences, marks, time;
  const T *lda, *alpha, *beta, *state, *lags, *lengths, *max_time;
  const int32_t* mark;

  explicit Inputs(std::span<const TensorView> in)
      : sequences(in[0].shape[0]),
        marks(in[0].shape[1]),
        time(in[4].shape[1]),
        lda(in[0].as<T>()),
        alpha(in[1].as<T>()),
        beta(in[2].as<T>()),
        state(in[3].as<T>()),
        lags(in[4].as<T>()),
        lengths(in[6].as<T>()),
        max_time(in[7].as<T>()),
        mark(in[5].as<int32_t>()) {}
};

// One mark of one sequence: its state, with its slopes to beta and to the state at the beginning.
struct Mark {
  double lda, alpha, beta;
  double state, by_beta = 0, by_state = 1;
  double last = 0;                                             // time of its last event
  double to_lda = 0, to_alpha = 0, to_beta = 0, to_state = 0;  // slopes of the log likelihood

  // The integral of the intensity since the last event, with its slopes; the state decays.
  double pass(double now) {
    const double lag = now - last, decay = std::exp(-beta * lag), gone = 1 - decay;
    const double integral = lda * lag + alpha * state * gone;
    to_lda -= lag;
    to_alpha -= state * gone;
    to_beta -= alpha * (by_beta * gone + state * lag * decay);
    to_state -= alpha * by_state * gone;
    by_beta = (by_beta - state * lag) * decay;
    by_state *= decay;
    state *= decay;
    last = now;
    return integral;
  }

  // The logarithm of the intensity at an event, after which the state grows.
  double event() {
    const double intensity = lda + alpha * beta * state;
    to_lda += 1 / intensity;
    to_alpha += beta * state / intensity;
    to_beta += alpha * (state + beta * by_beta) / intensity;
    to_state += alpha * beta * by_state / intensity;
    state += 1;
    return std::log(intensity);
  }
};

// Runs sequence n over `memory`, a Mark for each mark; the log likelihood, or a complaint about a mark or a length.
template <class T>
bool follow(const Inputs<T>& in, int64_t n, Mark* memory, double& log_likelihood) {
  for (int64_t k = 0; k < in.marks; ++k) {
    memory[k] = Mark{double(in.lda[n * in.marks + k]), double(in.alpha[k]), double(in.beta[k]),
                     double(in.state[n * in.marks + k])};
  }
  const auto length = whole_number(in.lengths[n]);
  if (!(in.lengths[n] >= 0) || length > in.time) return false;
  double now = 0;
  log_likelihood = 0;
  for (int64_t j = 0; j < length; ++j) {
    const int64_t k = in.mark[n * in.time + j];
    if (k < 0 || k >= in.marks) return false;
    now += double(in.lags[n * in.time + j]);
    log_likelihood -= memory[k].pass(now);
    log_likelihood += memory[k].event();
  }
  for (int64_t k = 0; k < in.marks; ++k) log_likelihood -= memory[k].pass(double(in.max_time[n]));
  return true;
}

// Calls fn(n, marks, log likelihood) for each sequence. Each has memory of its own, so what is left there can be added up
// in order.
template <class T, class Fn>
void each_sequence(const KernelArgs& args, const Inputs<T>& in, Fn&& fn) {
  FirstNoted bad;
  auto* memory = reinterpret_cast<Mark*>(args.scratch.data());
  engine::parallel_each(*args.context, in.sequences, 1, [&](int64_t n) {
    double log_likelihood = 0;
    if (follow(in, n, memory + n * in.marks, log_likelihood)) fn(n, memory + n * in.marks, log_likelihood);
    else bad.note(n);
  });
  LOOMIX_CHECK(
      !bad.any(), ValueError,
      "[_contrib_hawkesll] sequence {} has a length that is not 0 to {}, or a mark that is not 0 to {}.",
      bad.value(), in.time, in.marks - 1);
}

size_t hawkes_scratch(const KernelSpec& spec) {
  return static_cast<size_t>(spec.in[0].size()) * sizeof(Mark);
}
size_t backward_hawkes_scratch(const KernelSpec& spec) {
  return static_cast<size_t>(spec.in[2].size()) * sizeof(Mark);
}

void hawkes_cpu(const KernelArgs& args) {
  dispatch_real(args.in[0].dtype, "hawkesll", [&]<class T>(Type<T>) {
    const Inputs<T> in(args.in);
    T* out = args.wanted<T>(0);
    T* state = args.wanted<T>(1);
    each_sequence(args, in, [&](int64_t n, const Mark* marks, double log_likelihood) {
      if (out) out[n] = static_cast<T>(log_likelihood);
      for (int64_t k = 0; state && k < in.marks; ++k)
        state[n * in.marks + k] = static_cast<T>(marks[k].state);
    });
  });
}

void backward_hawkes_cpu(const KernelArgs& args) {
  dispatch_real(args.in[2].dtype, "hawkesll", [&]<class T>(Type<T>) {
    const Inputs<T> in(args.in.subspan(2));
    const T* head = args.in[0].as<T>();
    const T* head_state = args.in[1].as<T>();
    T *const lda = args.wanted<T>(0), *const alpha = args.wanted<T>(1);
    T *const beta = args.wanted<T>(2), *const state = args.wanted<T>(3);
    each_sequence(args, in, [&](int64_t n, Mark* marks, double) {
      const double factor = double(head[n]);
      for (int64_t k = 0; k < in.marks; ++k) {
        Mark& mark = marks[k];
        const double at_end = double(head_state[n * in.marks + k]);
        mark.to_alpha *= factor;
        mark.to_beta = mark.to_beta * factor + mark.by_beta * at_end;
        if (lda) lda[n * in.marks + k] = static_cast<T>(mark.to_lda * factor);
        if (state) {
          state[n * in.marks + k] = static_cast<T>(mark.to_state * factor + mark.by_state * at_end);
        }
      }
    });
    const auto* marks = reinterpret_cast<const Mark*>(args.scratch.data());
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
