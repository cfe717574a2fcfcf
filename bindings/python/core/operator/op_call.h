// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include <string>
#include <utility>
#include <vector>

#include "base/inline_vector.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/operator/attr_cache.h"
#include "ops/op.h"

namespace loomix::python {

// The Python signature of an operator: its inputs, then its parameters in schema order, then out, name and attr.
// A variadic operator takes all positional arguments as inputs.
class OpSignature {
 public:
  explicit OpSignature(const ops::OpDef& op);

  const ops::OpDef& op;
  AttrCache& cache;
  bool variadic;
  int context_field = -1;              // position of the parameter "ctx"
  std::vector<PyObject*> input_names;  // interned; as long as the interpreter lives
  std::vector<PyObject*> field_names;
};
// Made on first use.
const OpSignature& signature_of(const ops::OpDef& op);

// One call's arguments, sorted; references are borrowed but for the first.
struct OpCall {
  Owned listed;  // of a variadic operator called with one list: its items, as others may change the list
  InlineVector<PyObject*, 8>
      inputs;  // one a schema input, null where absent; of variadic operators those given
  InlineVector<GivenAttr, 16> attrs;
  std::vector<std::pair<PyObject*, PyObject*>> others;  // keywords that the schema does not have
  PyObject* out = nullptr;
  PyObject* name = nullptr;
  PyObject* attr = nullptr;
};

// Sorts the arguments of a vectorcall. Throws TypeError for surplus and doubled ones.
OpCall sort_arguments(const OpSignature& signature, PyObject* const* args, Py_ssize_t count,
                      PyObject* kwnames);

}  // namespace loomix::python
