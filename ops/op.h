// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <initializer_list>
#include <limits>
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
#include "ops/whole_role.h"

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

// How output 0 of a node is made once more, where the node itself cannot run again or takes longer: by an operator with the
// same attributes, of values of the node.
struct Again {
  std::string op;
  std::vector<GradOperand> operands;
};

// The operator that computes the same on images in blocks of channels (ops/blocked/blocked.h).
struct BlockedForm {
  // What it wants of an input: plain, blocked, made ready by the operator `prepare`, which has the same attributes, or nothing.
  enum class Input : uint8_t { plain, blocked, prepared, left_out };
  const char* op = nullptr;
  Ref<const AttrsBase> attrs;
  std::vector<Input> inputs;
  const char* prepare = nullptr;
  // Which of its outputs, then of the operator's saved values, are blocked, in this order.
  std::vector<bool> outputs = {true};
  int64_t spared_bytes = 0;  // of images that the plain operator converts in each run
  // Of a gradient whose forward node has taken a max(y, 0) in: attributes with which it lets input 0 through where y is
  // positive, and which input of that node it has to have for this, as its last one.
  Ref<const AttrsBase> gated = {};
  size_t gated_by = 0;
  std::string way = {};  // what tells it from other forms of the same node: "winograd, 4 parts"
};

// Which inputs of an operator are in blocks of channels, one entry each.
class BlockedInputs {
 public:
  explicit BlockedInputs(const std::vector<bool>& blocked) : blocked_(blocked) {}
  bool operator[](size_t i) const { return blocked_[i]; }
  bool any() const { return std::ranges::find(blocked_, true) != blocked_.end(); }

 private:
  const std::vector<bool>& blocked_;
};

// What a normalisation of channels does in prediction: (x - mean) / sqrt(var + eps) * gamma + beta along an axis. Its inputs are
// x, gamma, beta, mean, var.
struct ChannelNorm {
  double eps = 0;
  bool fix_gamma = false;  // it is 1
  int axis = 1;
};

// Elements less than `low` become that, those greater than `high` that.
struct Clamp {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool is_relu() const { return low == 0 && high == std::numeric_limits<double>::infinity(); }
};

// What an operator can do to its output at once: clamp it, or else add a further input to it.
using Closing = std::optional<Clamp>;

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
  // Whether output 0 is just input 0, as a dropout's in prediction; other outputs are for gradients.
  std::function<bool(const AttrsBase&, bool training)> is_idle;
  bool hidden = false;     // a backward or internal operator: not in the Python namespaces
  bool no_symbol = false;  // cannot be composed
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
  // Each element of the output depends on those in its place, where all shapes are equal.
  bool elementwise = false;
  std::function<std::optional<ChannelNorm>(const AttrsBase&)> channel_norm;
  // Row i of input 1 makes channel i (axis 1) of the output, to which element i of input 2 is added: attributes with that input.
  // None where channels lie elsewhere.
  std::function<Ref<const AttrsBase>(const AttrsBase&)> with_bias;
  std::function<std::optional<Clamp>(const AttrsBase&)> clamp;  // if that is all that it does
  std::function<Ref<const AttrsBase>(const AttrsBase&, Closing)>
      closing;  // attributes with it; none: it cannot
  // From which of its inputs are blocked; empty if there is none, or it would not be faster. `training`: in a pass that may
  // have gradients.
  std::function<std::optional<BlockedForm>(const AttrsBase&, const KernelSpec&, BlockedInputs)> blocked_form;
  // That form, and others to measure it against, each of another `way`; for runs on so many cores.
  std::function<std::vector<BlockedForm>(const AttrsBase&, const KernelSpec&, BlockedInputs, int cores)>
      blocked_ways;
  bool scales = false;  // each element of the output is that of input 0 times a function of that of input 1
  // Of a gradient: output i holds the elements of input 0, which is the gradient of the forward node's output 0, where that
  // took its elements from input i, and zeros elsewhere.
  bool scatters = false;
  bool gates = false;  // the output is input 0 where input 1 is positive, else 0
  std::optional<Again> again;
  std::function<WholeRole(const AttrsBase&)> whole_role;  // of operators of whole numbers
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
  // Whether a node that runs twice gives the same, and changes nothing else.
  bool is_repeatable() const;
  // cost_ns, or by default the bytes of all inputs and outputs and element_ns.
  double estimate_ns(const AttrsBase& attrs, const KernelSpec& spec) const;
  // The first kernel for the device that accepts; null if all refuse. The listener, if any, gets a line for each kernel
  // that was asked.
  const Kernel* find_kernel(const AttrsBase& attrs, const KernelSpec& spec, DeviceType device,
                            const DispatchListener* listener = nullptr) const;
  // The same, but throws NotImplementedError listing the refusals.
  const Kernel& choose(const AttrsBase& attrs, const KernelSpec& spec, DeviceType device,
                       const DispatchListener* listener = nullptr) const;
  // All that could run on dense arrays, those that were refused for their speed alone included; in the order of choice.
  std::vector<const Kernel*> able_kernels(const AttrsBase& attrs, const KernelSpec& spec,
                                          DeviceType device) const;
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

