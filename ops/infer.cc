// SPDX-License-Identifier: Apache-2.0
#include "ops/infer.h"

#include <algorithm>
#include <ranges>

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

template <class Inputs, class Outputs>
void ShapeInfer::tie_at(const Inputs& in, const Outputs& out) {
  Shape common = Shape::unknown();
  const auto gather = [&](Shape& shape, int i, bool input) {
    if (!shape.ndim_known()) return;
    merge(shape, common, i, input);
    common = shape;
  };
  for (const int i : in) gather(in_[i], i, true);
  for (const int i : out) gather(out_[i], i, false);
  for (const int i : in) set_in(i, common);
  for (const int i : out) set_out(i, common);
}

void ShapeInfer::unify_all() { tie_at(std::views::iota(0, num_in()), std::views::iota(0, num_out())); }
void ShapeInfer::tie(std::initializer_list<int> in, std::initializer_list<int> out) { tie_at(in, out); }
void ShapeInfer::tie_inputs(int begin, int end, std::initializer_list<int> out) {
  tie_at(std::views::iota(begin, end), out);
}

void ShapeInfer::expect(int i, bool good, std::string_view expected) const {
  if (good || !in_[i].ndim_known()) return;
  const size_t last = op_.inputs.size() - 1, place = std::min(static_cast<size_t>(i), last);
  const bool one_of_many = op_.is_variadic() && place == last;
  const std::string name = one_of_many ? fmt::format("input {}", i) : op_.inputs[place].name;
  detail::throw_error<ShapeError>("[{}] {} has shape {}; expected {}.", op_.name, name, in_[i].to_string(),
                                  expected);
}

bool ShapeInfer::has_axes(int i, int count, std::string_view expected) const {
  expect(i, in_[i].ndim() == count, expected);
  return in_[i].ndim_known();
}

const char* ShapeInfer::who() const { return op_.name.c_str(); }

void TypeInfer::merge(DType& known, DType dtype, int i, bool input) {
  if (dtype == DType::unknown) return;
  LOOMIX_CHECK(known == DType::unknown || known == dtype, TypeError,
               "[{}] {} has type {}; the other arguments ask for {}.", op_.name, argument_name(op_, i, input),
               name_of(known), name_of(dtype));
  known = dtype;
}

template <class Inputs, class Outputs>
void TypeInfer::tie_at(const Inputs& in, const Outputs& out) {
  DType common = DType::unknown;
  const auto first = [&](DType dtype) {
    if (common == DType::unknown) common = dtype;
  };
  for (const int i : in) first(in_[i]);
  for (const int i : out) first(out_[i]);
  for (const int i : in) set_in(i, common);
  for (const int i : out) set_out(i, common);
}

void TypeInfer::unify_all() { tie_at(std::views::iota(0, num_in()), std::views::iota(0, num_out())); }
void TypeInfer::tie(std::initializer_list<int> in, std::initializer_list<int> out) { tie_at(in, out); }
void TypeInfer::tie_inputs(int begin, int end, std::initializer_list<int> out) {
  tie_at(std::views::iota(begin, end), out);
}

const char* TypeInfer::who() const { return op_.name.c_str(); }

}  // namespace loomix::ops
