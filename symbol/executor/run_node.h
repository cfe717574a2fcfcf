// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/inline_vector.h"
#include "base/ref_counted.h"
#include "ndarray/ndarray.h"
#include "ops/op.h"
#include "symbol/executor/runtime.h"

// The one path for running an operator: infer, allocate, choose the kernel, push, record.
namespace loomix {

using NDArrays = InlineVector<NDArray, 2>;

struct RunOptions {
  std::span<NDArray* const> out = {};  // arrays to write to, one a visible output; else they are allocated
  std::span<const ops::Req> req = {};  // one a visible output; else all are written
  std::optional<Device> device = {};   // of operators without inputs; else the runtime's default
  int16_t priority = 0;
  std::string_view node_name = {};  // for errors
};

class OpCall;

// Takes calls over that a thread would push at once: see collect_calls().
class CallCollector {
 public:
  // False: the call is to be pushed now. Null stands for one that is not to be taken over.
  virtual bool take(const Ref<OpCall>& call) = 0;

 protected:
  ~CallCollector() = default;
};

// Who is offered this thread's calls from now on; null: nobody. Returns the one before.
CallCollector* collect_calls(CallCollector* collector) noexcept;

// Pushes one operator and returns its visible outputs. Bad shapes, types, devices and counts throw here; what fails
// while running is stored in the outputs. Records on the tape if this thread records and an input is on it.
NDArrays run_node(Runtime& runtime, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                  std::span<const NDArray* const> in, const RunOptions& options = {});

// The same by name, with attributes as text.
NDArrays run_node(Runtime& runtime, std::string_view op, std::initializer_list<NDArray> in,
                  const TextPairs& attrs = {}, const RunOptions& options = {});

}  // namespace loomix
