// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "ops/blocked/blocked.h"
#include "symbol/executor/bound_executor.h"
#include "symbol/passes/prune.h"

// What prediction computes from weights alone. An executor holds its own values, and computes them again when an argument has
// changed; those of a model whose weights never change share them (HeldValues).
namespace loomix {

NDArray HeldValues::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find(key);
  return found == values_.end() ? NDArray() : found->second.detach();
}

void HeldValues::keep(const std::string& key, const NDArray& value) {
  const std::lock_guard lock(mutex_);
  values_.emplace(key, value.detach());
}

void HeldValues::note_form(const std::string& of, Form form) {
  const std::lock_guard lock(mutex_);
  forms_.emplace(of, std::move(form));
}

std::optional<HeldValues::Form> HeldValues::form_of(const std::string& of) const {
  const std::lock_guard lock(mutex_);
  const auto found = forms_.find(of);
  if (found == forms_.end()) return {};
  return found->second;
}

void HeldValues::let_go(const std::string& weight) {
  const std::lock_guard lock(mutex_);
  gone_.insert(weight);
}

bool HeldValues::is_gone(std::string_view weight) const {
  const std::lock_guard lock(mutex_);
  return gone_.contains(weight);
}

namespace {

// Names may hold anything, so their lengths say where they end.
std::string quoted(char kind, const std::string& name) {
  return fmt::format("{}{}:{}", kind, name.size(), name);
}

}  // namespace

// By node: what computes it, as text; empty where it depends on more than weights that never change.
std::vector<std::string> BoundExecutor::held_keys(const Graph& graph) const {
  std::vector<std::string> keys(static_cast<size_t>(graph.size()));
  if (!options_.held) return keys;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    std::string& key = keys[static_cast<size_t>(id)];
    if (node.is_variable()) {
      const auto found = variables_.find(node.info.get());
      if (found == variables_.end()) continue;
      const auto& [position, mutated] = found->second;
      if (mutated || options_.fixed[static_cast<size_t>(position)])
        key = quoted(mutated ? 's' : 'a', node.info->name);
      continue;
    }
    const auto inputs = graph.inputs(id);
    const auto has_no_key = [&](ValueRef input) { return keys[static_cast<size_t>(input.node)].empty(); };
    if (node.op->impure || std::ranges::any_of(inputs, has_no_key)) continue;
    const std::string form = ops::weight_form(*node.attrs).value_or("");
    key = quoted('o', node.op->name) + quoted('p', form.empty() ? node.attrs->canonical() : form) + '(';
    for (const ValueRef& input : inputs)
      key += fmt::format("{}#{},", keys[static_cast<size_t>(input.node)], input.index);
    key += ')';
  }
  return keys;
}

// Arguments that a predictor for images of another size would read, since what is held of them cannot be undone.
void BoundExecutor::note_forms(const Graph& graph) {
  std::vector<char> needed(static_cast<size_t>(graph.size()), false);
  held_.for_other_sizes.assign(arrays_.arguments.size(), false);
  for (NodeId id = graph.size() - 1; id >= 0; --id) {
    const Node& node = graph[id];
    const bool stays =
        node.op && ops::weight_form(*node.attrs) && !ops::undoing_operator(*node.op, *node.attrs);
    if (stays) needed[static_cast<size_t>(id)] = true;
    if (!needed[static_cast<size_t>(id)]) continue;
    for (const ValueRef& input : graph.inputs(id)) needed[static_cast<size_t>(input.node)] = true;
    const int argument = node.is_variable() ? argument_of(graph, id) : -1;
    if (argument >= 0) held_.for_other_sizes[static_cast<size_t>(argument)] = true;
  }
}

void BoundExecutor::check_present(const Graph& graph) const {
  if (!options_.held) return;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const int argument = graph[id].is_variable() ? argument_of(graph, id) : -1;
    LOOMIX_CHECK(argument < 0 || !options_.fixed[static_cast<size_t>(argument)] ||
                     !options_.held->is_gone(graph[id].info->name),
                 StateError,
                 "[predict] weight '{}' was let go, because the model's first predictor reads only a copy in "
                 "another form; for these shapes it is needed as it was. Load the model again for them.",
                 graph[id].info->name);
  }
}

// That the input of a node can be made from its output, which will be held as `key`.
void BoundExecutor::note_form(const Graph& graph, NodeId id, std::span<const std::string> keys,
                              const std::string& key) {
  const Node& node = graph[id];
  const char* const undo = key.empty() || !node.op ? nullptr : ops::undoing_operator(*node.op, *node.attrs);
  if (!undo) return;
  const ValueRef input = graph.inputs(id)[0];
  options_.held->note_form(fmt::format("{}#{}", keys[static_cast<size_t>(input.node)], input.index),
                           {key, &runtime_.table().at(undo), node.attrs});
}

// The graph with what depends on weights that were let go made from a form that is held.
Graph BoundExecutor::restored(const Graph& graph, std::span<const std::string> keys, Constants& constants) {
  Graph made;
  std::vector<NodeId> instead(static_cast<size_t>(graph.size()));
  std::vector<char> gone(static_cast<size_t>(graph.size()), false);
  const auto moved = [&](std::span<const ValueRef> values) {
    std::vector<ValueRef> all;
    for (const ValueRef& value : values)
      all.push_back({instead[static_cast<size_t>(value.node)], value.index});
    return all;
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    const auto is_gone = [&](ValueRef input) { return gone[static_cast<size_t>(input.node)] != 0; };
    const auto at = static_cast<size_t>(id);
    gone[at] = node.is_variable() ? options_.held->is_gone(node.info->name) && !keys[at].empty()
                                  : std::ranges::any_of(graph.inputs(id), is_gone);
    const auto form = gone[at] ? options_.held->form_of(keys[at] + "#0") : std::nullopt;
    NDArray held = form ? options_.held->find(form->key) : NDArray();
    if (held.is_none()) {
      instead[at] = made.add_copy(node, moved(graph.inputs(id)));
      continue;
    }
    auto info = make_ref<NodeInfo>();
    info->name = "held form";
    constants.add(info, std::move(held));
    const ValueRef input[] = {{made.add_variable(std::move(info)), 0}};
    instead[at] = made.add_op(*form->undo, form->attrs, input);
    gone[at] = false;
  }
  made.outputs = moved(graph.outputs);
  return made;
}

