// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/program.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "engine/device/device_runtime.h"
#include "ndarray/copy.h"
#include "symbol/passes/place.h"
#include "symbol/tuning/tuner.h"

// How a run is ordered. Within a run every value has a Var, and the plan lets values share bytes only where the tags
// already order them (or adds `use` tags for the edges that it asks for). Between runs that does not hold: the first
// writer of some bytes knows nothing of their last reader in the run before. So a run that uses an arena begins with a
// gate, one empty task that uses exclusively the Vars that the run before left pending, those of values after which
// nothing in the arena comes, and the Vars that the first writers of this run write.
namespace loomix {
namespace {

void add_uses(std::span<const engine::VarRef> vars, std::unordered_set<engine::Var*>& seen,
              std::vector<engine::Tag>& tags) {
  for (const engine::VarRef& var : vars) {
    if (seen.insert(var.get()).second) tags.push_back({var.get(), engine::Access::use});
  }
}

}  // namespace

Program::Program(Runtime& runtime, Graph graph, Inference known, std::vector<Device> devices,
                 Bindings bindings, bool training, const PlanOptions& options)
    : runtime_(runtime),
      training_(training),
      options_(options),
      graph_(std::move(graph)),
      index_(graph_),
      known_(std::move(known)),
      devices_(std::move(devices)),
      bindings_(std::move(bindings)) {
  pinned_.assign(index_.size(), options.own_memory);
  for (int value = 0; value < index_.size(); ++value) {
    if (known_.stype(value) != StorageType::dense) pinned_[value] = true;  // only its task knows its size
  }
  for (const auto& [value, array] : bindings_.arrays) pinned_[index_[value]] = true;
  requests_.assign(index_.size(), ops::Req::write);
  for (const auto& [value, request] : bindings_.requests) requests_[index_[value]] = request;
  if (!options.own_memory) leave_out_unread();  // a monitor reads all
  choose_kernels();
  plan_ = make_plan(options.inplace, options.co_share);
}

void Program::make_ready(Arena& arena) {
  for (const memplan::Arena& needed : plan_.memory.arenas) {
    blocks_.push_back(arena.block(runtime_.engine(), needed.device, needed.bytes));
  }
  runs_.resize(blocks_.size());
  make_steps();
  find_gates();
  make_units();
  bindings_ = {};
}

// Hidden outputs are for gradients: without readers they are neither computed nor given memory.
void Program::leave_out_unread() {
  std::vector<char> read(index_.size(), false);
  for (const ValueRef& output : graph_.outputs) read[index_[output]] = true;
  for (NodeId id = 0; id < graph_.size(); ++id) {
    for (const ValueRef& input : graph_.inputs(id)) read[index_[input]] = true;
  }
  for (NodeId id = 0; id < graph_.size(); ++id) {
    const Node& node = graph_[id];
    if (!node.op) continue;
    for (int i = node.op->count_visible_outputs(*node.attrs); i < node.num_outputs; ++i) {
      const int value = index_(id, i);
      if (read[value]) continue;
      requests_[value] = ops::Req::null;
      pinned_[value] = true;
    }
  }
}

GraphPlan Program::make_plan(bool inplace, bool co_share) const {
  int64_t alignment = 1;
  for (const Device device : std::set<Device>(devices_.begin(), devices_.end()))
    alignment = std::max(alignment, runtime_.engine().device(device).traits().alignment);
  return plan_memory(graph_, known_, devices_, pinned_,
                     options_.own_memory ? std::span<const int64_t>() : scratch_bytes_,
                     {.inplace = inplace && !options_.own_memory,
                      .co_share = co_share,
                      .ordering = options_.ordering,
                      .alignment = alignment},
                     Parts::in_place);
}

PlannedBytes Program::compare_sharing() const {
  const auto bytes = [&](bool inplace, bool co_share) { return make_plan(inplace, co_share).memory.bytes(); };
  const memplan::Plan both = make_plan(true, true).memory;
  return {bytes(false, false), bytes(true, false), bytes(false, true), both.bytes(), both.lower_bound()};
}

// What a node needs beside its values must be known before memory is planned.
void Program::choose_kernels() {
  choices_.resize(graph_.size());
  scratch_bytes_.resize(graph_.size());
  std::vector<TensorView> in, out;
  std::vector<ops::Req> req;
  std::vector<StorageType> stypes;
  for (NodeId id = 0; id < graph_.size(); ++id) {
    const Node& node = graph_[id];
    if (node.is_variable() || is_transfer(graph_, devices_, id)) continue;
    const auto view = [&](int value) {
      return TensorView{nullptr, known_.dtypes[value], known_.shapes[value]};
    };
    in.clear();
    out.clear();
    req.clear();
    stypes.clear();
    for (const ValueRef& input : graph_.inputs(id)) {
      in.push_back(view(index_[input]));
      stypes.push_back(known_.stype(index_[input]));
    }
    for (int i = 0; i < node.num_outputs; ++i) {
      out.push_back(view(index_(id, i)));
      stypes.push_back(known_.stype(index_(id, i)));
      req.push_back(kernel_request(*node.op, requests_[index_(id, i)]));
    }
    try {
      ops::KernelSpec spec{in, out, req, training_};
      spec.stypes = stypes;
      const bool tuned =
          runtime_.tuner && runtime_.engine().device(devices_[id]).traits().timed_kernels &&
          std::ranges::all_of(stypes, [](StorageType stype) { return stype == StorageType::dense; });
      choices_[id] = tuned ? runtime_.tuner->kernel(runtime_, *node.op, node.attrs, spec)
                           : choose_kernel(runtime_, *node.op, node.attrs, spec, devices_[id]);
    } catch (Error& error) {
      error.add_context(fmt::format("in node '{}'", graph_.name_of(id)));
      throw;
    }
    for (int i = 0; i < node.num_outputs; ++i) req[i] = requests_[index_(id, i)];
    scratch_bytes_[id] = static_cast<int64_t>(scratch_bytes(*node.op, choices_[id], out, req));
  }
}

ArenaBlock& Program::block_of(NodeId id) const {
  const auto& arenas = plan_.memory.arenas;
  const auto at = std::find_if(arenas.begin(), arenas.end(),
                               [&](const memplan::Arena& arena) { return arena.device == devices_[id]; });
  return *blocks_[at - arenas.begin()];
}

// The part of its root's array that a value is.
NDArray Program::view_of(const NDArray& root, int value) const {
  const Shape& shape = known_.shapes[value];
  if (shape.size() == root.shape().size()) return root.reshape(shape);
  const int64_t begin = plan_.begin[value];
  return root.reshape(Shape{root.shape().size()}).slice(begin, begin + shape.size()).reshape(shape);
}

void Program::place(NodeId id, int value) {
  arrays_[value] = block_of(id).place(plan_.memory.offset[value], known_.shapes[value], known_.dtypes[value]);
}

// Arrays for a node's values and its scratch memory: where the plan says, or of their own.
void Program::place_values(NodeId id) {
  const Node& node = graph_[id];
  for (int i = 0; i < node.num_values(); ++i) {
    const int value = index_(id, i);
    NDArray& array = arrays_[value];
    const Shape& shape = known_.shapes[value];
    const DType dtype = known_.dtypes[value];
    if (const int root = plan_.root[value]; root != value) {
      if (plan_.planned(root) && arrays_[root].is_none())
        place(id, root);  // it is made of parts, and this is the first of them
      array = view_of(arrays_[root], value);
    } else if (plan_.planned(value)) {
      if (array.is_none()) place(id, value);
    } else if (array.is_none() && requests_[value] != ops::Req::null &&
               (i < node.num_outputs || !plan_.values[value].readers.empty())) {
      array = known_.stype(value) == StorageType::dense
                  ? NDArray(runtime_.engine(), shape, dtype, devices_[id])
                  : NDArray::sparse(runtime_.engine(), known_.stype(value), shape, dtype, devices_[id]);
    }
  }
  const int scratch = scratch_value(id);
  if (!plan_.planned(scratch)) return;
  arrays_[scratch] =
      block_of(id).place(plan_.memory.offset[scratch], Shape{scratch_bytes_[id]}, DType::uint8);
}

void Program::make_steps() {
  arrays_.resize(index_.size() + graph_.size());
  for (const auto& [value, array] : bindings_.arrays) arrays_[index_[value]] = array;
  std::vector<std::vector<int32_t>> reused(graph_.size());  // values that a step must wait for
  for (const memplan::Edge& edge : plan_.memory.edges) reused[edge.after].push_back(edge.value);
  first_backward_ = graph_.size();
  for (NodeId id = 0; id < graph_.size(); ++id) {
    const Node& node = graph_[id];
    if (node.is_variable()) continue;
    place_values(id);
    if (plan_.elided[id]) continue;
    if (node.forward >= 0) first_backward_ = std::min(first_backward_, steps_.size());
    Step& step = steps_.emplace_back();
    step.node = id;
    for (int32_t value : reused[id]) {
      engine::Var* var = &arrays_[value].var();
      if (std::find(step.order.begin(), step.order.end(), var) == step.order.end()) step.order.push_back(var);
    }
    if (is_transfer(graph_, devices_, id)) {
      step.from = index_[graph_.inputs(id)[0]];
      step.to = index_(id, 0);
    }
    make_call(step);
    if (step.call) address_random_numbers(step);
  }
  first_backward_ = std::min(first_backward_, steps_.size());
}

void Program::make_call(Step& step) {
  const NodeId id = step.node;
  const Node& node = graph_[id];
  std::vector<const NDArray*> in;
  for (const ValueRef& input : graph_.inputs(id)) in.push_back(&arrays_[index_[input]]);
  if (step.from < 0) {
    const auto values = std::span<const NDArray>(arrays_).subspan(index_(id, 0), node.num_values());
    const auto requests = std::span<const ops::Req>(requests_).subspan(index_(id, 0), node.num_outputs);
    std::vector<TensorView> left_out;
    if (std::find(requests.begin(), requests.end(), ops::Req::null) != requests.end()) {
      for (int i = 0; i < node.num_outputs; ++i)
        left_out.push_back({nullptr, known_.dtypes[index_(id, i)], known_.shapes[index_(id, i)]});
    }
    step.call = OpCall::make(runtime_, {.op = *node.op,
                                        .attrs = node.attrs,
                                        .in = in,
                                        .out = values.first(node.num_outputs),
                                        .saved = values.subspan(node.num_outputs),
                                        .req = requests,
                                        .device = devices_[id],
                                        .training = training_,
                                        .left_out = left_out,
                                        .node_name = graph_.name_of(id),
                                        .order = step.order,
                                        .choice = &choices_[id],
                                        .scratch = &arrays_[scratch_value(id)]});
  }
  if (step.on_one_core) step.call->limit_cores(true);
  if (options_.poison) add_poison(step, in);
  step.outdated = false;
}

void Program::find_users() {
  users_.resize(index_.size());
  replaced_.resize(index_.size());
  const auto add = [&](int value, uint32_t step) {
    std::vector<uint32_t>& users = users_[plan_.root[value]];
    if (users.empty() || users.back() != step) users.push_back(step);
  };
  for (uint32_t step = 0; step < steps_.size(); ++step) {
    const NodeId id = steps_[step].node;
    for (const ValueRef& input : graph_.inputs(id)) add(index_[input], step);
    for (int i = 0; i < graph_[id].num_values(); ++i) add(index_(id, i), step);
  }
}

void Program::replace(ValueRef value, const NDArray& array) {
  if (users_.empty()) find_users();
  const int bound = index_[value];
  for (int view = 0; view < index_.size(); ++view) {
    if (view != bound && plan_.root[view] == bound) arrays_[view] = view_of(array, view);
  }
  arrays_[bound] = array;
  // Now and then is no reason to leave what reads it out of what is recorded. A step has one pass or two.
  const uint64_t last = std::exchange(replaced_[bound], pass_);
  const bool again = last != 0 && last < pass_ && pass_ - last <= 2;
  for (const uint32_t i : users_[bound]) {
    Step& step = steps_[i];
    Unit& unit = units_[step.unit];
    step.outdated = true;
    unit.outdated = true;
    if (!again || step.is_loose || !records_work(step.node)) continue;
    step.is_loose = true;
    units_changed_ = units_changed_ || unit.end - unit.first > 1;
  }
}

template <class Uses>
bool Program::any_use(size_t first_step, size_t end_step, ValueRef value, Uses uses) const {
  const int bound = index_[value];
  for (size_t i = first_step; i < end_step; ++i) {
    const NodeId id = steps_[i].node;
    const auto inputs = graph_.inputs(id);
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (plan_.root[index_[inputs[k]]] == bound && uses(graph_[id], static_cast<int>(k))) return true;
    }
  }
  return false;
}

