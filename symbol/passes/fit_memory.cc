// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/fit_memory.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "symbol/passes/plan.h"

namespace loomix {
namespace {

constexpr size_t kMostTogether = 12;   // nodes of one candidate
constexpr int kMostNodes = 1'000'000;  // of all graphs that are tried in one search
constexpr int64_t kMostSegments = 100;

size_t at(NodeId id) { return static_cast<size_t>(id); }

}  // namespace

MemoryFitter::MemoryFitter(const ops::OpTable& table, const Graph& graph, const Inference& known,
                           const engine::DeviceTraits& device)
    : table_(table),
      device_(device),
      given_(graph),
      known_(known),
      index_(graph),
      most_tries_(std::clamp(kMostNodes / std::max(graph.size(), 1), 24, 400)),
      is_output_(index_.size(), false) {
  for (const ValueRef& output : graph.outputs) is_output_[index_[output]] = true;
  const std::vector<char> mutated = mutated_variables(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    droppable_.push_back(can_drop(id, mutated));
    dropped_.push_back(droppable_.back() && is_view(id));  // a view of what is kept costs nothing
  }
  barred_.assign(dropped_.size(), false);
  best_ = dropped_;
  rebuild();
  measure();
  best_bound_ = bound_;
  measure_given();
}

// While nothing but views is dropped.
void MemoryFitter::measure_given() {
  node_bytes_.assign(at(given_.size()), 0);
  crossing_bytes_.assign(at(given_.size()) + 1, 0);
  for (NodeId id = 0; id < given_.size(); ++id) {
    for (int i = 0; i < given_[id].num_values(); ++i) {
      const Life& life = lives_[index_(id, i)];
      if (given_[id].is_variable() || is_output_[index_(id, i)]) continue;
      if (life.first_backward >= 0) node_bytes_[at(id)] += bytes({id, i});
    }
  }
  std::vector<NodeId> last_reader(static_cast<size_t>(index_.size()), -1);
  for (NodeId id = 0; id < given_.size() && given_[id].forward < 0; ++id) {
    for (const ValueRef& input : given_.inputs(id)) last_reader[index_[input]] = id;
  }
  for (NodeId id = 0; id < given_.size() && given_[id].forward < 0; ++id) {
    if (given_[id].is_variable() || is_view(id)) continue;
    for (int i = 0; i < given_[id].num_values(); ++i) {
      const NodeId last = last_reader[index_(id, i)];
      if (last < 0) continue;
      crossing_bytes_[at(id) + 1] += bytes({id, i});
      crossing_bytes_[at(last) + 1] -= bytes({id, i});
    }
  }
  std::partial_sum(crossing_bytes_.begin(), crossing_bytes_.end(), crossing_bytes_.begin());
}

bool MemoryFitter::can_drop(NodeId id, const std::vector<char>& mutated) const {
  const Node& node = given_[id];
  if (!node.op || node.forward >= 0 || node.held) return false;
  for (int i = 0; i < node.num_values(); ++i) {
    if (is_output_[index_(id, i)]) return false;
  }
  if (!node.op->again && !node.op->is_repeatable()) return false;
  return std::ranges::none_of(remaking_inputs(id),
                              [&](const ValueRef& input) { return mutated[at(input.node)]; });
}

bool MemoryFitter::is_view(NodeId id) const {
  const Node& node = given_[id];
  return node.op && !node.op->identity.empty() && node.num_values() == 1;
}

bool MemoryFitter::is_dropped(ValueRef value) const {
  return dropped_[at(value.node)] && (value.index == 0 || !given_[value.node].op->again);
}

const ops::OpDef& MemoryFitter::remaking_op(NodeId id) const {
  const ops::OpDef& op = *given_[id].op;
  return op.again ? table_.at(op.again->op) : op;
}

std::vector<ValueRef> MemoryFitter::remaking_inputs(NodeId id) const {
  const auto inputs = given_.inputs(id);
  const ops::OpDef& op = *given_[id].op;
  if (!op.again) return {inputs.begin(), inputs.end()};
  std::vector<ValueRef> values;
  for (const ops::GradOperand& operand : op.again->operands) {
    if (operand.optional && operand.i >= static_cast<int>(inputs.size())) continue;
    if (operand.value == &ops::GradBuilder::in) values.push_back(inputs[static_cast<size_t>(operand.i)]);
    else if (operand.value == &ops::GradBuilder::out) values.push_back({id, operand.i});
    else values.push_back(given_.saved(id, operand.i));
  }
  return values;
}

double MemoryFitter::cost_ns(NodeId id) const {
  if (is_view(id)) return 0;
  std::vector<TensorView> views;
  const auto add = [&](ValueRef value) {
    views.push_back({nullptr, known_.dtypes[index_[value]], known_.shapes[index_[value]]});
  };
  const std::vector<ValueRef> inputs = remaking_inputs(id);
  std::ranges::for_each(inputs, add);
  const ops::OpDef& op = remaking_op(id);
  const int outputs = op.count_outputs(*given_[id].attrs);
  for (int i = 0; i < outputs; ++i) add({id, i});
  const std::vector<ops::Req> requests(static_cast<size_t>(outputs), ops::Req::write);
  const std::span<const TensorView> all(views);
  return device_.time_ns(op.estimate_ns(
      *given_[id].attrs, {all.first(inputs.size()), all.subspan(inputs.size()), requests, true}));
}

int64_t MemoryFitter::bytes(ValueRef value) const {
  const int i = index_[value];
  return known_.shapes[i].size() * static_cast<int64_t>(size_of(known_.dtypes[i]));
}

void MemoryFitter::rebuild() {
  now_ = {};
  now_.graph.reserve(given_.size());
  now_.new_id.assign(at(given_.size()), -1);
  now_.remade.assign(at(given_.size()), -1);
  for (NodeId id = 0; id < given_.size(); ++id) {
    if (given_[id].forward >= 0) add_copies(id);
    add_given(id);
  }
  for (const ValueRef& output : given_.outputs) now_.graph.outputs.push_back(moved(output, false));
}

void MemoryFitter::add_given(NodeId id) {
  const Node& node = given_[id];
  std::vector<ValueRef> inputs;
  for (const ValueRef& input : given_.inputs(id)) inputs.push_back(moved(input, node.forward >= 0));
  const NodeId made = now_.new_id[at(id)] = now_.graph.add_copy(node, inputs);
  if (node.forward >= 0) now_.graph[made].forward = now_.new_id[at(node.forward)];
  note_values(made, id, false);
}

// Of all that a gradient reads and that is dropped and not yet made again, with what that needs in turn.
void MemoryFitter::add_copies(NodeId reader) {
  std::vector<NodeId> wanted, to_visit;
  const auto want = [&](const ops::OpDef& op, NodeId id, std::span<const ValueRef> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const NodeId from = inputs[i].node;
      if (!is_dropped(inputs[i]) || now_.remade[at(from)] >= 0) continue;
      if (op.is_shape_only(*given_[id].attrs, static_cast<int>(i))) continue;
      if (std::ranges::find(wanted, from) != wanted.end()) continue;
      wanted.push_back(from);
      to_visit.push_back(from);
    }
  };
  want(*given_[reader].op, reader, given_.inputs(reader));
  while (!to_visit.empty()) {
    const NodeId id = to_visit.back();
    to_visit.pop_back();
    want(remaking_op(id), id, remaking_inputs(id));
  }
  std::ranges::sort(wanted);
  const NodeId forward = now_.new_id[at(given_[reader].forward)];
  for (const NodeId id : wanted) {
    std::vector<ValueRef> inputs;
    for (const ValueRef& input : remaking_inputs(id)) inputs.push_back(moved(input, true));
    const NodeId made = now_.remade[at(id)] =
        now_.graph.add_op(remaking_op(id), given_[id].attrs, inputs, given_[id].info, forward);
    note_values(made, id, true);
  }
}

