// SPDX-License-Identifier: Apache-2.0
#include "symbol/control_flow/control_flow.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace loomix::control_flow {
namespace {

constexpr const char* kGradientOp = "_backward_control_flow";

// ---- attributes and their subgraphs -----------------------------------------------------------------------------

// Until the subgraphs are there the inputs have names only.
template <class P>
P with_signature(P p) {
  constexpr int kMost = 65535;
  LOOMIX_CHECK(
      p.num_args >= P::kGraphs && p.num_args <= kMost && p.num_outputs >= 1 && p.num_outputs <= kMost,
      ValueError,
      "[control flow] num_args={} and num_outputs={} do not fit an operator with {} subgraphs; expected {} "
      "to {} and 1 to {}.",
      p.num_args, p.num_outputs, P::kGraphs, P::kGraphs, kMost, kMost);
  for (int i = 0; i < p.num_args - P::kGraphs; ++i)
    p.signature.inputs.push_back({"data" + std::to_string(i)});
  for (int i = 0; i < p.num_outputs; ++i)
    p.signature.outputs.push_back(p.num_outputs == 1 ? "output" : "output" + std::to_string(i));
  p.state = make_ref<LoopState>();
  return p;
}

void check_places(std::string_view who, std::string_view what, const std::vector<int64_t>& places, int count,
                  int below) {
  LOOMIX_CHECK(static_cast<int>(places.size()) == count, ValueError, "[{}] {} has {} places; expected {}.",
               who, what, places.size(), count);
  for (int64_t place : places) {
    LOOMIX_CHECK(place >= 0 && place < below, ValueError, "[{}] {} holds {}; expected 0 to {}.", who, what,
                 place, below - 1);
  }
}

void check_outputs(std::string_view who, const Subgraph& graph, int expected) {
  LOOMIX_CHECK(graph.num_outputs() == expected, ValueError, "[{}] a subgraph gives {} outputs; expected {}.",
               who, graph.num_outputs(), expected);
}

// Subgraph `graph` takes its inputs from these places of the operator's.
void connect(ControlParams& p, size_t graph, const std::vector<int64_t>& places) {
  for (int i = 0; i < p.graphs[graph]->num_inputs(); ++i) {
    ops::Argument& input = p.signature.inputs[static_cast<size_t>(places[static_cast<size_t>(i)])];
    input.mutated = input.mutated || p.graphs[graph]->mutates(i);
  }
}

// Where input i of the subgraph comes from.
std::vector<int64_t> foreach_places(const ForeachParams& p) {
  std::vector<int64_t> places(static_cast<size_t>(p.num_inputs()), -1);
  int64_t input = 0;
  for (const auto* locs : {&p.in_data_locs, &p.in_state_locs, &p.remain_locs}) {
    for (int64_t loc : *locs) places[static_cast<size_t>(loc)] = input++;
  }
  return places;
}

void check(ForeachParams& p) {
  constexpr std::string_view kWho = "_foreach";
  const Subgraph& body = *p.graphs[0];
  check_outputs(kWho, body, p.num_outputs);
  const int states = p.num_outputs - std::max(p.num_out_data, 0), inputs = p.num_inputs();
  LOOMIX_CHECK(p.num_out_data >= 0 && states >= 0, ValueError,
               "[_foreach] num_out_data={} of {} outputs; expected 0 to {}.", p.num_out_data, p.num_outputs,
               p.num_outputs);
  const int data = static_cast<int>(p.in_data_locs.size());
  LOOMIX_CHECK(data >= 1 && body.num_inputs() == inputs, ValueError,
               "[_foreach] the subgraph has {} inputs, the operator {}, {} of them data; expected the same "
               "number, and data.",
               body.num_inputs(), inputs, data);
  check_places(kWho, "in_data_locs", p.in_data_locs, data, inputs);
  check_places(kWho, "in_state_locs", p.in_state_locs, states, inputs);
  check_places(kWho, "remain_locs", p.remain_locs, inputs - data - states, inputs);
  const std::vector<int64_t> places = foreach_places(p);
  LOOMIX_CHECK(std::find(places.begin(), places.end(), -1) == places.end(), ValueError,
               "[_foreach] in_data_locs, in_state_locs and remain_locs name an input twice.");
  connect(p, 0, places);
}

void check(WhileParams& p) {
  constexpr std::string_view kWho = "_while_loop";
  const int variables = p.num_outputs - std::max(p.num_out_data, 0), inputs = p.num_inputs();
  check_outputs(kWho, *p.graphs[0], 1);
  check_outputs(kWho, *p.graphs[1], p.num_outputs);
  LOOMIX_CHECK(p.num_out_data >= 0 && variables >= 1 && p.max_iterations >= 0, ValueError,
               "[_while_loop] num_out_data={} of {} outputs, max_iterations={}; expected a variable, and no "
               "negative numbers.",
               p.num_out_data, p.num_outputs, p.max_iterations);
  check_places(kWho, "cond_input_locs", p.cond_input_locs, p.graphs[0]->num_inputs(), inputs);
  check_places(kWho, "func_input_locs", p.func_input_locs, p.graphs[1]->num_inputs(), inputs);
  check_places(kWho, "func_var_locs", p.func_var_locs, variables, p.graphs[1]->num_inputs());
  connect(p, 0, p.cond_input_locs);
  connect(p, 1, p.func_input_locs);
}

void check(CondParams& p) {
  constexpr std::string_view kWho = "_cond";
  const std::vector<int64_t>* const places[] = {&p.cond_input_locs, &p.then_input_locs, &p.else_input_locs};
  constexpr std::string_view kNames[] = {"cond_input_locs", "then_input_locs", "else_input_locs"};
  for (size_t i = 0; i < 3; ++i) {
    check_outputs(kWho, *p.graphs[i], i == 0 ? 1 : p.num_outputs);
    check_places(kWho, kNames[i], *places[i], p.graphs[i]->num_inputs(), p.num_inputs());
    connect(p, i, *places[i]);
  }
}

template <class P>
Ref<const AttrsBase> join(const ops::OpTable& table, const AttrsBase& attrs,
                          std::span<const Ref<const Opaque>> graphs) {
  P p = attrs.as<P>();
  LOOMIX_CHECK(graphs.size() == static_cast<size_t>(P::kGraphs), ValueError,
               "[control flow] {} subgraphs were given; expected {}.", graphs.size(), P::kGraphs);
  p.graphs.clear();
  for (const Ref<const Opaque>& graph : graphs) {
    LOOMIX_INTERNAL_CHECK(graph->kind() == Subgraph::kKind);
    p.graphs.emplace_back(static_cast<const Subgraph*>(graph.get()));
  }
  p.table = &table;
  check(p);
  return make_attrs(std::move(p));
}

template <class P>
P with_own_state(const P& p) {
  P own = p;
  own.state = make_ref<LoopState>();
  return own;
}

template <class P>
const ops::Signature& signature_of(const P& p) {
  return p.signature;
}

void check_joined(const ControlParams& p, const char* who) {
  LOOMIX_CHECK(!p.graphs.empty(), ValueError,
               "[{}] the operator has no subgraph; make it by the functions of mx.sym.contrib.", who);
}

// ---- inference -----------------------------------------------------------------------------------------------------

// Elements of a stack along a first axis, and stacks of them. Types have no axis.
Shape element_of(const Shape& stack, const char* who) {
  if (!stack.ndim_known()) return stack;
  LOOMIX_CHECK(stack.ndim() >= 1, ShapeError, "[{}] data of shape () has no axis to go along.", who);
  return Shape(stack.dims().subspan(1));
}
DType element_of(DType stack, const char*) { return stack; }

Shape stack_of(const Shape& element, int64_t count) {
  if (!element.ndim_known()) return element;
  Shape stack;
  stack.push_back(count);
  for (int64_t size : element) stack.push_back(size);
  return stack;
}
DType stack_of(DType element, int64_t) { return element; }

int64_t count_of(const Shape& stack) {
  return stack.ndim_known() && stack.ndim() > 0 ? stack[0] : kUnknownDim;
}
int64_t count_of(DType) { return kUnknownDim; }

void run_rules(const Subgraph& graph, std::span<Shape> in, std::span<Shape> out) {
  graph.infer_shapes(in, out);
}
void run_rules(const Subgraph& graph, std::span<DType> in, std::span<DType> out) {
  graph.infer_dtypes(in, out);
}

template <class T>
T unknown_value();
template <>
Shape unknown_value() {
  return Shape::unknown();
}
template <>
DType unknown_value() {
  return DType::unknown;
}

constexpr int kSweeps = 3;  // what a state's output tells goes back to its input

template <class T, class Infer>
void infer_foreach(const ForeachParams& p, Infer& s) {
  check_joined(p, s.who());
  const std::vector<int64_t> places = foreach_places(p);
  const auto data = static_cast<int>(p.in_data_locs.size());
  int64_t count = kUnknownDim;
  for (int i = 0; i < data; ++i) count = std::max(count, count_of(s.in(i)));
  for (int i = 0; i < p.num_out_data; ++i) count = std::max(count, count_of(s.out(i)));
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    std::vector<T> in, out;
    for (int64_t place : places) {
      const T& value = s.in(static_cast<int>(place));
      in.push_back(place < data ? T(element_of(value, s.who())) : value);
    }
    for (int i = 0; i < p.num_outputs; ++i)
      out.push_back(i < p.num_out_data ? T(element_of(s.out(i), s.who())) : s.out(i));
    run_rules(*p.graphs[0], in, out);
    for (size_t i = 0; i < in.size(); ++i) {
      const auto place = static_cast<int>(places[i]);
      s.set_in(place, place < data ? stack_of(in[i], count) : in[i]);
    }
    for (int i = 0; i < p.num_outputs; ++i) {
      const T& value = out[static_cast<size_t>(i)];
      s.set_out(i, i < p.num_out_data ? stack_of(value, count) : value);
      if (i >= p.num_out_data) s.set_in(data + i - p.num_out_data, s.out(i));
      if (i >= p.num_out_data) s.set_out(i, s.in(data + i - p.num_out_data));
    }
  }
}

