// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/monitor.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace loomix {

namespace {

// In MXNet an operator of one input has a name for it if it says so, and a symbol calls it "data" all the same.
constexpr std::string_view kNameTheirInput[] = {
    "Dropout",
    "GridGenerator",
    "IdentityAttachKLSparseReg",
    "L2Normalization",
    "LRN",
    "MakeLoss",
    "Pad",
    "Pooling",
    "Pooling_v1",
    "SliceChannel",
    "SwapAxis",
    "_contrib_MultiBoxPrior",
    "_contrib_fft",
    "_contrib_ifft",
    "_contrib_index_array",
    "_contrib_quadratic",
    "_image_normalize",
    "_image_to_tensor",
    "_ravel_multi_index",
    "_split_v2",
    "_unravel_index",
    "all_finite",
    "col2im",
    "depth_to_space",
    "diag",
    "im2col",
    "log_softmax",
    "moments",
    "repeat",
    "reverse",
    "space_to_depth",
    "squeeze",
    "tile",
};

// So it is with outputs, which a symbol calls "output" or counts.
constexpr std::string_view kNameTheirOutputs[] = {
    "Activation",
    "BatchNorm",
    "BatchNorm_v1",
    "BilinearSampler",
    "CTCLoss",
    "Concat",
    "Convolution",
    "Convolution_v1",
    "Correlation",
    "Crop",
    "Custom",
    "Deconvolution",
    "Dropout",
    "FullyConnected",
    "GridGenerator",
    "GroupNorm",
    "IdentityAttachKLSparseReg",
    "InstanceNorm",
    "L2Normalization",
    "LRN",
    "LayerNorm",
    "LeakyReLU",
    "MakeLoss",
    "Pad",
    "Pooling",
    "Pooling_v1",
    "RNN",
    "ROIPooling",
    "SVMOutput",
    "SequenceLast",
    "SequenceMask",
    "SequenceReverse",
    "SliceChannel",
    "SoftmaxActivation",
    "SoftmaxOutput",
    "SpatialTransformer",
    "SwapAxis",
    "UpSampling",
    "_contrib_BatchNormWithReLU",
    "_contrib_DeformableConvolution",
    "_contrib_DeformablePSROIPooling",
    "_contrib_ModulatedDeformableConvolution",
    "_contrib_MultiBoxDetection",
    "_contrib_MultiBoxPrior",
    "_contrib_MultiBoxTarget",
    "_contrib_MultiProposal",
    "_contrib_PSROIPooling",
    "_contrib_Proposal",
    "_contrib_SyncBatchNorm",
    "_contrib_count_sketch",
    "_contrib_fft",
    "_contrib_ifft",
    "_contrib_index_array",
    "_contrib_interleaved_matmul_selfatt_qk",
    "col2im",
    "elemwise_add",
    "im2col",
    "make_loss",
    "softmax",
    "softmin",
};

static_assert(std::ranges::is_sorted(kNameTheirInput) && std::ranges::is_sorted(kNameTheirOutputs));

bool is_named(const Node& node) { return node.info && !node.info->name.empty(); }

// The sum of what flows back into a value, which is named by itself and not by the node that it belongs to.
bool is_sum_of_gradients(const Node& node) { return node.info->name == "sum_grad"; }

// A node of a gradient as one of the nodes that it is made of.
using Gradient = std::pair<NodeId, std::string>;
// Where MXNet has what a gradient reads: what flows back, then the forward node's inputs, then its outputs.
using Place = std::tuple<int, int, NodeId, int>;

Place place_of(const Graph& graph, const Node& gradient, ValueRef value) {
  if (value.node == gradient.forward) return {2, value.index, 0, 0};
  const auto inputs = graph.inputs(gradient.forward);
  const auto at = std::ranges::find(inputs, value);
  if (at != inputs.end()) return {1, static_cast<int>(at - inputs.begin()), 0, 0};
  return {0, 0, value.node, value.index};
}

// Whether the node shows input i as its own: not a shape alone, nor what another node of the same gradient made.
bool shows_input(const Graph& graph, const Node& node, int i, ValueRef input) {
  if (node.op->is_shape_only(*node.attrs, i)) return false;
  const Node& from = graph[input.node];
  return from.forward != node.forward || !is_named(from) || from.info->name != node.info->name;
}

// What inputs are called, one list a node; those without a name are not shown. The gradient of a node may be several nodes:
// what they read of others is counted as MXNet's one node does, and each value once.
std::vector<std::vector<std::string>> input_names(const Monitor& monitor, const Graph& graph) {
  std::vector<std::vector<std::string>> names(static_cast<size_t>(graph.size()));
  std::map<Gradient, std::map<Place, std::pair<NodeId, size_t>>> read;  // and which node reads it first
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    const auto inputs = graph.inputs(id);
    auto& own = names[static_cast<size_t>(id)];
    own.resize(inputs.size());
    if (node.is_variable() || !is_named(node)) continue;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (node.forward < 0) {
        own[i] = monitor.input_name(*node.op, *node.attrs, static_cast<int>(i));
      } else if (monitor.names == Monitor::Names::executor && is_sum_of_gradients(node)) {
        own[i] = "arg" + std::to_string(i);
      } else if (monitor.names == Monitor::Names::executor &&
                 shows_input(graph, node, static_cast<int>(i), inputs[i])) {
        read[{node.forward, node.info->name}].try_emplace(place_of(graph, node, inputs[i]), id, i);
      }
    }
  }
  for (const auto& [gradient, places] : read) {
    int count = 0;
    for (const auto& [place, first] : places)
      names[static_cast<size_t>(first.first)][first.second] = "input" + std::to_string(count++);
  }
  return names;
}

