// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/contrib.h"
#include "ops/table.h"

namespace loomix::ops {
namespace {

// lda (N, K), alpha (K), beta (K), state (N, K), lags (N, T), marks (N, T), valid_length (N), max_time (N), at `first`.
void infer_inputs(ShapeInfer& s, int first) {
  const auto in = [&](int i) -> const Shape& { return s.in(first + i); };
  int64_t sequences = kUnknownDim, marks = kUnknownDim, time = kUnknownDim;
  const auto learn = [](int64_t& size, const Shape& shape, int ndim, int axis) {
    if (shape.ndim() == ndim && shape[axis] >= 0) size = shape[axis];
  };
  for (int i : {0, 3}) {
    learn(sequences, in(i), 2, 0);
    learn(marks, in(i), 2, 1);
  }
  for (int i : {1, 2}) learn(marks, in(i), 1, 0);
  for (int i : {4, 5}) {
    learn(sequences, in(i), 2, 0);
    learn(time, in(i), 2, 1);
  }
  for (int i : {0, 3}) s.set_in(first + i, Shape{sequences, marks});
  for (int i : {1, 2}) s.set_in(first + i, Shape{marks});
  for (int i : {4, 5}) s.set_in(first + i, Shape{sequences, time});
  for (int i : {6, 7}) s.set_in(first + i, Shape{sequences});
}

void infer_input_types(TypeInfer& t, int first) {
  constexpr int kMarks = 5;
  t.tie({first, first + 1, first + 2, first + 3, first + 4, first + 6, first + 7}, {});
  t.set_in(first + kMarks, DType::int32);
}

const std::initializer_list<std::string_view> kInputs = {"lda",  "alpha", "beta",         "state",
                                                         "lags", "marks", "valid_length", "max_time"};

}  // namespace

void register_hawkes(OpTable& table) {
  table.add<NoParams>("_contrib_hawkesll")
      .doc(
          "The log likelihood of sequences of marked events under Hawkes processes with exponential decay, "
          "and the states at `max_time`. `lda` are background intensities, `alpha` the weights and `beta` "
          "the rates of decay of each mark, `lags` the times between events. No gradient flows to lags, "
          "marks, lengths and times.")
      .inputs(kInputs)
      .outputs({"output", "out_state"})
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        infer_inputs(s, 0);
        s.set_out(0, s.in(6));
        s.set_out(1, s.in(0));
      })
      .infer_type([](const NoParams&, TypeInfer& t) {
        t.set_in(0, t.out(0));
        infer_input_types(t, 0);
        for (int i : {0, 1}) t.set_out(i, t.in(0));
      })
      .types({DType::float32, DType::float64})
      .input_types(5, {DType::int32})
      .element_cost(1000)
      .gradient_op(
          "_backward_hawkesll",
          {head(0), head(1), input(0), input(1), input(2), input(3), input(4), input(5), input(6), input(7)},
          {0, 1, 2, 3});
  auto backward = table.add_hidden<NoParams>("_backward_hawkesll", {"grad", "grad_state"}).inputs(kInputs);
  backward
      .infer_shape([](const NoParams&, ShapeInfer& s) {
        infer_inputs(s, 2);
        s.set_in(0, s.in(8));
        s.set_in(1, s.in(2));
        for (int i = 0; i < 4; ++i) s.set_out(i, s.in(i + 2));
      })
      .infer_type([](const NoParams&, TypeInfer& t) {
        infer_input_types(t, 2);
        for (int i : {0, 1}) t.set_in(i, t.in(2));
        for (int i = 0; i < 4; ++i) t.set_out(i, t.in(2));
      })
      .types({DType::float32, DType::float64})
      .input_types(7, {DType::int32})
      .element_cost(1000);
  for (int i = 0; i < 4; ++i) backward.output(kInputs.begin()[i]);
}

}  // namespace loomix::ops
