// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/bound_network.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "bindings/c/process.h"
#include "ndarray/copy.h"
#include "symbol/close_convolutions.h"
#include "symbol/passes/fold_norm.h"
#include "symbol/passes/fuse.h"
#include "symbol/passes/hold.h"
#include "symbol/passes/pack_whole.h"
#include "symbol/passes/prune.h"
#include "symbol/passes/whole_input.h"

namespace loomix::c {
namespace {

// Marks what follows from weights alone: `is_weight` says so of variables.
template <class IsWeight>
void mark_constants(Graph& graph, IsWeight&& is_weight) {
  std::vector<char> constant(static_cast<size_t>(graph.size()));
  for (NodeId id = 0; id < graph.size(); ++id) {
    Node& node = graph[id];
    const auto inputs = graph.inputs(id);
    if (node.is_variable()) {
      constant[static_cast<size_t>(id)] = is_weight(node);
      continue;
    }
    node.held = node.op && !node.op->random_numbers && !node.op->impure &&
                std::all_of(inputs.begin(), inputs.end(),
                            [&](ValueRef input) { return constant[static_cast<size_t>(input.node)] != 0; });
    constant[static_cast<size_t>(id)] = node.held;
  }
}

// What has no inputs may take its shape from its readers (zeros of any size); passes change these.
void settle_shapes(Graph& graph, const Inference& known) {
  const ValueIndex index(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    Node& node = graph[id];
    if (!node.op || node.num_inputs > 0 || !node.op->params->find("shape")) continue;
    TextPairs attrs = node.attrs->given();
    std::erase_if(attrs, [](const auto& attr) { return attr.first == "shape"; });
    attrs.emplace_back("shape", known.shapes[static_cast<size_t>(index(id, 0))].to_string());
    node.attrs = table().parse(*node.op, attrs);
  }
}

// Output i of the graph, computed once for all predictors of the model.
template <class ViewsOf>
NDArray constant_of(const Graph& held, size_t i, ViewsOf&& views_of, SharedValues& shared) {
  Graph one = held;
  one.outputs = {held.outputs[i]};
  one = prune(one);
  const std::vector<TensorView> views = views_of(one);
  std::string key = dump(one);
  for (const TensorView& view : views)
    key += fmt::format("{} {}\n", name_of(view.dtype), view.shape.to_string());
  const std::lock_guard lock(shared.mutex);
  auto& values = shared.values[key];
  if (!values.empty()) return values[0];
  for (const TensorView& view : views)
    LOOMIX_CHECK(
        view.data || view.size() == 0, StateError,
        "[MXPredReshape] a weight was let go whose other form these inputs need; make a predictor anew.");
  values = run_once(engine(), one, views);
  return values[0];
}

// Variables that only products of 8 bits read, which have them in another form.
std::set<std::string> packed_weights(const Graph& held, const Graph& rest) {
  std::set<std::string> packed;
  for (const bool take : {true, false}) {
    for (NodeId id = 0; id < held.size(); ++id) {
      for (const ValueRef& input : held.inputs(id)) {
        const Node& from = held[input.node];
        if (!from.is_variable() || (held.op_name(id) == ops::kPackedWeight) != take) continue;
        if (take) packed.insert(from.info->name);
        else packed.erase(from.info->name);
      }
    }
  }
  for (const Graph* graph : {&held, &rest})
    for (const ValueRef& output : graph->outputs)
      if ((*graph)[output.node].is_variable()) packed.erase((*graph)[output.node].info->name);
  for (NodeId id = 0; id < rest.size(); ++id)
    if (rest[id].is_variable()) packed.erase(rest[id].info->name);
  return packed;
}

}  // namespace

void check_can_run(const Symbol& symbol) {
  const Graph& graph = symbol.graph();
  std::string missing;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].is_unknown())
      missing += fmt::format("{}'{}' of node '{}'", missing.empty() ? "" : ", ", graph.op_name(id),
                             graph.name_of(id));
  }
  LOOMIX_CHECK(missing.empty(), NotImplementedError, "[MXPredCreate] prediction has no operator {}.",
               missing);
}

