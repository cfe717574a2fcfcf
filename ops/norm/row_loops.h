// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "engine/parallel_for.h"
#include "ops/norm/row_norm.h"

// Rows that are normalised each by itself, as loops go over them.
namespace loomix::ops {

inline constexpr int64_t kElementsPerThread = 8192;

inline int64_t first_of(const NormRows& rows, int64_t row) {
  return row / rows.step * rows.size * rows.step + row % rows.step;
}

template <class Fn>
void each_row(const NormRows& rows, engine::RunContext& context, Fn&& fn) {
  const int64_t grain = kElementsPerThread / std::max<int64_t>(1, rows.size);
  engine::parallel_each(context, rows.rows, grain, [&](int64_t row) { fn(row); });
}

// Where the elements of a row and their parameters stand: known to the compiler where they follow each other.
struct DenseRow {  // parameters go by element
  int64_t row_begin;
  DenseRow(const NormRows& rows, int64_t row) : row_begin(first_of(rows, row)) {}
  int64_t at(int64_t i) const { return row_begin + i; }
  static int64_t parameter(int64_t i) { return i; }
};
struct DenseRowOfOne {  // one parameter a row
  int64_t row_begin, own_parameter;
  DenseRowOfOne(const NormRows& rows, int64_t row)
      : row_begin(first_of(rows, row)), own_parameter(row % rows.parameters) {}
  int64_t at(int64_t i) const { return row_begin + i; }
  int64_t parameter(int64_t) const { return own_parameter; }
};
struct StridedRow {
  int64_t row_begin, step;
  StridedRow(const NormRows& rows, int64_t row) : row_begin(first_of(rows, row)), step(rows.step) {}
  int64_t at(int64_t i) const { return row_begin + i * step; }
  static int64_t parameter(int64_t i) { return i; }
};

template <class Fn>
void with_rows(const NormRows& rows, Fn&& fn) {
  if (rows.by_row) {
    fn.template operator()<DenseRowOfOne>();
  } else if (rows.step == 1) {
    fn.template operator()<DenseRow>();
  } else {
    fn.template operator()<StridedRow>();
  }
}

}  // namespace loomix::ops
