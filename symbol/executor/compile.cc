// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <set>

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "ops/quantization/packed.h"
#include "symbol/autograd/tape.h"
#include "symbol/executor/bound_executor.h"
#include "symbol/passes/close.h"
#include "symbol/passes/defer_scatter.h"
#include "symbol/passes/end_pass.h"
#include "symbol/passes/fit_memory.h"
#include "symbol/passes/fold_norm.h"
#include "symbol/passes/fuse.h"
#include "symbol/passes/gradient.h"
#include "symbol/passes/hold.h"
#include "symbol/passes/layout.h"
#include "symbol/passes/pack_whole.h"
#include "symbol/passes/place.h"
#include "symbol/passes/prune.h"
#include "symbol/passes/recompute.h"
#include "symbol/passes/simplify.h"
#include "symbol/passes/whole_input.h"
#include "symbol/passes/widen_whole.h"
#include "symbol/tuning/tuner.h"

// From the composed graph to programs: gradient, infer, simplify, layout, recompute, close, fuse, place, plan; within a memory budget those
// from recompute on until the plan fits. What a pass adds is inferred again.
// With a monitor the graph stays as it is, so that it sees every node.
namespace loomix {

// Shapes and types of all values, from the arrays of the variables. Everything must follow from them.
Inference BoundExecutor::infer(const Graph& graph, const Constants& constants) const {
  const ValueIndex index(graph);
  Inference known{std::vector<Shape>(index.size(), Shape::unknown()),
                  std::vector<DType>(index.size(), DType::unknown)};
  const auto set = [&](ValueRef value, const NDArray& array) {
    known.shapes[index[value]] = array.shape();
    known.dtypes[index[value]] = array.dtype();
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!graph[id].is_variable()) continue;
    if (const NDArray* array = array_of(graph, id)) set({id, 0}, *array);
    if (const NDArray* array = constants.find(graph[id].info.get())) set({id, 0}, *array);
    for (size_t i = 0; i < heads_.size(); ++i) {
      if (heads_[i] == graph[id].info) set({id, 0}, outputs_[i]);
    }
  }
  size_t gradient = symbol_.num_outputs();
  for (size_t i = 0; i < arrays_.requests.size() && gradient < graph.outputs.size(); ++i) {
    if (arrays_.requests[i] != ops::Req::null) set(graph.outputs[gradient++], arrays_.arguments[i]);
  }
  infer_shapes(graph, known.shapes);
  infer_dtypes(graph, known.dtypes, known.shapes);
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (int i = 0; i < graph[id].num_outputs; ++i) {
      LOOMIX_CHECK(known.shapes[index(id, i)].is_known(), ShapeError,
                   "[Symbol.bind] the shape of output {} of node '{}' ({}) does not follow from the "
                   "arguments; it is {}.",
                   i, graph.name_of(id), graph.op_name(id), known.shapes[index(id, i)].to_string());
      LOOMIX_CHECK(
          known.dtypes[index(id, i)] != DType::unknown, TypeError,
          "[Symbol.bind] the type of output {} of node '{}' ({}) does not follow from the arguments.", i,
          graph.name_of(id), graph.op_name(id));
    }
  }
  infer_saved(graph, known);
  return known;
}

// The outputs, then one gradient for each request, each written by a node of its own.
Graph BoundExecutor::training_graph() {
  Graph graph = graph_;
  const std::vector<ValueRef> outputs = graph.outputs;
  heads_.clear();
  std::vector<ValueRef> head_grads;
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto info = make_ref<NodeInfo>();
    info->name = fmt::format("head_gradient{}", i);
    heads_.push_back(info);
    head_grads.push_back({graph.add_variable(std::move(info)), 0});
  }
  std::vector<ValueRef> wrt;  // variables come in the order of the arguments
  for (NodeId id = 0; id < graph.size(); ++id) {
    const int argument = graph[id].is_variable() ? argument_of(graph, id) : -1;
    if (argument >= 0 && arrays_.requests[argument] != ops::Req::null) wrt.push_back({id, 0});
  }
  GradientResult result = gradient(std::move(graph), runtime_.table(), {outputs, head_grads, wrt});
  graph = std::move(result.graph);
  graph.outputs = outputs;
  const ops::OpDef& zero = *runtime_.table().core().zeros_like;
  for (size_t i = 0; i < wrt.size(); ++i) {
    if (!result.grads[i]) {
      result.grads[i] = {graph.add_op(zero, runtime_.table().parse(zero, {}), {&wrt[i], 1}, {}, wrt[i].node),
                         0};
    }
    graph.outputs.push_back(result.grads[i]);
  }
  if (!monitor_) graph = defer_scatter(std::move(graph));
  graph = prune(graph);
  end("gradient", graph);
  return graph;
}

