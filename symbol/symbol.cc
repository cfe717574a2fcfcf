// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbol.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"

namespace loomix {
namespace {

std::string underscored(std::string_view key) { return fmt::format("__{}__", key); }

void put_attrs(SymbolNode& node, const TextPairs& attrs) {
  for (const auto& [key, value] : attrs) {
    if (is_hidden_key(key)) {
      node.dict[underscored(key)] = value;
      continue;
    }
    LOOMIX_CHECK(node.is_variable() || !ends_in_hidden_key(key) || node.op->params->find(key), ValueError,
                 "[{}] '{}' on node '{}' is not supported; give the attribute to the variable itself, as in "
                 "Variable('{}_weight', lr_mult=...).",
                 node.op_name(), key, node.name, node.name);
    node.dict[key] = value;
  }
}

// Names listed for messages; long lists are cut.
std::string listing(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == 20) return text + fmt::format(", ... ({} in all)", names.size());
    text += (i ? ", '" : "'") + names[i] + "'";
  }
  return text.empty() ? "none" : text;
}

SymbolOutput single(const Symbol& symbol, std::string_view who, std::string_view argument) {
  LOOMIX_CHECK(symbol.num_outputs() == 1, ValueError,
               "[{}] argument '{}' is a symbol with {} outputs; expected one: pick it by index or by name.",
               who, argument, symbol.num_outputs());
  return symbol.outputs()[0];
}

// Fills node.inputs from what was given; what is missing becomes a variable.
void connect(SymbolNode& node, std::span<const NamedSymbol> given) {
  const int count = node.op->count_inputs(*node.attrs);
  node.inputs.assign(count, {});
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(node.input_name(i));
  int position = 0;
  for (const NamedSymbol& input : given) {
    int slot = position;
    if (input.name.empty()) {
      ++position;
      if (input.symbol.empty()) continue;
      LOOMIX_CHECK(slot < count, ValueError, "[{}] node '{}' got more than its {} inputs; expected {}.",
                   node.op->name, node.name, count, listing(names));
    } else {
      if (input.symbol.empty()) continue;
      slot = static_cast<int>(std::find(names.begin(), names.end(), input.name) - names.begin());
      LOOMIX_CHECK(slot < count, ValueError,
                   "[{}] node '{}' has no input '{}' with these attributes; expected {}.", node.op->name,
                   node.name, input.name, listing(names));
    }
    LOOMIX_CHECK(!node.inputs[slot].node, ValueError, "[{}] input '{}' of node '{}' is given twice.",
                 node.op->name, names[slot], node.name);
    node.inputs[slot] = single(input.symbol, node.op->name, names[slot]);
  }
  for (int i = 0; i < count; ++i) {
    SymbolOutput& input = node.inputs[i];
    if (!input.node) {
      input.node = make_ref<SymbolNode>();
      input.node->name = node.name + '_' + names[i];
      input.node->dict = node.dict;
    }
    LOOMIX_CHECK(!node.mutates(i) || input.node->is_variable(), ValueError,
                 "[{}] input '{}' of node '{}' is changed by the operator, so it must be a variable; got the "
                 "output of "
                 "'{}'.",
                 node.op->name, names[i], node.name, input.node->name);
    if (const char* init = first_value(node, i); init && input.node->is_variable()) {
      input.node->dict.emplace("__init__", init);
    }
  }
}

// Copies all nodes; inputs that `replaced` names become what it says.
Symbol rebuild(const Symbol& symbol, const std::unordered_map<const SymbolNode*, SymbolOutput>& replaced) {
  std::unordered_map<const SymbolNode*, Ref<SymbolNode>> copies;
  const auto translate = [&](const SymbolOutput& output) -> SymbolOutput {
    const auto found = replaced.find(output.node.get());
    if (found != replaced.end()) return found->second;
    return {copies.at(output.node.get()), output.index};
  };
  for (const SymbolNode* node : depth_first(symbol.outputs())) {
    if (replaced.contains(node)) continue;
    std::vector<SymbolOutput> inputs;
    for (const auto& input : node->inputs) inputs.push_back(translate(input));
    auto copy = node->with_inputs(std::move(inputs));
    for (const auto& dep : node->control_deps) copy->control_deps.push_back(translate({dep, 0}).node);
    copies.emplace(node, std::move(copy));
  }
  std::vector<SymbolOutput> outputs;
  for (const auto& output : symbol.outputs()) outputs.push_back(translate(output));
  return Symbol(std::move(outputs));
}

enum class Inputs { arguments, auxiliary_states, all };

std::vector<SymbolNode*> variables(const Symbol& symbol, Inputs which) {
  const auto order = depth_first(symbol.outputs());
  std::unordered_set<const SymbolNode*> mutated;
  if (which != Inputs::all) {
    for (const SymbolNode* node : order) {
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        if (node->mutates(static_cast<int>(i))) mutated.insert(node->inputs[i].node.get());
      }
    }
  }
  std::vector<SymbolNode*> chosen;
  for (SymbolNode* node : order) {
    if (!node->is_variable()) continue;
    if (which == Inputs::all || mutated.contains(node) == (which == Inputs::auxiliary_states))
      chosen.push_back(node);
  }
  return chosen;
}

