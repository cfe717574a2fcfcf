// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/cuda/math.h"
#include "ops/rnn/rnn_arrays_cuda.h"
#include "ops/rnn/rnn_cells.h"

namespace loomix::cuda {

// One step of one direction. Pointers are those of the step.
template <class C>
struct ForwardStep {
  ops::RnnMode mode;
  Divider units;
  int64_t t, output_row;
  const int64_t* lengths;
  const C* bias;  // of i2h, then of h2h
  ops::CellClip<C> clip;
  C* gates = nullptr;
  const C* h2h = nullptr;  // of a GRU
  C* cell = nullptr;
  C* kept = nullptr;  // may be null
  C* state = nullptr;
  C* hidden = nullptr;  // the state itself, but for projected layers
  C* output = nullptr;  // null for projected layers

  __device__ void operator()(int64_t i) const {
    const int64_t columns = units.divisor();
    const int64_t n = units.quotient(i), j = i - n * columns;
    if (!is_step(lengths, t, n)) {
      if (output != nullptr) output[n * output_row + j] = 0;
      return;
    }
    const C result = unit(n, j, i, columns);
    hidden[i] = result;
    if (output != nullptr) output[n * output_row + j] = result;
  }
  __device__ C unit(int64_t n, int64_t j, int64_t i, int64_t columns) const {
    using Cell = ops::RnnCell<Math, C>;
    switch (mode) {
      case ops::RnnMode::lstm: {
        C* const gate = gates + n * 4 * columns + j;
        const C* const own = bias + j;
        C value[4];
        for (int k = 0; k < 4; ++k)
          value[k] = gate[k * columns] + (own[k * columns] + own[(k + 4) * columns]);
        C next = cell[i];
        const C result = Cell::lstm(value[0], value[1], value[2], value[3], next, clip);
        for (int k = 0; k < 4; ++k) gate[k * columns] = value[k];
        cell[i] = next;
        if (kept != nullptr) kept[i] = next;
        return result;
      }
      case ops::RnnMode::gru: {
        C* const gate = gates + n * 3 * columns + j;
        const C* const own = bias + j;
        const C* const other = h2h + n * 3 * columns + j;
        C value[3];
        for (int k = 0; k < 2; ++k)
          value[k] = gate[k * columns] + own[k * columns] + other[k * columns] + own[(k + 3) * columns];
        value[2] = gate[2 * columns] + own[2 * columns];
        const C part = other[2 * columns] + own[5 * columns];
        if (kept != nullptr) kept[i] = part;
        const C result = Cell::gru(value[0], value[1], value[2], part, state[i]);
        for (int k = 0; k < 3; ++k) gate[k * columns] = value[k];
        return result;
      }
      default: {
        const C x = gates[i] + (bias[j] + bias[columns + j]);
        return mode == ops::RnnMode::rnn_relu ? Cell::relu(x) : Math::tanh(x);
      }
    }
  }
};

}  // namespace loomix::cuda
