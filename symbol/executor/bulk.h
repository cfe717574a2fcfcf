// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "engine/device/device_runtime.h"
#include "engine/task_parts.h"
#include "symbol/executor/branch_plan.h"
#include "symbol/executor/op_call.h"

namespace loomix {

// Fills the memory of a dense array with 0xFF bytes, within a task on its device.
void poison(const NDArray& array, engine::RunContext& context);

// Calls on one device that the engine runs one after the other as one task. Errors, traces and times are those of the calls, as if each
// were pushed by itself; but that a device which records work gets stretches of calls as one piece from the third run on. In the first
// runs libraries make their handles and choose algorithms, which cannot be recorded. In these pieces, branches run side by side where
// that seems to pay; the run before goes to the same streams, as handles belong to one each.
class Bulk final : public RefCounted {
 public:
  struct Part {
    Ref<OpCall> call;
    uint64_t random_offset;              // of its numbers, in those of a run
    std::vector<NDArray> poisoned = {};  // for tests: what it is about to overwrite is filled with 0xFF bytes
  };
  // `own`, sorted: Vars that nothing but these calls uses. The engine need not know them. `streams`: of a device, for branches.
  // `before`, if any, is what it takes the place of: calls of the same operators, on other arrays or with other attributes. What is
  // recorded of those is renewed.
  static Ref<Bulk> make(engine::Engine& engine, std::vector<Part> parts, std::span<engine::Var* const> own,
                        int streams, const Bulk* before = nullptr);
  // `factor`: see ops::StepFactor; none: 1.
  static Ref<Bulk> make_updates(engine::Engine& engine, std::vector<Part> parts, const Bulk* before,
                                const NDArray& factor);

  // Pushes one run. May be called again at once.
  void push(ops::RandomStream random);

 private:
  Bulk() = default;
  struct Prepared {
    const OpCall* call;
    uint64_t random_offset;
    engine::Describe describe;  // keeps the call alive
    std::vector<NDArray> poisoned;
  };
  // Neighbours among the calls. `same`: they put the same work on their queue in each run.
  struct Stretch {
    size_t first, end;
    bool same;
    bool is_refused = false;  // the device cannot record it
    Ref<engine::RecordedWork> work = {};
    uint64_t version = 0;                       // of the calls that were recorded
    std::vector<Ref<const OpCall>> calls = {};  // these, or others that do the same
    std::vector<BranchPlace> places = {};
    const void* factor = nullptr;
  };
  class OnBranches;
  // Of the one worker that issues to the device.
  struct Recorded : RefCounted {
    std::vector<Stretch> stretches;
    int runs = 0;
  };
  static constexpr int kRunsBefore = 2;
  static constexpr size_t kLeastRecorded = 3;  // fewer are no slower one by one

  void find_stretches();
  void follow(const Bulk& before);
  std::vector<BranchPlace> plan(const Stretch& stretch, engine::Engine& engine, int streams) const;
  void sort_tags();
  void run(engine::RunContext& context, engine::TaskParts& task, ops::RandomStream random);
  void run_parts(const Stretch& stretch, std::span<const BranchPlace> places, engine::RunContext& context,
                 engine::TaskParts& task, ops::RandomStream random) const;
  void run_part(const Prepared& part, engine::RunContext& context, engine::TaskParts& task,
                ops::RandomStream random) const;
  bool launch(Stretch& stretch, std::span<const BranchPlace> places, engine::RunContext& context,
              engine::TaskParts& task) const;
  bool record(Stretch& stretch, std::span<const BranchPlace> places, engine::RunContext& context) const;
  void issue(const Stretch& stretch, std::span<const size_t> calls, std::span<const BranchPlace> places,
             engine::RunContext& context, engine::WorkParts& parts) const;
  std::vector<size_t> changed_calls(const Stretch& stretch, std::span<const BranchPlace> places) const;
  bool renew_calls(const Stretch& stretch, std::span<const size_t> calls, engine::RunContext& context) const;
  const float* factor_data() const { return factor_.is_none() ? nullptr : factor_.view().as<float>(); }
  std::string describe() const;

  std::vector<Prepared> parts_;
  std::vector<engine::Tag> tags_;  // of all calls, sorted by Var
  Ref<Recorded> recorded_;
  std::vector<std::vector<BranchPlace>> places_;  // of the calls of each stretch, if some run side by side
  uint64_t version_ = 0;                          // of the calls, among those that have recorded_ in common
  NDArray factor_;
  engine::RunsParts* engine_ = nullptr;
  Device device_;
  uint32_t cost_ns_ = 0;
};

}  // namespace loomix
