// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/run_node.h"

#include <algorithm>
#include <utility>

#include "ndarray/array_origin.h"
#include "ndarray/copy.h"
#include "ndarray/sparse.h"
#include "ops/shape_rule.h"
#include "symbol/autograd/tape.h"
#include "symbol/executor/op_call.h"
#include "symbol/executor/storage_choice.h"

namespace loomix {

namespace {

thread_local CallCollector* collector = nullptr;

constexpr int64_t kCountedBytes = 1 << 16;  // of a call's own memory; less is not worth counting

std::string argument_text(const ops::OpDef& op, const AttrsBase& attrs, size_t i) {
  return op.input_name(attrs, static_cast<int>(i));
}

// Pinned and shared memory is the host's: operators mix it with plain memory. cpu(0) and cpu(1) are two devices.
bool reaches(const Device& a, const Device& b) {
  return a == b || (a.is_host() && b.is_host() && a.type != b.type);
}

Device common_device(Runtime& runtime, const ops::OpDef& op, const AttrsBase& attrs,
                     std::span<const NDArray* const> in, const RunOptions& options) {
  const NDArray* first = nullptr;
  size_t first_position = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i]->is_none()) continue;
    if (!first) {
      first = in[i];
      first_position = i;
    } else if (!reaches(first->device(), in[i]->device())) {
      detail::throw_error<DeviceError>(
          "[{}] argument '{}' is on {} and '{}' on {}; all must be on one device.", op.name,
          argument_text(op, attrs, first_position), first->device().to_string(), argument_text(op, attrs, i),
          in[i]->device().to_string());
    }
  }
  if (!first && !options.out.empty()) first = options.out[0];
  const Device device = first ? first->device() : options.device.value_or(runtime.default_device);
  for (const NDArray* out : options.out) {
    LOOMIX_CHECK(out->is_none() || reaches(device, out->device()), DeviceError,
                 "[{}] the output is on {}, the inputs are on {}; all must be on one device.", op.name,
                 out->device().to_string(), device.to_string());
  }
  return device;
}

void check_counts(const ops::OpDef& op, const AttrsBase& attrs, std::span<const NDArray* const> in,
                  const RunOptions& options, size_t visible) {
  const auto expected = static_cast<size_t>(op.count_inputs(attrs));
  LOOMIX_CHECK(in.size() == expected, ValueError, "[{}] {} inputs were given; expected {}.", op.name,
               in.size(), expected);
  for (size_t i = 0; i < in.size(); ++i) {
    LOOMIX_CHECK(!in[i]->is_none(), ValueError, "[{}] argument '{}' is an empty (none) array.", op.name,
                 argument_text(op, attrs, i));
  }
  LOOMIX_CHECK(options.out.empty() || options.out.size() == visible, ValueError,
               "[{}] {} arrays were given for the output; expected {}.", op.name, options.out.size(),
               visible);
}

// Complete shapes and types of one call.
struct Inferred {
  InlineVector<Shape, 3> shapes;  // inputs, then outputs
  InlineVector<DType, 6> types;
};

void infer(const ops::OpDef& op, const AttrsBase& attrs, std::span<const NDArray* const> in,
           std::span<NDArray* const> out, size_t num_out, Inferred& result) {
  const size_t num_in = in.size();
  result.shapes.reserve(num_in + num_out);
  result.types.reserve(num_in + num_out);
  for (const NDArray* array : in) {
    result.shapes.push_back(array->shape());
    result.types.push_back(array->dtype());
  }
  for (size_t i = 0; i < num_out; ++i) {
    const bool given = i < out.size() && !out[i]->is_none();
    result.shapes.push_back(given ? out[i]->shape() : Shape::unknown());
    result.types.push_back(given ? out[i]->dtype() : DType::unknown);
  }
  const std::span<Shape> shapes(result.shapes);
  const std::span<DType> types(result.types);
  ops::ShapeInfer shape_rule(op, shapes.first(num_in), shapes.subspan(num_in));
  op.infer_shape(attrs, shape_rule);
  const ops::InputShapesScope scope(shapes.first(num_in));
  op.infer_types(attrs, types.first(num_in), types.subspan(num_in));
  for (size_t i = 0; i < num_out; ++i) {
    LOOMIX_CHECK(
        num_in > 0 || op.data_dependent || shapes[i].is_known() || ops::numpy_shapes(), ShapeError,
        "[{}] the shape of output '{}' is not complete: a size of 0, or the shape (), stands for one that is "
        "to be inferred. For arrays without elements, and scalars, switch NumPy's shape rules on with "
        "`mx.util.set_np_shape(True)` or `with mx.util.np_shape():`.",
        op.name, op.output_name(attrs, static_cast<int>(i)));
    LOOMIX_CHECK((op.data_dependent || shapes[num_in + i].is_known()) && types[num_in + i] != DType::unknown,
                 ShapeError, "[{}] the shape or type of output '{}' does not follow from the inputs.",
                 op.name, op.output_name(attrs, static_cast<int>(i)));
  }
}

