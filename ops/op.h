// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/params.h"
#include "ops/grad_builder.h"
#include "ops/infer.h"
#include "ops/kernel.h"

namespace loomix::ops {

struct NoParams {
  static void fields(FieldList<NoParams>&) {}
};

struct Argument {
  std::string name;
  bool mutated = false;     // an auxiliary state or an optimizer's state: the kernel writes through its view
  bool shape_only = false;  // in a Signature; other operators say it by OpDef::shape_only
};

// The arguments of an operator whose attributes name them.
struct Signature {
  std::vector<Argument> inputs;
  std::vector<std::string> outputs;
};

class OpTable;

using DispatchListener = std::function<void(const std::string& line)>;

// Kernels that came later, from a module. They live as long as the operator: pending tasks refer to them.
struct AddedKernels {
  std::vector<Kernel> kernels;
  const AddedKernels* before = nullptr;
};

// One operator: its schema, its inference rules, its gradient and its kernels. Filled once through OpBuilder, checked by
// OpTable::validate, read-only afterwards.
class OpDef {
 public:
  OpDef() = default;
  OpDef(const OpDef&) = delete;
  OpDef& operator=(const OpDef&) = delete;
  ~OpDef();

  std::string name;  // MXNet's canonical name
  std::vector<std::string> aliases;
  std::string doc;
  const ParamSchema* params = nullptr;

  // Schema. The functions take the attributes because optional inputs and the number of outputs depend on them.
  std::vector<Argument> inputs;  // all that can exist, in order; a variadic operator has one, repeated
  std::function<int(const AttrsBase&)> num_inputs;       // default: inputs.size()
  std::function<bool(const AttrsBase&, int)> has_input;  // for optional ones; default: all
  std::string variadic_count;  // MXNet's key_var_num_args ("num_args"): Python fills it in
  std::vector<std::string> output_names;
  std::function<int(const AttrsBase&)> num_outputs;  // hidden ones included; default: output_names.size()
  std::function<int(const AttrsBase&)> num_visible_outputs;  // default: num_outputs
  std::vector<std::string> saved_names;                      // what forward keeps for backward

  std::function<void(const AttrsBase&, ShapeInfer&)> infer_shape;
  std::function<void(const AttrsBase&, TypeInfer&)> infer_type;
  DTypeSet types =
      kAllTypes;  // what inputs and outputs may be of; each combination that the rule lets through runs
  std::vector<std::pair<int, DTypeSet>> input_types;  // of inputs that differ, by their place in `inputs`
  std::vector<std::pair<int, DTypeSet>> output_types;
  // Shape and type of saved value i, from the complete inputs and outputs.
  std::function<TensorView(const AttrsBase&, const KernelSpec&, int)> infer_saved;
  std::vector<std::pair<int, int>> inplace;   // (input, output) that may share memory
  std::vector<std::pair<int, int>> identity;  // (input, output): same elements, so a view will do
  std::vector<int> shape_only;  // inputs of which only the shape is used: kernels get data that may be null
  std::function<uint64_t(const AttrsBase&, const KernelSpec&)>
      random_numbers;                                                  // how many the kernel may draw
  std::function<double(const AttrsBase&, const KernelSpec&)> cost_ns;  // on one core; see estimate_ns
  double element_ns = 0;  // arithmetic of one output element on one core, beyond moving its bytes
  std::function<void(const AttrsBase&, GradBuilder&)>
      gradient;                   // null: not differentiable (an error to ask for)
  bool zero_gradient = false;     // differentiable with gradient zero everywhere
  bool is_loss = false;           // its gradient ignores the head gradient (SoftmaxOutput, MakeLoss ...)
  bool accumulates = false;       // kernels handle Req::add themselves
  bool training_matters = false;  // the kernel reads KernelArgs::training
  bool hidden = false;            // a backward or internal operator: not in the Python namespaces
  bool no_symbol = false;         // cannot be composed
  bool data_dependent =
      false;  // shapes of the outputs follow from values: KernelArgs::deferred takes their memory
  std::vector<Kernel> kernels;  // fastest first, the readable reference last; of modules: added_kernels