// Runs a subgraph's rules with the operator's inputs at `places`. Some of its outputs are stacked.
template <class T, class Infer>
void infer_at(const Subgraph& graph, const std::vector<int64_t>& places, Infer& s, int stacked, int64_t count,
              bool has_outputs = true) {
  std::vector<T> in, out;
  for (int64_t place : places) in.push_back(s.in(static_cast<int>(place)));
  for (int i = 0; i < graph.num_outputs(); ++i) {
    out.push_back(!has_outputs  ? unknown_value<T>()
                  : i < stacked ? T(element_of(s.out(i), s.who()))
                                : s.out(i));
  }
  run_rules(graph, in, out);
  for (size_t i = 0; i < in.size(); ++i) s.set_in(static_cast<int>(places[i]), in[i]);
  for (int i = 0; has_outputs && i < graph.num_outputs(); ++i) {
    const T& value = out[static_cast<size_t>(i)];
    s.set_out(i, i < stacked ? stack_of(value, count) : value);
  }
}

template <class T, class Infer>
void infer_while(const WhileParams& p, Infer& s) {
  check_joined(p, s.who());
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    infer_at<T>(*p.graphs[0], p.cond_input_locs, s, 0, 0, false);
    infer_at<T>(*p.graphs[1], p.func_input_locs, s, p.num_out_data, p.max_iterations);
    for (size_t i = 0; i < p.func_var_locs.size(); ++i) {
      const int out = p.num_out_data + static_cast<int>(i);
      const auto in = static_cast<int>(p.func_input_locs[static_cast<size_t>(p.func_var_locs[i])]);
      s.set_in(in, s.out(out));
      s.set_out(out, s.in(in));
    }
  }
}

