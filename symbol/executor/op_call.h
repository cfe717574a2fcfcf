// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/inline_vector.h"
#include "ndarray/ndarray.h"
#include "ops/op.h"
#include "symbol/executor/runtime.h"

namespace loomix {

// One operator on given arrays, ready to be pushed: kernel chosen, tags and views prepared. An imperative call is
// made, pushed once and dropped; a bound graph makes its calls once and pushes them every step.
class OpCall final : public RefCounted {
 public:
  // What is called. Shapes and types are complete. An absent input, output or saved value is a none array. An output
  // that needs it gets a temporary: Req::add where the kernel cannot add, memory shared with an input outside of the
  // schema's `inplace` pairs. Sparse arrays are not taken here: run_node converts them.
  struct Spec {
    const ops::OpDef& op;
    const Ref<const AttrsBase>& attrs;
    std::span<const NDArray* const> in;
    std::span<const NDArray> out;
    std::span<const NDArray> saved;
    std::span<const ops::Req> req;  // one an output
    Device device;
    bool training = false;
    std::string_view node_name = {};           // for errors
    std::span<engine::Var* const> order = {};  // further Vars to use exclusively (planned memory)
  };
  static Ref<OpCall> make(Runtime& runtime, const Spec& spec);

  // Reserves random numbers, pushes one run and returns. May be called again at once.
  void push(Runtime& runtime, int16_t priority = 0);

  const ops::OpDef& op() const noexcept { return *op_; }
  const ops::Kernel& kernel() const noexcept { return *kernel_; }
  // Operator, node, attributes, shapes, device and source line.
  std::string describe() const;

  static void* operator new(size_t bytes);
  static void operator delete(void* memory) noexcept;

 private:
  // An output that the kernel writes to a temporary.
  struct Detour {
    int output;
    bool add;
    TensorView place;  // where it belongs
  };

  OpCall() = default;
  void add_view(const NDArray& array);
  void prepare_outputs(const Spec& spec);
  void run(engine::RunContext& context, ops::RandomStream random) const;
  std::span<const TensorView> in() const { return {views_.data(), num_in_}; }
  std::span<const TensorView> out() const { return {views_.data() + num_in_, num_out_}; }
  std::span<const TensorView> saved() const {
    return {views_.data() + num_in_ + num_out_, views_.size() - num_in_ - num_out_};
  }
  ops::KernelSpec kernel_spec() const { return {in(), out(), req_, training_}; }

  const ops::OpDef* op_ = nullptr;
  const ops::Kernel* kernel_ = nullptr;
  Ref<const AttrsBase> attrs_;
  uint32_t num_in_ = 0;
  uint32_t num_out_ = 0;
  uint32_t cost_ns_ = 0;
  uint8_t max_cores_ = 1;
  bool training_ = false;
  Device device_;
  uint64_t random_numbers_ = 0;
  size_t workspace_bytes_ = 0;
  Origin origin_;
  const OriginHook* origin_hook_ = nullptr;
  std::string node_name_;
  InlineVector<TensorView, 4> views_;       // inputs, outputs, saved values
  InlineVector<Ref<Storage>, 4> storages_;  // of the views, kept alive
  InlineVector<ops::Req, 4> req_;
  ArrayTags tags_;
  InlineVector<Detour, 1> detours_;
  uint32_t first_out_ = 0;  // in storages_, of outputs whose shapes depend on data
};

}  // namespace loomix
