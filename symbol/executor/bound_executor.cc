// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/bound_executor.h"

#include <algorithm>

#include "base/error.h"
#include "ndarray/copy.h"
#include "symbol/autograd/tape.h"
#include "symbol/executor/dynamic_graph.h"
#include "symbol/passes/prune.h"
#include "symbol/symbol_node.h"

namespace loomix {
namespace {

void note_versions(std::span<const NDArray> arrays, std::vector<uint64_t>& versions) {
  versions.resize(arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) versions[i] = arrays[i].storage().version();
}

}  // namespace

BoundExecutor::BoundExecutor(Runtime& runtime, const Symbol& symbol, Device device, BoundArrays arrays,
                             BindOptions options)
    : runtime_(runtime),
      symbol_(symbol),
      device_(device),
      arrays_(std::move(arrays)),
      options_(std::move(options)) {
  arena_ = options_.shared ? options_.shared->arena_ : make_ref<Arena>();
  options_.shared.reset();
}

BoundExecutor::~BoundExecutor() = default;

Ref<BoundExecutor> BoundExecutor::bind(Runtime& runtime, const Symbol& symbol, Device device,
                                       BoundArrays arrays, BindOptions options) {
  check_can_run(symbol);
  Ref<BoundExecutor> executor(
      new BoundExecutor(runtime, symbol, device, std::move(arrays), std::move(options)));
  executor->check_arrays();
  if (DynamicGraph::is_needed(symbol)) {
    executor->dynamic_ =
        make_ref<DynamicGraph>(runtime, symbol, symbol.list_outputs().front(), executor->options_.plan);
    executor->outputs_.resize(static_cast<size_t>(symbol.num_outputs()));
    return executor;
  }
  executor->make_outputs();
  if (executor->options_.plan.memory_budget > 0 && !executor->options_.plan_only) executor->check_budget();
  return executor;
}

// Compiles what takes the most memory, so that a budget that is too small is an error here.
void BoundExecutor::check_budget() {
  LOOMIX_CHECK(options_.groups.empty(), NotImplementedError,
               "[Symbol.bind] memory_budget cannot be combined with group2ctx: it is for one device.");
  program(wants_gradients() ? RunMode::training : RunMode::inference);
}

void BoundExecutor::check_can_run(const Symbol& symbol) {
  LOOMIX_CHECK(!symbol.empty(), ValueError, "[Symbol.bind] the symbol has no outputs.");
  for (const SymbolNode* node : depth_first(symbol.outputs())) {
    LOOMIX_CHECK(
        node->op || node->is_variable(), NotImplementedError,
        "[Symbol.bind] node '{}' needs the operator '{}', which Loomix does not have; its arguments can be "
        "listed and the symbol can be saved, but not run.",
        node->name, node->op_name());
  }
}

void BoundExecutor::check_arrays() const {
  const auto arguments = symbol_.list_arguments();
  const auto states = symbol_.list_auxiliary_states();
  LOOMIX_CHECK(arrays_.arguments.size() == arguments.size(), ValueError,
               "[Symbol.bind] got {} argument arrays; the symbol has {} arguments.", arrays_.arguments.size(),
               arguments.size());
  LOOMIX_CHECK(arrays_.auxiliary_states.size() == states.size(), ValueError,
               "[Symbol.bind] got {} auxiliary arrays; the symbol has {} auxiliary states.",
               arrays_.auxiliary_states.size(), states.size());
  LOOMIX_CHECK(
      arrays_.requests.size() == arguments.size() && arrays_.gradients.size() == arguments.size(), ValueError,
      "[Symbol.bind] got {} gradient arrays and {} requests; expected one of each for the {} arguments.",
      arrays_.gradients.size(), arrays_.requests.size(), arguments.size());
  const auto check = [&](const NDArray& array, const std::string& name, const char* kind) {
    LOOMIX_CHECK(!array.is_none(), ValueError, "[Symbol.bind] {} '{}' has no array.", kind, name);
    LOOMIX_CHECK(array.device() == device_ || !options_.groups.empty() ||
                     (array.device().is_host() && device_.is_host()),
                 DeviceError, "[Symbol.bind] {} '{}' is on {}; the executor is bound to {}.", kind, name,
                 array.device().to_string(), device_.to_string());
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    check(arrays_.arguments[i], arguments[i], "argument");
    if (arrays_.requests[i] == ops::Req::null) continue;
    check(arrays_.gradients[i], arguments[i], "gradient of argument");
    LOOMIX_CHECK(arrays_.gradients[i].is_dense() || arrays_.requests[i] != ops::Req::add, NotImplementedError,
                 "[Symbol.bind] the gradient array of '{}' is {}; grad_req 'add' needs a dense one.",
                 arguments[i], loomix::name_of(arrays_.gradients[i].stype()));
    const NDArray& argument = arrays_.arguments[i];
    const NDArray& gradient = arrays_.gradients[i];
    LOOMIX_CHECK(gradient.shape() == argument.shape() && gradient.dtype() == argument.dtype(), ShapeError,
                 "[Symbol.bind] the gradient array of '{}' is {} {}; the argument is {} {}.", arguments[i],
                 loomix::name_of(gradient.dtype()), gradient.shape().to_string(),
                 loomix::name_of(argument.dtype()), argument.shape().to_string());
    LOOMIX_CHECK(
        gradient.device() == argument.device() ||
            (options_.groups.empty() && argument.device().is_host() && gradient.device().is_host()),
        DeviceError,
        "[Symbol.bind] the gradient array of '{}' is on {}, the argument on {}; both must be on one device.",
        arguments[i], gradient.device().to_string(), argument.device().to_string());
  }
  for (size_t i = 0; i < states.size(); ++i) {
    const NDArray& state = arrays_.auxiliary_states[i];
    check(state, states[i], "auxiliary state");
    LOOMIX_CHECK(state.is_dense(), NotImplementedError,
                 "[Symbol.bind] auxiliary state '{}' is {}; expected a dense array.", states[i],
                 loomix::name_of(state.stype()));
  }
}

// Finds the variables' arrays and makes those of the outputs. Wrong shapes and types show here.
void BoundExecutor::make_outputs() {
  graph_ = prune(symbol_.graph());
  for (NodeId id = 0; id < graph_.size(); ++id) {
    Node& node = graph_[id];
    if (node.op && node.op->instantiate) node.attrs = node.op->instantiate(*node.attrs);
  }
  end("prune", graph_);
  const Graph& graph = graph_;
  const auto mutated = mutated_variables(graph);
  int argument = 0, state = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!node.is_variable()) continue;
    variables_.emplace(node.info.get(), Variable{mutated[id] ? state++ : argument++, mutated[id] != 0});
  }
  const Inference known = infer(graph);
  Placement placed{graph, assign_devices(graph, place_request(graph, {}))};
  const std::vector<Device> devices = placed.devices;
  const std::vector<StorageType> stypes =
      store(placed, {}, std::vector<StorageType>(graph.outputs.size(), StorageType::undefined));
  const ValueIndex stored_index(placed.graph);
  const ValueIndex index(graph);
  std::map<int, NDArray> made;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ValueRef output = graph.outputs[i];
    const StorageType stype = stypes.empty()
                                  ? StorageType::dense
                                  : stypes[static_cast<size_t>(stored_index[placed.graph.outputs[i]])];
    NDArray& array = made[index[output]];
    if (graph[output.node].is_variable()) {
      array = *array_of(graph, output.node);
    } else if (array.is_none() && stype != StorageType::dense) {
      array = NDArray::sparse(runtime_.engine(), stype, known.shapes[index[output]],
                              known.dtypes[index[output]], devices[output.node]);
    } else if (array.is_none()) {
      array = new_array(known.shapes[index[output]], known.dtypes[index[output]], devices[output.node]);
    }
    outputs_.push_back(array);
  }
}

