// SPDX-License-Identifier: Apache-2.0
//
// An operator of control flow is an asynchronous task whose work is done on a side thread of the engine: it pushes the
// operators of its subgraphs step by step, on arrays lent for that, and waits where a condition must be known. No worker waits,
// and nothing is bound: kernels are chosen from the thread's cache. If a gradient will be taken (the saved value is there) the
// steps are recorded on the gradient tape, each element of the data as a variable of its own, and the tape waits in the
// operator's LoopState for the backward task. That gives the variables their gradients' places and runs the tape backwards.
#include <algorithm>
#include <deque>
#include <exception>
#include <ranges>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "ndarray/copy.h"
#include "symbol/autograd/tape.h"
#include "symbol/autograd/tape_node.h"
#include "symbol/control_flow/control_flow.h"
#include "symbol/executor/lent_arrays.h"

namespace loomix::control_flow {

struct Tape {
  explicit Tape(engine::Engine& engine) : lent(engine) {}

  LentArrays lent;                             // of the forward run, which the steps read
  std::vector<NDArray> inputs;                 // variables; none in place of data
  std::vector<std::vector<NDArray>> elements;  // of each data, one a step
  std::vector<std::vector<NDArray>> out_data;  // of each stacked output, one a step
  std::vector<NDArray> out_states;             // what the other outputs are copies of
};

LoopState::LoopState() = default;
LoopState::~LoopState() = default;

namespace {

constexpr size_t kStepsAhead = 8;  // that are pushed before the oldest of them is done

engine::Engine& engine_of(const ops::KernelArgs& args) {
  const auto found =
      std::find_if(args.storages.begin(), args.storages.end(), [](const auto& s) { return bool(s); });
  LOOMIX_INTERNAL_CHECK(found != args.storages.end());
  return (*found)->engine();
}

// One number that differs for each run.
uint64_t seed_of(ops::RandomStream random) {
  uint64_t mixed = random.seed + 0x9e3779b97f4a7c15u * (random.offset + 1);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

bool is_differentiable(const NDArray& array) { return is_floating(array.dtype()); }

// A forward run: arrays, the tape if there is one, and what all three operators do with them.
class Forward {
 public:
  Forward(const ControlParams& p, const ops::KernelArgs& args, Device device)
      : device(device),
        runtime(engine_of(args), *p.table),
        tape_(std::make_unique<Tape>(runtime.engine())),
        args_(args),
        recording_(!args.saved.empty() && args.saved[0].data != nullptr) {
    runtime.generators().seed_all(seed_of(args.random));
    for (size_t i = 0; i < args.in.size(); ++i) in.push_back(tape_->lent.lend(args.in[i], args.storages[i]));
    for (size_t i = 0; i < args.out.size(); ++i) {
      const bool wanted = args.req[i] != ops::Req::null;
      out.push_back(wanted ? tape_->lent.lend(args.out[i], args.storages[args.in.size() + i]) : NDArray());
    }
    tape_->inputs.resize(in.size());
  }

  // Runs `body`, waits for what it pushed, and leaves the tape to the gradient.
  template <class Body>
  void run(LoopState& state, Body&& body) {
    // A run that records nothing is of another pass, which nothing orders against the one that the record belongs to.
    if (recording_) state.tape.reset();
    std::exception_ptr error;
    try {
      const autograd::Scope scope(recording_, args_.training);
      body();
    } catch (...) {
      error = std::current_exception();
    }
    // Steps fail on their own; an error that nobody waited for would be thrown by some later wait.
    for (const NDArray& value : std::exchange(pending_, {}) | std::views::join) {
      try {
        value.wait_to_read();
      } catch (...) {
        if (!error) error = std::current_exception();
      }
    }
    try {
      tape_->lent.settle();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
    if (error) std::rethrow_exception(error);
    if (recording_) state.tape = std::move(tape_);
  }

  // An input whose whole array takes part.
  NDArray variable(size_t input) {
    mark(in[input]);
    tape_->inputs[input] = in[input];
    return in[input];
  }
  NDArray element(size_t input, int64_t step) {
    NDArray element = in[input].at(step);
    mark(element);
    if (recording_) {
      tape_->elements.resize(std::max(tape_->elements.size(), input + 1));
      tape_->elements[input].push_back(element);
    }
    return element;
  }

  void put_step(size_t output, int64_t step, const NDArray& value) {
    if (!out[output].is_none()) copy(value, out[output].at(step));
    if (!recording_) return;
    tape_->out_data.resize(std::max(tape_->out_data.size(), output + 1));
    tape_->out_data[output].push_back(value);
  }
  void put_state(size_t output, const NDArray& value) {
    if (!out[output].is_none()) copy(value, out[output]);
    if (recording_) tape_->out_states.push_back(value);
  }

  // Errors end a loop, and what is pushed for it stays bounded.
  void end_step(const std::vector<NDArray>& outputs) {
    pending_.push_back(outputs);
    if (pending_.size() <= kStepsAhead) return;
    for (const NDArray& array : pending_.front()) array.wait_to_read();
    pending_.pop_front();
  }

  // Whether the one number that the subgraph gives is other than zero.
  bool holds(const Subgraph& condition, std::span<const NDArray> inputs) {
    const autograd::Scope scope(false, args_.training);
    const NDArray result = condition.run(runtime, inputs, device)[0];
    LOOMIX_CHECK(result.size() == 1, ShapeError,
                 "[control flow] a condition gives an array of shape {}; expected one number.",
                 result.shape().to_string());
    double value = 0;
    cast(result, DType::float64).copy_to_host(&value, sizeof(value));
    return value != 0;
  }

  const Device device;
  Runtime runtime;
  std::vector<NDArray> in, out;

 private:
  void mark(NDArray& array) const {
    if (!recording_ || array.tape() || !is_differentiable(array)) return;
    NDArray* const variable = &array;
    const NDArray none;
    const ops::Req request = ops::Req::null;  // until the backward run knows better
    autograd::mark_variables({&variable, 1}, {&none, 1}, {&request, 1});
  }

  std::unique_ptr<Tape> tape_;
  const ops::KernelArgs& args_;
  const bool recording_;
  std::deque<std::vector<NDArray>> pending_;
};

std::vector<NDArray> pick(std::span<const NDArray> values, const std::vector<int64_t>& places) {
  std::vector<NDArray> picked;
  for (int64_t place : places) picked.push_back(values[static_cast<size_t>(place)]);
  return picked;
}

void forward(const ForeachParams& p, Forward& run) {
  const size_t data = p.in_data_locs.size(), states = p.in_state_locs.size();
  const auto stacked = static_cast<size_t>(p.num_out_data);
  std::vector<NDArray> inputs(run.in.size());
  const auto input_at = [&](int64_t place) -> NDArray& { return inputs[static_cast<size_t>(place)]; };
  for (size_t i = 0; i < states; ++i) input_at(p.in_state_locs[i]) = run.variable(data + i);
  for (size_t i = 0; i < p.remain_locs.size(); ++i)
    input_at(p.remain_locs[i]) = p.graphs[0]->mutates(static_cast<int>(p.remain_locs[i]))
                                     ? run.in[data + states + i]
                                     : run.variable(data + states + i);
  const int64_t steps = run.in[0].shape()[0];
  for (int64_t step = 0; step < steps; ++step) {
    for (size_t i = 0; i < data; ++i) input_at(p.in_data_locs[i]) = run.element(i, step);
    const std::vector<NDArray> outputs = p.graphs[0]->run(run.runtime, inputs, run.device);
    for (size_t i = 0; i < stacked; ++i) run.put_step(i, step, outputs[i]);
    for (size_t i = 0; i < states; ++i) input_at(p.in_state_locs[i]) = outputs[stacked + i];
    run.end_step(outputs);
  }
  for (size_t i = 0; i < states; ++i) run.put_state(stacked + i, input_at(p.in_state_locs[i]));
}

// All inputs as variables, but those that a subgraph changes.
std::vector<NDArray> variables_of(const ControlParams& p, Forward& run) {
  std::vector<NDArray> values;
  for (size_t i = 0; i < run.in.size(); ++i)
    values.push_back(p.signature.inputs[i].mutated ? run.in[i] : run.variable(i));
  return values;
}

void forward(const WhileParams& p, Forward& run) {
  std::vector<NDArray> values = variables_of(p, run);
  const auto stacked = static_cast<size_t>(p.num_out_data);
  std::vector<NDArray> inputs = pick(values, p.func_input_locs);  // of a step; some may be one input at first
  const auto variable_at = [&](size_t i) -> NDArray& {
    return inputs[static_cast<size_t>(p.func_var_locs[i])];
  };
  int64_t step = 0;
  for (; step < p.max_iterations && run.holds(*p.graphs[0], pick(values, p.cond_input_locs)); ++step) {
    const std::vector<NDArray> outputs = p.graphs[1]->run(run.runtime, inputs, run.device);
    for (size_t i = 0; i < stacked; ++i) run.put_step(i, step, outputs[i]);
    for (size_t i = 0; i < p.func_var_locs.size(); ++i) {
      const auto place = static_cast<size_t>(p.func_var_locs[i]);
      values[static_cast<size_t>(p.func_input_locs[place])] = inputs[place] = outputs[stacked + i];
    }
  }
  for (size_t i = 0; i < stacked; ++i) {
    if (!run.out[i].is_none()) fill(run.out[i].slice(step, p.max_iterations), 0);
  }
  for (size_t i = 0; i < p.func_var_locs.size(); ++i) run.put_state(stacked + i, variable_at(i));
}

void forward(const CondParams& p, Forward& run) {
  const std::vector<NDArray> values = variables_of(p, run);
  const bool first = run.holds(*p.graphs[0], pick(values, p.cond_input_locs));
  const std::vector<NDArray> outputs = p.graphs[first ? 1 : 2]->run(
      run.runtime, pick(values, first ? p.then_input_locs : p.else_input_locs), run.device);
  for (size_t i = 0; i < outputs.size(); ++i) run.put_state(i, outputs[i]);
}

// Gives the variables of the tape places for their gradients, and runs it backwards.
class Backward {
 public:
  Backward(const ControlGradientParams& p, const ops::KernelArgs& args)
      : p_(p),
        args_(args),
        runtime_(engine_of(args), *p.table),
        lent_(runtime_.engine()),
        tape_(std::move(p.state->tape)) {
    LOOMIX_CHECK(
        tape_, StateError,
        "[control flow] the record of the steps was used up by an earlier backward pass; run forward again.");
  }

  void run() {
    collect_heads();
    std::unordered_set<const autograd::TapeNode*> reached;
    for (const auto& node : autograd::reachable(heads_)) reached.insert(node.get());
    bool any = false;
    for (size_t i = 0; i < p_.wanted.size(); ++i) {
      if (args_.req[i] == ops::Req::null) continue;
      const NDArray gradient = lent_.lend(args_.out[i], args_.storages[args_.in.size() + i]);
      const auto input = static_cast<size_t>(p_.wanted[i]);
      if (p_.wanted[i] >= p_.num_data) {
        any |= direct(tape_->inputs[input], gradient, args_.req[i], reached);
        continue;
      }
      for (int64_t step = 0; step < gradient.shape()[0]; ++step)
        any |= direct(tape_->elements[input][static_cast<size_t>(step)], gradient.at(step), args_.req[i],
                      reached);
    }
    if (any) autograd::backward(runtime_, heads_, gradients_, {.train_mode = args_.training});
  }

  // All that was pushed, on the forward run's arrays too, is done.
  void settle() const {
    std::exception_ptr error;
    for (const LentArrays* lent : {&lent_, &std::as_const(tape_->lent)}) {
      try {
        lent->settle();
      } catch (...) {
        if (!error) error = std::current_exception();
      }
    }
    if (error) std::rethrow_exception(error);
  }

 private:
  void collect_heads() {
    const auto stacked = static_cast<size_t>(p_.num_out_data);
    for (size_t i = 0; i < static_cast<size_t>(p_.num_outputs); ++i) {
      const NDArray gradient = lent_.lend(args_.in[i], args_.storages[i]);
      if (i >= stacked) {
        add_head(tape_->out_states[i - stacked], gradient);
        continue;
      }
      if (i >= tape_->out_data.size()) continue;  // no step ran
      for (size_t step = 0; step < tape_->out_data[i].size(); ++step)
        add_head(tape_->out_data[i][step], gradient.at(static_cast<int64_t>(step)));
    }
  }
  void add_head(const NDArray& head, const NDArray& gradient) {
    if (!head.tape()) return;  // a constant
    heads_.push_back(head);
    gradients_.push_back(gradient);
  }

  // False if nothing flows into the variable.
  static bool direct(const NDArray& variable, const NDArray& gradient, ops::Req request,
                     const std::unordered_set<const autograd::TapeNode*>& reached) {
    autograd::TapeNode* const node = variable.is_none() ? nullptr : autograd::node_of(variable);
    if (node && reached.contains(node)) {
      node->grad = gradient;
      node->req = request;
      return true;
    }
    if (request != ops::Req::add) fill(gradient, 0);
    return false;
  }

  const ControlGradientParams& p_;
  const ops::KernelArgs& args_;
  Runtime runtime_;
  LentArrays lent_;
  const std::unique_ptr<Tape> tape_;
  std::vector<NDArray> heads_, gradients_;
};

void backward(const ControlGradientParams& p, const ops::KernelArgs& args) {
  Backward run(p, args);
  std::exception_ptr error;
  try {
    run.run();
  } catch (...) {
    error = std::current_exception();
  }
  try {
    run.settle();
  } catch (...) {
    if (!error) error = std::current_exception();
  }
  if (error) std::rethrow_exception(error);
}

// On a side thread, as the work of the task that `completion` ends.
template <class Body>
void run_aside(LoopState& state, const ops::KernelArgs& args, engine::Completion completion, Body body) {
  engine::Engine& engine = engine_of(args);
  engine.side_threads().run(
      [&engine, body = std::move(body), completion = std::move(completion)]() mutable {
        std::exception_ptr error;
        try {
          const engine::ForTask scope(engine);
          body();
        } catch (...) {
          error = std::current_exception();
        }
        if (error) completion.fail(std::move(error));
        else completion.done();
      },
      Ref<LoopState>(&state));
}

template <class P>
void run_forward(const P& p, const ops::KernelArgs& args, engine::Completion completion) {
  run_aside(*p.state, args, std::move(completion), [&p, &args, device = args.context->device] {
    Forward run(p, args, device);
    run.run(*p.state, [&] { forward(p, run); });
  });
}

}  // namespace

void run_foreach(const ForeachParams& p, const ops::KernelArgs& args, engine::Completion completion) {
  run_forward(p, args, std::move(completion));
}
void run_while(const WhileParams& p, const ops::KernelArgs& args, engine::Completion completion) {
  run_forward(p, args, std::move(completion));
}
void run_cond(const CondParams& p, const ops::KernelArgs& args, engine::Completion completion) {
  run_forward(p, args, std::move(completion));
}
void run_gradient(const ControlGradientParams& p, const ops::KernelArgs& args,
                  engine::Completion completion) {
  run_aside(*p.state, args, std::move(completion), [&p, &args] { backward(p, args); });
}

}  // namespace loomix::control_flow