  // Traits: what passes ask of an operator that they do not know by name.
  // With this number as its second operand (an input, or the attribute that `scalar` reads) the result is the first one.
  std::optional<double> neutral;
  bool commutes = false;                           // the first and the second operand may change places
  std::function<double(const AttrsBase&)> scalar;  // the number that is the second operand
  std::function<double(const AttrsBase&)> fill;    // every element of the output has this value
  std::function<std::vector<int>(const AttrsBase&, int ndim)> axes_order;  // output axis i is input axis [i]
  std::function<const char*(const AttrsBase&, int input)>
      first_value;              // of a parameter, as MXNet's JSON; or null
  bool runs_on_caller = false;  // its gradient is a function of the caller's, run on the thread of backward()
  // Of operators whose attributes name their arguments (those that users write): what holds instead of inputs, num_inputs and
  // the outputs; `inputs` has one then, as if variadic.
  std::function<const Signature&(const AttrsBase&)> signature;
  // Attributes just parsed, joined with what follows from them (an object that the operator finds by name).
  std::function<Ref<const AttrsBase>(const AttrsBase&)> complete;
  // Of operators that run graphs: the attributes of a node, joined with its subgraphs.
  Ref<const AttrsBase> (*with_subgraphs)(const OpTable& table, const AttrsBase& attrs,
                                         std::span<const Ref<const Opaque>> graphs) = nullptr;
  bool impure = false;  // each node runs: none is merged with its like or computed ahead
  // Attributes for one executor, where those of a symbol's node hold what runs must not share (a user's object).
  std::function<Ref<const AttrsBase>(const AttrsBase&)> instantiate;

  int count_inputs(const AttrsBase& attrs) const;
  int count_outputs(const AttrsBase& attrs) const;
  int count_visible_outputs(const AttrsBase& attrs) const;
  std::string input_name(const AttrsBase& attrs, int i) const;   // "data", "arg3"
  std::string output_name(const AttrsBase& attrs, int i) const;  // "output", "mean"
  int schema_position(const AttrsBase& attrs, int i) const;      // of input i in `inputs`
  bool mutates(const AttrsBase& attrs, int i) const {
    return signature ? signature(attrs).inputs[i].mutated : inputs[schema_position(attrs, i)].mutated;
  }
  bool is_variadic() const { return !variadic_count.empty() || signature; }
  bool is_shape_only(const AttrsBase& attrs, int i) const;
  // Fills in what follows by infer_type. TypeError for a contradiction, or a type that the operator does not take.
  void infer_types(const AttrsBase& attrs, std::span<DType> in, std::span<DType> out) const;
  // cost_ns, or by default the bytes of all inputs and outputs and element_ns.
  double estimate_ns(const AttrsBase& attrs, const KernelSpec& spec) const;
  // The first kernel for the device that accepts; null if all refuse. The listener, if any, gets a line for each kernel
  // that was asked.
  const Kernel* find_kernel(const AttrsBase& attrs, const KernelSpec& spec, DeviceType device,
                            const DispatchListener* listener = nullptr) const;
  // The same, but throws NotImplementedError listing the refusals.
  const Kernel& choose(const AttrsBase& attrs, const KernelSpec& spec, DeviceType device,
                       const DispatchListener* listener = nullptr) const;
  // Whether a kernel prepares a state, so that finding it again is worth remembering.
  bool has_states() const { return has_states_.load(std::memory_order_relaxed); }
  bool has_sparse_kernels() const { return has_sparse_kernels_.load(std::memory_order_relaxed); }
  // Kernels of modules, the latest first. Safe beside choose().
  const AddedKernels* added_kernels() const { return added_.load(std::memory_order_acquire); }

 private:
  friend class OpTable;
  void note(const Kernel& kernel);  // that there is one of its kind
  std::atomic<const AddedKernels*> added_{nullptr};
  std::atomic<bool> has_states_{false};
  std::atomic<bool> has_sparse_kernels_{false};
};

// Fills an OpDef in the words of the schema. P is the attribute struct; rules take it typed.
template <class P>
class OpBuilder {
 public:
  explicit OpBuilder(OpDef& op) : op_(op) {}

