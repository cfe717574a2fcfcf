// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
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

// Which input of an operator holds class numbers, from 0 to classes - 1, and the number that may stand for none.
struct ClassNumbers {
  int input = -1;
  int64_t classes = 0;
  std::optional<double> ignored = {};
};

// Kernels that came later, from a module. They live as long as the operator: pending tasks refer to them.
struct AddedKernels {
  std::vector<Kernel> kernels;
  const AddedKernels* before = nullptr;
};

// One operator: its schema, its inference rules, its gradient and its kernels. Filled once through OpBuilder, completed
// and checked by OpTable::validate, read-only afterwards.
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
  std::function<void(const AttrsBase&, TypeInfer&)> infer_type;  // default: all have one type
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
      first_value;  // of a parameter, as MXNet's JSON; or null
  // Of operators that move class numbers outside of the range into it, or pass over them; input -1: not here.
  std::function<ClassNumbers(const AttrsBase&, std::span<const TensorView> in)> class_numbers;
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

  OpBuilder& aliases(std::vector<std::string> names) { return set(&OpDef::aliases, std::move(names)); }
  OpBuilder& doc(std::string text) { return set(&OpDef::doc, std::move(text)); }
  OpBuilder& input(std::string name) { return inputs({std::move(name)}); }
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
    op_.variadic_count = std::move(count);
    op_.num_inputs = [field](const AttrsBase& attrs) { return attrs.as<P>().*field; };
    return input(std::move(name));
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
  OpBuilder& num_inputs(int (*count)(const P&)) { return set(&OpDef::num_inputs, typed(count)); }
  // Which of the inputs, by their place in the schema, exist.
  OpBuilder& inputs_if(bool (*present)(const P&, int input)) {
    const int declared = static_cast<int>(op_.inputs.size());
    op_.num_inputs = [present, declared](const AttrsBase& attrs) {
      int count = 0;
      for (int input = 0; input < declared; ++input) count += present(attrs.as<P>(), input) ? 1 : 0;
      return count;
    };
    return set(&OpDef::has_input, typed(present));
  }
  // One output called "output" unless others are named here.
  OpBuilder& output(std::string name) { return outputs({std::move(name)}); }
  OpBuilder& outputs(std::vector<std::string> names) {
    for (auto& name : names) op_.output_names.push_back(std::move(name));
    return *this;
  }
  OpBuilder& num_outputs(int (*count)(const P&)) { return set(&OpDef::num_outputs, typed(count)); }
  OpBuilder& num_visible_outputs(int (*count)(const P&)) {
    return set(&OpDef::num_visible_outputs, typed(count));
  }
  // Values that forward keeps for backward; shape and type come from `infer`, called with the index of the value.
  OpBuilder& saved(std::vector<std::string> names, TensorView (*infer)(const P&, const KernelSpec&, int)) {
    op_.saved_names = std::move(names);
    return set(&OpDef::infer_saved, typed(infer));
  }
  OpBuilder& infer_shape(void (*rule)(const P&, ShapeInfer&)) {
    return set(&OpDef::infer_shape, typed(rule));
  }
  // All inputs and outputs have one shape.
  OpBuilder& one_shape() {
    return set(&OpDef::infer_shape, [](const AttrsBase&, ShapeInfer& s) { s.unify_all(); });
  }
  // Output 0 has the shape of input i; others have their own.
  OpBuilder& shape_of(int i) {
    return set(&OpDef::infer_shape, [i](const AttrsBase&, ShapeInfer& s) { s.tie({i}); });
  }
  // By default all inputs and outputs have one type.
  OpBuilder& infer_type(void (*rule)(const P&, TypeInfer&)) { return set(&OpDef::infer_type, typed(rule)); }
  // Output 0 has the type of input i; others have their own.
  OpBuilder& type_of(int i) {
    return set(&OpDef::infer_type, [i](const AttrsBase&, TypeInfer& t) { t.tie({i}); });
  }
  // The types that inputs and outputs may have; all by default.
  OpBuilder& types(DTypeSet types) { return set(&OpDef::types, types); }
  OpBuilder& input_types(int input, DTypeSet types) { return append(&OpDef::input_types, {input, types}); }
  OpBuilder& output_types(int output, DTypeSet types) {
    return append(&OpDef::output_types, {output, types});
  }
  OpBuilder& inplace(int input, int output) { return append(&OpDef::inplace, {input, output}); }
  OpBuilder& identity(int input, int output) { return append(&OpDef::identity, {input, output}); }
  OpBuilder& shape_only(int input) { return append(&OpDef::shape_only, input); }
  OpBuilder& uses_rng(uint64_t (*numbers)(const P&, const KernelSpec&)) {
    return set(&OpDef::random_numbers, typed(numbers));
  }
  OpBuilder& cost(double (*ns)(const P&, const KernelSpec&)) { return set(&OpDef::cost_ns, typed(ns)); }
  OpBuilder& element_cost(double ns) { return set(&OpDef::element_ns, ns); }
  OpBuilder& gradient(void (*rule)(const P&, GradBuilder&)) { return set(&OpDef::gradient, typed(rule)); }
  // For families: a rule that carries data of its own.
  OpBuilder& gradient_by(std::function<void(const AttrsBase&, GradBuilder&)> rule) {
    return set(&OpDef::gradient, std::move(rule));
  }
  // The gradients of the inputs `to` are the outputs of one operator, which has these operands and the same attributes.
  OpBuilder& gradient_op(std::string op, std::vector<GradOperand> operands, std::vector<int> to = {0}) {
    return gradient_by(gradient_by_op(std::move(op), std::move(operands), std::move(to)));
  }
  OpBuilder& zero_gradient() { return set(&OpDef::zero_gradient, true); }
  OpBuilder& loss() { return set(&OpDef::is_loss, true); }
  OpBuilder& accumulates() { return set(&OpDef::accumulates, true); }
  OpBuilder& training_matters() { return set(&OpDef::training_matters, true); }
  OpBuilder& hidden() { return set(&OpDef::hidden, true); }
  OpBuilder& data_dependent() { return set(&OpDef::data_dependent, true); }
  OpBuilder& no_symbol() { return set(&OpDef::no_symbol, true); }
  OpBuilder& neutral(double operand) { return set(&OpDef::neutral, operand); }
  OpBuilder& commutes() { return set(&OpDef::commutes, true); }
  OpBuilder& scalar(double (*value)(const P&)) { return set(&OpDef::scalar, typed(value)); }
  OpBuilder& fill(double (*value)(const P&)) { return set(&OpDef::fill, typed(value)); }
  OpBuilder& class_numbers(ClassNumbers (*rule)(const P&, std::span<const TensorView> in)) {
    return set(&OpDef::class_numbers, typed(rule));
  }
  OpBuilder& axes_order(std::vector<int> (*order)(const P&, int ndim)) {
    return set(&OpDef::axes_order, typed(order));
  }
  OpBuilder& first_value(const char* (*json)(const P&, int input)) {
    return set(&OpDef::first_value, typed(json));
  }
  OpBuilder& signature(const Signature& (*arguments)(const P&)) {
    return set(&OpDef::signature, typed(arguments));
  }
  OpBuilder& with_subgraphs(decltype(OpDef::with_subgraphs) join) {
    return set(&OpDef::with_subgraphs, join);
  }
  OpBuilder& complete(P (*join)(P)) {
    return set(&OpDef::complete, [join](const AttrsBase& attrs) { return make_attrs(join(attrs.as<P>())); });
  }
  OpBuilder& impure() { return set(&OpDef::impure, true); }
  OpBuilder& instantiate(P (*own)(const P&)) {
    return set(&OpDef::instantiate, [own](const AttrsBase& attrs) { return make_attrs(own(attrs.as<P>())); });
  }
  OpBuilder& runs_on_caller() { return set(&OpDef::runs_on_caller, true); }

 private:
  // A rule on typed attributes as OpDef keeps it.
  template <class R, class... Args>
  static std::function<R(const AttrsBase&, Args...)> typed(R (*rule)(const P&, Args...)) {
    return [rule](const AttrsBase& attrs, Args... args) -> R { return rule(attrs.as<P>(), args...); };
  }
  template <class T, class Value>
  OpBuilder& set(T OpDef::*field, Value&& value) {
    op_.*field = std::forward<Value>(value);
    return *this;
  }
  template <class T>
  OpBuilder& append(std::vector<T> OpDef::*list, std::type_identity_t<T> value) {
    (op_.*list).push_back(std::move(value));
    return *this;
  }
  OpDef& op_;
};

}  // namespace loomix::ops
