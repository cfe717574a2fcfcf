// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/inline_vector.h"
#include "ndarray/ndarray.h"
#include "ops/op.h"
#include "symbol/executor/run_node.h"

namespace loomix {
class Symbol;
}

// The eager tape: operators that run while a thread records leave a node, linked to the nodes that made their inputs.
// `backward` turns the nodes behind some arrays into a Graph, lets the gradient pass grow it, and runs what was added.
namespace loomix::autograd {

// Flags of this thread; both are false at first. The setters return the value before.
bool is_recording() noexcept;
bool is_training() noexcept;
bool set_recording(bool on) noexcept;
bool set_training(bool on) noexcept;

// Sets both flags until the end of the scope.
class Scope {
 public:
  Scope(bool recording, bool training) noexcept
      : recording_(set_recording(recording)), training_(set_training(training)) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() {
    set_recording(recording_);
    set_training(training_);
  }

 private:
  bool recording_;
  bool training_;
};

// Makes arrays the variables that gradients are for; the handles given leave the graph that they came from. Gradients
// go to the memory of `grads`, by `reqs` (null, write, add). Sizes are equal.
void mark_variables(std::span<NDArray* const> arrays, std::span<const NDArray> grads,
                    std::span<const ops::Req> reqs);
// The gradient array of a variable; none if the handle is not a variable.
NDArray gradient_of(const NDArray& array);
// Whether the gradient of a variable was written since it was marked or said to be used; false if there is none.
bool has_fresh_gradient(const NDArray& array);
void set_fresh_gradient(const NDArray& array, bool fresh);

struct BackwardOptions {
  bool retain_graph = false;  // keep the nodes for another run
  bool create_graph = false;  // record the run itself, for higher derivatives
  bool train_mode = true;
};

// Computes the gradients of `heads` into the gradient arrays of all variables that they depend on. `head_grads` is
// empty, or one a head; none arrays stand for ones. Throws StateError where a value that the gradient needs has been
// overwritten since.
void backward(Runtime& runtime, std::span<const NDArray> heads, std::span<const NDArray> head_grads,
              const BackwardOptions& options);
// The same, returned for the given arrays instead.
std::vector<NDArray> grad(Runtime& runtime, std::span<const NDArray> heads,
                          std::span<const NDArray> variables, std::span<const NDArray> head_grads,
                          const BackwardOptions& options);

// A node whose gradient somebody else computes, on the thread that calls backward.
class CustomFunction : public RefCounted {
 public:
  // Gradients to the inputs, none where there is none, from those to the outputs. `targets`, one an input, are where the
  // gradients belong, none arrays where that is not known: one that is written there and returned is not copied.
  virtual std::vector<NDArray> backward(std::span<const NDArray> output_grads,
                                        std::span<const NDArray> targets) = 0;
  virtual std::string name() const = 0;
};
// Records that `outputs` were made from `inputs`; does nothing if this thread does not record.
void record_custom(Runtime& runtime, Ref<CustomFunction> function, std::span<const NDArray> inputs,
                   std::span<NDArray* const> outputs);
// Adds the operators that stand for custom nodes; the runtime's table must have them for record_custom.
void register_operators(ops::OpTable& table);

// Records that `output`, a view of `input`, is what `op` would give (reshape and slices share memory).
void record_view(const ops::OpDef& op, const Ref<const AttrsBase>& attrs, const NDArray& input,
                 NDArray& output);

// The recorded computation of an array. Variables are called var0, var1 ..., arrays that are no variables null0, null1 ...
// and operators node_0, node_1 ... where they have no names of their own.
Symbol recorded_symbol(const NDArray& array);

// Whether the tape leads from an array to variables. What a backward pass has freed counts as a constant for what is recorded
// later.
bool is_recorded(const NDArray& array) noexcept;
// For run_node.
bool should_record(std::span<const NDArray* const> inputs) noexcept;
// Arrays on the tape may not be overwritten while recording.
void check_not_recorded(const ops::OpDef& op, std::span<NDArray* const> outputs);
void record(const ops::OpDef& op, const Ref<const AttrsBase>& attrs, std::span<const NDArray* const> inputs,
            std::span<NDArray> outputs, NDArrays saved, std::string_view node_name);

}  // namespace loomix::autograd