// Finds the held values that other executors have computed, makes the arrays of the others, and the program that computes
// those.
void BoundExecutor::hold(Graph graph, std::span<const Ref<const NodeInfo>> values, Constants& constants) {
  note_forms(graph);
  const std::vector<std::string> keys = held_keys(graph);
  std::vector<Ref<const NodeInfo>> own;
  std::vector<std::string> own_keys;
  std::vector<ValueRef> outputs;
  for (size_t i = 0; i < values.size(); ++i) {
    const ValueRef output = graph.outputs[i];
    std::string key = keys[static_cast<size_t>(output.node)];
    if (!key.empty()) key += fmt::format("#{}", output.index);
    NDArray shared = key.empty() ? NDArray() : options_.held->find(key);
    if (!shared.is_none()) {
      constants.add(values[i], std::move(shared));
      continue;
    }
    note_form(graph, output.node, keys, key);
    own.push_back(values[i]);
    own_keys.push_back(std::move(key));
    outputs.push_back(output);
  }
  if (outputs.empty()) return;
  graph.outputs = outputs;
  if (options_.held) graph = restored(graph, keys, constants);
  graph = prune(graph);
  check_present(graph);
  compute_held(std::move(graph), own, own_keys, constants);
}

void BoundExecutor::compute_held(Graph graph, std::span<const Ref<const NodeInfo>> values,
                                 std::span<const std::string> keys, Constants& constants) {
  std::vector<ValueRef> outputs;
  std::swap(outputs, graph.outputs);  // infer() takes a graph's for those of the symbol
  Inference known = infer(graph, constants);
  graph.outputs = std::move(outputs);
  const ValueIndex index(graph);
  Bindings bindings;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!graph[id].is_variable()) continue;
    if (const NDArray* array = array_of(graph, id)) bindings.arrays.push_back({{id, 0}, *array});
    if (const NDArray* array = constants.find(graph[id].info.get()))
      bindings.arrays.push_back({{id, 0}, *array});
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const ValueRef output = graph.outputs[i];
    const auto value = static_cast<size_t>(index[output]);
    NDArray array = new_array(known.shapes[value], known.dtypes[value], device_);
    held_.values.emplace_back(values[i], array);
    held_.keys.push_back(keys[i]);
    bindings.arrays.push_back({output, array});
    constants.add(values[i], std::move(array));
  }
  find_variables(graph, held_.places);
  const std::vector<Device> devices(static_cast<size_t>(graph.size()), device_);
  held_.program = make_ref<Program>(runtime_, std::move(graph), std::move(known), devices,
                                    std::move(bindings), false, options_.plan);
  if (options_.plan_only) return;
  // Memory that is given back when the program has run for the last time.
  const Ref<Arena> arena = options_.held ? make_ref<Arena>() : arena_;
  held_.program->make_ready(*arena);
}

void BoundExecutor::update_held() {
  if (!held_.program) return;
  bool changed = held_.arguments.empty() && held_.auxiliary_states.empty();
  const auto note = [&](std::span<const NDArray> arrays, const std::vector<ValueRef>& places,
                        std::vector<uint64_t>& versions) {
    versions.resize(arrays.size());
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (!places[i]) continue;
      const Storage& storage = arrays[i].storage();
      const uint64_t now = storage.version() + storage.past_exposures();
      changed = changed || versions[i] != now || storage.is_exposed();
      versions[i] = now;
    }
  };
  note(arrays_.arguments, held_.places.arguments, held_.arguments);
  note(arrays_.auxiliary_states, held_.places.auxiliary_states, held_.auxiliary_states);
  if (!changed) return;
  try {
    held_.program->run_forward();
  } catch (...) {  // a signal, for example, while a push waited
    held_.arguments.clear();
    held_.auxiliary_states.clear();
    throw;
  }
}

void BoundExecutor::prepare() {
  program(RunMode::inference);
  update_held();
  for (size_t i = 0; i < held_.values.size(); ++i) {
    const NDArray& array = held_.values[i].second;
    array.wait_to_read();
    if (!held_.keys[i].empty()) options_.held->keep(held_.keys[i], array);
  }
  if (std::ranges::any_of(held_.keys, [](const std::string& key) { return key.empty(); })) return;
  held_.program.reset();
  held_.values.clear();
  held_.keys.clear();
  held_.places = {};
}

bool BoundExecutor::needs_argument(size_t i) const {
  const auto reads = [i](const std::vector<ValueRef>& places) { return i < places.size() && places[i]; };
  return reads(places_[static_cast<int>(RunMode::inference)].arguments) || reads(held_.places.arguments) ||
         (i < held_.for_other_sizes.size() && held_.for_other_sizes[i]);
}

void BoundExecutor::let_go(size_t i) {
  LOOMIX_INTERNAL_CHECK(options_.held && options_.fixed[i] && !needs_argument(i));
  options_.held->let_go(symbol_.list_arguments()[i]);
  NDArray& array = arrays_.arguments[i];
  array = array_without_memory(array.engine(), array.shape(), array.dtype(), array.device());
}

}  // namespace loomix