// The saved values that recording needs; otherwise the kernel gets none.
void allocate_saved(const ops::OpDef& op, const AttrsBase& attrs, std::span<const NDArray* const> in,
                    std::span<const NDArray> out, engine::Engine& engine, Device device, bool training,
                    NDArrays& saved) {
  InlineVector<TensorView, 6> views;
  for (const NDArray* array : in) views.push_back({nullptr, array->dtype(), array->shape()});
  for (const NDArray& array : out) views.push_back({nullptr, array.dtype(), array.shape()});
  const InlineVector<ops::Req, 4> req(out.size());
  const std::span<const TensorView> all(views);
  const ops::KernelSpec spec{all.first(in.size()), all.subspan(in.size()), req, training};
  for (size_t i = 0; i < op.saved_names.size(); ++i) {
    const TensorView view = op.infer_saved(attrs, spec, static_cast<int>(i));
    saved.emplace_back(engine, view.shape, view.dtype, device);
  }
}

struct Dense {
  InlineVector<NDArray, 2> held;
  InlineVector<const NDArray*, 4> in;
};

struct Sparse {
  NDArrays out;
  bool ran = false;
};

bool shares_storage(const NDArray& array, std::span<const NDArray* const> others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const NDArray* other) { return other->storage_ref() == array.storage_ref(); });
}

// `target = value`, or `target += value`, where the kernel could not do so itself.
void deliver(Runtime& runtime, const NDArray& value, const NDArray& target, ops::Req req) {
  if (req != ops::Req::add) return copy(value, target);
  const autograd::Scope quiet(false, autograd::is_training());
  copy(run_node(runtime, runtime.table().core().add->name, {target.detach(), value})[0], target);
}

