// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "symbol/autograd/tape.h"

namespace loomix::autograd {

// One recorded call, or a variable. Inputs keep their own tape entries, so nodes form the graph; outputs are held
// without, so that there are no cycles.
class TapeNode final : public RefCounted {
 public:
  struct Input {
    NDArray array;
    uint64_t version = 0;  // of its storage when the call was pushed
  };
  struct Output {
    NDArray array;
    uint64_t version = 0;
  };

  TapeNode() noexcept;
  ~TapeNode() override;

  bool is_variable() const noexcept { return op == nullptr; }
  // Lets go of the arrays, and so of the nodes behind; the node is useless then.
  void clear() noexcept;

  uint64_t number;  // increases along every path of the graph
  const ops::OpDef* op = nullptr;
  Ref<const AttrsBase> attrs;
  InlineVector<Input, 2> inputs;
  InlineVector<Output, 1> outputs;  // outputs, then saved values; of a variable the array itself
  NDArray grad;                     // variables only
  uint64_t used_version = 0;        // of its gradient: what an update has used, or how it was at first
  ops::Req req = ops::Req::null;
  bool cleared = false;
  bool states_updated = false;  // by its gradient, which counts a recorded call once
  Ref<CustomFunction> custom;
  std::string name;

  static void* operator new(size_t bytes);
  static void operator delete(void* memory) noexcept;
};

inline TapeNode* node_of(const NDArray& array) noexcept { return static_cast<TapeNode*>(array.tape().get()); }

// The nodes behind the heads, in the order in which they were recorded. Throws StateError if some are gone.
std::vector<Ref<TapeNode>> reachable(std::span<const NDArray> heads);

// The operator of custom nodes; its gradient operator is never run as a kernel.
inline constexpr const char* kCustomOp = "_CustomFunction";
inline constexpr const char* kCustomGradientOp = "_backward_CustomFunction";
struct CustomParams {
  int num_inputs = 1;
  int num_outputs = 1;
  static void fields(FieldList<CustomParams>& f);
};

}  // namespace loomix::autograd
