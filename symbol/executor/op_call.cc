// SPDX-License-Identifier: Apache-2.0
#include "symbol/executor/op_call.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/log.h"
#include "engine/block_cache.h"
#include "engine/device/scratch_block.h"
#include "engine/trace.h"
#include "ops/kernel_module.h"
#include "symbol/executor/ordered_state.h"
#include "symbol/executor/staged_arrays.h"
#include "symbol/executor/value_check.h"

namespace loomix {

namespace {

constexpr size_t kBlockBytes = (sizeof(OpCall) + 63) / 64 * 64;
using Blocks = engine::BlockCache<kBlockBytes>;
std::string describe_call(const void* context) {
  return static_cast<const OpCall*>(static_cast<const RefCounted*>(context))->describe();
}
const char* name_call(const void* context) {
  return static_cast<const OpCall*>(static_cast<const RefCounted*>(context))->trace_name();
}

thread_local const std::string* within = nullptr;

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Of this thread: pushing takes no lock for it.
ops::KernelCache& kernel_cache() {
  static thread_local ops::KernelCache cache;
  return cache;
}

DeviceType kernels_of(Device device) { return device.is_host() ? DeviceType::cpu : device.type; }

void warn_of_host(const ops::OpDef& op) {
  static std::mutex mutex;
  static std::set<const ops::OpDef*> warned;
  const std::lock_guard lock(mutex);
  if (!warned.insert(&op).second) return;
  log(LogLevel::warning,
      "[{}] has no kernel for GPUs that takes these arrays, and runs on the host, with copies there and back "
      "(LOOMIX_EXPLAIN=dispatch says why; LOOMIX_DEVICE_FALLBACK=0 makes it an error).",
      op.name);
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
  TensorView& view = views_.emplace_back();
  if (array.is_none()) {
    storages_.emplace_back();
    return;
  }
  if (array.is_dense()) view.data = static_cast<std::byte*>(array.storage().data()) + array.offset();
  view.dtype = array.dtype();
  if (array.shape_is_known()) view.shape = array.shape();
  else view.shape = Shape::unknown();
  storages_.push_back(array.storage_ref());
}

void OpCall::add_inputs(const Spec& spec) {
  for (size_t i = 0; i < spec.in.size(); ++i) {
    const NDArray& in = *spec.in[i];
    add_view(in);
    if (in.is_none() || spec.op.is_shape_only(*spec.attrs, static_cast<int>(i))) continue;
    if (spec.op.mutates(*spec.attrs, static_cast<int>(i))) {
      tags_.update(in);
    } else {
      tags_.read(in);
    }
  }
}

void OpCall::add_outputs(const Runtime& runtime, const Spec& spec) {
  for (size_t i = 0; i < spec.out.size(); ++i) {
    const NDArray& out = spec.out[i];
    add_view(out);
    const bool add = !out.is_none() && spec.req[i] == ops::Req::add;
    ops::Req req = out.is_none() ? ops::Req::null : kernel_request(spec.op, spec.req[i]);
    if (req == ops::Req::null) {
      if (out.is_none() && !spec.left_out.empty()) views_.back() = spec.left_out[i];
      views_.back().data = nullptr;
    } else {
      if (add) {
        tags_.update(out);
      } else {
        tags_.write(out);
      }
      const bool clobbers = clobbers_input(spec, i);
      if ((add && !spec.op.accumulates) || clobbers) {
        const ops::OpDef* const finish = add ? runtime.table().core().add : runtime.table().core().copy;
        LOOMIX_INTERNAL_CHECK(finish != nullptr);
        detours_.push_back({i, 0, add, views_.back(), finish, {}, {}});
        req = ops::Req::write;
      }
    }
    req_.push_back(req);
  }
}

// Kernels and places of what brings outputs from scratch memory to where they belong.
void OpCall::prepare_detours(Runtime& runtime) {
  for (Detour& detour : detours_) {
    detour.offset = scratch_bytes_;
    scratch_bytes_ += aligned(static_cast<size_t>(detour.place.bytes()));
    const TensorView views[] = {detour.place, detour.place};
    const ops::Req req = ops::Req::write;
    detour.attrs = runtime.table().parse(*detour.op, {});
    detour.finish = choose_kernel(
        runtime, *detour.op, detour.attrs,
        {std::span(views).first(detour.add ? 2 : 1), std::span(views).first(1), {&req, 1}}, kernel_device());
    LOOMIX_INTERNAL_CHECK(detour.finish.scratch_bytes == 0 && detour.finish.kernel->run != nullptr);
  }
}

void OpCall::finish_detour(const Detour& detour, const TensorView& result, const TensorView& place,
                           engine::RunContext& context) {
  const TensorView both[] = {detour.add ? place : result, result};
  const ops::Req req = ops::Req::write;
  ops::KernelArgs args;
  args.in = std::span(both).first(detour.add ? 2 : 1);
  args.out = {&place, 1};
  args.req = {&req, 1};
  args.state = detour.finish.state.get();
  args.context = &context;
  detour.finish.kernel->run(*detour.attrs, args);
}

bool OpCall::is_as_planned(const Spec& spec) const {
  for (size_t i = 0; i < req_.size(); ++i) {
    if (req_[i] != ops::Req::null && req_[i] != kernel_request(spec.op, spec.req[i])) return false;
  }
  return true;
}

void OpCall::choose(Runtime& runtime, const Spec& spec) {
  const ops::KernelSpec kernel_spec = this->kernel_spec();
  if (spec.choice && is_as_planned(spec)) {
    choice_ = *spec.choice;
  } else {
    choice_ = choose_kernel(runtime, spec.op, spec.attrs, kernel_spec, spec.device);
  }
  LOOMIX_CHECK(choice_.kernel->deterministic || !runtime.engine().options().deterministic, StateError,
               "[{}] kernel {} is not reproducible bit by bit, and deterministic mode is on.", spec.op.name,
               choice_.kernel->name);
  runs_on_host_ = device_.is_host() || choice_.kernel->device == DeviceType::cpu;
  cost_ns_ = static_cast<uint32_t>(std::min<double>(choice_.cost_ns, std::numeric_limits<uint32_t>::max()));
  limit_cores(false);
  if (spec.op.random_numbers) random_numbers_ = spec.op.random_numbers(*spec.attrs, kernel_spec);
  if (choice_.kernel->run_async) {
    ordered_ = dynamic_cast<const OrderedState*>(choice_.state.get());
    if (ordered_ && ordered_->channel()) tags_.use(*ordered_->channel());
  }
  scratch_bytes_ = aligned(choice_.scratch_bytes);
  if (!detours_.empty()) prepare_detours(runtime);
  if (scratch_bytes_ > 0) find_scratch(runtime, spec);
}

void OpCall::find_scratch(Runtime& runtime, const Spec& spec) {
  const bool is_planned = kernel_device() == device_ && spec.scratch && !spec.scratch->is_none() &&
                          static_cast<size_t>(spec.scratch->bytes()) >= scratch_bytes_;
  if (is_planned) keep_scratch(*spec.scratch);
  else scratch_pool_ = &engine::ScratchBlock::pool_of(runtime.engine(), kernel_device());
}

void OpCall::keep_scratch(const NDArray& scratch) {
  scratch_ = static_cast<std::byte*>(scratch.view().data);
  scratch_storage_ = scratch.storage_ref();
  scratch_pool_ = nullptr;
  tags_.use(scratch.var());
}

Ref<OpCall> OpCall::make(Runtime& runtime, const Spec& spec) {
  Ref<OpCall> call(new OpCall);
  OpCall& self = *call;
  self.op_ = &spec.op;
  self.within_ = within;
  self.attrs_ = spec.attrs;
  self.num_in_ = static_cast<uint32_t>(spec.in.size());
  self.num_out_ = static_cast<uint32_t>(spec.out.size());
  self.training_ = spec.training;
  self.device_ = spec.device;
  self.bytes_ = spec.bytes;
  if (!spec.node_name.empty()) self.node_name_ = spec.node_name;
  self.add_inputs(spec);
  self.add_outputs(runtime, spec);
  for (const NDArray& saved : spec.saved) {
    self.add_view(saved);
    if (!saved.is_none()) self.tags_.write(saved);
  }
  for (engine::Var* var : spec.order) self.tags_.use(*var);
  self.choose(runtime, spec);
  self.runtime_ = &runtime;
  if (runtime.origin.capture) self.origin_ = runtime.origin.capture();
  return call;
}

ops::KernelArgs OpCall::arguments(engine::RunContext& context, ops::RandomStream random) const {
  ops::KernelArgs args;
  args.in = in();
  args.out = out();
  args.saved = saved();
  args.req = req_;
  args.scratch = {scratch_, choice_.scratch_bytes};
  args.storages = storages_;
  args.state = choice_.state.get();
  args.random = random;
  args.training = training_;
  args.context = &context;
  return args;
}

// What one run adds to the call: scratch memory from the pool, and views of outputs that lie in scratch memory.
class OpCall::Run {
 public:
  Run(const OpCall& call, engine::RunContext& context, ops::RandomStream random)
      : args(call.arguments(context, random)), call_(call), deferred_(call.out(), call.outputs()) {
    std::byte* scratch = call.scratch_;
    if (call.scratch_pool_) {
      block_ = engine::ScratchBlock(*call.scratch_pool_, call.scratch_bytes_, context.queue);
      scratch = block_.bytes().data();
      args.scratch = {scratch, call.choice_.scratch_bytes};
    }
    if (call.op_->data_dependent) args.deferred = &deferred_;
    if (call.detours_.empty()) return;
    out_.append(call.out().begin(), call.out().end());
    for (const Detour& detour : call.detours_) out_[detour.output].data = scratch + detour.offset;
    args.out = out_;
  }