// By a kernel that takes the storage types of the inputs, if there is one. It also says how outputs are stored that are not
// given; one that updates its first input stores it as that.
Sparse run_sparse(Runtime& runtime, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                  std::span<const NDArray* const> in, const RunOptions& options, size_t num_out,
                  Device device) {
  if (!op.has_sparse_kernels() || op.data_dependent || !op.saved_names.empty()) return {};
  Inferred inferred;
  infer(op, *attrs, in, options.out, num_out, inferred);
  InlineVector<TensorView, 6> views;
  InlineVector<StorageType, 6> stypes;
  InlineVector<ops::Req, 4> req, kernel_req;
  for (size_t i = 0; i < in.size() + num_out; ++i) {
    views.push_back({nullptr, inferred.types[i], inferred.shapes[i]});
  }
  for (const NDArray* array : in) stypes.push_back(array->stype());
  for (size_t i = 0; i < num_out; ++i) {
    const bool given = i < options.out.size();
    stypes.push_back(given ? options.out[i]->stype() : StorageType::undefined);
    req.push_back(i < options.req.size() ? options.req[i] : ops::Req::write);
    kernel_req.push_back(kernel_request(op, given && !options.out[i]->is_dense() ? ops::Req::write : req[i]));
  }
  const std::span<const TensorView> all(views);
  const ops::KernelSpec spec{all.first(in.size()), all.subspan(in.size()), kernel_req,
                             autograd::is_training()};
  const ops::KernelChoice choice = choose_by_storage(runtime, op, attrs, spec, stypes, device);
  if (!choice.kernel) return {};
  NDArrays out(num_out);
  InlineVector<const NDArray*, 4> arrays(in);
  InlineVector<ops::Req, 4> own_req(req);
  for (size_t i = 0; i < num_out; ++i) {
    const bool updated = choice.kernel->updates && i == 0;
    const StorageType stype = updated ? in[0]->stype() : stypes[in.size() + i];
    const bool given = i < options.out.size() && options.out[i]->stype() == stype;
    // Sparse content is made anew: nothing is added to it, and no input may lie there.
    const bool direct = given && (updated || stype == StorageType::dense ||
                                  (req[i] != ops::Req::add && !shares_storage(*options.out[i], in)));
    const Shape& shape = inferred.shapes[in.size() + i];
    const DType dtype = inferred.types[in.size() + i];
    if (direct) out[i] = *options.out[i];
    else if (stype == StorageType::dense) out[i] = NDArray(runtime.engine(), shape, dtype, device);
    else out[i] = NDArray::sparse(runtime.engine(), stype, shape, dtype, device);
    if (!direct && own_req[i] == ops::Req::add) own_req[i] = ops::Req::write;
    if (!updated) continue;
    if (out[i].storage_ref() != in[0]->storage_ref() || out[i].offset() != in[0]->offset())
      copy(*in[0], out[i]);
    arrays[0] = &out[i];
  }
  if (collector) collector->take({});
  OpCall::make(runtime, {.op = op,
                         .attrs = attrs,
                         .in = arrays,
                         .out = out,
                         .saved = {},
                         .req = own_req,
                         .device = device,
                         .training = spec.training,
                         .node_name = options.node_name,
                         .choice = &choice})
      ->push(runtime, options.priority);
  for (size_t i = 0; i < options.out.size(); ++i) {
    if (options.out[i]->is_none()) *options.out[i] = out[i];
    else if (options.out[i]->storage_ref() != out[i].storage_ref())
      deliver(runtime, out[i], *options.out[i], req[i]);
    out[i] = *options.out[i];
  }
  return {std::move(out), true};
}

// Sparse inputs as dense arrays, for kernels that know no others. Those of which only the shape counts have any content.
void make_dense(const ops::OpDef& op, const AttrsBase& attrs, std::span<const NDArray* const> in,
                Dense& dense) {
  dense.held.reserve(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const NDArray& array = *in[i];
    if (array.is_dense()) dense.in.push_back(&array);
    else if (op.is_shape_only(attrs, static_cast<int>(i)))
      dense.in.push_back(
          &dense.held.emplace_back(array.engine(), array.shape(), array.dtype(), array.device()));
    else dense.in.push_back(&dense.held.emplace_back(cast_storage(array, StorageType::dense)));
  }
}

bool any_sparse(std::span<const NDArray* const> arrays) {
  return std::any_of(arrays.begin(), arrays.end(),
                     [](const NDArray* array) { return !array->is_none() && !array->is_dense(); });
}

}  // namespace

CallCollector* collect_calls(CallCollector* next) noexcept { return std::exchange(collector, next); }

