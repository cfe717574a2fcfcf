// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ops/cuda/conv_graph.h"
#include "ops/cuda/dnn_handle_cudnn.h"
#include "ops/cuda/handles.h"

namespace loomix::cuda {
namespace {

using ops::ConvGeometry;
using ops::CudnnOptions;

cudnnStatus_t execute(cudnnHandle_t handle, const CompiledGraph& compiled, const ConvEpilogue& epilogue,
                      const ConvGraphPlan::Arrays& arrays, void* workspace) {
  std::array<int64_t, 5> names{ConvGraph::kData, ConvGraph::kWeight, ConvGraph::kOut};
  std::array<const void*, 5> places{arrays.data, arrays.weight, arrays.out};
  size_t count = 3;
  const auto add = [&](int64_t name, const void* place) {
    names[count] = name;
    places[count++] = place;
  };
  if (epilogue.bias) add(ConvGraph::kBias, arrays.bias);
  if (epilogue.residual) add(ConvGraph::kResidual, arrays.residual);
  BackendDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);  // one a run: runs may overlap
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, static_cast<int64_t>(count), names.data())
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(count),
           places.data())
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  return pack.finalize() ? cudnnBackendExecute(handle, compiled.plan, pack) : CUDNN_STATUS_BAD_PARAM;
}

// Memory for trying engines, freed with its owner.
class TrialMemory {
 public:
  ~TrialMemory() {
    for (void* block : blocks_) cudaFree(block);
  }
  // Null where there is none left.
  void* take(size_t bytes) {
    void* block = nullptr;
    if (cudaMalloc(&block, std::max<size_t>(bytes, 1)) != cudaSuccess) {
      cudaGetLastError();
      return nullptr;
    }
    return blocks_.emplace_back(block);
  }

 private:
  std::vector<void*> blocks_;
};

class TrialEvent {
 public:
  TrialEvent() { cudaEventCreate(&event_); }
  TrialEvent(const TrialEvent&) = delete;
  TrialEvent& operator=(const TrialEvent&) = delete;
  ~TrialEvent() { cudaEventDestroy(event_); }
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// An engine holds kernels of the device for which it was compiled. Kernels are prepared once for all devices, so the plan compiles it
// for another one when that runs first.
class GraphPlan final : public ConvGraphPlan {
 public:
  GraphPlan(const ConvGeometry& g, DType dtype, const ConvEpilogue& epilogue, const CudnnOptions& options)
      : geometry_(g), dtype_(dtype), epilogue_(epilogue), options_(options) {
    const auto bytes = [&](int64_t count) { return static_cast<size_t>(count * size_of(dtype)); };
    const int64_t filters = g.groups * g.filters;
    data_bytes_ = bytes(g.batch * g.groups * g.channels * g.in_size());
    weight_bytes_ = bytes(filters * g.depth());
    bias_bytes_ = bytes(filters);
    out_bytes_ = bytes(g.batch * filters * g.out_size());
  }

  // Takes the engine of cuDNN's first estimate, or else the fastest of those that were timed, here or by an earlier process.
  bool choose(cudnnHandle_t handle, const std::string& question) {
    OnDevice& here = devices_.emplace_back(OnDevice{current_device(), graph_for(handle)});
    if (!here.graph->is_valid()) return false;
    if (options_.measure) {
      const Trial trial(*this);
      here.compiled = here.graph->fastest(
          options_, timed_convolutions(), question,
          [&](const CompiledGraph& compiled) { return milliseconds(handle, compiled, trial); });
    }
    if (!here.compiled) here.compiled = here.graph->first(options_);
    if (!here.compiled) return false;
    workspace_bytes = options_.workspace_bytes = here.compiled->workspace_bytes;
    return true;
  }

  bool run(const Arrays& arrays, void* workspace, cudaStream_t stream) const override {
    if (!arrays.are_aligned()) return false;
    bool ran = false;
    handles<DnnHandle>().with(stream, [&](const DnnHandle& dnn) {
      const CompiledGraph* const compiled = compiled_here(dnn.handle);
      if (compiled == nullptr) return;
      check(execute(dnn.handle, *compiled, epilogue_, arrays, workspace), "a convolution");
      ran = true;
    });
    return ran;
  }

