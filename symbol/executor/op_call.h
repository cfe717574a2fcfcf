// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/inline_vector.h"
#include "ndarray/ndarray.h"
#include "ops/kernel_choice.h"
#include "ops/op.h"
#include "symbol/executor/runtime.h"

namespace loomix {

class OrderedState;

// One operator on given arrays, ready to be pushed: kernel chosen and prepared, tags and views made. An imperative call
// is made, pushed once and dropped; a bound graph makes its calls once and pushes them every step.
class OpCall final : public RefCounted {
 public:
  // What is called. Shapes and types are complete. An absent input, output or saved value is a none array. An output
  // that needs it is written to scratch memory first: Req::add where the kernel cannot add, memory shared with an input
  // outside of the schema's `inplace` pairs. Sparse arrays need a choice of a kernel that takes them.
  struct Spec {
    const ops::OpDef& op;
    const Ref<const AttrsBase>& attrs;
    std::span<const NDArray* const> in;
    std::span<const NDArray> out;  // none: not computed
    std::span<const NDArray> saved;
    std::span<const ops::Req> req;  // one an output
    Device device;
    bool training = false;
    std::span<const TensorView> left_out = {};  // shapes and types of outputs, where some are none
    std::string_view node_name = {};            // for errors
    std::span<engine::Var* const> order = {};   // further Vars to use exclusively (planned memory)
    const ops::KernelChoice* choice = nullptr;  // made before by choose_kernel; else it is made here
    const NDArray* scratch =
        nullptr;        // planned memory of at least scratch_bytes; else each run takes its own
    int64_t bytes = 0;  // taken for this call alone: run-ahead is bounded by it
  };
  static Ref<OpCall> make(Runtime& runtime, const Spec& spec);

  // Pushes one run and returns. May be called again at once. The first form reserves random numbers for the run.
  void push(Runtime& runtime, int16_t priority = 0);
  void push(Runtime& runtime, ops::RandomStream random, int16_t priority);

  // For those that run several calls as one task. May join: on one core of a host, and through when run() returns.
  bool may_join() const noexcept {
    return choice_.kernel->run && device_.is_host() && max_cores_ == 1 && !op_->data_dependent;
  }
  // May share a device's task with its neighbours: its run does no more than put work on the queue.
  bool only_issues() const noexcept {
    return choice_.kernel->run && !device_.is_host() && !runs_on_host_ && !op_->data_dependent;
  }
  // And that work is the same in each run; but for the place of scratch memory, if it takes that from the pool.
  bool repeats_its_work() const noexcept {
    return only_issues() && random_numbers_ == 0 && !choice_.kernel->sparse;
  }
  // With the same memory.
  bool issues_the_same() const noexcept { return repeats_its_work() && !takes_scratch(); }
  bool takes_scratch() const noexcept { return scratch_pool_ != nullptr; }  // from the pool, in each run
  // Gives it memory of its device, of at least scratch_bytes(), to keep. Calls that have it in common must run one after the other
  // on one queue. Not once it was pushed.
  void keep_scratch(const NDArray& scratch);
  // Whether this is a call of the same operator on arrays of the same shapes and types, and whether on the same arrays; attributes may
  // differ.
  bool resembles(const OpCall& other) const noexcept;
  bool repeats(const OpCall& other) const noexcept;
  // Whether its first output lies where its first input does.
  bool is_in_place() const noexcept {
    return num_in_ > 0 && num_out_ > 0 && in()[0].data != nullptr && in()[0].data == out()[0].data;
  }
  const AttrsBase& attrs() const noexcept { return *attrs_; }
  void run(engine::RunContext& context, ops::RandomStream random) const;
  std::span<const engine::Tag> tags() const noexcept { return tags_.tags(); }
  engine::Describe describe_task() const;
  Device device() const noexcept { return device_; }
  uint32_t cost_ns() const noexcept { return cost_ns_; }  // on one core
  int max_cores() const noexcept { return max_cores_; }
  // Whether runs that are pushed from now on have one core, or as many as the work is worth.
  void limit_cores(bool to_one) noexcept {
    max_cores_ = to_one ? uint8_t{1} : static_cast<uint8_t>(std::min(choice_.cores, 255));
  }

  // For traces: the operator's name, after that of the operator written in Python that calls it ("MySigmoid::exp").
  const char* trace_name() const;

  // While one lives, the operators that this thread calls are within that of this name, which is never freed.
  class Within {
   public:
    explicit Within(const std::string& name) noexcept;
    ~Within();
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    const std::string* outer_;
  };

  const ops::OpDef& op() const noexcept { return *op_; }
  const ops::Kernel& kernel() const noexcept { return *choice_.kernel; }
  uint64_t random_numbers() const noexcept { return random_numbers_; }
  // What a run needs beside its arrays: for the kernel, and for outputs that it cannot write in place.
  size_t scratch_bytes() const noexcept { return scratch_bytes_; }
  size_t num_detours() const noexcept { return detours_.size(); }
  // How long the last run took on a host, from its start to its end. Not measured for calls so short that reading the clock
  // would show in their time.
  std::optional<int64_t> last_ns() const noexcept;
  // Operator, node, attributes, shapes, device and source line.
  std::string describe() const;