NDArrays run_node(Runtime& runtime, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                  std::span<const NDArray* const> in, const RunOptions& options) {
  const auto num_out = static_cast<size_t>(op.count_outputs(*attrs));
  const auto visible = op.num_visible_outputs ? static_cast<size_t>(op.num_visible_outputs(*attrs)) : num_out;
  check_counts(op, *attrs, in, options, visible);
  const Device device = common_device(runtime, op, *attrs, in, options);
  const bool recording = autograd::should_record(in);
  if (recording) autograd::check_not_recorded(op, options.out);

  const std::span<const NDArray* const> given = in;
  Dense dense;
  const bool is_sparse = any_sparse(in);
  if (is_sparse || makes_sparse(op)) [[unlikely]] {
    Sparse sparse = run_sparse(runtime, op, attrs, in, options, num_out, device);
    if (sparse.ran) {
      if (recording) autograd::record(op, attrs, given, sparse.out, {}, options.node_name);
      sparse.out.resize(visible);
      return std::move(sparse.out);
    }
    if (is_sparse) {
      InlineVector<StorageType, 6> stypes;
      for (const NDArray* array : in) stypes.push_back(array->stype());
      explain_fallback(runtime, op, stypes);
      make_dense(op, *attrs, in, dense);
      in = dense.in;
    }
  }

  const ArrayOrigin origin("output of",
                           options.node_name.empty() ? std::string_view(op.name) : options.node_name);
  NDArrays out(num_out);
  int64_t taken = 0;  // bytes
  InlineVector<ops::Req, 4> req(num_out);
  InlineVector<TensorView, 4> left_out;
  {
    Inferred inferred;
    infer(op, *attrs, in, options.out, num_out, inferred);
    // Hidden outputs are for a gradient; where nobody asks for it they are not computed.
    const size_t computed = recording || op.data_dependent ? num_out : visible;
    for (size_t i = computed; i < num_out; ++i) {
      left_out.resize(num_out);
      left_out[i] = {nullptr, inferred.types[in.size() + i], inferred.shapes[in.size() + i]};
      req[i] = ops::Req::null;
    }
    for (size_t i = 0; i < computed; ++i) {
      const bool is_given = i < options.out.size() && !options.out[i]->is_none();
      if (op.data_dependent) {
        LOOMIX_CHECK(i >= options.req.size() || options.req[i] == ops::Req::write, NotImplementedError,
                     "[{}] adding to a given output: its shape depends on data; write to a new array.",
                     op.name);
        out[i] = NDArray::deferred(runtime.engine(), inferred.types[in.size() + i], device);
      } else if (is_given && options.out[i]->is_dense()) {
        out[i] = *options.out[i];
      } else {
        out[i] =
            NDArray(runtime.engine(), inferred.shapes[in.size() + i], inferred.types[in.size() + i], device);
        taken += out[i].bytes();
      }
      req[i] = i < options.req.size() ? options.req[i] : ops::Req::write;
    }
  }
  const bool training = autograd::is_training();
  NDArrays saved(0);
  if (recording && !op.saved_names.empty()) {
    allocate_saved(op, *attrs, in, out, runtime.engine(), device, training, saved);
    for (const NDArray& array : saved) taken += array.bytes();
  } else {
    saved.resize(op.saved_names.size());
  }
  if (taken < kCountedBytes) taken = 0;
  const Ref<OpCall> call = OpCall::make(runtime, {.op = op,
                                                  .attrs = attrs,
                                                  .in = in,
                                                  .out = out,
                                                  .saved = saved,
                                                  .req = req,
                                                  .device = device,
                                                  .training = training,
                                                  .left_out = left_out,
                                                  .node_name = options.node_name,
                                                  .bytes = taken});
  if (!collector || !collector->take(call)) call->push(runtime, options.priority);
  for (size_t i = 0; i < in.size(); ++i) {
    if (given[i] != in[i] && op.mutates(*attrs, static_cast<int>(i))) copy_sparse(*in[i], *given[i]);
  }
  if (recording) autograd::record(op, attrs, given, out, std::move(saved), options.node_name);
  if (options.out.empty()) {
    out.resize(visible);
    return out;
  }
  for (size_t i = 0; i < visible; ++i) {
    if (options.out[i]->is_none()) {
      *options.out[i] = out[i];
    } else if (op.data_dependent) {
      copy(out[i], *options.out[i]);
      out[i] = *options.out[i];
    } else if (!options.out[i]->is_dense()) {
      copy_sparse(out[i], *options.out[i]);
      out[i] = *options.out[i];
    } else if (recording) {
      options.out[i]->set_tape(out[i].tape(), out[i].tape_index());
    }
  }
  out.resize(visible);
  return out;
}

NDArrays run_node(Runtime& runtime, std::string_view name, std::initializer_list<NDArray> in,
                  const TextPairs& attrs, const RunOptions& options) {
  const ops::OpDef& op = runtime.table().at(name);
  InlineVector<const NDArray*, 4> pointers;
  for (const NDArray& array : in) pointers.push_back(&array);
  return run_node(runtime, op, runtime.table().parse(op, attrs), pointers, options);
}

}  // namespace loomix
