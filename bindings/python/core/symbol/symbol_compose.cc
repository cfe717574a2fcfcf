// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/symbol/symbol_compose.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/error.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/operator/precision.h"
#include "bindings/python/core/process/runtime.h"
#include "bindings/python/core/symbol/symbol_object.h"
#include "ops/table.h"
#include "symbol/symbol_precision.h"

namespace loomix::python {
namespace {

// The attributes given to the call, and below them those of the thread's AttrScope.
TextPairs scope_attrs(PyObject* attr, const char* who) {
  LOOMIX_CHECK(!attr || PyDict_Check(attr), TypeError, "[{}] attr is of type {}; expected a dict of strings.",
               who, type_name(attr));
  const Owned scope(checked(PyObject_CallNoArgs(package_attribute("attribute", "current"))));
  const Owned merged(checked(PyObject_CallMethod(scope.get(), "get", "O", attr ? attr : Py_None)));
  return to_text_pairs(merged.get(), who);
}

// A symbol of NumPy's interface among the inputs makes the result one.
PyTypeObject* result_class(const OpCall& call) {
  PyTypeObject* const type = numpy_symbol_class();
  if (!type) return nullptr;
  const auto is_numpy = [&](PyObject* object) { return object && PyObject_TypeCheck(object, type); };
  for (PyObject* input : call.inputs) {
    if (is_numpy(input)) return type;
  }
  for (const auto& [name, value] : call.others) {
    if (is_numpy(value)) return type;
  }
  return nullptr;
}

Symbol to_symbol(PyObject* object, const OpSignature& signature, const std::string& input) {
  LOOMIX_CHECK(is_symbol(object), TypeError, "[{}] input {} is of type {}; expected a Symbol.",
               signature.op.name, input, type_name(object));
  return symbol_of(object);
}

}  // namespace

std::string final_name(PyObject* name, const std::string& hint) {
  std::string lower = hint;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const Owned manager(checked(PyObject_CallNoArgs(package_attribute("name", "current"))));
  const Owned result(
      checked(PyObject_CallMethod(manager.get(), "get", "Os", name ? name : Py_None, lower.c_str())));
  return to_text(result.get());
}

PyObject* compose_symbol(const OpSignature& signature, PyObject* hint, const OpCall& call) {
  const ops::OpDef& op = signature.op;
  TextPairs attrs;
  bool counted = false;
  for (const GivenAttr& attr : call.attrs) {
    const FieldInfo& field = op.params->fields()[attr.field];
    const std::string& name = field.name;
    if (attr.value == Py_None && (name == "dtype" || name == "ctx")) continue;
    counted = counted || name == op.variadic_count;
    attrs.emplace_back(name, attr_text(attr.value, field.kind));
  }
  std::vector<NamedSymbol> inputs;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.inputs[i]) continue;
    const std::string name = signature.variadic ? std::string() : op.inputs[i].name;
    inputs.push_back({name, to_symbol(call.inputs[i], signature, name.empty() ? std::to_string(i) : name)});
  }
  for (const auto& [name, value] : call.others) {
    if (is_symbol(value)) {
      LOOMIX_CHECK(signature.variadic, TypeError, "[{}] has no input called '{}'.", op.name, to_text(name));
      inputs.push_back({to_text(name), symbol_of(value)});
    } else {
      attrs.emplace_back(to_text(name), attr_text(value));
    }
  }
  if (signature.variadic && !counted && op.params->find(op.variadic_count)) {
    attrs.emplace_back(op.variadic_count, std::to_string(inputs.size()));
  }
  for (auto& [key, value] : scope_attrs(call.attr, op.name.c_str())) {
    const bool given =
        std::any_of(attrs.begin(), attrs.end(), [&](const auto& attr) { return attr.first == key; });
    if (!given) attrs.emplace_back(std::move(key), std::move(value));
  }
  Symbol symbol = Symbol::create(operators(), op.name, attrs, inputs, final_name(call.name, to_text(hint)));
  if (const auto rules = active_precision()) cast_inputs(*symbol.outputs()[0].node, operators(), *rules);
  return wrap(std::move(symbol), result_class(call));
}

}  // namespace loomix::python
