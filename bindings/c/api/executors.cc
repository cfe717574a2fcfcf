// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/api/objects.h"
#include "bindings/c/guard.h"
#include "symbol/executor/from_settings.h"

using namespace loomix;     // NOLINT: the functions below are outside of all namespaces
using namespace loomix::c;  // NOLINT

namespace {

LoomixExecutor add_executor(Ref<BoundExecutor> executor) {
  return static_cast<LoomixExecutor>(add_object(std::make_shared<ExecutorObject>(std::move(executor))));
}

// Calls of one executor come one after the other. `work` is a pass, so a monitor may not begin another.
template <class Work>
void run_pass(LoomixExecutor handle, const char* who, Work&& work) {
  const auto object = find<ExecutorObject>(handle);
  const std::lock_guard lock(object->mutex);
  LOOMIX_CHECK(!object->in_pass, StateError, "[{}] was called by a monitor in the middle of a pass.", who);
  struct Pass {
    explicit Pass(bool& flag) : in_pass(flag) { in_pass = true; }
    ~Pass() { in_pass = false; }
    bool& in_pass;
  } pass(object->in_pass);
  work(*object->executor);
}

std::vector<std::pair<std::string, Shape>> to_shapes(size_t count, const char* const* names,
                                                     const LoomixShape* shapes, const char* who) {
  const auto texts = to_names(count, names, who);
  if (count > 0) not_null(shapes, who, "shapes");
  std::vector<std::pair<std::string, Shape>> result;
  for (size_t i = 0; i < count; ++i) result.emplace_back(texts[i], to_shape(&shapes[i], who));
  return result;
}

BindOptions bind_options(LoomixExecutor shared) {
  BindOptions options;
  options.plan = plan_from_settings();
  if (shared) options.shared = find<ExecutorObject>(shared)->executor;
  return options;
}

BoundArrays to_binding(const LoomixBinding& binding, const char* who) {
  BoundArrays arrays;
  arrays.arguments = to_arrays(binding.arguments, binding.argument_arrays, who);
  arrays.gradients.resize(arrays.arguments.size());
  if (binding.gradients) arrays.gradients = to_arrays_or_none(binding.arguments, binding.gradients, who);
  for (size_t i = 0; i < arrays.gradients.size(); ++i) {
    const int request = binding.requests ? binding.requests[i] : LOOMIX_WRITE;
    const ops::Req wanted = to_request(request, who);
    arrays.requests.push_back(arrays.gradients[i].is_none() ? ops::Req::null : wanted);
    if (wanted == ops::Req::null) arrays.gradients[i] = NDArray();
  }
  arrays.auxiliary_states = to_arrays(binding.auxiliary_states, binding.auxiliary_arrays, who);
  return arrays;
}

RunMode mode_of(int training) { return training ? RunMode::training : RunMode::inference; }

std::span<const NDArray> list_of(const BoundExecutor& executor, std::string_view kind) {
  if (kind == "arguments") return executor.arrays().arguments;
  if (kind == "gradients") return executor.arrays().gradients;
  if (kind == "auxiliary_states") return executor.arrays().auxiliary_states;
  if (kind == "outputs") return executor.outputs();
  detail::throw_error<ValueError>(
      "[LoomixExecutorList] kind is '{}'; expected 'arguments', 'gradients', 'auxiliary_states' or "
      "'outputs'.",
      kind);
}

}  // namespace

int LoomixExecutorBind(LoomixSymbol symbol, LoomixDevice device, const LoomixBinding* binding,
                       LoomixExecutor* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixExecutorBind";
    not_null(out, kWho, "out");
    not_null(binding, kWho, "binding");
    const auto object = find<SymbolObject>(symbol);
    *out = add_executor(BoundExecutor::bind(running(), object->symbol, to_device(device, kWho),
                                            to_binding(*binding, kWho), bind_options(binding->shared)));
  });
}

int LoomixExecutorSimpleBind(LoomixSymbol symbol, LoomixDevice device, size_t count, const char* const* names,
                             const LoomixShape* shapes, const int32_t* types, const int32_t* requests,
                             LoomixExecutor* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixExecutorSimpleBind";
    not_null(out, kWho, "out");
    const auto object = find<SymbolObject>(symbol);
    SimpleBindRequest request;
    request.shapes = to_shapes(count, names, shapes, kWho);
    for (size_t i = 0; types && i < count; ++i)
      request.dtypes.emplace_back(request.shapes[i].first, to_dtype(types[i], kWho));
    const size_t arguments = object->symbol.list_arguments().size();
    for (size_t i = 0; i < arguments; ++i)
      request.requests.push_back(to_request(requests ? requests[i] : LOOMIX_WRITE, kWho));
    *out = add_executor(BoundExecutor::simple_bind(running(), object->symbol, to_device(device, kWho),
                                                   request, bind_options(nullptr)));
  });
}

int LoomixExecutorReshape(LoomixExecutor executor, size_t count, const char* const* names,
                          const LoomixShape* shapes, LoomixExecutor* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixExecutorReshape";
    not_null(out, kWho, "out");
    const auto known = to_shapes(count, names, shapes, kWho);
    run_pass(executor, kWho, [&](BoundExecutor& bound) {
      *out = add_executor(bound.reshape(known, {.partial = true, .grow = true}));
    });
  });
}

int LoomixExecutorForward(LoomixExecutor executor, int training) {
  return guarded([&] {
    run_pass(executor, "LoomixExecutorForward",
             [&](BoundExecutor& bound) { bound.forward(mode_of(training)); });
  });
}

int LoomixExecutorBackward(LoomixExecutor executor, size_t count, const LoomixArray* head_gradients) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixExecutorBackward";
    const auto heads = to_arrays(count, head_gradients, kWho);
    run_pass(executor, kWho, [&](BoundExecutor& bound) { bound.backward(heads); });
  });
}

int LoomixExecutorList(LoomixExecutor executor, const char* kind, size_t* count, const LoomixArray** arrays) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixExecutorList";
    not_null(count, kWho, "count");
    not_null(arrays, kWho, "arrays");
    const auto object = find<ExecutorObject>(executor);
    const std::lock_guard lock(object->mutex);
    const auto list = list_of(*object->executor, not_null(kind, kWho, "kind"));
    *arrays = answer_arrays(list);
    *count = list.size();
  });
}

int LoomixExecutorSetMonitor(LoomixExecutor executor, LoomixMonitor monitor, void* context) {
  return guarded([&] {
    run_pass(executor, "LoomixExecutorSetMonitor", [&](BoundExecutor& bound) {
      if (!monitor) return bound.set_monitor({});
      bound.set_monitor(
          {[monitor, context](const std::string& name, const std::string&, const NDArray& array) {
            monitor(name.c_str(), add_array(array), context);
          }});
    });
  });
}

int LoomixExecutorDescribe(LoomixExecutor executor, int training, const char** text) {
  return guarded([&] {
    not_null(text, "LoomixExecutorDescribe", "text");
    run_pass(executor, "LoomixExecutorDescribe",
             [&](BoundExecutor& bound) { answer().text = bound.explain(mode_of(training)); });
    *text = answer().text.c_str();
  });
}
