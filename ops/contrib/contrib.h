// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ops/elemwise/elemwise.h"
#include "ops/op.h"

// Operators that no other family has a place for, most of them from MXNet's `contrib` namespace.
namespace loomix::ops {

class OpTable;

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
    f("out_dim", &CountSketchParams::out_dim, "Size of the last axis of the output.")
        .required("4")
        .at_least(1)
        .type("int");
    f("processing_batch_size", &CountSketchParams::processing_batch_size, "Has no effect on CPU.");
  }
};

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

void register_contrib_elementwise(OpTable& table);
void register_contrib_index(OpTable& table);
void register_contrib_stored(OpTable& table);
void kernels_contrib_stored(OpTable& table);
void register_contrib_transforms(OpTable& table);
void register_hawkes(OpTable& table);

void quadratic_cpu(const QuadraticParams& p, const KernelArgs& args);
void div_sqrt_dim_cpu(const NoParams&, const KernelArgs& args);
void round_ste_cpu(const NoParams&, const KernelArgs& args);
void sign_ste_cpu(const NoParams&, const KernelArgs& args);
void scatter_plus_scalar_cpu(const ScalarParams& p, const KernelArgs& args);
void scatter_minus_scalar_cpu(const ScalarParams& p, const KernelArgs& args);
void scatter_elemwise_div_cpu(const NoParams&, const KernelArgs& args);
void gradientmultiplier_cpu(const ScalarParams&, const KernelArgs& args);
void allclose_cpu(const AllcloseParams& p, const KernelArgs& args);
// data, moving mean -> the data; and grad, data, moving mean -> the gradient, where the mean moves.
void sparsity_cpu(const SparsityParams&, const KernelArgs& args);
void backward_sparsity_cpu(const SparsityParams& p, const KernelArgs& args);

void index_array_cpu(const IndexArrayParams& p, const KernelArgs& args);
void index_copy_cpu(const NoParams&, const KernelArgs& args);
void fill_element_cpu(const NoParams&, const KernelArgs& args);

void khatri_rao_cpu(const AddNParams& p, const KernelArgs& args);
void count_sketch_cpu(const CountSketchParams& p, const KernelArgs& args);
void backward_count_sketch_cpu(const CountSketchParams& p, const KernelArgs& args);
void fft_cpu(const FftParams&, const KernelArgs& args);
void ifft_cpu(const FftParams&, const KernelArgs& args);
size_t fft_scratch(const FftParams&, const KernelSpec& spec);

void hawkes_cpu(const NoParams&, const KernelArgs& args);
size_t hawkes_scratch(const NoParams&, const KernelSpec& spec);
void backward_hawkes_cpu(const NoParams&, const KernelArgs& args);
size_t backward_hawkes_scratch(const NoParams&, const KernelSpec& spec);

}  // namespace loomix::ops
