// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/operator/op_function.h"

#include <structmember.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/operator/invoke.h"
#include "bindings/python/core/operator/op_call.h"
#include "bindings/python/core/operator/op_info.h"
#include "bindings/python/core/process/runtime.h"
#include "bindings/python/core/symbol/symbol_compose.h"
#include "bindings/python/core/symbol/symbol_object.h"
#include "ops/shape_rule.h"
#include "ops/table.h"

namespace loomix::python {
namespace {

struct OpFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  const ops::OpDef* op;
  const OpSignature* signature;  // null until the first call
  OpFlavour flavour;
  PyObject* name;
  PyObject* module;
};

PyTypeObject* op_function_type = nullptr;

OpFunction& function_of(PyObject* object) { return *reinterpret_cast<OpFunction*>(object); }

const OpSignature& signature_of(OpFunction& function) {
  if (!function.signature) function.signature = &python::signature_of(*function.op);
  return *function.signature;
}

// The unknown keyword arguments fail in the words of the operator's schema.
[[noreturn]] void fail_unknown(const OpSignature& signature, const OpCall& call) {
  const auto& [name, value] = call.others.front();
  if (is_array(value)) {
    std::string inputs;
    for (const auto& input : signature.op.inputs) inputs += (inputs.empty() ? "" : ", ") + input.name;
    detail::throw_error<TypeError>("[{}] has no input called '{}'; its inputs are: {}.", signature.op.name,
                                   to_text(name), inputs);
  }
  signature.op.params->parse(signature.op.name, TextPairs{{to_text(name), attr_text(value)}});
  detail::throw_error<TypeError>("[{}] has no parameter '{}'.", signature.op.name, to_text(name));
}

// Operators without parameters take any, as in MXNet, where scripts give them `axis` or `dtype`.
void pass_over_unknown(const OpSignature& signature, const OpCall& call) {
  for (const auto& [name, value] : call.others) {
    if (!signature.op.params->fields().empty() || is_array(value)) fail_unknown(signature, call);
  }
  const std::string text = fmt::format("[{}] has no parameters; {} is not used.", signature.op.name,
                                       to_text(call.others.front().first));
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError{};
}

[[noreturn]] void fail_inputs(const OpSignature& signature, const AttrsBase& attrs, const OpCall& call) {
  std::string missing;
  std::string surplus;
  const int expected = signature.op.count_inputs(attrs);
  int named = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const bool wanted = signature.op.has_input ? signature.op.has_input(attrs, static_cast<int>(i))
                                               : static_cast<int>(i) < expected;
    named += wanted;
    if (wanted && !call.inputs[i]) missing += (missing.empty() ? "" : ", ") + signature.op.inputs[i].name;
    if (!wanted && call.inputs[i]) surplus += (surplus.empty() ? "" : ", ") + signature.op.inputs[i].name;
  }
  std::string text =
      fmt::format("[{}] expects {} input{}", signature.op.name, expected, expected == 1 ? "" : "s");
  if (!missing.empty()) text += "; missing: " + missing;
  if (!surplus.empty()) text += "; not used with these parameters: " + surplus;
  throw TypeError(text + ".");
}

void collect_inputs(const OpSignature& signature, const AttrsBase& attrs, const OpCall& call,
                    InlineVector<const NDArray*, 8>& in) {
  const int expected = signature.op.count_inputs(attrs);
  // By place, those that are there come one after the other, as in MXNet.
  const auto absent = std::ranges::find(call.inputs, static_cast<PyObject*>(nullptr));
  const bool by_place = absent - call.inputs.begin() == expected &&
                        std::all_of(absent, call.inputs.end(), [](PyObject* input) { return !input; });
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    PyObject* input = call.inputs[i];
    if (!input) continue;
    if (!is_array(input)) [[unlikely]] {
      const std::string name = signature.variadic ? fmt::format("{} {}", signature.op.inputs[0].name, i)
                                                  : signature.op.inputs[i].name;
      detail::throw_error<TypeError>("[{}] input {} is of type {}; expected an NDArray.", signature.op.name,
                                     name, type_name(input));
    }
    if (!signature.variadic && !by_place) {
      const bool wanted = signature.op.has_input ? signature.op.has_input(attrs, static_cast<int>(i))
                                                 : static_cast<int>(i) < expected;
      if (!wanted) fail_inputs(signature, attrs, call);
    }
    in.push_back(&array_of(input));
  }
  if (static_cast<int>(in.size()) != expected) {
    if (signature.variadic) {
      detail::throw_error<TypeError>("[{}] got {} inputs, but {} says {}.", signature.op.name, in.size(),
                                     signature.op.variadic_count, expected);
    }
    fail_inputs(signature, attrs, call);
  }
}

