// SPDX-License-Identifier: Apache-2.0
// The base of mx.np.ndarray: the slots of Python's operators. Each asks its function of mx.np for the plain case; others go to
// numpy._elementwise.operate.
#include <array>

#include "base/error.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/operator/numpy_function.h"

namespace loomix::python {
namespace {

enum NumpyOperation {
  kNpAdd,
  kNpSubtract,
  kNpMultiply,
  kNpDivide,
  kNpModulo,
  kNpPower,
  kNpLess,
  kNpLessEqual,
  kNpEqual,
  kNpNotEqual,
  kNpGreater,
  kNpGreaterEqual,
  kNpNegative,
  kNpAbsolute,
  kNpOperations
};

std::array<PyObject*, kNpOperations> numpy_functions =
    {};  // of mx.np; set with the class, as long as the interpreter

PyObject* operate_numpy(NumpyOperation operation, PyObject* left, PyObject* right, PyObject* out) {
  PyObject* general = package_attribute("numpy._elementwise", "operate");
  return checked(PyObject_CallFunctionObjArgs(general, numpy_functions[operation], left, right,
                                              out ? Py_True : Py_False, nullptr));
}

PyObject* apply_numpy(NumpyOperation operation, PyObject* left, PyObject* right, PyObject* out = nullptr) {
  PyObject* const answer = guarded([&]() -> PyObject* {
    PyObject* result = call_plain(numpy_functions[operation], left, right, out);
    return result ? result : operate_numpy(operation, left, right, out);
  });
  if (!answer) name_numpy_error(numpy_functions[operation]);
  return answer;
}

template <NumpyOperation kOperation>
PyObject* numpy_binary(PyObject* left, PyObject* right) {
  return apply_numpy(kOperation, left, right);
}
template <NumpyOperation kOperation>
PyObject* numpy_in_place(PyObject* left, PyObject* right) {
  return apply_numpy(kOperation, left, right, left);
}
template <bool kInPlace>
PyObject* numpy_power(PyObject* left, PyObject* right, PyObject* modulus) {
  if (modulus != Py_None) return Py_NewRef(Py_NotImplemented);
  return apply_numpy(kNpPower, left, right, kInPlace ? left : nullptr);
}
template <NumpyOperation kOperation>
PyObject* numpy_unary(PyObject* self) {
  return PyObject_CallOneArg(numpy_functions[kOperation], self);
}

PyObject* numpy_compare(PyObject* self, PyObject* other, int how) {
  static constexpr NumpyOperation kNpComparisons[] = {kNpLess,     kNpLessEqual, kNpEqual,
                                                      kNpNotEqual, kNpGreater,   kNpGreaterEqual};
  return apply_numpy(kNpComparisons[how], self, other);
}

Py_hash_t numpy_hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self) >> 4);
}

// set_numpy_class(ndarray, numpy_functions): mx.np's class of arrays, and its numpy_functions in the order of NumpyOperation.
PyObject* set_numpy_class(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *type = nullptr, *list = nullptr;
    if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &type, &PyTuple_Type, &list)) throw PythonError{};
    LOOMIX_CHECK(PyTuple_GET_SIZE(list) == kNpOperations, ValueError,
                 "[set_numpy_class] got {} numpy_functions; expected {}.", PyTuple_GET_SIZE(list),
                 int(kNpOperations));
    for (int i = 0; i < kNpOperations; ++i) {
      PyObject* function = PyTuple_GET_ITEM(list, i);
      LOOMIX_CHECK(is_numpy_function(function), TypeError, "[set_numpy_class] function {} is of type {}.", i,
                   type_name(function));
      numpy_functions[i] = Py_NewRef(function);
    }
    numpy_array_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
    return Py_NewRef(Py_None);
  });
}

PyMethodDef kNumpyClassFunctions[] = {{"set_numpy_class", set_numpy_class, METH_VARARGS, nullptr},
                                      {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_numpy_array_type(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("The part of mx.np.ndarray that is written in C.")},
      {Py_nb_add, reinterpret_cast<void*>(numpy_binary<kNpAdd>)},
      {Py_nb_subtract, reinterpret_cast<void*>(numpy_binary<kNpSubtract>)},
      {Py_nb_multiply, reinterpret_cast<void*>(numpy_binary<kNpMultiply>)},
      {Py_nb_true_divide, reinterpret_cast<void*>(numpy_binary<kNpDivide>)},
      {Py_nb_remainder, reinterpret_cast<void*>(numpy_binary<kNpModulo>)},
      {Py_nb_power, reinterpret_cast<void*>(numpy_power<false>)},
      {Py_nb_inplace_add, reinterpret_cast<void*>(numpy_in_place<kNpAdd>)},
      {Py_nb_inplace_subtract, reinterpret_cast<void*>(numpy_in_place<kNpSubtract>)},
      {Py_nb_inplace_multiply, reinterpret_cast<void*>(numpy_in_place<kNpMultiply>)},
      {Py_nb_inplace_true_divide, reinterpret_cast<void*>(numpy_in_place<kNpDivide>)},
      {Py_nb_inplace_remainder, reinterpret_cast<void*>(numpy_in_place<kNpModulo>)},
      {Py_nb_inplace_power, reinterpret_cast<void*>(numpy_power<true>)},
      {Py_nb_negative, reinterpret_cast<void*>(numpy_unary<kNpNegative>)},
      {Py_nb_absolute, reinterpret_cast<void*>(numpy_unary<kNpAbsolute>)},
      {Py_tp_richcompare, reinterpret_cast<void*>(numpy_compare)},
      {Py_tp_hash, reinterpret_cast<void*>(numpy_hash)},
      {0, nullptr}};
  PyType_Spec spec = {"loomix._core.NumpyArrayBase", sizeof(ArrayObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  const Owned bases(checked(PyTuple_Pack(1, array_base_type)));
  const Owned type(checked(PyType_FromSpecWithBases(&spec, bases.get())));
  checked(PyModule_AddObjectRef(module, "NumpyArrayBase", type.get()));
  checked(PyModule_AddFunctions(module, kNumpyClassFunctions));
}

}  // namespace loomix::python