  void finish(engine::RunContext& context) const {
    for (const Detour& detour : call_.detours_)
      finish_detour(detour, out_[detour.output], detour.place, context);
  }

  ops::KernelArgs args;

 private:
  const OpCall& call_;
  engine::ScratchBlock block_;
  InlineVector<TensorView, 1> out_;
  DeferredOutputs deferred_;
};

class OpCall::Clock {
 public:
  explicit Clock(const OpCall& call) : call_(call), begin_(call.is_timed() ? engine::Trace::now() : 0) {}
  ~Clock() {
    if (call_.is_timed()) stop(call_, begin_);
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  static void stop(const OpCall& call, int64_t begin) noexcept {
    call.last_ns_.store(engine::Trace::now() - begin, std::memory_order_relaxed);
  }

 private:
  const OpCall& call_;
  const int64_t begin_;
};

std::optional<int64_t> OpCall::last_ns() const noexcept {
  const int64_t ns = last_ns_.load(std::memory_order_relaxed);
  return ns < 0 ? std::nullopt : std::optional(ns);
}

bool OpCall::resembles(const OpCall& other) const noexcept {
  const auto same = [](const TensorView& a, const TensorView& b) {
    return a.dtype == b.dtype && a.shape == b.shape;
  };
  return op_ == other.op_ && choice_.kernel == other.choice_.kernel && device_ == other.device_ &&
         num_in_ == other.num_in_ && num_out_ == other.num_out_ && training_ == other.training_ &&
         std::ranges::equal(req_, other.req_) && std::ranges::equal(views_, other.views_, same);
}

bool OpCall::repeats(const OpCall& other) const noexcept {
  const auto same = [](const TensorView& a, const TensorView& b) { return a.data == b.data; };
  return resembles(other) && std::ranges::equal(storages_, other.storages_) &&
         std::ranges::equal(views_, other.views_, same);
}

bool OpCall::check_given() const {
  const bool infinite = check_inputs(*op_, *attrs_, in());
  check_labels(*op_, *attrs_, in());
  return infinite;
}

void OpCall::run_checked(engine::RunContext& context, ops::RandomStream random) const {
  const bool infinite_inputs = check_given();
  run(context, random);  // its time is without the checks
  check_outputs(*op_, *attrs_, infinite_inputs, out(), req_);
}

void OpCall::run(engine::RunContext& context, ops::RandomStream random) const {
  if (is_staged()) [[unlikely]]
    return run_staged(context, random);
  const Clock clock(*this);
  if (!scratch_pool_ && detours_.empty() && !op_->data_dependent) {
    choice_.kernel->run(*attrs_, arguments(context, random));
    return;
  }
  const Run run(*this, context, random);
  choice_.kernel->run(*attrs_, run.args);
  run.finish(context);
}

// By a kernel of the host's, on copies of all that it reads and writes.
void OpCall::run_staged(engine::RunContext& context, ops::RandomStream random) const {
  engine::Engine& engine = runtime_->engine();
  StagedArrays staged(engine, device_, views_, storages_);
  if (choice_.kernel->updates) staged.share(num_in_, 0);
  for (size_t i = 0; i < num_in_; ++i) {
    if (!op_->is_shape_only(*attrs_, static_cast<int>(i))) staged.fetch(i);
  }
  for (size_t i = 0; i < num_out_; ++i) {
    const bool is_added_to =
        std::ranges::any_of(detours_, [i](const Detour& detour) { return detour.output == i && detour.add; });
    if (req_[i] == ops::Req::add || is_added_to) staged.fetch(num_in_ + i);
  }
  ops::KernelArgs args = arguments(context, random);
  args.storages = staged.storages();
  const std::span<const TensorView> views = staged.views();
  args.in = views.first(num_in_);
  args.saved = views.subspan(num_in_ + num_out_);
  const engine::ScratchBlock scratch =
      scratch_pool_ ? engine::ScratchBlock(*scratch_pool_, scratch_bytes_, nullptr) : engine::ScratchBlock();
  args.scratch = scratch.bytes().first(choice_.scratch_bytes);
  InlineVector<TensorView, 1> out(views.subspan(num_in_, num_out_));
  for (const Detour& detour : detours_) out[detour.output].data = scratch.bytes().data() + detour.offset;
  args.out = out;
  StagedOutputs deferred(engine, device_, this->out(), outputs());
  if (op_->data_dependent) args.deferred = &deferred;
  choice_.kernel->run(*attrs_, args);
  for (const Detour& detour : detours_) {
    const TensorView& place = views[num_in_ + detour.output];
    finish_detour(detour, out[detour.output], place, context);
  }
  for (size_t i = 0; i < num_in_; ++i) {
    if (op_->mutates(*attrs_, static_cast<int>(i))) staged.put_back(i);
  }
  if (op_->data_dependent) return deferred.put_back();
  for (size_t i = 0; i < num_out_; ++i) {
    if (req_[i] != ops::Req::null) staged.put_back(num_in_ + i);
  }
  for (size_t i = num_in_ + num_out_; i < views_.size(); ++i) staged.put_back(i);
}

// Keeps a run alive until its kernel completes, and ends the task then.
class OpCall::AsyncRun final : public engine::CompletionSink {
 public:
  static void start(const OpCall& call, engine::RunContext& context, ops::RandomStream random, bool checked,
                    engine::Completion completion) {
    auto run = std::make_unique<AsyncRun>(call, context, random, std::move(completion));
    run->checked_ = checked;
    try {
      if (checked) run->infinite_inputs_ = call.check_given();
    } catch (...) {
      return run->completion_.fail(std::current_exception());
    }
    AsyncRun& sink = *run.release();  // from here on its completion owns it
    const ops::AsyncKernelFn kernel = call.choice_.kernel->run_async;
    AsyncRun* unwound = nullptr;
    sink.unwound_ = &unwound;
    sink.starter_ = std::this_thread::get_id();
    sink.uncaught_ = std::uncaught_exceptions();
    try {
      kernel(*call.attrs_, sink.run_.args, engine::Completion(sink, nullptr));
    } catch (...) {
      // The kernel's completion was dropped on the way here, and left the end to us: this error says more. A kernel that has
      // handed its completion on must not throw; if it does, that completion counts.
      if (const std::unique_ptr<AsyncRun> self{unwound}) self->completion_.fail(std::current_exception());
    }
  }

