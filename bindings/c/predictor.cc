// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/predictor.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "symbol/symbol_node.h"

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

// The item of that name; null if there is none.
template <class Value>
const std::pair<std::string, Value>* named(const std::vector<std::pair<std::string, Value>>& items,
                                           const std::string& name) {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.first == name; });
  return found == items.end() ? nullptr : &*found;
}

std::vector<uint32_t> told_sizes(const Shape& shape) {
  std::vector<uint32_t> sizes;
  for (const int64_t size : shape) {
    LOOMIX_CHECK(size <= std::numeric_limits<uint32_t>::max(), ShapeError,
                 "[MXPredCreate] an output has shape {}; sizes of up to 4294967295 can be told.",
                 shape.to_string());
    sizes.push_back(static_cast<uint32_t>(size));
  }
  return sizes;
}

}  // namespace

Model::Model(std::string_view json, std::span<const std::byte> params, std::span<const std::string> outputs) {
  const Symbol whole = Symbol::from_json(table(), json);
  arguments_ = whole.list_arguments();
  symbol_ = outputs_of(whole, outputs);
  check_can_run(symbol_);
  const ArrayList list = read_arrays(params, "param_bytes");
  LOOMIX_CHECK(list.names.size() == list.arrays.size(), ValueError,
               "[MXPredCreate] the {} arrays in param_bytes have no names; expected a file of named weights.",
               list.arrays.size());
  for (size_t i = 0; i < list.arrays.size(); ++i) {
    if (!list.arrays[i].is_none()) weights_.insert_or_assign(without_kind(list.names[i]), list.arrays[i]);
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
    const auto* const given = named(types_, name);
    const NDArray* const weight = model_->weight(name);
    if (given) known.emplace_back(name, computed_type(given->second));
    else if (named(shapes, name)) known.emplace_back(name, DType::float32);
    else if (weight) known.emplace_back(name, weight->dtype());
  }
  std::vector<DType> types = symbol.infer_type(known).arguments;
  std::replace(types.begin(), types.end(), DType::unknown, DType::float32);
  return types;
}

// From the shapes of the inputs; where these do not determine all, from those of the weights, too.
Inferred<Shape> Predictor::infer_shapes(InputShapes known) const {
  const Symbol& symbol = model_->symbol();
  Inferred<Shape> inferred = symbol.infer_shape(known);
  if (!inferred.complete) {  // operators that broadcast a weight do not say what shape it has
    for (const std::string& name : symbol.list_arguments()) {
      const NDArray* const weight = model_->weight(name);
      if (weight && !named(known, name)) known.emplace_back(name, weight->shape());
    }
    inferred = symbol.infer_shape(known);
  }
  LOOMIX_CHECK(inferred.complete, ShapeError,
               "[MXPredCreate] the shapes of the inputs do not determine all others{}{}.",
               inferred.unresolved.empty() ? "" : "; inference stopped at ",
               inferred.unresolved.empty() ? "" : inferred.unresolved.front());
  return inferred;
}

const NDArray& Predictor::weight(const std::string& name, const Shape& shape) const {
  const NDArray* const given = model_->weight(name);
  LOOMIX_CHECK(given, ValueError,
               "[MXPredCreate] '{}' is neither in param_bytes nor among the inputs; it needs shape {}.", name,
               shape.to_string());
  LOOMIX_CHECK(given->shape() == shape, ShapeError,
               "[MXPredCreate] '{}' has shape {} in param_bytes; with these inputs the network needs {}.",
               name, given->shape().to_string(), shape.to_string());
  return *given;
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
  const Inferred<Shape> inferred = infer_shapes(known);
  const std::vector<DType> types = infer_types(shapes);
  NetworkArrays arrays;
  arrays.fixed.resize(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    // Labels have no part in prediction; a loss at the end of the network wants arrays for them nevertheless.
    const bool is_label = !model_->weight(name) && name.ends_with("label");
    if (is_label || named(known, name)) {
      const auto* const given = named(types_, name);
      arrays.arguments.push_back(zeros(inferred.arguments[i], types[i]));
      inputs_.emplace(name, Input{arrays.arguments.back(), given ? given->second : types[i]});
    } else {
      arrays.arguments.push_back(weight(name, inferred.arguments[i]));
      arrays.fixed[i] = true;
    }
  }
  for (size_t i = 0; i < states.size(); ++i)
    arrays.states.push_back(weight(states[i], inferred.auxiliary_states[i]));
  network_.emplace(symbol, arrays, model_->shared());
  for (size_t i = 0; i < network_->num_outputs(); ++i)
    output_shapes_.push_back(told_sizes(network_->output_shape(i)));
}

void Predictor::set_input(std::string_view name, const void* data, size_t size) {
  const std::lock_guard lock(mutex_);
  const auto found = inputs_.find(name);
  if (found == inputs_.end()) {
    std::string names;
    for (const auto& [known, input] : inputs_) names += (names.empty() ? "" : ", ") + known;
    detail::throw_error<ValueError>("[MXPredSetInput] '{}' is no input; inputs are {}.", name, names);
  }
  NDArray& input = found->second.array;
  LOOMIX_CHECK(static_cast<int64_t>(size) == input.size(), ShapeError,
               "[MXPredSetInput] got {} elements for '{}' of shape {}; expected {}.", size, name,
               input.shape().to_string(), input.size());
  LOOMIX_CHECK(data || size == 0, ValueError, "[MXPredSetInput] data is null.");
  write_elements(input, data, found->second.given);
}

void Predictor::forward() {
  const std::lock_guard lock(mutex_);
  ran_ = false;
  network_->run();
  ran_ = true;
}

int Predictor::forward_step(int step) {
  const int last = static_cast<int>(depth_first(model_->symbol().outputs()).size()) - 1;
  if (step == last) forward();
  return std::max(last - step, 0);
}

void Predictor::check_output(size_t index) const {
  LOOMIX_CHECK(index < output_shapes_.size(), IndexError, "[MXPredGetOutput] output {} of {} is asked for.",
               index, output_shapes_.size());
}

void Predictor::copy_output(size_t index, void* data, size_t size) {
  const std::lock_guard lock(mutex_);
  check_output(index);
  LOOMIX_CHECK(ran_, StateError, "[MXPredGetOutput] no MXPredForward has succeeded yet.");
  const Shape& shape = network_->output_shape(index);
  LOOMIX_CHECK(static_cast<int64_t>(size) == shape.size(), ShapeError,
               "[MXPredGetOutput] got room for {} elements; output {} has shape {}, which are {}.", size,
               index, shape.to_string(), shape.size());
  LOOMIX_CHECK(data || size == 0, ValueError, "[MXPredGetOutput] data is null.");
  network_->read_output(index, data);
}

std::span<const uint32_t> Predictor::output_shape(size_t index) const {
  check_output(index);
  return output_shapes_[index];
}

DType Predictor::output_type(size_t index) const {
  check_output(index);
  return network_->output_type(index);
}

}  // namespace loomix::c
