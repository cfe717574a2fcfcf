// SPDX-License-Identifier: Apache-2.0
// Arithmetic and comparison of arrays: each slot picks the elementwise, broadcasting or scalar operator and runs it.
#include <array>
#include <cmath>

#include "base/error.h"
#include "bindings/python/core/array/ndarray_object.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/operator/attr_cache.h"
#include "bindings/python/core/operator/invoke.h"

namespace loomix::python {
namespace {

// The operators behind one Python operator. `reversed` is for a scalar on the left; it may be the same operator.
struct Family {
  Operator elementwise;
  Operator broadcast;
  Operator scalar;
  Operator reversed;

  Family(const char* elementwise_name, const char* broadcast_name, const char* scalar_name,
         const char* reversed_name)
      : elementwise(find_operator(elementwise_name)),
        broadcast(find_operator(broadcast_name)),
        scalar(find_operator(scalar_name)),
        reversed(find_operator(reversed_name)) {}
};

enum Operation {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kPower,
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kGreater,
  kGreaterEqual
};

const Family& family(Operation operation) {
  static const auto& families = *new std::array<Family, 12>{{
      {"elemwise_add", "broadcast_add", "_plus_scalar", "_plus_scalar"},
      {"elemwise_sub", "broadcast_sub", "_minus_scalar", "_rminus_scalar"},
      {"elemwise_mul", "broadcast_mul", "_mul_scalar", "_mul_scalar"},
      {"elemwise_div", "broadcast_div", "_div_scalar", "_rdiv_scalar"},
      {"_mod", "broadcast_mod", "_mod_scalar", "_rmod_scalar"},
      {"_power", "broadcast_power", "_power_scalar", "_rpower_scalar"},
      {"_lesser", "broadcast_lesser", "_lesser_scalar", "_greater_scalar"},
      {"_lesser_equal", "broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"},
      {"_equal", "broadcast_equal", "_equal_scalar", "_equal_scalar"},
      {"_not_equal", "broadcast_not_equal", "_not_equal_scalar", "_not_equal_scalar"},
      {"_greater", "broadcast_greater", "_greater_scalar", "_lesser_scalar"},
      {"_greater_equal", "broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"},
  }};
  return families[operation];
}

PyObject* run(const Operator& op, const Ref<const AttrsBase>& attrs, std::span<const NDArray* const> in,
              PyObject* out) {
  if (!out) return invoke_one(*op.def, attrs, in);
  NDArray* target = &array_of(out);
  invoke_into(*op.def, attrs, in, std::span(&target, 1));
  return Py_NewRef(out);
}

bool holds_integers(const NDArray& array) {
  switch (array.dtype()) {
    case DType::uint8:
    case DType::int8:
    case DType::int32:
    case DType::int64: return true;
    default: return false;
  }
}

// Warns where a fraction would be cut off to the integers of an array.
void check_fraction(Operation operation, const NDArray& array, PyObject* scalar, bool reverse) {
  const double value = PyFloat_AS_DOUBLE(scalar);
  if (std::trunc(value) == value || !std::isfinite(value) || !holds_integers(array)) [[likely]]
    return;
  static constexpr const char* kSigns[] = {"+", "-", "*", "/", "%", "**", "<", "<=", "==", "!=", ">", ">="};
  const Owned sign(checked(PyUnicode_FromString(kSigns[operation])));
  const Owned done(checked(PyObject_CallFunctionObjArgs(package_attribute("habits", "integer_scalar"),
                                                        sign.get(), dtype_class(array.dtype()), scalar,
                                                        reverse ? Py_True : Py_False, nullptr)));
}

PyObject* apply(Operation operation, PyObject* left, PyObject* right, PyObject* out = nullptr) {
  return guarded([&]() -> PyObject* {
    const bool left_is_array = is_array(left);
    if (left_is_array && is_array(right)) {
      const NDArray* in[] = {&array_of(left), &array_of(right)};
      const bool same = !in[0]->is_none() && !in[1]->is_none() && in[0]->shape() == in[1]->shape();
      const Operator& op = same ? family(operation).elementwise : family(operation).broadcast;
      return run(op, op.no_attrs, in, out);
    }
    PyObject* scalar = left_is_array ? right : left;
    if (!is_scalar(scalar)) {
      if (!is_numpy_array(scalar)) return Py_NewRef(Py_NotImplemented);
      // NumPy would go on and give a NumPy array.
      const Owned converted(
          checked(PyObject_CallFunctionObjArgs(package_attribute("ndarray.ndarray", "numpy_operand"), scalar,
                                               left_is_array ? left : right, nullptr)));
      return apply(operation, left_is_array ? left : converted.get(), left_is_array ? converted.get() : right,
                   out);
    }
    if (PyFloat_Check(scalar))
      check_fraction(operation, array_of(left_is_array ? left : right), scalar, !left_is_array);
    const Operator& op = left_is_array ? family(operation).scalar : family(operation).reversed;
    const NDArray* in[] = {&array_of(left_is_array ? left : right)};
    return run(op, op.cache->scalar(scalar), in, out);
  });
}

template <Operation kOperation>
PyObject* binary(PyObject* left, PyObject* right) {
  return apply(kOperation, left, right);
}
template <Operation kOperation>
PyObject* in_place(PyObject* left, PyObject* right) {
  return apply(kOperation, left, right, left);
}

// The += of a subclass made in Python is its sequences' += as well, whose NotImplemented Python would return as the sum.
PyObject* in_place_add(PyObject* left, PyObject* right) {
  for (const bool by_right : {false, true}) {
    const PyNumberMethods* const numbers = Py_TYPE(right)->tp_as_number;
    if (by_right && (!numbers || !numbers->nb_add)) break;
    PyObject* const result = by_right ? numbers->nb_add(left, right) : apply(kAdd, left, right, left);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
  }
  return PyErr_Format(PyExc_TypeError, "unsupported operand type(s) for +=: '%.100s' and '%.100s'",
                      Py_TYPE(left)->tp_name, Py_TYPE(right)->tp_name);
}

template <bool kInPlace>
PyObject* power(PyObject* left, PyObject* right, PyObject* modulus) {
  if (modulus != Py_None) return Py_NewRef(Py_NotImplemented);
  return apply(kPower, left, right, kInPlace ? left : nullptr);
}

PyObject* negative(PyObject* self) {
  return guarded([&] {
    static const Operator op = find_operator("_mul_scalar");
    static PyObject* const minus_one = PyFloat_FromDouble(-1.0);
    const NDArray* in[] = {&array_of(self)};
    return invoke_one(*op.def, op.cache->scalar(minus_one), in);
  });
}

PyObject* absolute(PyObject* self) {
  return guarded([&] {
    static const Operator op = find_operator("abs");
    const NDArray* in[] = {&array_of(self)};
    return invoke_one(*op.def, op.no_attrs, in);
  });
}

PyObject* compare(PyObject* self, PyObject* other, int how) {
  static constexpr Operation kOperations[] = {kLess, kLessEqual, kEqual, kNotEqual, kGreater, kGreaterEqual};
  return apply(kOperations[how], self, other);
}

Py_hash_t identity_hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self) >> 4);
}

}  // namespace

