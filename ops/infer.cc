// SPDX-License-Identifier: Apache-2.0
#include "ops/infer.h"

#include "base/error.h"
#include "ops/op.h"

namespace loomix::ops {
namespace {

std::string argument_name(const OpDef& op, int i, bool input) {
  const int declared = static_cast<int>(input ? op.inputs.size() : op.output_names.size());
  if (input && !op.variadic_count.empty() && i >= declared - 1) {
    return fmt::format("input '{}{}'", op.inputs[declared - 1].name, i - declared + 1);
  }
  if (i >= declared) return fmt::format("{} {}", input ? "input" : "output", i);
  return fmt::format("{} '{}'", input ? "input" : "output", input ? op.inputs[i].name : op.output_names[i]);
}

// " (data has shape (2, 5))", for another argument: what a wrong size came from, as a rule.
std::string data_text(const OpDef& op, std::span<const Shape> in, int i, bool input) {
  if (in.size() < 2 || op.inputs.empty() || op.inputs[0].name != "data") return {};
  if ((input && i == 0) || !in[0].ndim_known()) return {};
  return fmt::format(" (data has shape {})", in[0].to_string());
}

}  // namespace

void ShapeInfer::merge(Shape& known, const Shape& shape, int i, bool input) {
  if (!shape.ndim_known()) return;
  if (!known.ndim_known()) {
    known = shape;
    return;
  }
  LOOMIX_CHECK(compatible(known, shape), ShapeError,
               "[{}] {} has shape {}; the other arguments ask for {}{}.", op_.name,
               argument_name(op_, i, input), known.to_string(), shape.to_string(),
               data_text(op_, in_, i, input));
  for (int axis = 0; axis < known.ndim(); ++axis) {
    if (known[axis] < 0) known[axis] = shape[axis];
  }
}

void ShapeInfer::unify_all() {
  Shape common = Shape::unknown();
  const auto gather = [&](Shape& shape, int i, bool input) {
    if (!shape.ndim_known()) return;
    merge(shape, common, i, input);
    common = shape;
  };
  for (int i = 0; i < num_in(); ++i) gather(in_[i], i, true);
  for (int i = 0; i < num_out(); ++i) gather(out_[i], i, false);
  for (int i = 0; i < num_in(); ++i) set_in(i, common);
  for (int i = 0; i < num_out(); ++i) set_out(i, common);
}

const char* ShapeInfer::who() const { return op_.name.c_str(); }

void TypeInfer::merge(DType& known, DType dtype, int i, bool input) {
  if (dtype == DType::unknown) return;
  LOOMIX_CHECK(known == DType::unknown || known == dtype, TypeError,
               "[{}] {} has type {}; the other arguments ask for {}.", op_.name, argument_name(op_, i, input),
               name_of(known), name_of(dtype));
  known = dtype;
}

void TypeInfer::unify_all() {
  DType common = DType::unknown;
  for (DType dtype : in_) {
    if (common == DType::unknown) common = dtype;
  }
  for (DType dtype : out_) {
    if (common == DType::unknown) common = dtype;
  }
  for (int i = 0; i < num_in(); ++i) set_in(i, common);
  for (int i = 0; i < num_out(); ++i) set_out(i, common);
}

const char* TypeInfer::who() const { return op_.name.c_str(); }

}  // namespace loomix::ops