  OpBuilder& aliases(std::vector<std::string> names) {
    op_.aliases = std::move(names);
    return *this;
  }
  OpBuilder& doc(std::string text) {
    op_.doc = std::move(text);
    return *this;
  }
  OpBuilder& input(std::string name) {
    op_.inputs.push_back({std::move(name), false});
    return *this;
  }
  OpBuilder& inputs(std::vector<std::string> names) {
    for (auto& name : names) op_.inputs.push_back({std::move(name), false});
    return *this;
  }
  OpBuilder& state(std::string name) {
    op_.inputs.push_back({std::move(name), true});
    return *this;
  }
  // Any number of inputs, as counted by the attribute `count`; they are called <name>0, <name>1, ...
  OpBuilder& variadic(std::string name, std::string count, int P::*field) {
    op_.inputs.push_back({std::move(name), false});
    op_.variadic_count = std::move(count);
    op_.num_inputs = [field](const AttrsBase& attrs) { return attrs.as<P>().*field; };
    return *this;
  }
  // All inputs so far are written through, as by state().
  OpBuilder& mutates_all() {
    for (Argument& argument : op_.inputs) argument.mutated = true;
    return *this;
  }
  // The last input exists only if `present(params)`.
  OpBuilder& last_input_if(bool (*present)(const P&)) {
    const int last = static_cast<int>(op_.inputs.size());
    op_.num_inputs = [present, last](const AttrsBase& attrs) {
      return last - (present(attrs.as<P>()) ? 0 : 1);
    };
    return *this;
  }
  OpBuilder& num_inputs(int (*count)(const P&)) {
    op_.num_inputs = [count](const AttrsBase& attrs) { return count(attrs.as<P>()); };
    return *this;
  }
  // Which of the inputs, by their place in the schema, exist.
  OpBuilder& inputs_if(bool (*present)(const P&, int input)) {
    const int declared = static_cast<int>(op_.inputs.size());
    op_.has_input = [present](const AttrsBase& attrs, int input) { return present(attrs.as<P>(), input); };
    op_.num_inputs = [present, declared](const AttrsBase& attrs) {
      int count = 0;
      for (int input = 0; input < declared; ++input) count += present(attrs.as<P>(), input) ? 1 : 0;
      return count;
    };
    return *this;
  }
  OpBuilder& output(std::string name) {
    op_.output_names.push_back(std::move(name));
    return *this;
  }
  OpBuilder& num_outputs(int (*count)(const P&)) {
    op_.num_outputs = [count](const AttrsBase& attrs) { return count(attrs.as<P>()); };
    return *this;
  }
  OpBuilder& num_visible_outputs(int (*count)(const P&)) {
    op_.num_visible_outputs = [count](const AttrsBase& attrs) { return count(attrs.as<P>()); };
    return *this;
  }
  // Values that forward keeps for backward; shape and type come from `infer`, called with the index of the value.
  OpBuilder& saved(std::vector<std::string> names, TensorView (*infer)(const P&, const KernelSpec&, int)) {
    op_.saved_names = std::move(names);
    op_.infer_saved = [infer](const AttrsBase& a, const KernelSpec& s, int i) {
      return infer(a.as<P>(), s, i);
    };
    return *this;
  }
  OpBuilder& infer_shape(void (*rule)(const P&, ShapeInfer&)) {
    op_.infer_shape = [rule](const AttrsBase& attrs, ShapeInfer& s) { rule(attrs.as<P>(), s); };
    return *this;
  }
  OpBuilder& infer_type(void (*rule)(const P&, TypeInfer&)) {
    op_.infer_type = [rule](const AttrsBase& attrs, TypeInfer& t) { rule(attrs.as<P>(), t); };
    return *this;
  }
  // The types that inputs and outputs may have; all by default.
  OpBuilder& types(DTypeSet types) {
    op_.types = types;
    return *this;
  }
  OpBuilder& input_types(int input, DTypeSet types) {
    op_.input_types.emplace_back(input, types);
    return *this;
  }
  OpBuilder& output_types(int output, DTypeSet types) {
    op_.output_types.emplace_back(output, types);
    return *this;
  }
  OpBuilder& inplace(int input, int output) {
    op_.inplace.emplace_back(input, output);
    return *this;
  }
  OpBuilder& identity(int input, int output) {
    op_.identity.emplace_back(input, output);
    return *this;
  }
  OpBuilder& shape_only(int input) {
    op_.shape_only.push_back(input);
    return *this;
  }
  OpBuilder& uses_rng(uint64_t (*numbers)(const P&, const KernelSpec&)) {
    op_.random_numbers = [numbers](const AttrsBase& a, const KernelSpec& s) { return numbers(a.as<P>(), s); };
    return *this;
  }
  OpBuilder& cost(double (*ns)(const P&, const KernelSpec&)) {
    op_.cost_ns = [ns](const AttrsBase& a, const KernelSpec& s) { return ns(a.as<P>(), s); };
    return *this;
  }
  OpBuilder& element_cost(double ns) {
    op_.element_ns = ns;
    return *this;
  }
  OpBuilder& gradient(void (*rule)(const P&, GradBuilder&)) {
    op_.gradient = [rule](const AttrsBase& attrs, GradBuilder& g) { rule(attrs.as<P>(), g); };
    return *this;
  }
  // For families: a rule that carries data of its own.
  OpBuilder& gradient_by(std::function<void(const AttrsBase&, GradBuilder&)> rule) {
    op_.gradient = std::move(rule);
    return *this;
  }
  OpBuilder& zero_gradient() {
    op_.zero_gradient = true;
    return *this;
  }
  OpBuilder& loss() {
    op_.is_loss = true;
    return *this;
  }
  OpBuilder& accumulates() {
    op_.accumulates = true;
    return *this;
  }
  OpBuilder& training_matters() {
    op_.training_matters = true;
    return *this;
  }
  OpBuilder& hidden() {
    op_.hidden = true;
    return *this;
  }
  OpBuilder& data_dependent() {
    op_.data_dependent = true;
    return *this;
  }
  OpBuilder& no_symbol() {
    op_.no_symbol = true;
    return *this;
  }
  OpBuilder& neutral(double operand) {
    op_.neutral = operand;
    return *this;
  }
  OpBuilder& commutes() {
    op_.commutes = true;
    return *this;
  }
  OpBuilder& scalar(double (*value)(const P&)) {
    op_.scalar = [value](const AttrsBase& attrs) { return value(attrs.as<P>()); };
    return *this;
  }
  OpBuilder& fill(double (*value)(const P&)) {
    op_.fill = [value](const AttrsBase& attrs) { return value(attrs.as<P>()); };
    return *this;
  }
  OpBuilder& axes_order(std::vector<int> (*order)(const P&, int ndim)) {
    op_.axes_order = [order](const AttrsBase& attrs, int ndim) { return order(attrs.as<P>(), ndim); };
    return *this;
  }
  OpBuilder& first_value(const char* (*json)(const P&, int input)) {
    op_.first_value = [json](const AttrsBase& attrs, int input) { return json(attrs.as<P>(), input); };
    return *this;
  }
  OpBuilder& signature(const Signature& (*arguments)(const P&)) {
    op_.signature = [arguments](const AttrsBase& attrs) -> const Signature& {
      return arguments(attrs.as<P>());
    };
    return *this;
  }
  OpBuilder& with_subgraphs(decltype(OpDef::with_subgraphs) join) {
    op_.with_subgraphs = join;
    return *this;
  }
  OpBuilder& complete(P (*join)(P)) {
    op_.complete = [join](const AttrsBase& attrs) { return make_attrs(join(attrs.as<P>())); };
    return *this;
  }
  OpBuilder& impure() {
    op_.impure = true;
    return *this;
  }
  OpBuilder& instantiate(P (*own)(const P&)) {
    op_.instantiate = [own](const AttrsBase& attrs) { return make_attrs(own(attrs.as<P>())); };
    return *this;
  }
  OpBuilder& runs_on_caller() {
    op_.runs_on_caller = true;
    return *this;
  }

 private:
  OpDef& op_;
};

}  // namespace loomix::ops
