// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/predictor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "bindings/c/process.h"
#include "ndarray/array_file.h"
#include "ndarray/copy.h"
#include "symbol/close_convolutions.h"
#include "symbol/passes/fold_norm.h"
#include "symbol/passes/fuse.h"
#include "symbol/passes/hold.h"
#include "symbol/passes/prune.h"

namespace loomix::c {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Symbol outputs_of(const Symbol& symbol, std::span<const std::string> names) {
  if (names.empty()) return symbol;
  const Symbol internals = symbol.internals();
  const std::vector<std::string> known = internals.list_outputs();
  std::vector<Symbol> found;
  for (const std::string& name : names) {
    const std::string of_node = name + "_output";
    const bool is_node = contains(known, of_node);
    LOOMIX_CHECK(is_node || contains(known, name), ValueError,
                 "[MXPredCreatePartialOut] the network has no node or output '{}'.", name);
    found.push_back(internals.output(is_node ? of_node : name));
  }
  return Symbol::group(found);
}

std::string without_kind(const std::string& name) {
  for (const std::string_view kind : {"arg:", "aux:"}) {
    if (name.starts_with(kind)) return name.substr(kind.size());
  }
  return name;
}

void check_operators(const Graph& graph) {
  std::string missing;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].is_unknown())
      missing += fmt::format("{}'{}' of node '{}'", missing.empty() ? "" : ", ", graph.op_name(id),
                             graph.name_of(id));
  }
  LOOMIX_CHECK(missing.empty(), NotImplementedError, "[MXPredCreate] prediction has no operator {}.",
               missing);
}

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

}  // namespace

Model::Model(std::string_view json, std::span<const std::byte> params, std::span<const std::string> outputs) {
  const Symbol whole = Symbol::from_json(table(), json);
  arguments_ = whole.list_arguments();
  symbol_ = outputs_of(whole, outputs);
  check_operators(symbol_.graph());
  const ArrayList list = load_arrays_from_buffer(engine(), params, {}, "param_bytes");
  LOOMIX_CHECK(list.names.size() == list.arrays.size(), ValueError,
               "[MXPredCreate] the {} arrays in param_bytes have no names; expected a file of named weights.",
               list.arrays.size());
  for (size_t i = 0; i < list.arrays.size(); ++i) {
    if (!list.arrays[i].is_none())
      weights_.insert_or_assign(without_kind(list.names[i]), kept_form(engine(), list.arrays[i]));
  }
}

const NDArray* Model::weight(const std::string& name) const {
  const auto found = weights_.find(name);
  return found == weights_.end() ? nullptr : &found->second;
}

bool Model::has_argument(const std::string& name) const { return contains(arguments_, name); }

Predictor::Predictor(std::shared_ptr<const Model> model, const InputShapes& shapes, InputTypes types)
    : model_(std::move(model)), types_(std::move(types)) {
  for (const auto& [name, type] : types_) {
    LOOMIX_CHECK(model_->has_argument(name), ValueError,
                 "[MXPredCreateEx] a type is given for '{}', which is no argument of the network.", name);
  }
  bind(shapes);
}

std::shared_ptr<Predictor> Predictor::reshape(const InputShapes& shapes) const {
  return std::make_shared<Predictor>(model_, shapes, types_);
}

// Types that nobody gave are float32 for inputs, and the file's for weights.
std::vector<DType> Predictor::infer_types(const InputShapes& shapes) const {
  const Symbol& symbol = model_->symbol();
  const std::vector<std::string> arguments = symbol.list_arguments();
  InputTypes known;
  for (const std::string& name : arguments) {
    const auto is_it = [&](const auto& item) { return item.first == name; };
    const auto given = std::find_if(types_.begin(), types_.end(), is_it);
    const NDArray* const weight = model_->weight(name);
    if (given != types_.end()) known.emplace_back(name, kept_type(given->second));
    else if (std::any_of(shapes.begin(), shapes.end(), is_it)) known.emplace_back(name, DType::float32);
    else if (weight) known.emplace_back(name, weight->dtype());
  }
  std::vector<DType> types = symbol.infer_type(known).arguments;
  std::replace(types.begin(), types.end(), DType::unknown, DType::float32);
  return types;
}