// An operator whose attributes name its inputs takes any keyword: arrays are inputs, all else is an attribute. Its attributes
// may hold an object of this call's, so they are parsed anew for each.
Ref<const AttrsBase> parse_open(const OpSignature& signature, const OpCall& call) {
  TextPairs texts;
  for (const GivenAttr& attr : call.attrs)
    texts.emplace_back(signature.op.params->fields()[attr.field].name, attr_text(attr.value));
  for (const auto& [name, value] : call.others) {
    if (!is_array(value)) texts.emplace_back(to_text(name), attr_text(value));
  }
  return operators().parse(signature.op, texts);
}

void collect_open_inputs(const OpSignature& signature, const AttrsBase& attrs, const OpCall& call,
                         InlineVector<const NDArray*, 8>& in) {
  const ops::OpDef& op = signature.op;
  const int expected = op.count_inputs(attrs);
  std::string names;
  for (int i = 0; i < expected; ++i) names += (i ? ", " : "") + op.input_name(attrs, i);
  LOOMIX_CHECK(static_cast<int>(call.inputs.size()) <= expected, TypeError,
               "[{}] got {} inputs; expected {}: {}.", op.name, call.inputs.size(), expected, names);
  for (int i = 0; i < expected; ++i) in.push_back(nullptr);
  for (size_t i = 0; i < call.inputs.size(); ++i)
    in[i] = &to_array(call.inputs[i], op.name.c_str(), op.input_name(attrs, static_cast<int>(i)).c_str());
  for (const auto& [keyword, value] : call.others) {
    if (!is_array(value)) continue;
    const std::string name = to_text(keyword);
    int i = 0;
    while (i < expected && op.input_name(attrs, i) != name) ++i;
    LOOMIX_CHECK(i < expected, TypeError, "[{}] has no input called '{}'; its inputs are: {}.", op.name, name,
                 names);
    LOOMIX_CHECK(in[i] == nullptr, TypeError, "[{}] got two values for argument '{}'.", op.name, name);
    in[i] = &array_of(value);
  }
  for (int i = 0; i < expected; ++i) {
    LOOMIX_CHECK(in[i] != nullptr, TypeError, "[{}] input '{}' is missing; expected {}: {}.", op.name,
                 op.input_name(attrs, i), expected, names);
  }
}

// Where an operator without inputs puts its output.
Device device_of_call(const OpSignature& signature, const OpCall& call) {
  for (const GivenAttr& attr : call.attrs) {
    if (attr.field != signature.context_field || attr.value == Py_None) continue;
    if (!PyUnicode_Check(attr.value)) return to_device(attr.value, signature.op.name.c_str());
    const std::string text = to_text(attr.value);
    if (!text.empty()) return Device::parse(text);
  }
  return to_device(nullptr, signature.op.name.c_str());
}

