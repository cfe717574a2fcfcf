// SPDX-License-Identifier: Apache-2.0
#include "symbol/json_numpy.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace loomix {

namespace {

// MXNet's name, that here, and the type of results where the operator here gives that of its inputs.
struct Renamed {
  std::string_view name, ours, cast = {};
};

// Sorted.
constexpr Renamed kRenamed[] = {
    {"_np_copy", "_copy"},
    {"_np_max", "max"},
    {"_np_min", "min"},
    {"_np_prod", "prod"},
    {"_np_squeeze", "squeeze"},
    {"_np_sum", "sum"},
    {"_np_transpose", "transpose"},
    {"_npi_absolute", "abs"},
    {"_npi_add", "broadcast_add"},
    {"_npi_add_scalar", "_plus_scalar"},
    {"_npi_arange", "_arange"},
    {"_npi_arccos", "arccos"},
    {"_npi_arccosh", "arccosh"},
    {"_npi_arcsin", "arcsin"},
    {"_npi_arcsinh", "arcsinh"},
    {"_npi_arctan", "arctan"},
    {"_npi_arctanh", "arctanh"},
    {"_npi_argmax", "argmax", "int64"},
    {"_npi_argmin", "argmin", "int64"},
    {"_npi_broadcast_to", "broadcast_to"},
    {"_npi_cbrt", "cbrt"},
    {"_npi_ceil", "ceil"},
    {"_npi_concatenate", "Concat"},
    {"_npi_cos", "cos"},
    {"_npi_cosh", "cosh"},
    {"_npi_degrees", "degrees"},
    {"_npi_equal", "broadcast_equal", "bool"},
    {"_npi_equal_scalar", "_equal_scalar", "bool"},
    {"_npi_exp", "exp"},
    {"_npi_expm1", "expm1"},
    {"_npi_fix", "fix"},
    {"_npi_floor", "floor"},
    {"_npi_greater", "broadcast_greater", "bool"},
    {"_npi_greater_equal", "broadcast_greater_equal", "bool"},
    {"_npi_greater_equal_scalar", "_greater_equal_scalar", "bool"},
    {"_npi_greater_scalar", "_greater_scalar", "bool"},
    {"_npi_hypot", "broadcast_hypot"},
    {"_npi_less", "broadcast_lesser", "bool"},
    {"_npi_less_equal", "broadcast_lesser_equal", "bool"},
    {"_npi_less_equal_scalar", "_lesser_equal_scalar", "bool"},
    {"_npi_less_scalar", "_lesser_scalar", "bool"},
    {"_npi_log", "log"},
    {"_npi_log10", "log10"},
    {"_npi_log1p", "log1p"},
    {"_npi_log2", "log2"},
    {"_npi_logical_not", "logical_not", "bool"},
    {"_npi_maximum", "broadcast_maximum"},
    {"_npi_maximum_scalar", "_maximum_scalar"},
    {"_npi_mean", "mean"},
    {"_npi_minimum", "broadcast_minimum"},
    {"_npi_minimum_scalar", "_minimum_scalar"},
    {"_npi_mod", "broadcast_mod"},
    {"_npi_mod_scalar", "_mod_scalar"},
    {"_npi_multiply", "broadcast_mul"},
    {"_npi_multiply_scalar", "_mul_scalar"},
    {"_npi_negative", "negative"},
    {"_npi_not_equal", "broadcast_not_equal", "bool"},
    {"_npi_not_equal_scalar", "_not_equal_scalar", "bool"},
    {"_npi_ones", "_ones"},
    {"_npi_power", "broadcast_power"},
    {"_npi_power_scalar", "_power_scalar"},
    {"_npi_radians", "radians"},
    {"_npi_reciprocal", "reciprocal"},
    {"_npi_rint", "rint"},
    {"_npi_rmod_scalar", "_rmod_scalar"},
    {"_npi_rpower_scalar", "_rpower_scalar"},
    {"_npi_rsubtract_scalar", "_rminus_scalar"},
    {"_npi_rtrue_divide_scalar", "_rdiv_scalar"},
    {"_npi_sign", "sign"},
    {"_npi_sin", "sin"},
    {"_npi_sinh", "sinh"},
    {"_npi_split", "_split_v2"},
    {"_npi_sqrt", "sqrt"},
    {"_npi_square", "square"},
    {"_npi_stack", "stack"},
    {"_npi_subtract", "broadcast_sub"},
    {"_npi_subtract_scalar", "_minus_scalar"},
    {"_npi_tan", "tan"},
    {"_npi_tanh", "tanh"},
    {"_npi_true_divide", "broadcast_div"},
    {"_npi_true_divide_scalar", "_div_scalar"},
    {"_npi_trunc", "trunc"},
    {"_npi_where", "where"},
    {"_npi_zeros", "_zeros"},
    {"_npx_relu", "relu"},
    {"_npx_sigmoid", "sigmoid"},
};
static_assert(std::is_sorted(std::begin(kRenamed), std::end(kRenamed),
                             [](const Renamed& a, const Renamed& b) { return a.name < b.name; }));

// Attributes that say nothing, or that the operators here have under other names.
void rename_attributes(SymbolNode& node, std::string_view ours) {
  std::erase_if(node.dict, [](const auto& item) {
    return item.second == "None" &&
           (item.first == "axis" || item.first == "axes" || item.first == "dtype" || item.first == "initial");
  });
  node.dict.erase("is_int");
  if (ours != "Concat") return;
  if (auto axis = node.dict.extract("axis")) {
    axis.key() = "dim";
    node.dict.insert(std::move(axis));
  } else {
    LOOMIX_CHECK(
        node.dict.contains("dim"), ValueError,
        "[Symbol.load_json] node '{}' (_npi_concatenate) joins flattened arrays (axis=None), which is "
        "not known here.",
        node.name);
  }
}

// Makes the node the second of two operators.
void put_before(SymbolNode& node, std::string_view op, const ops::OpTable& table) {
  auto first = make_ref<SymbolNode>();
  first->op = &table.at(op);
  first->name = node.name + "_" + std::string(op);
  first->dict = std::move(node.dict);
  first->inputs = std::move(node.inputs);
  first->parse(table);
  node.dict.clear();
  node.inputs = {{std::move(first), 0}};
}

}  // namespace

std::string rename_numpy_operator(SymbolNode& node, const std::string& op, const ops::OpTable& table) {
  if (!op.starts_with("_np") || table.find(op)) return op;
  if (op == "_npi_full_like") {
    const auto dtype = node.dict.find("dtype");
    if (dtype != node.dict.end() && dtype->second != "None") return op;
    const auto value = node.dict.extract("fill_value");
    node.dict.clear();
    put_before(node, "zeros_like", table);
    node.dict["scalar"] = value ? value.mapped() : "0";
    return "_plus_scalar";
  }
  const auto* const found =
      std::lower_bound(std::begin(kRenamed), std::end(kRenamed), op,
                       [](const Renamed& row, const std::string& name) { return row.name < name; });
  if (found == std::end(kRenamed) || found->name != op) return op;
  rename_attributes(node, found->ours);
  if (found->cast.empty()) return std::string(found->ours);
  put_before(node, found->ours, table);
  node.dict["dtype"] = found->cast;
  return "Cast";
}

}  // namespace loomix
