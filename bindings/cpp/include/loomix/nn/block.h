// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/parameter.h"

namespace loomix::nn {

namespace detail {

// Where in the network this thread is: the blocks that are being called, from the outermost.
struct Place {
  std::vector<std::pair<std::string, std::string>> blocks;  // name in its parent, kind
  [[gnu::cold]] std::string path() const {
    std::string result;
    for (size_t i = 1; i < blocks.size(); ++i) result += (i > 1 ? "." : "") + blocks[i].first;
    return result;
  }
};
inline Place& place() {
  thread_local Place here;
  return here;
}

// What Block::summary collects while its block is called.
inline std::string*& summary() {
  thread_local std::string* text = nullptr;
  return text;
}

}  // namespace detail

// An error that says in which block it came about.
class BlockError : public Error {
 public:
  using Error::Error;
};

using NamedParameters = std::vector<std::pair<std::string, Parameter*>>;

// A part of a network. One of one's own is derived from it, makes its parameters and children with parameter() and child(), and
// says what it computes in forward(), by operators on arrays. Blocks are moved, not copied.
class Block {
 public:
  explicit Block(std::string kind = "Block") : kind_(std::move(kind)) {}
  Block(Block&&) = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  Block& operator=(Block&&) = delete;
  virtual ~Block() = default;

  // Calls the block.
  Array operator()(const Array& x) { return call({x})[0]; }
  template <class... More>
  Array operator()(const Array& x, const Array& y, const More&... more) {
    return call({x, y, more...})[0];
  }
  Arrays call(const Arrays& inputs);

  // What the block computes; one of the two is overridden.
  virtual Array forward(const Array& x) {
    (void)x;
    detail::fail({"[", kind_, "] does not override forward."});
  }
  virtual Arrays forward_all(const Arrays& inputs) {
    if (inputs.size() != 1)
      detail::fail(
          {"[", kind_, "] got ", inputs.size(), " inputs; forward takes one, forward_all any number."});
    return {forward(inputs[0])};
  }

  // Compiles what the block computes: forward is traced to a graph when it is called next.
  [[gnu::cold]] void hybridize(bool active = true) {
    active_ = active;
    graphs_.clear();
    for (const auto& [name, block] : children_) block->hybridize(active);
  }
  // Gives all parameters values: what the block wants (biases 0) or else `init`.
  [[gnu::cold]] void initialize(const Initializer& init = {}, const Device& device = cpu(),
                                bool again = false) {
    for (const auto& [name, parameter] : parameters()) parameter->initialize(init, device, again);
  }
  // All parameters by name, as Gluon names them in its files: "0.weight", "encoder.1.bias".
  [[gnu::cold]] NamedParameters parameters() const {
    NamedParameters result;
    collect("", result);
    return result;
  }
  [[gnu::cold]] Parameter& parameter_at(const std::string& name) const {
    for (const auto& [known, parameter] : parameters()) {
      if (known == name) return *parameter;
    }
    detail::fail({"[", kind_, "] has no parameter '", name, "'."});
  }
  [[gnu::cold]] void cast(DType dtype) {
    for (const auto& [name, parameter] : parameters()) parameter->cast(dtype);
    graphs_.clear();
  }
  [[gnu::cold]] void to(const Device& device) {
    for (const auto& [name, parameter] : parameters()) parameter->to(device);
  }
  // `.params` files of MXNet and Gluon, or `.safetensors` by the file's name; see files.h.
  void save(const std::string& path) const;
  void load(const std::string& path, bool allow_missing = false, bool ignore_extra = false);
  // A line a block: its output's shape and its parameters, for an input of this shape.
  std::string summary(const Shape& input);
  // What was compiled for the last call of a hybridized block.
  [[gnu::cold]] std::string explain() const {
    if (graphs_.empty()) detail::fail({"[", kind_, "] was not compiled yet; hybridize() and call it."});
    const char* text = nullptr;
    detail::check(LoomixGraphDescribe(graphs_.back().graph.get(), &text));
    return text;
  }

  const std::string& kind() const { return kind_; }
  const std::vector<std::pair<std::string, std::shared_ptr<Block>>>& children() const { return children_; }

