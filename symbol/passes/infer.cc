// SPDX-License-Identifier: Apache-2.0
#include "symbol/passes/infer.h"

#include <string>

#include "base/error.h"
#include "ops/shape_rule.h"

namespace loomix {
namespace {

std::string text_of(const Shape& shape) { return shape.to_string(); }
std::string text_of(DType dtype) { return std::string(name_of(dtype)); }

void run_rule(const Node& node, std::span<Shape> in, std::span<Shape> out) {
  ops::ShapeInfer rule(*node.op, in, out);
  node.op->infer_shape(*node.attrs, rule);
}

void run_rule(const Node& node, std::span<DType> in, std::span<DType> out) {
  node.op->infer_types(*node.attrs, in, out);
}

template <class T>
bool read(std::string_view text, T& value) {
  return detail::codec<T>().parse(text, {}, &value) == detail::Codec::Result::ok;
}

bool contradict(DType known, DType now) {
  return known != DType::unknown && now != DType::unknown && known != now;
}
bool contradict(const Shape& known, const Shape& now) { return now.ndim_known() && !compatible(known, now); }

template <class T>
struct Words;
template <>
struct Words<Shape> {
  using Error = ShapeError;
  static constexpr const char* kNoun = "shape";
};
template <>
struct Words<DType> {
  using Error = TypeError;
  static constexpr const char* kNoun = "type";
};

// Adds what `now` says, which does not contradict; true if that was news. A rule sees a value that is its input twice in two copies, so both
// may have been filled in.
bool merge(DType& known, DType now) {
  if (now == DType::unknown || now == known) return false;
  LOOMIX_INTERNAL_CHECK(known == DType::unknown);
  known = now;
  return true;
}

bool merge(Shape& known, const Shape& now) {
  if (!now.ndim_known() || now == known) return false;
  if (!known.ndim_known()) {
    known = now;
    return true;
  }
  bool news = false;
  for (int axis = 0; axis < known.ndim(); ++axis) {
    if (known[axis] >= 0 || now[axis] < 0) continue;
    known[axis] = now[axis];
    news = true;
  }
  return news;
}

// Sweeps forwards and backwards over the nodes that have something new to hear, until there are none.
template <class T>
class FixedPoint {
 public:
  FixedPoint(const Graph& graph, std::span<T> known, std::span<const Shape> shapes = {})
      : graph_(graph), index_(graph), known_(known), shapes_(shapes) {
    LOOMIX_INTERNAL_CHECK(static_cast<int>(known.size()) == index_.size());
    dirty_.resize(graph.size());
    said_by_.assign(known.size(), -1);
    std::vector<int> count(graph.size() + 1, 0);
    for (NodeId id = 0; id < graph.size(); ++id) {
      dirty_[id] = graph[id].op != nullptr;
      for (const ValueRef& input : graph.inputs(id)) ++count[input.node + 1];
    }
    for (NodeId id = 0; id < graph.size(); ++id) count[id + 1] += count[id];
    first_ = count;
    consumers_.resize(count.back());
    for (NodeId id = 0; id < graph.size(); ++id) {
      for (const ValueRef& input : graph.inputs(id)) consumers_[count[input.node]++] = id;
    }
  }

  void run() {
    bool again = true;
    while (again) {
      again = false;
      for (NodeId id = 0; id < graph_.size(); ++id) again |= visit(id);
      for (NodeId id = graph_.size() - 1; id >= 0; --id) again |= visit(id);
    }
  }

 private:
  bool visit(NodeId id) {
    if (!dirty_[id]) return false;
    dirty_[id] = false;
    const Node& node = graph_[id];
    const auto inputs = graph_.inputs(id);
    in_.clear();
    in_shapes_.clear();
    for (const ValueRef& input : inputs) in_.push_back(known_[index_[input]]);
    if (!shapes_.empty()) {
      for (const ValueRef& input : inputs) in_shapes_.push_back(shapes_[static_cast<size_t>(index_[input])]);
    }
    const ops::InputShapesScope scope(in_shapes_);
    const auto begin = known_.begin() + index_(id, 0);
    out_.assign(begin, begin + node.num_outputs);
    try {
      run_rule(node, in_, out_);
      for (size_t i = 0; i < inputs.size(); ++i) update(inputs[i], in_[i], id);
      for (int i = 0; i < node.num_outputs; ++i) update({id, i}, out_[i], id);
    } catch (Error& error) {
      error.add_context(describe(id));
      throw;
    }
    return true;
  }

  void update(ValueRef value, const T& now, NodeId by) {
    T& known = known_[index_[value]];
    if (contradict(known, now)) {
      detail::throw_error<typename Words<T>::Error>(
          "[Symbol] node '{}' ({}) asks for {} {} of {}, which has {}{}.", graph_.name_of(by),
          graph_.op_name(by), Words<T>::kNoun, text_of(now), described(value), text_of(known),
          asked_by(value, by));
    }
    if (!merge(known, now)) return;
    said_by_[index_[value]] = by;
    if (graph_[value.node].op) dirty_[value.node] = dirty_[value.node] || value.node != by;
    for (int i = first_[value.node]; i < first_[value.node + 1]; ++i)
      dirty_[consumers_[i]] = graph_[consumers_[i]].op != nullptr;
  }