const NDArray* BoundExecutor::array_of(const Graph& graph, NodeId variable) const {
  const auto found = variables_.find(graph[variable].info.get());
  if (found == variables_.end()) return nullptr;
  const Variable& known = found->second;
  return known.mutated ? &arrays_.auxiliary_states[known.position] : &arrays_.arguments[known.position];
}

int BoundExecutor::argument_of(const Graph& graph, NodeId variable) const {
  const auto found = variables_.find(graph[variable].info.get());
  return found == variables_.end() || found->second.mutated ? -1 : found->second.position;
}

bool BoundExecutor::wants_gradients() const {
  return std::any_of(arrays_.requests.begin(), arrays_.requests.end(),
                     [](ops::Req r) { return r != ops::Req::null; });
}

std::span<const NDArray> BoundExecutor::forward(RunMode mode) {
  if (dynamic_) {
    forward_dynamic(mode == RunMode::training);
    return outputs_;
  }
  if (mode == RunMode::inference && inference_gradients_) mode = RunMode::inference_with_gradients;
  Program& now = program(mode);
  if (mode == RunMode::inference) {
    update_held();
    if (!std::exchange(branches_chosen_, true)) choose_branches(now);
  }
  now.run_forward();
  last_.program = Ref<Program>(&now);
  last_.training = mode == RunMode::training;
  last_.states_updated = false;
  if (wants_gradients()) {
    note_versions(arrays_.arguments, last_.arguments);
    note_versions(arrays_.auxiliary_states, last_.auxiliary_states);
    note_versions(outputs_, last_.outputs);
  }
  return outputs_;
}