void Predictor::bind(const InputShapes& shapes) {
  const Symbol& symbol = model_->symbol();
  const std::vector<std::string> arguments = symbol.list_arguments();
  const std::vector<std::string> states = symbol.list_auxiliary_states();
  InputShapes known;
  for (const auto& [name, shape] : shapes) {
    LOOMIX_CHECK(model_->has_argument(name), ValueError,
                 "[MXPredCreate] input '{}' is no argument of the network.", name);
    if (contains(arguments, name)) known.emplace_back(name, shape);
  }
  const Inferred<Shape> inferred = symbol.infer_shape(known);
  LOOMIX_CHECK(inferred.complete, ShapeError,
               "[MXPredCreate] the shapes of the inputs do not determine all others{}{}.",
               inferred.unresolved.empty() ? "" : "; inference stopped at ",
               inferred.unresolved.empty() ? "" : inferred.unresolved.front());
  const std::vector<DType> types = infer_types(shapes);

  Arrays arrays;
  const auto add_weight = [&](const std::string& name, const Shape& shape) {
    const NDArray* const given = model_->weight(name);
    LOOMIX_CHECK(given, ValueError,
                 "[MXPredCreate] '{}' is neither in param_bytes nor among the inputs; it needs shape {}.",
                 name, shape.to_string());
    LOOMIX_CHECK(given->shape() == shape, ShapeError,
                 "[MXPredCreate] '{}' has shape {} in param_bytes; with these inputs the network needs {}.",
                 name, given->shape().to_string(), shape.to_string());
    arrays.emplace(name, *given);
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    const bool is_input =
        std::any_of(known.begin(), known.end(), [&](const auto& item) { return item.first == name; });
    // Labels have no part in prediction; a loss at the end of the network wants arrays for them nevertheless.
    const bool is_label = !model_->weight(name) && name.ends_with("label");
    if (is_input || is_label) {
      NDArray zeros(engine(), inferred.arguments[i], types[i]);
      std::memset(zeros.view().data, 0, static_cast<size_t>(zeros.bytes()));
      arrays.emplace(name, zeros);
      inputs_.emplace(name, std::move(zeros));
    } else {
      add_weight(name, inferred.arguments[i]);
    }
  }
  for (size_t i = 0; i < states.size(); ++i) add_weight(states[i], inferred.auxiliary_states[i]);
  compile(arrays);
}

// The graph's outputs, computed once for all predictors of the model.
std::vector<NDArray> Predictor::constants_of(const Graph& held, std::span<const TensorView> variables) const {
  if (held.outputs.empty()) return {};
  std::string key = dump(held);
  for (const TensorView& view : variables)
    key += fmt::format("{} {}\n", name_of(view.dtype), view.shape.to_string());
  SharedConstants& shared = model_->shared();
  const std::lock_guard lock(shared.mutex);
  auto& values = shared.values[key];
  if (values.empty()) values = run_once(engine(), held, variables);
  return values;
}

