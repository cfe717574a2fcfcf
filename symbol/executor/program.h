// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "symbol/executor/arena.h"
#include "symbol/executor/bulk.h"
#include "symbol/executor/explanation.h"
#include "symbol/executor/op_call.h"
#include "symbol/passes/plan.h"

namespace loomix {

struct PlanOptions {
  bool inplace = true;
  bool co_share = true;
  memplan::Ordering ordering = memplan::Ordering::balance;
  bool merge_equal = true;    // operators that compute the same from the same
  bool fold_norm = true;      // batch normalisations into weights, for prediction
  bool choose_layout = true;  // images in blocks of channels, for prediction
  bool fuse = true;           // elementwise operators into one pass over memory
  // Short operators that may be one task of the engine: in passes for prediction, and in training. 1: none are joined.
  int bulk_inference = 64, bulk_forward = 64, bulk_backward = 64;
  int captured =
      4096;  // operators on a device that may be one task, which is recorded and launched as one piece; 1: each is a task
  // Such a task of a backward pass ends where gradients of as many bytes leave it, if stores bring them to other places.
  int64_t leaving_bytes = int64_t{4} << 20;
  int streams = 4;  // of a device, on which branches of such a piece run side by side; 1: one after the other
  double recompute_share = 0.01;  // of a pass's time, for what gradients then need not keep
  int64_t memory_budget = 0;      // bytes that the plan may take, at the price of recomputing; 0: any
  bool own_memory = false;        // every value in memory of its own: for monitors that look at values later
  bool poison =
      false;  // fill what a call is about to overwrite with 0xFF bytes, so that tests notice mistakes
};

// Where the random numbers of one run of a program stand: a stream for each device that draws.
using RandomRun = std::vector<ops::RandomStream>;

// What a graph is compiled with: each array belongs to one value.
struct Bindings {
  std::vector<std::pair<ValueRef, NDArray>> arrays;     // variables, outputs, gradients
  std::vector<std::pair<ValueRef, ops::Req>> requests;  // where it is not `write`
};

// A graph that is ready to run: kernels chosen, memory planned, tags prepared. Nodes with `forward` set make up the
// second segment. Running pushes the calls in order and allocates nothing.
class Program final : public RefCounted {
 public:
  // Chooses kernels and plans; no memory is taken before make_ready().
  Program(Runtime& runtime, Graph graph, Inference known, std::vector<Device> devices, Bindings bindings,
          bool training, const PlanOptions& options);
  // Takes memory from the arena and prepares the calls; once, before all else.
  void make_ready(Arena& arena);

  // Waits, in the engine, for what still uses the arena; then pushes the forward segment. Random numbers are addressed by
  // (seed, node, run): with the `replay` of an earlier run, of this program or of one with the same random nodes, the nodes
  // draw the same again, and visitors are not called.
  void run_forward(const RandomRun* replay = nullptr);
  // The address of the last run.
  const RandomRun& random() const { return random_; }
  // Whether the arena still holds what the forward segment left there for the backward one.
  bool keeps_values() const;
  // While keeps_values(); it uses them up.
  void run_backward();

  // Puts another array of the same shape, type and device in the place of one of Bindings, for runs from now on. What is
  // pushed already keeps the old one.
  void replace(ValueRef value, const NDArray& array);
  // Steps of the forward segment that could run side by side, by number; whether these are to have one core each; what the
  // program computes, as a short text.
  std::vector<uint32_t> find_branches() const;
  void run_branches_apart(std::span<const uint32_t> branches, bool apart);
  std::string fingerprint() const;
  // Which segment uses the elements of a value, and how. Labels of a loss are read by its gradient only. What an operator of
  // the backward segment changes, such as moving averages, does not count as read there.
  bool forward_reads(ValueRef value) const;
  bool backward_reads(ValueRef value) const;
  bool backward_changes(ValueRef value) const;

  // Called around the push of each call, with its inputs before and its outputs after.
  using Visit = std::function<void(NodeId, const Graph&, std::span<const NDArray>)>;
  void set_visitors(Visit before, Visit after) {
    before_ = std::move(before);
    after_ = std::move(after);
  }

  const Graph& graph() const { return graph_; }
  const GraphPlan& plan() const { return plan_; }
  int num_calls() const { return static_cast<int>(steps_.size()); }
  int num_tasks() const { return static_cast<int>(units_.size()); }
  // What was compiled; before make_ready() without what only the calls know.
  ProgramReport report() const;
  // Plans anew, each way of sharing with and without the other.
  PlannedBytes compare_sharing() const;