void BoundExecutor::check_head_gradients(std::span<const NDArray> head_gradients) const {
  // Losses at the end need none, so there may be fewer than outputs.
  LOOMIX_CHECK(head_gradients.size() <= outputs_.size(), ValueError,
               "[Executor] backward: got {} head gradients; the symbol has {} outputs.",
               head_gradients.size(), outputs_.size());
  const auto names = symbol_.list_outputs();
  for (size_t i = 0; i < head_gradients_.size(); ++i) {
    if (head_gradients_[i].is_none()) continue;
    LOOMIX_CHECK(
        i < head_gradients.size() && !head_gradients[i].is_none(), ValueError,
        "[Executor] backward: output '{}' is no loss, so its head gradient is needed; pass out_grads.",
        names[i]);
    LOOMIX_CHECK(head_gradients[i].shape() == outputs_[i].shape(), ShapeError,
                 "[Executor] backward: the head gradient of output '{}' has shape {}; expected {}.", names[i],
                 head_gradients[i].shape().to_string(), outputs_[i].shape().to_string());
  }
}

void BoundExecutor::backward(std::span<const NDArray> head_gradients, std::optional<RunMode> mode) {
  if (!wants_gradients()) return;
  const bool training = mode ? *mode == RunMode::training : last_.training;
  if (dynamic_) {
    if (recorded_.empty()) forward_dynamic(training);
    return backward_dynamic(head_gradients);
  }
  LOOMIX_CHECK(
      !last_.program || training == last_.training, StateError,
      "[Executor] backward: is_train={} does not fit the forward pass before, which had is_train={}; both "
      "must be the same, or leave it out.",
      training ? "True" : "False", training ? "False" : "True");
  inference_gradients_ = inference_gradients_ || !training;
  if (!last_.program) last_.training = training;
  program(last_.gradient_mode());
  check_head_gradients(head_gradients);
  // A small copy costs less than preparing the calls that read the array again.
  constexpr int64_t kReadInPlace = 1 << 20;  // bytes
  for (size_t i = 0; i < head_gradients_.size(); ++i) {
    if (head_gradients_[i].is_none()) continue;
    if (head_gradients_[i].bytes() < kReadInPlace) copy(head_gradients[i], head_gradients_[i]);
    else read_in_place(i, head_gradients[i]);
  }
  run_backward();
}

