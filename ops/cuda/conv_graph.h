// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ndarray/tuned_choices.h"
#include "ops/conv/cudnn_options.h"
#include "ops/cuda/dnn.h"

// Forward convolutions, with what is done to their sums before they are written, as operation graphs of cuDNN's. All but running needs
// no device: one that is described suffices (tests/cpp/cudnn/).
namespace loomix::cuda {

// A descriptor of cuDNN's backend API. Nothing throws: whether cuDNN took the values is what `finalize` says.
class BackendDescriptor {
 public:
  explicit BackendDescriptor(cudnnBackendDescriptorType_t type) {
    taken_ = cudnnBackendCreateDescriptor(type, &value_) == CUDNN_STATUS_SUCCESS;
  }
  BackendDescriptor(BackendDescriptor&& other) noexcept
      : value_(std::exchange(other.value_, nullptr)), taken_(other.taken_) {}
  BackendDescriptor& operator=(BackendDescriptor&&) = delete;
  ~BackendDescriptor() {
    if (value_) cudnnBackendDestroyDescriptor(value_);
  }
  operator cudnnBackendDescriptor_t() const { return value_; }

  template <class T>
  BackendDescriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                         const T* values) {
    taken_ = taken_ && cudnnBackendSetAttribute(value_, name, type, count, values) == CUDNN_STATUS_SUCCESS;
    return *this;
  }
  template <class T>
  BackendDescriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    return set(name, type, 1, &value);
  }
  BackendDescriptor& set(cudnnBackendAttributeName_t name, const BackendDescriptor& part) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, part.value_);
  }
  bool finalize() { return taken_ = taken_ && cudnnBackendFinalize(value_) == CUDNN_STATUS_SUCCESS; }

  // Up to `most` values of an attribute; or parts, which cuDNN writes into descriptors that are there.
  template <class T>
  std::vector<T> get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most) const {
    std::vector<T> values(static_cast<size_t>(most));
    int64_t count = 0;
    if (cudnnBackendGetAttribute(value_, name, type, most, &count, values.data()) != CUDNN_STATUS_SUCCESS)
      count = 0;
    values.resize(static_cast<size_t>(std::min(count, most)));
    return values;
  }
  std::vector<BackendDescriptor> parts(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
                                       int64_t most) const {
    std::vector<BackendDescriptor> made;
    std::vector<cudnnBackendDescriptor_t> values;
    for (int64_t i = 0; i < most; ++i) values.push_back(made.emplace_back(type));
    int64_t count = 0;
    if (cudnnBackendGetAttribute(value_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &count, values.data()) !=
        CUDNN_STATUS_SUCCESS)
      count = 0;
    while (static_cast<int64_t>(made.size()) > count) made.pop_back();
    return made;
  }

 private:
  cudnnBackendDescriptor_t value_ = nullptr;
  bool taken_ = false;
};

// For what graphs are planned: the device of a handle, or one that CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR describes.
struct GraphDevice {
  cudnnHandle_t handle = nullptr;
  const BackendDescriptor* described = nullptr;
};

// A graph for which an engine of cuDNN's was chosen.
struct CompiledGraph {
  BackendDescriptor engine{CUDNN_BACKEND_ENGINE_DESCRIPTOR}, config{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR},
      plan{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  size_t workspace_bytes = 0;
  std::string text;  // the proposal
};

class ConvGraph {
 public:
  static constexpr int64_t kData = 1, kWeight = 2, kBias = 3, kResidual = 4, kOut = 5;  // names of tensors

  ConvGraph(const ops::ConvGeometry& geometry, DType dtype, const ConvEpilogue& epilogue,
            const GraphDevice& device);

  // False where cuDNN takes no such graph.
  bool is_valid() const { return valid_; }
  // Engines with their knobs, as text, in the order of cuDNN's estimates. Those are left out whose results depend on timing, whose
  // bits are fewer than `options` and the type allow, and which the algorithm that is asked for rules out.
  std::vector<std::string> proposals(const ops::CudnnOptions& options) const;
  // Null where the text names no such engine, cuDNN does not compile it, or it asks for more memory than the options allow.
  std::unique_ptr<CompiledGraph> compile(const std::string& proposal, const ops::CudnnOptions& options) const;

  // The first proposal that compiles; null where there is none.
  std::unique_ptr<CompiledGraph> first(const ops::CudnnOptions& options) const;

  // Of the first proposals the one that takes least time, unless `kept` has an answer already; the answer is kept. Null where nothing
  // compiles, or can be timed.
  using Milliseconds = std::function<std::optional<float>(const CompiledGraph&)>;
  std::unique_ptr<CompiledGraph> fastest(const ops::CudnnOptions& options, TunedChoices& kept,
                                         const std::string& question, const Milliseconds& time) const;
  static constexpr int kMostTimed = 8;  // estimates are good: the fastest is among the first

 private:
  const BackendDescriptor& tensor(int64_t name, DType dtype, const std::vector<int64_t>& size,
                                  bool is_between);
  const BackendDescriptor& add_convolution(const ops::ConvGeometry& geometry, const BackendDescriptor& from,
                                           const BackendDescriptor& weight, const BackendDescriptor& to);
  const BackendDescriptor& add_operation(cudnnPointwiseMode_t mode, const BackendDescriptor& from,
                                         const BackendDescriptor* with, const BackendDescriptor& to);
  bool may_use(const BackendDescriptor& engine, const ops::CudnnOptions& options) const;

  const DType dtype_;
  const GraphDevice device_;
  bool channels_last_ = false, valid_ = true;
  std::vector<std::unique_ptr<BackendDescriptor>> parts_;
  BackendDescriptor graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

}  // namespace loomix::cuda