// What OpBuilder does whatever the attributes are, so that it is compiled once.
class OpBuilderBase {
 protected:
  using Names = std::initializer_list<std::string_view>;
  // A rule on typed attributes: `call` gives it to them. One type for all structs of attributes.
  template <class R, class... Args>
  struct TypedRule {
    R (*call)(void (*rule)(), const AttrsBase& attrs, Args... args);
    void (*rule)();
    R operator()(const AttrsBase& attrs, Args... args) const { return call(rule, attrs, args...); }
  };
  template <class R, class... Args>
  static void assign(std::function<R(const AttrsBase&, Args...)>& to, const TypedRule<R, Args...>& rule) {
    to = rule;
  }

  explicit OpBuilderBase(OpDef& op) : op_(op) {}
  void set_doc(std::string_view text);
  void add_input(std::string_view name, bool mutated);
  void add_inputs(Names names);
  void add_outputs(Names names);
  void add_aliases(Names names);
  void set_variadic(std::string_view name, std::string_view count);
  void set_mutates_all();
  void set_one_shape();
  void set_shape_of(int i);
  void set_type_of(int i);
  void set_gradient_op(std::string_view op, std::initializer_list<GradOperand> operands,
                       std::initializer_list<int> to);

  void set_again(std::string_view op, std::initializer_list<GradOperand> operands);

  OpDef& op_;
};

// Fills an OpDef in the words of the schema. P is the attribute struct; rules take it typed.
template <class P>
class OpBuilder : OpBuilderBase {
 public:
  explicit OpBuilder(OpDef& op) : OpBuilderBase(op) {}