void BoundExecutor::backward_from(std::span<const NDArray> head_gradients) {
  if (!wants_gradients()) return;
  program(last_.gradient_mode());
  check_head_gradients(head_gradients);
  for (size_t i = 0; i < head_gradients_.size(); ++i) {
    if (!head_gradients_[i].is_none()) read_in_place(i, head_gradients[i]);
  }
  run_backward();
}

// A head gradient where it is; or a copy, in the type and on the device that the passes want, and away from what they write.
void BoundExecutor::read_in_place(size_t head, const NDArray& given) {
  const NDArray& last = head_gradients_[head];
  const auto is_written = [&](const NDArray& gradient) {
    return !gradient.is_none() && gradient.storage_ref() == given.storage_ref();
  };
  const bool fits = given.is_dense() && given.dtype() == last.dtype() && given.device() == last.device() &&
                    std::ranges::none_of(arrays_.gradients, is_written);
  if (fits && given.storage_ref() == last.storage_ref() && given.offset() == last.offset()) return;
  // Not into `last`: that may be what an earlier caller gave.
  const NDArray now =
      fits ? given.detach() : NDArray(runtime_.engine(), last.shape(), last.dtype(), last.device());
  if (!fits) copy(given, now);
  head_gradients_[head] = now;
  for (int mode = 0; mode < 3; ++mode) replace_in(programs_[mode], places_[mode].heads, head, now);
}

// Gradients read an output where it lies, too; what a user has written there is not what the pass gave.
std::optional<size_t> BoundExecutor::find_overwritten_output(const Places& places, const Program& own) const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].storage().version() != last_.outputs[i] && places.outputs[i] &&
        own.backward_reads(places.outputs[i]))
      return i;
  }
  return {};
}

// A change counts if the pass has read the array. Labels, which only gradients read, may come later. An argument that
// gradients themselves set (a fixed gamma) has no effect by its value, and executors that share it all write it. Auxiliary
// states count in inference, where operators take them for statistics of the batch.
std::string BoundExecutor::find_overwritten(const Places& places, const Program& own, bool again) const {
  const auto describe = [](const std::string& name, const NDArray& array) {
    return fmt::format("'{}' (shape {})", name, array.shape().to_string());
  };
  for (size_t i = 0; i < arrays_.arguments.size(); ++i) {
    const NDArray& argument = arrays_.arguments[i];
    const ValueRef place = places.arguments[i];
    if (argument.storage().version() == last_.arguments[i] || !place || own.backward_changes(place)) continue;
    if (own.forward_reads(place) && (again || own.backward_reads(place)))
      return describe(symbol_.list_arguments()[i], argument);
  }
  for (size_t i = 0; again && !last_.training && i < arrays_.auxiliary_states.size(); ++i) {
    const NDArray& state = arrays_.auxiliary_states[i];
    const ValueRef place = places.auxiliary_states[i];
    if (state.storage().version() != last_.auxiliary_states[i] && place && own.forward_reads(place))
      return describe(symbol_.list_auxiliary_states()[i], state);
  }
  return {};
}

std::string BoundExecutor::find_overwritten() {
  if (!last_.program || !wants_gradients()) return {};
  const RunMode mode = last_.gradient_mode();
  const Program& own = program(mode);
  const Places& places = places_[static_cast<int>(mode)];
  const bool kept = is_kept(own);
  const std::string input = find_overwritten(places, own, !kept);
  if (!input.empty()) return "input " + input;
  const auto output = kept ? find_overwritten_output(places, own) : std::nullopt;
  if (!output) return {};
  return fmt::format("output {} (shape {})", *output, outputs_[*output].shape().to_string());
}

