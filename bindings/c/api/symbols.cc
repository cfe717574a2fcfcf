// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>

#include "bindings/c/api/objects.h"
#include "bindings/c/api/operators.h"
#include "bindings/c/guard.h"
#include "ops/table.h"
#include "symbol/symbol_node.h"

using namespace loomix;     // NOLINT: the functions below are outside of all namespaces
using namespace loomix::c;  // NOLINT

namespace {

// fullyconnected0, fullyconnected1, ...
std::string next_name(std::string hint) {
  static std::mutex mutex;
  static std::map<std::string, uint64_t> counts;
  hint.erase(0, hint.find_first_not_of('_'));
  std::transform(hint.begin(), hint.end(), hint.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::lock_guard lock(mutex);
  return hint + std::to_string(counts[hint]++);
}

std::vector<NamedSymbol> to_inputs(const LoomixSymbolInputs* inputs, const char* who) {
  std::vector<NamedSymbol> result;
  if (!inputs || inputs->count == 0) return result;
  not_null(inputs->symbols, who, "a list of symbols");
  std::vector<std::string> names(inputs->count);
  if (inputs->names) names = to_names(inputs->count, inputs->names, who);
  for (size_t i = 0; i < inputs->count; ++i)
    result.push_back({names[i], find<SymbolObject>(inputs->symbols[i])->symbol});
  return result;
}

// Symbols keep attributes of any name. Of an operator these are its parameters and those that say more of a node.
void check_attributes(const ops::OpDef& op, const TextPairs& attributes) {
  if (op.params->others()) return;
  for (const auto& [name, value] : attributes) {
    LOOMIX_CHECK(op.params->find(name) || is_hidden_key(name) || name.starts_with("__"), ValueError,
                 "[{}] has no parameter '{}'.", op.name, name);
  }
}

std::vector<std::string> list_of(const Symbol& symbol, std::string_view kind) {
  if (kind == "arguments") return symbol.list_arguments();
  if (kind == "outputs") return symbol.list_outputs();
  if (kind == "auxiliary_states") return symbol.list_auxiliary_states();
  if (kind == "inputs") return symbol.list_inputs();
  if (kind == "name") {
    const auto name = symbol.name();
    return name ? std::vector<std::string>{*name} : std::vector<std::string>();
  }
  detail::throw_error<ValueError>(
      "[LoomixSymbolList] kind is '{}'; expected 'arguments', 'outputs', 'auxiliary_states', 'inputs' or "
      "'name'.",
      kind);
}

const LoomixShape* shapes_in(std::vector<LoomixShape>& to, const std::vector<Shape>& from) {
  to.clear();
  for (const Shape& shape : from) to.push_back(from_shape(shape));
  return to.data();
}

const int32_t* types_in(std::vector<int32_t>& to, const std::vector<DType>& from) {
  to.clear();
  for (const DType type : from) to.push_back(static_cast<int32_t>(type));
  return to.data();
}

}  // namespace

int LoomixSymbolVariable(const char* name, const LoomixPairs* attributes, LoomixSymbol* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixSymbolVariable";
    not_null(out, kWho, "out");
    *out = add_symbol(Symbol::variable(not_null(name, kWho, "name"), to_pairs(attributes, kWho)));
  });
}

int LoomixSymbolCreate(const char* operator_name, const LoomixPairs* attributes,
                       const LoomixSymbolInputs* inputs, const char* name, LoomixSymbol* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixSymbolCreate";
    not_null(out, kWho, "out");
    const std::string_view op_name = not_null(operator_name, kWho, "operator_name");
    const ops::OpTable& table = running().table();
    const TextPairs pairs = to_pairs(attributes, kWho);
    check_attributes(operator_at(op_name), pairs);
    const std::vector<NamedSymbol> given = to_inputs(inputs, kWho);
    std::string final_name = name && *name ? name : next_name(std::string(op_name));
    *out = add_symbol(Symbol::create(table, op_name, pairs, given, std::move(final_name)));
  });
}

int LoomixSymbolCompose(LoomixSymbol symbol, const LoomixSymbolInputs* inputs, const char* name,
                        LoomixSymbol* out) {
  return guarded([&] {
    not_null(out, "LoomixSymbolCompose", "out");
    const auto object = find<SymbolObject>(symbol);
    const auto given = to_inputs(inputs, "LoomixSymbolCompose");
    *out = add_symbol(object->symbol.compose(given, name ? std::string_view(name) : std::string_view()));
  });
}

int LoomixSymbolGroup(size_t count, const LoomixSymbol* symbols, LoomixSymbol* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixSymbolGroup";
    not_null(out, kWho, "out");
    LOOMIX_CHECK(count > 0, ValueError, "[{}] got no symbols.", kWho);
    not_null(symbols, kWho, "symbols");
    std::vector<Symbol> all;
    for (size_t i = 0; i < count; ++i) all.push_back(find<SymbolObject>(symbols[i])->symbol);
    *out = add_symbol(Symbol::group(all));
  });
}

