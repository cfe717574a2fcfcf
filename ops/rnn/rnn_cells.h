// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/rnn/rnn_loops.h"

// One unit of a recurrent layer, for loops of the CPU and kernels of devices: `Math` is theirs. Selects without branches, so that
// loops vectorise.
namespace loomix::ops {

template <class Math, class T>
struct RnnCell {
  static constexpr T sigmoid(T x) { return 1 / (1 + Math::exp(-x)); }

  static constexpr T relu(T x) { return x < 0 ? 0 : x; }

  // Gates become their values, `cell` the new one; gives the output before projection.
  static constexpr T lstm(T& i, T& f, T& g, T& o, T& cell, const CellClip<T>& clip) {
    i = sigmoid(i);
    f = sigmoid(f);
    g = Math::tanh(g);
    o = sigmoid(o);
    T next = f * cell + i * g;
    next = next < clip.low ? clip.low : next;
    next = next > clip.high ? clip.high : next;
    next = next == next ? next : clip.for_nan;
    cell = next;
    return o * Math::tanh(next);
  }

  // r and z are sums of what i2h and h2h give; `own` is h2h's part of n.
  static constexpr T gru(T& r, T& z, T& n, T own, T state) {
    r = sigmoid(r);
    z = sigmoid(z);
    n = Math::tanh(n + r * own);
    return (1 - z) * n + z * state;
  }

  struct LstmGradient {
    T i, f, g, o;
  };
  // `to_cell` comes from the next step and becomes that of `before`.
  static constexpr LstmGradient lstm_gradient(T i, T f, T g, T o, T before, T cell, T grad, T& to_cell,
                                              const CellClip<T>& clip) {
    const T t = Math::tanh(cell);
    const T raw = f * before + i * g;
    T passes = raw < clip.low ? T{0} : T{1};
    passes = raw > clip.high ? T{0} : passes;
    passes = raw == raw ? passes : clip.nan_gradient;
    const T dc = (to_cell + grad * o * (1 - t * t)) * passes;
    to_cell = dc * f;
    return {dc * g * i * (1 - i), dc * before * f * (1 - f), dc * i * (1 - g * g), grad * t * o * (1 - o)};
  }

  struct GruGradient {
    T r, z, n, own;
  };
  static constexpr GruGradient gru_gradient(T r, T z, T n, T kept, T state, T grad) {
    const T to_n = grad * (1 - z) * (1 - n * n);
    return {to_n * kept * r * (1 - r), grad * (state - n) * z * (1 - z), to_n, to_n * r};
  }
};

}  // namespace loomix::ops
