// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/params.h"
#include "ops/kernel.h"

namespace loomix::ops {

struct LayerNormParams {
  int axis = -1;
  float eps = 1e-5f;
  bool output_mean_var = false;
  static void fields(FieldList<LayerNormParams>& f) {
    f("axis", &LayerNormParams::axis, "The axis to normalise over.");
    f("eps", &LayerNormParams::eps, "Added to the variance.");
    f("output_mean_var", &LayerNormParams::output_mean_var, "Returns mean and standard deviation, too.");
  }
};

struct InstanceNormParams {
  float eps = 1e-3f;
  static constexpr bool output_mean_var = false;
  static void fields(FieldList<InstanceNormParams>& f) {
    f("eps", &InstanceNormParams::eps, "Added to the variance.");
  }
};

struct GroupNormParams {
  int num_groups = 1;
  float eps = 1e-5f;
  bool output_mean_var = false;
  static void fields(FieldList<GroupNormParams>& f) {
    f("num_groups", &GroupNormParams::num_groups, "Number of groups of channels.").at_least(1);
    f("eps", &GroupNormParams::eps, "Added to the variance.");
    f("output_mean_var", &GroupNormParams::output_mean_var, "Returns mean and standard deviation, too.");
  }
};

// What is normalised together: rows of `size` elements, `step` apart. Row r starts at (r / step) * size * step + r % step.
// Element i of row r is scaled by gamma[i], or, if gamma goes by rows, by gamma[r % parameters].
struct NormRows {
  int64_t rows, size, step;
  int64_t parameters;
  bool by_row;
};
NormRows norm_rows(const LayerNormParams& p, const Shape& data);
NormRows norm_rows(const InstanceNormParams& p, const Shape& data);
NormRows norm_rows(const GroupNormParams& p, const Shape& data);

}  // namespace loomix::ops
