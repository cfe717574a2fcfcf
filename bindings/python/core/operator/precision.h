// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include <memory>
#include <span>
#include <vector>

#include "ndarray/ndarray.h"
#include "symbol/passes/reduce_precision.h"

namespace loomix::python {

// The rules that calls of operators follow since contrib.amp.init; null before. Needs the GIL.
std::shared_ptr<const PrecisionRules> active_precision();

// The inputs of one call in the types that the rules say; those that are cast belong to it.
class CastInputs {
 public:
  CastInputs(const PrecisionRules& rules, const ops::OpDef& op, const AttrsBase& attrs,
             std::span<const NDArray* const> in);
  std::span<const NDArray* const> arrays() const { return arrays_; }

 private:
  std::vector<const NDArray*> arrays_;
  std::vector<NDArray> cast_;
};

// Puts the class PrecisionRules and what makes rules active into `module`.
void add_precision(PyObject* module);

}  // namespace loomix::python
