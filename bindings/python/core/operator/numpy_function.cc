// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/operator/numpy_function.h"

#include <structmember.h>

#include <limits>

#include "base/error.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/operator/attr_cache.h"
#include "bindings/python/core/operator/invoke.h"

namespace loomix::python {
namespace {

// What the operators take as they are: floating types; integers, too; or any type, and the result is boolean.
enum class NumpyRule : uint8_t { floating, numeric, comparison };

struct NumpyFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  NumpyRule rule;
  // Of a function of one array: the first one alone.
  Operator same, broadcast, scalar, reversed;
  PyObject* general;  // the Python function
};

PyTypeObject* numpy_function_type = nullptr;

NumpyFunction& numpy_function_of(PyObject* object) { return *reinterpret_cast<NumpyFunction*>(object); }

bool numpy_takes(NumpyRule rule, const NDArray& array) {
  if (array.is_none() || !array.is_dense()) return false;
  if (is_floating(array.dtype())) return true;
  return rule == NumpyRule::comparison || (rule == NumpyRule::numeric && array.dtype() != DType::boolean);
}

template <class T>
bool type_holds(long long value) {
  return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

// Whether an array of the type can be computed with the Python number as it is. 2^53: operators get a double.
bool takes_number(DType dtype, PyObject* number) {
  if (PyFloat_CheckExact(number)) return is_floating(dtype);
  if (!PyLong_CheckExact(number)) return false;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow != 0 || value > (1LL << 53) || value < -(1LL << 53)) return false;
  switch (dtype) {
    case DType::uint8: return type_holds<uint8_t>(value);
    case DType::int8: return type_holds<int8_t>(value);
    case DType::int32: return type_holds<int32_t>(value);
    case DType::boolean: return false;
    default: return true;
  }
}

PyObject* to_boolean(PyObject* result) {
  static const Operator cast = find_operator("Cast");
  static const Ref<const AttrsBase> attrs = [] {
    const Owned boolean(checked(PyUnicode_FromString("bool")));
    const GivenAttr given[] = {{field_position(*cast.def, "dtype"), boolean.get()}};
    return cast.cache->get(given, -1);
  }();
  const Owned numbers(checked(result));
  const NDArray* in[] = {&array_of(numbers.get())};
  return invoke_one(*cast.def, attrs, in, ArrayClass::np);
}

PyObject* run_numpy(const NumpyFunction& function, const Operator& op, const Ref<const AttrsBase>& attrs,
                    std::span<const NDArray* const> in, PyObject* out) {
  if (out) {
    if (function.rule == NumpyRule::comparison) return nullptr;
    NDArray* target = &array_of(out);
    invoke_into(*op.def, attrs, in, std::span(&target, 1));
    return Py_NewRef(out);
  }
  PyObject* result = invoke_one(*op.def, attrs, in, ArrayClass::np);
  return function.rule == NumpyRule::comparison ? to_boolean(result) : result;
}

PyObject* call_plain_one(const NumpyFunction& function, PyObject* x) {
  if (!is_numpy_like(x) || !numpy_takes(function.rule, array_of(x))) return nullptr;
  const NDArray* in[] = {&array_of(x)};
  return run_numpy(function, function.same, function.same.no_attrs, in, nullptr);
}

PyObject* numpy_call(PyObject* self, PyObject* const* args, size_t flags, PyObject* kwnames) {
  PyObject* const answer = guarded([&]() -> PyObject* {
    const NumpyFunction& function = numpy_function_of(self);
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (!kwnames && count == (function.broadcast.def ? 2 : 1)) {
      PyObject* result =
          count == 2 ? call_plain(self, args[0], args[1], nullptr) : call_plain_one(function, args[0]);
      if (result) return result;
    }
    return checked(PyObject_Vectorcall(function.general, args, flags, kwnames));
  });
  if (!answer) name_numpy_error(self);
  return answer;
}

void numpy_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  NumpyFunction& function = numpy_function_of(self);
  for (Operator* op : {&function.same, &function.broadcast, &function.scalar, &function.reversed})
    op->~Operator();
  Py_XDECREF(function.general);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* numpy_repr(PyObject* self) {
  return guarded([&] {
    const Owned name(checked(PyObject_GetAttrString(numpy_function_of(self).general, "__name__")));
    return PyUnicode_FromFormat("<function loomix.numpy.%U>", name.get());
  });
}

// What it does not have itself (__name__, __doc__, operator ...) the Python function has.
PyObject* numpy_attribute(PyObject* self, PyObject* name) {
  PyObject* own = PyObject_GenericGetAttr(self, name);
  if (own || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
  PyErr_Clear();
  return PyObject_GetAttr(numpy_function_of(self).general, name);
}

PyObject* numpy_get_general(PyObject* self, void*) { return Py_NewRef(numpy_function_of(self).general); }
PyObject* numpy_get_doc(PyObject* self, void*) {
  return PyObject_GetAttrString(numpy_function_of(self).general, "__doc__");
}
PyObject* numpy_reduce(PyObject* self, PyObject*) {
  return PyObject_GetAttrString(numpy_function_of(self).general, "__name__");
}

PyGetSetDef kNumpyProperties[] = {{"__wrapped__", numpy_get_general, nullptr, nullptr, nullptr},
                                  {"__doc__", numpy_get_doc, nullptr, nullptr, nullptr},
                                  {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef kNumpyMethods[] = {{"__reduce__", numpy_reduce, METH_NOARGS, nullptr},
                               {nullptr, nullptr, 0, nullptr}};
PyMemberDef kNumpyMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(NumpyFunction, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

// numpy_function(general, rule, same, broadcast, scalar, reversed): operators' names, of which all but the first may be
// left out.
PyObject* make_numpy_function(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* general = nullptr;
    const char* rule = nullptr;
    const char* names[4] = {};
    if (!PyArg_ParseTuple(args, "Oss|sss", &general, &rule, &names[0], &names[1], &names[2], &names[3]))
      throw PythonError{};
    const std::string_view text = rule;
    LOOMIX_CHECK(text == "floating" || text == "numeric" || text == "comparison", ValueError,
                 "[numpy_function] rule '{}' is none; expected 'floating', 'numeric' or 'comparison'.", text);
    PyObject* self = checked(numpy_function_type->tp_alloc(numpy_function_type, 0));
    NumpyFunction& function = numpy_function_of(self);
    Operator* const places[] = {&function.same, &function.broadcast, &function.scalar, &function.reversed};
    for (Operator* place : places) ::new (place) Operator();
    function.general = Py_NewRef(general);
    const Owned owner(self);
    for (int i = 0; i < 4; ++i) {
      if (names[i] && *names[i]) *places[i] = find_operator(names[i]);
    }
    function.vectorcall = numpy_call;
    function.rule = text == "floating"  ? NumpyRule::floating
                    : text == "numeric" ? NumpyRule::numeric
                                        : NumpyRule::comparison;
    return Py_NewRef(self);
  });
}

PyMethodDef kNumpyFunctions[] = {{"numpy_function", make_numpy_function, METH_VARARGS, nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

}  // namespace

void name_numpy_error(PyObject* self) noexcept {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);  // no attribute can be asked for while an error is set
  const Owned name(PyObject_GetAttrString(numpy_function_of(self).general, "__name__"));
  const char* const text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
  const std::string full = text ? fmt::format("np.{}", text) : std::string();
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
  if (text) name_error(full);
}

bool is_numpy_function(PyObject* object) { return Py_TYPE(object) == numpy_function_type; }

PyObject* call_plain(PyObject* self, PyObject* left, PyObject* right, PyObject* out) {
  const NumpyFunction& function = numpy_function_of(self);
  const bool by_left = is_numpy_like(left), by_right = is_numpy_like(right);
  if (by_left && by_right) {
    const NDArray* in[] = {&array_of(left), &array_of(right)};
    if (!numpy_takes(function.rule, *in[0]) || !numpy_takes(function.rule, *in[1]) ||
        in[0]->dtype() != in[1]->dtype())
      return nullptr;
    const Operator& op = in[0]->shape() == in[1]->shape() ? function.same : function.broadcast;
    return run_numpy(function, op, op.no_attrs, in, out);
  }
  if (!by_left && !by_right) return nullptr;
  const NDArray& array = array_of(by_left ? left : right);
  PyObject* number = by_left ? right : left;
  const Operator& op = by_left ? function.scalar : function.reversed;
  if (!op.def || !numpy_takes(function.rule, array) || !takes_number(array.dtype(), number)) return nullptr;
  const NDArray* in[] = {&array};
  return run_numpy(function, op, op.cache->scalar(number), in, out);
}

void add_numpy_function_type(PyObject* module) {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(numpy_dealloc)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_repr, reinterpret_cast<void*>(numpy_repr)},
                                {Py_tp_getattro, reinterpret_cast<void*>(numpy_attribute)},
                                {Py_tp_getset, kNumpyProperties},
                                {Py_tp_methods, kNumpyMethods},
                                {Py_tp_members, kNumpyMembers},
                                {0, nullptr}};
  PyType_Spec spec = {"loomix._core.NumpyFunction", sizeof(NumpyFunction), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  numpy_function_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  checked(PyModule_AddObjectRef(module, "NumpyFunction", reinterpret_cast<PyObject*>(numpy_function_type)));
  checked(PyModule_AddFunctions(module, kNumpyFunctions));
}

}  // namespace loomix::python