bool is_input_of(const Graph& graph, NodeId id, ValueRef value) {
  return std::ranges::find(graph.inputs(id), value) != graph.inputs(id).end();
}

void see_inputs(const Monitor& monitor, const Graph& graph, NodeId id, std::span<const std::string> names,
                std::span<const NDArray> arrays) {
  const Node& node = graph[id];
  const auto inputs = graph.inputs(id);
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (names[i].empty()) continue;
    const Node& from = graph[inputs[i].node];
    const bool own = node.forward < 0 || is_input_of(graph, node.forward, inputs[i]);  // not a head gradient
    if (monitor.names == Monitor::Names::executor && from.is_variable() && is_named(from) && own)
      monitor.see(from.info->name, "", arrays[i]);
    monitor.see(node.info->name + '_' + names[i], node.op->name, arrays[i]);
  }
}

// "backward_output1", as a block has it: "backward_1".
std::string counted(const std::string& name) {
  constexpr std::string_view kOutput = "output";
  const size_t at = name.rfind(kOutput);
  const std::string number = name.substr(at + kOutput.size());
  return name.substr(0, at) + (number.empty() ? "0" : number);
}

void see_outputs(const Monitor& monitor, const Graph& graph, NodeId id, std::span<const NDArray> arrays) {
  const Node& node = graph[id];
  if (!is_named(node)) return;
  if (node.forward < 0) {
    const int shown = std::min(monitor.count_outputs(*node.op, *node.attrs), int(node.num_outputs));
    for (int i = 0; i < shown; ++i)
      monitor.see(node.info->name + '_' + monitor.output_name(*node.op, *node.attrs, i), node.op->name,
                  arrays[static_cast<size_t>(i)]);
    return;
  }
  const std::string& forward =
      graph[node.forward].is_variable() ? node.op->name : graph[node.forward].op->name;
  const std::string op =
      is_sum_of_gradients(node) ? node.op->name : "_backward" + (forward[0] == '_' ? forward : '_' + forward);
  for (const auto& [i, name] : node.info->gradients)
    monitor.see(node.info->name + '_' + (monitor.names == Monitor::Names::block ? counted(name) : name), op,
                arrays[static_cast<size_t>(i)]);
}

}  // namespace

std::string Monitor::input_name(const ops::OpDef& op, const AttrsBase& attrs, int i) const {
  if (op.is_variadic() && !op.signature) {
    const std::string name = op.input_name(attrs, i);
    return name == "data" + std::to_string(i) || name == "data" ? "arg" + std::to_string(i) : name;
  }
  const bool nameless = op.inputs.size() == 1 && op.inputs[0].name == "data" && !op.signature &&
                        !std::ranges::binary_search(kNameTheirInput, op.name);
  return nameless ? "input" + std::to_string(i) : op.input_name(attrs, i);
}

std::string Monitor::output_name(const ops::OpDef& op, const AttrsBase& attrs, int i) const {
  const bool named = names == Names::executor || std::ranges::binary_search(kNameTheirOutputs, op.name);
  return named ? op.output_name(attrs, i) : std::to_string(i);
}

int Monitor::count_outputs(const ops::OpDef& op, const AttrsBase& attrs) const {
  return names == Names::executor ? op.count_outputs(attrs) : op.count_visible_outputs(attrs);
}

void install(const Monitor& monitor, Program& program) {
  Program::Visit before;
  if (monitor.inputs) {
    before = [&monitor, names = input_names(monitor, program.graph())](NodeId id, const Graph& graph,
                                                                       std::span<const NDArray> arrays) {
      see_inputs(monitor, graph, id, names[static_cast<size_t>(id)], arrays);
    };
  }
  program.set_visitors(before, [&monitor](NodeId id, const Graph& graph, std::span<const NDArray> arrays) {
    see_outputs(monitor, graph, id, arrays);
  });
}

}  // namespace loomix
