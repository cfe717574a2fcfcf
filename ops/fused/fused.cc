// SPDX-License-Identifier: Apache-2.0
#include "ops/fused/fused.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ops/families.h"
#include "ops/table.h"

namespace loomix::ops {

std::optional<Operand> spread_over(const Shape& operand, const Shape& result) {
  if (operand == result) return Operand{};
  const int missing = result.ndim() - operand.ndim();
  if (missing < 0) return {};
  // Of the axes longer than 1: those where the operand has all elements must be the first of them, or the last.
  int changes = 0, first = -1;
  bool last = false;
  int64_t after_change = 1;
  for (int axis = 0; axis < result.ndim(); ++axis) {
    const int64_t size = axis < missing ? 1 : operand[axis - missing];
    if (size != 1 && size != result[axis]) return {};
    if (result[axis] == 1) continue;
    const bool whole = size == result[axis];
    if (first < 0) first = whole ? 1 : 0;
    else if (whole != last) ++changes;
    last = whole;
    after_change = changes == 0 ? 1 : after_change * result[axis];
  }
  if (changes > 1) return {};
  if (changes == 1) return Operand{first == 1 ? Extent::column : Extent::row, after_change};
  return Operand{first == 1 ? Extent::full : Extent::one};
}

Fusion::Fusion(Shape shape, int64_t row_size, std::vector<Extent> inputs, std::vector<FusedStep> steps,
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
