// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The loops of recurrent layers that are compiled once per instruction set, for T = float and double.
namespace loomix::ops {

// The range of an LSTM's cell state: +-infinity where it has none.
template <class T>
struct CellClip {
  T low, high;
  T for_nan;       // what NaN becomes: `low`, or NaN
  T nan_gradient;  // 0 or 1: whether a gradient goes back through a NaN
};

// Gates and cells work on one row of `units`; gates lie one after the other, `units` apart. Each gate's bias comes in
// `bias`, that of i2h and h2h added up where they may be.
template <class T>
struct RnnLoops {
  // Products with a matrix B (depth, columns) that is packed into panels `width` columns wide. An element of the result
  // does not depend on which rows are computed with it.
  int64_t width;
  // Packs the panels [first, last); element (k, j) of B is read at from[k * k_step + j * j_step].
  void (*pack)(int64_t depth, int64_t columns, const T* from, int64_t k_step, int64_t j_step, int64_t first,
               int64_t last, T* panels);
  // c = A B, or c += A B, with element (r, k) of A at a[r * a_row + k * a_step].
  void (*multiply)(int64_t rows, int64_t columns, int64_t depth, const T* a, int64_t a_row, int64_t a_step,
                   const T* panels, T* c, int64_t c_row, bool add);

  void (*vanilla)(bool relu, int64_t units, const T* bias, const T* gate, T* hidden);
  // `gates` become their values, `cell` the new one.
  void (*lstm)(int64_t units, const T* bias, T* gates, T* cell, T* hidden, const CellClip<T>& clip);
  // `bias` of i2h, then of h2h. `gates` come from i2h and become their values; `h2h` is that of h2h, whose part for the
  // gate n, with its bias, is kept in `kept`. `state` and `hidden` may be the same.
  void (*gru)(int64_t units, const T* bias, T* gates, const T* h2h, const T* state, T* kept, T* hidden);

  // From the gradient of `hidden` those of the gates before their functions.
  void (*vanilla_gradient)(bool relu, int64_t units, const T* hidden, const T* grad, T* to_gate);
  // `to_cell` comes from the next step and becomes that of `before`.
  void (*lstm_gradient)(int64_t units, const T* gates, const T* before, const T* cell, const T* grad,
                        T* to_cell, T* to_gates, const CellClip<T>& clip);
  // An LSTM's output before its projection, again.
  void (*lstm_hidden)(int64_t units, const T* gates, const T* cell, T* hidden);
  // `to_state` becomes the part of the state's gradient that does not go through gates.
  void (*gru_gradient)(int64_t units, const T* gates, const T* kept, const T* state, const T* grad, T* to_i2h,
                       T* to_h2h, T* to_state);
};

}  // namespace loomix::ops
