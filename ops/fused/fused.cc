// SPDX-License-Identifier: Apache-2.0
#include "ops/fused/fused.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ops/families.h"
#include "ops/table.h"

namespace loomix::ops {

namespace {

// Whether the operand, whose axes are the last of the results', has all elements along an axis of these.
bool is_whole(const Shape& operand, const Shape& result, int axis) {
  const int missing = result.ndim() - operand.ndim();
  return axis >= missing && operand[axis - missing] == result[axis];
}

}  // namespace

std::optional<int64_t> row_size_of(const Shape& operand, const Shape& result) {
  const int missing = result.ndim() - operand.ndim();
  if (missing < 0) return {};
  for (int axis = missing; axis < result.ndim(); ++axis) {
    if (operand[axis - missing] != 1 && operand[axis - missing] != result[axis]) return {};
  }
  int64_t size = 1;
  std::optional<bool> whole;
  for (int axis = result.ndim() - 1; axis >= 0; --axis) {
    if (result[axis] == 1) continue;
    if (whole && is_whole(operand, result, axis) != *whole) return size;
    whole = is_whole(operand, result, axis);
    size *= result[axis];
  }
  return 0;
}

FusedInput spread_over(const Shape& operand, const Shape& result, int64_t row_size) {
  if (operand.size() == result.size()) return {Extent::full, {}};
  if (operand.size() == 1) return {Extent::one, {}};
  int rows_end = result.ndim();  // axes before it are those of the rows' numbers
  for (int64_t size = 1; size < row_size;) size *= result[--rows_end];
  FusedInput input;
  int64_t step = 1;
  bool row_is_whole = false, all = true, none = true;
  for (int axis = result.ndim() - 1; axis >= 0; --axis) {
    const bool whole = is_whole(operand, result, axis) && result[axis] > 1;
    if (axis < rows_end) {
      input.steps.push_back(whole ? step : 0);
      all = all && (whole || result[axis] == 1);
      none = none && !whole;
    } else if (whole) {
      row_is_whole = true;
    }
    if (whole) step *= result[axis];
  }
  std::ranges::reverse(input.steps);
  if (none && row_is_whole) return {Extent::row, {}};
  if (all && !row_is_whole) return {Extent::column, {}};
  input.extent = row_is_whole ? Extent::full : Extent::column;
  return input;
}

Fusion::Fusion(Shape shape, int64_t row_size, std::vector<FusedInput> inputs, std::vector<FusedStep> steps,
               std::vector<int> outputs)
    : shape_(std::move(shape)),
      row_size_(row_size),
      inputs_(std::move(inputs)),
      steps_(std::move(steps)),
      outputs_(std::move(outputs)) {
  LOOMIX_INTERNAL_CHECK(inputs_.size() <= kMostFusedInputs && steps_.size() <= kMostFusedSteps &&
                        outputs_.size() <= kMostFusedOutputs);
  for (const FusedStep& step : steps_) text_ += (text_.empty() ? "" : ", ") + step.op->name;
}

double Fusion::element_ns() const {
  constexpr double kNsPerStep = 0.03;  // an element through the cache, to a step and from it
  double ns = 0;
  for (const FusedStep& step : steps_) ns += step.op->element_ns + kNsPerStep;
  return ns;
}

const Fusion& FusedParams::of() const {
  LOOMIX_CHECK(fusion, ValueError, "[_fused] there is no fusion; only the executor makes such nodes.");
  return static_cast<const Fusion&>(*fusion);
}

const OpDef& fused_op(const OpTable& table) { return table.at("_fused"); }

void register_fused(OpTable& table) {
  auto op = table.add_hidden<FusedParams>("_fused");
  op.variadic("args", "num_args", &FusedParams::num_args)
      .output("output")
      .num_outputs([](const FusedParams& p) { return static_cast<int>(p.of().outputs().size()); })
      .infer_shape([](const FusedParams& p, ShapeInfer& s) {
        for (int i = 0; i < s.num_out(); ++i) s.set_out(i, p.of().shape());
      })
      .infer_type([](const FusedParams& p, TypeInfer& t) {
        const Fusion& fusion = p.of();
        for (int i = 0; i < t.num_out(); ++i)
          t.set_out(i, fusion.steps()[static_cast<size_t>(fusion.outputs()[static_cast<size_t>(i)])].dtype);
      })
      .cost([](const FusedParams& p, const KernelSpec& spec) {
        constexpr double kNsPerCall = 100, kNsPerByte = 0.06;
        double bytes = 0;
        for (const auto& views : {spec.in, spec.out}) {
          for (const TensorView& view : views) bytes += static_cast<double>(view.bytes());
        }
        return kNsPerCall + kNsPerByte * bytes +
               p.of().element_ns() * static_cast<double>(p.of().shape().size());
      })
      .zero_gradient();  // nobody asks: it is made after the gradients
  for (int input = 0; input < static_cast<int>(kMostFusedInputs); ++input) {
    for (int output = 0; output < static_cast<int>(kMostFusedOutputs); ++output) op.inplace(input, output);
  }
}

}  // namespace loomix::ops