// Only what is alive at the peak is worth making again.
Graph BoundExecutor::with_less_kept(Graph graph, const Constants& constants) {
  if (monitor_ || options_.plan.own_memory || options_.plan.recompute_share <= 0) return graph;
  const Inference known = infer(graph, constants);
  const std::vector<Device> devices(static_cast<size_t>(graph.size()), device_);
  const ValueIndex index(graph);
  std::vector<char> pinned(static_cast<size_t>(index.size()), false);
  for (const ValueRef& output : graph.outputs) pinned[index[output]] = true;
  const GraphPlan plan = plan_memory(graph, known, devices, pinned, {}, {.co_share = false});
  if (plan.memory.arenas.empty()) return graph;
  graph = recompute(graph, known,
                    {.table = runtime_.table(),
                     .peak = plan.memory.arenas[0].peak,
                     .share = options_.plan.recompute_share,
                     .device = traits()});
  end("recompute", graph);
  return graph;
}

Graph BoundExecutor::simplified(Graph graph, bool training, Constants& constants) {
  if (monitor_) return graph;
  const Inference known = infer(graph);
  end_pass("infer", graph, &known);
  const auto evaluate = [&](const Node& node, std::span<const NDArray> inputs, const Shape& shape,
                            DType dtype) {
    const autograd::Scope scope(false, training);
    NDArray result(runtime_.engine(), shape, dtype, device_);
    NDArray* const out = &result;
    std::vector<const NDArray*> in;
    for (const NDArray& input : inputs) in.push_back(&input);
    RunOptions options;
    options.out = {&out, 1};
    run_node(runtime_, *node.op, node.attrs, in, options);
    return result;
  };
  Simplified simple = simplify(graph, known, evaluate, outputs_.size(), training, options_.plan.merge_equal);
  for (auto& [info, array] : simple.constants) constants.add(std::move(info), std::move(array));
  end("simplify", simple.graph);
  return std::move(simple.graph);
}

namespace {

// The operators that a pass made parts of others: their names are gone.
std::string taken_in(std::string_view pass, const Graph& before, const Graph& after) {
  std::set<std::string> left;
  for (NodeId id = 0; id < after.size(); ++id) left.insert(after.name_of(id));
  std::string text;
  for (NodeId id = 0; id < before.size(); ++id) {
    if (!before[id].is_variable() && !left.contains(before.name_of(id)))
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", before.name_of(id), before.op_name(id));
  }
  return text.empty() ? text : fmt::format("  {} made these parts of others: {}\n", pass, text);
}

std::string left_apart(const std::vector<WholeNote>& notes) {
  std::string text;
  for (const WholeNote& note : notes) {
    if (note.runs == WholeNote::Runs::packed) continue;
    const bool is_real = note.runs == WholeNote::Runs::real;
    text += fmt::format("  {} ({}) runs {}: {}\n", note.name, note.op, is_real ? "as float32" : "alone",
                        note.reason);
  }
  return text;
}

}  // namespace

engine::DeviceTraits BoundExecutor::traits() const { return runtime_.engine().device(device_).traits(); }

std::optional<ops::ImageForm> BoundExecutor::image_form() const {
  if (!options_.plan.choose_layout) return {};
  const engine::DeviceTraits device = traits();
  if (device.blocked_images) return ops::blocked_images();
  if (device.channels_last == DTypeSet{}) return {};
  return ops::channels_last_images(device.channels_last);
}

