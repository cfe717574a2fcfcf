// SPDX-License-Identifier: Apache-2.0
#include "ops/isa.h"
#include "ops/rnn/rnn_cells.h"
#include "ops/simd_math.h"
#include "ops/simd_tile.h"

namespace loomix::ops::LOOMIX_ISA_NAMESPACE {
namespace {

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

constexpr int64_t kWidth = kTileWidth;

template <class T>
void pack(int64_t depth, int64_t columns, const T* from, int64_t k_step, int64_t j_step, int64_t first,
          int64_t last, T* panels) {
  for (int64_t panel = first; panel < last; ++panel) {
    T* to = panels + panel * kWidth * depth;
    const T* const begin = from + panel * kWidth * j_step;
    const int64_t used = least(kWidth, columns - panel * kWidth);
    for (int64_t k = 0; k < depth; ++k, to += kWidth) {
      for (int64_t j = 0; j < used; ++j) to[j] = begin[k * k_step + j * j_step];
      for (int64_t j = used; j < kWidth; ++j) to[j] = 0;
    }
  }
}

// A block of at most kTileRows rows with the first `width` columns of a panel.
void block(int64_t rows, int64_t width, int64_t depth, const float* a, int64_t a_row, int64_t a_step,
           const float* panel, float* c, int64_t c_row, bool add) {
  if (width % kLanes == 0) {
    tile_any(rows, width, depth, a, a_row, a_step, panel, kWidth, c, c_row, nullptr, add);
    return;
  }
  float part[kTileRows * kWidth];  // a tile writes whole vectors, for which c has no room
  for (int64_t r = 0; add && r < rows; ++r) {
    for (int64_t j = 0; j < kWidth; ++j) part[r * kWidth + j] = j < width ? c[r * c_row + j] : 0.0f;
  }
  tile_any(rows, width, depth, a, a_row, a_step, panel, kWidth, part, kWidth, nullptr, add);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < width; ++j) c[r * c_row + j] = part[r * kWidth + j];
  }
}

void block(int64_t rows, int64_t width, int64_t depth, const double* a, int64_t a_row, int64_t a_step,
           const double* panel, double* c, int64_t c_row, bool add) {
  for (int64_t r = 0; r < rows; ++r, a += a_row, c += c_row) {
    double sums[kWidth];
    for (int64_t j = 0; j < kWidth; ++j) sums[j] = add && j < width ? c[j] : 0.0;
    for (int64_t k = 0; k < depth; ++k) {
#pragma omp simd
      for (int64_t j = 0; j < kWidth; ++j) sums[j] += a[k * a_step] * panel[k * kWidth + j];
    }
    for (int64_t j = 0; j < width; ++j) c[j] = sums[j];
  }
}

template <class T>
void multiply(int64_t rows, int64_t columns, int64_t depth, const T* a, int64_t a_row, int64_t a_step,
              const T* panels, T* c, int64_t c_row, bool add) {
  constexpr int64_t kDepth = 1024;  // of a piece of a panel, which stays in the second cache
  for (int64_t j = 0; j < columns; j += kWidth) {
    const T* const panel = panels + j * depth;
    int64_t k = 0;
    do {
      for (int64_t r = 0; r < rows; r += kTileRows) {
        block(least(kTileRows, rows - r), least(kWidth, columns - j), least(kDepth, depth - k),
              a + r * a_row + k * a_step, a_row, a_step, panel + k * kWidth, c + r * c_row + j, c_row,
              add || k > 0);
      }
      k += kDepth;
    } while (k < depth);
  }
}

template <class T>
using Cell = RnnCell<Math, T>;

template <class T>
void vanilla(bool relu, int64_t units, const T* bias, const T* gate, T* hidden) {
  if (relu) {
#pragma omp simd
    for (int64_t j = 0; j < units; ++j) hidden[j] = Cell<T>::relu(gate[j] + bias[j]);
  } else {
#pragma omp simd
    for (int64_t j = 0; j < units; ++j) hidden[j] = Math::tanh(gate[j] + bias[j]);
  }
}

