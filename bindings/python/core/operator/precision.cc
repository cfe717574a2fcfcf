// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/operator/precision.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "bindings/python/core/process/runtime.h"
#include "ops/table.h"
#include "symbol/executor/run_node.h"
#include "symbol/symbol_precision.h"

namespace loomix::python {
namespace {

namespace py = pybind11;

using Names = std::vector<std::string>;
using Conditions = std::vector<std::tuple<std::string, std::string, Names>>;

std::shared_ptr<const PrecisionRules>& active_rules() {
  static auto* const rules = new std::shared_ptr<const PrecisionRules>;  // calls may come until the very end
  return *rules;
}

std::shared_ptr<PrecisionRules> make_rules(const std::string& low, const Names& low_ops,
                                           const Names& full_ops, const Names& widest_ops,
                                           const Conditions& conditions) {
  const ops::OpTable& table = operators();
  auto rules =
      std::make_shared<PrecisionRules>(parse_dtype(low), table.at("amp_cast"), table.at("amp_multicast"));
  for (const auto& [names, precision] : {std::pair(&low_ops, Precision::low),
                                         {&full_ops, Precision::full},
                                         {&widest_ops, Precision::widest}}) {
    for (const std::string& name : *names) rules->set(table.at(name), precision);
  }
  for (const auto& [name, attribute, values] : conditions)
    rules->set_full_if(table.at(name), attribute, values);
  return rules;
}

}  // namespace

std::shared_ptr<const PrecisionRules> active_precision() { return active_rules(); }

CastInputs::CastInputs(const PrecisionRules& rules, const ops::OpDef& op, const AttrsBase& attrs,
                       std::span<const NDArray* const> in)
    : arrays_(in.begin(), in.end()) {
  if (!std::ranges::all_of(in, [](const NDArray* array) { return array->is_dense(); })) return;
  std::vector<DType> dtypes;
  for (const NDArray* array : in) dtypes.push_back(array->dtype());
  const InputCasts casts = input_casts(op, attrs, dtypes, rules.precision_of(op, attrs), rules.low());
  if (casts.none()) return;
  const ops::OpDef& cast = rules.cast();
  cast_.reserve(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (casts.to[i] == DType::unknown) continue;
    const auto parameters = operators().parse(cast, {{"dtype", std::string(name_of(casts.to[i]))}});
    const NDArray* const input[] = {in[i]};
    cast_.push_back(std::move(run_node(runtime(), cast, parameters, input)[0]));
    arrays_[i] = &cast_.back();
  }
}

void add_precision(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  py::class_<PrecisionRules, std::shared_ptr<PrecisionRules>>(m, "PrecisionRules")
      .def(py::init(&make_rules))
      .def("reduce", [](const PrecisionRules& rules, const Symbol& symbol, const Names& excluded,
                        const Names& parameters) {
        return reduce_precision(symbol, operators(), rules, excluded, parameters);
      });
  m.def("use_precision_rules", [](const std::shared_ptr<PrecisionRules>& rules) { active_rules() = rules; });
}

}  // namespace loomix::python