PyType_Slot* number_slots() {
  static PyType_Slot slots[] = {{Py_nb_add, reinterpret_cast<void*>(binary<kAdd>)},
                                {Py_nb_subtract, reinterpret_cast<void*>(binary<kSubtract>)},
                                {Py_nb_multiply, reinterpret_cast<void*>(binary<kMultiply>)},
                                {Py_nb_true_divide, reinterpret_cast<void*>(binary<kDivide>)},
                                {Py_nb_remainder, reinterpret_cast<void*>(binary<kModulo>)},
                                {Py_nb_power, reinterpret_cast<void*>(power<false>)},
                                {Py_nb_inplace_add, reinterpret_cast<void*>(in_place_add)},
                                {Py_nb_inplace_subtract, reinterpret_cast<void*>(in_place<kSubtract>)},
                                {Py_nb_inplace_multiply, reinterpret_cast<void*>(in_place<kMultiply>)},
                                {Py_nb_inplace_true_divide, reinterpret_cast<void*>(in_place<kDivide>)},
                                {Py_nb_inplace_remainder, reinterpret_cast<void*>(in_place<kModulo>)},
                                {Py_nb_inplace_power, reinterpret_cast<void*>(power<true>)},
                                {Py_nb_negative, reinterpret_cast<void*>(negative)},
                                {Py_nb_absolute, reinterpret_cast<void*>(absolute)},
                                {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                                {Py_tp_hash, reinterpret_cast<void*>(identity_hash)},
                                {0, nullptr}};
  return slots;
}

}  // namespace loomix::python