PyObject* call_on_arrays(PyObject* self, PyObject* const* args, size_t flags, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    const OpSignature& signature = signature_of(function_of(self));
    const OpCall call = sort_arguments(signature, args, PyVectorcall_NARGS(flags), kwnames);
    const bool open = signature.op.params->others() != nullptr;
    if (!call.others.empty() && !open) [[unlikely]]
      pass_over_unknown(signature, call);
    const int num_args = signature.variadic ? static_cast<int>(call.inputs.size()) : -1;
    const Ref<const AttrsBase> attrs =
        open ? parse_open(signature, call) : signature.cache.get(call.attrs, num_args);
    InlineVector<const NDArray*, 8> in;
    if (open) collect_open_inputs(signature, *attrs, call, in);
    else collect_inputs(signature, *attrs, call, in);
    if (call.out) {
      InlineVector<NDArray*, 8> out;
      const bool single = is_array(call.out);
      // A tuple of them, for a list may change while the push waits without the GIL.
      const Owned outputs(single ? nullptr : PySequence_Tuple(call.out));
      if (!single && !outputs) {
        PyErr_Clear();
        detail::throw_error<TypeError>("[{}] out is of type {}; expected an NDArray or a list of them.",
                                       signature.op.name, type_name(call.out));
      }
      const Py_ssize_t count = single ? 1 : PyTuple_GET_SIZE(outputs.get());
      for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* target = single ? call.out : PyTuple_GET_ITEM(outputs.get(), i);
        out.push_back(&to_array(target, signature.op.name.c_str(), "out"));
      }
      invoke_into(signature.op, attrs, in, out, call.name);
      return Py_NewRef(call.out);
    }
    if (in.empty()) {
      const bool numpy = function_of(self).flavour == OpFlavour::numpy;
      return invoke(signature.op, attrs, in, device_of_call(signature, call),
                    numpy ? ArrayClass::np : ArrayClass::nd, call.name);
    }
    return invoke_one(signature.op, attrs, in, common_class(call.inputs), call.name);
  });
}

PyObject* call_on_symbols(PyObject* self, PyObject* const* args, size_t flags, PyObject* kwnames) {
  return guarded([&] {
    OpFunction& function = function_of(self);
    const OpSignature& signature = signature_of(function);
    return compose_symbol(signature, function.name,
                          sort_arguments(signature, args, PyVectorcall_NARGS(flags), kwnames));
  });
}

// Sets NumPy's rule of shapes for a call.
class NumpyShapesScope {
 public:
  NumpyShapesScope() : before_(ops::exchange_numpy_shapes(true)) {}
  NumpyShapesScope(const NumpyShapesScope&) = delete;
  NumpyShapesScope& operator=(const NumpyShapesScope&) = delete;
  ~NumpyShapesScope() { ops::exchange_numpy_shapes(before_); }

 private:
  std::optional<bool> before_;
};

PyObject* call_on_either(PyObject* self, PyObject* const* args, size_t flags, PyObject* kwnames) {
  const Py_ssize_t count = PyVectorcall_NARGS(flags) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (is_array(args[i])) break;
    PyObject* first = args[i];
    if ((PyList_Check(first) || PyTuple_Check(first)) && PySequence_Fast_GET_SIZE(first) > 0)
      first = PySequence_Fast_GET_ITEM(first, 0);
    if (!is_scalar(first) && is_symbol(first)) return call_on_symbols(self, args, flags, kwnames);
  }
  const NumpyShapesScope scope;
  PyObject* const answer = call_on_arrays(self, args, flags, kwnames);
  // Those of the module loomix.numpy are operators that its functions call, and an error has their name already.
  if (!answer && PyUnicode_CompareWithASCIIString(function_of(self).module, "loomix.numpy_extension") == 0) {
    const char* const name = PyUnicode_AsUTF8(function_of(self).name);
    name_error(fmt::format("npx.{}", name));
  }
  return answer;
}

void function_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(function_of(self).name);
  Py_XDECREF(function_of(self).module);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* function_bind(PyObject* self, PyObject* instance, PyObject*) {
  return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
}

PyObject* function_repr(PyObject* self) {
  return PyUnicode_FromFormat("<operator %U.%U>", function_of(self).module, function_of(self).name);
}

