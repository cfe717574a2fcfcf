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
  const char* doc;
  Gradient gradient;  // to the input, from the ReduceTerms of reduce.cc
};

template <class F, Finish finish = Finish::none, class Gradient>
constexpr ReduceOp<F, finish, Gradient> reduction(const char* name, Aliases aliases, const char* doc,
                                                  Gradient gradient) {
  return {name, aliases, doc, gradient};
}

// Every element that equals the extremum gets the whole gradient.
inline constexpr auto kExtremumGradient = [](auto r) {
  return r.spread(r.g) * r.x.call("_equal", r.spread(r.y));
};

inline constexpr std::tuple kReductions{
    reduction<fn::Sum>("sum", {"_sparse_sum", "sum_axis"}, "Sum over axes.",
                       [](auto r) { return r.spread(r.g); }),
    reduction<fn::Sum, Finish::mean>("mean", {"_sparse_mean"}, "Mean over axes.",
                                     [](auto r) { return r.spread_mean(r.g); }),
    reduction<fn::SquareSum>("_square_sum", {}, "Sum of squares over axes.",
                             [](auto r) { return r.spread_squares(r.g); }),
    reduction<fn::Prod>("prod", {}, "Product over axes.", [](auto r) { return r.spread(r.g * r.y) / r.x; }),
    reduction<fn::NanSum>("nansum", {}, "Sum over axes; NaN counts as 0.",
                          [](auto r) { return r.spread(r.g) * r.x.call("_not_nan"); }),
    reduction<fn::NanProd>("nanprod", {}, "Product over axes; NaN counts as 1.",
                           [](auto r) { return r.only_numbers(r.spread(r.g * r.y) / r.x); }),
    reduction<fn::Max>("max", {"max_axis"}, "Maximum over axes.", kExtremumGradient),
    reduction<fn::Min>("min", {"min_axis"}, "Minimum over axes.", kExtremumGradient),
    reduction<fn::AbsSum>("", {}, "", kNoGradient),
    reduction<fn::SquareDistanceSum>("", {}, "", kNoGradient)};

using ReduceFunctors = decltype(functors_of(kReductions));

template <class F>
inline constexpr Reduction reduction_code = static_cast<Reduction>(place_of<F>(ReduceFunctors{}));

}  // namespace loomix::ops
