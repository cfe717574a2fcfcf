// SPDX-License-Identifier: Apache-2.0
#include "ops/cuda/dnn.h"

#include <cstring>

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

// As cuDNN has them.
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
  for (int i = 0; i < 3; ++i) {
    if ((g.in[i] + 2 * g.pad[i] - g.reach(i)) / g.stride[i] + 1 != g.out[i]) return nullptr;
  }
  if (options.only && !may_follow(*options.only, g)) return nullptr;
  return std::make_unique<LoopPlan>(g, pass, dtype);
}

}  // namespace loomix::cuda
