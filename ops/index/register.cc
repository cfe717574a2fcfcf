// SPDX-License-Identifier: Apache-2.0
#include "base/tuple_text.h"
#include "ops/index/index.h"
#include "ops/table.h"

namespace loomix::ops {

Shape gather_shape(const Shape& data, const Shape& indices, const char* who) {
  LOOMIX_CHECK(indices.ndim() >= 1 && indices[0] >= 1 && indices[0] <= data.ndim(), ShapeError,
               "[{}] indices of shape {} do not fit data of shape {}; the first axis counts the indexed "
               "axes, 1 to {}.",
               who, indices.to_string(), data.to_string(), data.ndim());
  Shape shape;
  for (int axis = 1; axis < indices.ndim(); ++axis) shape.push_back(indices[axis]);
  for (int axis = static_cast<int>(indices[0]); axis < data.ndim(); ++axis) shape.push_back(data[axis]);
  if (shape.ndim() == 0) shape.push_back(1);
  return shape;
}

namespace {

// Output 0 has the type of input `kData`; index inputs keep theirs, float32 where nothing says so.
template <class P, int kData, int kIndex>
void typed_by_data(const P&, TypeInfer& t) {
  t.tie({kData});
  t.default_in(kIndex);
}

void check_sizes(const ScatterParams& p, const char* who) {
  for (const int64_t size : p.shape) {
    LOOMIX_CHECK(size >= 0, ValueError, "[{}] shape has a size of {}; expected 0 or more.", who, size);
  }
}

void take_shape(const TakeParams& p, ShapeInfer& s) {
  if (!s.in(0).ndim_known() || !s.in(1).ndim_known()) return;
  LOOMIX_CHECK(s.in(0).ndim() > 0, ShapeError, "[{}] a has shape (); expected at least one axis.", s.who());
  const int axis = normalize_axis(p.axis, s.in(0).ndim(), s.who());
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(s.in(0)[i]);
  for (int64_t size : s.in(1)) shape.push_back(size);
  for (int i = axis + 1; i < s.in(0).ndim(); ++i) shape.push_back(s.in(0)[i]);
  s.set_out(0, shape);
}

// While nothing is known of the data nothing is said of the weight, as in MXNet: scripts take () for "not known yet".
void embedding_shape(const EmbeddingParams& p, ShapeInfer& s) {
  if (s.out(0).ndim() > 0) {
    Shape shape = s.out(0);
    shape.resize(shape.ndim() - 1);
    s.set_in(0, shape);
  }
  if (!s.in(0).ndim_known()) return;
  Shape shape = s.in(0);
  shape.push_back(p.output_dim);
  s.set_out(0, shape);
  s.set_in(1, Shape{p.input_dim, p.output_dim});
}

void embedding_type(const EmbeddingParams& p, TypeInfer& t) {
  t.tie({1});
  t.default_in(1, p.dtype);
  t.set_out(0, t.in(1));
  t.default_in(0);
}

OpBuilder<EmbeddingParams> add_embedding(OpTable& table, const char* name, const char* doc) {
  auto op = table.add<EmbeddingParams>(name, {"data", "weight"}).doc(doc);
  op.infer_shape(embedding_shape)
      .infer_type(embedding_type)
      .input_types(0, kNumericTypes)
      .class_numbers([](const EmbeddingParams& p, std::span<const TensorView>) {
        return ClassNumbers{.input = 0, .classes = p.input_dim};
      });
  return op;
}

void embedding_gradient(bool sparse, GradBuilder& g) {
  const char* const op = sparse ? "_backward_SparseEmbedding" : "_backward_Embedding";
  if (g.wants(1)) g.set(1, g.call1(op, {g.grad_of(0), g.in(0)}, g.attrs()));
}

void pick_shape(const PickParams& p, ShapeInfer& s) {
  const Shape& data = s.in(0);
  if (!data.ndim_known()) return;
  Shape index, output;
  if (p.axis) {
    const int axis = normalize_axis(*p.axis, data.ndim(), s.who());
    for (int i = 0; i < data.ndim(); ++i) {
      if (i != axis) index.push_back(data[i]);
      if (i != axis) output.push_back(data[i]);
      if (i == axis && p.keepdims) output.push_back(1);
    }
  } else {
    output = p.keepdims ? Shape::filled(data.ndim(), 1) : Shape();
  }
  if (output.ndim() == 0) output.push_back(1);
  // The index may keep the picked axis, with size one.
  const bool keeps = p.axis && s.in(1).ndim() == data.ndim();
  if (keeps) {
    Shape kept = data;
    kept[normalize_axis(*p.axis, data.ndim(), s.who())] = 1;
    s.set_in(1, kept);
  } else {
    s.set_in(1, index.ndim() == 0 ? Shape{1} : index);
  }
  s.set_out(0, output);
}

void check_ravelled(const RavelParams& p, const char* who) {
  LOOMIX_CHECK(p.shape, ValueError, "[{}] parameter shape is missing; expected the shape that is indexed.",
               who);
}

void ravel_shape(const RavelParams& p, ShapeInfer& s) {
  check_ravelled(p, s.who());
  if (!s.in(0).ndim_known()) return;
  LOOMIX_CHECK(s.in(0).ndim() >= 1 && (s.in(0)[0] < 0 || s.in(0)[0] == p.shape->ndim()), ShapeError,
               "[{}] data has shape {}; expected a first axis of {}, one row an axis of {}.", s.who(),
               s.in(0).to_string(), p.shape->ndim(), tuple_text(*p.shape));
  s.set_out(0, Shape(s.in(0).dims().subspan(1)));
}

void unravel_shape(const RavelParams& p, ShapeInfer& s) {
  check_ravelled(p, s.who());
  if (!s.in(0).ndim_known()) return;
  Shape shape{p.shape->ndim()};
  for (int64_t size : s.in(0)) shape.push_back(size);
  s.set_out(0, shape);
}

// Reads places of `data` that `index` names. Its gradient adds to these places in zeros like the data, and the gradient of
// that reads them again.
template <class P>
OpBuilder<P> add_gather(OpTable& table, const std::string& name, const char* data, const char* index,
                        void (*shape)(const P&, ShapeInfer&)) {
  const std::string backward = "_backward_" + name;
  table.add_hidden<P>(backward, {"grad", index, "like"})
      .shape_only(2)
      .shape_of(2)
      .infer_type(typed_by_data<P, 0, 1>)
      .gradient_op(name, {head(0), input(1)});
  auto op = table.add<P>(name, {data, index});
  op.infer_shape(shape)
      .infer_type(typed_by_data<P, 0, 1>)
      .input_types(1, kNumericTypes)
      .gradient_op(backward, {head(0), input(1), input(0)});
  return op;
}

}  // namespace

void register_index(OpTable& table) {
  add_gather<TakeParams>(table, "take", "a", "indices", take_shape)
      .doc("Takes slices of `a` along an axis at the given indices.");
  table.refine<TakeParams>("_backward_take").types(kNumericTypes);
  add_embedding(table, "Embedding",
                "Looks up rows of `weight`; indices outside are moved to the nearest row.")
      .aliases({"_sparse_Embedding"})
      .gradient([](const EmbeddingParams& p, GradBuilder& g) { embedding_gradient(p.sparse_grad, g); });
  add_embedding(table, "_contrib_SparseEmbedding",
                "Looks up rows of `weight`, whose gradient is row_sparse: the rows that were looked up.")
      .gradient([](const EmbeddingParams&, GradBuilder& g) { embedding_gradient(true, g); });
  for (const char* name : {"_backward_Embedding", "_backward_SparseEmbedding"}) {
    table.add_hidden<EmbeddingParams>(name, {"grad", "data"})
        .infer_shape([](const EmbeddingParams& p, ShapeInfer& s) {
          if (s.in(1).ndim_known()) {
            Shape grad = s.in(1);
            grad.push_back(p.output_dim);
            s.set_in(0, grad);
          }
          s.set_out(0, Shape{p.input_dim, p.output_dim});
        })
        .infer_type(typed_by_data<EmbeddingParams, 0, 1>)
        .types(kNumericTypes)
        .gradient_op("Embedding", {input(1), head(0)});
  }
  table.add<OneHotParams>("one_hot", {"indices"})
      .doc("Turns indices into vectors with one element on; an index outside leaves all off.")
      .infer_shape([](const OneHotParams& p, ShapeInfer& s) {
        if (!s.in(0).ndim_known()) return;
        Shape shape = s.in(0);
        shape.push_back(p.depth);
        s.set_out(0, shape);
      })
      .infer_type([](const OneHotParams& p, TypeInfer& t) {
        t.set_out(0, p.dtype);
        t.default_in(0);
      })
      .types(kNumericTypes)
      .zero_gradient();
  table.add<NoParams>("_onehot_encode", {"lhs", "rhs"})
      .doc("One-hot rows of the indices `lhs`, of the shape and type of the matrix `rhs`.")
      .shape_only(1)
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        s.set_out(0, s.in(1));
        const Shape& rows = s.in(1);
        s.expect(1, rows.ndim() == 2, "a matrix, one row an index");
        if (rows.ndim_known()) s.set_in(0, Shape{rows[0]});
      })
      .infer_type(typed_by_data<NoParams, 1, 0>)
      .types(kNumericTypes)
      .zero_gradient();
  add_gather<PickParams>(table, "pick", "data", "index", pick_shape)
      .aliases({"choose_element_0index"})
      .doc("Picks one element along an axis for each index.")
      .class_numbers([](const PickParams& p, std::span<const TensorView> in) {
        if (p.mode != IndexMode::clip) return ClassNumbers{};
        const Shape& shape = in[0].shape;
        const int axis = p.axis.value_or(0);
        return ClassNumbers{.input = 1,
                            .classes = p.axis ? shape[axis < 0 ? axis + shape.ndim() : axis] : shape.size()};
      });
  table.refine<PickParams>("_backward_pick").input_types(1, kNumericTypes);
  add_gather<NoParams>(table, "batch_take", "a", "indices",
                       [](const NoParams&, ShapeInfer& s) {
                         if (s.has_axes(0, 2, "two axes")) s.set_in(1, Shape{s.in(0)[0]});
                         s.tie({1});
                       })
      .doc("Takes element indices[i] of row i; indices outside are moved to the nearest column.")
      .infer_type([](const NoParams& p, TypeInfer& t) {
        t.default_in(1, DType::int32);
        typed_by_data<NoParams, 0, 1>(p, t);
      });
  table.refine<NoParams>("_backward_batch_take").input_types(1, kNumericTypes);
  add_gather<NoParams>(table, "gather_nd", "data", "indices", [](const NoParams&, ShapeInfer& s) {
    if (s.in(0).ndim_known() && s.in(1).is_known()) s.set_out(0, gather_shape(s.in(0), s.in(1), s.who()));
  }).doc("Gathers elements or slices of `data`; row k of `indices` counts along axis k.");
  table.refine<NoParams>("_backward_gather_nd").types(kNumericTypes);
  table.add<ScatterParams>("scatter_nd", {"data", "indices"})
      .doc(
          "Puts elements or slices of `data` into zeros at the given indices; where one repeats, the last "
          "stays.")
      .infer_shape([](const ScatterParams& p, ShapeInfer& s) {
        check_sizes(p, s.who());
        s.set_out(0, p.shape);
        if (s.in(1).is_known()) s.set_in(0, gather_shape(p.shape, s.in(1), s.who()));
      })
      .infer_type(typed_by_data<ScatterParams, 0, 1>)
      .input_types(1, kNumericTypes)
      .gradient([](const ScatterParams&, GradBuilder& g) {
        if (g.wants(0)) g.set(0, g.call1("gather_nd", {g.grad_of(0), g.in(1)}));
      });
  table.add<ScatterParams>("_scatter_set_nd", {"lhs", "rhs", "indices"})
      .doc("Copies `lhs` and sets the places that `indices` name to the values of `rhs`.")
      .inplace(0, 0)
      .infer_shape([](const ScatterParams& p, ShapeInfer& s) {
        check_sizes(p, s.who());
        s.set_in(0, p.shape);
        s.set_out(0, p.shape);
        if (s.in(2).is_known()) s.set_in(1, gather_shape(p.shape, s.in(2), s.who()));
      })
      .infer_type([](const ScatterParams&, TypeInfer& t) {
        t.tie({0, 1});
        t.default_in(2);
      })
      .input_types(2, kNumericTypes)
      .zero_gradient();
  const auto flat_index = [&table](const char* name, const char* alias, const char* doc,
                                   void (*shape)(const RavelParams&, ShapeInfer&)) {
    table.add<RavelParams>(name, {"data"})
        .doc(doc)
        .aliases({alias})
        .infer_shape(shape)
        .types(kNumericTypes)
        .zero_gradient();
  };
  flat_index("_ravel_multi_index", "ravel_multi_index",
             "Turns rows of indices, one an axis, into positions in row-major order.", ravel_shape);
  flat_index("_unravel_index", "unravel_index",
             "Turns positions in row-major order into rows of indices, one an axis.", unravel_shape);
}

}  // namespace loomix::ops