ArrayList read_arrays(std::span<const std::byte> file, const char* name) {
  ArrayList list = load_arrays_from_buffer(engine(), file, {}, name);
  for (NDArray& array : list.arrays) {
    if (!array.is_none()) array = kept_form(engine(), array);
  }
  return list;
}

std::vector<float> float_elements(const NDArray& array) {
  std::vector<float> elements(static_cast<size_t>(array.size()));
  convert_elements(array.view().data, array.dtype(), elements.data(), DType::float32, array.size());
  return elements;
}

NDArray zeros(const Shape& shape, DType type) {
  NDArray array(engine(), shape, type);
  std::memset(array.view().data, 0, static_cast<size_t>(array.bytes()));
  return array;
}

void write_elements(NDArray& array, const void* data, DType type) {
  convert_elements(data, type, array.view().data, array.dtype(), array.size());
}

// fold_norm -> layers of 8 bits are packed -> what follows from weights is computed -> convolutions are closed -> fuse
BoundNetwork::BoundNetwork(const Symbol& symbol, const NetworkArrays& arrays, const Ref<SharedValues>& shared)
    : num_outputs_(symbol.outputs().size()) {
  const std::vector<std::string> names = symbol.list_arguments();
  const std::vector<std::string> states = symbol.list_auxiliary_states();
  std::map<std::string_view, const NDArray*> known_arrays;
  std::set<std::string_view> changing;
  for (size_t i = 0; i < names.size(); ++i) {
    known_arrays.emplace(names[i], &arrays.arguments[i]);
    if (!arrays.fixed[i]) changing.insert(names[i]);
  }
  for (size_t i = 0; i < states.size(); ++i) known_arrays.emplace(states[i], &arrays.states[i]);
  std::map<const NodeInfo*, NDArray> computed;
  const auto array_of = [&](const Ref<const NodeInfo>& variable) -> const NDArray& {
    const auto found = computed.find(variable.get());
    return found != computed.end() ? found->second : *known_arrays.at(variable->name);
  };
  const auto views_of = [&](const Graph& graph) {
    std::vector<TensorView> views;
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (graph[id].is_variable()) views.push_back(array_of(graph[id].info).view());
    }
    return views;
  };
  Graph graph = prune(symbol.graph());
  const Inference first = infer_all(graph, views_of(graph));
  settle_shapes(graph, first);
  graph = fold_norm(graph, table(), first);
  const auto is_weight = [&](const Node& node) { return !changing.contains(node.info->name); };
  if (has_whole_layers(graph)) {
    mark_constants(graph, is_weight);
    graph = pack_whole(graph, table(), infer_all(graph, views_of(graph)));
  }
  mark_constants(graph, is_weight);
  const HeldApart apart = take_held_apart(graph);
  for (size_t i = 0; i < apart.variables.size(); ++i)
    computed.emplace(apart.variables[i].get(), constant_of(apart.held, i, views_of, *shared));
  packed_ = packed_weights(apart.held, apart.rest);

  graph =
      close_convolutions(apart.rest, infer_all(apart.rest, views_of(apart.rest)), engine().context().cores);
  graph = fuse(graph, table(), infer_all(graph, views_of(graph)));
  Inference known = infer_all(graph, views_of(graph));
  program_.emplace(engine(), std::move(graph), std::move(known));
  for (int i = 0; i < program_->num_variables(); ++i) {
    const NDArray& array = array_of(program_->variable(i));
    held_.push_back(array);
    program_->set(i, array.view());
    if (!changing.contains(program_->variable(i)->name)) program_->pack(i, *shared);
  }
  program_->plan();
}

void BoundNetwork::settle(const Symbol&, Weights& weights) {
  for (const std::string& name : packed_) {
    if (const auto found = weights.find(name); found != weights.end()) found->second.let_go();
  }
}

void BoundNetwork::read_output(size_t i, void* data) const {
  const TensorView& view = program_->output(static_cast<int>(i));
  if (view.size() > 0) std::memcpy(data, view.data, static_cast<size_t>(view.bytes()));
}

}  // namespace loomix::c