// What only prediction can do: there are no gradients that need what it takes away.
Graph BoundExecutor::made_for_prediction(Graph graph, Constants& constants, std::string* explanation) {
  held_ = {};
  if (monitor_ || options_.plan.own_memory || !options_.groups.empty()) return graph;
  // Held programs know dense arrays only.
  if (!std::ranges::all_of(arrays_.arguments, [](const NDArray& array) { return array.is_dense(); }))
    return graph;
  graph = hold_weights(std::move(graph));
  if (options_.plan.fold_norm) {
    Graph folded = fold_norm(graph, runtime_.table(), infer(graph, constants));
    if (explanation != nullptr) *explanation += taken_in("fold_norm", graph, folded);
    graph = std::move(folded);
    end("fold_norm", graph);
  }
  if (options_.plan.choose_layout && traits().blocked_images && has_whole_layers(graph)) {
    const ops::Support packs = ops::packs_products();
    const char* const pass = packs ? "pack_whole" : "widen_whole";
    const Inference known = infer(graph, constants);
    std::vector<WholeNote> notes;
    Graph changed = packs ? pack_whole(graph, runtime_.table(), known, &notes)
                          : widen_whole(graph, runtime_.table(), known, packs.refusal, &notes);
    if (explanation != nullptr) *explanation += taken_in(pass, graph, changed) + left_apart(notes);
    if (log_) log_->whole = std::move(notes);
    graph = std::move(changed);
    end(pass, graph);
  }
  if (const auto form = image_form()) {
    PickForm pick;
    if (runtime_.tuner && traits().blocked_images) {
      pick = [&](const Node& node, const ops::KernelSpec& spec, ops::BlockedInputs is_blocked,
                 ops::BlockedForm by_rules) {
        return runtime_.tuner->form(runtime_, *node.op, *node.attrs, spec, is_blocked, std::move(by_rules));
      };
    }
    Graph in_layout = choose_layout(graph, runtime_.table(), infer(graph, constants), LayoutFor::prediction,
                                    *form, pick, explanation);
    if (explanation != nullptr) *explanation += taken_in("layout", graph, in_layout);
    graph = std::move(in_layout);
    end("layout", graph);
  }
  HeldApart apart = take_held_apart(graph);
  if (!apart.variables.empty()) hold(std::move(apart.held), apart.variables, constants);
  if (log_) log_->note("hold", apart.rest);
  return std::move(apart.rest);
}

bool BoundExecutor::has_dense_arrays_only() const {
  const auto is_dense = [](const NDArray& array) { return array.is_none() || array.is_dense(); };
  return std::ranges::all_of(arrays_.arguments, is_dense) && std::ranges::all_of(arrays_.gradients, is_dense);
}

Graph BoundExecutor::in_training_layout(Graph graph, const Constants& constants, std::string* explanation) {
  if (!options_.plan.choose_layout || monitor_ || options_.plan.own_memory || !options_.groups.empty() ||
      !has_dense_arrays_only())
    return graph;
  const auto form = image_form();
  if (!form) return graph;
  Graph in_layout = choose_layout(graph, runtime_.table(), infer(graph, constants), LayoutFor::training,
                                  *form, {}, explanation);
  if (explanation != nullptr) *explanation += taken_in("layout", graph, in_layout);
  end("layout", in_layout);
  return in_layout;
}

// Fused nodes take dense arrays of one device. While values are checked, each operator is on its own, so that the first that
// makes NaN can be named.
Graph BoundExecutor::fused(Graph graph, const Constants& constants, std::string* explanation) {
  const engine::DeviceTraits device = traits();
  if (!options_.plan.fuse || monitor_ || options_.plan.own_memory || !options_.groups.empty() ||
      runtime_.check_values.load(std::memory_order_relaxed) || !has_dense_arrays_only())
    return graph;
  if (device.closed_operators) {
    Graph closed = close(graph, runtime_.table(), infer(graph, constants), ops::closed_operators());
    if (explanation != nullptr) *explanation += taken_in("close", graph, closed);
    graph = std::move(closed);
    end("close", graph);
  }
  if (!device.fused_chains) return graph;
  FusionLog made;
  graph = fuse(graph, runtime_.table(), infer(graph, constants), explanation || log_ ? &made : nullptr);
  if (explanation != nullptr) *explanation += to_text(made);
  if (log_) log_->apart = std::move(made.apart);
  end("fuse", graph);
  return graph;
}

// A gradient that something else needs, too, is copied to the user's array.
Graph BoundExecutor::add_gradients(Graph graph) {
  std::vector<ops::Req> requests;
  for (ops::Req request : arrays_.requests) {
    if (request != ops::Req::null) requests.push_back(request);
  }
  const ValueIndex index(graph);
  std::vector<char> read(index.size(), false), taken(index.size(), false);
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const ValueRef& input : graph.inputs(id)) read[index[input]] = true;
  }
  const ops::OpDef& copy = *runtime_.table().core().copy;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    ValueRef& output = graph.outputs[i];
    const int value = index[output];
    if (i >= outputs_.size()) {
      const bool own = graph[output.node].forward >= 0 && !taken[value];
      if (!own || (requests[i - outputs_.size()] == ops::Req::add && read[value])) {
        output = {graph.add_op(copy, runtime_.table().parse(copy, {}), {&output, 1}, {}, output.node), 0};
        continue;
      }
    }
    taken[value] = true;
  }
  return graph;
}

