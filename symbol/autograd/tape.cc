// SPDX-License-Identifier: Apache-2.0
#include "symbol/autograd/tape.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>
#include <utility>

#include "engine/block_cache.h"
#include "symbol/autograd/tape_node.h"

namespace loomix::autograd {

namespace {

using Blocks = engine::BlockCache<(sizeof(TapeNode) + 63) / 64 * 64>;

struct Flags {
  bool recording = false;
  bool training = false;
};
constinit thread_local Flags flags;

// Nodes are numbered across threads; blocks of numbers keep the counter out of the hot path.
uint64_t next_number() noexcept {
  constinit static std::atomic<uint64_t> counter{0};
  return counter.fetch_add(1, std::memory_order_relaxed);
}

// A node's death lets go of others. All but the outermost on a thread's stack leave theirs to that one, so that a long
// chain needs no deep stack.
constinit thread_local std::vector<Ref<RefCounted>>* left_to_outermost = nullptr;

NDArray without_tape(const NDArray& array) { return array.detach(); }

TapeNode::Input recorded_input(const NDArray& array) {
  return {is_recorded(array) ? array : without_tape(array), array.storage().version()};
}

}  // namespace

bool is_recording() noexcept { return flags.recording; }
bool is_training() noexcept { return flags.training; }
bool set_recording(bool on) noexcept { return std::exchange(flags.recording, on); }
bool set_training(bool on) noexcept { return std::exchange(flags.training, on); }

void* TapeNode::operator new(size_t) { return Blocks::allocate(); }
void TapeNode::operator delete(void* memory) noexcept { Blocks::free(memory); }

TapeNode::TapeNode() noexcept : number(next_number()) {}
TapeNode::~TapeNode() { clear(); }

void TapeNode::clear() noexcept {
  cleared = true;
  outputs.clear();
  custom.reset();
  if (left_to_outermost) {
    for (Input& input : inputs) {
      if (input.array.tape()) left_to_outermost->push_back(input.array.take_tape());
    }
    inputs.clear();
    return;
  }
  std::vector<Ref<RefCounted>> left;
  left_to_outermost = &left;
  inputs.clear();
  while (!left.empty()) {
    const Ref<RefCounted> node = std::move(left.back());
    left.pop_back();
  }
  left_to_outermost = nullptr;
}

bool is_recorded(const NDArray& array) noexcept {
  const TapeNode* const node = node_of(array);
  return node && !node->cleared;
}

bool should_record(std::span<const NDArray* const> inputs) noexcept {
  if (!flags.recording) return false;
  for (const NDArray* input : inputs) {
    if (is_recorded(*input)) return true;
  }
  return false;
}

void check_not_recorded(const ops::OpDef& op, std::span<NDArray* const> outputs) {
  for (const NDArray* output : outputs) {
    LOOMIX_CHECK(!is_recorded(*output), StateError,
                 "[{}] an array that takes part in the recorded computation cannot be written in place while "
                 "recording; "
                 "write to a new array.",
                 op.name);
  }
}

void record(const ops::OpDef& op, const Ref<const AttrsBase>& attrs, std::span<const NDArray* const> inputs,
            std::span<NDArray> outputs, NDArrays saved, std::string_view node_name) {
  Ref<TapeNode> node(new TapeNode);
  node->op = &op;
  node->attrs = attrs;
  if (!node_name.empty()) node->name = node_name;
  node->inputs.reserve(inputs.size());
  for (const NDArray* input : inputs) node->inputs.push_back(recorded_input(*input));
  node->outputs.reserve(outputs.size() + saved.size());
  int32_t index = 0;
  for (NDArray& output : outputs) {
    node->outputs.push_back({without_tape(output), output.storage().version()});
    output.set_tape(node, index++);
  }
  for (NDArray& value : saved) {
    const uint64_t version = value.is_none() ? 0 : value.storage().version();
    node->outputs.push_back({std::move(value), version});
  }
}

void record_view(const ops::OpDef& op, const Ref<const AttrsBase>& attrs, const NDArray& input,
                 NDArray& output) {
  const NDArray* const pointer = &input;
  if (!should_record({&pointer, 1})) return;
  record(op, attrs, {&pointer, 1}, {&output, 1}, NDArrays(), {});
}

void mark_variables(std::span<NDArray* const> arrays, std::span<const NDArray> grads,
                    std::span<const ops::Req> reqs) {
  LOOMIX_CHECK(arrays.size() == grads.size() && arrays.size() == reqs.size(), ValueError,
               "[mark_variables] {} arrays, {} gradients and {} requests were given; expected equal numbers.",
               arrays.size(), grads.size(), reqs.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    NDArray& array = *arrays[i];
    LOOMIX_CHECK(!array.is_none(), ValueError, "[mark_variables] array {} is empty (none).", i);
    LOOMIX_CHECK(reqs[i] == ops::Req::null || (!grads[i].is_none() && grads[i].shape() == array.shape()),
                 ShapeError,
                 "[mark_variables] the gradient of array {} has another shape than the array, {}.", i,
                 array.shape().to_string());
    Ref<TapeNode> node(new TapeNode);
    node->outputs.push_back({without_tape(array), 0});
    node->grad = grads[i].is_none() ? NDArray() : without_tape(grads[i]);
    node->used_version = node->grad.is_none() ? 0 : node->grad.storage().version();
    node->req = reqs[i] == ops::Req::inplace ? ops::Req::write : reqs[i];
    array.set_tape(node, 0);
  }
}

NDArray gradient_of(const NDArray& array) {
  const TapeNode* const node = node_of(array);
  return node && node->is_variable() ? node->grad : NDArray();
}

bool has_fresh_gradient(const NDArray& array) {
  const NDArray gradient = gradient_of(array);
  return !gradient.is_none() && gradient.storage().version() != node_of(array)->used_version;
}

void set_fresh_gradient(const NDArray& array, bool fresh) {
  const NDArray gradient = gradient_of(array);
  LOOMIX_CHECK(!gradient.is_none(), ValueError,
               "[NDArray] the array has no gradient; attach_grad gives it one.");
  constexpr uint64_t kNever = ~uint64_t{0};
  node_of(array)->used_version = fresh ? kNever : gradient.storage().version();
}

void record_custom(Runtime& runtime, Ref<CustomFunction> function, std::span<const NDArray> inputs,
                   std::span<NDArray* const> outputs) {
  if (!flags.recording) return;
  Ref<TapeNode> node(new TapeNode);
  CustomParams params;
  params.num_inputs = static_cast<int>(inputs.size());
  params.num_outputs = static_cast<int>(outputs.size());
  node->attrs = make_attrs(params);
  node->op = &runtime.table().at(kCustomOp);
  node->name = function->name();
  node->custom = std::move(function);
  for (const NDArray& input : inputs) node->inputs.push_back(recorded_input(input));
  int32_t index = 0;
  for (NDArray* output : outputs) {
    node->outputs.push_back({without_tape(*output), output->storage().version()});
    output->set_tape(node, index++);
  }
}

std::vector<Ref<TapeNode>> reachable(std::span<const NDArray> heads) {
  std::vector<Ref<TapeNode>> found;
  std::unordered_set<const TapeNode*> seen;
  const auto visit = [&](const NDArray& array) {
    TapeNode* const node = node_of(array);
    if (node && seen.insert(node).second) found.emplace_back(node);
  };
  for (const NDArray& head : heads) visit(head);
  for (size_t next = 0; next < found.size(); ++next) {
    const TapeNode& node = *found[next];
    LOOMIX_CHECK(!node.cleared, StateError,
                 "[autograd] the recorded computation behind operator {} was freed by an earlier backward; "
                 "call that one with retain_graph=True.",
                 node.op ? node.op->name : "variable");
    for (const TapeNode::Input& input : node.inputs) visit(input.array);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a->number < b->number; });
  return found;
}

}  // namespace loomix::autograd