// What is known of the values of a node just made.
void MemoryFitter::note_values(NodeId made, NodeId given, bool is_copy) {
  const int count = now_.graph[made].num_values();
  LOOMIX_INTERNAL_CHECK(count <= given_[given].num_values());
  for (int i = 0; i < count; ++i) {
    const int value = index_(given, i);
    now_.known.shapes.push_back(known_.shapes[value]);
    now_.known.dtypes.push_back(known_.dtypes[value]);
    now_.given_value.push_back(is_copy ? -1 : value);
  }
}

ValueRef MemoryFitter::moved(ValueRef value, bool prefer_copy) const {
  const NodeId copy = now_.remade[at(value.node)];
  if (prefer_copy && copy >= 0 && is_dropped(value)) return {copy, value.index};
  return {now_.new_id[at(value.node)], value.index};
}

void MemoryFitter::measure() {
  const Graph& graph = now_.graph;
  const ValueIndex index(graph);
  std::vector<char> pinned(index.size(), false);
  for (const ValueRef& output : graph.outputs) pinned[index[output]] = true;
  const std::vector<Device> devices(at(graph.size()), Device::cpu());
  const GraphPlan plan = plan_memory(graph, now_.known, devices, pinned, {},
                                     {.co_share = false, .ordering = memplan::Ordering::extend});
  bound_ = plan.memory.lower_bound();
  peak_ = plan.memory.arenas.empty() ? 0 : plan.memory.arenas[0].peak;
  find_lives(plan.root);
}