// Arrays stay where they are; a head gradient lies where its output does.
PlaceRequest BoundExecutor::place_request(const Graph& graph, const Constants& constants) const {
  PlaceRequest request{device_, options_.groups};
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!graph[id].is_variable()) continue;
    if (const NDArray* array = array_of(graph, id)) request.variables.emplace_back(id, array->device());
    if (const NDArray* array = constants.find(graph[id].info.get()))
      request.variables.emplace_back(id, array->device());
    for (size_t i = 0; i < heads_.size(); ++i) {
      if (heads_[i] == graph[id].info) request.variables.emplace_back(id, outputs_[i].device());
    }
  }
  for (const NDArray& output : outputs_) request.outputs.push_back({output.device()});
  for (size_t i = 0; i < arrays_.requests.size() && request.outputs.size() < graph.outputs.size(); ++i) {
    const ops::Req wanted = arrays_.requests[i];
    if (wanted != ops::Req::null)
      request.outputs.push_back({arrays_.arguments[i].device(), wanted == ops::Req::add});
  }
  return request;
}

void BoundExecutor::find_variables(const Graph& graph, Places& places) const {
  places.arguments.resize(arrays_.arguments.size());
  places.auxiliary_states.resize(arrays_.auxiliary_states.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!graph[id].is_variable()) continue;
    if (const auto found = variables_.find(graph[id].info.get()); found != variables_.end()) {
      const Variable& known = found->second;
      (known.mutated ? places.auxiliary_states : places.arguments)[known.position] = {id, 0};
    }
  }
}

BoundExecutor::Places BoundExecutor::find_places(const Graph& graph) const {
  Places places;
  find_variables(graph, places);
  places.gradients.resize(arrays_.arguments.size());
  places.outputs.resize(outputs_.size());
  places.heads.resize(outputs_.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!graph[id].is_variable()) continue;
    for (size_t i = 0; i < heads_.size(); ++i) {
      if (heads_[i] == graph[id].info) places.heads[i] = {id, 0};
    }
  }
  size_t argument = 0;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (i < outputs_.size()) {
      if (!graph[graph.outputs[i].node].is_variable()) places.outputs[i] = graph.outputs[i];
      continue;
    }
    while (arrays_.requests[argument] == ops::Req::null) ++argument;
    places.gradients[argument++] = graph.outputs[i];
  }
  return places;
}

Program& BoundExecutor::program(RunMode mode) {
  LOOMIX_CHECK(
      !dynamic_, NotImplementedError,
      "[Executor] '{}' has operators whose outputs' shapes depend on data; there is no plan to look at.",
      symbol_.list_outputs().front());
  Ref<Program>& program = programs_[static_cast<int>(mode)];
  if (!program) program = compile(mode);
  return *program;
}

Bindings BoundExecutor::bindings_for(const Graph& graph, std::span<const Device> devices,
                                     const Constants& constants) {
  Bindings bindings;
  std::set<std::pair<NodeId, int>> bound;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!graph[id].is_variable()) continue;
    if (const NDArray* array = array_of(graph, id)) bindings.arrays.push_back({{id, 0}, *array});
    if (const NDArray* array = constants.find(graph[id].info.get()))
      bindings.arrays.push_back({{id, 0}, *array});
    for (size_t i = 0; i < heads_.size(); ++i) {
      if (!(heads_[i] == graph[id].info)) continue;
      if (head_gradients_[i].is_none())
        head_gradients_[i] = new_array(outputs_[i].shape(), outputs_[i].dtype(), devices[id]);
      bindings.arrays.push_back({{id, 0}, head_gradients_[i]});
    }
  }
  size_t argument = 0;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ValueRef output = graph.outputs[i];
    if (i < outputs_.size()) {
      if (!graph[output.node].is_variable() && bound.emplace(output.node, output.index).second) {
        bindings.arrays.push_back({output, outputs_[i]});
      }
      continue;
    }
    while (arrays_.requests[argument] == ops::Req::null) ++argument;
    bindings.arrays.push_back({output, arrays_.gradients[argument]});
    bindings.requests.push_back({output, arrays_.requests[argument]});
    ++argument;
  }
  return bindings;
}

// The passes after those that depend on the mode. The program is planned, but has no memory yet.
Ref<Program> BoundExecutor::planned(Graph graph, RunMode mode, const Constants& constants,
                                    std::string* explanation) {
  if (mode != RunMode::inference && wants_gradients()) graph = add_gradients(std::move(graph));
  graph = fused(std::move(graph), constants, explanation);
  Placement placed = place(graph, runtime_.table(), place_request(graph, constants));
  std::vector<StorageType> stypes = store(placed, constants, wanted_storage(placed.graph));
  Inference known = infer(placed.graph, constants);
  known.stypes = std::move(stypes);
  end("place", placed.graph, &known);
  Bindings bindings = bindings_for(placed.graph, placed.devices, constants);
  return make_ref<Program>(runtime_, std::move(placed.graph), std::move(known), std::move(placed.devices),
                           std::move(bindings), mode == RunMode::training, options_.plan);
}