  AsyncRun(const OpCall& call, engine::RunContext& context, ops::RandomStream random,
           engine::Completion completion)
      : call_(const_cast<OpCall*>(&call)),
        run_(call, context, random),
        queue_(context.queue),
        completion_(std::move(completion)) {}

  void complete(void*, std::exception_ptr error) noexcept override {
    if (std::uncaught_exceptions() > uncaught_ && std::this_thread::get_id() == starter_) {
      *unwound_ = this;
      return;
    }
    std::unique_ptr<AsyncRun> self(this);
    if (error) return completion_.fail(std::move(error));
    try {
      engine::RunContext context;  // of whatever thread this is: one core
      context.device = call_->device_;
      context.queue = queue_;
      if (queue_) context.stream = queue_->native();
      run_.finish(context);
      if (queue_ && !call_->detours_.empty()) {
        const engine::TokenRef token = queue_->record();
        AsyncRun* const run = self.release();
        if (token->subscribe([run, token] { run->end(token->error()); })) return;
        self.reset(run);
        if (token->error()) std::rethrow_exception(token->error());
      }
    } catch (...) {
      return completion_.fail(std::current_exception());
    }
    self.release()->end(nullptr);
  }

 private:
  // Nothing is left to do for cores or the device.
  void end(std::exception_ptr error) noexcept {
    const std::unique_ptr<AsyncRun> self(this);
    if (error) return completion_.fail(std::move(error));
    try {
      if (call_->is_timed()) Clock::stop(*call_, begin_);
      if (checked_) check_outputs(*call_->op_, *call_->attrs_, infinite_inputs_, call_->out(), call_->req_);
    } catch (...) {
      return completion_.fail(std::current_exception());
    }
    completion_.done();
  }

