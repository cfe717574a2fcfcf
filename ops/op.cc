// SPDX-License-Identifier: Apache-2.0
#include "ops/op.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace loomix::ops {
namespace {

constexpr double kNsPerByte = 0.06;  // one core streams about 16 GB/s
constexpr double kNsPerCall = 60;

double bytes_of(std::span<const TensorView> views) {
  double bytes = 0;
  for (const TensorView& view : views) {
    if (view.dtype != DType::unknown) bytes += static_cast<double>(view.bytes());
  }
  return bytes;
}

}  // namespace

OpDef::~OpDef() {
  for (const AddedKernels* added = added_kernels(); added;) delete std::exchange(added, added->before);
}

int OpDef::count_inputs(const AttrsBase& attrs) const {
  if (signature) return static_cast<int>(signature(attrs).inputs.size());
  return num_inputs ? num_inputs(attrs) : static_cast<int>(inputs.size());
}

int OpDef::count_outputs(const AttrsBase& attrs) const {
  if (signature) return static_cast<int>(signature(attrs).outputs.size());
  return num_outputs ? num_outputs(attrs) : static_cast<int>(output_names.size());
}

int OpDef::count_visible_outputs(const AttrsBase& attrs) const {
  return num_visible_outputs ? num_visible_outputs(attrs) : count_outputs(attrs);
}

int OpDef::schema_position(const AttrsBase& attrs, int i) const {
  const int declared = static_cast<int>(inputs.size());
  const int repeated = declared - 1;
  if (is_variadic() || !has_input) return std::min(i, repeated);
  for (int position = 0; position < declared; ++position) {
    if (has_input(attrs, position) && i-- == 0) return position;
  }
  return repeated;
}

bool OpDef::is_shape_only(const AttrsBase& attrs, int i) const {
  if (signature) return signature(attrs).inputs[i].shape_only;
  return !shape_only.empty() &&
         std::find(shape_only.begin(), shape_only.end(), schema_position(attrs, i)) != shape_only.end();
}

std::string OpDef::input_name(const AttrsBase& attrs, int i) const {
  if (signature) return signature(attrs).inputs[i].name;
  const int position = schema_position(attrs, i);
  const int repeated = static_cast<int>(inputs.size()) - 1;
  if (variadic_count.empty() || position < repeated) return inputs[position].name;
  // An array and a parameter that is learned for it (UpSampling) are not two of many.
  if (first_value && count_inputs(attrs) == 2 && first_value(attrs, 1))
    return i == 1 ? "weight" : inputs[position].name;
  return inputs[position].name + std::to_string(i - repeated);
}

std::string OpDef::output_name(const AttrsBase& attrs, int i) const {
  if (signature) return signature(attrs).outputs[i];
  const int declared = static_cast<int>(output_names.size());
  const bool numbered = declared > 0 && output_names[0] == "output0";
  if (num_outputs && numbered && count_outputs(attrs) == 1) return "output";  // of as many as attributes say
  if (i < declared && (declared > 1 || count_outputs(attrs) == 1)) return output_names[i];
  return "output" + std::to_string(i);
}

namespace {

// Types that differ from an operator's usual ones are few.
DTypeSet types_at(std::span<const std::pair<int, DTypeSet>> special, int place, DTypeSet usual) {
  for (const auto& [at, types] : special) {
    if (at == place) return types;
  }
  return usual;
}

}  // namespace