void BoundExecutor::run_backward() {
  if (!last_.program) forward(last_.training ? RunMode::training : RunMode::inference);
  const RunMode mode = last_.gradient_mode();
  Program& own = program(mode);
  const Places& places = places_[static_cast<int>(mode)];
  const bool again = !is_kept(own) || find_overwritten_output(places, own);
  if (const std::string array = find_overwritten(places, own, again); !array.empty()) {
    detail::throw_error<StateError>(
        "[Executor] backward: {} was overwritten after the forward pass, and the gradients of that pass need "
        "it; run forward({}) again before backward, or call backward before it is overwritten.",
        array, last_.training ? "is_train=True" : "");
  }
  const auto put_outputs = [&](std::span<const NDArray> arrays) {
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (places.outputs[i]) own.replace(places.outputs[i], arrays[i]);
    }
  };
  std::vector<NDArray> states;
  if (last_.states_updated) {
    for (const NDArray& state : arrays_.auxiliary_states) states.push_back(copy_to(state, state.device()));
  }
  constexpr uint64_t kOverwritten = ~uint64_t{0};
  for (size_t i = 0; i < arrays_.auxiliary_states.size(); ++i) {
    uint64_t& version = last_.auxiliary_states[i];
    if (version != arrays_.auxiliary_states[i].storage().version()) version = kOverwritten;
  }
  if (again) {
    put_outputs(make_fresh_outputs());
    try {
      own.run_forward(&last_.program->random());
      own.run_backward();
    } catch (...) {  // a signal, for example, while a push waited
      put_outputs(outputs_);
      throw;
    }
    put_outputs(outputs_);
  } else {
    own.run_backward();
  }
  for (size_t i = 0; i < states.size(); ++i) copy(states[i], arrays_.auxiliary_states[i]);
  for (size_t i = 0; i < arrays_.auxiliary_states.size(); ++i) {
    uint64_t& version = last_.auxiliary_states[i];  // that this pass itself writes does not count
    if (version != kOverwritten) version = arrays_.auxiliary_states[i].storage().version();
  }
  last_.program = Ref<Program>(&own);
  last_.states_updated = true;
}

void BoundExecutor::replace_in(const Ref<Program>& program, const std::vector<ValueRef>& places, size_t i,
                               const NDArray& array) {
  if (program && places[i]) program->replace(places[i], array);
}

void BoundExecutor::replace_argument(size_t i, const NDArray& array) {
  arrays_.arguments[i] = array;
  for (int mode = 0; mode < 3; ++mode) replace_in(programs_[mode], places_[mode].arguments, i, array);
  if (held_.program && held_.places.arguments[i]) {
    held_.program->replace(held_.places.arguments[i], array);
    held_.arguments.clear();
    held_.auxiliary_states.clear();
  }
}

void BoundExecutor::replace_auxiliary_state(size_t i, const NDArray& array) {
  arrays_.auxiliary_states[i] = array;
  for (int mode = 0; mode < 3; ++mode) replace_in(programs_[mode], places_[mode].auxiliary_states, i, array);
  if (held_.program && held_.places.auxiliary_states[i]) {
    held_.program->replace(held_.places.auxiliary_states[i], array);
    held_.arguments.clear();
    held_.auxiliary_states.clear();
  }
}

void BoundExecutor::replace_gradient(size_t i, const NDArray& array) {
  arrays_.gradients[i] = array;
  for (int mode = 0; mode < 3; ++mode) replace_in(programs_[mode], places_[mode].gradients, i, array);
}

void BoundExecutor::replace_outputs(std::span<const NDArray> arrays) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i] = arrays[i];
    for (int mode = 0; mode < 3; ++mode) replace_in(programs_[mode], places_[mode].outputs, i, arrays[i]);
  }
}

void BoundExecutor::renew_outputs() {
  if (!dynamic_) replace_outputs(make_fresh_outputs());
}

// Outputs that are one value share memory again.
std::vector<NDArray> BoundExecutor::make_fresh_outputs() const {
  const auto& values = graph_.outputs;
  std::vector<NDArray> fresh;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const NDArray& old = outputs_[i];
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(i);
    if (const auto twin = std::find(values.begin(), end, values[i]); twin != end) {
      fresh.push_back(fresh[static_cast<size_t>(twin - values.begin())]);
    } else if (graph_[values[i].node].is_variable()) {
      fresh.push_back(*array_of(graph_, values[i].node));
    } else {
      fresh.push_back(old.is_dense() ? NDArray(runtime_.engine(), old.shape(), old.dtype(), old.device())
                                     : NDArray::sparse(runtime_.engine(), old.stype(), old.shape(),
                                                       old.dtype(), old.device()));
    }
  }
  return fresh;
}

