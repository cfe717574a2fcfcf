// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/conv_graph.h"

#include <fmt/format.h>

#include <array>
#include <sstream>

#include "ops/cuda/dnn_handle_cudnn.h"

namespace loomix::cuda {
namespace {

constexpr int64_t kAlignment = ConvGraphPlan::kAlignment;

// Images, channels and spatial axes, of which two where the first of three is not used.
std::vector<int64_t> sizes(const ops::ConvGeometry& g, int64_t outer, int64_t channels,
                           const int64_t (&spatial)[3]) {
  std::vector<int64_t> list{outer, channels};
  list.insert(list.end(), spatial + first_axis(g), spatial + 3);
  return list;
}

std::vector<int64_t> strides(const std::vector<int64_t>& size, bool channels_last) {
  std::vector<int64_t> stride(size.size());
  int64_t step = channels_last ? size[1] : 1;
  for (size_t i = size.size() - 1; i >= (channels_last ? 2u : 1u); --i) {
    stride[i] = step;
    step *= size[i];
  }
  if (channels_last) stride[1] = 1;
  stride[0] = step;
  return stride;
}

}  // namespace

const BackendDescriptor& ConvGraph::tensor(int64_t name, DType dtype, const std::vector<int64_t>& size,
                                           bool is_between) {
  const std::vector<int64_t> stride = strides(size, channels_last_);
  const auto axes = static_cast<int64_t>(size.size());
  parts_.push_back(std::make_unique<BackendDescriptor>(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  valid_ &= parts_.back()
                ->set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, name)
                .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type_of(dtype))
                .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment)
                .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, axes, size.data())
                .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, axes, stride.data())
                .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_between)
                .finalize();
  return *parts_.back();
}

const BackendDescriptor& ConvGraph::add_operation(cudnnPointwiseMode_t mode, const BackendDescriptor& from,
                                                  const BackendDescriptor* with,
                                                  const BackendDescriptor& to) {
  parts_.push_back(std::make_unique<BackendDescriptor>(CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
  BackendDescriptor& pointwise = *parts_.back();
  valid_ &= pointwise.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
                .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
                .finalize();
  parts_.push_back(std::make_unique<BackendDescriptor>(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
  BackendDescriptor& operation = *parts_.back();
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
  if (with) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *with);
  valid_ &= operation.finalize();
  return operation;
}

const BackendDescriptor& ConvGraph::add_convolution(const ops::ConvGeometry& g, const BackendDescriptor& from,
                                                    const BackendDescriptor& weight,
                                                    const BackendDescriptor& to) {
  const int first = first_axis(g);
  const int64_t spatial = 3 - first;
  parts_.push_back(std::make_unique<BackendDescriptor>(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  BackendDescriptor& conv = *parts_.back();
  valid_ &= conv.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                     dtype_ == DType::float64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT)
                .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
                .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, spatial)
                .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, spatial, g.dilate + first)
                .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, spatial, g.stride + first)
                .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, spatial, g.pad + first)
                .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, spatial, g.pad + first)
                .finalize();
  parts_.push_back(
      std::make_unique<BackendDescriptor>(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
  BackendDescriptor& convolve = *parts_.back();
  valid_ &= convolve.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, conv)
                .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, from)
                .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, weight)
                .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, to)
                .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0f)
                .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0f)
                .finalize();
  return convolve;
}

ConvGraph::ConvGraph(const ops::ConvGeometry& g, DType dtype, const ConvEpilogue& epilogue,
                     const GraphDevice& device)
    : dtype_(dtype), device_(device), channels_last_(g.channels_last) {
  const int64_t filters = g.groups * g.filters;
  const std::vector<int64_t> out_size = sizes(g, g.batch, filters, g.out);
  int64_t name = kOut;
  struct Step {
    cudnnPointwiseMode_t mode;
    const BackendDescriptor* with;
  };
  std::vector<Step> steps;
  if (epilogue.residual) steps.push_back({CUDNN_POINTWISE_ADD, &tensor(kResidual, dtype, out_size, false)});
  if (epilogue.bias) {
    const std::vector<int64_t> one_pixel(out_size.size() - 2, 1);
    std::vector<int64_t> size{1, filters};
    size.insert(size.end(), one_pixel.begin(), one_pixel.end());
    steps.push_back({CUDNN_POINTWISE_ADD, &tensor(kBias, dtype, size, false)});
  }
  if (epilogue.relu) steps.push_back({CUDNN_POINTWISE_RELU_FWD, nullptr});

  // What lies between two operations is no array: it stays in registers, as float.
  const auto result_of = [&](size_t step) -> const BackendDescriptor& {
    return step == steps.size() ? tensor(kOut, dtype, out_size, false)
                                : tensor(++name, DType::float32, out_size, true);
  };
  const BackendDescriptor& data = tensor(kData, dtype, sizes(g, g.batch, g.groups * g.channels, g.in), false);
  const BackendDescriptor& weight = tensor(kWeight, dtype, sizes(g, filters, g.channels, g.kernel), false);
  const BackendDescriptor* sums = &result_of(0);

  std::vector<cudnnBackendDescriptor_t> operations{add_convolution(g, data, weight, *sums)};
  for (size_t i = 0; i < steps.size(); ++i) {
    const BackendDescriptor& result = result_of(i + 1);
    operations.push_back(add_operation(steps[i].mode, *sums, steps[i].with, result));
    sums = &result;
  }
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             static_cast<int64_t>(operations.size()), operations.data());
  if (device.handle) graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, device.handle);
  valid_ = valid_ && graph_.finalize();
}