bool Program::forward_reads(ValueRef value) const {
  return any_use(0, first_backward_, value, [](const Node& node, int input) {
    return !node.op->is_shape_only(*node.attrs, input) && !(node.op->is_loss && input > 0);
  });
}

bool Program::backward_reads(ValueRef value) const {
  return any_use(first_backward_, steps_.size(), value, [](const Node& node, int input) {
    return !node.op->is_shape_only(*node.attrs, input) && !node.op->mutates(*node.attrs, input);
  });
}

bool Program::backward_changes(ValueRef value) const {
  return any_use(first_backward_, steps_.size(), value,
                 [](const Node& node, int input) { return node.op->mutates(*node.attrs, input); });
}

// The same tags as the call's own, so that poisoning waits for just what the call waits for.
void Program::add_poison(Step& step, std::span<const NDArray* const> in) const {
  const Node& node = graph_[step.node];
  step.poisoned.clear();
  step.poison_tags.clear();
  const auto poison = [&](int value, engine::Access access) {
    const int root = value < index_.size() ? plan_.root[value] : value;
    if (!plan_.planned(root) || plan_.memory.inplace_of[root] >= 0) return;
    step.poisoned.push_back(arrays_[value]);
    step.poison_tags.push_back({&arrays_[value].var(), access});
  };
  for (int i = 0; i < node.num_values(); ++i) poison(index_(step.node, i), engine::Access::write);
  poison(scratch_value(step.node), engine::Access::use);
  if (step.poisoned.empty()) return;
  for (size_t i = 0; i < in.size(); ++i) {
    engine::Var* var = &in[i]->var();
    const auto same = [var](const engine::Tag& tag) { return tag.var == var; };
    if (node.op->is_shape_only(*node.attrs, static_cast<int>(i))) continue;
    if (std::any_of(step.poison_tags.begin(), step.poison_tags.end(), same)) continue;
    step.poison_tags.push_back({var, engine::Access::read});
  }
  for (engine::Var* var : step.order) step.poison_tags.push_back({var, engine::Access::use});
}