void MemoryFitter::find_lives(const std::vector<int>& roots) {
  const Graph& graph = now_.graph;
  const ValueIndex index(graph);
  lives_.assign(index_.size(), {});
  for (NodeId id = 0; id < graph.size(); ++id) {
    const auto inputs = graph.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (graph[id].op->is_shape_only(*graph[id].attrs, static_cast<int>(i))) continue;
      const int value = now_.given_value[roots[index[inputs[i]]]];
      if (value < 0) continue;
      Life& life = lives_[value];
      if (graph[id].forward < 0) {
        life.last_forward = id;
        continue;
      }
      if (life.first_backward < 0) life.first_backward = id;
      life.last_backward = id;
    }
  }
}

// Whether only gradients behind the peak still need it.
bool MemoryFitter::crosses_peak(ValueRef value) const {
  const Life& life = lives_[index_[value]];
  return now_.new_id[at(value.node)] < peak_ && life.last_forward < peak_ && life.first_backward > peak_ &&
         !is_output_[index_[value]];
}

// A node, and what would have to be kept for its copy alone but can be dropped, too.
MemoryFitter::Candidate MemoryFitter::candidate(NodeId id) const {
  Candidate result;
  std::vector<NodeId> seen{id}, to_visit{id};
  while (!to_visit.empty()) {
    const NodeId node = to_visit.back();
    to_visit.pop_back();
    result.cost_ns += cost_ns(node);
    if (!dropped_[at(node)]) {
      result.nodes.push_back(node);
      const int values = given_[node].op->again ? 1 : given_[node].num_values();
      for (int i = 0; i < values; ++i) {
        if (crosses_peak({node, i})) result.bytes += bytes({node, i});
      }
    }
    const std::vector<ValueRef> inputs = remaking_inputs(node);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueRef input = inputs[i];
      if (given_[input.node].is_variable() || is_output_[index_[input]] ||
          remaking_op(node).is_shape_only(*given_[node].attrs, static_cast<int>(i)))
        continue;
      if (std::ranges::find(seen, input.node) != seen.end()) continue;
      const bool is_there =
          is_dropped(input) ? now_.remade[at(input.node)] >= 0 : lives_[index_[input]].last_backward > peak_;
      if (is_there) continue;
      if (is_dropped(input) || (droppable_[at(input.node)] && seen.size() < kMostTogether)) {
        seen.push_back(input.node);
        to_visit.push_back(input.node);
      } else {
        result.bytes -= bytes(input);
      }
    }
  }
  return result;
}

