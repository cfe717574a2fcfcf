// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ops/shape_rule.h"
#include "symbol/passes/infer.h"
#include "symbol/symbol.h"

namespace loomix {
namespace {

Shape from_api(Shape shape, ShapeRule rule) {
  if (rule == ShapeRule::numpy) return shape;
  if (shape.ndim() == 0) return Shape::unknown();
  for (int64_t& size : shape) size = size == 0 ? kUnknownDim : size;
  return shape;
}

Shape to_api(Shape shape, ShapeRule rule) {
  if (rule == ShapeRule::numpy) return shape;
  if (!shape.ndim_known()) return Shape();
  for (int64_t& size : shape) size = size < 0 ? 0 : size;
  return shape;
}

bool is_known(const Shape& shape) { return shape.is_known(); }
bool is_known(DType dtype) { return dtype != DType::unknown; }

// Puts what the caller knows about variables into the values; every name must exist.
template <class T, class Convert>
std::vector<T> start_values(const Graph& graph, T unknown, std::span<const std::pair<std::string, T>> known,
                            Convert convert) {
  const ValueIndex index(graph);
  std::vector<T> values(index.size(), unknown);
  std::unordered_map<std::string_view, const T*> by_name;
  for (const auto& [name, value] : known) by_name[name] = &value;
  std::string names;
  std::unordered_set<std::string_view> seen;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!graph[id].is_variable()) continue;
    const std::string& name = graph[id].info->name;
    const auto found = by_name.find(name);
    seen.insert(name);
    if (names.size() < 500) names += (names.empty() ? "'" : ", '") + name + "'";
    if (found != by_name.end()) values[index(id, 0)] = convert(*found->second);
  }
  for (const auto& [name, value] : by_name) {
    LOOMIX_CHECK(seen.contains(name), ValueError, "[Symbol] no input is called '{}'; expected one of {}.",
                 name, names);
  }
  return values;
}

template <class T, class Convert>
Inferred<T> collect(const Graph& graph, const std::vector<T>& values, Convert convert) {
  const ValueIndex index(graph);
  const auto mutated = mutated_variables(graph);
  Inferred<T> result;
  result.complete = true;
  const auto add = [&](std::vector<T>& to, ValueRef value) {
    const T& found = values[index[value]];
    result.complete = result.complete && is_known(found);
    to.push_back(convert(found));
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].is_variable()) add(mutated[id] ? result.auxiliary_states : result.arguments, {id, 0});
  }
  for (const ValueRef& output : graph.outputs) add(result.outputs, output);
  return result;
}

// Operators that do not tell their outputs' shapes though those of their inputs are known, or that do not exist.
std::vector<std::string> unresolved_nodes(const Graph& graph, const std::vector<Shape>& shapes) {
  const ValueIndex index(graph);
  std::vector<std::string> found;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.is_variable()) continue;
    const auto inputs = graph.inputs(id);
    const bool told = std::all_of(inputs.begin(), inputs.end(),
                                  [&](ValueRef input) { return shapes[index[input]].is_known(); });
    bool known = true;
    for (int i = 0; i < node.num_outputs; ++i) known = known && shapes[index(id, i)].is_known();
    if (known || (!told && !node.is_unknown())) continue;
    found.push_back(fmt::format("'{}' ({}{})", graph.name_of(id), graph.op_name(id),
                                node.is_unknown() ? ", which Loomix does not have" : ""));
  }
  return found;
}

}  // namespace

ShapeRule shape_rule() noexcept { return ops::numpy_shapes() ? ShapeRule::numpy : ShapeRule::legacy; }

Inferred<Shape> Symbol::infer_shape(std::span<const std::pair<std::string, Shape>> known,
                                    ShapeRule rule) const {
  const Graph graph = this->graph();
  auto shapes =
      start_values<Shape>(graph, Shape::unknown(), known, [&](const Shape& s) { return from_api(s, rule); });
  apply_variable_attrs(graph, shapes, {});
  infer_shapes(graph, shapes);
  auto result = collect(graph, shapes, [&](const Shape& shape) { return to_api(shape, rule); });
  if (!result.complete) result.unresolved = unresolved_nodes(graph, shapes);
  return result;
}

Inferred<DType> Symbol::infer_type(std::span<const std::pair<std::string, DType>> known) const {
  const Graph graph = this->graph();
  auto dtypes = start_values<DType>(graph, DType::unknown, known, [](DType dtype) { return dtype; });
  apply_variable_attrs(graph, {}, dtypes);
  infer_dtypes(graph, dtypes);
  return collect(graph, dtypes, [](DType dtype) { return dtype; });
}

}  // namespace loomix
