// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ops/elemwise/elemwise.h"
#include "ops/op.h"

// Operators that no other family has a place for, most of them from MXNet's `contrib` namespace.
namespace loomix::ops {

struct QuadraticParams {
  float a = 0, b = 0, c = 0;
  static void fields(FieldList<QuadraticParams>& f) {
    f("a", &QuadraticParams::a, "Factor of the square.");
    f("b", &QuadraticParams::b, "Factor of the data.");
    f("c", &QuadraticParams::c, "Constant.");
  }
};

struct AllcloseParams {
  float rtol = 1e-5f;
  float atol = 1e-8f;
  bool equal_nan = true;
  static void fields(FieldList<AllcloseParams>& f) {
    f("rtol", &AllcloseParams::rtol, "Tolerance relative to the second array.");
    f("atol", &AllcloseParams::atol, "Absolute tolerance, added to the relative one.");
    f("equal_nan", &AllcloseParams::equal_nan, "Whether two NaN are equal.");
  }
};

struct IndexArrayParams {
  std::optional<Shape> axes;
  static void fields(FieldList<IndexArrayParams>& f) {
    f("axes", &IndexArrayParams::axes, "The axes whose indices are given; all without it.");
  }
};

struct GetnnzParams {
  std::optional<int> axis;
  static void fields(FieldList<GetnnzParams>& f) {
    f("axis", &GetnnzParams::axis, "0 counts in each column, 1 in each row; None in the whole matrix.");
  }
};

struct CountSketchParams {
  int out_dim = 1;
  int processing_batch_size = 32;
  static void fields(FieldList<CountSketchParams>& f) {
    using P = CountSketchParams;
    f("out_dim", &P::out_dim, "Size of the last axis of the output.").required("4").at_least(1).type("int");
    f("processing_batch_size", &P::processing_batch_size, "Has no effect on CPU.");
  }
};

// Of count_sketch: IndexError unless the first `size` hashes are places of the output.
void check_sketch_places(const CountSketchParams& p, const TensorView& hashes, int64_t size);

struct FftParams {
  int compute_size = 128;
  static void fields(FieldList<FftParams>& f) {
    f("compute_size", &FftParams::compute_size, "Has no effect on CPU.");
  }
};

struct SparsityParams {
  float sparseness_target = 0.1f;
  float penalty = 0.001f;
  float momentum = 0.9f;
  static void fields(FieldList<SparsityParams>& f) {
    using P = SparsityParams;
    f("sparseness_target", &P::sparseness_target, "The mean activation that is wanted.")
        .at_least(0)
        .at_most(1)
        .type("float");
    f("penalty", &P::penalty, "Factor of the penalty.");
    f("momentum", &P::momentum, "How much of the moving mean is kept at an update.")
        .at_least(0)
        .at_most(1)
        .type("float");
  }
};

// Of _contrib_index_copy: IndexError unless each index is that of a row.
void check_rows(const TensorView& indices, int64_t rows);

void quadratic_cpu(const QuadraticParams& p, const KernelArgs& args);

}  // namespace loomix::ops
