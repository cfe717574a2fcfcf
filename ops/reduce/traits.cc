// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/traits.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace loomix::ops {
namespace {

template <class F, Finish finish, class Gradient>
void look_up(const ReduceOp<F, finish, Gradient>& op, std::string_view name, std::optional<Folding>& found) {
  if (!name.empty() && op.name == name) found = Folding{reduction_code<F>, finish, {}};
}

constexpr std::array<std::string_view, 4> kBroadcasts = {"broadcast_axis", "broadcast_to", "broadcast_like",
                                                         "_broadcast_to_like"};

}  // namespace

std::optional<Folding> folding_of(const OpDef& op, const AttrsBase& attrs, const Shape& in,
                                  const Shape& out) {
  std::optional<Folding> found;
  if (op.name == "norm") {
    const auto& p = attrs.as<NormParams>();
    found = p.ord == 1 ? Folding{reduction_code<fn::AbsSum>, Finish::none, {}}
                       : Folding{reduction_code<fn::SquareSum>, Finish::root, {}};
    found->axes = axes_of(p, in);
  } else if (op.name == "_broadcast_reduce_to_like") {
    found = Folding{reduction_code<fn::Sum>, Finish::none, repeated_axes(in, out)};
  } else {
    std::apply([&](const auto&... each) { (look_up(each, op.name, found), ...); }, kReductions);
    if (found) found->axes = axes_of(attrs.as<ReduceParams>(), in);
  }
  if (found && in.size() == out.size()) return {};
  return found;
}

std::optional<Repeat> repeat_of(const OpDef& op, const AttrsBase& attrs, const Shape& in, const Shape& out) {
  if (op.name == "_backward_sum" || op.name == "_backward_mean") {
    Repeat repeat{reduced_shape(out, axes_of(attrs.as<ReduceParams>(), out), true)};
    if (op.name == "_backward_mean") repeat.divisor = out.size() / std::max<int64_t>(1, repeat.seen.size());
    return repeat;
  }
  if (std::ranges::find(kBroadcasts, op.name) == kBroadcasts.end()) return {};
  return Repeat{in};
}

}  // namespace loomix::ops