  const Ref<OpCall> call_;
  Run run_;
  engine::DeviceQueue* const queue_;  // that the kernel works on; null: the host
  engine::Completion completion_;
  const int64_t begin_ = engine::Trace::now();
  AsyncRun** unwound_ =
      nullptr;  // on the stack of `start`: this, if the kernel threw with its completion in hand
  std::thread::id starter_;
  int uncaught_ = 0;
  bool checked_ = false;  // whether its values are
  bool infinite_inputs_ = false;
};

// The work of a call that others wait for. If the engine drops it, because there is an error in what it reads, it says so.
class OpCall::OrderedRun {
 public:
  OrderedRun(const OpCall& call, ops::RandomStream random, bool checked)
      : call_(const_cast<OpCall*>(&call)), random_(random), checked_(checked) {}
  OrderedRun(OrderedRun&&) noexcept = default;
  OrderedRun& operator=(OrderedRun&&) = delete;
  ~OrderedRun() {
    if (call_) call_->ordered_->dropped(call_->describe());
  }
  void operator()(engine::RunContext& context, engine::Completion completion) {
    const Ref<OpCall> call = std::move(call_);
    AsyncRun::start(*call, context, random_, checked_, std::move(completion));
  }

 private:
  Ref<OpCall> call_;
  ops::RandomStream random_;
  bool checked_;
};

OpCall::Within::Within(const std::string& name) noexcept : outer_(std::exchange(within, &name)) {}

OpCall::Within::~Within() { within = outer_; }

const char* OpCall::trace_name() const {
  if (!within_) return op_->name.c_str();
  static std::mutex mutex;
  static std::set<std::string>& joined = *std::make_unique<std::set<std::string>>().release();
  const std::lock_guard lock(mutex);
  return joined.insert(*within_ + "::" + op_->name).first->c_str();
}

engine::Describe OpCall::describe_task() const {
  return {describe_call, name_call, Ref<RefCounted>(const_cast<OpCall*>(this))};
}

void OpCall::push(Runtime& runtime, int16_t priority) {
  ops::RandomStream random;
  if (random_numbers_ > 0) random = runtime.generators().reserve(device_, random_numbers_);
  push(runtime, random, priority);
}

void OpCall::push(Runtime& runtime, ops::RandomStream random, int16_t priority) {
  engine::TaskInfo info;
  info.device = kernel_device();
  info.priority = priority;
  info.max_cores = max_cores_;
  info.cost_ns = cost_ns_;
  info.bytes = bytes_;
  info.describe = describe_task();
  const bool checked = runtime.check_values.load(std::memory_order_relaxed) && device_.is_host();
  // The task holds the call through its description.
  if (choice_.kernel->run && checked) [[unlikely]] {
    runtime.engine().push(std::move(info), tags_.tags(),
                          [this, random](engine::RunContext& context) { run_checked(context, random); });
  } else if (choice_.kernel->run) {
    runtime.engine().push(std::move(info), tags_.tags(),
                          [this, random](engine::RunContext& context) { run(context, random); });
  } else if (ordered_) {
    runtime.engine().push_async(std::move(info), tags_.tags(), OrderedRun(*this, random, checked));
  } else {
    runtime.engine().push_async(
        std::move(info), tags_.tags(),
        [this, random, checked](engine::RunContext& context, engine::Completion completion) {
          AsyncRun::start(*this, context, random, checked, std::move(completion));
        });
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
  if (origin_.code && runtime_->origin.text)
    text += fmt::format(", pushed at {}", runtime_->origin.text(origin_));
  return text;
}

void load_kernels(Runtime& runtime, Device device) {
  if (device.type != DeviceType::gpu || runtime.has_gpu_kernels.load(std::memory_order_acquire)) return;
  ops::add_cuda_kernels(runtime.table());
  runtime.has_gpu_kernels.store(true, std::memory_order_release);
}

ops::KernelChoice choose_kernel(Runtime& runtime, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                                const ops::KernelSpec& spec, Device device) {
  load_kernels(runtime, device);
  const ops::ChoiceContext context{kernels_of(device), std::max(runtime.engine().options().workers, 1),
                                   runtime.dispatch_listener};
  const auto choose = [&](const ops::ChoiceContext& by) {
    return op.has_states() ? kernel_cache().get(op, attrs, spec, by)
                           : ops::prepare_kernel(op, *attrs, spec, by);
  };
  if (device.type != DeviceType::gpu || !runtime.device_fallback) return choose(context);
  std::exception_ptr refusal;
  try {
    if (ops::KernelChoice choice = choose(context); choice.kernel) return choice;
  } catch (const NotImplementedError&) {
    refusal = std::current_exception();
  }
  ops::ChoiceContext on_host = context;
  on_host.device = DeviceType::cpu;
  ops::KernelChoice choice = choose(on_host);
  if (!choice.kernel && refusal) std::rethrow_exception(refusal);
  if (choice.kernel && choice.kernel->run) warn_of_host(op);  // the others push work for the device
  return choice;
}

ops::Req kernel_request(const ops::OpDef& op, ops::Req req) {
  if (req == ops::Req::inplace || (req == ops::Req::add && !op.accumulates)) return ops::Req::write;
  return req;
}

size_t scratch_bytes(const ops::OpDef& op, const ops::KernelChoice& choice, std::span<const TensorView> out,
                     std::span<const ops::Req> req) {
  size_t bytes = aligned(choice.scratch_bytes);
  for (size_t i = 0; i < out.size(); ++i) {
    if (req[i] == ops::Req::add && !op.accumulates) bytes += aligned(static_cast<size_t>(out[i].bytes()));
  }
  return bytes;
}

}  // namespace loomix
