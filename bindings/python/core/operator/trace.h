// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ndarray/ndarray.h"
#include "ops/op.h"
#include "symbol/symbol.h"

namespace loomix::python {

// Makes a Symbol of what a function of Python computes on arrays. While a thread traces, the operators that it calls run as
// ever, and each leaves a node. A trace knows arrays by their place in memory and the version of what is there, so views,
// other handles and writes in place need no record of their own. It holds all arrays that it knows, so that no place is
// used twice. Needs the GIL.
class Trace {
 public:
  Trace();
  // Says which variable an array is.
  void bind(const NDArray& array, const Symbol& variable);
  // What stands for an array. One that nobody has bound and no operator made becomes a variable of its own. Throws StateError
  // if its elements were overwritten by what leaves no node.
  SymbolOutput find(const NDArray& array);
  // Constants are arrays from outside that are not bound.
  bool depends_on_inputs(const NDArray& array) const;

  // Before an operator runs: what its inputs are; and whether it may write to `out`.
  std::vector<SymbolOutput> before(const ops::OpDef& op, std::span<const NDArray* const> in,
                                   std::span<NDArray* const> out);
  // After it has run. `name` may be null.
  void after(const ops::OpDef& op, const Ref<const AttrsBase>& attrs, std::span<const NDArray* const> in,
             std::vector<SymbolOutput> inputs, std::span<const NDArray* const> out, PyObject* name);
  // The outputs of a graph that ran on these arrays.
  void splice(const Symbol& graph, const std::vector<std::pair<std::string, NDArray>>& inputs,
              const std::vector<NDArray>& outputs);

  const std::vector<std::pair<std::string, NDArray>>& constants() const { return constants_; }
  std::vector<NDArray> arrays() const;                 // all that it knows
  bool numpy_shapes() const { return numpy_shapes_; }  // whether an operator followed NumPy's rule of shapes

 private:
  struct Known {
    NDArray array;  // without the tape's entry
    uint64_t version = 0;
    SymbolOutput output;
    bool constant = false;
  };
  void know(const NDArray& array, SymbolOutput output, bool constant = false);

  std::unordered_map<const Storage*, std::vector<Known>> places_;
  std::vector<std::pair<std::string, NDArray>> constants_;
  bool numpy_shapes_ = false;
  const bool recording_, training_;  // of the thread that made it
};

extern int num_traces;  // of all threads; guarded by the GIL
Trace* find_active_trace() noexcept;
// That of this thread, or null.
inline Trace* active_trace() noexcept { return num_traces ? find_active_trace() : nullptr; }
// Throws StateError if this thread traces and the array's elements depend on the inputs of what it traces.
void check_readable(const NDArray& array, const char* who);

// Puts the class Trace, and what makes one active, into `module`.
void add_trace(PyObject* module);

}  // namespace loomix::python
