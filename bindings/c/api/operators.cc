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

// An operator whose parameters are read.
struct OperatorObject final : Object {
  static constexpr const char* kKind = "an operator";
  OperatorObject(const ops::OpDef& def, Ref<const AttrsBase> parsed, Device where)
      : op(def), attrs(std::move(parsed)), device(where) {}
  const char* kind() const override { return kKind; }
  const ops::OpDef& op;
  const Ref<const AttrsBase> attrs;
  const Device device;
};

OperatorObject prepare(const char* name, size_t inputs, const LoomixPairs* parameters, const char* who) {
  const ops::OpDef& op = operator_at(not_null(name, who, "name"));
  LOOMIX_CHECK(!op.hidden, KeyError, "[{}] operator '{}' is not for users.", who, name);
  const TextPairs pairs = to_pairs(parameters, who);
  const Device device = device_of(pairs);
  return {op, parse(op, pairs, inputs), device};
}

using Objects = InlineVector<std::shared_ptr<ArrayObject>, 4>;

Objects find_arrays(size_t count, const LoomixArray* handles, const char* who) {
  if (count > 0) not_null(handles, who, "a list of arrays");
  Objects objects;
  for (size_t i = 0; i < count; ++i) objects.push_back(find<ArrayObject>(handles[i]));
  return objects;
}

void run(const OperatorObject& call, size_t inputs, const LoomixArray* arrays, size_t* count,
         const LoomixArray** outputs, const char* who) {
  not_null(count, who, "count");
  not_null(outputs, who, "outputs");
  const Objects in = find_arrays(inputs, arrays, who);
  InlineVector<const NDArray*, 4> from;
  for (const auto& object : in) from.push_back(&object->array);
  const std::span<const NDArray* const> sources(from.data(), from.size());
  RunOptions options;
  options.device = call.device;
  if (!*outputs) {
    const NDArrays made = run_node(running(), call.op, call.attrs, sources, options);
    *outputs = answer_arrays({made.data(), made.size()});
    *count = made.size();
    return;
  }
  const auto visible = static_cast<size_t>(call.op.count_visible_outputs(*call.attrs));
  LOOMIX_CHECK(*count == visible, ValueError, "[{}] got {} arrays to write to; it has {} outputs.",
               call.op.name, *count, visible);
  const Objects objects = find_arrays(*count, *outputs, who);
  InlineVector<NDArray*, 4> out;
  for (const auto& object : objects) out.push_back(&object->array);
  options.out = {out.data(), out.size()};
  if (autograd::is_recording()) autograd::check_not_recorded(call.op, options.out);
  run_node(running(), call.op, call.attrs, sources, options);
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
    run(prepare(name, inputs, parameters, kWho), inputs, arrays, count, outputs, kWho);
  });
}

int LoomixOperatorPrepare(const char* name, size_t inputs, const LoomixPairs* parameters,
                          LoomixOperator* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixOperatorPrepare";
    not_null(out, kWho, "out");
    auto made = std::make_shared<OperatorObject>(prepare(name, inputs, parameters, kWho));
    *out = static_cast<LoomixOperator>(add_object(std::move(made)));
  });
}

int LoomixOperatorRun(LoomixOperator prepared, size_t inputs, const LoomixArray* arrays, size_t* count,
                      const LoomixArray** outputs) {
  return guarded(
      [&] { run(*find<OperatorObject>(prepared), inputs, arrays, count, outputs, "LoomixOperatorRun"); });
}