void Program::address_random_numbers(Step& step) {
  const uint64_t numbers = step.call->random_numbers();
  if (numbers == 0) return;
  const auto at = std::find(random_devices_.begin(), random_devices_.end(), devices_[step.node]);
  step.random_device = static_cast<size_t>(at - random_devices_.begin());
  if (at == random_devices_.end()) {
    random_devices_.push_back(devices_[step.node]);
    random_numbers_.push_back(0);
    random_.emplace_back();
  }
  step.random_offset =
      std::exchange(random_numbers_[step.random_device], random_numbers_[step.random_device] + numbers);
}

void Program::find_gates() {
  const auto is_planned = [&](int value) { return plan_.planned(value); };
  std::vector<char> followed(graph_.size(),
                             false);  // a later step of the same segment reads what it wrote to the arena
  for (int segment = 0; segment < 2; ++segment) {
    const size_t end = segment == 0 ? first_backward_ : steps_.size();
    std::fill(followed.begin(), followed.end(), false);
    std::vector<engine::VarRef> ends;
    for (size_t i = end; i-- > 0;) {
      const NodeId id = steps_[i].node;
      bool reads = false;
      const auto leave = [&](int value) {
        if (!followed[id]) ends.push_back(engine::VarRef(&arrays_[value].var()));
      };
      const auto inputs = graph_.inputs(id);
      for (size_t k = 0; k < inputs.size(); ++k) {
        const int value = plan_.root[index_[inputs[k]]];
        // The call has no tag for a value of which it needs the shape only.
        if (!is_planned(value) || graph_[id].op->is_shape_only(*graph_[id].attrs, static_cast<int>(k)))
          continue;
        reads = true;
        leave(value);
        followed[plan_.values[value].writer] = true;
      }
      const auto begin = [&](int value) {
        leave(value);
        if (!reads && segment == 1) starts_.push_back(engine::VarRef(&arrays_[value].var()));
      };
      bool writes = false;
      for (int k = 0; k < graph_[id].num_values(); ++k) {
        const int value = plan_.root[index_(id, k)];
        if (!is_planned(value)) continue;
        writes = true;
        begin(value);
      }
      const int scratch = scratch_value(id);
      if (is_planned(scratch) && !writes && !reads) begin(scratch);
    }
    ends_[segment] = std::make_shared<const std::vector<engine::VarRef>>(std::move(ends));
  }
  for (int segment = 0; segment < 2; ++segment) {
    std::unordered_set<engine::Var*> seen;
    add_uses(*ends_[segment], seen, own_gate_[segment]);
    add_uses(starts_, seen, own_gate_[segment]);
  }
}

