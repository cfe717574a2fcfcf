// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/op_call.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "engine/block_cache.h"
#include "engine/parallel_for.h"
#include "ndarray/copy.h"

namespace loomix {

namespace {

constexpr size_t kBlockBytes = (sizeof(OpCall) + 63) / 64 * 64;
using Blocks = engine::BlockCache<kBlockBytes>;
constexpr double kNsPerCore = 20'000;       // work below this is not worth another core
constexpr size_t kKeptWorkspace = 1 << 24;  // larger ones go back after each use
constexpr int64_t kAddGrain = 1 << 14;

std::string describe_call(const void* context) {
  return static_cast<const OpCall*>(static_cast<const RefCounted*>(context))->describe();
}
const char* name_call(const void* context) {
  return static_cast<const OpCall*>(static_cast<const RefCounted*>(context))->op().name.c_str();
}

struct Scratch {
  std::unique_ptr<std::byte[]> memory;
  size_t bytes = 0;
  // 64-byte aligned; the content is undefined.
  std::span<std::byte> take(size_t wanted) {
    if (wanted == 0) return {};
    if (bytes < wanted) {
      memory.reset();
      memory = std::make_unique_for_overwrite<std::byte[]>(wanted + 64);
      bytes = wanted;
    }
    void* aligned = memory.get();
    size_t space = bytes + 64;
    std::align(64, wanted, aligned, space);
    return {static_cast<std::byte*>(aligned), wanted};
  }
  void give_back() {
    if (bytes <= kKeptWorkspace) return;
    memory.reset();
    bytes = 0;
  }
};

// A worker's scratch memory. Kernels do not nest within a thread.
Scratch& scratch() {
  static thread_local Scratch memory;
  return memory;
}

void add_to(engine::RunContext& context, const TensorView& from, const TensorView& to) {
  dispatch_all(from.dtype, "add", [&]<class T>(Type<T>) {
    const T* const in = static_cast<const T*>(from.data);
    T* const out = static_cast<T*>(to.data);
    engine::parallel_for(context, from.size(), kAddGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_same_v<T, bool>) {
          out[i] = out[i] || in[i];
        } else {
          out[i] = static_cast<T>(out[i] + in[i]);
        }
      }
    });
  });
}

// Of a variadic operator, a pair names one of its inputs, not all of them.
bool is_inplace_pair(const ops::OpDef& op, const AttrsBase& attrs, size_t input, size_t output) {
  if (op.inplace.empty()) return false;
  const int i = static_cast<int>(input);
  const std::pair<int, int> pair{op.variadic_count.empty() ? op.schema_position(attrs, i) : i,
                                 static_cast<int>(output)};
  return std::find(op.inplace.begin(), op.inplace.end(), pair) != op.inplace.end();
}

// Whether the kernel would read what it has overwritten.
bool clobbers_input(const OpCall::Spec& spec, size_t output) {
  const NDArray& out = spec.out[output];
  for (size_t i = 0; i < spec.in.size(); ++i) {
    const NDArray& in = *spec.in[i];
    if (in.is_none() || !out.overlaps(in) || spec.op.is_shape_only(*spec.attrs, static_cast<int>(i)))
      continue;
    const bool exact = in.offset() == out.offset() && in.bytes() == out.bytes();
    if (!exact || !is_inplace_pair(spec.op, *spec.attrs, i, output)) return true;
  }
  return false;
}

// Takes memory for the outputs of a data-dependent operator, all of which are arrays of their own.
class DeferredOutputs final : public ops::DeferredOutputs {
 public:
  DeferredOutputs(std::span<const TensorView> views, std::span<const Ref<Storage>> storages)
      : views_(views), storages_(storages) {}
  TensorView allocate(int output, const Shape& shape) override {
    const auto i = static_cast<size_t>(output);
    TensorView view = views_[i];
    view.shape = shape;
    storages_[i]->set_shape(shape, view.bytes());
    view.data = storages_[i]->data();
    return view;
  }

 private:
  std::span<const TensorView> views_;
  std::span<const Ref<Storage>> storages_;
};

}  // namespace

void* OpCall::operator new(size_t) { return Blocks::allocate(); }
void OpCall::operator delete(void* memory) noexcept { Blocks::free(memory); }

void OpCall::add_view(const NDArray& array) {
  if (array.is_none()) {
    views_.emplace_back();
    return;
  }
  LOOMIX_INTERNAL_CHECK(array.is_dense());
  TensorView& view = views_.emplace_back();
  view.data = static_cast<std::byte*>(array.storage().data()) + array.offset();
  view.dtype = array.dtype();
  view.shape = array.shape_is_known() ? array.shape() : Shape::unknown();
  storages_.push_back(array.storage_ref());
}

void OpCall::prepare_outputs(const Spec& spec) {
  first_out_ = static_cast<uint32_t>(storages_.size());
  for (size_t i = 0; i < spec.out.size(); ++i) {
    const NDArray& out = spec.out[i];
    add_view(out);
    ops::Req req = out.is_none() ? ops::Req::null : spec.req[i];
    if (req == ops::Req::inplace) req = ops::Req::write;
    if (req == ops::Req::null) {
      views_.back().data = nullptr;
    } else {
      const bool add = req == ops::Req::add;
      if (add) {
        tags_.update(out);
      } else {
        tags_.write(out);
      }
      if ((add && !spec.op.accumulates) || clobbers_input(spec, i)) {
        detours_.push_back({static_cast<int>(i), add, views_.back()});
        storages_.push_back(make_ref<Storage>(out.engine(), out.bytes(), out.device()));
        views_.back().data = storages_.back()->data();
        req = ops::Req::write;
      }
    }
    req_.push_back(req);
  }
}