  static void* operator new(size_t bytes);
  static void operator delete(void* memory) noexcept;

 private:
  // An output that the kernel writes to scratch memory, and the kernel that brings it to its place.
  struct Detour {
    size_t output;
    size_t offset;  // in the scratch memory
    bool add;
    TensorView place;
    const ops::OpDef* op;
    Ref<const AttrsBase> attrs;
    ops::KernelChoice finish;
  };
  class Run;                                  // views and scratch memory of one run
  class AsyncRun;                             // the same until the kernel's completion
  class OrderedRun;                           // starts it, and notices if it never runs
  class Clock;                                // notes a run's time
  static constexpr uint32_t kTimedNs = 2000;  // calls with a smaller estimate are not timed

  OpCall() = default;
  void add_view(const NDArray& array);
  void add_inputs(const Spec& spec);
  void add_outputs(const Runtime& runtime, const Spec& spec);
  bool is_as_planned(const Spec& spec) const;  // the choice that was made before fits the requests
  void choose(Runtime& runtime, const Spec& spec);
  void find_scratch(Runtime& runtime, const Spec& spec);
  void prepare_detours(Runtime& runtime);
  static void finish_detour(const Detour& detour, const TensorView& result, const TensorView& place,
                            engine::RunContext& context);
  ops::KernelArgs arguments(engine::RunContext& context, ops::RandomStream random) const;
  bool check_given() const;  // inputs and labels; whether an input is infinite
  void run_checked(engine::RunContext& context, ops::RandomStream random) const;
  void run_staged(engine::RunContext& context, ops::RandomStream random) const;
  // Where no kernel of the device takes its arrays, one of the host's runs, with copies. An asynchronous one needs none: what it
  // does with the arrays it pushes.
  bool is_staged() const noexcept { return runs_on_host_ && !device_.is_host() && choice_.kernel->run; }
  Device kernel_device() const noexcept {
    return runs_on_host_ && !device_.is_host() ? Device::cpu() : device_;
  }
  std::span<const TensorView> in() const { return {views_.data(), num_in_}; }
  std::span<const TensorView> out() const { return {views_.data() + num_in_, num_out_}; }
  std::span<const Ref<Storage>> outputs() const { return std::span(storages_).subspan(num_in_, num_out_); }
  std::span<const TensorView> saved() const {
    return {views_.data() + num_in_ + num_out_, views_.size() - num_in_ - num_out_};
  }
  bool is_timed() const noexcept { return cost_ns_ >= kTimedNs && device_.is_host(); }
  ops::KernelSpec kernel_spec() const { return {in(), out(), req_, training_}; }

  const ops::OpDef* op_ = nullptr;
  const std::string* within_ = nullptr;
  ops::KernelChoice choice_;
  Ref<const AttrsBase> attrs_;
  uint32_t num_in_ = 0;
  uint32_t num_out_ = 0;
  uint32_t cost_ns_ = 0;
  uint8_t max_cores_ = 1;
  bool training_ = false;
  bool runs_on_host_ = false;
  Device device_;
  mutable std::atomic<int64_t> last_ns_{-1};
  const OrderedState* ordered_ = nullptr;  // the kernel's state, if it is one
  uint64_t random_numbers_ = 0;
  size_t scratch_bytes_ = 0;
  int64_t bytes_ = 0;
  std::byte* scratch_ = nullptr;                // planned
  Ref<Storage> scratch_storage_;                // kept alive: runs may outlive the executor
  engine::MemoryPool* scratch_pool_ = nullptr;  // where it is taken from if it is not
  Origin origin_;
  const Runtime* runtime_ = nullptr;
  std::string node_name_;
  InlineVector<TensorView, 4> views_;       // inputs, outputs, saved values
  InlineVector<Ref<Storage>, 4> storages_;  // of the views, kept alive; null where there is none
  InlineVector<ops::Req, 4> req_;
  ArrayTags tags_;
  std::vector<Detour> detours_;
};

// Adds the device's kernels to the table, if they are not there yet. Whoever asks an operator for a kernel calls it first.
void load_kernels(Runtime& runtime, Device device);

// Chooses and prepares a kernel for arrays of these shapes, types and storage types (the spec's cores are set here). Where none of a
// GPU's accepts it is one of the host's, which is warned of once an operator. Throws NotImplementedError if none accepts, or that is
// not allowed (Runtime::device_fallback); for sparse arrays the choice is empty then.
ops::KernelChoice choose_kernel(Runtime& runtime, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                                const ops::KernelSpec& spec, Device device);

// What kernels get to see of a request for an output.
ops::Req kernel_request(const ops::OpDef& op, ops::Req req);

// Bytes of scratch memory of a call with this choice whose outputs are `out` and asked for by `req`.
size_t scratch_bytes(const ops::OpDef& op, const ops::KernelChoice& choice, std::span<const TensorView> out,
                     std::span<const ops::Req> req);

}  // namespace loomix
