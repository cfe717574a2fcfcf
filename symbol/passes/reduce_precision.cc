// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/reduce_precision.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include "base/error.h"
#include "ops/table.h"
#include "symbol/passes/end_pass.h"

namespace loomix {
namespace {

constexpr const char* kWho = "PrecisionRules";

bool is_short(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

// By what a type can hold, as amp_multicast chooses: bfloat16 reaches as far as float32.
int width(DType dtype) {
  return dtype == DType::float64 ? 3 : dtype == DType::float32 ? 2 : dtype == DType::bfloat16 ? 1 : 0;
}

bool may_be_cast(const ops::OpDef& op, const AttrsBase& attrs, int i, DType dtype) {
  const bool ours = dtype == DType::unknown || dtype == DType::float32 || is_short(dtype);
  return ours && !op.mutates(attrs, i) && !op.is_shape_only(attrs, i);
}

// Which arguments take the type of input `i`, by the operator's rule alone.
struct Followers {
  std::vector<char> inputs;
  bool output = false;
};

Followers followers_of(const ops::OpDef& op, const AttrsBase& attrs, int count, int i, DType dtype) {
  std::vector<DType> in(count, DType::unknown), out(op.count_outputs(attrs), DType::unknown);
  in[i] = dtype;
  Followers result{std::vector<char>(count, false), false};
  try {
    op.infer_types(attrs, in, out);
  } catch (const Error&) {
    return result;  // the operator does not take it there
  }
  for (int j = 0; j < count; ++j) result.inputs[j] = in[j] == dtype;
  result.output = !out.empty() && out[0] == dtype;
  return result;
}

// The inputs whose type is the one that the operator computes in: those that the first output follows, else those that go
// with the first input. None if it does not take `dtype`.
std::vector<char> computed_if(const ops::OpDef& op, const AttrsBase& attrs, int count, DType dtype) {
  const Followers first = followers_of(op, attrs, count, 0, dtype);
  std::vector<char> result = first.output ? first.inputs : std::vector<char>(count, false);
  bool any = first.output;
  for (int i = 1; i < count; ++i) {
    if (result[i]) continue;
    const Followers own = followers_of(op, attrs, count, i, dtype);
    if (!own.output || !own.inputs[i]) continue;
    result[i] = true;
    any = true;
  }
  return any ? result : first.inputs;
}

// The same for a type to cast to. Rules take float32 for what nothing says, so float32 itself tells nothing of them.
std::vector<char> computed_in(const ops::OpDef& op, const AttrsBase& attrs, int count, DType to) {
  if (to != DType::float32) return computed_if(op, attrs, count, to);
  const auto computed = computed_if(op, attrs, count, DType::float16);
  const bool any = std::ranges::any_of(computed, [](char is) { return is != 0; });
  return any ? computed : computed_if(op, attrs, count, DType::float64);
}

void cast_all(const ops::OpDef& op, const AttrsBase& attrs, std::span<const DType> dtypes, DType to,
              InputCasts& casts) {
  const int count = static_cast<int>(dtypes.size());
  const auto wanted = [&](int i) { return dtypes[i] != to && may_be_cast(op, attrs, i, dtypes[i]); };
  bool any = false;
  for (int i = 0; i < count; ++i) any = any || wanted(i);
  if (!any) return;
  const auto computed = computed_in(op, attrs, count, to);
  for (int i = 0; i < count; ++i) {
    if (computed[i] && wanted(i)) casts.to[i] = to;
  }
}

void cast_to_widest(const ops::OpDef& op, const AttrsBase& attrs, std::span<const DType> dtypes,
                    InputCasts& casts) {
  const int count = static_cast<int>(dtypes.size());
  const auto same = [&](DType dtype) { return dtype == dtypes[0]; };
  if (count < 2 || (dtypes[0] != DType::unknown && std::ranges::all_of(dtypes, same))) return;
  const auto computed = computed_in(op, attrs, count, DType::float32);
  DType widest = DType::unknown;
  bool unknown = false;
  std::vector<int> members;
  for (int i = 0; i < count; ++i) {
    if (!computed[i] || op.mutates(attrs, i)) continue;
    if (dtypes[i] != DType::unknown && !is_floating(dtypes[i])) continue;
    members.push_back(i);
    unknown = unknown || dtypes[i] == DType::unknown;
    if (widest == DType::unknown || width(dtypes[i]) > width(widest)) widest = dtypes[i];
  }
  if (members.size() < 2) return;
  if (unknown) {
    casts.multicast = std::move(members);
    return;
  }
  for (int i : members) {
    if (dtypes[i] != widest) casts.to[i] = widest;
  }
}

// Shorter inputs become float32 where the operator wants them to be of one type with others that are not (surely) theirs.
void cast_where_mixed(const ops::OpDef& op, const AttrsBase& attrs, std::span<const DType> dtypes,
                      InputCasts& casts) {
  const int count = static_cast<int>(dtypes.size());
  for (int i = 0; i < count; ++i) {
    if (!is_short(dtypes[i])) continue;
    const auto same = followers_of(op, attrs, count, i, dtypes[i]).inputs;
    for (int j = 0; j < count; ++j) {
      if (!same[j] || dtypes[j] == dtypes[i]) continue;
      if (dtypes[j] != DType::unknown && !is_floating(dtypes[j])) continue;
      if (may_be_cast(op, attrs, i, dtypes[i])) casts.to[i] = DType::float32;
      if (dtypes[j] != DType::float32 && may_be_cast(op, attrs, j, dtypes[j])) casts.to[j] = DType::float32;
    }
  }
}

}  // namespace

PrecisionRules::PrecisionRules(DType low, const ops::OpDef& cast, const ops::OpDef& multicast)
    : low_(low), cast_(&cast), multicast_(&multicast) {
  LOOMIX_CHECK(is_short(low), TypeError, "[{}] the type is {}; expected float16 or bfloat16.", kWho,
               name_of(low));
}

void PrecisionRules::set(const ops::OpDef& op, Precision precision) {
  const auto [at, added] = rules_.emplace(&op, precision);
  LOOMIX_CHECK(added || at->second == precision, ValueError,
               "[{}] operator {} is in two lists; expected it in one.", kWho, op.name);
}

void PrecisionRules::set_full_if(const ops::OpDef& op, std::string attribute,
                                 std::vector<std::string> values) {
  std::string known;
  for (const auto& field : op.params->fields()) known += (known.empty() ? "" : ", ") + field.name;
  LOOMIX_CHECK(op.params->find(attribute), ValueError, "[{}] operator {} has no attribute '{}'; it has: {}.",
               kWho, op.name, attribute, known.empty() ? "none" : known);
  conditions_[&op].push_back({std::move(attribute), {values.begin(), values.end()}});
}

Precision PrecisionRules::precision_of(const ops::OpDef& op, const AttrsBase& attrs) const {
  if (const auto at = conditions_.find(&op); at != conditions_.end()) {
    for (const Condition& condition : at->second) {
      if (condition.values.contains(attrs.to_text(condition.attribute))) return Precision::full;
    }
  }
  const auto at = rules_.find(&op);
  return at == rules_.end() ? Precision::either : at->second;
}

bool InputCasts::none() const {
  return multicast.empty() && std::ranges::all_of(to, [](DType dtype) { return dtype == DType::unknown; });
}

InputCasts input_casts(const ops::OpDef& op, const AttrsBase& attrs, std::span<const DType> dtypes,
                       Precision precision, DType low) {
  InputCasts casts{std::vector<DType>(dtypes.size(), DType::unknown), {}};
  if (dtypes.empty()) return casts;
  switch (precision) {
    case Precision::low: cast_all(op, attrs, dtypes, low, casts); break;
    case Precision::full: cast_all(op, attrs, dtypes, DType::float32, casts); break;
    case Precision::widest: cast_to_widest(op, attrs, dtypes, casts); break;
    case Precision::either: cast_where_mixed(op, attrs, dtypes, casts); break;
  }
  return casts;
}

std::vector<DType> PrecisionRules::output_dtypes(const ops::OpDef& op, const AttrsBase& attrs,
                                                 std::span<const DType> inputs) const {
  // Of what is not floating, too: it stays as it is, and so does all that is cast once more.
  if (&op == cast_) return {parse_dtype(attrs.to_text("dtype"))};
  std::vector<DType> in(inputs.begin(), inputs.end());
  std::vector<DType> out(op.count_outputs(attrs), DType::unknown);
  try {
    op.infer_types(attrs, in, out);
  } catch (const Error&) {  // a contradiction, which inference will report with all that it knows
    out.assign(out.size(), DType::unknown);
  }
  return out;
}

DType dtype_of_variable(const NodeInfo* info) {
  const std::string* text = info ? info->find("__dtype__") : nullptr;
  int code = -1;
  if (text) std::from_chars(text->data(), text->data() + text->size(), code);
  return is_valid(static_cast<DType>(code)) ? static_cast<DType>(code) : DType::float32;
}

namespace {

class Reducer {
 public:
  Reducer(const Graph& graph, const ops::OpTable& table, const PrecisionRules& rules)
      : graph_(graph), table_(table), rules_(rules), excluded_(graph.size(), false) {}