template <class T, class Infer>
void infer_cond(const CondParams& p, Infer& s) {
  check_joined(p, s.who());
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    infer_at<T>(*p.graphs[0], p.cond_input_locs, s, 0, 0, false);
    infer_at<T>(*p.graphs[1], p.then_input_locs, s, 0, 0);
    infer_at<T>(*p.graphs[2], p.else_input_locs, s, 0, 0);
  }
}

template <class Infer>
void infer_gradient(const ControlGradientParams& p, Infer& s) {
  for (size_t i = 0; i < p.wanted.size(); ++i)
    s.set_out(static_cast<int>(i), s.in(p.num_outputs + p.wanted[i]));
}

// ---- gradient ------------------------------------------------------------------------------------------------------

void add_gradient(const ControlParams& p, int num_data, int num_out_data, ops::GradBuilder& g) {
  ControlGradientParams own;
  own.state = p.state;
  own.table = p.table;
  own.num_outputs = p.num_outputs;
  own.num_inputs = p.num_inputs();
  own.num_data = num_data;
  own.num_out_data = num_out_data;
  own.signature = {};
  std::vector<ops::GradValue> inputs;
  for (int i = 0; i < p.num_outputs; ++i) {
    inputs.push_back(g.grad_of(i));
    own.signature.inputs.push_back({p.signature.outputs[static_cast<size_t>(i)] + "_grad"});
  }
  for (int i = 0; i < p.num_inputs(); ++i) {
    inputs.push_back(g.in(i));
    own.signature.inputs.push_back(p.signature.inputs[static_cast<size_t>(i)]);
    if (!g.wants(i) || p.signature.inputs[static_cast<size_t>(i)].mutated) continue;
    own.wanted.push_back(i);
    own.signature.outputs.push_back(p.signature.inputs[static_cast<size_t>(i)].name + "_grad");
  }
  inputs.push_back(g.saved(0));
  own.signature.inputs.push_back({"tape"});
  if (own.wanted.empty()) return;
  const std::vector<int> wanted = own.wanted;
  const std::vector<ops::GradValue> grads = g.call(kGradientOp, inputs, make_attrs(std::move(own)));
  for (size_t i = 0; i < wanted.size(); ++i) g.set(wanted[i], grads[i]);
}