 protected:
  [[gnu::cold]] Parameter& parameter(const std::string& name, const Shape& shape,
                                     const ParameterOptions& options = {}) {
    parameters_.push_back(std::make_shared<Parameter>(name, shape, options));
    return *parameters_.back();
  }
  // Makes a block a part of this one. The reference stays valid when this one is moved.
  template <class T>
  [[gnu::cold]] T& child(const std::string& name, T block) {
    auto made = std::make_shared<T>(std::move(block));
    T& result = *made;
    children_.push_back({name, std::move(made)});
    return result;
  }
  void share_child(const std::string& name, std::shared_ptr<Block> block) {
    children_.push_back({name, std::move(block)});
  }
  void rename(std::string kind) { kind_ = std::move(kind); }

 private:
  // A graph that was made of this block, and what it is for.
  struct Graph {
    detail::Handle<LoomixGraph> graph;
    std::vector<detail::Trace::Input> inputs;  // in the graph's order
    size_t arguments = 0;
    std::vector<Shape> shapes;  // empty: for all shapes
    int training = -1;          // -1: for both modes
  };
  struct Within;

  [[gnu::cold]] void collect(const std::string& prefix, NamedParameters& to) const {
    for (const auto& one : parameters_) {
      bool known = false;
      for (const auto& [name, other] : to) known |= other == one.get();
      if (!known) to.push_back({prefix + one->name(), one.get()});
    }
    for (const auto& [name, block] : children_) block->collect(prefix + name + ".", to);
  }
  Arrays run(const Arrays& inputs);
  [[noreturn]] void fail_in_place(const Arrays& inputs, const Error& error) const;
  void add_to_summary(const Arrays& outputs) const;
  Arrays run_compiled(const Arrays& inputs);
  Graph trace(const Arrays& inputs);
  // Shapes of parameters that are not known yet, from those of the inputs.
  void complete(const detail::Trace& trace, LoomixSymbol symbol) const;
  [[gnu::cold]] bool waits_for_shapes(bool own) const {
    for (const auto& one : parameters_) {
      if (!one->is_ready() && !one->is_known()) return true;
    }
    for (const auto& [name, block] : children_) {
      if (!own && block->waits_for_shapes(false)) return true;
    }
    return false;
  }
  const std::string& name_of(const Block& block) const {
    static const std::string unknown = "?";
    for (const auto& [name, other] : children_) {
      if (other.get() == &block) return name;
    }
    return unknown;
  }

