// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence/sequence.h"

#include "base/error.h"
#include "ops/families.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

template <class P>
bool has_lengths(const P& p) {
  return p.use_sequence_length;
}

// The data is (time, batch, ...) or (batch, time, ...); one length for each sequence.
void check_data(const ShapeInfer& s, const Shape& data) {
  LOOMIX_CHECK(!data.ndim_known() || data.ndim() >= 2, ShapeError,
               "[{}] data has shape {}; expected two axes or more, time and batch.", s.who(),
               data.to_string());
}

void infer_lengths(const SequenceParams& p, ShapeInfer& s, const Shape& data, int position) {
  if (p.use_sequence_length && data.ndim_known()) s.set_in(position, Shape{data[1 - p.axis]});
}

template <class P>
void same_as_data(const P& p, ShapeInfer& s) {
  s.tie({0});
  check_data(s, s.in(0));
  infer_lengths(p, s, s.in(0), 1);
}

// The data without the axis of time.
Shape without_time(const SequenceParams& p, const Shape& data) {
  if (!data.ndim_known()) return data;
  Shape out{data[1 - p.axis]};
  for (int axis = 2; axis < data.ndim(); ++axis) out.push_back(data[axis]);
  return out;
}

template <class P>
void data_type(const P&, TypeInfer& t) {
  t.tie({0});
  if (t.num_in() > 1) t.default_in(1, t.in(0));
}

// Calls the operator with the gradient in place of the data.
template <class P>
GradValue on_gradient(GradBuilder& g, const char* op, const P& p, Ref<const AttrsBase> attrs) {
  const GradValue inputs[] = {g.grad_of(0), p.use_sequence_length ? g.in(1) : GradValue{}};
  return g.call(op, std::span(inputs).first(p.use_sequence_length ? 2 : 1), std::move(attrs))[0];
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
        check_data(s, s.in(0));
        s.set_out(0, without_time(p, s.in(0)));
        infer_lengths(p, s, s.in(0), 1);
      })
      .gradient([](const SequenceParams& p, GradBuilder& g) {
        if (!g.wants(0)) return;
        std::vector<GradValue> inputs = {g.grad_of(0), g.in(0)};
        if (p.use_sequence_length) inputs.push_back(g.in(1));
        g.set(0, g.call("_backward_SequenceLast", inputs, g.attrs())[0]);
      });
  table.add_hidden<SequenceParams>("_backward_SequenceLast", {"grad", "data", "sequence_length"})
      .last_input_if(has_lengths<SequenceParams>)
      .shape_only(1)
      .infer_shape([](const SequenceParams& p, ShapeInfer& s) {
        s.tie({1});
        check_data(s, s.in(1));
        s.set_in(0, without_time(p, s.in(1)));
        infer_lengths(p, s, s.in(1), 2);
      })
      .infer_type([](const SequenceParams&, TypeInfer& t) {
        t.tie({0, 1});
        if (t.num_in() > 2 && t.in(2) == DType::unknown) t.set_in(2, DType::float32);
      })
      .input_types(2, kNumericTypes)
      .gradient([](const SequenceParams& p, GradBuilder& g) {
        const GradValue inputs[] = {g.grad_of(0), p.use_sequence_length ? g.in(2) : GradValue{}};
        g.set(0,
              g.call("SequenceLast", std::span(inputs).first(p.use_sequence_length ? 2 : 1), g.attrs())[0]);
      });
}

}  // namespace

void register_sequence(OpTable& table) {
  register_last(table);
  add<SequenceParams>(table, "SequenceReverse", "Reverses each sequence; what stands behind its end stays.")
      .infer_shape(same_as_data<SequenceParams>)
      .gradient([](const SequenceParams& p, GradBuilder& g) {
        if (g.wants(0)) g.set(0, on_gradient(g, "SequenceReverse", p, g.attrs()));
      });
  add<SequenceMaskParams>(table, "SequenceMask",
                          "Sets what stands behind the end of each sequence to a value.")
      .infer_shape(same_as_data<SequenceMaskParams>)
      .inplace(0, 0)
      .gradient([](const SequenceMaskParams& p, GradBuilder& g) {
        if (!g.wants(0)) return;
        SequenceMaskParams to_zero = p;
        to_zero.value = 0;
        g.set(0, on_gradient(g, "SequenceMask", p, make_attrs(to_zero)));
      });
}

}  // namespace loomix::ops