void OpDef::infer_types(const AttrsBase& attrs, std::span<DType> in, std::span<DType> out) const {
  TypeInfer rule(*this, in, out);
  infer_type ? infer_type(attrs, rule) : rule.unify_all();
  if (types == kAllTypes && input_types.empty() && output_types.empty()) return;
  const auto check = [&](DType dtype, DTypeSet allowed, const char* what, auto&& label) {
    if (dtype == DType::unknown || allowed.contains(dtype)) return;
    detail::throw_error<TypeError>("[{}] {} '{}' has type {}; it may be one of {}.", name, what, label(),
                                   name_of(dtype), allowed.to_string());
  };
  for (int i = 0; i < static_cast<int>(in.size()); ++i) {
    const DTypeSet allowed =
        input_types.empty() ? types : types_at(input_types, schema_position(attrs, i), types);
    check(in[static_cast<size_t>(i)], allowed, "input", [&] { return input_name(attrs, i); });
  }
  for (int i = 0; i < static_cast<int>(out.size()); ++i) {
    check(out[static_cast<size_t>(i)], types_at(output_types, i, types), "output",
          [&] { return output_name(attrs, i); });
  }
}

bool OpDef::is_repeatable() const {
  return !random_numbers && !impure && !data_dependent && !runs_on_caller && !with_subgraphs && !signature &&
         std::none_of(inputs.begin(), inputs.end(), [](const Argument& input) { return input.mutated; });
}

double OpDef::estimate_ns(const AttrsBase& attrs, const KernelSpec& spec) const {
  if (cost_ns) return cost_ns(attrs, spec);
  double elements = 0;
  for (const TensorView& view : spec.out) elements += static_cast<double>(view.size());
  return kNsPerCall + kNsPerByte * (bytes_of(spec.in) + bytes_of(spec.out)) + element_ns * elements;
}

namespace {

Support asks(const Kernel& kernel, const AttrsBase& attrs, const KernelSpec& spec) {
  if (!spec.stypes.empty() && !kernel.sparse &&
      std::any_of(spec.stypes.begin(), spec.stypes.end(),
                  [](StorageType stype) { return stype != StorageType::dense; })) {
    return Support::no("it takes dense arrays only");
  }
  return kernel.support ? kernel.support(attrs, spec) : Support::yes();
}

// The kernels in the order of choice: those of modules, the latest first, then the operator's own.
template <class Fn>
const Kernel* first_kernel(const OpDef& op, DeviceType device, Fn&& accepts) {
  for (const AddedKernels* added = op.added_kernels(); added; added = added->before) {
    for (const Kernel& kernel : added->kernels) {
      if (kernel.device == device && accepts(kernel)) return &kernel;
    }
  }
  for (const Kernel& kernel : op.kernels) {
    if (kernel.device == device && accepts(kernel)) return &kernel;
  }
  return nullptr;
}

std::string describe_inputs(const KernelSpec& spec) {
  std::string text;
  for (size_t i = 0; i < spec.in.size(); ++i) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", name_of(spec.in[i].dtype), spec.in[i].shape.to_string());
    if (spec.in_stype(i) != StorageType::dense) text += fmt::format(" {}", name_of(spec.in_stype(i)));
  }
  return text;
}

}  // namespace

const Kernel* OpDef::find_kernel(const AttrsBase& attrs, const KernelSpec& spec, DeviceType device,
                                 const DispatchListener* listener) const {
  if (!listener) {
    return first_kernel(*this, device, [&](const Kernel& kernel) { return bool(asks(kernel, attrs, spec)); });
  }
  return first_kernel(*this, device, [&](const Kernel& kernel) {
    const Support support = asks(kernel, attrs, spec);
    (*listener)(support ? fmt::format("{}: {} runs ({})", name, kernel.name, describe_inputs(spec))
                        : fmt::format("{}: {} refuses: {}", name, kernel.name, support.refusal));
    return bool(support);
  });
}

std::vector<const Kernel*> OpDef::able_kernels(const AttrsBase& attrs, const KernelSpec& spec,
                                               DeviceType device) const {
  std::vector<const Kernel*> able;
  first_kernel(*this, device, [&](const Kernel& kernel) {
    if (!kernel.sparse && asks(kernel, attrs, spec).is_able) able.push_back(&kernel);
    return false;
  });
  return able;
}