Ref<OpCall> OpCall::make(Runtime& runtime, const Spec& spec) {
  Ref<OpCall> call(new OpCall);
  OpCall& self = *call;
  self.op_ = &spec.op;
  self.attrs_ = spec.attrs;
  self.num_in_ = static_cast<uint32_t>(spec.in.size());
  self.num_out_ = static_cast<uint32_t>(spec.out.size());
  self.training_ = spec.training;
  self.device_ = spec.device;
  if (!spec.node_name.empty()) self.node_name_ = spec.node_name;
  for (size_t i = 0; i < spec.in.size(); ++i) {
    const NDArray& in = *spec.in[i];
    self.add_view(in);
    if (in.is_none() || spec.op.is_shape_only(*spec.attrs, static_cast<int>(i))) continue;
    if (spec.op.mutates(*spec.attrs, static_cast<int>(i))) {
      self.tags_.update(in);
    } else {
      self.tags_.read(in);
    }
  }
  self.prepare_outputs(spec);
  for (const NDArray& saved : spec.saved) {
    self.add_view(saved);
    if (!saved.is_none()) self.tags_.write(saved);
  }
  for (engine::Var* var : spec.order) self.tags_.use(*var);

  const ops::KernelSpec kernel_spec = self.kernel_spec();
  self.kernel_ =
      &spec.op.choose(*spec.attrs, kernel_spec, spec.device.is_host() ? DeviceType::cpu : spec.device.type,
                      runtime.dispatch_listener);
  LOOMIX_CHECK(self.kernel_->deterministic || !runtime.engine().options().deterministic, StateError,
               "[{}] kernel {} is not reproducible bit by bit, and deterministic mode is on.", spec.op.name,
               self.kernel_->name);
  const double cost = spec.op.estimate_ns(*spec.attrs, kernel_spec);
  self.cost_ns_ = static_cast<uint32_t>(std::min<double>(cost, std::numeric_limits<uint32_t>::max()));
  self.max_cores_ = static_cast<uint8_t>(std::clamp(cost / kNsPerCore, 1.0, 255.0));
  if (spec.op.workspace_bytes) self.workspace_bytes_ = spec.op.workspace_bytes(*spec.attrs, kernel_spec);
  if (spec.op.random_numbers) self.random_numbers_ = spec.op.random_numbers(*spec.attrs, kernel_spec);
  self.origin_hook_ = &runtime.origin;
  if (runtime.origin.capture) self.origin_ = runtime.origin.capture();
  return call;
}

void OpCall::push(Runtime& runtime, int16_t priority) {
  engine::TaskInfo info;
  info.device = device_;
  info.priority = priority;
  info.max_cores = max_cores_;
  info.cost_ns = cost_ns_;
  info.describe = {describe_call, name_call, Ref<RefCounted>(this)};
  ops::RandomStream random;
  if (random_numbers_ > 0) random = runtime.generators().reserve(device_, random_numbers_);
  // The task holds the call through its description.
  runtime.engine().push(std::move(info), tags_.tags(),
                        [this, random](engine::RunContext& context) { run(context, random); });
}

void OpCall::run(engine::RunContext& context, ops::RandomStream random) const {
  ops::KernelArgs args;
  args.in = in();
  args.out = out();
  args.saved = saved();
  args.req = req_;
  args.random = random;
  args.training = training_;
  args.context = &context;
  DeferredOutputs deferred(out(), std::span(storages_).subspan(first_out_));
  if (op_->data_dependent) args.deferred = &deferred;
  Scratch* const memory = workspace_bytes_ > 0 ? &scratch() : nullptr;
  if (memory) args.workspace = memory->take(workspace_bytes_);
  kernel_->run(*attrs_, args);
  if (memory) memory->give_back();
  for (const Detour& detour : detours_) {
    const TensorView& result = out()[static_cast<size_t>(detour.output)];
    if (detour.add) {
      add_to(context, result, detour.place);
    } else {
      convert_elements(result.data, result.dtype, detour.place.data, result.dtype, result.size());
    }
  }
}

std::string OpCall::describe() const {
  std::string text = fmt::format("in operator {}", op_->name);
  if (!node_name_.empty()) text += fmt::format(" (node '{}')", node_name_);
  std::string inputs;
  for (size_t i = 0; i < num_in_; ++i) {
    if (!inputs.empty()) inputs += ", ";
    inputs += fmt::format("{}: {} {}", op_->input_name(*attrs_, static_cast<int>(i)),
                          name_of(views_[i].dtype), views_[i].shape.to_string());
  }
  text += fmt::format(" on {}, inputs ({})", device_.to_string(), inputs);
  std::string attributes;
  for (const auto& [name, value] : attrs_->given()) {
    attributes += fmt::format("{}{}={}", attributes.empty() ? "" : ", ", name, value);
  }
  if (!attributes.empty()) text += fmt::format(", attributes ({})", attributes);
  if (origin_.code && origin_hook_->text) text += fmt::format(", pushed at {}", origin_hook_->text(origin_));
  return text;
}

}  // namespace loomix
