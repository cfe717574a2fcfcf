// SPDX-License-Identifier: Apache-2.0
#include "ops/detection/box.h"

#include "base/error.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

const std::initializer_list<std::pair<std::string_view, BoxFormat>> kFormats = {
    {"center", BoxFormat::center}, {"corner", BoxFormat::corner}};
constexpr const char* kFormat = "A box is x, y, width and height of its centre, or two corners.";

void iou_shape(const BoxIouParams&, ShapeInfer& s) {
  for (int input = 0; input < 2; ++input) {
    const Shape& shape = s.in(input);
    const int last = shape.ndim() - 1;
    s.expect(input, last >= 0 && (shape[last] == 4 || shape[last] < 0), "4 numbers along the last axis");
  }
  if (!s.in(0).ndim_known() || !s.in(1).ndim_known()) return;
  Shape out;
  for (int input = 0; input < 2; ++input) {
    for (int i = 0; i + 1 < s.in(input).ndim(); ++i) out.push_back(s.in(input)[i]);
  }
  if (out.ndim() == 0) out.push_back(1);
  s.set_out(0, out);
}

void nms_shape(const BoxNmsParams& p, ShapeInfer& s) {
  s.unify_all();
  const Shape& data = s.in(0);
  if (!data.ndim_known()) return;
  s.expect(0, data.ndim() >= 2, "(..., boxes, numbers)");
  const int64_t numbers = data[data.ndim() - 1];
  if (numbers < 0) return;
  LOOMIX_CHECK(p.coord_start >= 0 && p.coord_start + 4 <= numbers && p.score_index >= 0 &&
                   p.score_index < numbers && p.id_index < numbers,
               ValueError,
               "[{}] coord_start {}, score_index {}, id_index {} are not inside of the {} numbers of a box "
               "in data of shape {}.",
               s.who(), p.coord_start, p.score_index, p.id_index, numbers, data.to_string());
  const auto is_coordinate = [&](int index) { return index >= p.coord_start && index < p.coord_start + 4; };
  LOOMIX_CHECK(!is_coordinate(p.score_index) && !is_coordinate(p.id_index) && p.id_index != p.score_index,
               ValueError, "[{}] coord_start {}, score_index {} and id_index {} overlap.", s.who(),
               p.coord_start, p.score_index, p.id_index);
}

TensorView nms_saved(const BoxNmsParams&, const KernelSpec& spec, int) {
  Shape shape = spec.in[0].shape;
  shape.resize(shape.ndim() - 1);
  return {nullptr, DType::int32, shape};
}

void encode_shape(const BoxEncodeParams&, ShapeInfer& s) {
  s.tie({0, 1}, {});
  s.set_in(4, Shape{4});
  s.set_in(5, Shape{4});
  const Shape& samples = s.in(0);
  if (!s.has_axes(0, 2, "(batch, anchors)")) return;
  s.set_in(2, Shape{kUnknownDim, samples[1], 4});
  s.set_in(3, Shape{samples[0], kUnknownDim, 4});
  const int64_t batch = s.in(2)[0];
  LOOMIX_CHECK(batch < 0 || samples[0] < 0 || batch == 1 || batch == samples[0], ShapeError,
               "[{}] anchors has shape {}; expected a first axis of 1 or {}.", s.who(), s.in(2).to_string(),
               samples[0]);
  for (int i = 0; i < 2; ++i) s.set_out(i, Shape{samples[0], samples[1], 4});
}

void decode_shape(const BoxDecodeParams&, ShapeInfer& s) {
  s.tie({0});
  const Shape& data = s.in(0);
  if (!s.has_axes(0, 3, "(batch, anchors, 4)")) return;
  s.set_in(0, Shape{kUnknownDim, kUnknownDim, 4});
  s.set_in(1, Shape{1, data[1], 4});
}

void matching_shape(const BipartiteMatchingParams&, ShapeInfer& s) {
  const Shape& data = s.in(0);
  if (!data.ndim_known()) return;
  s.expect(0, data.ndim() >= 2, "(..., rows, columns)");
  Shape rows, columns;
  for (int i = 0; i < data.ndim(); ++i) {
    if (i != data.ndim() - 1) rows.push_back(data[i]);
    if (i != data.ndim() - 2) columns.push_back(data[i]);
  }
  s.set_out(0, rows);
  s.set_out(1, columns);
}

}  // namespace

void BoxIouParams::fields(FieldList<BoxIouParams>& f) {
  f("format", &BoxIouParams::format, kFormat).options(kFormats);
}

