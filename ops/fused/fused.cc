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

void add_repeat(const OpTable& table, const Repeat& repeat, int operand, DType dtype, int inputs,
                std::vector<FusedStep>& steps) {
  const OpDef& repeated = table.at("_broadcast_to_like");
  const OpDef& divided = table.at("_div_scalar");
  steps.push_back({&repeated, table.parse(repeated, {}), {operand}, dtype});
  if (repeat.divisor == 1) return;
  const int last = inputs + static_cast<int>(steps.size()) - 1;
  const TextPairs divisor{{"scalar", std::to_string(repeat.divisor)}, {"is_int", "False"}};
  steps.push_back({&divided, table.parse(divided, divisor), {last}, dtype});
}

int64_t fused_sums(const Folding& folding, const Shape& shape) {
  int64_t sums = 1;
  bool is_lead = true;  // no axis so far is reduced
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if (shape[axis] == 1) continue;
    if (folding.axes[static_cast<size_t>(axis)]) is_lead = false;
    else if (!is_lead) sums *= shape[axis];
  }
  return sums;
}

Fusion::Fusion(Shape shape, int64_t row_size, std::vector<FusedInput> inputs, std::vector<FusedStep> steps,
               std::vector<int> outputs, std::vector<FusedClosing> closings)
    : shape_(std::move(shape)),
      row_size_(row_size),
      inputs_(std::move(inputs)),
      steps_(std::move(steps)),
      outputs_(std::move(outputs)),
      closings_(std::move(closings)) {
  LOOMIX_INTERNAL_CHECK(inputs_.size() <= kMostFusedInputs && steps_.size() <= kMostFusedSteps &&
                        outputs_.size() + closings_.size() <= kMostFusedOutputs);
  for (const FusedStep& step : steps_) text_ += (text_.empty() ? "" : ", ") + step.op->name;
  for (const FusedClosing& closing : closings_) text_ += ", " + closing.op->name;
}

double Fusion::element_ns() const {
  constexpr double kNsPerStep = 0.03;  // an element through the cache, to a step and from it
  double ns = 0;
  for (const FusedStep& step : steps_) ns += step.op->element_ns + kNsPerStep;
  for (const FusedClosing& closing : closings_) ns += closing.op->element_ns + kNsPerStep;
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
      .num_outputs([](const FusedParams& p) {
        return static_cast<int>(p.of().outputs().size() + p.of().closings().size());
      })
      .infer_shape([](const FusedParams& p, ShapeInfer& s) {
        const int steps = static_cast<int>(p.of().outputs().size());
        for (int i = 0; i < s.num_out(); ++i)
          s.set_out(i, i < steps ? p.of().shape() : p.of().closings()[static_cast<size_t>(i - steps)].shape);
      })
      .infer_type([](const FusedParams& p, TypeInfer& t) {
        const Fusion& fusion = p.of();
        const size_t steps = fusion.outputs().size();
        for (size_t i = 0; i < steps + fusion.closings().size(); ++i)
          t.set_out(static_cast<int>(i), i < steps
                                             ? fusion.steps()[static_cast<size_t>(fusion.outputs()[i])].dtype
                                             : fusion.closings()[i - steps].dtype);
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