  void exclude(std::span<const std::string> names) {
    for (const std::string& name : names) {
      bool found = false;
      for (NodeId id = 0; id < graph_.size(); ++id) {
        if (graph_[id].is_variable() || graph_.name_of(id) != name) continue;
        excluded_[id] = found = true;
      }
      LOOMIX_CHECK(found, ValueError, "[reduce_precision] no operator of the symbol is called '{}'.", name);
    }
  }

  ReducedPrecision run(const std::unordered_set<std::string>& low_variables) {
    result_ = {};
    casts_.clear();
    dtypes_.clear();
    moved_.assign(graph_.size(), -1);
    for (NodeId id = 0; id < graph_.size(); ++id) visit(id, low_variables);
    for (const ValueRef& output : graph_.outputs) {
      const ValueRef value = moved(output);
      const bool low = is_short(dtype_of(value));
      result_.graph.outputs.push_back(low ? cast(value, DType::float32, graph_[output.node]) : value);
    }
    return std::move(result_);
  }

 private:
  ValueRef moved(ValueRef value) const { return {moved_[value.node], value.index}; }

  void note(NodeId id, NodeId origin, std::vector<DType> dtypes) {
    result_.origin.push_back(origin);
    dtypes.resize(result_.graph[id].num_values(), DType::unknown);
    dtypes_.push_back(std::move(dtypes));
  }

