// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "engine/team.h"
#include "ops/table.h"

// Runs one operator on host buffers, without engine or arrays: inference, kernel choice, kernel.
namespace loomix::ops::testing {

// A buffer with a shape and a type.
struct Tensor {
  Shape shape;
  DType dtype = DType::unknown;
  std::vector<std::byte> bytes;

  Tensor() = default;
  Tensor(Shape s, DType d)
      : shape(std::move(s)), dtype(d), bytes(static_cast<size_t>(shape.size() * size_of(d))) {}
  // Values are converted to `dtype`.
  Tensor(Shape s, DType d, const std::vector<double>& values) : Tensor(std::move(s), d) {
    dispatch_all(dtype, "test", [&]<class T>(Type<T>) {
      for (size_t i = 0; i < values.size(); ++i)
        reinterpret_cast<T*>(bytes.data())[i] = static_cast<T>(static_cast<Wide<T>>(values[i]));
    });
  }
  TensorView view() { return {bytes.data(), dtype, shape}; }
  std::vector<double> values() const {
    std::vector<double> result(static_cast<size_t>(shape.size()));
    dispatch_all(dtype, "test", [&]<class T>(Type<T>) {
      for (size_t i = 0; i < result.size(); ++i)
        result[i] = static_cast<double>(reinterpret_cast<const T*>(bytes.data())[i]);
    });
    return result;
  }

 private:
  template <class T>
  using Wide = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, double>;
};

struct RunOptions {
  bool training = false;
  bool saved = false;  // have the kernel fill its saved values
  int cores = 1;
  RandomStream random{1, 0};
  std::string kernel = "";  // run this kernel instead of the chosen one
  Req req = Req::write;     // of the outputs; with `add`, to `start`
  double start = 0;
};

struct RunResult {
  std::vector<Tensor> out;
  std::vector<Tensor> saved;
  std::string kernel;
  size_t scratch_bytes = 0;  // that the kernel asked for
};

// Gives outputs whose shapes follow from values their memory.
class DeferredTensors final : public DeferredOutputs {
 public:
  explicit DeferredTensors(std::vector<Tensor>& out) : out_(out) {}
  TensorView allocate(int output, const Shape& shape) override {
    Tensor& tensor = out_[static_cast<size_t>(output)];
    tensor = Tensor(shape, tensor.dtype);
    return tensor.view();
  }

 private:
  std::vector<Tensor>& out_;
};

// Inputs may be changed where the schema says so.
inline RunResult run_op(const std::string& name, std::vector<Tensor>& inputs,
                        const TextPairs& attr_texts = {}, const RunOptions& options = {}) {
  const OpTable& table = builtin_table();
  const OpDef& op = table.at(name);
  const auto attrs = table.parse(op, attr_texts);
  const int outputs = op.count_outputs(*attrs);
  std::vector<Shape> in_shapes, out_shapes(static_cast<size_t>(outputs), Shape::unknown());
  std::vector<DType> in_types, out_types(static_cast<size_t>(outputs), DType::unknown);
  for (const Tensor& input : inputs) {
    in_shapes.push_back(input.shape);
    in_types.push_back(input.dtype);
  }
  ShapeInfer shapes(op, in_shapes, out_shapes);
  op.infer_shape(*attrs, shapes);
  op.infer_types(*attrs, in_types, out_types);

  RunResult result;
  std::vector<TensorView> in, out, saved;
  for (Tensor& input : inputs) in.push_back(input.view());
  for (int i = 0; i < outputs; ++i) {
    const auto place = static_cast<size_t>(i);
    result.out.emplace_back(op.data_dependent ? Shape{0} : out_shapes[place], out_types[place]);
  }
  if (options.req == Req::add) {
    for (Tensor& output : result.out) {
      const std::vector<double> start(static_cast<size_t>(output.shape.size()), options.start);
      output = Tensor(output.shape, output.dtype, start);
    }
  }
  for (Tensor& output : result.out) out.push_back(output.view());
  const std::vector<Req> req(static_cast<size_t>(outputs), options.req);
  const KernelSpec spec{in, out, req, options.training, options.cores};
  for (size_t i = 0; i < op.saved_names.size(); ++i) {
    const TensorView like = op.infer_saved(*attrs, spec, static_cast<int>(i));
    result.saved.emplace_back(like.shape, like.dtype);
  }
  for (Tensor& value : result.saved) saved.push_back(options.saved ? value.view() : TensorView());
  const Kernel* kernel = nullptr;
  for (const Kernel& candidate : op.kernels) {
    if (options.kernel == candidate.name) kernel = &candidate;
  }
  if (!kernel) kernel = &op.choose(*attrs, spec, DeviceType::cpu);
  Ref<const KernelState> state;
  if (kernel->prepare) state = kernel->prepare(op, *attrs, spec);
  const size_t scratch_bytes = state             ? state->scratch_bytes
                               : kernel->scratch ? kernel->scratch(*attrs, spec)
                                                 : 0;
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> scratch((scratch_bytes + 63) / 64);
  DeferredTensors deferred(result.out);
  engine::RunContext context;
  context.cores = options.cores;
  static engine::Team team;
  if (options.cores > 1) context.team = &team;
  const KernelArgs args{.in = in,
                        .out = out,
                        .saved = saved,
                        .req = req,
                        .scratch = std::as_writable_bytes(std::span(scratch)).first(scratch_bytes),
                        .state = state.get(),
                        .random = options.random,
                        .training = options.training,
                        .deferred = op.data_dependent ? &deferred : nullptr,
                        .context = &context};
  kernel->run(*attrs, args);
  result.kernel = kernel->name;
  result.scratch_bytes = scratch_bytes;
  return result;
}

inline RunResult run_op(const std::string& name, std::vector<Tensor>&& inputs, const TextPairs& attrs = {},
                        const RunOptions& options = {}) {
  return run_op(name, inputs, attrs, options);
}

}  // namespace loomix::ops::testing