// The first of each candidate that was dropped.
std::vector<NodeId> MemoryFitter::drop_some(int64_t wanted) {
  std::vector<Candidate> candidates;
  for (NodeId id = 0; id < given_.size(); ++id) {
    if (!droppable_[at(id)] || dropped_[at(id)] || barred_[at(id)] || !crosses_peak({id, 0})) continue;
    Candidate found = candidate(id);
    if (found.bytes > 0) candidates.push_back(std::move(found));
  }
  std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    return a.cost_ns * static_cast<double>(b.bytes) < b.cost_ns * static_cast<double>(a.bytes);
  });
  int64_t saved = 0;
  std::vector<NodeId> heads;
  for (const Candidate& candidate : candidates) {
    if (saved > wanted) break;
    if (std::ranges::any_of(candidate.nodes, [&](NodeId id) { return dropped_[at(id)]; })) continue;
    for (const NodeId id : candidate.nodes) dropped_[at(id)] = true;
    saved += candidate.bytes;
    heads.push_back(candidate.nodes.front());
  }
  return heads;
}

// What is dropped changes what the others save: so a part at a time, and a smaller one where that was too much.
void MemoryFitter::drop_greedily(int64_t goal) {
  int64_t part = 3;
  for (int round = 0; bound_ > goal && round < most_tries_; ++round) {
    const std::vector<char> before = dropped_;
    const int64_t bound_before = bound_;
    const std::vector<NodeId> heads = drop_some((bound_ - goal) / part);
    if (heads.empty()) return;
    use(dropped_);
    if (bound_ <= bound_before) continue;
    if (heads.size() == 1) barred_[at(heads[0])] = true;
    part *= 4;
    use(before);
  }
}

void MemoryFitter::drop_segments(int64_t goal) {
  int64_t total = 0;
  for (const int64_t bytes : node_bytes_) total += bytes;
  for (int64_t segments = 2; segments <= kMostSegments && bound_ > goal; segments += (segments + 1) / 2)
    cut(total / segments);
}

// Into segments of at most so many bytes that gradients need. They end where the fewest bytes cross, in their second half.
void MemoryFitter::cut(int64_t segment_bytes) {
  std::vector<NodeId> ends;
  NodeId best = -1;
  int64_t held = 0, held_at_best = 0;
  for (NodeId id = 0; id < given_.size() && given_[id].forward < 0; ++id) {
    held += node_bytes_[at(id)];
    if (held > segment_bytes && best >= 0) {
      ends.push_back(best);
      held -= held_at_best;
      best = -1;
    }
    if (held < segment_bytes / 2 || node_bytes_[at(id)] == 0) continue;
    if (best >= 0 && crossing_bytes_[at(best) + 1] < crossing_bytes_[at(id) + 1]) continue;
    best = id;
    held_at_best = held;
  }
  std::vector<char> dropped = droppable_;
  const auto keep = [&](NodeId id) {
    if (!is_view(id)) dropped[at(id)] = false;
  };
  for (NodeId id = 0; id < given_.size() && given_[id].forward < 0; ++id) {
    if (ends.empty() || id > ends.back()) keep(id);
    for (const ValueRef& input : given_.inputs(id)) {
      const auto end = std::ranges::lower_bound(ends, input.node);
      if (end != ends.end() && id > *end) keep(input.node);
    }
  }
  use(std::move(dropped));
}

void MemoryFitter::use(std::vector<char> dropped) {
  dropped_ = std::move(dropped);
  rebuild();
  measure();
  if (bound_ >= best_bound_) return;
  best_bound_ = bound_;
  best_ = dropped_;
}

// The most expensive of what is dropped, as far as the bound allows.
void MemoryFitter::keep_again(int64_t goal) {
  std::vector<std::pair<double, NodeId>> costs;
  for (NodeId id = 0; id < given_.size(); ++id) {
    if (now_.remade[at(id)] >= 0 && !is_view(id)) costs.emplace_back(cost_ns(id), id);
  }
  std::ranges::sort(costs, std::greater());
  costs.resize(std::min(costs.size(), static_cast<size_t>(most_tries_)));
  std::vector<char> fitting = dropped_;
  for (const auto& [cost, id] : costs) {
    std::vector<char> fewer = fitting;
    fewer[at(id)] = false;
    use(fewer);
    if (bound_ <= goal) fitting = std::move(fewer);
  }
  use(std::move(fitting));
}

bool MemoryFitter::reduce(int64_t goal) {
  drop_greedily(goal);
  if (bound_ > goal) drop_segments(goal);
  if (bound_ <= goal) {
    keep_again(goal);
    return true;
  }
  use(best_);
  return false;
}

}  // namespace loomix
