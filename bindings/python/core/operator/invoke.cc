// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/operator/invoke.h"

#include "bindings/python/core/errors.h"
#include "bindings/python/core/operator/precision.h"
#include "bindings/python/core/operator/trace.h"
#include "bindings/python/core/process/runtime.h"
#include "symbol/autograd/tape.h"
#include "symbol/executor/run_node.h"

namespace loomix::python {
namespace {

NDArrays run_untraced(const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                      std::span<const NDArray* const> in, const RunOptions& options) {
  if (const auto rules = active_precision()) [[unlikely]] {
    const CastInputs cast(*rules, op, *attrs, in);
    return run_node(runtime(), op, attrs, cast.arrays(), options);
  }
  return run_node(runtime(), op, attrs, in, options);
}

NDArrays run_traced(Trace& trace, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                    std::span<const NDArray* const> in, const RunOptions& options, PyObject* name) {
  std::vector<SymbolOutput> inputs = trace.before(op, in, options.out);
  NDArrays result = run_untraced(op, attrs, in, options);
  std::vector<const NDArray*> outputs(options.out.begin(), options.out.end());
  if (outputs.empty()) {
    for (const NDArray& array : result) outputs.push_back(&array);
  }
  trace.after(op, attrs, in, std::move(inputs), outputs, name);
  return result;
}

NDArrays run(const ops::OpDef& op, const Ref<const AttrsBase>& attrs, std::span<const NDArray* const> in,
             PyObject* name, const RunOptions& options = {}) {
  if (Trace* const trace = active_trace()) [[unlikely]]
    return run_traced(*trace, op, attrs, in, options, name);
  return run_untraced(op, attrs, in, options);
}

}  // namespace

PyObject* invoke_one(const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                     std::span<const NDArray* const> in, ArrayClass shown_as, PyObject* name) {
  NDArrays out = run(op, attrs, in, name);
  return wrap_outputs(out, shown_as);
}

PyObject* invoke(const ops::OpDef& op, const Ref<const AttrsBase>& attrs, std::span<const NDArray* const> in,
                 Device device, ArrayClass shown_as, PyObject* name) {
  RunOptions options;
  options.device = device;
  NDArrays out = run(op, attrs, in, name, options);
  return wrap_outputs(out, shown_as);
}

void invoke_into(const ops::OpDef& op, const Ref<const AttrsBase>& attrs, std::span<const NDArray* const> in,
                 std::span<NDArray* const> out, PyObject* name) {
  // run_node checks this only where an input is recorded.
  if (autograd::is_recording()) autograd::check_not_recorded(op, out);
  RunOptions options;
  options.out = out;
  run(op, attrs, in, name, options);
}

}  // namespace loomix::python
