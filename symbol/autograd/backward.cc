// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ndarray/copy.h"
#include "symbol/autograd/tape.h"
#include "symbol/autograd/tape_node.h"
#include "symbol/executor/run_node.h"
#include "symbol/passes/end_pass.h"
#include "symbol/passes/gradient.h"

namespace loomix::autograd {

namespace {

// The part of the tape behind some heads, as a Graph: node `i` of the graph is `nodes[i]`, null for the constants that
// stand for inputs which were not recorded.
struct TapeGraph {
  Graph graph;
  std::vector<Ref<TapeNode>> nodes;
  std::vector<NDArray> constants;  // by graph node; none for others
  std::unordered_map<const TapeNode*, NodeId> ids;
};

Ref<const NodeInfo> info_of(const TapeNode& node) {
  if (node.name.empty()) return {};
  auto info = make_ref<NodeInfo>();
  info->name = node.name;
  return info;
}

TapeGraph build_graph(std::span<const NDArray> heads) {
  TapeGraph tape;
  const auto append = [&](Ref<TapeNode> node, NDArray constant) {
    tape.nodes.push_back(std::move(node));
    tape.constants.push_back(std::move(constant));
  };
  std::vector<ValueRef> inputs;
  for (const Ref<TapeNode>& node : reachable(heads)) {
    if (node->is_variable()) {
      tape.ids[node.get()] = tape.graph.add_variable(info_of(*node));
      append(node, {});
      continue;
    }
    inputs.clear();
    for (const TapeNode::Input& input : node->inputs) {
      if (const TapeNode* const from = node_of(input.array)) {
        inputs.push_back({tape.ids.at(from), input.array.tape_index()});
      } else {
        inputs.push_back({tape.graph.add_variable(), 0});
        append({}, input.array);
      }
    }
    tape.ids[node.get()] = tape.graph.add_op(*node->op, node->attrs, inputs, info_of(*node));
    append(node, {});
  }
  for (const NDArray& head : heads)
    tape.graph.outputs.push_back({tape.ids.at(node_of(head)), head.tape_index()});
  return tape;
}

// Runs what the gradient pass added, one operator after the other.
class BackwardRun {
 public:
  BackwardRun(Runtime& runtime, TapeGraph tape, const BackwardOptions& options)
      : runtime_(runtime), tape_(std::move(tape)), options_(options), forward_size_(tape_.graph.size()) {}

  // `head_grads` has one array a head.
  void differentiate(std::span<const NDArray> head_grads, std::span<const ValueRef> wrt) {
    Graph graph = std::move(tape_.graph);
    const std::vector<ValueRef> heads = graph.outputs;
    std::vector<ValueRef> seeds;
    for (const NDArray& array : head_grads) {
      seeds.push_back({graph.add_variable(), 0});
      seeds_.push_back(array);
    }
    GradientResult result = gradient(std::move(graph), runtime_.table(), {heads, seeds, wrt});
    tape_.graph = std::move(result.graph);
    grads_ = std::move(result.grads);
    end_pass("gradient", tape_.graph);
    count_uses();
  }

  // Runs all nodes that the gradients need. `targets` (one a wrt, may be none arrays) receive them where that saves a
  // copy; returns the gradients, none where there is none.
  std::vector<NDArray> run(std::span<const NDArray> targets, std::span<const ops::Req> reqs) {
    values_.resize(static_cast<size_t>(tape_.graph.size()));
    Storages written;
    for (const NDArray& target : targets) {
      if (!target.is_none()) written.insert(&target.storage());
    }
    const Storages read = check_values(written);
    for (size_t i = 0; i < grads_.size(); ++i) {
      if (grads_[i] && !targets[i].is_none() && !read.contains(&targets[i].storage()) &&
          !options_.create_graph)
        offer_target(grads_[i], targets[i], reqs[i]);
    }
    for (NodeId id = first_added(); id < tape_.graph.size(); ++id) {
      if (summed_.contains(id)) values_[static_cast<size_t>(id)] = {targets_.at({id, 0}).array};
      else if (uses_[static_cast<size_t>(id)] > 0) run_one(id);
    }
    for (const Ref<TapeNode>& node : updated_) node->states_updated = true;
    std::vector<NDArray> results;
    for (const ValueRef& grad : grads_) results.push_back(grad ? value(grad) : NDArray());
    return results;
  }
  // Whether `run` has written the gradient to its target.
  bool delivered(size_t i) const {
    return grads_[i] && (written_by_custom_.contains({grads_[i].node, grads_[i].index}) ||
                         targets_.contains({grads_[i].node, grads_[i].index}));
  }

