// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/params.h"
#include "ops/op.h"

namespace loomix::python {

// An attribute as Python gave it: the field's position in the operator's schema, and a borrowed value.
struct GivenAttr {
  int field;
  PyObject* value;
};

// The text of a Python value as MXNet would print it: "(3, 3)", "True", "float32" for NumPy's types.
std::string attr_text(PyObject* value);
// The same for a parameter of this kind: NumPy's other names of element types, such as "int" and "f4", are translated.
std::string attr_text(PyObject* value, FieldKind kind);

// Python attribute values of one operator to parsed attributes: each combination of values is parsed once. Keyed by
// kind and value, so that 1, 1.0 and True differ. Guarded by the GIL.
class AttrCache {
 public:
  explicit AttrCache(const ops::OpDef& op);
  // `num_args` is the count of variadic inputs, filled in unless given; -1 for others.
  Ref<const AttrsBase> get(std::span<const GivenAttr> given, int num_args);
  // {"scalar": value} of an operator on an array and a number: made from the number itself, for it may change with each call.
  Ref<const AttrsBase> scalar(PyObject* value);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  static constexpr size_t kMaxEntries = 4096;  // a value that changes with each call must not pile up

  struct Scalar {
    uint64_t bits = 0;
    Ref<const AttrsBase> attrs;
  };

  Ref<const AttrsBase> parse(std::span<const GivenAttr> given, int num_args) const;

  const ops::OpDef& op_;
  const int scalar_field_;          // of an operator on an array and a number; else -1
  std::array<Scalar, 16> scalars_;  // by the number's bits: those of a loop's constants stay
  std::unordered_map<std::string, Ref<const AttrsBase>, Hash, std::equal_to<>> entries_;
};

// An operator as this binding calls it.
struct Operator {
  const ops::OpDef* def = nullptr;
  AttrCache* cache = nullptr;
  Ref<const AttrsBase> no_attrs;  // empty if some are required
};

// One of the table's operators; throws KeyError for unknown names. The caches live as long as the process.
Operator find_operator(std::string_view name);
AttrCache& cache_of(const ops::OpDef& op);

// The position of a field in the operator's schema; KeyError.
int field_position(const ops::OpDef& op, std::string_view field);

// True for Python's and NumPy's numbers.
bool is_scalar(PyObject* object);

}  // namespace loomix::python