std::vector<std::string> names_of(const std::vector<SymbolNode*>& nodes) {
  std::vector<std::string> names;
  for (const SymbolNode* node : nodes) names.push_back(node->name);
  return names;
}

TextPairs with_bare_hidden_keys(const SymbolNode& node) {
  TextPairs pairs;
  for (const auto& [key, value] : node.dict) {
    pairs.emplace_back(key, value);
    if (key.size() > 4 && key.starts_with("__") && key.ends_with("__")) {
      const std::string bare = key.substr(2, key.size() - 4);
      if (is_hidden_key(bare)) pairs.emplace_back(bare, value);
    }
  }
  return pairs;
}

}  // namespace

Symbol Symbol::variable(std::string name, const TextPairs& attrs) {
  auto node = make_ref<SymbolNode>();
  node->name = std::move(name);
  put_attrs(*node, attrs);
  return Symbol({{std::move(node), 0}});
}

Symbol Symbol::create(const ops::OpTable& table, std::string_view op, const TextPairs& attrs,
                      std::span<const NamedSymbol> inputs, std::string name,
                      std::span<const Symbol> subgraphs) {
  auto node = make_ref<SymbolNode>();
  node->op = &table.at(op);
  LOOMIX_CHECK(!node->op->no_symbol, ValueError, "[{}] the operator cannot be composed; call it on arrays.",
               node->op->name);
  node->name = std::move(name);
  put_attrs(*node, attrs);
  const std::string& count = node->op->variadic_count;
  if (!count.empty() && !inputs.empty()) node->dict.emplace(count, std::to_string(inputs.size()));
  for (const Symbol& graph : subgraphs) node->subgraphs.push_back(graph.outputs_);
  node->parse(table);
  connect(*node, inputs);
  std::vector<SymbolOutput> outputs;
  for (int i = 0; i < node->num_visible_outputs(); ++i) outputs.push_back({node, i});
  return Symbol(std::move(outputs));
}

Symbol Symbol::group(std::span<const Symbol> symbols) {
  std::vector<SymbolOutput> outputs;
  for (const Symbol& symbol : symbols)
    outputs.insert(outputs.end(), symbol.outputs_.begin(), symbol.outputs_.end());
  return Symbol(std::move(outputs));
}

Symbol Symbol::operator[](int i) const {
  LOOMIX_CHECK(i >= 0 && i < num_outputs(), IndexError,
               "[Symbol] output {} is out of range; the symbol has {}.", i, num_outputs());
  return Symbol({outputs_[i]});
}

Symbol Symbol::output(std::string_view name) const {
  const auto names = list_outputs();
  const auto found = std::find(names.begin(), names.end(), name);
  LOOMIX_CHECK(found != names.end(), ValueError, "[Symbol] no output is called '{}'; expected one of {}.",
               name, listing(names));
  LOOMIX_CHECK(std::find(found + 1, names.end(), name) == names.end(), ValueError,
               "[Symbol] several outputs are called '{}'; pick one by index.", name);
  return Symbol({outputs_[found - names.begin()]});
}

Symbol Symbol::internals() const {
  std::vector<SymbolOutput> outputs;
  for (SymbolNode* node : depth_first(outputs_)) {
    for (int i = 0; i < node->num_visible_outputs(); ++i) outputs.push_back({Ref<SymbolNode>(node), i});
  }
  return Symbol(std::move(outputs));
}

Symbol Symbol::children() const {
  std::vector<SymbolOutput> inputs;
  std::unordered_set<const SymbolNode*> seen;
  for (const auto& output : outputs_) {
    if (!seen.insert(output.node.get()).second) continue;
    inputs.insert(inputs.end(), output.node->inputs.begin(), output.node->inputs.end());
  }
  return Symbol(std::move(inputs));
}

Symbol Symbol::copy() const { return rebuild(*this, {}); }

Symbol Symbol::compose(std::span<const NamedSymbol> inputs, std::string_view name) const {
  const auto vars = variables(*this, Inputs::all);
  std::unordered_map<const SymbolNode*, SymbolOutput> replaced;
  size_t position = 0;
  for (const NamedSymbol& input : inputs) {
    size_t slot = position;
    if (input.name.empty()) {
      ++position;
      LOOMIX_CHECK(slot < vars.size(), ValueError,
                   "[Symbol] compose got more than the symbol's {} inputs; expected {}.", vars.size(),
                   listing(names_of(vars)));
    } else {
      slot =
          std::find_if(vars.begin(), vars.end(), [&](const SymbolNode* v) { return v->name == input.name; }) -
          vars.begin();
      LOOMIX_CHECK(slot < vars.size(), ValueError,
                   "[Symbol] compose: no input is called '{}'; expected one of {}.", input.name,
                   listing(names_of(vars)));
    }
    if (input.symbol.empty()) continue;
    LOOMIX_CHECK(replaced.emplace(vars[slot], single(input.symbol, "Symbol", vars[slot]->name)).second,
                 ValueError, "[Symbol] compose: input '{}' is given twice.", vars[slot]->name);
  }
  Symbol result = rebuild(*this, replaced);
  if (!name.empty()) {
    LOOMIX_CHECK(result.name() && !result.outputs_[0].node->is_variable(), ValueError,
                 "[Symbol] compose: a name can be given to one operator; this is a group or a variable.");
    result.outputs_[0].node->name = name;
  }
  return result;
}