 private:
  struct OnDevice {
    int device;
    std::unique_ptr<ConvGraph> graph;
    std::unique_ptr<CompiledGraph> compiled = nullptr;  // null: the device has no such graph
  };

  static int current_device() {
    int device = 0;
    cudaGetDevice(&device);
    return device;
  }
  std::unique_ptr<ConvGraph> graph_for(cudnnHandle_t handle) const {
    return std::make_unique<ConvGraph>(geometry_, dtype_, epilogue_, GraphDevice{.handle = handle});
  }
  const CompiledGraph* compiled_here(cudnnHandle_t handle) const {
    const int device = current_device();
    const std::lock_guard lock(mutex_);
    for (const OnDevice& one : devices_) {
      if (one.device == device) return one.compiled.get();
    }
    OnDevice& here = devices_.emplace_back(OnDevice{device, graph_for(handle)});
    const std::string& engine = devices_.front().compiled->text;
    if (here.graph->is_valid()) here.compiled = here.graph->compile(engine, options_);
    if (here.graph->is_valid() && !here.compiled) here.compiled = here.graph->first(options_);
    return here.compiled.get();
  }

  // Arrays to try engines on. Null where there is no memory for them.
  struct Trial {
    TrialMemory memory;
    Arrays arrays;
    explicit Trial(const GraphPlan& plan)
        : arrays{.data = memory.take(plan.data_bytes_),
                 .weight = memory.take(plan.weight_bytes_),
                 .bias = memory.take(plan.bias_bytes_),
                 .residual = memory.take(plan.epilogue_.residual ? plan.out_bytes_ : 0),
                 .out = memory.take(plan.out_bytes_)} {}
    bool has_all() const {
      return arrays.data && arrays.weight && arrays.bias && arrays.residual && arrays.out;
    }
  };

  // On the stream of the handle, after a run that loads the kernel. Nothing where there is no memory for it, or it fails.
  std::optional<float> milliseconds(cudnnHandle_t handle, const CompiledGraph& compiled,
                                    const Trial& trial) const {
    TrialMemory scratch;
    void* const workspace = scratch.take(compiled.workspace_bytes);
    if (!trial.has_all() || !workspace) return {};
    const auto run = [&] {
      return execute(handle, compiled, epilogue_, trial.arrays, workspace) == CUDNN_STATUS_SUCCESS;
    };
    constexpr int kRuns = 3;
    const TrialEvent begin, end;
    bool ran = run();
    cudaEventRecord(begin, nullptr);
    for (int i = 0; i < kRuns; ++i) ran = ran && run();
    cudaEventRecord(end, nullptr);
    float took = 0;
    if (!ran || cudaEventSynchronize(end) != cudaSuccess ||
        cudaEventElapsedTime(&took, begin, end) != cudaSuccess)
      return {};
    return took;
  }

  const ConvGeometry geometry_;
  const DType dtype_;
  const ConvEpilogue epilogue_;
  CudnnOptions options_;  // with no more memory than was found to be needed
  size_t data_bytes_ = 0, weight_bytes_ = 0, bias_bytes_ = 0, out_bytes_ = 0;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::deque<OnDevice> devices_;
};

}  // namespace

std::unique_ptr<ConvGraphPlan> plan_conv_graph(const ConvGeometry& geometry, DType dtype,
                                               const ConvEpilogue& epilogue, const CudnnOptions& options) {
  // Of float64, cuDNN has no graph but the convolution alone, which the older interface has, too.
  if (dtype == DType::float64 || !has_own_output(geometry)) return nullptr;
  const std::string name = fmt::format("graph{}{}{}", epilogue.bias ? " bias" : "",
                                       epilogue.residual ? " residual" : "", epilogue.relu ? " relu" : "");
  std::unique_ptr<GraphPlan> made;
  handles<DnnHandle>().with(nullptr, [&](const DnnHandle& dnn) {
    made = std::make_unique<GraphPlan>(geometry, dtype, epilogue, options);
    if (!made->choose(dnn.handle, question(name, geometry, dtype, options))) made.reset();
  });
  return made;
}

}  // namespace loomix::cuda
