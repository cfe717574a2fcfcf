// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bindings/c/api/objects.h"
#include "bindings/c/api/operators.h"
#include "bindings/c/guard.h"
#include "ops/table.h"
#include "symbol/autograd/tape.h"
#include "symbol/executor/run_node.h"

using namespace loomix;     // NOLINT: the functions below are outside of all namespaces
using namespace loomix::c;  // NOLINT

namespace {

bool contains(const TextPairs& pairs, const std::string& name) {
  return std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == name; });
}

// `ctx` says where an operator without inputs runs; the table's operators have it as a parameter where that can be said.
Device device_of(const TextPairs& parameters) {
  for (const auto& [name, value] : parameters) {
    if (name == "ctx") return Device::parse(value);
  }
  return running().default_device;
}

Ref<const AttrsBase> parse(const ops::OpDef& op, TextPairs parameters, size_t inputs) {
  const bool counts = !op.variadic_count.empty() && op.params->find(op.variadic_count);
  if (counts && !contains(parameters, op.variadic_count))
    parameters.emplace_back(op.variadic_count, std::to_string(inputs));
  return running().table().parse(op, parameters);
}

void run_into(const ops::OpDef& op, const Ref<const AttrsBase>& attrs, std::span<const NDArray* const> in,
              Device device, std::span<const LoomixArray> handles) {
  std::vector<std::shared_ptr<ArrayObject>> objects;
  std::vector<NDArray*> out;
  for (const LoomixArray handle : handles) {
    objects.push_back(find<ArrayObject>(handle));
    out.push_back(&objects.back()->array);
  }
  if (autograd::is_recording()) autograd::check_not_recorded(op, out);
  RunOptions options;
  options.out = out;
  options.device = device;
  run_node(running(), op, attrs, in, options);
}

}  // namespace

const ops::OpDef& loomix::c::operator_at(std::string_view name) {
  LOOMIX_CHECK(name != "Custom", NotImplementedError,
               "[{}] its operators are programs in Python, which programs in C and C++ do not have.", name);
  return running().table().at(name);
}

int LoomixOperatorDescribe(const char* name, LoomixOperatorInfo* out) {
  return guarded([&] {
    not_null(out, "LoomixOperatorDescribe", "out");
    const ops::OpDef& op = operator_at(not_null(name, "LoomixOperatorDescribe", "name"));
    std::vector<std::string> inputs, names, types, descriptions;
    for (const ops::Argument& input : op.inputs) inputs.push_back(input.name);
    for (const FieldInfo& field : op.params->fields()) {
      if (field.kind == FieldKind::others) continue;
      names.push_back(field.name);
      types.push_back(field.describe());
      descriptions.push_back(field.doc);
    }
    Answer& mine = answer();
    mine.more_texts[0] = op.name;
    mine.more_texts[1] = op.doc;
    mine.more_texts[2] = op.variadic_count;
    LoomixOperatorInfo info{};
    info.inputs = inputs.size();
    info.parameters = names.size();
    info.name = mine.more_texts[0].c_str();
    info.description = mine.more_texts[1].c_str();
    info.count_parameter = mine.more_texts[2].c_str();
    info.input_names = mine.lists[0].set(std::move(inputs));
    info.parameter_names = mine.lists[1].set(std::move(names));
    info.parameter_types = mine.lists[2].set(std::move(types));
    info.parameter_descriptions = mine.lists[3].set(std::move(descriptions));
    *out = info;
  });
}

int LoomixOperatorInvoke(const char* name, size_t inputs, const LoomixArray* arrays,
                         const LoomixPairs* parameters, size_t* count, const LoomixArray** outputs) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixOperatorInvoke";
    not_null(count, kWho, "count");
    not_null(outputs, kWho, "outputs");
    const ops::OpDef& op = operator_at(not_null(name, kWho, "name"));
    LOOMIX_CHECK(!op.hidden, KeyError, "[{}] operator '{}' is not for users.", kWho, name);
    const std::vector<NDArray> in = to_arrays(inputs, arrays, kWho);
    std::vector<const NDArray*> pointers;
    for (const NDArray& array : in) pointers.push_back(&array);
    const TextPairs pairs = to_pairs(parameters, kWho);
    const Device device = device_of(pairs);
    const Ref<const AttrsBase> attrs = parse(op, pairs, inputs);
    if (*outputs) {
      const std::span given(*outputs, *count);
      const auto visible = static_cast<size_t>(op.count_visible_outputs(*attrs));
      LOOMIX_CHECK(given.size() == visible, ValueError, "[{}] got {} arrays to write to; it has {} outputs.",
                   op.name, given.size(), visible);
      return run_into(op, attrs, pointers, device, given);
    }
    RunOptions options;
    options.device = device;
    const NDArrays made = run_node(running(), op, attrs, pointers, options);
    const LoomixArray* const list = answer_arrays({made.data(), made.size()});
    *count = made.size();
    *outputs = list;
  });
}
