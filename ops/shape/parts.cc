// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/parts.h"

#include "ops/shape/shape.h"

namespace loomix::ops {
namespace {

// The axis, if nothing repeats before it.
std::optional<int> outermost(int given, const Shape& whole, const OpDef& op) {
  const int axis = normalize_axis(given, whole.ndim(), op.name.c_str());
  if (whole.size() == 0 || whole.size_between(0, axis) != 1) return {};
  return axis;
}

}  // namespace

bool joins_in_order(const OpDef& op, const AttrsBase& attrs, const Shape& out) {
  if (op.name == "Concat" || op.name == "_rnn_param_concat")
    return outermost(attrs.as<ConcatParams>().dim, out, op).has_value();
  return op.name == "stack" && outermost(attrs.as<StackParams>().axis, out, op).has_value();
}

std::optional<int64_t> begin_of_part(const OpDef& op, const AttrsBase& attrs, const Shape& in,
                                     std::span<const Shape> out, size_t i) {
  const auto in_order = [&](int given) -> std::optional<int64_t> {
    if (!outermost(given, in, op)) return {};
    int64_t begin = 0;
    for (size_t before = 0; before < i; ++before) begin += out[before].size();
    return begin;
  };
  const auto at = [&](int given, auto&& range_along) -> std::optional<int64_t> {
    const std::optional<int> axis = outermost(given, in, op);
    if (!axis) return {};
    return range_along(in[*axis]).begin * in.size_between(*axis + 1, in.ndim());
  };
  if (op.name == "SliceChannel") return in_order(attrs.as<SplitParams>().axis);
  if (op.name == "_backward_concat") return in_order(attrs.as<ConcatParams>().dim);
  if (op.name == "_split_v2") {
    const auto& p = attrs.as<SplitV2Params>();
    return at(p.axis, [&](int64_t size) { return split_part(p, static_cast<int>(i), size); });
  }
  if (op.name == "slice_axis") {
    const auto& p = attrs.as<SliceAxisParams>();
    return at(p.axis, [&](int64_t size) { return slice_axis_range(p, size, op.name.c_str()); });
  }
  return {};
}

}  // namespace loomix::ops