void Program::push_gate() {
  if (blocks_.empty()) return;
  std::vector<engine::Tag> tags;
  const std::vector<engine::Tag>* gate = &own_gate_[last_segment_];
  const auto is_own = [&](const Ref<ArenaBlock>& block) { return block->pending == ends_[last_segment_]; };
  if (!std::all_of(blocks_.begin(), blocks_.end(), is_own)) {
    std::unordered_set<engine::Var*> seen;
    for (const auto& block : blocks_) {
      if (block->pending) add_uses(*block->pending, seen, tags);
    }
    add_uses(starts_, seen, tags);
    gate = &tags;
  }
  engine::TaskInfo info;
  info.device = blocks_[0]->device();
  info.cost_ns = 20;
  runtime_.engine().push(std::move(info), *gate, [](engine::RunContext&) {});
  for (size_t i = 0; i < blocks_.size(); ++i) runs_[i] = ++blocks_[i]->run;
}

void Program::push(Step& step, bool visit) {
  if (step.outdated) make_call(step);
  if (!step.poisoned.empty()) {
    engine::TaskInfo info;
    info.device = devices_[step.node];
    runtime_.engine().push(std::move(info), step.poison_tags,
                           [arrays = step.poisoned](engine::RunContext& context) {
                             for (const NDArray& array : arrays) poison(array, context);
                           });
  }
  if (visit && before_) {
    std::vector<NDArray> inputs;
    for (const ValueRef& input : graph_.inputs(step.node)) inputs.push_back(arrays_[index_[input]]);
    before_(step.node, graph_, inputs);
  }
  if (step.call) {
    ops::RandomStream random;
    if (step.call->random_numbers() > 0) {
      random = random_[step.random_device];
      random.offset += step.random_offset;
    }
    step.call->push(runtime_, random, 0);
  } else {
    loomix::copy(arrays_[step.from], arrays_[step.to], step.order);
  }
  if (!visit || !after_) return;
  after_(step.node, graph_,
         std::span<const NDArray>(arrays_).subspan(index_(step.node, 0), graph_[step.node].num_outputs));
}

void Program::run_forward(const RandomRun* replay) {
  for (size_t i = 0; i < random_.size(); ++i) {
    random_[i] = replay && i < replay->size()
                     ? (*replay)[i]
                     : runtime_.generators().reserve(random_devices_[i], random_numbers_[i]);
  }
  const bool ends_late =
      training_ && !ends_early_ && runtime_.gradients_travel.load(std::memory_order_relaxed);
  if (std::exchange(units_changed_, false) || ends_late) make_units();
  ++pass_;
  push_gate();
  for (size_t i = 0; i < first_backward_unit_; ++i) push(units_[i], !replay);
  end_segment(0);
}

bool Program::keeps_values() const {
  if (!forward_ran_) return false;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i]->run != runs_[i]) return false;
  }
  return true;
}

void Program::run_backward() {
  LOOMIX_INTERNAL_CHECK(keeps_values());
  ++pass_;
  for (size_t i = first_backward_unit_; i < units_.size(); ++i) push(units_[i]);
  end_segment(1);
}

void Program::end_segment(int segment) {
  last_segment_ = segment;
  forward_ran_ = segment == 0;
  for (const auto& block : blocks_) block->pending = ends_[segment];
}

}  // namespace loomix
