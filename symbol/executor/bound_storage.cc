// SPDX-License-Identifier: Apache-2.0
// How the values of a bound graph are stored: arrays say it of variables and gradients, kernels of all others.
#include <algorithm>

#include "engine/device/device_runtime.h"
#include "symbol/executor/bound_executor.h"
#include "symbol/executor/storage_choice.h"
#include "symbol/passes/storage.h"

namespace loomix {

namespace {

bool is_sparse(StorageType stype) { return stype == StorageType::row_sparse || stype == StorageType::csr; }

// Whether any value may be sparse: an array is, or a node makes one of dense ones.
bool may_be_sparse(const Graph& graph, std::span<const StorageType> variables,
                   std::span<const StorageType> wanted) {
  if (std::any_of(variables.begin(), variables.end(), is_sparse)) return true;
  if (std::any_of(wanted.begin(), wanted.end(), is_sparse)) return true;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].op && makes_sparse(*graph[id].op)) return true;
  }
  return false;
}

}  // namespace

std::vector<StorageType> BoundExecutor::store(Placement& placed, const Constants& constants,
                                              std::vector<StorageType> wanted) const {
  const Graph& graph = placed.graph;
  StorageRequest request;
  request.variables.assign(static_cast<size_t>(graph.size()), StorageType::dense);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const NDArray* const array = graph[id].is_variable() ? array_of(graph, id) : nullptr;
    if (array) request.variables[static_cast<size_t>(id)] = array->stype();
  }
  if (!may_be_sparse(graph, request.variables, wanted)) return {};
  request.outputs = std::move(wanted);
  const Inference known = infer(graph, constants);
  const ValueIndex index(graph);
  std::vector<TensorView> views;
  std::vector<ops::Req> req;
  request.rule = [&](NodeId id, std::span<StorageType> stypes) {
    const Node& node = graph[id];
    const auto inputs = graph.inputs(id);
    const auto in = stypes.first(inputs.size());
    const auto out = stypes.subspan(inputs.size());
    const bool dense = std::none_of(in.begin(), in.end(), is_sparse);
    const auto give_up = [&] {
      if (!dense) explain_fallback(runtime_, *node.op, in);
      std::fill(out.begin(), out.end(), StorageType::dense);
      return dense;
    };
    if ((dense && !makes_sparse(*node.op)) || node.num_saved > 0 || !node.op->has_sparse_kernels())
      return give_up();
    const auto view = [&](int value) {
      return TensorView{nullptr, known.dtypes[value], known.shapes[value]};
    };
    views.clear();
    for (const ValueRef& input : inputs) views.push_back(view(index[input]));
    for (int i = 0; i < node.num_outputs; ++i) views.push_back(view(index(id, i)));
    req.assign(static_cast<size_t>(node.num_outputs), ops::Req::write);
    const std::span<const TensorView> all(views);
    const ops::KernelSpec spec{all.first(inputs.size()), all.subspan(inputs.size()), req};
    if (choose_by_storage(runtime_, *node.op, node.attrs, spec, stypes, placed.devices[id]).kernel)
      return true;
    return give_up();
  };
  Stored stored = assign_storage(placed, runtime_.table(), request);
  placed.graph = std::move(stored.graph);
  placed.devices = std::move(stored.devices);
  return std::move(stored.stypes);
}

std::vector<StorageType> BoundExecutor::wanted_storage(const Graph& graph) const {
  std::vector<StorageType> wanted;
  for (const NDArray& output : outputs_) wanted.push_back(output.stype());
  for (size_t i = 0; i < arrays_.requests.size() && wanted.size() < graph.outputs.size(); ++i) {
    if (arrays_.requests[i] != ops::Req::null) wanted.push_back(arrays_.gradients[i].stype());
  }
  return wanted;
}

std::vector<StorageType> BoundExecutor::gradient_storage(Runtime& runtime, const Symbol& symbol,
                                                         Device device, BoundArrays arrays,
                                                         BindOptions options) {
  std::vector<StorageType> result(arrays.arguments.size(), StorageType::dense);
  for (size_t i = 0; i < arrays.arguments.size(); ++i) {  // of a gradient only the shape counts
    const NDArray& argument = arrays.arguments[i];
    if (arrays.requests[i] == ops::Req::null || argument.shape().ndim() == 0) {
      arrays.requests[i] = ops::Req::null;
      continue;
    }
    arrays.requests[i] = ops::Req::write;
    arrays.gradients[i] =
        runtime.engine().device(argument.device()).traits().sparse_arrays
            ? NDArray::sparse(runtime.engine(), StorageType::row_sparse, argument.shape(), argument.dtype(),
                              argument.device())
            : NDArray(runtime.engine(), argument.shape(), argument.dtype(), argument.device());
  }
  options.plan.memory_budget = 0;  // nothing is run
  const Ref<BoundExecutor> executor = bind(runtime, symbol, device, std::move(arrays), std::move(options));
  if (executor->is_dynamic() || !executor->wants_gradients()) return result;
  Placement placed{executor->training_graph(), {}};
  placed.devices = assign_devices(placed.graph, executor->place_request(placed.graph, {}));
  const std::vector<StorageType> stypes = executor->store(
      placed, {}, std::vector<StorageType>(placed.graph.outputs.size(), StorageType::undefined));
  if (stypes.empty()) return result;
  const ValueIndex index(placed.graph);
  size_t output = executor->outputs_.size();
  for (size_t i = 0; i < result.size(); ++i) {
    if (executor->arrays_.requests[i] == ops::Req::null) continue;
    const StorageType stype = stypes[static_cast<size_t>(index[placed.graph.outputs[output++]])];
    if (stype == StorageType::row_sparse) result[i] = stype;  // as in MXNet, no gradient is csr
  }
  return result;
}

}  // namespace loomix
