// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/dnn.h"

#include <cstring>
#include <vector>

#include "tests/standin/stream.h"

// ops/cuda/dnn.h by the CPU's plain loops. As with cuDNN, which takes none of them, transposed convolutions whose output is one line
// longer than their input asks for are refused. The workspace is written to and checked, as an algorithm would use it.
namespace loomix::cuda {
namespace {

using namespace ops;

class LoopPlan final : public ConvPlan {
 public:
  LoopPlan(const ConvGeometry& g, ConvPass pass, DType dtype) : geometry_(g), pass_(pass), dtype_(dtype) {
    workspace_bytes = 64;
  }
  void run(const void* a, const void* b, void* out, bool add, void* workspace,
           cudaStream_t stream) const override {
    standin::put_on(stream, [g = geometry_, pass = pass_, dtype = dtype_, a, b, out, add, workspace] {
      std::memset(workspace, 0x5a, 64);
      const TensorView left{const_cast<void*>(a), dtype, {}}, right{const_cast<void*>(b), dtype, {}};
      const TensorView result{out, dtype, {}};
      const Req req = add ? Req::add : Req::write;
      engine::RunContext context;
      KernelArgs args;
      args.out = {&result, 1};
      args.req = {&req, 1};
      args.context = &context;
      const ConvOperands operands{left, right};
      switch (pass) {
        case ConvPass::forward: return conv_forward_cpu(g, operands, args);
        case ConvPass::data: return conv_data_cpu(g, operands, args);
        case ConvPass::weight: return conv_weight_cpu(g, operands, args);
      }
    });
  }

 private:
  const ConvGeometry geometry_;
  const ConvPass pass_;
  const DType dtype_;
};

// Sums, bias and the rest in float, rounded once.
class LoopGraph final : public ConvGraphPlan {
 public:
  LoopGraph(const ConvGeometry& g, DType dtype, const ConvEpilogue& epilogue)
      : geometry_(g), dtype_(dtype), epilogue_(epilogue) {
    workspace_bytes = 32;
  }
  bool run(const Arrays& arrays, void* workspace, cudaStream_t stream) const override {
    if (!arrays.are_aligned()) return false;
    if (epilogue_.bias != (arrays.bias != nullptr) || epilogue_.residual != (arrays.residual != nullptr)) {
      standin::note_error("a graph's array is missing, or is none of it");
      return true;
    }
    standin::put_on(stream, [g = geometry_, dtype = dtype_, epilogue = epilogue_, arrays, workspace] {
      std::memset(workspace, 0x5a, 32);
      dispatch_floating(dtype, "Convolution", [&]<class T>(Type<T>) { compute<T>(g, epilogue, arrays); });
    });
    return true;
  }

 private:
  template <class T>
  static std::vector<float> floats(const void* from, int64_t count) {
    const T* const numbers = static_cast<const T*>(from);
    std::vector<float> made;
    made.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) made.push_back(static_cast<float>(numbers[i]));
    return made;
  }

  template <class T>
  static void compute(const ConvGeometry& g, const ConvEpilogue& epilogue, const Arrays& arrays) {
    const int64_t filters = g.groups * g.filters, size = g.batch * filters * g.out_size();
    std::vector<float> data = floats<T>(arrays.data, g.batch * g.groups * g.channels * g.in_size()),
                       weight = floats<T>(arrays.weight, filters * g.depth());
    std::vector<float> sums(static_cast<size_t>(size));
    const TensorView left{data.data(), DType::float32, {}}, right{weight.data(), DType::float32, {}};
    const TensorView result{sums.data(), DType::float32, {}};
    const Req req = Req::write;
    engine::RunContext context;
    KernelArgs args;
    args.out = {&result, 1};
    args.req = {&req, 1};
    args.context = &context;
    conv_forward_cpu(g, {left, right}, args);
    for (int64_t i = 0; i < size; ++i) {
      const int64_t filter = (g.channels_last ? i : i / g.out_size()) % filters;
      float sum = sums[static_cast<size_t>(i)];
      if (epilogue.residual) sum += static_cast<float>(static_cast<const T*>(arrays.residual)[i]);
      if (epilogue.bias) sum += static_cast<float>(static_cast<const T*>(arrays.bias)[filter]);
      if (epilogue.relu && sum < 0) sum = 0;
      static_cast<T*>(arrays.out)[i] = static_cast<T>(sum);
    }
  }

  const ConvGeometry geometry_;
  const DType dtype_;
  const ConvEpilogue epilogue_;
};

// As cuDNN has them.
bool has_own_output(const ConvGeometry& g) {
  for (int i = 0; i < 3; ++i) {
    if ((g.in[i] + 2 * g.pad[i] - g.reach(i)) / g.stride[i] + 1 != g.out[i]) return false;
  }
  return true;
}

bool may_follow(ConvAlgorithm algorithm, const ConvGeometry& g) {
  if (algorithm == ConvAlgorithm::gemm) return true;
  for (int i = 0; i < 3; ++i) {
    if (g.stride[i] != 1 || g.dilate[i] != 1) return false;
  }
  return algorithm == ConvAlgorithm::fft || (g.kernel[1] == 3 && g.kernel[2] == 3);
}

}  // namespace

std::unique_ptr<ConvPlan> plan_convolution(const ConvGeometry& g, ConvPass pass, DType dtype,
                                           const CudnnOptions& options) {
  if (!has_own_output(g) || (options.only && !may_follow(*options.only, g))) return nullptr;
  return std::make_unique<LoopPlan>(g, pass, dtype);
}

std::unique_ptr<ConvGraphPlan> plan_conv_graph(const ConvGeometry& g, DType dtype,
                                               const ConvEpilogue& epilogue, const CudnnOptions& options) {
  // What cuDNN has for every geometry (tests/cpp/cudnn): other graphs are there for some, by engines that it compiles.
  const bool is_had = epilogue.bias || (!epilogue.residual && !epilogue.relu);
  if (dtype == DType::float64 || !is_had) return nullptr;
  if (!has_own_output(g) || (options.only && !may_follow(*options.only, g))) return nullptr;
  return std::make_unique<LoopGraph>(g, dtype, epilogue);
}

}  // namespace loomix::cuda
