// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "engine/task_parts.h"
#include "symbol/executor/op_call.h"

namespace loomix {

// Fills the memory of a dense array with 0xFF bytes, within a task on its device.
void poison(const NDArray& array, engine::RunContext& context);

// Calls on one host device that the engine runs one after the other as one task. Errors, traces and times are those of the calls,
// as if each were pushed by itself.
class Bulk final : public RefCounted {
 public:
  struct Part {
    Ref<OpCall> call;
    uint64_t random_offset;              // of its numbers, in those of a run
    std::vector<NDArray> poisoned = {};  // for tests: what it is about to overwrite is filled with 0xFF bytes
  };
  // `own`, sorted: Vars that nothing but these calls uses. The engine need not know them.
  static Ref<Bulk> make(engine::Engine& engine, std::vector<Part> parts, std::span<engine::Var* const> own);

  // Pushes one run. May be called again at once.
  void push(ops::RandomStream random);

 private:
  Bulk() = default;
  void run(engine::RunContext& context, engine::TaskParts& task, ops::RandomStream random) const;
  std::string describe() const;

  struct Prepared {
    const OpCall* call;
    uint64_t random_offset;
    engine::Describe describe;  // keeps the call alive
    std::vector<NDArray> poisoned;
  };
  std::vector<Prepared> parts_;
  std::vector<engine::Tag> tags_;  // of all calls, sorted by Var
  engine::RunsParts* engine_ = nullptr;
  Device device_;
  uint32_t cost_ns_ = 0;
};

}  // namespace loomix