// Its memory stands for the tape: it is there if a gradient will be taken, and orders the two.
TensorView tape_token() { return {nullptr, DType::uint8, Shape{1}}; }

template <class P>
uint64_t random_streams(const P& p, const ops::KernelSpec&) {
  return std::any_of(p.graphs.begin(), p.graphs.end(),
                     [](const auto& graph) { return graph->draws_random_numbers(); })
             ? 1
             : 0;
}

template <class P>
ops::OpBuilder<P> add_operator(ops::OpTable& table, const char* name, const char* doc) {
  ops::OpBuilder<P> op = table.add<P>(name);
  op.doc(doc)
      .variadic("data", "num_args", &P::num_args)
      .output("output")
      .signature(signature_of<P>)
      .saved({"tape"}, [](const P&, const ops::KernelSpec&, int) { return tape_token(); })
      .uses_rng(random_streams<P>)
      .training_matters()
      .impure()
      .complete(with_signature<P>)
      .instantiate(with_own_state<P>)
      .with_subgraphs(join<P>);
  return op;
}

}  // namespace

void ForeachParams::fields(FieldList<ForeachParams>& f) {
  f("num_args", &ForeachParams::num_args, "Inputs and subgraphs.").required("2");
  f("num_outputs", &ForeachParams::num_outputs, "Outputs of the subgraph.").required("1");
  f("num_out_data", &ForeachParams::num_out_data, "How many of them are stacked; the others are states.")
      .required("1");
  f("in_state_locs", &ForeachParams::in_state_locs, "Places of the states among the subgraph's inputs.")
      .required("()");
  f("in_data_locs", &ForeachParams::in_data_locs, "Places of the data's elements there.").required("(0,)");
  f("remain_locs", &ForeachParams::remain_locs, "Places of what stays the same.").required("()");
}

