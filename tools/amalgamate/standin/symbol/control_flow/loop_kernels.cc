// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <optional>

#include "base/error.h"
#include "bindings/c/process.h"
#include "symbol/control_flow/control_flow.h"

// A run of an operator compiles its subgraphs for the shapes at hand, and runs them step by step.
namespace loomix::control_flow {
namespace {

// A subgraph and where its inputs are.
class Body {
 public:
  Body(const Subgraph& graph, std::vector<TensorView> inputs)
      : program_(c::engine(), graph.graph(), infer_all(graph.graph(), inputs)), inputs_(std::move(inputs)) {
    program_.plan();
  }
  TensorView& input(size_t i) { return inputs_[i]; }
  void run() {
    for (size_t i = 0; i < inputs_.size(); ++i) program_.set(static_cast<int>(i), inputs_[i]);
    program_.run();
  }
  const TensorView& output(size_t i) const { return program_.output(static_cast<int>(i)); }

  bool holds() {
    run();
    LOOMIX_CHECK(output(0).size() == 1, ShapeError,
                 "[control flow] a condition gives an array of shape {}; expected one number.",
                 output(0).shape.to_string());
    return dispatch_all(output(0).dtype, "control flow",
                        [&]<class T>(Type<T>) { return *output(0).as<T>() != T(0); });
  }

 private:
  Program program_;
  std::vector<TensorView> inputs_;
};

TensorView element(const TensorView& data, int64_t step) {
  TensorView one{nullptr, data.dtype, Shape(data.shape.dims().subspan(1))};
  one.data = static_cast<char*>(data.data) + step * one.bytes();
  return one;
}

void copy_to(const TensorView& from, const TensorView& to) {
  LOOMIX_CHECK(from.shape == to.shape && from.dtype == to.dtype, ShapeError,
               "[control flow] a step gives an array of shape {}; expected {}.", from.shape.to_string(),
               to.shape.to_string());
  if (to.data && to.size() > 0 && from.data != to.data)
    std::memcpy(to.data, from.data, static_cast<size_t>(to.bytes()));
}

// Values that steps hand on: a step's results take the place of its inputs.
class States {
 public:
  void add(const TensorView& first) {
    memory_.emplace_back(static_cast<size_t>(first.bytes()));
    views_.push_back({memory_.back().data(), first.dtype, first.shape});
    copy_to(first, views_.back());
  }
  const TensorView& operator[](size_t i) const { return views_[i]; }
  size_t size() const { return views_.size(); }

 private:
  std::vector<Memory> memory_;
  std::vector<TensorView> views_;
};

std::vector<TensorView> pick(std::span<const TensorView> values, const std::vector<int64_t>& places) {
  std::vector<TensorView> picked;
  for (const int64_t place : places) picked.push_back(values[static_cast<size_t>(place)]);
  return picked;
}

}  // namespace

void run_foreach(const ForeachParams& p, const ops::KernelArgs& args, engine::Completion completion) {
  const size_t data = p.in_data_locs.size(), states = p.in_state_locs.size();
  const auto stacked = static_cast<size_t>(p.num_out_data);
  const int64_t steps = args.in[0].shape[0];
  const auto at = [](int64_t place) { return static_cast<size_t>(place); };
  States state;
  for (size_t i = 0; i < states; ++i) state.add(args.in[data + i]);
  std::vector<TensorView> inputs(args.in.size());
  for (size_t i = 0; i < data; ++i) inputs[at(p.in_data_locs[i])] = element(args.in[i], 0);
  for (size_t i = 0; i < states; ++i) inputs[at(p.in_state_locs[i])] = state[i];
  for (size_t i = 0; i < p.remain_locs.size(); ++i) inputs[at(p.remain_locs[i])] = args.in[data + states + i];
  std::optional<Body> body;
  for (int64_t step = 0; step < steps; ++step) {
    if (!body) body.emplace(*p.graphs[0], inputs);
    for (size_t i = 0; i < data; ++i) body->input(at(p.in_data_locs[i])) = element(args.in[i], step);
    body->run();
    for (size_t i = 0; i < stacked; ++i) {
      if (args.req[i] != ops::Req::null) copy_to(body->output(i), element(args.out[i], step));
    }
    for (size_t i = 0; i < states; ++i) copy_to(body->output(stacked + i), state[i]);
  }
  for (size_t i = 0; i < states; ++i) {
    if (args.req[stacked + i] != ops::Req::null) copy_to(state[i], args.out[stacked + i]);
  }
  completion.done();
}

void run_while(const WhileParams& p, const ops::KernelArgs& args, engine::Completion completion) {
  const auto stacked = static_cast<size_t>(p.num_out_data);
  std::vector<TensorView> values(args.in.begin(), args.in.end());
  std::vector<TensorView> inputs =
      pick(values, p.func_input_locs);  // of a step; some may be one input at first
  States state;
  for (const int64_t var : p.func_var_locs) {
    const auto place = static_cast<size_t>(var);
    state.add(inputs[place]);
    values[static_cast<size_t>(p.func_input_locs[place])] = inputs[place] = state[state.size() - 1];
  }
  Body condition(*p.graphs[0], pick(values, p.cond_input_locs));
  Body body(*p.graphs[1], std::move(inputs));
  int64_t step = 0;
  for (; step < p.max_iterations && condition.holds(); ++step) {
    body.run();
    for (size_t i = 0; i < stacked; ++i) {
      if (args.req[i] != ops::Req::null) copy_to(body.output(i), element(args.out[i], step));
    }
    for (size_t i = 0; i < state.size(); ++i) copy_to(body.output(stacked + i), state[i]);
  }
  for (size_t i = 0; i < stacked; ++i) {
    for (int64_t rest = step; args.req[i] != ops::Req::null && rest < p.max_iterations; ++rest) {
      const TensorView one = element(args.out[i], rest);
      std::memset(one.data, 0, static_cast<size_t>(one.bytes()));
    }
  }
  for (size_t i = 0; i < state.size(); ++i) {
    if (args.req[stacked + i] != ops::Req::null) copy_to(state[i], args.out[stacked + i]);
  }
  completion.done();
}

void run_cond(const CondParams& p, const ops::KernelArgs& args, engine::Completion completion) {
  const bool first = Body(*p.graphs[0], pick(args.in, p.cond_input_locs)).holds();
  Body body(*p.graphs[first ? 1 : 2], pick(args.in, first ? p.then_input_locs : p.else_input_locs));
  body.run();
  for (size_t i = 0; i < args.out.size(); ++i) {
    if (args.req[i] != ops::Req::null) copy_to(body.output(i), args.out[i]);
  }
  completion.done();
}

}  // namespace loomix::control_flow
