// SPDX-License-Identifier: Apache-2.0
#include "symbol/program.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "symbol/close_convolutions.h"
#include "symbol/passes/readers.h"

namespace loomix {
namespace {

// Adds the node to an error on its way out.
template <class Fn>
decltype(auto) at_node(const Graph& graph, NodeId id, Fn&& fn) {
  try {
    return fn();
  } catch (Error& error) {
    error.add_context(fmt::format("in node '{}' ({})", graph.name_of(id), graph.op_name(id)));
    throw;
  }
}

constexpr int64_t kMostBytes = int64_t{1}
                               << 40;  // of one value: beyond it sizes are a mistake, or would overflow

}  // namespace

Program::Program(engine::Engine& engine, Graph graph, Inference known)
    : context_(engine.context()),
      graph_(std::move(graph)),
      known_(std::move(known)),
      index_(graph_),
      readers_(count_readers(graph_, index_)) {
  check_sizes();
  for (int value = 0; value < index_.size(); ++value)
    views_.push_back(
        {nullptr, known_.dtypes[static_cast<size_t>(value)], known_.shapes[static_cast<size_t>(value)]});
  for (NodeId id = 0; id < graph_.size(); ++id) {
    if (graph_[id].is_variable()) variables_.push_back(id);
    else at_node(graph_, id, [&] { add_step(id); });
  }
  for (const ValueRef& output : graph_.outputs) outputs_.push_back(index_[output]);
}

void Program::check_sizes() const {
  for (NodeId id = 0; id < graph_.size(); ++id) {
    for (int i = 0; i < graph_[id].num_outputs; ++i) {
      const auto value = static_cast<size_t>(index_(id, i));
      int64_t bytes = size_of(known_.dtypes[value]);
      for (const int64_t size : known_.shapes[value]) {
        LOOMIX_CHECK(size == 0 || bytes <= kMostBytes / size, MemoryError,
                     "[predict] a value of node '{}' ({}) has shape {}, which is too large.",
                     graph_.name_of(id), graph_.op_name(id), known_.shapes[value].to_string());
        bytes *= size;
      }
    }
  }
}

void Program::add_step(NodeId id) {
  const Node& node = graph_[id];
  LOOMIX_CHECK(!node.op->data_dependent, NotImplementedError,
               "[predict] the shape of what '{}' gives depends on its data, so a network cannot hold it.",
               node.op->name);
  Step step{.node = id};
  for (const ValueRef& input : graph_.inputs(id)) step.in.push_back(index_[input]);
  for (int i = 0; i < node.num_outputs; ++i) {
    const int value = index_(id, i);
    step.out.push_back(value);
    const bool hidden = i >= node.op->count_visible_outputs(*node.attrs);
    step.req.push_back(hidden && readers_[static_cast<size_t>(value)] == 0 ? ops::Req::null
                                                                           : ops::Req::write);
  }
  step.saved_views.resize(node.num_saved);
  connect(step);
  const ops::KernelSpec spec{step.in_views, step.out_views, step.req, false, context_.cores};
  step.choice = ops::prepare_kernel(*node.op, *node.attrs, spec, {.cores = context_.cores});
  if (const std::string* closing = node.info ? node.info->find(kClosingKey) : nullptr) {
    auto* const state = static_cast<const ops::PackedWeight*>(step.choice.state.get());
    const_cast<ops::PackedWeight*>(state)->close(
        {.add = closing->starts_with("add"), .relu = closing->ends_with("relu")});
  }
  steps_.push_back(std::move(step));
}

void Program::connect(Step& step) {
  step.in_views.clear();
  step.out_views.clear();
  for (const int value : step.in) step.in_views.push_back(views_[static_cast<size_t>(value)]);
  for (size_t i = 0; i < step.out.size(); ++i) {
    step.out_views.push_back(views_[static_cast<size_t>(step.out[i])]);
    if (step.req[i] == ops::Req::null) step.out_views.back().data = nullptr;
  }
}

void Program::set(int variable, const TensorView& view) {
  const auto value = static_cast<size_t>(index_(variables_[static_cast<size_t>(variable)], 0));
  views_[value].data = view.data;
}

void Program::pack(int variable, SharedConstants& shared) {
  const int value = index_(variables_[static_cast<size_t>(variable)], 0);
  const TensorView& weight = views_[static_cast<size_t>(value)];
  for (Step& step : steps_) {
    if (step.in.size() < 2 || step.in[1] != value) continue;
    auto* const state = dynamic_cast<const ops::PackedWeight*>(step.choice.state.get());
    if (!state) continue;
    auto* const packs = const_cast<ops::PackedWeight*>(state);
    const std::lock_guard lock(shared.mutex);
    auto& packed = shared.packed[weight.data];
    if (!packed) packed = packs->packed_form(weight);
    packs->use(packed);
    step.choice.scratch_bytes = state->scratch_bytes;
  }
}

void Program::plan() {
  std::vector<char> pinned(static_cast<size_t>(index_.size()), false);
  for (const int output : outputs_) pinned[static_cast<size_t>(output)] = true;
  for (const Step& step : steps_) {  // what nobody wants has no memory
    for (size_t i = 0; i < step.out.size(); ++i) {
      if (step.req[i] == ops::Req::null) pinned[static_cast<size_t>(step.out[i])] = true;
    }
  }
  for (NodeId id = 0; id < graph_.size(); ++id) {
    for (int i = graph_[id].num_outputs; i < graph_[id].num_values(); ++i)
      pinned[static_cast<size_t>(index_(id, i))] = true;
  }
  const std::vector<Device> devices(static_cast<size_t>(graph_.size()));
  std::vector<int64_t> scratch(static_cast<size_t>(graph_.size()));
  for (const Step& step : steps_)
    scratch[static_cast<size_t>(step.node)] = static_cast<int64_t>(step.choice.scratch_bytes);
  plan_ = plan_memory(graph_, known_, devices, pinned, scratch, {.ordering = memplan::Ordering::extend});
  int64_t bytes = 0;
  for (const memplan::Arena& arena : plan_.memory.arenas) bytes += arena.bytes;
  arena_ = Memory(static_cast<size_t>(bytes));
  std::erase_if(steps_, [&](const Step& step) { return plan_.elided[static_cast<size_t>(step.node)] != 0; });
  for (const Step& step : steps_) {
    for (size_t i = 0; i < step.out.size(); ++i) {
      const auto value = static_cast<size_t>(step.out[i]);
      if (plan_.planned(step.out[i])) {
        views_[value].data = arena_.data() + plan_.memory.offset[value];
      } else if (step.req[i] != ops::Req::null) {
        own_.emplace_back(static_cast<size_t>(views_[value].bytes()));
        views_[value].data = own_.back().data();
      }
    }
  }
  for (Step& step : steps_) {
    for (size_t i = 0; i < step.out.size(); ++i) {
      const int from = plan_.memory.inplace_of[static_cast<size_t>(step.out[i])];
      if (from >= 0 && step.req[i] == ops::Req::write) step.req[i] = ops::Req::inplace;
    }
    const int64_t offset = plan_.memory.offset[static_cast<size_t>(index_.size() + step.node)];
    if (offset >= 0) step.scratch = {arena_.data() + offset, step.choice.scratch_bytes};
  }
}

void Program::run() {
  // Views of other values, and what steps see, follow the variables.
  for (size_t value = 0; value < views_.size(); ++value) {
    const auto root = static_cast<size_t>(plan_.root[value]);
    if (root != value) views_[value].data = views_[root].data;
  }
  for (Step& step : steps_) {
    connect(step);
    const Node& node = graph_[step.node];
    engine::RunContext context = context_;
    context.cores = std::min(context.cores, std::max(1, step.choice.cores));
    at_node(graph_, step.node, [&] {
      const ops::KernelArgs args{.in = step.in_views,
                                 .out = step.out_views,
                                 .saved = step.saved_views,
                                 .req = step.req,
                                 .scratch = step.scratch,
                                 .state = step.choice.state.get(),
                                 .context = &context};
      if (step.choice.kernel->run) step.choice.kernel->run(*node.attrs, args);
      else step.choice.kernel->run_async(*node.attrs, args, engine::Completion());
    });
  }
}

NDArray Program::take_output(engine::Engine& engine, int i) const {
  const TensorView& view = output(i);
  NDArray array(engine, view.shape, view.dtype);
  if (view.size() > 0) std::memcpy(array.view().data, view.data, static_cast<size_t>(view.bytes()));
  return array;
}

Inference infer_all(const Graph& graph, std::span<const TensorView> variables) {
  const ValueIndex index(graph);
  Inference known{std::vector<Shape>(static_cast<size_t>(index.size()), Shape::unknown()),
                  std::vector<DType>(static_cast<size_t>(index.size()), DType::unknown)};
  size_t variable = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!graph[id].is_variable()) continue;
    known.shapes[static_cast<size_t>(index(id, 0))] = variables[variable].shape;
    known.dtypes[static_cast<size_t>(index(id, 0))] = variables[variable++].dtype;
  }
  infer_shapes(graph, known.shapes);
  infer_dtypes(graph, known.dtypes, known.shapes);
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (int i = 0; i < graph[id].num_outputs; ++i) {
      const auto value = static_cast<size_t>(index(id, i));
      LOOMIX_CHECK(known.shapes[value].is_known(), ShapeError,
                   "[predict] the shapes of the inputs do not determine that of node '{}' ({}).",
                   graph.name_of(id), graph.op_name(id));
      if (known.dtypes[value] == DType::unknown) known.dtypes[value] = DType::float32;
    }
  }
  infer_saved(graph, known);
  return known;
}

std::vector<NDArray> run_once(engine::Engine& engine, const Graph& graph,
                              std::span<const TensorView> variables) {
  Program program(engine, graph, infer_all(graph, variables));
  program.plan();
  for (int i = 0; i < program.num_variables(); ++i) program.set(i, variables[static_cast<size_t>(i)]);
  program.run();
  std::vector<NDArray> outputs;
  for (int i = 0; i < static_cast<int>(graph.outputs.size()); ++i)
    outputs.push_back(program.take_output(engine, i));
  return outputs;
}

}  // namespace loomix
