// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
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
// first. `Accepts` is a function Support(const P&, const KernelSpec&); `Scratch` says how many bytes a run needs, by a
// function size_t(const P&, const KernelSpec&).
class KernelList {
 public:
  template <class P, void (*Run)(const P&, const KernelArgs&), auto Accepts = nullptr, auto Scratch = nullptr>
  void kernel(std::string_view op, const char* name, DeviceType device);

  // A kernel with a state: a class derived from KernelState, made by State(const P&, const KernelSpec&), whose
  // `void run(const P&, const KernelArgs&) const` takes no lock, looks nothing up and allocates nothing.
  template <class P, class State, auto Accepts = nullptr>
  void prepared_kernel(std::string_view op, const char* name, DeviceType device);

  // A kernel that completes later; see AsyncKernelFn.
  template <class P, void (*Run)(const P&, const KernelArgs&, engine::Completion), auto Accepts = nullptr>
  void async_kernel(std::string_view op, const char* name, DeviceType device);

  virtual void add_kernel(std::string_view op, const Kernel& kernel) = 0;

 protected:
  ~KernelList() = default;

 private:
  template <class P, auto Accepts>
  static SupportFn support_of();
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
  OpBuilder<P> add(std::string name);
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
  OpDef& create(std::string name, const ParamSchema& params);
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
OpBuilder<P> OpTable::add(std::string name) {
  return OpBuilder<P>(create(std::move(name), param_schema<P>()));
}

template <class P>
OpBuilder<P> OpTable::refine(std::string_view name) {
  OpDef& op = mutable_at(name);
  LOOMIX_INTERNAL_CHECK(op.params == &param_schema<P>());
  return OpBuilder<P>(op);
}

template <class P, auto Accepts>
SupportFn KernelList::support_of() {
  if constexpr (std::is_null_pointer_v<decltype(Accepts)>) return nullptr;
  else return [](const AttrsBase& attrs, const KernelSpec& spec) { return Accepts(attrs.as<P>(), spec); };
}

template <class P, void (*Run)(const P&, const KernelArgs&), auto Accepts, auto Scratch>
void KernelList::kernel(std::string_view op, const char* name, DeviceType device) {
  Kernel kernel;
  kernel.name = name;
  kernel.device = device;
  kernel.run = [](const AttrsBase& attrs, const KernelArgs& args) { Run(attrs.as<P>(), args); };
  kernel.support = support_of<P, Accepts>();
  if constexpr (!std::is_null_pointer_v<decltype(Scratch)>) {
    kernel.scratch = [](const AttrsBase& attrs, const KernelSpec& spec) {
      return Scratch(attrs.as<P>(), spec);
    };
  }
  add_kernel(op, kernel);
}

template <class P, class State, auto Accepts>
void KernelList::prepared_kernel(std::string_view op, const char* name, DeviceType device) {
  Kernel kernel;
  kernel.name = name;
  kernel.device = device;
  kernel.prepare = [](const OpDef&, const AttrsBase& attrs, const KernelSpec& spec) {
    return Ref<const KernelState>(make_ref<State>(attrs.as<P>(), spec));
  };
  kernel.run = [](const AttrsBase& attrs, const KernelArgs& args) {
    static_cast<const State*>(args.state)->run(attrs.as<P>(), args);
  };
  kernel.support = support_of<P, Accepts>();
  add_kernel(op, kernel);
}

template <class P, void (*Run)(const P&, const KernelArgs&, engine::Completion), auto Accepts>
void KernelList::async_kernel(std::string_view op, const char* name, DeviceType device) {
  Kernel kernel;
  kernel.name = name;
  kernel.device = device;
  kernel.run_async = [](const AttrsBase& attrs, const KernelArgs& args, engine::Completion completion) {
    Run(attrs.as<P>(), args, std::move(completion));
  };
  kernel.support = support_of<P, Accepts>();
  add_kernel(op, kernel);
}

}  // namespace loomix::ops