  // "variable 'fc_weight'", "output 0 of node 'fc' (FullyConnected)"
  std::string described(ValueRef value) const {
    const std::string name = graph_.name_of(value.node);
    if (graph_[value.node].is_variable()) return fmt::format("variable '{}'", name);
    return fmt::format("output {} of node '{}' ({})", value.index, name, graph_.op_name(value.node));
  }

  // Whose word it is, if that is neither the value's own node nor `reader`.
  std::string asked_by(ValueRef value, NodeId reader) const {
    const NodeId by = said_by_[index_[value]];
    if (by < 0 || by == reader || by == value.node) return {};
    return fmt::format(" as node '{}' ({}) asks", graph_.name_of(by), graph_.op_name(by));
  }

  std::string describe(NodeId id) const {
    std::string text = fmt::format("in node '{}' ({})", graph_.name_of(id), graph_.op_name(id));
    const Node& node = graph_[id];
    const auto inputs = graph_.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      text += fmt::format(
          "{} {}={} from '{}'{}", i ? "," : " with", node.op->input_name(*node.attrs, static_cast<int>(i)),
          text_of(known_[index_[inputs[i]]]), graph_.name_of(inputs[i].node), asked_by(inputs[i], id));
    }
    return text;
  }

  const Graph& graph_;
  ValueIndex index_;
  std::span<T> known_;
  std::span<const Shape> shapes_;  // of all values, or none
  std::vector<Shape> in_shapes_;   // of the node at hand
  std::vector<char> dirty_;
  std::vector<NodeId>
      said_by_;  // of each value: the node from which its shape or type was heard last; -1: it was given
  std::vector<int> first_;  // of a node's consumers
  std::vector<NodeId> consumers_;
  std::vector<T> in_, out_;  // of the node at hand
};

}  // namespace

void infer_shapes(const Graph& graph, std::span<Shape> shapes) { FixedPoint<Shape>(graph, shapes).run(); }
void infer_dtypes(const Graph& graph, std::span<DType> dtypes, std::span<const Shape> shapes) {
  FixedPoint<DType>(graph, dtypes, shapes).run();
}

void apply_variable_attrs(const Graph& graph, std::span<Shape> shapes, std::span<DType> dtypes) {
  const ValueIndex index(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!node.is_variable() || !node.info) continue;
    if (const std::string* text = node.info->find("__shape__"); text && !shapes.empty()) {
      Shape& known = shapes[index(id, 0)];
      Shape shape;
      LOOMIX_CHECK(read(*text, shape), ValueError,
                   "[Symbol] __shape__='{}' of variable '{}' is no shape; expected the like of '(2, 3)'.",
                   *text, graph.name_of(id));
      shape = ops::shape_of_attribute(std::move(shape));
      if (shape.ndim() == 0 && !ops::numpy_shapes()) shape = Shape::unknown();
      if (!known.ndim_known()) known = shape;
      if (shape.ndim() == known.ndim()) {
        for (int axis = 0; axis < shape.ndim(); ++axis) {
          if (known[axis] < 0) known[axis] = shape[axis];
        }
      }
    }
    if (const std::string* text = node.info->find("__dtype__"); text && !dtypes.empty()) {
      DType& known = dtypes[index(id, 0)];
      int code = -1;
      LOOMIX_CHECK(read(*text, code) && (code == -1 || is_valid(static_cast<DType>(code))), ValueError,
                   "[Symbol] __dtype__='{}' of variable '{}' is no type code; expected 0 to 7 or 12.", *text,
                   graph.name_of(id));
      if (known == DType::unknown) known = static_cast<DType>(code);
    }
  }
}

void infer_saved(const Graph& graph, Inference& known) {
  const ValueIndex index(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.num_saved == 0) continue;
    std::vector<TensorView> in, out;
    const auto view = [&](ValueRef v) {
      return TensorView{nullptr, known.dtypes[index[v]], known.shapes[index[v]]};
    };
    for (const ValueRef& input : graph.inputs(id)) in.push_back(view(input));
    for (int i = 0; i < node.num_outputs; ++i) out.push_back(view({id, i}));
    const std::vector<ops::Req> req(out.size(), ops::Req::write);
    const ops::KernelSpec spec{in, out, req, true};
    for (int i = 0; i < node.num_saved; ++i) {
      const TensorView saved = node.op->infer_saved(*node.attrs, spec, i);
      known.shapes[index[graph.saved(id, i)]] = saved.shape;
      known.dtypes[index[graph.saved(id, i)]] = saved.dtype;
    }
  }
}

}  // namespace loomix