template <class T>
void lstm(int64_t units, const T* bias, T* gates, T* cell, T* hidden, const CellClip<T>& given) {
  T *const i = gates, *const f = gates + units, *const g = gates + 2 * units, *const o = gates + 3 * units;
  const CellClip<T> clip = given;
#pragma omp simd
  for (int64_t j = 0; j < units; ++j) {
    T own_i = i[j] + bias[j], own_f = f[j] + bias[units + j], own_g = g[j] + bias[2 * units + j],
      own_o = o[j] + bias[3 * units + j], own_cell = cell[j];
    const T output = Cell<T>::lstm(own_i, own_f, own_g, own_o, own_cell, clip);
    i[j] = own_i;
    f[j] = own_f;
    g[j] = own_g;
    o[j] = own_o;
    cell[j] = own_cell;
    hidden[j] = output;
  }
}

template <class T>
void gru(int64_t units, const T* bias, T* gates, const T* h2h, const T* state, T* kept, T* hidden) {
  T *const r = gates, *const z = gates + units, *const n = gates + 2 * units;
  const T* const h2h_bias = bias + 3 * units;
#pragma omp simd
  for (int64_t j = 0; j < units; ++j) {
    const T own = h2h[2 * units + j] + h2h_bias[2 * units + j];
    T own_r = r[j] + bias[j] + h2h[j] + h2h_bias[j];
    T own_z = z[j] + bias[units + j] + h2h[units + j] + h2h_bias[units + j];
    T own_n = n[j] + bias[2 * units + j];
    const T output = Cell<T>::gru(own_r, own_z, own_n, own, state[j]);
    kept[j] = own;
    r[j] = own_r;
    z[j] = own_z;
    n[j] = own_n;
    hidden[j] = output;
  }
}

template <class T>
void vanilla_gradient(bool relu, int64_t units, const T* hidden, const T* grad, T* to_gate) {
  if (relu) {
#pragma omp simd
    for (int64_t j = 0; j < units; ++j) to_gate[j] = hidden[j] > 0 ? grad[j] : 0;
  } else {
#pragma omp simd
    for (int64_t j = 0; j < units; ++j) to_gate[j] = grad[j] * (1 - hidden[j] * hidden[j]);
  }
}

template <class T>
void lstm_gradient(int64_t units, const T* gates, const T* before, const T* cell, const T* grad, T* to_cell,
                   T* to_gates, const CellClip<T>& given) {
  const CellClip<T> clip = given;
#pragma omp simd
  for (int64_t j = 0; j < units; ++j) {
    T own_cell = to_cell[j];
    const auto to = Cell<T>::lstm_gradient(gates[j], gates[units + j], gates[2 * units + j],
                                           gates[3 * units + j], before[j], cell[j], grad[j], own_cell, clip);
    to_gates[j] = to.i;
    to_gates[units + j] = to.f;
    to_gates[2 * units + j] = to.g;
    to_gates[3 * units + j] = to.o;
    to_cell[j] = own_cell;
  }
}

template <class T>
void lstm_hidden(int64_t units, const T* gates, const T* cell, T* hidden) {
#pragma omp simd
  for (int64_t j = 0; j < units; ++j) hidden[j] = gates[3 * units + j] * Math::tanh(cell[j]);
}

template <class T>
void gru_gradient(int64_t units, const T* gates, const T* kept, const T* state, const T* grad, T* to_i2h,
                  T* to_h2h, T* to_state) {
#pragma omp simd
  for (int64_t j = 0; j < units; ++j) {
    const T z = gates[units + j], head = grad[j];
    const auto to = Cell<T>::gru_gradient(gates[j], z, gates[2 * units + j], kept[j], state[j], head);
    to_i2h[j] = to_h2h[j] = to.r;
    to_i2h[units + j] = to_h2h[units + j] = to.z;
    to_i2h[2 * units + j] = to.n;
    to_h2h[2 * units + j] = to.own;
    to_state[j] = head * z;
  }
}

template <class T>
constexpr RnnLoops<T> kLoops = {kWidth,         pack<T>,        multiply<T>,         vanilla<T>,
                                lstm<T>,        gru<T>,         vanilla_gradient<T>, lstm_gradient<T>,
                                lstm_hidden<T>, gru_gradient<T>};

}  // namespace

template <>
const RnnLoops<float>& compiled_loops() {
  return kLoops<float>;
}
template <>
const RnnLoops<double>& compiled_loops() {
  return kLoops<double>;
}

}  // namespace loomix::ops::LOOMIX_ISA_NAMESPACE