const Kernel& OpDef::choose(const AttrsBase& attrs, const KernelSpec& spec, DeviceType device,
                            const DispatchListener* listener) const {
  if (const Kernel* const kernel = find_kernel(attrs, spec, device, listener)) return *kernel;
  std::string refusals;
  first_kernel(*this, device, [&](const Kernel& kernel) {
    refusals += fmt::format(" {} refuses: {}.", kernel.name, asks(kernel, attrs, spec).refusal);
    return false;
  });
  detail::throw_error<NotImplementedError>("[{}] no kernel for {} takes inputs ({}).{}", name,
                                           Device{device, 0}.to_string(), describe_inputs(spec), refusals);
}

void OpDef::note(const Kernel& kernel) {
  if (kernel.prepare) has_states_.store(true, std::memory_order_relaxed);
  if (kernel.sparse) has_sparse_kernels_.store(true, std::memory_order_relaxed);
}

GradValue GradBuilder::call1(std::string_view op, std::initializer_list<GradValue> inputs,
                             std::initializer_list<std::pair<std::string_view, std::string_view>> attrs) {
  return call1(op, inputs, TextPairs(attrs.begin(), attrs.end()));
}

GradValue GradBuilder::call1(std::string_view op, std::initializer_list<GradValue> inputs, TextPairs attrs) {
  return call(op, std::span(inputs.begin(), inputs.size()), std::move(attrs))[0];
}

GradValue GradBuilder::call1(std::string_view op, std::initializer_list<GradValue> inputs,
                             Ref<const AttrsBase> attrs) {
  return call(op, std::span(inputs.begin(), inputs.size()), std::move(attrs))[0];
}

void OpBuilderBase::set_doc(std::string_view text) { op_.doc = text; }

void OpBuilderBase::add_input(std::string_view name, bool mutated) {
  op_.inputs.push_back({std::string(name), mutated});
}

void OpBuilderBase::add_inputs(Names names) {
  for (const std::string_view name : names) add_input(name, false);
}

void OpBuilderBase::add_outputs(Names names) {
  op_.output_names.insert(op_.output_names.end(), names.begin(), names.end());
}

void OpBuilderBase::add_aliases(Names names) {
  op_.aliases.insert(op_.aliases.end(), names.begin(), names.end());
}

void OpBuilderBase::set_variadic(std::string_view name, std::string_view count) {
  op_.variadic_count = count;
  add_input(name, false);
}

void OpBuilderBase::set_mutates_all() {
  for (Argument& argument : op_.inputs) argument.mutated = true;
}

void OpBuilderBase::set_one_shape() {
  op_.infer_shape = [](const AttrsBase&, ShapeInfer& s) { s.unify_all(); };
}

void OpBuilderBase::set_shape_of(int i) {
  op_.infer_shape = [i](const AttrsBase&, ShapeInfer& s) { s.tie({i}); };
}

void OpBuilderBase::set_type_of(int i) {
  op_.infer_type = [i](const AttrsBase&, TypeInfer& t) { t.tie({i}); };
}

void OpBuilderBase::set_again(std::string_view op, std::initializer_list<GradOperand> operands) {
  op_.again = Again{std::string(op), operands};
}

void OpBuilderBase::set_gradient_op(std::string_view op, std::initializer_list<GradOperand> operands,
                                    std::initializer_list<int> to) {
  op_.gradient = [op = std::string(op), operands = std::vector(operands), to = std::vector(to)](
                     const AttrsBase&, GradBuilder& g) {
    if (std::none_of(to.begin(), to.end(), [&](int i) { return i < g.num_in() && g.wants(i); })) return;
    std::vector<GradValue> values;
    for (const GradOperand& operand : operands) {
      if (!operand.optional || operand.i < g.num_in()) values.push_back((g.*operand.value)(operand.i));
    }
    const std::vector<GradValue> grads = g.call(op, values, g.attrs());
    for (size_t k = 0; k < to.size(); ++k) {
      if (to[k] < g.num_in() && g.wants(to[k])) g.set(to[k], grads[k]);
    }
  };
}

}  // namespace loomix::ops
