// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <tuple>

#include "ops/elemwise/op_list.h"
#include "ops/reduce/loops.h"
#include "ops/reduce/reduce_functors.h"

// The reductions, a line each: enum, loops of every instruction set, kernels and schemas are made of this list.
namespace loomix::ops {

// What becomes of an accumulated value.
enum class Finish : uint8_t { none, mean, root };

template <class F, Finish finish, class Gradient>
struct ReduceOp {
  using Functor = F;
  static constexpr Finish kFinish = finish;
  const char* name;  // "" for a part of other operators
  Aliases aliases;
  Gradient gradient;  // to the input, from the ReduceTerms of reduce.cc
  const char* doc;
};

template <class F, Finish finish = Finish::none, class Gradient>
constexpr ReduceOp<F, finish, Gradient> reduction(const char* name, Aliases aliases, Gradient gradient,
                                                  const char* doc) {
  return {name, aliases, gradient, doc};
}

// Every element that equals the extremum gets the whole gradient.
inline constexpr auto kExtremumGradient = [](auto r) {
  return r.spread(r.g) * r.x.call("_equal", r.spread(r.y));
};

inline constexpr std::tuple kReductions{
    reduction<fn::Sum>(
        "sum", {"_sparse_sum", "sum_axis"}, [](auto r) { return r.spread(r.g); }, "Sum over axes."),
    reduction<fn::Sum, Finish::mean>(
        "mean", {"_sparse_mean"}, [](auto r) { return r.spread_mean(r.g); }, "Mean over axes."),
    reduction<fn::SquareSum>(
        "_square_sum", {}, [](auto r) { return r.spread_squares(r.g); }, "Sum of squares over axes."),
    reduction<fn::Prod>(
        "prod", {}, [](auto r) { return r.spread(r.g * r.y) / r.x; }, "Product over axes."),
    reduction<fn::NanSum>(
        "nansum", {}, [](auto r) { return r.spread(r.g) * r.x.call("_not_nan"); },
        "Sum over axes; NaN counts as 0."),
    reduction<fn::NanProd>(
        "nanprod", {}, [](auto r) { return r.only_numbers(r.spread(r.g * r.y) / r.x); },
        "Product over axes; NaN counts as 1."),
    reduction<fn::Max>("max", {"max_axis"}, kExtremumGradient, "Maximum over axes."),
    reduction<fn::Min>("min", {"min_axis"}, kExtremumGradient, "Minimum over axes."),
    reduction<fn::AbsSum>("", {}, kNoGradient, ""),
    reduction<fn::SquareDistanceSum>("", {}, kNoGradient, "")};

using ReduceFunctors = decltype(functors_of(kReductions));

template <class F>
inline constexpr Reduction reduction_code = static_cast<Reduction>(place_of<F>(ReduceFunctors{}));

}  // namespace loomix::ops
