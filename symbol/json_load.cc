// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "ops/shape_rule.h"
#include "symbol/json_numpy.h"
#include "symbol/json_upgrade.h"
#include "symbol/symbol.h"

// Reads the symbol files of every version. The text is untrusted: every kind and number is checked before use, subgraphs
// nest to a limit, and nothing is made that the text does not contain.
namespace loomix {
namespace {

using Json = nlohmann::json;

constexpr int kVersionWithoutAttrs = 800;  // files so old that they do not say
constexpr int kMostSubgraphLevels = 16;

[[noreturn]] void fail(const std::string& what) {
  throw ValueError(fmt::format("[Symbol.load_json] {}", what));
}

const Json& member(const Json& object, const char* key, Json::value_t kind, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) fail(fmt::format("{} has no '{}'.", where, key));
  if (found->type() != kind)
    fail(fmt::format("'{}' of {} is {}; expected {}.", key, where, found->type_name(),
                     Json(kind).type_name()));
  return *found;
}

int64_t integer(const Json& value, int64_t least, int64_t below, const std::string& what) {
  if (!value.is_number_integer())
    fail(fmt::format("{} is {}; expected an integer.", what, value.type_name()));
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    fail(what + " is too large.");
  const auto number = value.get<int64_t>();
  if (number < least || number >= below) {
    fail(fmt::format("{} is {}; expected {} to {}.", what, number, least, below - 1));
  }
  return number;
}

void allow_keys(const Json& object, std::initializer_list<std::string_view> allowed,
                const std::string& where) {
  for (const auto& item : object.items()) {
    if (std::find(allowed.begin(), allowed.end(), item.key()) != allowed.end()) continue;
    fail(fmt::format("{} has the unknown key '{}'.", where, item.key()));
  }
}

struct Entry {
  int node;
  int index;
  int version;
};

// [node, output] or [node, output, version]; the node comes before `limit`.
Entry read_entry(const Json& value, int limit, const std::string& what) {
  if (!value.is_array() || (value.size() != 2 && value.size() != 3)) {
    fail(what + " is not of the form [node, output, version].");
  }
  constexpr int64_t kMost = 65536;
  return {static_cast<int>(integer(value[0], 0, limit, what + ", its node")),
          static_cast<int>(integer(value[1], 0, kMost, what + ", its output")),
          value.size() == 3 ? static_cast<int>(integer(value[2], 0, INT32_MAX, what + ", its version")) : 0};
}

class Reader {
 public:
  Reader(const ops::OpTable& table, int version, bool old_shapes, NumpyOperators numpy, int level)
      : table_(table), version_(version), old_shapes_(old_shapes), numpy_(numpy), level_(level) {}

  std::vector<SymbolOutput> read(const Json& graph) {
    const Json& nodes = member(graph, "nodes", Json::value_t::array, "the graph");
    const Json& arg_nodes = member(graph, "arg_nodes", Json::value_t::array, "the graph");
    const Json& heads = member(graph, "heads", Json::value_t::array, "the graph");
    count_outputs(graph, nodes.size());
    all_ = &nodes;
    for (const Json& node : nodes) read_node(node);
    for (const Json& id : arg_nodes) {
      const auto at = integer(id, 0, size(), "an entry of 'arg_nodes'");
      if (!nodes_[at]->is_variable()) {
        fail(fmt::format("'arg_nodes' names node '{}', which is an operator ({}).", nodes_[at]->name,
                         nodes_[at]->op_name()));
      }
    }
    if (heads.empty()) fail("the graph has no heads.");
    std::vector<SymbolOutput> outputs;
    for (const Json& head : heads) outputs.push_back(use(read_entry(head, size(), "a head")));
    return outputs;
  }

 private:
  int size() const { return static_cast<int>(nodes_.size()); }
  std::string where() const { return fmt::format("node {}", nodes_.size()); }

  // What 'node_row_ptr' says of the number of outputs: needed for unknown operators only.
  void count_outputs(const Json& graph, size_t count) {
    const auto found = graph.find("node_row_ptr");
    if (found == graph.end()) return;
    if (!found->is_array() || found->size() != count + 1)
      fail("'node_row_ptr' is not an array of one more than the nodes.");
    int64_t before = 0;
    for (size_t i = 0; i <= count; ++i) {
      const int64_t next = integer((*found)[i], before, int64_t{1} << 40, "an entry of 'node_row_ptr'");
      if (i > 0) declared_outputs_.push_back(static_cast<int>(std::min<int64_t>(next - before, 65535)));
      before = next;
    }
  }

