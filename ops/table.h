// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/op.h"

namespace loomix::ops {

// Where kernels are registered, with their attributes typed as P. The first kernel that accepts runs, so the fastest comes
// first.
class KernelList {
 public:
  // `Run` is a function void(const P&, const KernelArgs&), or void(const KernelArgs&) where attributes do not matter.
  // `Rules` are up to two functions (const P&, const KernelSpec&), or (const KernelSpec&): one that gives a Support says
  // what the kernel accepts, one that gives a size_t says how many bytes of scratch memory a run needs.
  template <auto Run, auto... Rules>
  void kernel(std::string_view op, const char* name, DeviceType device = DeviceType::cpu);

  // A kernel with a state: a class derived from KernelState, made by State(const P&, const KernelSpec&), whose
  // `void run(const P&, const KernelArgs&) const` takes no lock, looks nothing up and allocates nothing.
  template <class P, class State, auto... Rules>
  void prepared_kernel(std::string_view op, const char* name, DeviceType device = DeviceType::cpu);

  // A kernel that completes later; see AsyncKernelFn.
  template <class P, void (*Run)(const P&, const KernelArgs&, engine::Completion)>
  void async_kernel(std::string_view op, const char* name, DeviceType device = DeviceType::cpu);

  virtual void add_kernel(std::string_view op, const Kernel& kernel) = 0;

 protected:
  ~KernelList() = default;

 private:
  template <class P, auto Rule>
  static void set_rule(Kernel& kernel);
};

// Operators that the gradient and the executor build with, whatever the names are.
struct CoreOps {
  const OpDef* add = nullptr;       // of two arrays
  const OpDef* add_many = nullptr;  // of any number
  const OpDef* copy = nullptr;
  const OpDef* zeros_like = nullptr;
};

// All operators. Filled by explicit registrars (`register_all` and those passed in from above), then validated: every
// operator has rules and a CPU kernel, every alias is unique, every gradient names operators that exist.
class OpTable final : public KernelList {
 public:
  // Typed attributes reach rules and kernels as `const P&`.
  template <class P>
  OpBuilder<P> add(std::string_view name, std::initializer_list<std::string_view> inputs = {});
  // An operator that gradients or passes build with: it is in no namespace, and needs no documentation.
  template <class P>
  OpBuilder<P> add_hidden(std::string_view name, std::initializer_list<std::string_view> inputs = {});
  // To say more of an operator whose attributes are P.
  template <class P>
  OpBuilder<P> refine(std::string_view name);
  void add_kernel(std::string_view op, const Kernel& kernel) override;
  // Adds the kernels of a module to a validated table, all or none, before those that are there. Safe beside running
  // operators. Throws KeyError for unknown operators.
  void add_later(std::span<const std::pair<std::string, Kernel>> kernels) const;

  const OpDef& at(std::string_view name) const;  // by name or alias; KeyError with the nearest names
  const OpDef* find(std::string_view name) const;
  const std::deque<OpDef>& all() const { return ops_; }
  const CoreOps& core() const { return core_; }
  void validate();

  // Parses attributes given as text; errors name the operator.
  Ref<const AttrsBase> parse(const OpDef& op, const TextPairs& attrs) const;

 private:
  OpDef& create(std::string_view name, const ParamSchema& params);
  OpDef& mutable_at(std::string_view name);
  std::deque<OpDef> ops_;
  std::unordered_map<std::string, OpDef*> by_name_;  // aliases from validate on
  CoreOps core_;
  mutable std::mutex adding_;  // modules come one at a time
};

// Every operator of ops/.
void register_all(OpTable& table);
// The table that the product uses: register_all, validated, made once. Higher layers take an OpTable& as argument.
const OpTable& builtin_table();

template <class P>
OpBuilder<P> OpTable::add(std::string_view name, std::initializer_list<std::string_view> inputs) {
  return OpBuilder<P>(create(name, param_schema<P>())).inputs(inputs);
}

template <class P>
OpBuilder<P> OpTable::add_hidden(std::string_view name, std::initializer_list<std::string_view> inputs) {
  return add<P>(name, inputs).hidden();
}

template <class P>
OpBuilder<P> OpTable::refine(std::string_view name) {
  OpDef& op = mutable_at(name);
  LOOMIX_INTERNAL_CHECK(op.params == &param_schema<P>());
  return OpBuilder<P>(op);
}

namespace registration {

template <class Fn>
struct KernelParams {
  using type = NoParams;
};
template <class P, class... Args>
struct KernelParams<void (*)(const P&, const KernelArgs&, Args...)> {
  using type = P;
};

// Calls a function that wants the attributes, or does not.
template <class P, auto Fn, class Arg>
decltype(auto) call_typed(const AttrsBase& attrs, const Arg& arg) {
  if constexpr (std::is_invocable_v<decltype(Fn), const P&, const Arg&>) return Fn(attrs.as<P>(), arg);
  else return Fn(arg);
}

// Whether the one array that a kernel makes is not wanted, or empty.
inline bool is_idle(const KernelArgs& args) {
  return args.out.size() == 1 && args.saved.empty() && !args.deferred &&
         (args.req[0] == Req::null || args.out[0].size() == 0);
}

}  // namespace registration

template <class P, auto Rule>
void KernelList::set_rule(Kernel& kernel) {
  const auto rule = [](const AttrsBase& attrs, const KernelSpec& spec) {
    return registration::call_typed<P, Rule>(attrs, spec);
  };
  if constexpr (std::is_convertible_v<decltype(rule), SupportFn>) kernel.support = rule;
  else kernel.scratch = rule;
}

template <auto Run, auto... Rules>
void KernelList::kernel(std::string_view op, const char* name, DeviceType device) {
  using P = typename registration::KernelParams<decltype(Run)>::type;
  Kernel kernel{.name = name, .device = device};
  kernel.run = [](const AttrsBase& attrs, const KernelArgs& args) {
    if (!registration::is_idle(args)) registration::call_typed<P, Run>(attrs, args);
  };
  (set_rule<P, Rules>(kernel), ...);
  add_kernel(op, kernel);
}

template <class P, class State, auto... Rules>
void KernelList::prepared_kernel(std::string_view op, const char* name, DeviceType device) {
  Kernel kernel{.name = name, .device = device};
  kernel.prepare = [](const OpDef&, const AttrsBase& attrs, const KernelSpec& spec) {
    return Ref<const KernelState>(make_ref<State>(attrs.as<P>(), spec));
  };
  kernel.run = [](const AttrsBase& attrs, const KernelArgs& args) {
    if (!registration::is_idle(args)) static_cast<const State*>(args.state)->run(attrs.as<P>(), args);
  };
  (set_rule<P, Rules>(kernel), ...);
  add_kernel(op, kernel);
}

template <class P, void (*Run)(const P&, const KernelArgs&, engine::Completion)>
void KernelList::async_kernel(std::string_view op, const char* name, DeviceType device) {
  Kernel kernel{.name = name, .device = device};
  kernel.run_async = [](const AttrsBase& attrs, const KernelArgs& args, engine::Completion completion) {
    Run(attrs.as<P>(), args, std::move(completion));
  };
  add_kernel(op, kernel);
}

}  // namespace loomix::ops
