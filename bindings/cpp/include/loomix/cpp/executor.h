// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/cpp/optimizer.h"
#include "loomix/cpp/symbol.h"

namespace loomix::cpp {
inline namespace names {

// A symbol with its arrays, ready to run. Not copied: passes write to the same arrays.
class Executor {
 public:
  // All of it is on one device: a node whose attribute ctx_group is a group on another one is an error.
  Executor(const Symbol& symbol, const Context& context, const std::vector<NDArray>& args,
           const std::vector<NDArray>& grads, const std::vector<OpReqType>& reqs,
           const std::vector<NDArray>& auxs, const std::map<std::string, Context>& group_to_ctx = {},
           Executor* shared_exec = nullptr)
      : symbol_(symbol) {
    if (!group_to_ctx.empty()) check_groups(context, group_to_ctx);
    const auto arguments = NDArray::handles(args), states = NDArray::handles(auxs);
    auto gradients = NDArray::handles(grads);
    std::vector<int32_t> requests(reqs.begin(), reqs.end());
    gradients.resize(arguments.size());
    requests.resize(arguments.size(), LOOMIX_NULL);
    const LoomixBinding binding{arguments.size(),
                                states.size(),
                                arguments.data(),
                                gradients.data(),
                                requests.data(),
                                states.data(),
                                shared_exec ? shared_exec->GetHandle() : nullptr};
    LoomixExecutor made = nullptr;
    detail::check(LoomixExecutorBind(symbol.GetHandle(), detail::to_c(context), &binding, &made));
    adopt(made);
  }
  explicit Executor(const Symbol& symbol, LoomixExecutor handle) : symbol_(symbol) { adopt(handle); }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void Forward(bool is_train) { detail::check(LoomixExecutorForward(GetHandle(), is_train)); }
  void Backward(const std::vector<NDArray>& head_grads = {}) {
    const auto heads = NDArray::handles(head_grads);
    detail::check(LoomixExecutorBackward(GetHandle(), heads.size(), heads.data()));
  }
  // Changes the arguments by their gradients, from number `begin` to `end` (-1: the last).
  void UpdateAll(Optimizer* optimizer, float lr, float wd, int begin = 1, int end = -1) {
    const int last = end < 0 ? static_cast<int>(arg_arrays.size()) - 1 : end;
    optimizer->SetParam("lr", lr)->SetParam("wd", wd);
    for (int i = begin; i < last; ++i) {
      const auto place = static_cast<size_t>(i);
      if (grad_arrays.at(place).GetHandle()) optimizer->Update(i, arg_arrays[place], grad_arrays[place]);
    }
  }

  std::map<std::string, NDArray> arg_dict() const { return dict(symbol_.ListArguments(), arg_arrays); }
  std::map<std::string, NDArray> grad_dict() const { return dict(symbol_.ListArguments(), grad_arrays); }
  std::map<std::string, NDArray> aux_dict() const { return dict(symbol_.ListAuxiliaryStates(), aux_arrays); }
  // Parameters that the symbol does not have are passed over.
  void CopyParamsFrom(const std::map<std::string, NDArray>& arg_params,
                      const std::map<std::string, NDArray>& aux_params = {}) {
    copy(arg_params, arg_dict());
    copy(aux_params, aux_dict());
  }
  // For other shapes of some arguments; shares memory with this one. The caller deletes it.
  Executor* Reshape(const std::map<std::string, Shape>& shapes) const {
    std::vector<const char*> names;
    std::vector<LoomixShape> sizes;
    for (const auto& [name, shape] : shapes) {
      names.push_back(name.c_str());
      sizes.push_back(detail::to_c(shape));
    }
    LoomixExecutor made = nullptr;
    detail::check(LoomixExecutorReshape(GetHandle(), names.size(), names.data(), sizes.data(), &made));
    return std::make_unique<Executor>(symbol_, made).release();
  }
  std::string DebugStr() const {
    const char* text = nullptr;
    detail::check(LoomixExecutorDescribe(GetHandle(), 1, &text));
    return text;
  }
  LoomixExecutor GetHandle() const { return handle_.get(); }
  const Symbol& GetSymbol() const { return symbol_; }

  // The same in all passes.
  std::vector<NDArray> outputs;
  std::vector<NDArray> arg_arrays;
  std::vector<NDArray> grad_arrays;
  std::vector<NDArray> aux_arrays;

 private:
  void check_groups(const Context& context, const std::map<std::string, Context>& groups) const {
    for (const auto& [name, group] : symbol_.ListAllAttributes()) {
      const auto found = groups.find(group);
      if (!(detail::ends_with(name, "$ctx_group") || detail::ends_with(name, "$__ctx_group__")) ||
          found == groups.end() || found->second == context)
        continue;
      throw Error("[Executor] group_to_ctx puts node '" + name.substr(0, name.find('$')) + "' on " +
                  detail::text_of(found->second) + " and the others are on " + detail::text_of(context) +
                  "; from C++ a network runs on one device.");
    }
  }
  void adopt(LoomixExecutor handle) {
    handle_ = detail::Handle<LoomixExecutor>(handle);
    outputs = list("outputs");
    arg_arrays = list("arguments");
    grad_arrays = list("gradients");
    aux_arrays = list("auxiliary_states");
  }
  std::vector<NDArray> list(const char* kind) const {
    size_t count = 0;
    const LoomixArray* arrays = nullptr;
    detail::check(LoomixExecutorList(GetHandle(), kind, &count, &arrays));
    return NDArray::take(count, arrays);
  }
  static std::map<std::string, NDArray> dict(const std::vector<std::string>& names,
                                             const std::vector<NDArray>& arrays) {
    std::map<std::string, NDArray> result;
    for (size_t i = 0; i < names.size(); ++i) result[names[i]] = arrays[i];
    return result;
  }
  static void copy(const std::map<std::string, NDArray>& from, std::map<std::string, NDArray> to) {
    for (const auto& [name, array] : from) {
      const auto found = to.find(name);
      if (found != to.end()) array.CopyTo(&found->second);
    }
  }

  Symbol symbol_;
  detail::Handle<LoomixExecutor> handle_;
};

inline Executor* Symbol::SimpleBind(const Context& context, const std::map<std::string, NDArray>& args_map,
                                    const std::map<std::string, NDArray>& arg_grad_store,
                                    const std::map<std::string, OpReqType>& grad_req_type,
                                    const std::map<std::string, NDArray>& aux_map,
                                    const std::map<std::string, Context>& group_to_ctx) const {
  std::vector<NDArray> arguments, gradients, states;
  std::vector<OpReqType> requests;
  InferExecutorArrays(context, &arguments, &gradients, &requests, &states, args_map, arg_grad_store,
                      grad_req_type, aux_map);
  return Bind(context, arguments, gradients, requests, states, group_to_ctx);
}

inline Executor* Symbol::Bind(const Context& context, const std::vector<NDArray>& arg_arrays,
                              const std::vector<NDArray>& grad_arrays,
                              const std::vector<OpReqType>& grad_reqs, const std::vector<NDArray>& aux_arrays,
                              const std::map<std::string, Context>& group_to_ctx,
                              Executor* shared_exec) const {
  return std::make_unique<Executor>(*this, context, arg_arrays, grad_arrays, grad_reqs, aux_arrays,
                                    group_to_ctx, shared_exec)
      .release();
}

}  // namespace names
}  // namespace loomix::cpp
