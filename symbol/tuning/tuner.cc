// SPDX-License-Identifier: Apache-2.0
#include "symbol/tuning/tuner.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>

#include "base/log.h"
#include "ops/blocked/blocked.h"
#include "symbol/executor/op_call.h"
#include "symbol/passes/infer.h"

namespace loomix {
namespace {

constexpr double kWorthMeasuringNs = 100'000;  // on one core; less is lost by a wrong choice

std::string text_of(std::span<const TensorView> views) {
  std::string text;
  for (const TensorView& view : views)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(view.dtype), view.shape.to_string());
  return text;
}

std::string question_of(const ops::OpDef& op, const AttrsBase& attrs, const ops::KernelSpec& spec,
                        int cores) {
  std::string text = op.name;
  for (const auto& [name, value] : attrs.given()) text += fmt::format(" {}={}", name, value);
  text += fmt::format(": {} -> {}", text_of(spec.in), text_of(spec.out));
  for (const ops::Req req : spec.req) text += req == ops::Req::add ? ", added" : "";
  return text + fmt::format("{} on {} cores", spec.training ? ", training" : "", cores);
}

// A call on arrays of its own, all zero, which no operator that is measured treats apart.
class Trial {
 public:
  Trial(Runtime& runtime, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
        std::span<const TensorView> in, std::span<const TensorView> out, std::span<const ops::Req> req,
        bool training, const ops::KernelChoice* choice)
      : runtime_(runtime) {
    const auto zeros = [&](const TensorView& like) {
      NDArray array(runtime.engine(), like.shape, like.dtype, Device::cpu());
      std::memset(array.view().data, 0, static_cast<size_t>(array.bytes()));
      return array;
    };
    for (const TensorView& view : in) in_.push_back(zeros(view));
    for (const TensorView& view : out) out_.push_back(zeros(view));
    std::vector<const NDArray*> given;
    for (const NDArray& array : in_) given.push_back(&array);
    call_ = OpCall::make(runtime, {.op = op,
                                   .attrs = attrs,
                                   .in = given,
                                   .out = out_,
                                   .saved = {},
                                   .req = req,
                                   .device = Device::cpu(),
                                   .training = training,
                                   .choice = choice});
  }

  double run_ns() {
    call_->push(runtime_);
    for (const NDArray& array : out_) array.wait_to_read();
    return static_cast<double>(call_->last_ns().value_or(0));
  }

 private:
  Runtime& runtime_;
  std::vector<NDArray> in_, out_;
  Ref<OpCall> call_;
};

// The best of some runs, as other work on the machine only ever adds time. What is far slower than the best so far is not run
// again.
double measure(Trial trial, double best) {
  constexpr int kRuns = 7;
  constexpr double kHopeless = 4, kMostNs = 3e8;
  trial.run_ns();  // takes memory, and fills caches
  double least = std::numeric_limits<double>::infinity(), spent = 0;
  for (int i = 0; i < kRuns && spent < kMostNs && !(least > kHopeless * best); ++i) {
    const double ns = trial.run_ns();
    least = std::min(least, ns);
    spent += ns;
  }
  return least;
}

int cores_of(const Runtime& runtime) { return std::max(runtime.engine().options().workers, 1); }

}  // namespace

template <class TryOut>
std::string Tuner::fastest(Runtime& runtime, const std::string& question,
                           const std::vector<std::string>& names, TryOut&& try_out) const {
  if (runtime.engine().options().deterministic) return {};
  if (const auto answer = choices_.find(question)) return *answer;
  if (!measures_) return {};
  std::string winner;
  double best = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < names.size(); ++i) {
    try {
      const double ns = measure(try_out(i), best);
      if (ns >= best) continue;
      best = ns;
      winner = names[i];
    } catch (const std::exception& error) {  // a library that has no such kernel after all
      log(LogLevel::debug, "{}: {} cannot be measured: {}", question, names[i], error.what());
    }
  }
  if (!winner.empty()) choices_.add(question, winner);
  return winner;
}

ops::KernelChoice Tuner::kernel(Runtime& runtime, const ops::OpDef& op, const Ref<const AttrsBase>& attrs,
                                const ops::KernelSpec& spec) const {
  ops::KernelChoice chosen = choose_kernel(runtime, op, attrs, spec, Device::cpu());
  if (!chosen.kernel || chosen.cost_ns < kWorthMeasuringNs || !op.saved_names.empty()) return chosen;
  const ops::ChoiceContext context{DeviceType::cpu, cores_of(runtime), nullptr};
  const std::string question = question_of(op, *attrs, spec, context.cores);
  if (!measures_ && !choices_.find(question)) return chosen;
  auto able = op.able_kernels(*attrs, spec, DeviceType::cpu);
  // Kernels that prepare nothing are plain loops, for what no other takes: a hundred times slower.
  std::erase_if(able, [](const ops::Kernel* kernel) { return !kernel->prepare; });
  if (able.size() < 2) return chosen;
  std::vector<std::string> names;
  for (const ops::Kernel* kernel : able) names.emplace_back(kernel->name);
  const std::string winner = fastest(runtime, question, names, [&](size_t i) {
    const auto choice = prepare_kernel(*able[i], op, *attrs, spec, context);
    return Trial(runtime, op, attrs, spec.in, spec.out, spec.req, spec.training, &choice);
  });
  const auto at = std::ranges::find(names, winner);
  if (at == names.end()) return chosen;
  const ops::Kernel& fast = *able[static_cast<size_t>(at - names.begin())];
  return &fast == chosen.kernel ? chosen : prepare_kernel(fast, op, *attrs, spec, context);
}