  void free_tape() {
    for (const Ref<TapeNode>& node : tape_.nodes) {
      if (node && !node->is_variable()) node->clear();
    }
  }

 private:
  struct Target {
    NDArray array;
    ops::Req req;
  };

  using Storages = std::unordered_set<const Storage*>;
  using Value = std::pair<NodeId, int32_t>;

  NodeId first_added() const { return forward_size_ + static_cast<NodeId>(seeds_.size()); }

  // Counts how often each added node's values are used by added nodes that are needed themselves.
  void count_uses() {
    uses_.assign(static_cast<size_t>(tape_.graph.size()), 0);
    const auto count = [&](ValueRef value) {
      ++uses_[static_cast<size_t>(value.node)];
      if (tape_.graph[value.node].num_outputs > 1 || runs_on_caller(value.node))
        ++value_uses_[{value.node, value.index}];
    };
    for (const ValueRef& grad : grads_) {
      if (grad) count(grad);
    }
    for (NodeId id = tape_.graph.size() - 1; id >= first_added(); --id) {
      if (uses_[static_cast<size_t>(id)] == 0) continue;
      for (const ValueRef& input : tape_.graph.inputs(id)) count(input);
    }
  }

  bool runs_on_caller(NodeId id) const { return tape_.graph[id].op && tape_.graph[id].op->runs_on_caller; }

  // A value that nothing but this gradient is made of may be written where it belongs.
  void offer_target(ValueRef grad, const NDArray& target, ops::Req req) {
    if (grad.node < first_added() || (!target.is_dense() && req != ops::Req::write)) return;
    const Value value{grad.node, grad.index};
    const auto known = value_uses_.find(value);
    if ((known != value_uses_.end() ? known->second : uses_[static_cast<size_t>(grad.node)]) != 1) return;
    if (runs_on_caller(grad.node)) {
      if (req == ops::Req::write) custom_targets_.emplace(value, target);
    } else if (!sum_in(grad, target, req)) {
      targets_.emplace(value, Target{target, req});
    }
  }

  // A parameter that is used again and again has a sum of many gradients. Where their operators can add, they do so one
  // after the other at once: no array for each of them, and no pass that adds them up.
  bool sum_in(ValueRef sum, const NDArray& target, ops::Req req) {
    const Node& node = tape_.graph[sum.node];
    if (node.op != runtime_.table().core().add_many && node.op != runtime_.table().core().add) return false;
    if (size_of(target.dtype()) < 4) return false;  // a sum of halves is rounded once
    std::set<NodeId> parts;
    for (const ValueRef& part : tape_.graph.inputs(sum.node)) {
      if (part.node < first_added() || uses_[static_cast<size_t>(part.node)] != 1) return false;
      const Node& from = tape_.graph[part.node];
      if (!from.op->accumulates || from.num_outputs != 1 || !parts.insert(part.node).second) return false;
    }
    for (const NodeId part : parts) {
      targets_.emplace(Value{part, 0}, Target{target, part == *parts.begin() ? req : ops::Req::add});
    }
    targets_.emplace(Value{sum.node, 0}, Target{target, req});
    summed_.insert(sum.node);
    return true;
  }

  // Throws if a value that some gradient needs is no longer what it was, before anything is pushed. Returns those of
  // `targets` that a gradient reads: they must not be written before all have run.
  Storages check_values(const Storages& targets) const {
    Storages read;
    std::unordered_map<const Storage*, const ops::OpDef*> updated;  // by gradients further up
    for (NodeId id = first_added(); id < tape_.graph.size(); ++id) {
      if (uses_[static_cast<size_t>(id)] == 0) continue;
      const Node& node = tape_.graph[id];
      const auto inputs = tape_.graph.inputs(id);
      for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
        const ValueRef input = inputs[static_cast<size_t>(i)];
        if (input.node >= first_added() || node.op->is_shape_only(*node.attrs, i)) continue;
        const NDArray& array = stored(input);
        if (array.is_none()) continue;
        const Storage* const storage = &array.storage();
        if (targets.contains(storage)) read.insert(storage);
        if (node.op->mutates(*node.attrs, i)) continue;  // its own state
        check_unchanged(input, id);
        if (const auto at = updated.find(storage); at != updated.end()) {
          detail::throw_error<StateError>(
              "[backward] an array of shape {} is overwritten by {}, and {} needs it after that; use a copy.",
              array.shape().to_string(), at->second->name, node.op->name);
        }
      }
      for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
        const ValueRef input = inputs[static_cast<size_t>(i)];
        if (node.op->mutates(*node.attrs, i)) updated.emplace(&stored(input).storage(), node.op);
      }
    }
    return read;
  }

