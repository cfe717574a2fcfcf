// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <unordered_map>

#include "base/error.h"
#include "ops/shape_rule.h"
#include "symbol/symbol.h"

// Writes the text form that MXNet writes, byte for byte: two spaces of indentation, items separated by a comma and a
// space, arrays of up to ten numbers (and objects of one member) on one line.
namespace loomix {
namespace {

constexpr int kFormatVersion = 10901;
constexpr size_t kShortArray = 10;

class Writer {
 public:
  // Items between begin and end; on lines of their own if `lines`.
  void begin(char bracket, bool lines) {
    text_ += bracket;
    scopes_.push_back({lines, 0});
  }
  void end(char bracket) {
    const Scope scope = scopes_.back();
    scopes_.pop_back();
    if (scope.lines && scope.items > 0) indent();
    text_ += bracket;
  }
  void item() {
    Scope& scope = scopes_.back();
    if (scope.items++ > 0) text_ += ", ";
    if (scope.lines) indent();
  }
  void key(std::string_view name) {
    item();
    string(name);
    text_ += ": ";
  }
  void number(int64_t value) { text_ += std::to_string(value); }
  void string(std::string_view value) {
    text_ += '"';
    for (char c : value) {
      switch (c) {
        case '\r': text_ += "\\r"; break;
        case '\n': text_ += "\\n"; break;
        case '\\': text_ += "\\\\"; break;
        case '\t': text_ += "\\t"; break;
        case '"': text_ += "\\\""; break;
        default:
          if (static_cast<unsigned char>(c) < 0x20) {
            text_ += fmt::format("\\u{:04x}", static_cast<int>(c));
          } else {
            text_ += c;
          }
      }
    }
    text_ += '"';
  }
  std::string take() { return std::move(text_); }

 private:
  struct Scope {
    bool lines;
    size_t items;
  };
  void indent() {
    text_ += '\n';
    text_.append(2 * scopes_.size(), ' ');
  }
  std::string text_;
  std::vector<Scope> scopes_;
};

// One graph: the symbol, or a subgraph of one of its nodes.
class GraphWriter {
 public:
  GraphWriter(Writer& out, std::span<const SymbolOutput> heads)
      : out_(out), heads_(heads), order_(depth_first(heads)) {
    for (size_t i = 0; i < order_.size(); ++i) ids_.emplace(order_[i], static_cast<int>(i));
  }

  void write(bool top) {
    out_.begin('{', true);
    out_.key("nodes");
    out_.begin('[', true);
    for (const SymbolNode* node : order_) write_node(*node);
    out_.end(']');
    std::vector<int64_t> variables, row_ptr = {0};
    for (size_t i = 0; i < order_.size(); ++i) {
      if (order_[i]->is_variable()) variables.push_back(static_cast<int64_t>(i));
      row_ptr.push_back(row_ptr.back() + order_[i]->num_outputs());
    }
    out_.key("arg_nodes");
    numbers(variables);
    out_.key("node_row_ptr");
    numbers(row_ptr);
    out_.key("heads");
    out_.begin('[', heads_.size() > kShortArray);
    for (const SymbolOutput& head : heads_) entry(head, 0);
    out_.end(']');
    if (top) {
      out_.key("attrs");
      out_.begin('{', false);
      out_.key("mxnet_version");
      out_.begin('[', false);
      out_.item();
      out_.string("int");
      out_.item();
      out_.number(kFormatVersion);
      out_.end(']');
      if (ops::numpy_shapes()) {
        out_.key("is_np_shape");
        out_.begin('[', false);
        out_.item();
        out_.string("int");
        out_.item();
        out_.number(1);
        out_.end(']');
      }
      out_.end('}');
    }
    out_.end('}');
  }

 private:
  void write_node(const SymbolNode& node) {
    const FieldInfo* const unsaved = node.op ? node.attrs->unsaved_field() : nullptr;
    LOOMIX_CHECK(
        !unsaved, ValueError,
        "[Symbol.save] attribute '{}' of node '{}' ({}) exists only in this process and has no text; a "
        "graph with it cannot be saved.",
        unsaved->name, node.name, node.op_name());
    out_.item();
    out_.begin('{', true);
    out_.key("op");
    out_.string(node.is_variable() ? "null" : node.op_name());
    out_.key("name");
    out_.string(node.name);
    if (!node.dict.empty()) {
      out_.key("attrs");
      out_.begin('{', node.dict.size() > 1);
      for (const auto& [key, value] : node.dict) {
        out_.key(key);
        out_.string(value);
      }
      out_.end('}');
    }
    out_.key("inputs");
    out_.begin('[', node.inputs.size() > kShortArray);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      int& version = versions_[node.inputs[i].node.get()];
      if (node.mutates(static_cast<int>(i))) ++version;
      entry(node.inputs[i], version);
    }
    out_.end(']');
    if (!node.control_deps.empty()) {
      out_.key("control_deps");
      std::vector<int64_t> ids;
      for (const auto& dep : node.control_deps) ids.push_back(ids_.at(dep.get()));
      numbers(ids);
    }
    if (!node.subgraphs.empty()) {
      out_.key("subgraphs");
      out_.begin('[', true);
      for (const auto& heads : node.subgraphs) {
        out_.item();
        GraphWriter(out_, heads).write(false);
      }
      out_.end(']');
    }
    out_.end('}');
  }

  void entry(const SymbolOutput& output, int version) {
    out_.item();
    out_.begin('[', false);
    for (int64_t value : {ids_.at(output.node.get()), output.index, version}) {
      out_.item();
      out_.number(value);
    }
    out_.end(']');
  }

  void numbers(const std::vector<int64_t>& values) {
    out_.begin('[', values.size() > kShortArray);
    for (int64_t value : values) {
      out_.item();
      out_.number(value);
    }
    out_.end(']');
  }

  Writer& out_;
  std::span<const SymbolOutput> heads_;
  std::vector<SymbolNode*> order_;
  std::unordered_map<const SymbolNode*, int> ids_;
  std::unordered_map<const SymbolNode*, int> versions_;  // how often a variable was changed so far
};

}  // namespace

std::string Symbol::to_json() const {
  Writer out;
  GraphWriter(out, outputs_).write(true);
  return out.take();
}

void Symbol::save(const std::string& path) const {
  const std::string text = to_json();
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  LOOMIX_CHECK(file.good(), FileError, "[Symbol.save] '{}' could not be written: {}.", path,
               std::strerror(errno));
}

}  // namespace loomix
