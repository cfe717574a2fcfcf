// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/params.h"
#include "engine/engine.h"
#include "ndarray/tensor_view.h"

namespace loomix::ops {

// What to do with an output: leave it, overwrite it, overwrite it where it shares the memory of the input that the
// schema names in `inplace`, or add to what is there. Kernels see `null`, `write` and, if the schema says
// `accumulates()`, `add`; for the others the executor adds through a temporary.
enum class Req : uint8_t { null, write, inplace, add };

// A stretch of the device generator's counter, reserved at push: a kernel draws number i from Philox(seed, offset + i),
// so that results do not depend on threads.
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

// Everything that a kernel gets. Positions are those of the schema: inputs, outputs (visible and hidden), saved values.
struct KernelArgs {
  std::span<const TensorView> in;
  std::span<const TensorView> out;
  std::span<const TensorView> saved;
  std::span<const Req> req;  // one an output
  std::span<std::byte> workspace;
  RandomStream random;
  bool training = false;
  DeferredOutputs* deferred = nullptr;  // of data-dependent operators; their `out` have no shape and no data
  engine::RunContext* context = nullptr;  // cores, stream; parallel_for(*args.context, ...)
};

// What kernel choice sees: shapes and types, no data.
struct KernelSpec {
  std::span<const TensorView> in;  // data is meaningless
  std::span<const TensorView> out;
  std::span<const Req> req;
  bool training = false;
};

// Yes, or no with the reason that LOOMIX_EXPLAIN=dispatch prints.
struct Support {
  const char* refusal = nullptr;
  static Support yes() { return {}; }
  static Support no(const char* reason) { return {reason}; }
  explicit operator bool() const { return refusal == nullptr; }
};

using KernelFn = void (*)(const AttrsBase& attrs, const KernelArgs& args);
using SupportFn = Support (*)(const AttrsBase& attrs, const KernelSpec& spec);

struct Kernel {
  const char* name;   // "softmax_cpu", for traces and explanations
  DeviceType device;  // cpu, gpu
  KernelFn run;
  SupportFn support = nullptr;  // null: accepts everything that inference lets through
  bool deterministic = true;
};

}  // namespace loomix::ops