  SymbolOutput use(const Entry& entry) {
    SymbolNode& node = *nodes_[entry.node];
    if (!node.is_variable() && !node.op) {
      node.unknown_outputs = std::max(node.unknown_outputs, entry.index + 1);
    } else if (entry.index >= node.num_outputs()) {
      fail(fmt::format("output {} of node '{}' is used; it has {}.", entry.index, node.name,
                       node.num_outputs()));
    }
    return {nodes_[entry.node], entry.index};
  }

  // Nodes come after their inputs. Says more than a number out of range would.
  void check_order(const Json& input, const std::string& what) const {
    if (!input.is_array() || input.empty() || !input[0].is_number_unsigned()) return;
    const auto id = input[0].get<uint64_t>();
    if (id < nodes_.size()) return;
    if (id >= all_->size())
      fail(fmt::format("{} is node {}; the graph has {} nodes.", what, id, all_->size()));
    if (id == nodes_.size()) fail(what + " is the node itself.");
    const Json& other = (*all_)[id];
    const auto name = other.is_object() ? other.find("name") : other.end();
    fail(fmt::format(
        "{} is node {}{}, which comes after it; the inputs of a node come before it, so this is a "
        "cycle, or the nodes are in a wrong order.",
        what, id,
        name != other.end() && name->is_string() ? fmt::format(" ('{}')", name->get<std::string>())
                                                 : std::string()));
  }

  void read_node(const Json& json) {
    if (!json.is_object()) fail(where() + " is not an object.");
    allow_keys(
        json,
        {"op", "name", "param", "attr", "attrs", "inputs", "backward_source_id", "control_deps", "subgraphs"},
        where());
    auto node = make_ref<SymbolNode>();
    node->name = member(json, "name", Json::value_t::string, where()).get<std::string>();
    const auto op = member(json, "op", Json::value_t::string, where()).get<std::string>();
    for (const char* key : {"param", "attr", "attrs"}) read_dict(json, key, *node);
    std::vector<int> mutated;
    const Json& inputs = member(json, "inputs", Json::value_t::array, where());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string what = fmt::format("input {} of {} ('{}')", i, where(), node->name);
      check_order(inputs[i], what);
      const Entry entry = read_entry(inputs[i], size(), what);
      node->inputs.push_back(use(entry));
      if (entry.version > 0) mutated.push_back(static_cast<int>(i));
    }
    if (op != "null") {
      const std::string name = numpy_ == NumpyOperators::late ? op : rename_numpy_operator(*node, op, table_);
      node->op = table_.find(name);
      if (!node->op) node->unknown_op = name;
    }
    if (!node->op) node->unknown_mutated = std::move(mutated);
    if (const auto deps = json.find("control_deps"); deps != json.end()) {
      if (!deps->is_array()) fail("'control_deps' of " + where() + " is no array.");
      for (const Json& dep : *deps) {
        node->control_deps.push_back(nodes_[integer(dep, 0, size(), "a control dependency of " + where())]);
      }
    }
    if (const auto graphs = json.find("subgraphs"); graphs != json.end()) read_subgraphs(*graphs, *node);
    if (node->unknown_op.size()) {
      if (!declared_outputs_.empty()) node->unknown_outputs = std::max(1, declared_outputs_[nodes_.size()]);
    }
    if (node->is_variable() && !node->inputs.empty())
      fail(fmt::format("variable '{}' has inputs.", node->name));
    upgrade_node(*node, version_, table_);
    if (old_shapes_ && node->is_variable()) write_unknown_sizes(*node);
    nodes_.push_back(std::move(node));
  }