 private:
  struct Step {
    NodeId node;
    Ref<OpCall> call;        // none: a transfer between devices
    int from = -1, to = -1;  // of a transfer: values
    std::vector<engine::Var*> order = {};
    bool outdated = false;       // an array was replaced since the call was made
    bool is_loose = false;       // arrays of it are replaced, so that it must not be part of what is recorded
    uint32_t unit = 0;           // in units_
    bool on_one_core = false;    // though it could use several
    size_t random_device = 0;    // in random_devices_
    uint64_t random_offset = 0;  // of its numbers, in those of the run on its device
    std::vector<engine::Tag> poison_tags;  // of the poisoning task before it, if any
    std::vector<NDArray> poisoned;
  };
  // Steps that are one task of the engine.
  struct Unit {
    uint32_t first, end;                 // in steps_
    Ref<Bulk> bulk = {};                 // of several steps
    std::vector<engine::Var*> own = {};  // that nothing else uses, sorted
    bool outdated = false;               // a step of it is
    size_t random_device = 0;            // in random_devices_, if there are any
  };
  void make_steps();
  void make_units();
  int64_t leaving_bytes(NodeId id) const;
  bool records_work(NodeId id) const;
  void make_bulk(Unit& unit) const;
  bool renew_bulk(Unit& unit);
  std::vector<engine::Var*> planned_vars() const;
  void find_own_vars();
  void make_call(Step& step);
  void place_values(NodeId id);
  void place(NodeId id, int value);
  NDArray view_of(const NDArray& root, int value) const;
  void add_poison(Step& step, std::span<const NDArray* const> in) const;
  void find_gates();
  ProgramReport::Call report_call(NodeId id) const;
  ProgramReport::Value report_value(NodeId id, int i) const;
  void leave_out_unread();
  void choose_kernels();
  GraphPlan make_plan(bool inplace, bool co_share) const;
  void find_users();
  template <class Uses>  // bool(const Node&, int input)
  bool any_use(size_t first_step, size_t end_step, ValueRef value, Uses uses) const;
  void address_random_numbers(Step& step);
  void push(Unit& unit, bool visit = true);
  void push(Step& step, bool visit);
  void push_gate();
  void end_segment(int segment);

  ArenaBlock& block_of(NodeId id) const;
  int scratch_value(NodeId id) const { return index_.size() + id; }

  Runtime& runtime_;
  const bool training_;
  const PlanOptions options_;
  Graph graph_;
  const ValueIndex index_;
  Inference known_;
  std::vector<Device> devices_;
  std::vector<ops::KernelChoice> choices_;  // one a node
  std::vector<int64_t> scratch_bytes_;      // one a node
  std::vector<char> pinned_;                // one a value: memory of its own
  Bindings bindings_;                       // until make_ready()
  GraphPlan plan_;
  std::vector<Ref<ArenaBlock>> blocks_;
  std::vector<uint64_t> runs_;  // of each block: this program's last run
  std::vector<NDArray>
      arrays_;  // one a value, then one a node for its scratch memory; none where there is none
  std::vector<ops::Req> requests_;  // one a value
  std::vector<Step> steps_;
  std::vector<std::vector<uint32_t>>
      users_;                       // steps that use a value, or a view of it; made when first needed
  std::vector<uint64_t> replaced_;  // before which pass values' arrays were last, as long as users_; 0: never
  uint64_t pass_ = 1;               // the next one
  size_t first_backward_ = 0;       // in steps_
  std::vector<Unit> units_;         // all steps, in their order
  size_t first_backward_unit_ = 0;
  bool units_changed_ = false;            // steps became loose: units are made anew before the next run
  bool ends_early_ = false;               // units were made when gradients travelled
  std::vector<engine::VarRef> starts_;    // written by the steps that nothing planned precedes
  ArenaBlock::Vars ends_[2];              // what must be through before the arena is free, after each segment
  std::vector<engine::Tag> own_gate_[2];  // gate after a run of this program that ended with that segment
  std::vector<Device> random_devices_;    // that draw
  std::vector<uint64_t> random_numbers_;  // of a run, both segments, on each of them
  RandomRun random_;                      // of the last run
  int last_segment_ = 0;
  bool forward_ran_ = false;  // and no backward since
  Visit before_, after_;
};

}  // namespace loomix
