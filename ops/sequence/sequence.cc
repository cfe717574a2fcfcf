// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence/sequence.h"

#include "ops/families.h"
#include "ops/shape/shape.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class P>
bool has_lengths(const P& p) {
  return p.use_sequence_length;
}

// Input `data` is (time, batch, ...) or (batch, time, ...); the next one has a length for each sequence.
void infer_lengths(const SequenceParams& p, ShapeInfer& s, int data) {
  const Shape& shape = s.in(data);
  s.expect(data, shape.ndim() >= 2, "two axes or more, time and batch");
  if (p.use_sequence_length && shape.ndim_known()) s.set_in(data + 1, Shape{shape[1 - p.axis]});
}

template <class P>
void same_as_data(const P& p, ShapeInfer& s) {
  s.tie({0});
  infer_lengths(p, s, 0);
}

// The data without the axis of time.
Shape without_time(const SequenceParams& p, const Shape& data) {
  return data.ndim_known() ? without_axis(data, p.axis) : data;
}

template <class P>
void data_type(const P&, TypeInfer& t) {
  t.tie({0});
  if (t.num_in() > 1) t.default_in(1, t.in(0));
}

template <class P>
OpBuilder<P> add(OpTable& table, const char* name, const char* doc) {
  auto op = table.add<P>(name, {"data", "sequence_length"}).doc(doc);
  op.last_input_if(has_lengths<P>).infer_type(data_type<P>).input_types(1, kNumericTypes);
  return op;
}

void register_last(OpTable& table) {
  add<SequenceParams>(table, "SequenceLast", "The last element of each sequence.")
      .infer_shape([](const SequenceParams& p, ShapeInfer& s) {
        infer_lengths(p, s, 0);
        s.set_out(0, without_time(p, s.in(0)));
      })
      .gradient_op("_backward_SequenceLast", {head(0), input(0), input_if_any(1)});
  table.add_hidden<SequenceParams>("_backward_SequenceLast", {"grad", "data", "sequence_length"})
      .last_input_if(has_lengths<SequenceParams>)
      .shape_only(1)
      .infer_shape([](const SequenceParams& p, ShapeInfer& s) {
        s.tie({1});
        infer_lengths(p, s, 1);
        s.set_in(0, without_time(p, s.in(1)));
      })
      .infer_type([](const SequenceParams&, TypeInfer& t) {
        t.tie({0, 1});
        if (t.num_in() > 2) t.default_in(2);
      })
      .input_types(2, kNumericTypes)
      .gradient_op("SequenceLast", {head(0), input_if_any(2)});
}

}  // namespace

void register_sequence(OpTable& table) {
  register_last(table);
  add<SequenceParams>(table, "SequenceReverse", "Reverses each sequence; what stands behind its end stays.")
      .infer_shape(same_as_data<SequenceParams>)
      .gradient_op("SequenceReverse", {head(0), input_if_any(1)});
  add<SequenceMaskParams>(table, "SequenceMask",
                          "Sets what stands behind the end of each sequence to a value.")
      .infer_shape(same_as_data<SequenceMaskParams>)
      .inplace(0, 0)
      .gradient([](const SequenceMaskParams& p, GradBuilder& g) {
        if (!g.wants(0)) return;
        SequenceMaskParams to_zero = p;
        to_zero.value = 0;
        std::vector<GradValue> inputs = {g.grad_of(0)};
        if (p.use_sequence_length) inputs.push_back(g.in(1));
        g.set(0, g.call("SequenceMask", inputs, make_attrs(to_zero))[0]);
      });
}

}  // namespace loomix::ops
