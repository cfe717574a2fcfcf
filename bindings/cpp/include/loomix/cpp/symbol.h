// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <fstream>

#include "loomix/cpp/ndarray.h"

namespace loomix::cpp {
inline namespace names {

class Executor;

// A node of a graph, or several.
class Symbol {
 public:
  Symbol() = default;
  explicit Symbol(LoomixSymbol handle) : handle_(handle) {}  // takes the handle over
  explicit Symbol(const char* name) {
    LoomixSymbol made = nullptr;
    detail::check(LoomixSymbolVariable(name, nullptr, &made));
    handle_ = detail::Handle<LoomixSymbol>(made);
  }
  explicit Symbol(const std::string& name) : Symbol(name.c_str()) {}
  static Symbol Variable(const std::string& name = "") { return Symbol(name); }

  Symbol operator+(const Symbol& other) const { return binary("_Plus", other); }
  Symbol operator-(const Symbol& other) const { return binary("_Minus", other); }
  Symbol operator*(const Symbol& other) const { return binary("_Mul", other); }
  Symbol operator/(const Symbol& other) const { return binary("_Div", other); }
  Symbol operator%(const Symbol& other) const { return binary("_mod", other); }
  Symbol operator+(mx_float scalar) const { return with_scalar("_PlusScalar", scalar); }
  Symbol operator-(mx_float scalar) const { return with_scalar("_MinusScalar", scalar); }
  Symbol operator*(mx_float scalar) const { return with_scalar("_MulScalar", scalar); }
  Symbol operator/(mx_float scalar) const { return with_scalar("_DivScalar", scalar); }
  Symbol operator%(mx_float scalar) const { return with_scalar("_mod_scalar", scalar); }

  Symbol operator[](int index) const {
    if (index < 0)
      throw Error("[Symbol] output " + std::to_string(index) + " is asked for; expected 0 or more.");
    LoomixSymbol made = nullptr;
    detail::check(LoomixSymbolGetOutput(GetHandle(), static_cast<size_t>(index), &made));
    return Symbol(made);
  }
  Symbol operator[](const std::string& name) const {
    const std::vector<std::string> outputs = ListOutputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == name) return (*this)[static_cast<int>(i)];
    }
    throw Error("[Symbol] there is no output '" + name + "'.");
  }

  static Symbol Group(const std::vector<Symbol>& symbols) {
    std::vector<LoomixSymbol> list;
    for (const Symbol& symbol : symbols) list.push_back(symbol.GetHandle());
    LoomixSymbol made = nullptr;
    detail::check(LoomixSymbolGroup(list.size(), list.data(), &made));
    return Symbol(made);
  }
  static Symbol Load(const std::string& file_name) {
    std::ifstream file(file_name, std::ios::binary);
    if (!file) throw Error("[Symbol] cannot open " + file_name + ".");
    std::ostringstream text;
    text << file.rdbuf();
    return LoadJSON(text.str());
  }
  static Symbol LoadJSON(const std::string& json) {
    LoomixSymbol made = nullptr;
    detail::check(LoomixSymbolFromJson(json.c_str(), &made));
    return Symbol(made);
  }
  // The file appears whole or not at all.
  void Save(const std::string& file_name) const {
    const std::string json = ToJSON(), part = file_name + ".part";
    std::ofstream file(part, std::ios::binary);
    file << json;
    file.close();
    if (!file || std::rename(part.c_str(), file_name.c_str()) != 0) {
      std::remove(part.c_str());
      throw Error("[Symbol] cannot write " + file_name + ".");
    }
  }
  std::string ToJSON() const {
    const char* json = nullptr;
    detail::check(LoomixSymbolToJson(GetHandle(), &json));
    return json;
  }

  Symbol GetInternals() const {
    LoomixSymbol made = nullptr;
    detail::check(LoomixSymbolGetInternals(GetHandle(), &made));
    return Symbol(made);
  }
  Symbol Copy() const {
    LoomixSymbol made = nullptr;
    detail::check(LoomixSymbolCompose(GetHandle(), nullptr, nullptr, &made));
    return Symbol(made);
  }
  // A copy in which variables are replaced.
  Symbol Compose(const std::map<std::string, Symbol>& variables, const std::string& name = "") const {
    std::vector<const char*> names;
    std::vector<LoomixSymbol> symbols;
    for (const auto& [variable, symbol] : variables) {
      names.push_back(variable.c_str());
      symbols.push_back(symbol.GetHandle());
    }
    const LoomixSymbolInputs inputs{names.size(), names.data(), symbols.data()};
    LoomixSymbol made = nullptr;
    detail::check(LoomixSymbolCompose(GetHandle(), &inputs, name.empty() ? nullptr : name.c_str(), &made));
    return Symbol(made);
  }