  std::string kind_;
  bool active_ = false;
  std::vector<std::shared_ptr<Parameter>> parameters_;
  std::vector<std::pair<std::string, std::shared_ptr<Block>>> children_;
  std::vector<Graph> graphs_;
};

// While it lives, this thread is within a block.
struct Block::Within {
  explicit Within(const Block& block) {
    std::vector<std::pair<std::string, std::string>>& blocks = detail::place().blocks;
    const Block* const outer = current();
    blocks.push_back({outer ? outer->name_of(block) : "", block.kind_});
    before = outer;
    current() = &block;
    set_place();
  }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  ~Within() {
    detail::place().blocks.pop_back();
    current() = before;
    set_place();
  }
  static void set_place() {
    if (detail::Trace* trace = detail::current_trace()) name_place(*trace);
  }
  [[gnu::cold]] static void name_place(detail::Trace& trace) { trace.place = detail::place().path(); }
  static const Block*& current() {
    thread_local const Block* block = nullptr;
    return block;
  }
  const Block* before;
};

[[gnu::cold]] inline void Block::add_to_summary(const Arrays& outputs) const {
  const std::string path = detail::place().path();
  std::string line = path.empty() ? kind_ : path + " " + kind_;
  line.resize(line.size() < 41 ? 41 : line.size(), ' ');
  line += " ";
  for (const Array& output : outputs)
    line += (&output == outputs.data() ? "" : " ") + to_string(output.shape());
  line.resize(line.size() < 61 ? 61 : line.size(), ' ');
  int64_t count = 0;
  for (const auto& one : parameters_) count += one->shape().count();
  *detail::summary() += line + " " + std::to_string(count) + "\n";
}

inline Arrays Block::call(const Arrays& inputs) {
  const Within within(*this);
  try {
    const Arrays outputs = run(inputs);
    if (detail::summary() && !detail::current_trace()) add_to_summary(outputs);
    return outputs;
  } catch (const BlockError&) {
    throw;
  } catch (const Error& error) {
    fail_in_place(inputs, error);
  }
}

[[gnu::cold]] inline void Block::fail_in_place(const Arrays& inputs, const Error& error) const {
  const auto& blocks = detail::place().blocks;
  std::string text = "[" + kind_ + "]";
  if (blocks.size() > 1) text += " block '" + detail::place().path() + "' of the " + blocks[0].second;
  text += blocks.size() > 1 ? ", with" : " with";
  for (const Array& input : inputs) {
    try {
      text += " " + (input ? to_string(input.shape()) : std::string("an empty array"));
    } catch (const Error&) {
      text += " (an unknown shape)";
    }
  }
  throw BlockError(text + ": " + error.what());
}

inline Arrays Block::run(const Arrays& inputs) {
  if (detail::current_trace()) return forward_all(inputs);
  if (active_) return run_compiled(inputs);
  if (waits_for_shapes(true)) trace(inputs);
  return forward_all(inputs);
}

[[gnu::cold]] inline Block::Graph Block::trace(const Arrays& inputs) {
  const Pause pause(is_training());
  detail::Trace trace;
  Within::set_place();
  Arrays arguments;
  for (size_t i = 0; i < inputs.size(); ++i)
    arguments.push_back(trace.argument(static_cast<int>(i), inputs[i]));
  const Arrays outputs = forward_all(arguments);
  std::vector<LoomixSymbol> symbols;
  Arrays kept;
  for (const Array& output : outputs) {
    kept.push_back(output.is_traced() ? output : trace.constant(output));
    symbols.push_back(kept.back().symbol());
  }
  LoomixSymbol group = nullptr;
  detail::check(LoomixSymbolGroup(symbols.size(), symbols.data(), &group));
  const detail::Handle<LoomixSymbol> whole(group);
  complete(trace, group);
  Graph graph;
  for (const detail::Trace::Input* input : trace.inputs_of(group)) graph.inputs.push_back(*input);
  for (detail::Trace::Input& input : graph.inputs) input.value = Array();  // belongs to the trace
  graph.arguments = inputs.size();
  if (trace.reads_shapes) {
    for (const Array& input : inputs) graph.shapes.push_back(input.shape());
  }
  if (trace.reads_mode) graph.training = is_training();
  LoomixGraph made = nullptr;
  detail::check(LoomixGraphCreate(group, kind_.c_str(), &made));
  graph.graph = detail::Handle<LoomixGraph>(made);
  return graph;
}

[[gnu::cold]] inline void Block::complete(const detail::Trace& trace, LoomixSymbol symbol) const {
  bool unknown = false;
  for (const detail::Trace::Input& input : trace.inputs()) {
    unknown |= input.parameter && !input.parameter->is_known();
  }
  if (!unknown) return;
  std::vector<std::pair<std::string, Shape>> shapes;
  for (const bool states : {false, true}) {
    const LoomixInferredShapes found = trace.infer(symbol);
    std::vector<Shape> mine;
    const size_t many = states ? found.auxiliary_states : found.arguments;
    for (size_t i = 0; i < many; ++i)
      mine.push_back(detail::from_c((states ? found.auxiliary_shapes : found.argument_shapes)[i]));
    size_t count = 0;
    const char* const* names = nullptr;
    detail::check(LoomixSymbolList(symbol, states ? "auxiliary_states" : "arguments", &count, &names));
    for (size_t i = 0; i < count; ++i) shapes.push_back({names[i], mine[i]});
  }
  for (const detail::Trace::Input& input : trace.inputs()) {
    if (!input.parameter || input.parameter->is_known()) continue;
    for (const auto& [name, shape] : shapes) {
      if (name == input.name && !shape.empty() && shape.count() > 0) input.parameter->complete(shape);
    }
  }
}

inline Arrays Block::run_compiled(const Arrays& inputs) {
  const Graph* found = nullptr;
  const bool training = is_training();
  for (const Graph& graph : graphs_) {
    bool fits = graph.arguments == inputs.size() && (graph.training < 0 || graph.training == training);
    for (size_t i = 0; fits && i < graph.shapes.size(); ++i) fits = graph.shapes[i] == inputs[i].shape();
    if (fits) found = &graph;
  }
  if (!found) {
    graphs_.push_back(trace(inputs));
    found = &graphs_.back();
  }
  std::vector<LoomixArray> arrays;
  for (const detail::Trace::Input& input : found->inputs) {
    const Array& source = input.parameter       ? input.parameter->data()
                          : input.argument >= 0 ? inputs[static_cast<size_t>(input.argument)]
                                                : input.constant;
    arrays.push_back(source.handle());
  }
  size_t count = 0;
  const LoomixArray* made = nullptr;
  detail::check(LoomixGraphCall(found->graph.get(), arrays.size(), arrays.data(), &count, &made));
  Arrays result;
  for (size_t i = 0; i < count; ++i) result.push_back(Array(made[i]));
  return result;
}

}  // namespace loomix::nn
