// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "ndarray/array_origin.h"
#include "ndarray/copy.h"
#include "symbol/executor/bound_executor.h"

namespace loomix {
namespace {

// Types of all inputs; what nothing decides becomes float32, one variable after the other.
Inferred<DType> infer_all_types(const Symbol& symbol, std::vector<std::pair<std::string, DType>> known) {
  const auto arguments = symbol.list_arguments();
  const auto states = symbol.list_auxiliary_states();
  for (;;) {
    auto inferred = symbol.infer_type(known);
    const auto find = [&](const std::vector<DType>& types, const std::vector<std::string>& names) {
      const auto at = std::find(types.begin(), types.end(), DType::unknown) - types.begin();
      if (at == static_cast<ptrdiff_t>(types.size())) return false;
      known.emplace_back(names[at], DType::float32);
      return true;
    };
    if (!find(inferred.arguments, arguments) && !find(inferred.auxiliary_states, states)) return inferred;
  }
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

}  // namespace

BoundExecutor::VariableDevices BoundExecutor::variable_devices(const Symbol& symbol, Device device,
                                                               const std::map<std::string, Device>& groups) {
  const Graph graph = symbol.graph();
  const auto devices = assign_devices(graph, {device, groups});
  const auto mutated = mutated_variables(graph);
  VariableDevices result;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].is_variable())
      (mutated[id] ? result.auxiliary_states : result.arguments).push_back(devices[id]);
  }
  return result;
}

Ref<BoundExecutor> BoundExecutor::simple_bind(Runtime& runtime, const Symbol& symbol, Device device,
                                              const SimpleBindRequest& request, BindOptions options) {
  check_can_run(symbol);
  const ShapeRule rule = shape_rule();
  const auto shapes = symbol.infer_shape(request.shapes, rule);
  const auto dtypes = infer_all_types(symbol, request.dtypes);
  const auto arguments = symbol.list_arguments();
  const auto states = symbol.list_auxiliary_states();
  LOOMIX_CHECK(request.requests.size() == arguments.size(), ValueError,
               "[Symbol.simple_bind] got {} gradient requests; the symbol has {} arguments.",
               request.requests.size(), arguments.size());
  std::vector<std::string> unknown;
  const auto collect = [&](const std::vector<Shape>& found, const std::vector<std::string>& names) {
    for (size_t i = 0; i < names.size(); ++i) {
      const bool known = rule == ShapeRule::numpy
                             ? found[i].is_known()
                             : found[i].ndim() > 0 && std::all_of(found[i].begin(), found[i].end(),
                                                                  [](auto d) { return d > 0; });
      if (!known) unknown.push_back(fmt::format("{}: {}", names[i], found[i].to_string()));
    }
  };
  collect(shapes.arguments, arguments);
  collect(shapes.auxiliary_states, states);
  LOOMIX_CHECK(unknown.empty(), ShapeError,
               "[Symbol.simple_bind] these shapes do not follow from those given ({} is unknown): {}.",
               rule == ShapeRule::numpy ? -1 : 0, join(unknown));

  const BoundExecutor* shared = options.shared.get();
  const auto shared_names = shared ? shared->symbol_.list_arguments() : std::vector<std::string>();
  const auto shared_states = shared ? shared->symbol_.list_auxiliary_states() : std::vector<std::string>();
  const auto position = [](const std::vector<std::string>& names, const std::string& name) {
    const auto at = std::find(names.begin(), names.end(), name);
    return at == names.end() ? -1 : static_cast<int>(at - names.begin());
  };
  const auto fits = [](const NDArray& array, const Shape& shape, DType dtype, Device place) {
    return !array.is_none() && array.shape() == shape && array.dtype() == dtype && array.device() == place;
  };
  const auto make = [&](const Shape& shape, DType dtype, Device place,
                        StorageType stype = StorageType::dense) {
    if (options.plan_only && stype == StorageType::dense)
      return array_without_memory(runtime.engine(), shape, dtype, place);
    return stype == StorageType::dense ? zeros(runtime.engine(), shape, dtype, place)
                                       : NDArray::sparse(runtime.engine(), stype, shape, dtype, place);
  };
  const auto stype_of = [&](const std::string& name) {
    const auto at = std::find_if(request.stypes.begin(), request.stypes.end(),
                                 [&](const auto& pair) { return pair.first == name; });
    return at == request.stypes.end() ? StorageType::dense : at->second;
  };
  const VariableDevices devices = variable_devices(symbol, device, options.groups);
  BoundArrays arrays;
  arrays.requests = request.requests;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Shape& shape = shapes.arguments[i];
    const DType dtype = dtypes.arguments[i];
    const ArrayOrigin origin("argument", arguments[i]);
    const Device place = devices.arguments[i];
    const bool wanted = request.requests[i] != ops::Req::null;
    const bool must_share = position(request.shared_arguments, arguments[i]) >= 0;
    const int at = must_share ? position(shared_names, arguments[i]) : -1;
    if (at >= 0) {
      const NDArray& array = shared->arrays_.arguments[at];
      LOOMIX_CHECK(fits(array, shape, dtype, place), ShapeError,
                   "[Symbol.simple_bind] argument '{}' is {} {} on {} in the shared executor; here it must "
                   "be {} {} on {}.",
                   arguments[i], name_of(array.dtype()), array.shape().to_string(),
                   array.device().to_string(), name_of(dtype), shape.to_string(), place.to_string());
      arrays.arguments.push_back(array);
      const NDArray& gradient = shared->arrays_.gradients[at];
      arrays.gradients.push_back(wanted && fits(gradient, shape, dtype, place) ? gradient : NDArray());
      continue;
    }
    arrays.arguments.push_back(make(shape, dtype, place, stype_of(arguments[i])));
    arrays.gradients.emplace_back();
  }
  for (size_t i = 0; i < states.size(); ++i) {
    const Shape& shape = shapes.auxiliary_states[i];
    const DType dtype = dtypes.auxiliary_states[i];
    const ArrayOrigin origin("auxiliary state", states[i]);
    const Device place = devices.auxiliary_states[i];
    const int at = position(shared_states, states[i]);
    const bool share = at >= 0 && fits(shared->arrays_.auxiliary_states[at], shape, dtype, place);
    arrays.auxiliary_states.push_back(share ? shared->arrays_.auxiliary_states[at]
                                            : make(shape, dtype, place));
  }
  const auto stypes = gradient_storage(runtime, symbol, device, arrays, options);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (request.requests[i] == ops::Req::null || !arrays.gradients[i].is_none()) continue;
    const ArrayOrigin origin("gradient", arguments[i]);
    const StorageType stype = request.requests[i] == ops::Req::add ? StorageType::dense : stypes[i];
    arrays.gradients[i] = make(shapes.arguments[i], dtypes.arguments[i], devices.arguments[i], stype);
  }
  return bind(runtime, symbol, device, std::move(arrays), std::move(options));
}

}  // namespace loomix
