// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/params.h"
#include "engine/engine.h"
#include "ndarray/storage.h"
#include "ndarray/tensor_view.h"

namespace loomix::ops {

class OpDef;

// What to do with an output: leave it, overwrite it, overwrite it where it shares the memory of the input that the
// schema names in `inplace`, or add to what is there. Kernels see `write` and, if the schema says
// `accumulates()`, `add`; for the others the executor adds through a temporary. Those of several outputs, and those that
// save values, see `null`, too; the others are not run where their output is not wanted, or empty.
enum class Req : uint8_t { null, write, inplace, add };

// A stretch of numbers, reserved for one run: a kernel draws number i from Philox(seed, offset + i), so that results
// do not depend on threads.
struct RandomStream {
  uint64_t seed = 0;
  uint64_t offset = 0;
};

// For operators whose outputs' shapes depend on data: the kernel says the shape and gets the place to write to. It does
// so once for each output, also for an empty one.
class DeferredOutputs {
 public:
  virtual TensorView allocate(int output, const Shape& shape) = 0;

 protected:
  ~DeferredOutputs() = default;
};

// What a kernel makes ready once for given attributes, shapes and types, and uses in each run: primitives, packed
// geometry, constants. Immutable, or safe for several runs at once. Whoever runs the kernel keeps it.
class KernelState : public RefCounted {
 public:
  size_t scratch_bytes = 0;  // that each run is given; read by the caller after preparation
  double cost_ns = -1;       // of a run on one core; negative: as the operator estimates
};

// Everything that a kernel gets. Positions are those of the schema: inputs, outputs (visible and hidden), saved values.
struct KernelArgs {
  std::span<const TensorView> in;
  std::span<const TensorView> out;
  std::span<const TensorView> saved;
  std::span<const Req> req;                     // one an output
  std::span<std::byte> scratch;                 // of the size that was asked for; 64-byte aligned, undefined
  std::span<const Ref<Storage>> storages = {};  // for sparse kernels: of inputs, then outputs
  const KernelState* state = nullptr;           // what `prepare` made
  RandomStream random;
  bool training = false;
  DeferredOutputs* deferred = nullptr;  // of data-dependent operators; their `out` have no shape and no data
  engine::RunContext* context = nullptr;  // cores, stream; parallel_for(*args.context, ...)

  // Where output i is written; null if nobody wants it.
  template <class T>
  T* wanted(size_t i) const {
    return req[i] == Req::null ? nullptr : out[i].mutable_as<T>();
  }
};

// What choice and preparation see: shapes, types and storage types, no data.
struct KernelSpec {
  std::span<const TensorView> in;  // data is meaningless
  std::span<const TensorView> out;
  std::span<const Req> req;
  bool training = false;
  int cores = 1;                             // the most that one run may get
  std::span<const StorageType> stypes = {};  // of inputs, then outputs; empty: all are dense

  StorageType in_stype(size_t i) const { return stypes.empty() ? StorageType::dense : stypes[i]; }
  StorageType out_stype(size_t i) const {
    return stypes.empty() ? StorageType::dense : stypes[in.size() + i];
  }
};

// Yes, or no with the reason that LOOMIX_EXPLAIN=dispatch prints. `slower`: it could run, but another one is thought to be
// faster; measurements may overrule that.
struct Support {
  const char* refusal = nullptr;
  bool is_able = true;
  static Support yes() { return {}; }
  static Support no(const char* reason) { return {reason, false}; }
  static Support slower(const char* reason) { return {reason}; }
  explicit operator bool() const { return refusal == nullptr; }
};

using KernelFn = void (*)(const AttrsBase& attrs, const KernelArgs& args);
// The run goes on after the call returns and ends with `completion`, from any thread. `args` and all that it points to,
// but its context, live until then.
using AsyncKernelFn = void (*)(const AttrsBase& attrs, const KernelArgs& args, engine::Completion completion);
using SupportFn = Support (*)(const AttrsBase& attrs, const KernelSpec& spec);
using PrepareFn = Ref<const KernelState> (*)(const OpDef& op, const AttrsBase& attrs, const KernelSpec& spec);
using ScratchFn = size_t (*)(const AttrsBase& attrs, const KernelSpec& spec);

struct Kernel {
  const char* name = nullptr;           // "softmax_cpu", for traces and explanations
  DeviceType device = DeviceType::cpu;  // cpu, gpu
  KernelFn run = nullptr;               // one of the two
  AsyncKernelFn run_async = nullptr;    //
  SupportFn support = nullptr;          // null: accepts everything that inference lets through
  PrepareFn prepare = nullptr;          // may be slow: it is called once for each geometry
  ScratchFn scratch = nullptr;          // of a kernel without state: bytes that each run needs
  bool sparse = false;                  // takes other storage types than dense; `support` says which
  bool updates = false;                 // output 0 is input 0, which it changes; the caller copies if need be
  bool deterministic = true;
};

}  // namespace loomix::ops