  // The array of a value that is there before the run.
  const NDArray& stored(ValueRef ref) const {
    if (ref.node >= forward_size_) return seeds_[static_cast<size_t>(ref.node - forward_size_)];
    const Ref<TapeNode>& node = tape_.nodes[static_cast<size_t>(ref.node)];
    return node ? node->outputs[static_cast<size_t>(ref.index)].array
                : tape_.constants[static_cast<size_t>(ref.node)];
  }

  NDArray value(ValueRef ref) const {
    if (ref.node >= first_added())
      return values_[static_cast<size_t>(ref.node)][static_cast<size_t>(ref.index)];
    NDArray array = stored(ref);
    if (ref.node < forward_size_ && options_.create_graph) {
      if (const Ref<TapeNode>& node = tape_.nodes[static_cast<size_t>(ref.node)])
        array.set_tape(node, ref.index);
    }
    return array;
  }

  void check_unchanged(ValueRef ref, NodeId user) const {
    const NodeId forward = tape_.graph[user].forward;
    if (ref.node >= forward_size_ || forward < 0 || forward >= forward_size_) return;
    const auto inputs = tape_.graph.inputs(forward);
    const TapeNode& recorded = *tape_.nodes[static_cast<size_t>(forward)];
    if (ref.node == forward) {
      const TapeNode::Output& output = recorded.outputs[static_cast<size_t>(ref.index)];
      check_version(recorded, output.array, output.version, "output", ref.index);
      return;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] != ref || recorded.op->mutates(*recorded.attrs, static_cast<int>(i))) continue;
      check_version(recorded, recorded.inputs[i].array, recorded.inputs[i].version, "input",
                    static_cast<int>(i));
    }
  }

  static void check_version(const TapeNode& node, const NDArray& array, uint64_t version, const char* kind,
                            int index) {
    if (array.is_none() || array.storage().version() == version) return;
    const std::string name =
        kind[0] == 'i' ? node.op->input_name(*node.attrs, index) : node.op->output_name(*node.attrs, index);
    detail::throw_error<StateError>(
        "[backward] {} '{}' (shape {}) of operator {}{} was overwritten after the operator ran, and its "
        "gradient needs "
        "it; write to a new array, or call backward first.",
        kind, name, array.shape().to_string(), node.op->name,
        node.name.empty() ? "" : " (" + node.name + ")");
  }

  void run_one(NodeId id) {
    const Node& node = tape_.graph[id];
    NDArrays inputs;
    for (const ValueRef& input : tape_.graph.inputs(id)) {
      const int position = static_cast<int>(inputs.size());
      inputs.push_back(value(input));
      if (node.op->mutates(*node.attrs, position)) update_once(node, inputs.back());
    }
    NDArrays& outputs = values_[static_cast<size_t>(id)];
    if (node.op->runs_on_caller) {
      outputs = run_custom(id, node, inputs);
    } else {
      outputs = run_operator(id, node, inputs);
    }
    for (const ValueRef& input : tape_.graph.inputs(id)) {
      if (--uses_[static_cast<size_t>(input.node)] == 0 && input.node >= first_added()) {
        values_[static_cast<size_t>(input.node)].clear();
      }
    }
  }

  // A second run over the same recorded call changes a copy of the state.
  void update_once(const Node& node, NDArray& state) {
    if (node.forward < 0 || node.forward >= forward_size_) return;
    const Ref<TapeNode>& recorded = tape_.nodes[static_cast<size_t>(node.forward)];
    if (recorded->states_updated) state = copy_to(state, state.device());
    else updated_.push_back(recorded);
  }

  NDArrays run_operator(NodeId id, const Node& node, const NDArrays& inputs) {
    InlineVector<const NDArray*, 4> in;
    for (const NDArray& input : inputs) in.push_back(&input);
    RunOptions options;
    if (node.forward >= 0 && node.forward < forward_size_) {
      const Ref<TapeNode>& recorded = tape_.nodes[static_cast<size_t>(node.forward)];
      if (recorded) options.node_name = recorded->name;
    }
    const auto first = targets_.lower_bound({id, 0});
    if (first == targets_.end() || first->first.first != id)
      return run_node(runtime_, *node.op, node.attrs, in, options);
    const auto count = static_cast<size_t>(node.op->count_visible_outputs(*node.attrs));
    NDArrays held(count);
    InlineVector<NDArray*, 4> out;
    InlineVector<ops::Req, 4> req;
    for (size_t i = 0; i < count; ++i) {
      const auto target = targets_.find({id, static_cast<int32_t>(i)});
      const bool here = target != targets_.end();
      if (here) held[i] = target->second.array;
      out.push_back(&held[i]);
      req.push_back(here ? target->second.req : ops::Req::write);
    }
    options.out = out;
    options.req = req;
    return run_node(runtime_, *node.op, node.attrs, in, options);
  }

  NDArrays run_custom(NodeId id, const Node& node, const NDArrays& inputs) {
    const Ref<TapeNode>& recorded = tape_.nodes[static_cast<size_t>(node.forward)];
    std::vector<NDArray> targets(recorded->inputs.size());
    for (size_t i = 0; i < targets.size(); ++i) {
      const auto known = custom_targets_.find({id, static_cast<int32_t>(i)});
      if (known != custom_targets_.end()) targets[i] = known->second.detach();
    }
    const std::vector<NDArray> grads = recorded->custom->backward(inputs, targets);
    LOOMIX_CHECK(grads.size() == recorded->inputs.size(), ValueError,
                 "[{}] its backward returned {} gradients; expected {}, one an input.", recorded->name,
                 grads.size(), recorded->inputs.size());
    NDArrays outputs;
    for (size_t i = 0; i < grads.size(); ++i) {
      const NDArray& input = recorded->inputs[i].array;
      LOOMIX_CHECK(grads[i].is_none() || grads[i].shape() == input.shape(), ShapeError,
                   "[{}] its backward returned a gradient of shape {} for input {} of shape {}.",
                   recorded->name, grads[i].shape().to_string(), i, input.shape().to_string());
      // What is not on the tape has no use for a gradient.
      outputs.push_back(grads[i].is_none() && input.tape()
                            ? zeros(input.engine(), input.shape(), input.dtype(), input.device())
                            : grads[i]);
      const bool written = !targets[i].is_none() && !grads[i].is_none() &&
                           grads[i].storage_ref() == targets[i].storage_ref() &&
                           grads[i].offset() == targets[i].offset();
      if (written) written_by_custom_.insert({id, static_cast<int32_t>(i)});
    }
    return outputs;
  }

  Runtime& runtime_;
  TapeGraph tape_;
  const BackwardOptions& options_;
  const NodeId forward_size_;
  std::vector<NDArray> seeds_;
  std::vector<ValueRef> grads_;
  std::vector<int> uses_;
  std::vector<NDArrays> values_;
  std::map<Value, Target> targets_;
  std::set<NodeId> summed_;          // sums that their parts have made
  std::map<Value, int> value_uses_;  // of nodes with several values, and of custom functions
  std::map<Value, NDArray> custom_targets_;
  std::set<Value> written_by_custom_;
  std::vector<Ref<TapeNode>> updated_;  // whose states this run changes
};