std::optional<std::string> Symbol::name() const {
  if (outputs_.empty()) return std::nullopt;
  for (const auto& output : outputs_) {
    if (!(output.node == outputs_[0].node)) return std::nullopt;
  }
  return outputs_[0].node->name;
}

std::vector<std::string> Symbol::list_arguments() const {
  return names_of(variables(*this, Inputs::arguments));
}
std::vector<std::string> Symbol::list_inputs() const { return names_of(variables(*this, Inputs::all)); }
std::vector<std::string> Symbol::list_auxiliary_states() const {
  return names_of(variables(*this, Inputs::auxiliary_states));
}

std::vector<std::string> Symbol::list_outputs() const {
  std::vector<std::string> names;
  for (const auto& output : outputs_) names.push_back(output.node->output_name(output.index));
  return names;
}

std::optional<std::string> Symbol::attr(std::string_view key) const {
  if (!name()) return std::nullopt;
  const auto& dict = outputs_[0].node->dict;
  auto found = dict.find(key);
  if (found == dict.end() && is_hidden_key(key)) found = dict.find(underscored(key));
  return found == dict.end() ? std::nullopt : std::optional(found->second);
}

TextPairs Symbol::list_attr() const {
  return name() ? with_bare_hidden_keys(*outputs_[0].node) : TextPairs();
}

std::vector<std::pair<std::string, TextPairs>> Symbol::attr_dict() const {
  std::vector<std::pair<std::string, TextPairs>> all;
  for (const SymbolNode* node : depth_first(outputs_)) {
    if (!node->dict.empty()) all.emplace_back(node->name, with_bare_hidden_keys(*node));
  }
  return all;
}

void Symbol::set_attr(const ops::OpTable& table, const TextPairs& attrs) {
  LOOMIX_CHECK(name(), ValueError,
               "[Symbol] attributes can be set on one node; this is a group of {} outputs.", num_outputs());
  SymbolNode& node = *outputs_[0].node;
  auto before = node.dict;
  try {
    put_attrs(node, attrs);
    const int inputs = node.op ? node.op->count_inputs(*node.attrs) : 0;
    node.parse(table);
    LOOMIX_CHECK(!node.op || node.op->count_inputs(*node.attrs) == inputs, ValueError,
                 "[{}] the attributes of node '{}' would change its number of inputs; compose it anew.",
                 node.op->name, node.name);
  } catch (...) {
    node.dict = std::move(before);
    node.parse(table);
    throw;
  }
}

Symbol Symbol::without_amp_cast() const {
  const auto is_cast = [](const SymbolNode* n) {
    return n->op_name() == "amp_cast" || n->op_name() == "amp_multicast";
  };
  const auto past_casts = [&](SymbolOutput output) {
    while (is_cast(output.node.get())) {
      output = output.node->inputs[output.node->op_name() == "amp_cast" ? 0 : output.index];
    }
    return output;
  };
  const auto order = depth_first(outputs_);
  if (std::none_of(order.begin(), order.end(), is_cast)) return *this;
  Symbol result = copy();  // the given nodes stay as they are
  for (SymbolNode* node : depth_first(result.outputs_)) {
    for (auto& input : node->inputs) input = past_casts(input);
  }
  return result;
}

Graph Symbol::graph() const {
  Graph graph;
  std::unordered_map<const SymbolNode*, NodeId> ids;
  std::vector<ValueRef> inputs;
  const auto order = depth_first(outputs_);
  graph.reserve(static_cast<int>(order.size()));
  for (const SymbolNode* node : order) {
    auto info = make_ref<NodeInfo>();
    info->name = node->name;
    info->unknown_op = node->unknown_op;
    info->unknown_mutated = node->unknown_mutated;
    for (const auto& pair : node->dict) {
      if (!node->op || (pair.first.starts_with("__") && pair.first.ends_with("__")))
        info->extra.push_back(pair);
    }
    inputs.clear();
    for (const auto& input : node->inputs) inputs.push_back({ids.at(input.node.get()), input.index});
    NodeId id;
    if (node->is_variable()) {
      id = graph.add_variable(std::move(info));
    } else if (node->op) {
      id = graph.add_op(*node->op, node->attrs, inputs, std::move(info));
    } else {
      id = graph.add_unknown(std::move(info), inputs, node->unknown_outputs);
    }
    ids.emplace(node, id);
  }
  for (const auto& output : outputs_) graph.outputs.push_back({ids.at(output.node.get()), output.index});
  return graph;
}

}  // namespace loomix