  DType dtype_of(ValueRef value) const { return dtypes_[value.node][value.index]; }

  void visit(NodeId id, const std::unordered_set<std::string>& low_variables) {
    const Node& node = graph_[id];
    std::vector<ValueRef> inputs;
    std::vector<DType> known;
    for (const ValueRef& input : graph_.inputs(id)) {
      inputs.push_back(moved(input));
      known.push_back(dtype_of(inputs.back()));
    }
    if (node.op) cast_inputs(id, inputs, known);
    moved_[id] = result_.graph.add_copy(node, inputs);
    if (node.is_variable()) {
      const bool low = low_variables.contains(graph_.name_of(id));
      if (low) set_low(result_.graph[moved_[id]]);
      note(moved_[id], id, {low ? rules_.low() : dtype_of_variable(node.info.get())});
    } else {
      note(moved_[id], id,
           node.op ? rules_.output_dtypes(*node.op, *node.attrs, known) : std::vector<DType>{});
      remember_cast(moved_[id]);
    }
  }

  void set_low(Node& node) const {
    auto info = make_ref<NodeInfo>();
    info->name = node.info->name;
    for (const auto& pair : node.info->extra) {
      if (pair.first != "__dtype__") info->extra.push_back(pair);
    }
    info->extra.emplace_back("__dtype__", std::to_string(static_cast<int>(rules_.low())));
    std::ranges::sort(info->extra);
    node.info = std::move(info);
  }

  // A cast that was there serves other readers, too.
  void remember_cast(NodeId id) {
    const Node& node = result_.graph[id];
    if (node.op != &rules_.cast()) return;
    const ValueRef input = result_.graph.inputs(id)[0];
    casts_.emplace(std::tuple(input.node, input.index, dtypes_[id][0]), ValueRef{id, 0});
  }

  void cast_inputs(NodeId id, std::vector<ValueRef>& inputs, std::vector<DType>& known) {
    const Node& node = graph_[id];
    const Precision precision = excluded_[id] ? Precision::full : rules_.precision_of(*node.op, *node.attrs);
    const InputCasts casts = input_casts(*node.op, *node.attrs, known, precision, rules_.low());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (casts.to[i] == DType::unknown) continue;
      inputs[i] = cast(inputs[i], casts.to[i], node);
      known[i] = dtype_of(inputs[i]);
    }
    if (!casts.multicast.empty()) multicast(id, casts.multicast, inputs, known);
  }

