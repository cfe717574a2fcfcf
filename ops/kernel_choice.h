// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/op.h"

namespace loomix::ops {

// A kernel chosen for given attributes, shapes and types, with what it prepared: all that a run needs but memory.
struct KernelChoice {
  const Kernel* kernel = nullptr;  // null: none accepts
  Ref<const KernelState> state;    // null for kernels that prepare nothing
  size_t scratch_bytes = 0;
  double cost_ns = 0;  // on one core
  int cores = 1;       // the most that a run makes use of
};

// Who asks for a choice: the device, and the most cores that a run there may get.
struct ChoiceContext {
  DeviceType device = DeviceType::cpu;
  int cores = 1;
  const DispatchListener* listener = nullptr;
};

// Chooses and prepares for the cores that the work is worth. If no kernel accepts: throws NotImplementedError, or gives an empty choice
// where some array is sparse, since the caller may try again with dense ones.
KernelChoice prepare_kernel(const OpDef& op, const AttrsBase& attrs, const KernelSpec& spec,
                            const ChoiceContext& context);

// Prepares this one of OpDef::able_kernels.
KernelChoice prepare_kernel(const Kernel& kernel, const OpDef& op, const AttrsBase& attrs,
                            const KernelSpec& spec, const ChoiceContext& context);

// Remembers the choices that an operator's kernels prepared states for, by attributes, shapes and types. Bounded: of two
// choices for the same place the one used longer ago goes. Not thread-safe; each thread that calls operators has one.
class KernelCache {
 public:
  KernelCache();
  ~KernelCache();

  // The same result as prepare_kernel.
  KernelChoice get(const OpDef& op, const Ref<const AttrsBase>& attrs, const KernelSpec& spec,
                   const ChoiceContext& context);
  int64_t prepared() const { return prepared_; }  // how many choices were made, not found

 private:
  static constexpr size_t kSets = 256;
  static constexpr size_t kWays = 2;
  struct Entry;
  std::vector<Entry> entries_;
  uint64_t clock_ = 0;
  int64_t prepared_ = 0;
};

}  // namespace loomix::ops