  // What MXNet's oneDNN backend does to a graph, executors do to any; there are no other backends.
  Symbol GetBackendSymbol(const std::string& backend_name) const {
    if (backend_name != "MKLDNN" && backend_name != "ONEDNN")
      throw Error("[Symbol] there is no backend '" + backend_name + "'; expected MKLDNN or ONEDNN.");
    return *this;
  }

  std::vector<std::string> ListArguments() const { return list("arguments"); }
  std::vector<std::string> ListInputs() const { return list("inputs"); }
  std::vector<std::string> ListOutputs() const { return list("outputs"); }
  std::vector<std::string> ListAuxiliaryStates() const { return list("auxiliary_states"); }
  std::map<std::string, std::string> ListAttributes() const { return attributes(0); }
  // Of all nodes, as NODE$NAME.
  std::map<std::string, std::string> ListAllAttributes() const { return attributes(1); }
  void SetAttribute(const std::string& key, const std::string& value) {
    detail::check(LoomixSymbolSetAttribute(GetHandle(), key.c_str(), value.c_str()));
  }
  void SetAttributes(const std::map<std::string, std::string>& attributes) {
    for (const auto& [key, value] : attributes) SetAttribute(key, value);
  }
  std::string GetName() const {
    const std::vector<std::string> names = list("name");
    return names.empty() ? "" : names[0];
  }
  mx_uint GetNumOutputs() const { return static_cast<mx_uint>(ListOutputs().size()); }
  LoomixSymbol GetHandle() const { return handle_.get(); }

  // Sizes of 0 are unknown, in what is given and what is found.
  void InferShape(const std::map<std::string, std::vector<mx_uint>>& arg_shapes,
                  std::vector<std::vector<mx_uint>>* in_shape, std::vector<std::vector<mx_uint>>* aux_shape,
                  std::vector<std::vector<mx_uint>>* out_shape) const {
    std::vector<const char*> names;
    std::vector<LoomixShape> shapes;
    for (const auto& [name, sizes] : arg_shapes) {
      names.push_back(name.c_str());
      shapes.push_back(detail::to_c(sizes));
      if (sizes.empty()) shapes.back().axes = -1;
      for (int i = 0; i < shapes.back().axes; ++i) {
        if (shapes.back().sizes[i] == 0) shapes.back().sizes[i] = -1;
      }
    }
    LoomixInferredShapes found{};
    detail::check(LoomixSymbolInferShape(GetHandle(), names.size(), names.data(), shapes.data(), &found));
    give(found.arguments, found.argument_shapes, in_shape);
    give(found.auxiliary_states, found.auxiliary_shapes, aux_shape);
    give(found.outputs, found.output_shapes, out_shape);
  }
  void InferType(const std::map<std::string, int>& arg_types, std::vector<int>* in_type,
                 std::vector<int>* aux_type, std::vector<int>* out_type) const {
    std::vector<const char*> names;
    std::vector<int32_t> types;
    for (const auto& [name, type] : arg_types) {
      names.push_back(name.c_str());
      types.push_back(type);
    }
    LoomixInferredTypes found{};
    detail::check(LoomixSymbolInferType(GetHandle(), names.size(), names.data(), types.data(), &found));
    if (in_type) in_type->assign(found.argument_types, found.argument_types + found.arguments);
    if (aux_type) aux_type->assign(found.auxiliary_types, found.auxiliary_types + found.auxiliary_states);
    if (out_type) out_type->assign(found.output_types, found.output_types + found.outputs);
  }

  // Makes the arguments that are not known. They hold random numbers of the normal distribution, as in MXNet.
  void InferArgsMap(const Context& context, std::map<std::string, NDArray>* args_map,
                    const std::map<std::string, NDArray>& known_args) const {
    std::vector<std::vector<mx_uint>> shapes, aux, out;
    InferShape(shapes_of(known_args), &shapes, &aux, &out);
    const std::vector<std::string> names = ListArguments();
    for (size_t i = 0; i < names.size(); ++i) {
      const auto known = known_args.find(names[i]);
      if (known != known_args.end()) {
        (*args_map)[names[i]] = known->second;
        continue;
      }
      NDArray made(shapes[i], context);
      NDArray::SampleGaussian(0, kFirstSpread, &made);
      (*args_map)[names[i]] = made;
    }
  }
  // All arrays that an executor needs: those given, and new ones of the shapes that follow. A gradient is made for every
  // argument whose request is not kNullOp; requests that are not given are kWriteTo.
  void InferExecutorArrays(const Context& context, std::vector<NDArray>* arg_arrays,
                           std::vector<NDArray>* grad_arrays, std::vector<OpReqType>* grad_reqs,
                           std::vector<NDArray>* aux_arrays, const std::map<std::string, NDArray>& args_map,
                           const std::map<std::string, NDArray>& arg_grad_store = {},
                           const std::map<std::string, OpReqType>& grad_req_type = {},
                           const std::map<std::string, NDArray>& aux_map = {}) const {
    std::vector<std::vector<mx_uint>> shapes, aux, out;
    InferShape(shapes_of(args_map), &shapes, &aux, &out);
    const std::vector<int> types = infer_types(args_map);
    const std::vector<std::string> names = ListArguments();
    for (size_t i = 0; i < names.size(); ++i) {
      const auto given = args_map.find(names[i]);
      if (given != args_map.end()) {
        arg_arrays->push_back(given->second);
      } else {
        NDArray made(shapes[i], context, false, types[i]);
        if (types[i] == LOOMIX_FLOAT32) NDArray::SampleGaussian(0, kFirstSpread, &made);
        arg_arrays->push_back(made);
      }
      const auto request = grad_req_type.find(names[i]);
      grad_reqs->push_back(request == grad_req_type.end() ? kWriteTo : request->second);
      const auto stored = arg_grad_store.find(names[i]);
      if (stored != arg_grad_store.end()) grad_arrays->push_back(stored->second);
      else if (grad_reqs->back() == kNullOp) grad_arrays->emplace_back();
      else
        grad_arrays->emplace_back(arg_arrays->back().GetShape(), context, false,
                                  arg_arrays->back().GetDType());
    }
    const std::vector<std::string> states = ListAuxiliaryStates();
    for (size_t i = 0; i < states.size(); ++i) {
      const auto given = aux_map.find(states[i]);
      aux_arrays->push_back(given != aux_map.end() ? given->second : NDArray(aux[i], context));
    }
  }