  // A size of 0 is unknown in the file; by the rule of NumPy, which holds now, that is -1.
  static void write_unknown_sizes(SymbolNode& node) {
    const auto found = node.dict.find("__shape__");
    Shape shape;
    if (found == node.dict.end() || !read_value(found->second, shape)) return;
    if (shape.ndim() == 0) {
      node.dict.erase(found);
      return;
    }
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      if (shape[axis] == 0) shape[axis] = kUnknownDim;
    }
    std::string text;
    for (int axis = 0; axis < shape.ndim(); ++axis)
      text += fmt::format("{}{}", axis == 0 ? "" : ", ", shape[axis]);
    found->second = fmt::format("({}{})", text, shape.ndim() == 1 ? "," : "");
  }

  // Keys of a later member win.
  void read_dict(const Json& json, const char* key, SymbolNode& node) {
    const auto found = json.find(key);
    if (found == json.end()) return;
    if (!found->is_object()) fail(fmt::format("'{}' of {} is no object.", key, where()));
    for (const auto& item : found->items()) {
      if (!item.value().is_string()) {
        fail(fmt::format("attribute '{}' of {} ('{}') is {}; expected a string.", item.key(), where(),
                         node.name, item.value().type_name()));
      }
      node.dict[item.key()] = item.value().get<std::string>();
    }
  }

  void read_subgraphs(const Json& graphs, SymbolNode& node) {
    if (!graphs.is_array()) fail("'subgraphs' of " + where() + " is no array.");
    if (level_ >= kMostSubgraphLevels)
      fail(fmt::format("subgraphs are nested more than {} deep.", kMostSubgraphLevels));
    for (const Json& graph : graphs) {
      if (!graph.is_object()) fail("a subgraph of " + where() + " is no object.");
      allow_keys(graph, {"nodes", "arg_nodes", "node_row_ptr", "heads", "attrs"}, "a subgraph of " + where());
      node.subgraphs.push_back(Reader(table_, version_, old_shapes_, numpy_, level_ + 1).read(graph));
    }
  }

  const ops::OpTable& table_;
  const int version_;
  const bool old_shapes_;  // 0 is an unknown size in the file, and is not on this thread
  const NumpyOperators numpy_;
  const int level_;
  const Json* all_ = nullptr;  // the nodes as the text has them
  std::vector<Ref<SymbolNode>> nodes_;
  std::vector<int> declared_outputs_;
};

int file_version(const Json& graph) {
  const auto attrs = graph.find("attrs");
  if (attrs == graph.end()) return kVersionWithoutAttrs;
  if (!attrs->is_object()) fail("'attrs' of the graph is no object.");
  const auto version = attrs->find("mxnet_version");
  if (version == attrs->end()) return kVersionWithoutAttrs;
  if (!version->is_array() || version->size() != 2)
    fail("'mxnet_version' is not of the form [\"int\", number].");
  return static_cast<int>(integer((*version)[1], 0, INT32_MAX, "'mxnet_version'"));
}

bool has_numpy_shapes(const Json& graph) {
  const auto attrs = graph.find("attrs");
  if (attrs == graph.end() || !attrs->is_object()) return false;
  const auto flag = attrs->find("is_np_shape");
  if (flag == attrs->end()) return false;
  if (!flag->is_array() || flag->size() != 2) fail("'is_np_shape' is not of the form [\"int\", number].");
  return integer((*flag)[1], 0, 2, "'is_np_shape'") == 1;
}

}  // namespace

Symbol Symbol::from_json(const ops::OpTable& table, std::string_view text, NumpyOperators numpy) {
  Json graph;
  try {
    graph = Json::parse(text);
  } catch (const Json::exception& error) {
    fail(fmt::format("the text is no JSON: {}", error.what()));
  }
  if (!graph.is_object()) fail("the text is no JSON object.");
  allow_keys(graph, {"nodes", "arg_nodes", "node_row_ptr", "heads", "attrs"}, "the graph");
  const bool old_shapes = ops::numpy_shapes() && !has_numpy_shapes(graph);
  return Symbol(Reader(table, file_version(graph), old_shapes, numpy, 0).read(graph));
}

Symbol Symbol::load(const ops::OpTable& table, const std::string& path, NumpyOperators numpy) {
  std::ifstream file(path, std::ios::binary);
  LOOMIX_CHECK(file.is_open(), FileError, "[Symbol.load] '{}' could not be opened: {}.", path,
               std::strerror(errno));
  std::string text;
  std::array<char, 1 << 16> chunk{};
  // read() notes an error, such as that of a folder; iterators of the buffer would throw it as one of their own
  while (file.read(chunk.data(), chunk.size()) || file.gcount() > 0) {
    text.append(chunk.data(), static_cast<size_t>(file.gcount()));
  }
  LOOMIX_CHECK(!file.bad(), FileError, "[Symbol.load] '{}' could not be read: {}.", path,
               std::strerror(errno));
  try {
    return from_json(table, text, numpy);
  } catch (Error& error) {
    error.add_context(fmt::format("in file '{}'", path));
    throw;
  }
}

}  // namespace loomix
