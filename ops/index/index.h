// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/elemwise/elemwise.h"
#include "ops/op.h"

// Operators that read or write elements at places given by another array. Index arrays may be of any numeric type;
// fractions are cut off.
namespace loomix::ops {

// What to do with an index outside its axis: take the nearest valid one, count from the other end, or fail.
enum class IndexMode { clip, wrap, raise };

struct TakeParams {
  int axis = 0;
  IndexMode mode = IndexMode::clip;
  static void fields(FieldList<TakeParams>& f) {
    f("axis", &TakeParams::axis, "Axis of the input that the indices count along.");
    f("mode", &TakeParams::mode,
      "What an index outside the axis does: nearest valid one, modulo the size, or an error.")
        .options({{"clip", IndexMode::clip}, {"raise", IndexMode::raise}, {"wrap", IndexMode::wrap}});
  }
};

struct EmbeddingParams {
  int64_t input_dim = 0;
  int64_t output_dim = 0;
  DType dtype = DType::float32;
  bool sparse_grad = false;
  bool deterministic = false;
  static void fields(FieldList<EmbeddingParams>& f) {
    using P = EmbeddingParams;
    f("input_dim", &P::input_dim, "Number of rows of the weight.").required("2").at_least(1).type("int");
    f("output_dim", &P::output_dim, "Length of a row.").required("3").at_least(1).type("int");
    f("dtype", &P::dtype, "Type of the weight where nothing else says it.").dtypes(kArrayDTypes);
    f("sparse_grad", &P::sparse_grad, "Whether the gradient of the weight is row_sparse.");
    f("deterministic", &P::deterministic,
      "Accepted as in MXNet: the gradient's sums are always in the data's order.");
  }
};

struct OneHotParams {
  int depth = 0;
  double on_value = 1;
  double off_value = 0;
  DType dtype = DType::float32;
  static void fields(FieldList<OneHotParams>& f) {
    f("depth", &OneHotParams::depth, "Length of the new last axis.").required("3").at_least(0);
    f("on_value", &OneHotParams::on_value, "Value at the index.");
    f("off_value", &OneHotParams::off_value, "Value elsewhere.");
    f("dtype", &OneHotParams::dtype, "Type of the output.").dtypes(kArrayDTypes);
  }
};

struct PickParams {
  std::optional<int> axis = -1;
  bool keepdims = false;
  IndexMode mode = IndexMode::clip;
  static void fields(FieldList<PickParams>& f) {
    f("axis", &PickParams::axis, "Axis to pick along; None picks from the flattened input.");
    f("keepdims", &PickParams::keepdims, "Keep the axis with size one.");
    f("mode", &PickParams::mode, "What an index outside the axis does.")
        .options({{"clip", IndexMode::clip}, {"wrap", IndexMode::wrap}});
  }
};

struct ScatterParams {
  Shape shape;
  static void fields(FieldList<ScatterParams>& f) {
    f("shape", &ScatterParams::shape, "Shape of the output.").required("(2, 3)");
  }
};

struct RavelParams {
  std::optional<Shape> shape;
  static void fields(FieldList<RavelParams>& f) {
    f("shape", &RavelParams::shape, "Shape of the array that the indices point into.").type("Shape(tuple)");
  }
};

struct MaskParams {
  int axis = 0;
  static void fields(FieldList<MaskParams>& f) {
    f("axis", &MaskParams::axis, "Axis whose slices are taken.");
  }
};

// The shape that gather_nd gives; throws ShapeError for indices that do not fit.
Shape gather_shape(const Shape& data, const Shape& indices, const char* who);

// The indices, each inside [0, size) by the rule of `mode`; throws IndexError in the name of `who`.
void read_indices(const TensorView& indices, int64_t size, IndexMode mode, const char* who, int64_t* result);
// Positions in `shape` of the places that the rows of `indices` name, counted in slices behind the indexed axes.
void read_places(const TensorView& indices, const Shape& shape, const char* who, int64_t* position);
// Of boolean_mask: ShapeError unless the gradient has as many slices as `index` chooses.
void check_mask_gradient(const MaskParams& p, const Shape& grad, const TensorView& index);

void embedding_cpu(const EmbeddingParams& p, const KernelArgs& args);
void backward_embedding_cpu(const EmbeddingParams& p, const KernelArgs& args);

}  // namespace loomix::ops