bool ConvGraph::may_use(const BackendDescriptor& engine, const ops::CudnnOptions& options) const {
  const auto notes = engine.get<cudnnBackendNumericalNote_t>(
      CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  const auto has = [&](cudnnBackendNumericalNote_t note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  if (has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) || has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION))
    return false;
  const bool loses_bits =
      has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) || has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  if (dtype_ == DType::float32 && !options.tf32 && loses_bits) return false;
  if (!options.only) return true;
  const bool fft = has(CUDNN_NUMERICAL_NOTE_FFT), winograd = has(CUDNN_NUMERICAL_NOTE_WINOGRAD);
  switch (*options.only) {
    case ops::ConvAlgorithm::fft: return fft;
    case ops::ConvAlgorithm::winograd: return winograd;
    case ops::ConvAlgorithm::gemm: return !fft && !winograd;
    default: return false;
  }
}

std::vector<std::string> ConvGraph::proposals(const ops::CudnnOptions& options) const {
  std::vector<std::string> found;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    BackendDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_)
        .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    if (device_.described) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device_.described);
    if (!heuristics.finalize()) continue;
    for (const BackendDescriptor& config :
         heuristics.parts(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 32)) {
      const auto engines = config.parts(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
      if (engines.empty() || !may_use(engines[0], options)) continue;
      const auto index = engines[0].get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1);
      if (index.empty()) continue;
      std::string text = std::to_string(index[0]);
      for (const BackendDescriptor& choice :
           config.parts(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                        CUDNN_KNOB_TYPE_COUNTS)) {
        const auto knob =
            choice.get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1);
        const auto value = choice.get<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1);
        if (!knob.empty() && !value.empty())
          text += fmt::format(" {} {}", static_cast<int>(knob[0]), value[0]);
      }
      found.push_back(std::move(text));
    }
  }
  return found;
}

std::unique_ptr<CompiledGraph> ConvGraph::compile(const std::string& proposal,
                                                  const ops::CudnnOptions& options) const {
  std::istringstream numbers(proposal);
  int64_t index = 0;
  if (!(numbers >> index)) return nullptr;
  auto made = std::make_unique<CompiledGraph>();
  made->engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph_)
      .set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, index);
  if (device_.described) made->engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, *device_.described);
  if (!made->engine.finalize() || !may_use(made->engine, options)) return nullptr;

  std::vector<BackendDescriptor> choices;
  std::vector<cudnnBackendDescriptor_t> list;
  for (int64_t knob = 0, value = 0; numbers >> knob >> value;) {
    BackendDescriptor& choice = choices.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    choice
        .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
             static_cast<cudnnBackendKnobType_t>(knob))
        .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, value);
    if (!choice.finalize()) return nullptr;
    list.push_back(choice);
  }
  made->config.set(CUDNN_ATTR_ENGINECFG_ENGINE, made->engine);
  if (!list.empty())
    made->config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                     static_cast<int64_t>(list.size()), list.data());
  if (!made->config.finalize()) return nullptr;
  made->plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, made->config);
  if (device_.described) made->plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device_.described);
  else made->plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, device_.handle);
  if (!made->plan.finalize()) return nullptr;
  const auto bytes = made->plan.get<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1);
  if (bytes.empty() || static_cast<size_t>(bytes[0]) > options.workspace_bytes) return nullptr;
  made->workspace_bytes = static_cast<size_t>(bytes[0]);
  made->text = proposal;
  return made;
}

std::unique_ptr<CompiledGraph> ConvGraph::first(const ops::CudnnOptions& options) const {
  for (const std::string& proposal : proposals(options)) {
    if (auto compiled = compile(proposal, options)) return compiled;
  }
  return nullptr;
}

std::unique_ptr<CompiledGraph> ConvGraph::fastest(const ops::CudnnOptions& options, TunedChoices& kept,
                                                  const std::string& question,
                                                  const Milliseconds& time) const {
  if (const auto answer = kept.find(question)) {
    if (auto compiled = compile(*answer, options)) return compiled;
  }
  std::unique_ptr<CompiledGraph> best;
  float least = 0;
  int timed = 0;
  for (const std::string& proposal : proposals(options)) {
    if (timed == kMostTimed) break;
    auto compiled = compile(proposal, options);
    const std::optional<float> took = compiled ? time(*compiled) : std::nullopt;
    if (!took) continue;
    ++timed;
    if (best && *took >= least) continue;
    best = std::move(compiled);
    least = *took;
  }
  if (best) kept.add(question, best->text);
  return best;
}

}  // namespace loomix::cuda
