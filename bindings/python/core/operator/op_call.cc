// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/operator/op_call.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/errors.h"

namespace loomix::python {
namespace {

PyObject* intern(const std::string& text) { return checked(PyUnicode_InternFromString(text.c_str())); }

// Names in calls are interned as a rule, so comparing pointers finds them; others are compared as text.
int find_name(const std::vector<PyObject*>& names, PyObject* name) {
  const auto same = std::find(names.begin(), names.end(), name);
  if (same != names.end()) return static_cast<int>(same - names.begin());
  for (size_t i = 0; i < names.size(); ++i) {
    if (PyUnicode_Compare(names[i], name) == 0) return static_cast<int>(i);
  }
  return -1;
}

bool is_name(PyObject* name, PyObject* wanted) {
  return name == wanted || PyUnicode_Compare(name, wanted) == 0;
}

[[noreturn]] void fail_doubled(const OpSignature& signature, PyObject* name) {
  detail::throw_error<TypeError>("[{}] got two values for argument '{}'.", signature.op.name, to_text(name));
}

}  // namespace

OpSignature::OpSignature(const ops::OpDef& definition)
    : op(definition), cache(cache_of(definition)), variadic(definition.is_variadic()) {
  for (const auto& input : op.inputs) input_names.push_back(intern(input.name));
  for (const auto& field : op.params->fields()) {
    if (field.name == "ctx") context_field = static_cast<int>(field_names.size());
    field_names.push_back(intern(field.name));
  }
}

const OpSignature& signature_of(const ops::OpDef& op) {
  static auto& signatures = *new std::unordered_map<const ops::OpDef*, std::unique_ptr<OpSignature>>();
  auto& signature = signatures[&op];
  if (!signature) signature = std::make_unique<OpSignature>(op);
  return *signature;
}

OpCall sort_arguments(const OpSignature& signature, PyObject* const* args, Py_ssize_t count,
                      PyObject* kwnames) {
  static PyObject* const out_name = PyUnicode_InternFromString("out");
  static PyObject* const name_name = PyUnicode_InternFromString("name");
  static PyObject* const attr_name = PyUnicode_InternFromString("attr");
  static PyObject* const left_out = package_attribute("base", "_Null");  // MXNet's default of every parameter
  const auto num_inputs = static_cast<Py_ssize_t>(signature.input_names.size());
  const auto num_fields = static_cast<Py_ssize_t>(signature.field_names.size());

  OpCall call;
  const bool one_list = signature.variadic && count == 1 && (PyList_Check(args[0]) || PyTuple_Check(args[0]));
  if (one_list) {
    call.listed = Owned(checked(PySequence_Tuple(args[0])));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(call.listed.get()); ++i)
      call.inputs.push_back(PyTuple_GET_ITEM(call.listed.get(), i));
  } else if (signature.variadic) {
    for (Py_ssize_t i = 0; i < count; ++i) call.inputs.push_back(args[i]);
  } else {
    // MXNet's generated functions end in out and name, after the parameters.
    if (count > num_inputs + num_fields + 2) {
      detail::throw_error<TypeError>("[{}] takes at most {} positional arguments but got {}.",
                                     signature.op.name, num_inputs + num_fields + 2, count);
    }
    for (Py_ssize_t i = 0; i < num_inputs; ++i) {
      call.inputs.push_back(i < count && args[i] != Py_None ? args[i] : nullptr);
    }
    for (Py_ssize_t i = num_inputs; i < count; ++i) {
      const Py_ssize_t field = i - num_inputs;
      if (field < num_fields) {
        if (args[i] != left_out) call.attrs.push_back({static_cast<int>(field), args[i]});
      } else {
        (field == num_fields ? call.out : call.name) = args[i];
      }
    }
  }
  const Py_ssize_t num_keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  const Py_ssize_t positional_attrs = signature.variadic ? 0 : count - num_inputs;
  for (Py_ssize_t i = 0; i < num_keywords; ++i) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, i);
    PyObject* value = args[count + i];
    if (const int field = find_name(signature.field_names, name); field >= 0) {
      if (field < positional_attrs) fail_doubled(signature, name);
      if (value != left_out) call.attrs.push_back({field, value});
    } else if (const int input = signature.variadic ? -1 : find_name(signature.input_names, name);
               input >= 0) {
      if (call.inputs[input]) fail_doubled(signature, name);
      call.inputs[input] = value == Py_None ? nullptr : value;
    } else if (is_name(name, out_name)) {
      call.out = value;
    } else if (is_name(name, name_name)) {
      call.name = value;
    } else if (is_name(name, attr_name)) {
      call.attr = value;
    } else {
      call.others.emplace_back(name, value);
    }
  }
  if (call.out == Py_None) call.out = nullptr;
  if (call.name == Py_None) call.name = nullptr;
  if (call.attr == Py_None) call.attr = nullptr;
  return call;
}

}  // namespace loomix::python
