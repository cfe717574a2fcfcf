// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/predictor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "bindings/c/process.h"
#include "ndarray/array_file.h"
#include "ndarray/copy.h"
#include "symbol/executor/from_settings.h"

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

}  // namespace

Model::Model(std::string_view json, std::span<const std::byte> params, std::span<const std::string> outputs) {
  const Symbol whole = Symbol::from_json(runtime().table(), json);
  arguments_ = whole.list_arguments();
  symbol_ = outputs_of(whole, outputs);
  BoundExecutor::check_can_run(symbol_);
  ArrayList list = load_arrays_from_buffer(runtime().engine(), params, {.borrow = true}, "param_bytes");
  LOOMIX_CHECK(list.names.size() == list.arrays.size(), ValueError,
               "[MXPredCreate] the {} arrays in param_bytes have no names; expected a file of named weights.",
               list.arrays.size());
  for (size_t i = 0; i < list.arrays.size(); ++i) {
    if (!list.arrays[i].is_none()) weights_.insert_or_assign(without_kind(list.names[i]), list.arrays[i]);
  }
}

void Model::settle(BoundExecutor& first) {
  std::map<std::string, NDArray, std::less<>> kept;
  // The array of that name, if it is a borrowed one that `first` was bound to.
  const auto borrowed = [&](const std::string& name, const NDArray& bound) -> NDArray* {
    const auto found = weights_.find(name);
    if (found == weights_.end()) return nullptr;
    NDArray& array = kept[name] = found->second;
    if (!array.is_dense() || array.bytes() < LoadOptions::kLargeBytes) return nullptr;
    if (bound.storage_ref() == array.storage_ref()) return &array;
    array = copy_to(array, array.device());  // an input is bound instead
    array.wait_to_read();
    return nullptr;
  };
  const auto own = [](NDArray& array) {
    const NDArray copy(array.engine(), array.shape(), array.dtype(), array.device());
    std::memcpy(copy.view().data, array.view().data, static_cast<size_t>(array.bytes()));
    return array = copy;
  };
  const std::vector<std::string> arguments = symbol_.list_arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    NDArray* const array = borrowed(arguments[i], first.arrays().arguments[i]);
    if (!array) continue;
    if (first.needs_argument(i)) first.replace_argument(i, own(*array));
    else first.let_go(i), *array = first.arrays().arguments[i];
  }
  const std::vector<std::string> states = symbol_.list_auxiliary_states();
  for (size_t i = 0; i < states.size(); ++i) {
    if (NDArray* const array = borrowed(states[i], first.arrays().auxiliary_states[i]))
      first.replace_auxiliary_state(i, own(*array));
  }
  first.renew_outputs();  // of which some may be weights
  weights_ = std::move(kept);
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
    if (given != types_.end()) known.push_back(*given);
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
  const size_t given = known.size();
  Inferred<Shape> inferred = symbol.infer_shape(known);
  if (!inferred.complete) {  // operators that broadcast a weight do not say what shape it has
    for (const std::string& name : arguments) {
      const NDArray* const weight = model_->weight(name);
      if (weight &&
          std::none_of(known.begin(), known.end(), [&](const auto& item) { return item.first == name; }))
        known.emplace_back(name, weight->shape());
    }
    inferred = symbol.infer_shape(known);
  }
  known.resize(given);
  LOOMIX_CHECK(inferred.complete, ShapeError,
               "[MXPredCreate] the shapes of the inputs do not determine all others{}{}.",
               inferred.unresolved.empty() ? "" : "; inference stopped at ",
               inferred.unresolved.empty() ? "" : inferred.unresolved.front());
  const std::vector<DType> types = infer_types(shapes);

  const auto weight = [&](const std::string& name, const Shape& shape) {
    const NDArray* const given = model_->weight(name);
    LOOMIX_CHECK(given, ValueError,
                 "[MXPredCreate] '{}' is neither in param_bytes nor among the inputs; it needs shape {}.",
                 name, shape.to_string());
    LOOMIX_CHECK(given->shape() == shape, ShapeError,
                 "[MXPredCreate] '{}' has shape {} in param_bytes; with these inputs the network needs {}.",
                 name, given->shape().to_string(), shape.to_string());
    return given->detach();
  };
  BoundArrays arrays;
  std::vector<char> fixed(arguments.size(), false);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    const Shape& shape = inferred.arguments[i];
    const bool is_input =
        std::any_of(known.begin(), known.end(), [&](const auto& item) { return item.first == name; });
    // Labels have no part in prediction; a loss at the end of the network wants arrays for them nevertheless.
    const bool is_label = !model_->weight(name) && name.ends_with("label");
    if (is_input || is_label) {
      const NDArray array = zeros(runtime().engine(), shape, types[i], Device::cpu());
      arrays.arguments.push_back(array);
      inputs_.emplace(name, array);
    } else {
      arrays.arguments.push_back(weight(name, shape));
      fixed[i] = true;
    }
  }
  for (size_t i = 0; i < states.size(); ++i)
    arrays.auxiliary_states.push_back(weight(states[i], inferred.auxiliary_states[i]));
  arrays.gradients.resize(arguments.size());
  arrays.requests.assign(arguments.size(), ops::Req::null);
  executor_ = BoundExecutor::bind(
      runtime(), symbol, Device::cpu(), std::move(arrays),
      {.plan = plan_from_settings(), .groups = {}, .shared = {}, .held = model_->held(), .fixed = fixed});
  executor_->prepare();
  for (const NDArray& output : executor_->outputs()) {
    std::vector<uint32_t>& sizes = output_shapes_.emplace_back();
    for (const int64_t size : output.shape()) {
      LOOMIX_CHECK(size <= std::numeric_limits<uint32_t>::max(), ShapeError,
                   "[MXPredCreate] an output has shape {}; sizes of up to 4294967295 can be told.",
                   output.shape().to_string());
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
  NDArray& input = found->second;
  LOOMIX_CHECK(static_cast<int64_t>(size) == input.size(), ShapeError,
               "[MXPredSetInput] got {} elements for '{}' of shape {}; expected {}.", size, name,
               input.shape().to_string(), input.size());
  LOOMIX_CHECK(data || size == 0, ValueError, "[MXPredSetInput] data is null.");
  input.copy_from_host(data, input.bytes());
}

void Predictor::forward() {
  const std::lock_guard lock(mutex_);
  ran_ = false;
  // Nothing may be in flight when the program exits: libraries destroy then what their kernels use.
  for (const NDArray& output : executor_->forward(RunMode::inference)) output.wait_to_read();
  ran_ = true;
}

const NDArray& Predictor::output(size_t index) const {
  const auto outputs = executor_->outputs();
  LOOMIX_CHECK(index < outputs.size(), IndexError, "[MXPredGetOutput] output {} of {} is asked for.", index,
               outputs.size());
  return outputs[index];
}

void Predictor::copy_output(size_t index, void* data, size_t size) {
  const std::lock_guard lock(mutex_);
  const NDArray& array = output(index);
  LOOMIX_CHECK(ran_, StateError, "[MXPredGetOutput] no MXPredForward has succeeded yet.");
  LOOMIX_CHECK(static_cast<int64_t>(size) == array.size(), ShapeError,
               "[MXPredGetOutput] got room for {} elements; output {} has shape {}, which are {}.", size,
               index, array.shape().to_string(), array.size());
  LOOMIX_CHECK(data || size == 0, ValueError, "[MXPredGetOutput] data is null.");
  array.copy_to_host(data, array.bytes());
}

std::span<const uint32_t> Predictor::output_shape(size_t index) const {
  output(index);
  return output_shapes_[index];
}

DType Predictor::output_type(size_t index) const { return output(index).dtype(); }

}  // namespace loomix::c
