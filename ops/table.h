// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "ops/op.h"

namespace loomix::ops {

// All operators. Filled by explicit registrars (`register_all` and those passed in from above), then validated: every
// operator has rules and a CPU kernel, every alias is unique, every gradient names operators that exist.
class OpTable {
 public:
  // Typed attributes reach rules and kernels as `const P&`.
  template <class P>
  OpBuilder<P> add(std::string name);

  // Appends a kernel; the first that accepts runs, so register the fastest first. `Run` and `Accepts`, a function
  // Support(const P&, const KernelSpec&), take P typed.
  template <class P, void (*Run)(const P&, const KernelArgs&), auto Accepts = nullptr>
  void kernel(std::string_view op, const char* name, DeviceType device);

  const OpDef& at(std::string_view name) const;  // by name or alias; KeyError with the nearest names
  const OpDef* find(std::string_view name) const;
  const std::deque<OpDef>& all() const { return ops_; }
  void validate();

  // Parses attributes given as text; errors name the operator.
  Ref<const AttrsBase> parse(const OpDef& op, const TextPairs& attrs) const;

 private:
  OpDef& create(std::string name, const ParamSchema& params);
  OpDef& mutable_at(std::string_view name);
  std::deque<OpDef> ops_;
  std::unordered_map<std::string, OpDef*> by_name_;  // aliases from validate on
};

// Every operator of ops/.
void register_all(OpTable& table);
// The table that the product uses: register_all, validated, made once. Higher layers take an OpTable& as argument.
const OpTable& builtin_table();

template <class P>
OpBuilder<P> OpTable::add(std::string name) {
  return OpBuilder<P>(create(std::move(name), param_schema<P>()));
}

template <class P, void (*Run)(const P&, const KernelArgs&), auto Accepts>
void OpTable::kernel(std::string_view op, const char* name, DeviceType device) {
  SupportFn support = nullptr;
  if constexpr (!std::is_null_pointer_v<decltype(Accepts)>) {
    support = [](const AttrsBase& attrs, const KernelSpec& spec) { return Accepts(attrs.as<P>(), spec); };
  }
  mutable_at(op).kernels.push_back(
      {name, device, [](const AttrsBase& attrs, const KernelArgs& args) { Run(attrs.as<P>(), args); },
       support});
}

}  // namespace loomix::ops