int LoomixSymbolFromJson(const char* json, LoomixSymbol* out) {
  return guarded([&] {
    not_null(out, "LoomixSymbolFromJson", "out");
    *out = add_symbol(Symbol::from_json(running().table(), not_null(json, "LoomixSymbolFromJson", "json")));
  });
}

int LoomixSymbolToJson(LoomixSymbol symbol, const char** json) {
  return guarded([&] {
    not_null(json, "LoomixSymbolToJson", "json");
    answer().text = find<SymbolObject>(symbol)->symbol.to_json();
    *json = answer().text.c_str();
  });
}

int LoomixSymbolList(LoomixSymbol symbol, const char* kind, size_t* count, const char* const** names) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixSymbolList";
    not_null(count, kWho, "count");
    not_null(names, kWho, "names");
    auto list = list_of(find<SymbolObject>(symbol)->symbol, not_null(kind, kWho, "kind"));
    const size_t size = list.size();
    *names = answer().lists[0].set(std::move(list));
    *count = size;
  });
}

int LoomixSymbolGetOutput(LoomixSymbol symbol, size_t index, LoomixSymbol* out) {
  return guarded([&] {
    not_null(out, "LoomixSymbolGetOutput", "out");
    const auto object = find<SymbolObject>(symbol);
    LOOMIX_CHECK(index < static_cast<size_t>(object->symbol.num_outputs()), IndexError,
                 "[LoomixSymbolGetOutput] output {} of {} is asked for.", index,
                 object->symbol.num_outputs());
    *out = add_symbol(object->symbol[static_cast<int>(index)]);
  });
}

int LoomixSymbolGetInternals(LoomixSymbol symbol, LoomixSymbol* out) {
  return guarded([&] {
    not_null(out, "LoomixSymbolGetInternals", "out");
    *out = add_symbol(find<SymbolObject>(symbol)->symbol.internals());
  });
}

int LoomixSymbolSetAttribute(LoomixSymbol symbol, const char* name, const char* value) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixSymbolSetAttribute";
    const auto object = find<SymbolObject>(symbol);
    object->symbol.set_attr(running().table(),
                            {{not_null(name, kWho, "name"), not_null(value, kWho, "value")}});
  });
}

int LoomixSymbolListAttributes(LoomixSymbol symbol, int of_all_nodes, LoomixPairs* out) {
  return guarded([&] {
    not_null(out, "LoomixSymbolListAttributes", "out");
    const auto object = find<SymbolObject>(symbol);
    std::vector<std::string> names, values;
    const auto add = [&](const std::string& prefix, const TextPairs& pairs) {
      for (const auto& [name, value] : pairs) {
        names.push_back(prefix + name);
        values.push_back(value);
      }
    };
    if (of_all_nodes) {
      for (const auto& [node, pairs] : object->symbol.attr_dict()) add(node + "$", pairs);
    } else {
      add("", object->symbol.list_attr());
    }
    LoomixPairs pairs{};
    pairs.count = names.size();
    pairs.names = answer().lists[0].set(std::move(names));
    pairs.values = answer().lists[1].set(std::move(values));
    *out = pairs;
  });
}

int LoomixSymbolInferShape(LoomixSymbol symbol, size_t count, const char* const* names,
                           const LoomixShape* shapes, LoomixInferredShapes* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixSymbolInferShape";
    not_null(out, kWho, "out");
    const auto object = find<SymbolObject>(symbol);
    const auto texts = to_names(count, names, kWho);
    if (count > 0) not_null(shapes, kWho, "shapes");
    std::vector<std::pair<std::string, Shape>> known;
    for (size_t i = 0; i < count; ++i) known.emplace_back(texts[i], to_partial_shape(&shapes[i], kWho));
    const Inferred<Shape> inferred = object->symbol.infer_shape(known, ShapeRule::numpy);
    Answer& mine = answer();
    *out = {inferred.arguments.size(),
            inferred.outputs.size(),
            inferred.auxiliary_states.size(),
            shapes_in(mine.shapes[0], inferred.arguments),
            shapes_in(mine.shapes[1], inferred.outputs),
            shapes_in(mine.shapes[2], inferred.auxiliary_states),
            inferred.complete};
  });
}

int LoomixSymbolInferType(LoomixSymbol symbol, size_t count, const char* const* names, const int32_t* types,
                          LoomixInferredTypes* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixSymbolInferType";
    not_null(out, kWho, "out");
    const auto object = find<SymbolObject>(symbol);
    const auto texts = to_names(count, names, kWho);
    if (count > 0) not_null(types, kWho, "types");
    std::vector<std::pair<std::string, DType>> known;
    for (size_t i = 0; i < count; ++i) known.emplace_back(texts[i], to_dtype(types[i], kWho));
    const Inferred<DType> inferred = object->symbol.infer_type(known);
    Answer& mine = answer();
    *out = {inferred.arguments.size(),
            inferred.outputs.size(),
            inferred.auxiliary_states.size(),
            types_in(mine.types[0], inferred.arguments),
            types_in(mine.types[1], inferred.outputs),
            types_in(mine.types[2], inferred.auxiliary_states),
            inferred.complete};
  });
}