// Ones where no gradient is given for a head.
std::vector<NDArray> complete_head_grads(std::span<const NDArray> heads, std::span<const NDArray> head_grads,
                                         const BackwardOptions& options) {
  LOOMIX_CHECK(!heads.empty(), ValueError, "[backward] no heads were given.");
  LOOMIX_CHECK(head_grads.empty() || head_grads.size() == heads.size(), ValueError,
               "[backward] {} head gradients were given for {} heads.", head_grads.size(), heads.size());
  std::vector<NDArray> complete;
  for (size_t i = 0; i < heads.size(); ++i) {
    const NDArray& head = heads[i];
    LOOMIX_CHECK(head.tape(), StateError,
                 "[backward] head {} of shape {} was not recorded: no operator made it from a variable under "
                 "record().",
                 i, head.shape().to_string());
    if (i < head_grads.size() && !head_grads[i].is_none()) {
      LOOMIX_CHECK(head_grads[i].shape() == head.shape(), ShapeError,
                   "[backward] head {} has shape {}, its gradient {}; they must be equal.", i,
                   head.shape().to_string(), head_grads[i].shape().to_string());
      complete.push_back(options.create_graph ? head_grads[i] : head_grads[i].detach());
    } else {
      complete.emplace_back(head.engine(), head.shape(), head.dtype(), head.device());
      fill(complete.back(), 1);
    }
  }
  return complete;
}