  OpBuilder& aliases(Names names) { return add_aliases(names), *this; }
  OpBuilder& doc(std::string_view text) { return set_doc(text), *this; }
  OpBuilder& input(std::string_view name) { return add_input(name, false), *this; }
  OpBuilder& inputs(Names names) { return add_inputs(names), *this; }
  OpBuilder& state(std::string_view name) { return add_input(name, true), *this; }
  // Any number of inputs, as counted by the attribute `count`; they are called <name>0, <name>1, ...
  OpBuilder& variadic(std::string_view name, std::string_view count, int P::*field) {
    op_.num_inputs = [field](const AttrsBase& attrs) { return attrs.as<P>().*field; };
    return set_variadic(name, count), *this;
  }
  // All inputs so far are written through, as by state().
  OpBuilder& mutates_all() { return set_mutates_all(), *this; }
  // The last input exists only if `present(params)`.
  OpBuilder& last_input_if(bool (*present)(const P&)) {
    const int last = static_cast<int>(op_.inputs.size());
    op_.num_inputs = [present, last](const AttrsBase& attrs) {
      return last - (present(attrs.as<P>()) ? 0 : 1);
    };
    return *this;
  }
  OpBuilder& num_inputs(int (*count)(const P&)) { return set(op_.num_inputs, count); }
  // Which of the inputs, by their place in the schema, exist.
  OpBuilder& inputs_if(bool (*present)(const P&, int input)) {
    const int declared = static_cast<int>(op_.inputs.size());
    op_.num_inputs = [present, declared](const AttrsBase& attrs) {
      int count = 0;
      for (int input = 0; input < declared; ++input) count += present(attrs.as<P>(), input) ? 1 : 0;
      return count;
    };
    return set(op_.has_input, present);
  }
  // One output called "output" unless others are named here.
  OpBuilder& output(std::string_view name) { return add_outputs({name}), *this; }
  OpBuilder& outputs(Names names) { return add_outputs(names), *this; }
  OpBuilder& num_outputs(int (*count)(const P&)) { return set(op_.num_outputs, count); }
  OpBuilder& num_visible_outputs(int (*count)(const P&)) { return set(op_.num_visible_outputs, count); }
  // Values that forward keeps for backward; shape and type come from `infer`, called with the index of the value.
  OpBuilder& saved(Names names, TensorView (*infer)(const P&, const KernelSpec&, int)) {
    op_.saved_names.assign(names.begin(), names.end());
    return set(op_.infer_saved, infer);
  }
  OpBuilder& infer_shape(void (*rule)(const P&, ShapeInfer&)) { return set(op_.infer_shape, rule); }
  // All inputs and outputs have one shape.
  OpBuilder& one_shape() { return set_one_shape(), *this; }
  // Output 0 has the shape of input i; others have their own.
  OpBuilder& shape_of(int i) { return set_shape_of(i), *this; }
  // By default all inputs and outputs have one type.
  OpBuilder& infer_type(void (*rule)(const P&, TypeInfer&)) { return set(op_.infer_type, rule); }
  // Output 0 has the type of input i; others have their own.
  OpBuilder& type_of(int i) { return set_type_of(i), *this; }
  // The types that inputs and outputs may have; all by default.
  OpBuilder& types(DTypeSet types) { return op_.types = types, *this; }
  OpBuilder& input_types(int input, DTypeSet types) {
    return op_.input_types.emplace_back(input, types), *this;
  }
  OpBuilder& output_types(int output, DTypeSet types) {
    return op_.output_types.emplace_back(output, types), *this;
  }
  OpBuilder& inplace(int input, int output) { return op_.inplace.emplace_back(input, output), *this; }
  OpBuilder& identity(int input, int output) { return op_.identity.emplace_back(input, output), *this; }
  OpBuilder& shape_only(int input) { return op_.shape_only.push_back(input), *this; }
  OpBuilder& uses_rng(uint64_t (*numbers)(const P&, const KernelSpec&)) {
    return set(op_.random_numbers, numbers);
  }
  OpBuilder& cost(double (*ns)(const P&, const KernelSpec&)) { return set(op_.cost_ns, ns); }
  OpBuilder& element_cost(double ns) { return op_.element_ns = ns, *this; }
  OpBuilder& gradient(void (*rule)(const P&, GradBuilder&)) { return set(op_.gradient, rule); }
  // For families: a rule that carries data of its own.
  OpBuilder& gradient_by(std::function<void(const AttrsBase&, GradBuilder&)> rule) {
    return op_.gradient = std::move(rule), *this;
  }
  // The gradients of the inputs `to` are the outputs of one operator, which has these operands and the same attributes.
  OpBuilder& gradient_op(std::string_view op, std::initializer_list<GradOperand> operands,
                         std::initializer_list<int> to = {0}) {
    return set_gradient_op(op, operands, to), *this;
  }
  OpBuilder& zero_gradient() { return op_.zero_gradient = true, *this; }
  OpBuilder& loss() { return op_.is_loss = true, *this; }
  OpBuilder& accumulates() { return op_.accumulates = true, *this; }
  OpBuilder& idle(bool (*rule)(const P&, bool training)) { return set(op_.is_idle, rule); }
  OpBuilder& training_matters() { return op_.training_matters = true, *this; }
  OpBuilder& hidden() { return op_.hidden = true, *this; }
  OpBuilder& data_dependent() { return op_.data_dependent = true, *this; }
  OpBuilder& no_symbol() { return op_.no_symbol = true, *this; }
  OpBuilder& neutral(double operand) { return op_.neutral = operand, *this; }
  OpBuilder& commutes() { return op_.commutes = true, *this; }
  OpBuilder& scalar(double (*value)(const P&)) { return set(op_.scalar, value); }
  OpBuilder& fill(double (*value)(const P&)) { return set(op_.fill, value); }
  OpBuilder& class_numbers(ClassNumbers (*rule)(const P&, std::span<const TensorView> in)) {
    return set(op_.class_numbers, rule);
  }
  OpBuilder& axes_order(std::vector<int> (*order)(const P&, int ndim)) { return set(op_.axes_order, order); }
  OpBuilder& first_value(const char* (*json)(const P&, int input)) { return set(op_.first_value, json); }
  OpBuilder& signature(const Signature& (*arguments)(const P&)) { return set(op_.signature, arguments); }
  OpBuilder& with_subgraphs(decltype(OpDef::with_subgraphs) join) { return op_.with_subgraphs = join, *this; }
  OpBuilder& complete(P (*join)(P)) {
    op_.complete = [join](const AttrsBase& attrs) { return make_attrs(join(attrs.as<P>())); };
    return *this;
  }
  OpBuilder& elementwise() { return op_.elementwise = true, *this; }
  OpBuilder& channel_norm(std::optional<ChannelNorm> (*rule)(const P&)) {
    return set(op_.channel_norm, rule);
  }
  OpBuilder& with_bias(Ref<const AttrsBase> (*rule)(const P&)) { return set(op_.with_bias, rule); }
  OpBuilder& clamp(std::optional<Clamp> (*rule)(const P&)) { return set(op_.clamp, rule); }
  OpBuilder& closing(Ref<const AttrsBase> (*rule)(const P&, Closing)) { return set(op_.closing, rule); }
  OpBuilder& blocked_form(std::optional<BlockedForm> (*rule)(const P&, const KernelSpec&, BlockedInputs)) {
    return set(op_.blocked_form, rule);
  }
  OpBuilder& blocked_ways(std::vector<BlockedForm> (*rule)(const P&, const KernelSpec&, BlockedInputs, int)) {
    return set(op_.blocked_ways, rule);
  }
  OpBuilder& whole_role(WholeRole (*rule)(const P&)) { return set(op_.whole_role, rule); }
  // For one that does the same whatever its attributes.
  OpBuilder& whole_kind(WholeRole role) {
    return op_.whole_role = [role](const AttrsBase&) { return role; }, *this;
  }
  OpBuilder& scales() { return op_.scales = true, *this; }
  OpBuilder& gates() { return op_.gates = true, *this; }
  OpBuilder& scatters() { return op_.scatters = true, *this; }
  OpBuilder& again(std::string_view op, std::initializer_list<GradOperand> operands) {
    return set_again(op, operands), *this;
  }
  OpBuilder& impure() { return op_.impure = true, *this; }
  OpBuilder& instantiate(P (*own)(const P&)) {
    op_.instantiate = [own](const AttrsBase& attrs) { return make_attrs(own(attrs.as<P>())); };
    return *this;
  }
  OpBuilder& runs_on_caller() { return op_.runs_on_caller = true, *this; }

 private:
  template <class R, class... Args>
  OpBuilder& set(std::function<R(const AttrsBase&, Args...)>& to, R (*rule)(const P&, Args...)) {
    assign(to, TypedRule<R, Args...>{[](void (*untyped)(), const AttrsBase& attrs, Args... args) -> R {
                                       return reinterpret_cast<R (*)(const P&, Args...)>(untyped)(
                                           attrs.as<P>(), args...);
                                     },
                                     reinterpret_cast<void (*)()>(rule)});
    return *this;
  }
};

}  // namespace loomix::ops
