// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "ndarray/tensor_view.h"
#include "ops/whole_number.h"

// A mark's intensity between events is lda + alpha beta s(t), where s decays as exp(-beta t) and grows by 1 at each event
// of the mark. The log likelihood sums log intensities at events and subtracts the integrals of all intensities. Marks only
// meet in that sum, so each one's state, and its derivatives, go on by themselves.
namespace loomix::ops {

template <class T>
struct HawkesInputs {
  int64_t sequences, marks, time;
  const T *lda, *alpha, *beta, *state, *lags, *lengths, *max_time;
  const int32_t* mark;

  explicit HawkesInputs(std::span<const TensorView> in)
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
struct HawkesMark {
  double lda, alpha, beta;
  double state, by_beta = 0, by_state = 1;
  double last = 0;                                             // time of its last event
  double to_lda = 0, to_alpha = 0, to_beta = 0, to_state = 0;  // slopes of the log likelihood

  // The integral of the intensity since the last event, with its slopes; the state decays.
  constexpr double pass(double now) {
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
  constexpr double event() {
    const double intensity = lda + alpha * beta * state;
    to_lda += 1 / intensity;
    to_alpha += beta * state / intensity;
    to_beta += alpha * (state + beta * by_beta) / intensity;
    to_state += alpha * beta * by_state / intensity;
    state += 1;
    return std::log(intensity);
  }
};

// Runs sequence n over `memory`, a HawkesMark for each mark; the log likelihood, or a complaint about a mark or a length.
template <class T>
constexpr bool follow_hawkes(const HawkesInputs<T>& in, int64_t n, HawkesMark* memory,
                             double& log_likelihood) {
  for (int64_t k = 0; k < in.marks; ++k) {
    memory[k] = HawkesMark{double(in.lda[n * in.marks + k]), double(in.alpha[k]), double(in.beta[k]),
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

[[noreturn]] inline void refuse_hawkes(int64_t sequence, int64_t time, int64_t marks) {
  detail::throw_error<ValueError>(
      "[_contrib_hawkesll] sequence {} has a length that is not 0 to {}, or a mark that is not 0 to {}.",
      sequence, time, marks - 1);
}

}  // namespace loomix::ops
