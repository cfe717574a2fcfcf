// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "ndarray/ndarray.h"

namespace loomix {

// One stretch of a device's memory that programs use run after run, each value of theirs at a fixed offset and with a
// Var of its own. Values that share bytes have different Vars, so a run must not start before the one before it is
// through with the block: its first tasks wait for the Vars that this one left in `pending`.
class ArenaBlock final : public RefCounted {
 public:
  ArenaBlock(engine::Engine& engine, Device device, int64_t bytes);
  int64_t bytes() const { return memory_->bytes(); }
  Device device() const { return memory_->device(); }
  // An array over the block's bytes from `offset`, with a new Var.
  NDArray place(int64_t offset, const Shape& shape, DType dtype);

  using Vars = std::shared_ptr<const std::vector<engine::VarRef>>;
  Vars pending;      // of the last run; null before the first
  uint64_t run = 0;  // counts runs: a later one than its own tells a backward pass that it is late

 private:
  Ref<Storage> memory_;
};

// The blocks that executors share, one a device; a larger one takes the place of one that is too small.
class Arena final : public RefCounted {
 public:
  Ref<ArenaBlock> block(engine::Engine& engine, Device device, int64_t bytes);
  int64_t bytes() const;

 private:
  std::map<Device, Ref<ArenaBlock>> blocks_;
};

}  // namespace loomix