namespace {

// The form's operator, with the inputs that it gets and the output that it makes.
Trial trial_of(Runtime& runtime, const ops::BlockedForm& form, const ops::KernelSpec& spec) {
  using Input = ops::BlockedForm::Input;
  const ops::OpDef& op = runtime.table().at(form.op);
  Graph graph;
  std::vector<ValueRef> inputs;
  for (size_t i = 0; i < form.inputs.size(); ++i)
    inputs.push_back({graph.add_variable(make_ref<NodeInfo>()), 0});
  const NodeId node = graph.add_op(op, form.attrs, inputs, {});
  const ValueIndex index(graph);
  std::vector<Shape> shapes(static_cast<size_t>(index.size()), Shape::unknown());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& plain = spec.in[i].shape;
    Shape& shape = shapes[static_cast<size_t>(index[inputs[i]])];
    if (form.inputs[i] == Input::plain) shape = plain;
    if (form.inputs[i] == Input::blocked) shape = ops::blocked_shape(plain);
  }
  infer_shapes(graph, shapes);
  const auto view = [&](ValueRef value) {
    return TensorView{nullptr, spec.out[0].dtype, shapes[static_cast<size_t>(index[value])]};
  };
  std::vector<TensorView> in;
  for (const ValueRef& input : inputs) in.push_back(view(input));
  const TensorView out = view({node, 0});
  const ops::Req req = ops::Req::write;
  return Trial(runtime, op, form.attrs, in, {&out, 1}, {&req, 1}, false, nullptr);
}

}  // namespace

ops::BlockedForm Tuner::form(Runtime& runtime, const ops::OpDef& op, const AttrsBase& attrs,
                             const ops::KernelSpec& spec, ops::BlockedInputs is_blocked,
                             ops::BlockedForm by_rules) const {
  if (!op.blocked_ways || op.estimate_ns(attrs, spec) < kWorthMeasuringNs) return by_rules;
  const int cores = cores_of(runtime);
  const std::string question = question_of(op, attrs, spec, cores) + ", in blocks";
  if (!measures_ && !choices_.find(question)) return by_rules;
  auto forms = op.blocked_ways(attrs, spec, is_blocked, cores);
  if (forms.size() < 2) return by_rules;
  std::vector<std::string> names;
  for (const ops::BlockedForm& form : forms) names.push_back(form.way);
  const std::string winner =
      fastest(runtime, question, names, [&](size_t i) { return trial_of(runtime, forms[i], spec); });
  const auto at = std::ranges::find(names, winner);
  return at == names.end() ? by_rules : std::move(forms[static_cast<size_t>(at - names.begin())]);
}

size_t Tuner::way_of_pass(Runtime& runtime, const std::string& pass, const std::vector<std::string>& names,
                          const std::function<double(size_t)>& run_ns) const {
  const std::string question = fmt::format("{} on {} cores", pass, cores_of(runtime));
  if (runtime.engine().options().deterministic) return 0;
  const auto known = choices_.find(question);
  if (!known && !measures_) return 0;
  std::string winner = known.value_or("");
  if (!known) {
    constexpr int kTurns = 6;  // the first is not counted: it takes memory, and fills caches
    constexpr double kWorthIt = 0.95;
    std::vector<double> best(names.size(), std::numeric_limits<double>::infinity());
    try {
      for (int turn = 0; turn < kTurns; ++turn) {
        for (size_t way = 0; way < names.size(); ++way) {
          const double ns = run_ns(way);
          if (turn > 0) best[way] = std::min(best[way], ns);
        }
      }
    } catch (const std::exception& error) {  // of the inputs, for example: the next pass has it, too
      log(LogLevel::debug, "{} cannot be measured: {}", question, error.what());
      return 0;
    }
    size_t fastest = 0;
    for (size_t way = 1; way < names.size(); ++way) {
      if (best[way] < kWorthIt * best[fastest]) fastest = way;
    }
    winner = names[fastest];
    choices_.add(question, winner);
  }
  const auto at = std::ranges::find(names, winner);
  return at == names.end() ? 0 : static_cast<size_t>(at - names.begin());
}

}  // namespace loomix