PyObject* get_name(PyObject* self, void*) { return Py_NewRef(function_of(self).name); }
PyObject* get_module(PyObject* self, void*) { return Py_NewRef(function_of(self).module); }
PyObject* get_doc(PyObject* self, void*) {
  return guarded([&] {
    const Owned info(op_info(*function_of(self).op));
    return checked(PyObject_CallOneArg(package_attribute("_operators", "docstring"), info.get()));
  });
}
PyObject* get_operator(PyObject* self, void*) {
  return PyUnicode_FromString(function_of(self).op->name.c_str());
}
PyObject* get_signature(PyObject* self, void*) {
  return guarded([&] {
    const Owned info(op_info(*function_of(self).op));
    const bool symbol = function_of(self).flavour == OpFlavour::symbol;
    return checked(PyObject_CallFunctionObjArgs(package_attribute("_operators", "signature"), info.get(),
                                                symbol ? Py_True : Py_False, nullptr));
  });
}
PyObject* reduce(PyObject* self, PyObject*) { return Py_NewRef(function_of(self).name); }

PyGetSetDef kProperties[] = {{"__name__", get_name, nullptr, nullptr, nullptr},
                             {"__qualname__", get_name, nullptr, nullptr, nullptr},
                             {"__module__", get_module, nullptr, nullptr, nullptr},
                             {"__doc__", get_doc, nullptr, nullptr, nullptr},
                             {"__signature__", get_signature, nullptr, nullptr, nullptr},
                             {"operator", get_operator, nullptr, "The operator's canonical name.", nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef kMethods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef kMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpFunction, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

// op_function(operator, name, module, flavour), where the last is the number of an OpFlavour
PyObject* make_function(PyObject*, PyObject* args) {
  return guarded([&] {
    const char* op_name = nullptr;
    PyObject* name = nullptr;
    PyObject* module = nullptr;
    int flavour = 0;
    if (!PyArg_ParseTuple(args, "sUUi", &op_name, &name, &module, &flavour)) throw PythonError{};
    const ops::OpDef& op = operators().at(op_name);
    PyObject* self = checked(op_function_type->tp_alloc(op_function_type, 0));
    OpFunction& function = function_of(self);
    static constexpr vectorcallfunc kCalls[] = {call_on_arrays, call_on_symbols, call_on_either};
    LOOMIX_CHECK(flavour >= 0 && flavour < 3, ValueError, "[op_function] flavour {} is none.", flavour);
    function.vectorcall = kCalls[flavour];
    function.op = &op;
    function.flavour = static_cast<OpFlavour>(flavour);
    function.name = Py_NewRef(name);
    PyUnicode_InternInPlace(&function.name);
    function.module = Py_NewRef(module);
    return self;
  });
}

// Every name, aliases included, that Python may see: [(name, operator's canonical name), ...].
PyObject* operator_names(PyObject*, PyObject* symbols) {
  return guarded([&] {
    const bool for_symbols = PyObject_IsTrue(symbols) == 1;
    Owned list(checked(PyList_New(0)));
    const auto add = [&](const std::string& name, const ops::OpDef& op) {
      const Owned pair(checked(Py_BuildValue("(ss)", name.c_str(), op.name.c_str())));
      checked(PyList_Append(list.get(), pair.get()));
    };
    for (const ops::OpDef& op : operators().all()) {
      if (op.hidden || (for_symbols && op.no_symbol)) continue;
      add(op.name, op);
      for (const std::string& alias : op.aliases) add(alias, op);
    }
    return list.release();
  });
}

PyObject* operator_info(PyObject*, PyObject* name) {
  return guarded([&] { return op_info(operators().at(to_text(name))); });
}

PyMethodDef kOperatorFunctions[] = {{"op_function", make_function, METH_VARARGS, nullptr},
                                    {"operator_names", operator_names, METH_O, nullptr},
                                    {"operator_info", operator_info, METH_O, nullptr},
                                    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_op_function_type(PyObject* module) {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(function_bind)},
                                {Py_tp_repr, reinterpret_cast<void*>(function_repr)},
                                {Py_tp_getset, kProperties},
                                {Py_tp_methods, kMethods},
                                {Py_tp_members, kMembers},
                                {0, nullptr}};
  PyType_Spec spec = {"loomix._core.OpFunction", sizeof(OpFunction), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                          Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  op_function_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  checked(PyModule_AddObjectRef(module, "OpFunction", reinterpret_cast<PyObject*>(op_function_type)));
  checked(PyModule_AddFunctions(module, kOperatorFunctions));
}

}  // namespace loomix::python