NDArray call_core(Runtime& runtime, const ops::OpDef& op, std::initializer_list<const NDArray*> inputs) {
  const std::span<const NDArray* const> in(inputs.begin(), inputs.size());
  return std::move(run_node(runtime, op, runtime.table().parse(op, {}), in, {})[0]);
}

void deliver(Runtime& runtime, const NDArray& grad, const NDArray& target, ops::Req req) {
  if (req == ops::Req::write) return copy(grad, target);
  const NDArray converted = grad.dtype() == target.dtype() ? grad.detach() : cast(grad, target.dtype());
  NDArray sum = target;
  NDArray* const out = &sum;
  RunOptions options;
  options.out = {&out, 1};
  const ops::OpDef& add = *runtime.table().core().add;
  const NDArray* const in[] = {&target, &converted};
  run_node(runtime, add, runtime.table().parse(add, {}), in, options);
}

}  // namespace

void backward(Runtime& runtime, std::span<const NDArray> heads, std::span<const NDArray> head_grads,
              const BackwardOptions& options) {
  const std::vector<NDArray> seeds = complete_head_grads(heads, head_grads, options);
  const Scope scope(options.create_graph, options.train_mode);
  TapeGraph tape = build_graph(heads);
  std::vector<ValueRef> wrt;
  std::vector<NDArray> targets;
  std::vector<ops::Req> reqs;
  for (size_t id = 0; id < tape.nodes.size(); ++id) {
    const Ref<TapeNode>& node = tape.nodes[id];
    if (!node || !node->is_variable() || node->req == ops::Req::null) continue;
    wrt.push_back({static_cast<NodeId>(id), 0});
    targets.push_back(node->grad);
    reqs.push_back(node->req);
  }
  LOOMIX_CHECK(
      !wrt.empty(), StateError,
      "[backward] no variable is behind the heads; call attach_grad or mark_variables before recording.");
  BackwardRun run(runtime, std::move(tape), options);
  run.differentiate(seeds, wrt);
  const std::vector<NDArray> grads = run.run(targets, reqs);
  for (size_t i = 0; i < wrt.size(); ++i) {
    if (run.delivered(i)) continue;
    const Scope quiet(false, options.train_mode);
    if (!grads[i].is_none()) {
      deliver(runtime, grads[i], targets[i], reqs[i]);
    } else if (reqs[i] == ops::Req::write) {
      fill(targets[i], 0);
    }
  }
  if (!options.retain_graph && !options.create_graph) run.free_tape();
}

std::vector<NDArray> grad(Runtime& runtime, std::span<const NDArray> heads,
                          std::span<const NDArray> variables, std::span<const NDArray> head_grads,
                          const BackwardOptions& options) {
  const std::vector<NDArray> seeds = complete_head_grads(heads, head_grads, options);
  const Scope scope(options.create_graph, options.train_mode);
  TapeGraph tape = build_graph(heads);
  std::vector<ValueRef> wrt;
  for (size_t i = 0; i < variables.size(); ++i) {
    const TapeNode* const node = node_of(variables[i]);
    LOOMIX_CHECK(node, ValueError,
                 "[grad] variable {} takes no part in any recorded computation; mark it first.", i);
    const auto found = tape.ids.find(node);
    LOOMIX_CHECK(found != tape.ids.end(), ValueError, "[grad] the heads do not depend on variable {}.", i);
    wrt.push_back({found->second, variables[i].tape_index()});
  }
  BackwardRun run(runtime, std::move(tape), options);
  run.differentiate(seeds, wrt);
  const std::vector<NDArray> targets(wrt.size());
  const std::vector<ops::Req> reqs(wrt.size(), ops::Req::write);
  std::vector<NDArray> grads = run.run(targets, reqs);
  for (size_t i = 0; i < grads.size(); ++i) {
    const bool recorded = !grads[i].is_none() && grads[i].tape();
    if (!grads[i].is_none() && (recorded || !options.create_graph)) continue;
    // A constant, too, is recorded for derivatives of higher order: they are zero.
    NDArray zero = call_core(runtime, *runtime.table().core().zeros_like, {&variables[i]});
    grads[i] = grads[i].is_none() ? std::move(zero)
                                  : call_core(runtime, *runtime.table().core().add, {&grads[i], &zero});
  }
  if (!options.retain_graph && !options.create_graph) run.free_tape();
  return grads;
}

}  // namespace loomix::autograd