  // The caller deletes the executor. `group_to_ctx`: see Executor.
  inline Executor* SimpleBind(const Context& context, const std::map<std::string, NDArray>& args_map,
                              const std::map<std::string, NDArray>& arg_grad_store = {},
                              const std::map<std::string, OpReqType>& grad_req_type = {},
                              const std::map<std::string, NDArray>& aux_map = {},
                              const std::map<std::string, Context>& group_to_ctx = {}) const;
  inline Executor* Bind(const Context& context, const std::vector<NDArray>& arg_arrays,
                        const std::vector<NDArray>& grad_arrays, const std::vector<OpReqType>& grad_reqs,
                        const std::vector<NDArray>& aux_arrays,
                        const std::map<std::string, Context>& group_to_ctx = {},
                        Executor* shared_exec = nullptr) const;

 private:
  static constexpr mx_float kFirstSpread = 1;

  static std::map<std::string, std::vector<mx_uint>> shapes_of(const std::map<std::string, NDArray>& arrays) {
    std::map<std::string, std::vector<mx_uint>> shapes;
    for (const auto& [name, array] : arrays) {
      if (array.GetHandle()) shapes[name] = array.GetShape();
    }
    return shapes;
  }
  std::vector<int> infer_types(const std::map<std::string, NDArray>& arrays) const {
    std::map<std::string, int> known;
    for (const std::string& name : ListArguments()) {
      const auto given = arrays.find(name);
      if (given != arrays.end() && given->second.GetHandle()) known[name] = given->second.GetDType();
    }
    std::vector<int> types;
    InferType(known, &types, nullptr, nullptr);
    for (int& type : types) {
      if (type < 0) type = LOOMIX_FLOAT32;
    }
    return types;
  }
  static void give(size_t count, const LoomixShape* shapes, std::vector<std::vector<mx_uint>>* to) {
    if (!to) return;
    to->clear();
    for (size_t i = 0; i < count; ++i) to->push_back(detail::from_c(shapes[i]));
  }
  std::map<std::string, std::string> attributes(int of_all_nodes) const {
    LoomixPairs pairs{};
    detail::check(LoomixSymbolListAttributes(GetHandle(), of_all_nodes, &pairs));
    std::map<std::string, std::string> result;
    for (size_t i = 0; i < pairs.count; ++i) result[pairs.names[i]] = pairs.values[i];
    return result;
  }
  std::vector<std::string> list(const char* kind) const {
    size_t count = 0;
    const char* const* names = nullptr;
    detail::check(LoomixSymbolList(GetHandle(), kind, &count, &names));
    return detail::texts(count, names);
  }
  static Symbol create(const char* op, const std::vector<LoomixSymbol>& list,
                       const detail::Pairs& parameters) {
    const detail::CPairs pairs(parameters);
    const LoomixSymbolInputs inputs{list.size(), nullptr, list.data()};
    LoomixSymbol made = nullptr;
    detail::check(LoomixSymbolCreate(op, pairs.get(), &inputs, nullptr, &made));
    return Symbol(made);
  }
  Symbol binary(const char* op, const Symbol& other) const {
    return create(op, {GetHandle(), other.GetHandle()}, {});
  }
  Symbol with_scalar(const char* op, mx_float scalar) const {
    return create(op, {GetHandle()}, {{"scalar", detail::to_text(scalar)}});
  }

  detail::Handle<LoomixSymbol> handle_;
};

}  // namespace names
}  // namespace loomix::cpp