void BoxNmsParams::fields(FieldList<BoxNmsParams>& f) {
  using P = BoxNmsParams;
  f("overlap_thresh", &P::overlap_thresh, "Boxes that overlap a better one by more are taken out.");
  f("valid_thresh", &P::valid_thresh, "Boxes whose score is not greater are taken out.");
  f("topk", &P::topk, "How many of the best boxes are looked at; -1: all.");
  f("coord_start", &P::coord_start, "Where a box's four coordinates begin.");
  f("score_index", &P::score_index, "Where its score is.");
  f("id_index", &P::id_index, "Where its class is; -1: there are no classes.");
  f("background_id", &P::background_id, "The class that is taken out: -1 marks boxes that hold nothing.");
  f("force_suppress", &P::force_suppress, "Also compares boxes of different classes.");
  f("in_format", &P::in_format, kFormat).options(kFormats);
  f("out_format", &P::out_format, kFormat).options(kFormats);
}

void BoxDecodeParams::fields(FieldList<BoxDecodeParams>& f) {
  using P = BoxDecodeParams;
  f("std0", &P::std0, "Factor of x.");
  f("std1", &P::std1, "Factor of y.");
  f("std2", &P::std2, "Factor of the width's logarithm.");
  f("std3", &P::std3, "Factor of the height's logarithm.");
  f("clip", &P::clip, "Bound on the logarithms; none if not positive.");
  f("format", &P::format, "Of the anchors. A box is x, y, width and height of its centre, or two corners.")
      .options(kFormats);
}

void BipartiteMatchingParams::fields(FieldList<BipartiteMatchingParams>& f) {
  using P = BipartiteMatchingParams;
  f("is_ascend", &P::is_ascend, "Takes the smallest scores first.");
  f("threshold", &P::threshold, "Scores that are not better are not matched.").required("0.5");
  f("topk", &P::topk, "The most matches; -1: no bound.");
}

void register_box(OpTable& table) {
  table.add<BoxIouParams>("_contrib_box_iou", {"lhs", "rhs"})
      .doc("Intersection over union of each box of lhs with each of rhs.")
      .infer_shape(iou_shape)
      .types(kFloatingTypes)
      .element_cost(3)
      .zero_gradient();
  table.add<BoxNmsParams>("_contrib_box_nms", {"data"})
      .doc(
          "Takes out boxes that overlap better ones; the others come first, the best ahead, and then rows of "
          "-1.")
      .aliases({"_contrib_box_non_maximum_suppression"})
      .output("output0")
      .saved({"index"}, nms_saved)
      .infer_shape(nms_shape)
      .types(kFloatingTypes)
      .element_cost(20)
      .gradient_op("_backward__contrib_box_nms", {head(0), saved(0)});
  table.add_hidden<BoxNmsParams>("_backward__contrib_box_nms", {"grad", "index"})
      .infer_shape([](const BoxNmsParams&, ShapeInfer& s) {
        s.tie({0});
        if (!s.in(0).ndim_known()) return;
        Shape index = s.in(0);
        index.resize(std::max(index.ndim() - 1, 0));
        s.set_in(1, index);
      })
      .infer_type([](const BoxNmsParams&, TypeInfer& t) {
        t.tie({0});
        t.set_in(1, DType::int32);
      })
      .types(kFloatingTypes)
      .input_types(1, {DType::int32});
  table
      .add<BoxEncodeParams>("_contrib_box_encode", {"samples", "matches", "anchors", "refs", "means", "stds"})
      .doc("Distances of boxes from the anchors that they were matched with, and which of them count.")
      .outputs({"output0", "output1"})
      .infer_shape(encode_shape)
      .types(kFloatingTypes)
      .element_cost(5)
      .zero_gradient();
  table.add<BoxDecodeParams>("_contrib_box_decode", {"data", "anchors"})
      .doc("Boxes, as corners, from their distances from anchors.")
      .infer_shape(decode_shape)
      .types(kFloatingTypes)
      .element_cost(5)
      .zero_gradient();
  table.add<BipartiteMatchingParams>("_contrib_bipartite_matching", {"data"})
      .doc("Matches rows with columns, the best scores first; -1 for those without.")
      .outputs({"output0", "output1"})
      .infer_shape(matching_shape)
      .types(kFloatingTypes)
      .element_cost(100)
      .zero_gradient();
}

}  // namespace loomix::ops
