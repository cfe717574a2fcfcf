// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/operator/trace.h"

#include <algorithm>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "base/error.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/operator/precision.h"
#include "bindings/python/core/process/runtime.h"
#include "bindings/python/core/symbol/symbol_compose.h"
#include "bindings/python/core/symbol/symbol_object.h"
#include "ops/shape_rule.h"
#include "ops/table.h"
#include "symbol/autograd/tape.h"
#include "symbol/symbol_precision.h"

namespace loomix::python {

int num_traces = 0;

namespace {

namespace py = pybind11;

struct TraceHandle {
  std::shared_ptr<Trace> trace;
};

thread_local std::shared_ptr<Trace> active;

// A node of one input without a name that anybody would look for.
SymbolOutput node_on(const char* op_name, const TextPairs& attrs, SymbolOutput input) {
  const ops::OpDef& op = operators().at(op_name);
  auto node = make_ref<SymbolNode>();
  node->op = &op;
  node->dict.insert(attrs.begin(), attrs.end());
  node->attrs = operators().parse(op, attrs);
  node->name = final_name(nullptr, op.name);
  node->inputs.push_back(std::move(input));
  return {std::move(node), 0};
}

SymbolOutput reshaped(SymbolOutput input, const Shape& shape) {
  std::string sizes = "(";
  for (const int64_t size : shape) sizes += std::to_string(size) + ",";
  return node_on("_np_reshape", {{"newshape", sizes + ")"}}, std::move(input));
}

}  // namespace

Trace* find_active_trace() noexcept { return active.get(); }

void check_readable(const NDArray& array, const char* who) {
  const Trace* const trace = active_trace();
  LOOMIX_CHECK(
      !trace || !trace->depends_on_inputs(array), StateError,
      "[{}] the forward of a hybridized block reads the values of an array that depends on its inputs or "
      "parameters. What it computes is recorded once and must not depend on them: use np.where, a mask, or "
      "control flow of npx; or call hybridize(False).",
      who);
}

Trace::Trace() : recording_(autograd::is_recording()), training_(autograd::is_training()) {}

void Trace::know(const NDArray& array, SymbolOutput output, bool constant) {
  places_[&array.storage()].push_back(
      {array.detach(), array.storage().version(), std::move(output), constant});
}

void Trace::bind(const NDArray& array, const Symbol& variable) { know(array, variable.outputs()[0]); }

bool Trace::depends_on_inputs(const NDArray& array) const {
  if (array.is_none()) return false;
  const auto place = places_.find(&array.storage());
  return place != places_.end() && std::any_of(place->second.begin(), place->second.end(),
                                               [](const Known& known) { return !known.constant; });
}

std::vector<NDArray> Trace::arrays() const {
  std::vector<NDArray> found;
  for (const auto& [storage, place] : places_) {
    for (const Known& known : place) found.push_back(known.array);
  }
  return found;
}

SymbolOutput Trace::find(const NDArray& array) {
  const auto place = places_.find(&array.storage());
  const bool known_place = place != places_.end();
  if (known_place && array.shape_is_known() && array.is_dense()) {
    const auto is_current = [&](const Known& known) {
      return known.version == array.storage().version() && known.array.dtype() == array.dtype();
    };
    for (auto known = place->second.rbegin(); known != place->second.rend(); ++known) {
      if (is_current(*known) && known->array.offset() == array.offset() &&
          known->array.shape() == array.shape())
        return known->output;
    }
    for (auto known = place->second.rbegin(); known != place->second.rend(); ++known) {
      if (!is_current(*known)) continue;
      const NDArray& whole = known->array;
      const int64_t skipped = array.offset() - whole.offset();
      if (skipped < 0 || skipped + array.bytes() > whole.bytes()) continue;
      SymbolOutput part = known->output;
      if (array.bytes() != whole.bytes()) {
        const auto size = static_cast<int64_t>(size_of(array.dtype()));
        part = node_on("slice_axis",
                       {{"axis", "0"},
                        {"begin", std::to_string(skipped / size)},
                        {"end", std::to_string(skipped / size + array.size())}},
                       reshaped(std::move(part), Shape{whole.size()}));
      }
      return reshaped(std::move(part), array.shape());
    }
  } else if (known_place) {
    for (const Known& known : place->second) {
      if (known.version == array.storage().version()) return known.output;
    }
  }
  LOOMIX_CHECK(
      !depends_on_inputs(array), StateError,
      "[hybridize] forward reads an array of shape {} that was changed in place, in part or by what is no "
      "operator, since it was computed; such writes cannot be compiled. Make a new array instead.",
      array.shape().to_string());
  std::string name = final_name(nullptr, "constant");
  const Symbol variable = Symbol::variable(name);
  constants_.emplace_back(std::move(name), array);
  know(array, variable.outputs()[0], true);
  return variable.outputs()[0];
}

std::vector<SymbolOutput> Trace::before(const ops::OpDef& op, std::span<const NDArray* const> in,
                                        std::span<NDArray* const> out) {
  LOOMIX_CHECK(!op.no_symbol, StateError, "[{}] a block that calls this operator cannot be hybridized.",
               op.name);
  LOOMIX_CHECK(
      !op.training_matters || autograd::is_training() == training_, StateError,
      "[{}] forward of a hybridized block changes between training and prediction; the whole block is "
      "compiled for one of them.",
      op.name);
  std::vector<SymbolOutput> inputs;
  for (const NDArray* array : in) inputs.push_back(find(*array));
  for (const NDArray* target : out) {
    const auto place = places_.find(&target->storage());
    const bool made_here =
        place == places_.end()
            ? target->storage().version() == 0
            : std::none_of(place->second.begin(), place->second.end(),
                           [](const Known& known) { return known.output.node->is_variable(); });
    LOOMIX_CHECK(
        made_here, StateError,
        "[{}] forward of a hybridized block writes in place to an array that it did not make (an input, a "
        "parameter, or one from outside); expected a new array.",
        op.name);
    LOOMIX_CHECK(
        target->covers_storage(), StateError,
        "[{}] forward of a hybridized block writes to a view of a part of an array; expected x[...] = value "
        "of the array itself, or a new array.",
        op.name);
  }
  numpy_shapes_ = numpy_shapes_ || ops::numpy_shapes();
  return inputs;
}

void Trace::after(const ops::OpDef& op, const Ref<const AttrsBase>& attrs, std::span<const NDArray* const> in,
                  std::vector<SymbolOutput> inputs, std::span<const NDArray* const> out, PyObject* name) {
  for (size_t i = 0; i < in.size(); ++i) {
    if (op.mutates(*attrs, static_cast<int>(i))) know(*in[i], inputs[i]);  // its new version
  }
  auto node = make_ref<SymbolNode>();
  node->op = &op;
  node->attrs = attrs;
  node->dict.insert(attrs->given().begin(), attrs->given().end());
  node->name = final_name(name, op.name);
  node->inputs = std::move(inputs);
  if (const auto rules = active_precision()) cast_inputs(*node, operators(), *rules);
  for (size_t i = 0; i < out.size(); ++i) {
    SymbolOutput output{node, static_cast<int>(i)};
    // Under autograd.pause() nothing gets a gradient.
    if (recording_ && !autograd::is_recording() && is_floating(out[i]->dtype()))
      output = node_on("BlockGrad", {}, std::move(output));
    know(*out[i], std::move(output));
  }
}

void Trace::splice(const Symbol& graph, const std::vector<std::pair<std::string, NDArray>>& inputs,
                   const std::vector<NDArray>& outputs) {
  std::vector<NamedSymbol> named;
  for (const auto& [name, array] : inputs) named.push_back({name, Symbol({find(array)})});
  const Symbol composed = graph.compose(named);
  for (size_t i = 0; i < outputs.size(); ++i) know(outputs[i], composed.outputs()[i]);
  numpy_shapes_ = numpy_shapes_ || ops::numpy_shapes();
}

void add_trace(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  const auto array = [](const py::handle& object) { return to_array(object.ptr(), "Trace", "an array"); };
  py::class_<TraceHandle>(m, "Trace")
      .def(py::init([] { return TraceHandle{std::make_shared<Trace>()}; }))
      .def("bind", [array](const TraceHandle& handle, const py::object& object,
                           const Symbol& variable) { handle.trace->bind(array(object), variable); })
      .def("group",
           [array](const TraceHandle& handle, const py::list& arrays) {
             std::vector<SymbolOutput> outputs;
             for (const py::handle object : arrays) outputs.push_back(handle.trace->find(array(object)));
             return Symbol(std::move(outputs));
           })
      .def("constants",
           [](const TraceHandle& handle) {
             py::dict found;
             for (const auto& [name, constant] : handle.trace->constants())
               found[py::str(name)] = py::reinterpret_steal<py::object>(wrap(constant));
             return found;
           })
      .def("forget_errors",
           [](const TraceHandle& handle) {
             const std::vector<NDArray> arrays = handle.trace->arrays();
             const py::gil_scoped_release release;
             for (const NDArray& each : arrays) {
               try {
                 each.wait_to_read();
               } catch (const std::exception&) {  // has been seen now, so no wait_all() throws it
               }
             }
           })
      .def("splice",
           [array](const TraceHandle& handle, const Symbol& graph, const py::dict& inputs,
                   const py::list& outputs) {
             std::vector<std::pair<std::string, NDArray>> named;
             for (const auto& [name, object] : inputs)
               named.emplace_back(name.cast<std::string>(), array(object));
             std::vector<NDArray> made;
             for (const py::handle object : outputs) made.push_back(array(object));
             handle.trace->splice(graph, named, made);
           })
      .def_property_readonly("numpy_shapes",
                             [](const TraceHandle& handle) { return handle.trace->numpy_shapes(); });
  m.def("active_trace",
        []() -> py::object { return active_trace() ? py::cast(TraceHandle{active}) : py::none(); });
  // Makes a trace, or none, that of this thread; returns the one before.
  m.def("exchange_trace", [](const py::object& next) -> py::object {
    py::object before = active ? py::cast(TraceHandle{active}) : py::none();
    num_traces -= active != nullptr;
    active = next.is_none() ? nullptr : next.cast<TraceHandle&>().trace;
    num_traces += active != nullptr;
    return before;
  });
}

}  // namespace loomix::python