// fold_norm -> what follows from weights is computed -> convolutions are closed -> fuse
void Predictor::compile(const Arrays& arrays) {
  std::map<const NodeInfo*, NDArray> computed;
  const auto array_of = [&](const Ref<const NodeInfo>& variable) -> const NDArray& {
    const auto found = computed.find(variable.get());
    return found != computed.end() ? found->second : arrays.at(variable->name);
  };
  const auto views_of = [&](const Graph& graph) {
    std::vector<TensorView> views;
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (graph[id].is_variable()) views.push_back(array_of(graph[id].info).view());
    }
    return views;
  };
  Graph graph = prune(model_->symbol().graph());
  const Inference first = infer_all(graph, views_of(graph));
  settle_shapes(graph, first);
  graph = fold_norm(graph, table(), first);
  mark_constants(graph, [&](const Node& node) { return !inputs_.contains(node.info->name); });
  const HeldApart apart = take_held_apart(graph);
  const std::vector<NDArray> values = constants_of(apart.held, views_of(apart.held));
  for (size_t i = 0; i < values.size(); ++i) computed.emplace(apart.variables[i].get(), values[i]);

  graph =
      close_convolutions(apart.rest, infer_all(apart.rest, views_of(apart.rest)), engine().context().cores);
  graph = fuse(graph, table(), infer_all(graph, views_of(graph)));
  Inference known = infer_all(graph, views_of(graph));
  program_.emplace(engine(), std::move(graph), std::move(known));
  for (int i = 0; i < program_->num_variables(); ++i) {
    const NDArray& array = array_of(program_->variable(i));
    held_.push_back(array);
    program_->set(i, array.view());
    if (!inputs_.contains(program_->variable(i)->name)) program_->pack(i, model_->shared());
  }
  program_->plan();
  for (size_t i = 0; i < model_->symbol().outputs().size(); ++i) {
    std::vector<uint32_t>& sizes = output_shapes_.emplace_back();
    const Shape& shape = program_->output(static_cast<int>(i)).shape;
    for (const int64_t size : shape) {
      LOOMIX_CHECK(size <= std::numeric_limits<uint32_t>::max(), ShapeError,
                   "[MXPredCreate] an output has shape {}; sizes of up to 4294967295 can be told.",
                   shape.to_string());
      sizes.push_back(static_cast<uint32_t>(size));
    }
  }
}

void Predictor::set_input(std::string_view name, const void* data, size_t size) {
  const std::lock_guard lock(mutex_);
  const auto found = inputs_.find(name);
  if (found == inputs_.end()) {
    std::string names;
    for (const auto& [known, array] : inputs_) names += (names.empty() ? "" : ", ") + known;
    detail::throw_error<ValueError>("[MXPredSetInput] '{}' is no input; inputs are {}.", name, names);
  }
  const NDArray& input = found->second;
  LOOMIX_CHECK(static_cast<int64_t>(size) == input.size(), ShapeError,
               "[MXPredSetInput] got {} elements for '{}' of shape {}; expected {}.", size, name,
               input.shape().to_string(), input.size());
  LOOMIX_CHECK(data || size == 0, ValueError, "[MXPredSetInput] data is null.");
  const auto given =
      std::find_if(types_.begin(), types_.end(), [&](const auto& item) { return item.first == name; });
  convert_elements(data, given == types_.end() ? input.dtype() : given->second, input.view().data,
                   input.dtype(), input.size());
}

void Predictor::forward() {
  const std::lock_guard lock(mutex_);
  ran_ = false;
  program_->run();
  ran_ = true;
}

const TensorView& Predictor::output(size_t index) const {
  LOOMIX_CHECK(index < output_shapes_.size(), IndexError, "[MXPredGetOutput] output {} of {} is asked for.",
               index, output_shapes_.size());
  return program_->output(static_cast<int>(index));
}

void Predictor::copy_output(size_t index, void* data, size_t size) {
  const std::lock_guard lock(mutex_);
  const TensorView& array = output(index);
  LOOMIX_CHECK(ran_, StateError, "[MXPredGetOutput] no MXPredForward has succeeded yet.");
  LOOMIX_CHECK(static_cast<int64_t>(size) == array.size(), ShapeError,
               "[MXPredGetOutput] got room for {} elements; output {} has shape {}, which are {}.", size,
               index, array.shape.to_string(), array.size());
  LOOMIX_CHECK(data || size == 0, ValueError, "[MXPredGetOutput] data is null.");
  if (size > 0) std::memcpy(data, array.data, static_cast<size_t>(array.bytes()));
}

std::span<const uint32_t> Predictor::output_shape(size_t index) const {
  output(index);
  return output_shapes_[index];
}

DType Predictor::output_type(size_t index) const { return output(index).dtype; }

}  // namespace loomix::c