void BoundExecutor::set_monitor(Monitor monitor) {
  if (dynamic_) return dynamic_->set_monitor(std::move(monitor));
  monitor_ = std::move(monitor);
  for (auto& program : programs_) program.reset();
  options_.plan.own_memory = static_cast<bool>(monitor_);
}

Ref<BoundExecutor> BoundExecutor::reshape(std::span<const std::pair<std::string, Shape>> shapes,
                                          ReshapePolicy policy) {
  const ShapeRule rule = shape_rule();
  const auto inferred = symbol_.infer_shape(shapes, rule);
  const auto named = [&](const std::string& name) {
    return std::any_of(shapes.begin(), shapes.end(), [&](const auto& pair) { return pair.first == name; });
  };
  const auto fit = [&](const NDArray& array, const Shape& shape, const std::string& name) -> NDArray {
    LOOMIX_CHECK(rule == ShapeRule::numpy ? shape.is_known() : shape.ndim() > 0 && shape.size() > 0,
                 ShapeError, "[Executor.reshape] the shape of '{}' cannot be inferred from the shapes given.",
                 name);
    if (array.shape() == shape) return array;
    LOOMIX_CHECK(policy.partial || named(name), ShapeError,
                 "[Executor.reshape] the shape of '{}' would change from {} to {} though it was not named; "
                 "allow it with "
                 "partial_shaping=True.",
                 name, array.shape().to_string(), shape.to_string());
    if (!array.is_dense())
      return NDArray::sparse(runtime_.engine(), array.stype(), shape, array.dtype(), array.device());
    if (shape.size() <= array.size())
      return NDArray(array.storage_ref(), shape, array.dtype(), array.offset());
    LOOMIX_CHECK(policy.grow, ShapeError,
                 "[Executor.reshape] '{}' would grow from {} to {}; allow it with allow_up_sizing=True.",
                 name, array.shape().to_string(), shape.to_string());
    return zeros(runtime_.engine(), shape, array.dtype(), array.device());
  };
  BoundArrays arrays;
  arrays.requests = arrays_.requests;
  const auto names = symbol_.list_arguments();
  for (size_t i = 0; i < names.size(); ++i) {
    arrays.arguments.push_back(fit(arrays_.arguments[i], inferred.arguments[i], names[i]));
    const NDArray& gradient = arrays_.gradients[i];
    arrays.gradients.push_back(gradient.is_none() ? gradient
                                                  : fit(gradient, inferred.arguments[i], names[i]));
  }
  const auto states = symbol_.list_auxiliary_states();
  for (size_t i = 0; i < states.size(); ++i) {
    arrays.auxiliary_states.push_back(
        fit(arrays_.auxiliary_states[i], inferred.auxiliary_states[i], states[i]));
  }
  BindOptions options = options_;
  options.shared = Ref<BoundExecutor>(this);
  const Ref<BoundExecutor> executor = bind(runtime_, symbol_, device_, std::move(arrays), std::move(options));
  if (!dynamic_) executor->share_outputs(*this);
  return executor;
}

// As in MXNet, outputs that fit lie where the other executor's do.
void BoundExecutor::share_outputs(const BoundExecutor& other) {
  std::vector<NDArray> shared = outputs_;
  for (size_t i = 0; i < shared.size(); ++i) {
    const NDArray& theirs = other.outputs_[i];
    NDArray& own = shared[i];
    if (!graph_[graph_.outputs[i].node].is_variable() && own.is_dense() && theirs.is_dense() &&
        own.dtype() == theirs.dtype() && own.device() == theirs.device() && own.size() <= theirs.size())
      own = NDArray(theirs.storage_ref(), own.shape(), own.dtype(), theirs.offset());
  }
  replace_outputs(shared);
}

}  // namespace loomix