// Whatever else the passes do and kernels need is known only when all is planned: so the goal for the values that
// are kept is set lower until the plan fits, and at last as low as it goes.
Ref<Program> BoundExecutor::within_budget(const Graph& graph, RunMode mode, const Constants& constants,
                                          std::string* explanation) {
  const int64_t budget = options_.plan.memory_budget;
  const std::optional<PassLog> before = log_ ? std::optional(*log_) : std::nullopt;
  BudgetNote note{budget};
  const auto plan = [&](const Graph& with_copies) {
    if (explanation != nullptr) explanation->clear();
    if (log_) (*log_ = *before).budget = note;
    if (&with_copies != &graph) end("fit_memory", with_copies);
    return planned(with_copies, mode, constants, explanation);
  };
  Ref<Program> program = plan(graph);
  const int64_t without = program->plan().memory.bytes();
  note = {budget, without, log_ ? program->report().estimated_ns() : 0};
  if (log_) log_->budget = note;
  if (without <= budget) return program;
  int64_t smallest = without;
  if (mode != RunMode::inference && wants_gradients()) {
    constexpr int kMostGoals = 6;
    const Inference known = infer(graph, constants);
    MemoryFitter fitter(runtime_.table(), graph, known, traits());
    int64_t goal = fitter.bound() - (without - budget);
    for (int i = 0; i < kMostGoals && fitter.reduce(goal); ++i) {
      program = plan(fitter.graph());
      const int64_t bytes = program->plan().memory.bytes();
      if (bytes <= budget) return program;
      goal -= std::max(bytes - budget, budget / 64);
    }
    MemoryFitter least(runtime_.table(), graph, known, traits());
    least.reduce(0);
    program = plan(least.graph());
    smallest = program->plan().memory.bytes();
    if (smallest <= budget) return program;
  }
  detail::throw_error<ValueError>(
      "[Symbol.bind] memory_budget of {} bytes is too small for {}: the smallest that was found to be enough "
      "is {} "
      "bytes; without a budget, {} are planned.",
      budget, title(mode), smallest, without);
}

// For messages: "softmax_output, with gradients".
std::string BoundExecutor::title(RunMode mode) const {
  const auto outputs = symbol_.list_outputs();
  return outputs.front() + (outputs.size() > 1 ? fmt::format(" and {} more", outputs.size() - 1) : "") +
         (mode != RunMode::inference && wants_gradients() ? ", with gradients"
          : mode == RunMode::training                     ? ", in training mode"
                                                          : ", for prediction");
}

Ref<Program> BoundExecutor::compile(RunMode mode) {
  const bool gradients = mode != RunMode::inference && wants_gradients();
  Constants constants;
  std::string fusions;
  std::string* const explained = is_explained("fuse") ? &fusions : nullptr;
  if (gradients) head_gradients_.resize(outputs_.size());
  Graph simple = simplified(gradients ? training_graph() : graph_, mode == RunMode::training, constants);
  if (mode != RunMode::inference) simple = in_training_layout(std::move(simple), constants, explained);
  if (gradients) simple = with_less_kept(std::move(simple), constants);
  else if (mode == RunMode::inference) simple = made_for_prediction(std::move(simple), constants, explained);
  Ref<Program> program = options_.plan.memory_budget > 0
                             ? within_budget(simple, mode, constants, explained)
                             : planned(std::move(simple), mode, constants, explained);
  if (!options_.plan_only) program->make_ready(*arena_);
  check_present(program->graph());
  places_[static_cast<int>(mode)] = find_places(program->graph());
  if (is_pass_dumped("plan")) dump_pass("plan", to_text(program->report()) + explain_held(mode));
  if (explained != nullptr)
    std::fputs(fmt::format("fuse: {}\n{}", title(mode), fusions.empty() ? "  nothing\n" : fusions).c_str(),
               stderr);
  if (is_explained("plan"))
    std::fputs(
        fmt::format("plan: {}\n{}", title(mode), to_text(program->report()) + explain_held(mode)).c_str(),
        stderr);
  if (monitor_) install(monitor_, *program);
  return program;
}

}  // namespace loomix