  // Casts belong to the group of the value's node, so that placing them moves nothing; else to the reader's.
  Ref<const NodeInfo> info_of_cast(std::string name, const Node* from, const Node& reader) const {
    auto info = make_ref<NodeInfo>();
    info->name = std::move(name);
    for (const Node* node : {from, &reader}) {
      const std::string* group = node && node->info ? node->info->find("__ctx_group__") : nullptr;
      if (!group) continue;
      info->extra.emplace_back("__ctx_group__", *group);
      break;
    }
    return info;
  }

  ValueRef cast(ValueRef value, DType to, const Node& reader) {
    const auto key = std::tuple(value.node, value.index, to);
    if (const auto at = casts_.find(key); at != casts_.end()) return at->second;
    const Node from = result_.graph[value.node];
    std::string name = result_.graph.name_of(value.node);
    if (from.op) name += '_' + from.op->output_name(*from.attrs, value.index);
    name += fmt::format("_amp_cast_{}", name_of(to));
    const ops::OpDef& op = rules_.cast();
    const auto attrs = table_.parse(op, {{"dtype", std::string(name_of(to))}});
    const ValueRef result{
        result_.graph.add_op(op, attrs, std::span(&value, 1), info_of_cast(name, &from, reader)), 0};
    note(result.node, -1, {to});
    casts_.emplace(key, result);
    return result;
  }

  void multicast(NodeId id, const std::vector<int>& members, std::vector<ValueRef>& inputs,
                 std::vector<DType>& known) {
    std::vector<ValueRef> values;
    for (int i : members) values.push_back(inputs[i]);
    const ops::OpDef& op = rules_.multicast();
    const auto attrs = table_.parse(op, {{"num_outputs", std::to_string(values.size())}});
    const NodeId node = result_.graph.add_op(
        op, attrs, values, info_of_cast(graph_.name_of(id) + "_amp_multicast", nullptr, graph_[id]));
    note(node, -1, {});
    for (size_t k = 0; k < members.size(); ++k) {
      inputs[members[k]] = {node, static_cast<int>(k)};
      known[members[k]] = DType::unknown;
    }
  }

  const Graph& graph_;
  const ops::OpTable& table_;
  const PrecisionRules& rules_;
  std::vector<char> excluded_;
  ReducedPrecision result_;
  std::vector<NodeId> moved_;               // by old node
  std::vector<std::vector<DType>> dtypes_;  // of the new graph's values: what is sure
  std::map<std::tuple<NodeId, int, DType>, ValueRef> casts_;
};

// Of `names`, the variables of the result that are used, and only through casts to `low`.
std::unordered_set<std::string> only_low(const ReducedPrecision& result, const PrecisionRules& rules,
                                         std::span<const std::string> names) {
  const Graph& graph = result.graph;
  const std::string wanted(name_of(rules.low()));
  std::vector<char> cast_once(graph.size(), false), otherwise(graph.size(), false);
  for (const ValueRef& output : graph.outputs) otherwise[output.node] = true;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const bool is_cast = graph[id].op == &rules.cast() && graph[id].attrs->to_text("dtype") == wanted;
    for (const ValueRef& input : graph.inputs(id)) (is_cast ? cast_once : otherwise)[input.node] = true;
  }
  std::unordered_set<std::string> result_names;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!graph[id].is_variable() || !cast_once[id] || otherwise[id]) continue;
    if (dtype_of_variable(graph[id].info.get()) != DType::float32) continue;
    const std::string name = graph.name_of(id);
    if (std::ranges::find(names, name) != names.end()) result_names.insert(name);
  }
  return result_names;
}

}  // namespace

ReducedPrecision reduce_precision(const Graph& graph, const ops::OpTable& table, const PrecisionRules& rules,
                                  std::span<const std::string> excluded,
                                  std::span<const std::string> parameters) {
  Reducer reducer(graph, table, rules);
  reducer.exclude(excluded);
  ReducedPrecision result = reducer.run({});
  const auto low = only_low(result, rules, parameters);
  if (!low.empty()) result = reducer.run(low);
  end_pass("reduce_precision", result.graph);
  return result;
}

}  // namespace loomix