void WhileParams::fields(FieldList<WhileParams>& f) {
  f("num_args", &WhileParams::num_args, "Inputs and subgraphs.").required("3");
  f("num_outputs", &WhileParams::num_outputs, "Outputs of the second subgraph.").required("1");
  f("num_out_data", &WhileParams::num_out_data, "How many of them are stacked; the others are variables.")
      .required("0");
  f("max_iterations", &WhileParams::max_iterations, "The most steps.").required("1");
  f("cond_input_locs", &WhileParams::cond_input_locs, "Where the condition's inputs are.").required("(0,)");
  f("func_input_locs", &WhileParams::func_input_locs, "Where the step's inputs are.").required("(0,)");
  f("func_var_locs", &WhileParams::func_var_locs, "Places of the variables among the step's inputs.")
      .required("(0,)");
}

void CondParams::fields(FieldList<CondParams>& f) {
  f("num_args", &CondParams::num_args, "Inputs and subgraphs.").required("4");
  f("num_outputs", &CondParams::num_outputs, "Outputs of each branch.").required("1");
  f("cond_input_locs", &CondParams::cond_input_locs, "Where the condition's inputs are.").required("(0,)");
  f("then_input_locs", &CondParams::then_input_locs, "Where the inputs of the first branch are.")
      .required("(0,)");
  f("else_input_locs", &CondParams::else_input_locs, "Where those of the other are.").required("(0,)");
}

void register_operators(ops::OpTable& table) {
  add_operator<ForeachParams>(table, "_foreach",
                              "Runs a subgraph for each element of the data along the first axis, with "
                              "states that it hands on; see mx.sym.contrib.foreach.")
      .infer_shape(infer_foreach<Shape, ops::ShapeInfer>)
      .infer_type(infer_foreach<DType, ops::TypeInfer>)
      .gradient([](const ForeachParams& p, ops::GradBuilder& g) {
        add_gradient(p, static_cast<int>(p.in_data_locs.size()), p.num_out_data, g);
      });
  add_operator<WhileParams>(table, "_while_loop",
                            "Runs a subgraph while another says so; see mx.sym.contrib.while_loop.")
      .infer_shape(infer_while<Shape, ops::ShapeInfer>)
      .infer_type(infer_while<DType, ops::TypeInfer>)
      .gradient([](const WhileParams& p, ops::GradBuilder& g) { add_gradient(p, 0, p.num_out_data, g); });
  add_operator<CondParams>(table, "_cond", "Runs one of two subgraphs; see mx.sym.contrib.cond.")
      .infer_shape(infer_cond<Shape, ops::ShapeInfer>)
      .infer_type(infer_cond<DType, ops::TypeInfer>)
      .gradient([](const CondParams& p, ops::GradBuilder& g) { add_gradient(p, 0, 0, g); });
  table.add<ControlGradientParams>(kGradientOp)
      .doc("The gradient of an operator that runs subgraphs.")
      .input("data")
      .output("output")
      .signature(signature_of<ControlGradientParams>)
      .infer_shape(infer_gradient<ops::ShapeInfer>)
      .infer_type(infer_gradient<ops::TypeInfer>)
      .accumulates()
      .training_matters()
      .impure()
      .hidden();
  table.async_kernel<ForeachParams, run_foreach>("_foreach", "foreach_cpu");
  table.async_kernel<WhileParams, run_while>("_while_loop", "while_loop_cpu");
  table.async_kernel<CondParams, run_cond>("_cond", "cond_cpu");
}

void register_gradients(ops::OpTable& table) {
  table.async_kernel<ControlGradientParams, run_gradient>(kGradientOp, "backward_control_flow_cpu");
}

}  // namespace loomix::control_flow
